"""Reading a response's head: which headers count, what is a length, how long the target asks us to wait."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis.strategies import binary, lists

from mainspring.outbound.response import (
    KNOWN_LINES_MAX,
    _known_lines,
    fault_of,
    read_headers,
    retry_after_s,
)

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


def test_the_headers_of_the_last_response_count() -> None:
    lines = [
        b"HTTP/1.1 103 Early\r\n",
        b"Link: a\r\n",
        b"\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"X-A:  b \r\n",
        b"\r\n",
        b"T: u\r\n",
    ]

    assert read_headers(lines) == (("x-a", "b"), ("t", "u"))


def test_a_header_in_the_shape_of_a_status_line_does_not_hide_the_others() -> None:
    lines = [b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"HTTP/1.1 500: x\r\n", b"\r\n"]

    assert read_headers(lines) == (("a", "b"), ("http/1.1 500", "x"))


@given(lists(binary(max_size=300)))
def test_any_lines_give_headers_that_can_be_stored(lines: list[bytes]) -> None:
    for name, value in read_headers(lines):
        assert (name + value).isascii()
        assert value.isprintable()


def test_lines_kept_in_memory_are_bounded() -> None:
    read_headers([b"HTTP/1.1 200 OK\r\n"])
    for number in range(KNOWN_LINES_MAX * 2):
        read_headers([b"HTTP/1.1 200 OK\r\n", b"X: %d\r\n" % number, b"Y: " + b"y" * 500])

    assert len(_known_lines) <= KNOWN_LINES_MAX
    assert max(map(len, _known_lines)) <= 200


@pytest.mark.parametrize("value", ["0", "15", "9223372036854775807"])
def test_a_length_is_digits_within_63_bits(value: str) -> None:
    assert fault_of((("content-length", value),)) is None


@pytest.mark.parametrize("value", ["", "-1", "+1", "1.5", "1e3", "9223372036854775808", "99999999999999999999", "1 2"])
def test_anything_else_is_no_length(value: str) -> None:
    assert "is not a length" in (fault_of((("content-length", value),)) or "")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("86400", 86_400),
        ("99999999999", 86_400),
        ("Tue, 01 Jan 2030 12:01:30 GMT", 90),
        ("Tue, 01 Jan 2030 12:01:30 -0000", 90),
        ("Tue, 01 Jan 2030 11:00:00 GMT", 0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 86_400),
        ("Tuesday, 01-Jan-30 12:01:30 GMT", 90),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("Tue, 99 Jan 2030 99:99:99 GMT", None),
        ("0" * 100, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date_within_a_day(value: str, seconds: int | None) -> None:
    assert retry_after_s((("retry-after", value),), NOW) == seconds


def test_no_retry_after_is_none() -> None:
    assert retry_after_s((("a", "b"),), NOW) is None
