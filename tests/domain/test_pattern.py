"""Patterns that a response must match: which are refused, and how long the worst accepted ones take."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.pattern import (
    BYTES_MAX,
    STATES_MAX,
    bytes_searched,
    check_pattern,
    is_found,
    states_of,
    wrong_pattern,
)
from mainspring.domain.run import BODY_CAP_DEFAULT

CHOICE = random.Random(7)
SIZE = 1_000_000
TEXTS = {
    "one letter": b"a" * SIZE,
    "two letters": bytes(CHOICE.choices(b"ab", k=SIZE)),
    "words": bytes(CHOICE.choices(b"abcdefgh0123 ,\n", k=SIZE)),
    "many letters": "".join(CHOICE.choices("aéñ中😀", k=SIZE // 3)).encode(),
}
WORST = (
    "(a|b)*a(a|b){8}q", "(a|b)*a(a|b){15}q", "[ab]*a[ab]{9}q", "[ab]*a[ab]{20}q", "(.*a){4}.{3}q", "(?:.*.*){10}q",
    r"\pL*\pN*q", r"\pL*.*[^q]*q$", ".*a.{8}q", ".*a.{14}q", ".*a.{20}q",
    "^(.*a.{3}|.*b.{3})q", "(a|b)*a" + "(a|b)" * 36 + "q",
    "((((a*)*)*)*)*q", "(?i)(k|s|a)*.{6}q", r"\b(\w+\s*\w+\s*){6}q", ".*" * 20 + "q", ".?" * 20 + "q",
)  # fmt: skip
LONGEST_S = 0.4  # at most 80 ms on two shared cores; hostile patterns take tens of seconds on any machine


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        pytest.param("(a", "not a regular expression of RE2: missing )", id="a bracket is open"),
        pytest.param(r"(a)\1", "not a regular expression of RE2: invalid escape sequence", id="a back reference"),
        pytest.param("(?=a)", "not a regular expression of RE2", id="a look-ahead"),
        pytest.param("(a|b)*a(a|b){1000}c", "states; at most", id="a large count"),
        pytest.param("((a{20}){20}){20}", "states; at most", id="counts in counts"),
        pytest.param(r"(\pL*\pN*){9}q", "states; at most", id="classes of Unicode"),
        pytest.param(r"\Q[\E(a|b)*a(a|b){1000}c]", "quotes with", id="a count behind a quoted bracket"),
        pytest.param("a" * 201, "201 characters", id="too long"),
    ],
)
def test_pattern_that_could_take_long_or_is_invalid_is_refused(pattern: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=r"the pattern") as refused:
        check_pattern(pattern, 1_000)

    assert words in str(refused.value)
    assert refused.value.field == "matches"


def test_pattern_over_a_response_that_is_too_large_is_refused() -> None:
    with pytest.raises(InvalidInput, match="lower body_cap"):
        check_pattern("a", BYTES_MAX + 1)


def test_pattern_is_searched_anywhere_in_a_text_of_any_bytes() -> None:
    assert is_found(r"(?i)VERSION: \d+\.\d+", b"\xff\xfe\0 version: 12.4\n")
    assert not is_found(r"^version", b"a version")


def test_pattern_with_more_states_may_search_fewer_bytes() -> None:
    check_pattern("(a|b)*a(a|b){12}q", 100_000)

    with pytest.raises(InvalidInput, match="lower body_cap"):
        check_pattern("(a|b)*a(a|b){12}q", BYTES_MAX)


@pytest.mark.parametrize("pattern", WORST)
@pytest.mark.parametrize("body_cap", [BODY_CAP_DEFAULT, BYTES_MAX])
def test_worst_accepted_pattern_holds_the_loop_for_milliseconds(pattern: str, body_cap: int) -> None:
    assert wrong_pattern(pattern) == ""
    size = min(body_cap, bytes_searched(pattern))
    check_pattern(pattern, size)
    for name, text in TEXTS.items():
        started_at = time.thread_time()
        assert not is_found(pattern, text[:size])
        assert time.thread_time() - started_at < LONGEST_S, name


@given(st.text(max_size=40))
def test_every_pattern_is_refused_or_searched(pattern: str) -> None:
    try:
        check_pattern(pattern, 1_000)
    except InvalidInput:
        return
    assert states_of(pattern) <= STATES_MAX
    is_found(pattern, b"some text")
