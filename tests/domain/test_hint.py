"""Hints are bounded where they are made: their interval, their life, and the instant they may name."""

from datetime import datetime, timedelta

import pytest
from tests.domain.stage import DAY, at

from mainspring.domain.errors import InvalidInput
from mainspring.domain.schedule.hint import (
    IntervalHint,
    OneShotHint,
    author_in_words,
    make_interval_hint,
    make_one_shot_hint,
)

NOON = at("12:00:00")
DAYS = timedelta(days=1)
YEAR_MS = 366 * 86_400_000


def test_an_interval_hint_lives_an_hour_unless_told_otherwise() -> None:
    assert make_interval_hint(NOON, 30_000) == IntervalHint(30_000, at("13:00:00"), "", "user")
    assert make_interval_hint(NOON, 30_000, timedelta(minutes=5), "slow", "rule") == IntervalHint(
        30_000, at("12:05:00"), "slow", "rule"
    )


def test_a_one_shot_hint_lives_half_an_hour_unless_told_otherwise() -> None:
    assert make_one_shot_hint(NOON, at("12:10:00")) == OneShotHint(at("12:10:00"), at("12:30:00"), "", "user")
    assert make_one_shot_hint(NOON, at("14:00:00"), timedelta(hours=3), "later", "model") == OneShotHint(
        at("14:00:00"), at("15:00:00"), "later", "model"
    )


@pytest.mark.parametrize("interval_ms", [1_000, 1_001, YEAR_MS])
def test_an_interval_within_the_bounds_is_kept(interval_ms: int) -> None:
    assert make_interval_hint(NOON, interval_ms).interval_ms == interval_ms


@pytest.mark.parametrize("interval_ms", [999, 1, 0, -1, -(10**30), YEAR_MS + 1, 10**30, True])
def test_an_interval_out_of_bounds_is_refused_with_the_bounds(interval_ms: int) -> None:
    with pytest.raises(InvalidInput) as refusal:
        make_interval_hint(NOON, interval_ms)

    assert str(refusal.value) == (f"hint interval {interval_ms} ms is out of bounds; give at least 1s and at most 366d")
    assert (refusal.value.field, refusal.value.value) == ("every", interval_ms)


@pytest.mark.parametrize("ttl", [timedelta(microseconds=1), DAYS])
def test_a_life_of_up_to_a_day_is_allowed(ttl: timedelta) -> None:
    assert make_interval_hint(NOON, 1_000, ttl).expires_at == NOON + ttl
    assert make_one_shot_hint(NOON, NOON, ttl).expires_at == NOON + ttl


@pytest.mark.parametrize("ttl", [timedelta(0), -DAYS, DAYS + timedelta(microseconds=1), 366 * DAYS])
def test_any_other_life_is_refused(ttl: timedelta) -> None:
    with pytest.raises(InvalidInput, match="a hint is valid for more than 0s and at most 24h") as refusal:
        make_interval_hint(NOON, 1_000, ttl)
    with pytest.raises(InvalidInput, match="a hint is valid for more than 0s and at most 24h"):
        make_one_shot_hint(NOON, NOON, ttl)

    assert refusal.value.field == "ttl"


@pytest.mark.parametrize("when", [at("12:30:00"), at("12:30:01"), NOON + DAYS])
def test_a_one_shot_that_would_come_after_its_own_expiry_is_refused_with_the_reason(when: datetime) -> None:
    with pytest.raises(InvalidInput) as refusal:
        make_one_shot_hint(NOON, when)

    assert "is later than its own expiry at 2025-01-01T12:30:00" in str(refusal.value)
    assert "give an earlier time or a longer ttl (at most 24h)" in str(refusal.value)
    assert refusal.value.field == "at"


@pytest.mark.parametrize("when", [NOON, NOON - timedelta(microseconds=1), DAY, DAY - 3_000 * DAYS])
def test_a_one_shot_in_the_past_is_for_now(when: datetime) -> None:
    assert make_one_shot_hint(NOON, when).next_run_at == NOON


def test_a_hint_is_fresh_until_the_instant_it_expires() -> None:
    for hint in (make_interval_hint(NOON, 1_000), make_one_shot_hint(NOON, NOON, timedelta(hours=1))):
        assert hint.is_fresh(at("12:59:59.999999"))
        assert not hint.is_fresh(at("13:00:00"))


@pytest.mark.parametrize(
    ("author", "words"),
    [
        ("user:ann@example.com", "ann@example.com"),
        ("rule:at night", "rule at night"),
        ("model:openai:small", "model openai:small"),
        ("execution:exe_1", "workflow execution exe_1"),
        ("key:key_1", "API key key_1"),
        ("cli", "the command line"),
        ("user", "user"),
        ("somebody:else", "somebody:else"),
    ],
)
def test_who_wrote_a_hint_is_named_in_words(author: str, words: str) -> None:
    assert author_in_words(author) == words
