"""Text from outside: everything can be stored, and nothing acts on the screen it is shown on."""

import pytest
from hypothesis import given
from hypothesis.strategies import binary, characters, integers, sampled_from, text

from mainspring.domain.text import clean_text, sanitised_view, spelled_out

any_text = text(alphabet=characters())


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a\0b", "a\ufffdb"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        ("😀 ü", "😀 ü"),
        ("line\nbreak", "line\nbreak"),
    ],
)
def test_what_a_database_refuses_is_replaced_and_the_rest_kept(dirty: str, clean: str) -> None:
    assert clean_text(dirty, 100) == clean


@pytest.mark.parametrize(("chars_max", "cut"), [(0, ""), (1, "…"), (3, "ab…"), (5, "abcde"), (6, "abcde")])
def test_long_text_is_cut_with_an_ellipsis(chars_max: int, cut: str) -> None:
    assert clean_text("abcde", chars_max) == cut


@given(any_text, integers(0, 50))
def test_cleaned_text_can_always_be_stored(dirty: str, chars_max: int) -> None:
    clean = clean_text(dirty, chars_max)

    clean.encode("utf-8")
    assert "\0" not in clean
    assert len(clean) <= chars_max


@pytest.mark.parametrize(
    ("data", "view"),
    [
        (b"plain\ttext\r\nhere\n", "plain\ttext\nhere\n"),
        (b"a\0b", "a\ufffdb"),
        (b"caf\xe9", "caf\ufffd"),
        (b"\x1b[31mred", r"\x1b[31mred"),
        ("\u202eevil\u2066".encode(), r"\u202eevil\u2066"),
        ("zero\u200bwidth\ufeff".encode(), r"zero\u200bwidth\ufeff"),
        ("tag\U000e0041".encode(), r"tag\U000e0041"),
        ("\x85\x9b".encode(), r"\x85\x9b"),
        (b"over\rwritten", r"over\x0dwritten"),
        ("line\u2028separator".encode(), r"line\u2028separator"),
        ("ünïcode 😀".encode(), "ünïcode 😀"),
        (b"", ""),
    ],
)
def test_a_body_is_shown_without_acting(data: bytes, view: str) -> None:
    assert sanitised_view(data, "text/plain") == view


@pytest.mark.parametrize(
    ("content_type", "view"),
    [
        ("text/plain; charset=iso-8859-1", "café"),
        ('text/plain; charset="ISO-8859-1"', "café"),
        ("text/plain; CHARSET = latin-1", "café"),
        ("text/plain; charset=utf-8", "caf\ufffd"),
        ("text/plain; charset=utf-7", "caf\ufffd"),
        ("text/plain; charset=rot13", "caf\ufffd"),
        ("text/plain; charset=", "caf\ufffd"),
        ("", "caf\ufffd"),
    ],
)
def test_a_known_charset_is_used_and_an_odd_one_is_not(content_type: str, view: str) -> None:
    assert sanitised_view(b"caf\xe9", content_type) == view


@given(binary(), sampled_from(["", "text/plain; charset=utf-16", "text/html; charset=windows-1252"]))
def test_any_body_has_a_view_that_can_be_stored(data: bytes, content_type: str) -> None:
    view = sanitised_view(data, content_type)

    view.encode("utf-8")
    assert not set(view) & {"\0", "\x1b", "\r", "\u202e", "\u2028"}


@given(any_text)
def test_a_spelled_out_text_is_one_line(dirty: str) -> None:
    assert len(spelled_out(dirty).splitlines()) <= 1
