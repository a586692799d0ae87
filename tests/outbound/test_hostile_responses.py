"""Table A of the promises: whatever a target answers, the run ends as written here, quickly and with bounded memory."""

import asyncio
from typing import NamedTuple

import pytest

from mainspring.domain.run import Outcome, RunStatus
from mainspring.outbound.http import HttpCaller
from tests.outbound.conftest import request_to
from tests.peers.hostile import CLOSING, OK_BODY, STATIC, HostilePeer

FAILURE, SUCCESS, TIMEOUT = RunStatus.FAILURE, RunStatus.SUCCESS, RunStatus.TIMEOUT


class Row(NamedTuple):
    """A path of the peer and how a call to it must end."""

    path: str
    status: RunStatus
    error_code: str | None = None
    status_code: int | None = 200


ROWS = {
    "a_good_answer_succeeds": Row("/ok", SUCCESS),
    "no_content_succeeds": Row("/no-content", SUCCESS, None, 204),
    "http_1_0_without_length_succeeds": Row("/http/1.0", SUCCESS),
    "early_hints_are_skipped": Row("/early-hints", SUCCESS),
    "a_trailer_is_harmless": Row("/header/trailer", SUCCESS),
    "an_endless_stream_is_cut_at_the_cap": Row("/endless", SUCCESS),
    "an_endless_stream_of_tiny_chunks_is_cut_at_the_cap": Row("/endless/small", SUCCESS),
    "a_huge_body_is_cut_at_the_cap": Row("/huge?mb=150", SUCCESS),
    "a_line_of_a_megabyte_is_cut_at_the_cap": Row("/text/one-line", SUCCESS),
    "a_gzip_lie_is_kept_raw": Row("/gzip/lie", SUCCESS),
    "a_gzip_bomb_is_kept_raw": Row("/gzip/bomb", SUCCESS),
    "nul_in_json_is_kept": Row("/json/nul", SUCCESS),
    "lone_surrogates_are_kept": Row("/json/surrogates", SUCCESS),
    "json_too_deep_to_parse_is_kept": Row("/json/deep", SUCCESS),
    "json_with_too_many_keys_is_kept": Row("/json/keys", SUCCESS),
    "duplicate_keys_are_kept": Row("/json/duplicate-keys", SUCCESS),
    "proto_keys_are_kept": Row("/json/proto", SUCCESS),
    "invalid_utf8_is_kept": Row("/text/invalid-utf8", SUCCESS),
    "terminal_escapes_are_kept": Row("/text/ansi", SUCCESS),
    "latin_1_in_a_header_succeeds": Row("/header/latin-1", SUCCESS),
    "an_escape_in_a_header_succeeds": Row("/header/escape", SUCCESS),
    # RFC 9112 tells a user agent to replace the fold by spaces, and libcurl does so before anyone sees it.
    "a_folded_header_is_unfolded": Row("/header/obs-fold", SUCCESS),
    "bare_line_feeds_are_tolerated": Row("/header/bare-lf", SUCCESS),
    "a_header_that_looks_like_a_status_line_is_only_a_header": Row("/header/looks-like-status", SUCCESS),
    "the_same_length_twice_succeeds": Row("/length/same-twice", SUCCESS),
    "chunked_wins_over_a_length": Row("/length/and-chunked", SUCCESS),
    "a_server_error_fails": Row("/unavailable", FAILURE, "http_status", 503),
    "status_999_is_stored_and_fails": Row("/status/999", FAILURE, "http_status", 999),
    "status_304_fails_without_a_body": Row("/status/304", FAILURE, "http_status", 304),
    "status_204_with_a_body_has_none": Row("/status/204-with-body", SUCCESS, None, 204),
    "a_redirect_is_only_a_status": Row("/redirect/to?to=/ok", FAILURE, "http_status", 302),
    "status_000_is_a_protocol_error": Row("/status/000", FAILURE, "protocol", None),
    "status_099_is_a_protocol_error": Row("/status/099", FAILURE, "protocol", None),
    "status_1000_is_a_protocol_error": Row("/status/1000", FAILURE, "protocol", None),
    "a_status_of_letters_is_a_protocol_error": Row("/status/words", FAILURE, "protocol", None),
    "a_missing_status_is_a_protocol_error": Row("/status/none", FAILURE, "protocol", None),
    "switching_protocols_is_a_protocol_error": Row("/status/101", FAILURE, "protocol", None),
    "endless_100_continue_is_a_protocol_error": Row("/continue/endless", FAILURE, "protocol", None),
    "http_0_9_is_a_protocol_error": Row("/http/0.9", FAILURE, "protocol", None),
    "http_9_9_is_a_protocol_error": Row("/http/9.9", FAILURE, "protocol", None),
    "garbage_is_a_protocol_error": Row("/garbage", FAILURE, "protocol", None),
    "a_negative_length_is_a_protocol_error": Row("/length/negative", FAILURE, "protocol"),
    "two_different_lengths_are_a_protocol_error": Row("/length/two", FAILURE, "protocol"),
    "two_lengths_in_one_header_are_a_protocol_error": Row("/length/two-in-one", FAILURE, "protocol"),
    "a_length_beyond_64_bits_is_a_protocol_error": Row("/length/overflowing", FAILURE, "protocol"),
    "a_length_never_reached_is_a_protocol_error": Row("/length/huge", FAILURE, "protocol"),
    "a_body_cut_short_is_a_protocol_error": Row("/length/short", FAILURE, "protocol"),
    "a_length_of_letters_is_a_protocol_error": Row("/length/words", FAILURE, "protocol"),
    "a_chunk_length_of_letters_is_a_protocol_error": Row("/chunk/words", FAILURE, "protocol"),
    "a_negative_chunk_length_is_a_protocol_error": Row("/chunk/negative", FAILURE, "protocol"),
    "an_overflowing_chunk_length_is_a_protocol_error": Row("/chunk/overflow", FAILURE, "protocol"),
    "chunks_cut_short_are_a_protocol_error": Row("/chunk/cut", FAILURE, "protocol"),
    "a_bare_carriage_return_in_a_header_is_a_protocol_error": Row("/header/bare-cr", FAILURE, "protocol"),
    "nul_in_a_header_is_a_protocol_error": Row("/header/nul", FAILURE, "protocol"),
    "a_header_without_colon_is_a_protocol_error": Row("/header/no-colon", FAILURE, "protocol"),
    "a_header_of_5_megabytes_is_too_large": Row("/header/huge", FAILURE, "headers_too_large"),
    "a_header_of_90_kilobytes_is_too_large": Row("/header/huge?kb=90", FAILURE, "headers_too_large"),
    "ten_thousand_headers_are_too_large": Row("/header/many", FAILURE, "headers_too_large"),
    "four_thousand_headers_are_too_large": Row("/header/many?count=4000", FAILURE, "headers_too_large"),
    "a_location_of_2_megabytes_is_too_large": Row("/redirect/long", FAILURE, "headers_too_large", 302),
    "no_answer_at_all_is_a_broken_connection": Row("/empty", FAILURE, "connect", None),
    "a_reset_is_a_broken_connection": Row("/reset", FAILURE, "connect", None),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_a_hostile_answer_ends_as_the_table_says(row: Row, peer: HostilePeer, caller: HttpCaller) -> None:
    async with asyncio.timeout(60):
        outcome = await caller.call(request_to(peer.url(row.path)))

    assert (outcome.status, outcome.error_code, outcome.status_code) == (row.status, row.error_code, row.status_code)
    assert (outcome.error is None) is (outcome.error_code is None)
    assert_harmless(outcome)


SLOW = {
    "a_drip_of_bytes": "/drip",
    "a_drip_of_header_bytes": "/drip-head",
    "a_slow_endless_100_continue": "/continue/endless?every_ms=20",
    "silence_after_the_request": "/hang",
    "silence_after_the_head": "/hang-after-head",
    "a_late_answer": "/slow?ms=60000",
}


@pytest.mark.parametrize("path", SLOW.values(), ids=SLOW)
async def test_the_deadline_ends_every_kind_of_slowness(path: str, peer: HostilePeer, caller: HttpCaller) -> None:
    async with asyncio.timeout(60):
        outcome = await caller.call(request_to(peer.url(path), timeout_ms=150))

    assert (outcome.status, outcome.error_code) == (TIMEOUT, "deadline")
    assert 140 <= outcome.duration_ms <= 20_000
    assert "within 150 ms" in (outcome.error or "")
    assert_harmless(outcome)


async def test_what_dripped_in_before_the_deadline_is_kept_and_flagged(peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url("/drip?every_ms=5"), timeout_ms=1_500))

    assert outcome.status_code == 200
    assert outcome.body is not None
    assert outcome.body.truncated
    assert set(outcome.body.data) == {ord("x")}


@pytest.mark.parametrize("cap", [0, 1, 29, 30, 31])
async def test_a_body_is_cut_at_the_cap_exactly(cap: int, peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url("/ok"), body_cap=cap))

    assert outcome.status is SUCCESS
    assert outcome.body is not None
    assert outcome.body.data == OK_BODY[:cap]
    assert outcome.body.truncated is (cap < len(OK_BODY))
    assert outcome.body.bytes_seen == len(OK_BODY)
    assert outcome.body.content_type == "application/json"


async def test_reaching_the_cap_closes_the_connection(peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url("/endless"), body_cap=1_000))

    assert outcome.body is not None
    assert len(outcome.body.data) == 1_000
    async with asyncio.timeout(60):
        await peer.hung_up.wait()


async def test_bodies_are_kept_on_failure_too(peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url("/unavailable")))

    assert outcome.error == "HTTP 503 Service Unavailable; expected 2xx"
    assert outcome.body is not None
    assert outcome.body.data == b"busy"


async def test_a_gzip_answer_is_kept_as_it_came_and_its_header_says_so(peer: HostilePeer, caller: HttpCaller) -> None:
    outcome = await caller.call(request_to(peer.url("/gzip/lie")))

    assert outcome.body is not None
    assert outcome.body.data == b"this is not gzip"
    assert ("content-encoding", "gzip") in outcome.headers


async def test_header_values_are_escaped_and_at_most_a_hundred_kept(peer: HostilePeer, caller: HttpCaller) -> None:
    latin, escape, many = await asyncio.gather(
        *(caller.call(request_to(peer.url(f"/header/{name}"))) for name in ("latin-1", "escape", "150"))
    )

    assert ("x-name", r"caf\xe9 \x80") in latin.headers
    assert ("x-name", r"\x1b[31mred") in escape.headers
    assert len(many.headers) == 100


async def test_one_bad_answer_does_not_disturb_the_next_on_the_same_caller(
    peer: HostilePeer, caller: HttpCaller
) -> None:
    for path in STATIC:
        await caller.call(request_to(peer.url(path)))
        if path in CLOSING:
            async with asyncio.timeout(60):
                await peer.deserted.wait()
        outcome = await caller.call(request_to(peer.url("/ok")))

        assert (outcome.status, outcome.body and outcome.body.data) == (SUCCESS, OK_BODY), path


async def test_the_whole_table_at_once_ends_as_it_does_one_by_one(peer: HostilePeer, caller: HttpCaller) -> None:
    rows = [row for row in ROWS.values() if not row.path.startswith(("/huge", "/header/huge"))]

    async with asyncio.timeout(60):
        outcomes = await asyncio.gather(
            *(caller.call(request_to(peer.url(row.path), timeout_ms=20_000)) for row in rows)
        )

    assert [(row.path, outcome.status, outcome.error_code) for row, outcome in zip(rows, outcomes, strict=True)] == [
        (row.path, row.status, row.error_code) for row in rows
    ]


def assert_harmless(outcome: Outcome) -> None:
    """Everything that will be stored as text can be."""
    texts = [outcome.error or "", *(part for header in outcome.headers for part in header)]
    for text in texts:
        text.encode("utf-8")
        assert "\0" not in text
        assert text.isprintable()
