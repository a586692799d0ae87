"""Steps of the clock, and what they make of an endpoint."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.stores.world import START, an_endpoint

from mainspring.domain.endpoint import Endpoint, MisfirePolicy
from mainspring.domain.schedule.anchor import plan_after_run
from mainspring.domain.schedule.claim import Claimant, admit
from mainspring.domain.schedule.clock_steps import Reading, bring_back, is_ahead, step_between
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import decode_trail
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint

NOW = datetime(2025, 1, 1, 12, 30, tzinfo=UTC)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
DAY = timedelta(days=1)


def reading(at: datetime, before_s: float, after_s: float) -> Reading:
    return Reading(at, int(before_s * 1e9), int(after_s * 1e9))


@pytest.mark.parametrize(
    ("later", "step"),
    [
        (reading(NOW + SECOND, 1, 1), timedelta(0)),
        (reading(NOW + 3 * SECOND, 1, 1), timedelta(0)),  # two seconds are not yet a step
        (reading(NOW + 4 * SECOND, 1, 1), 3 * SECOND),
        (reading(NOW - 2 * SECOND, 1, 1), -3 * SECOND),
        (reading(NOW + HOUR, 1, 1), HOUR - SECOND),
        (reading(NOW + 40 * SECOND, 1, 41), timedelta(0)),  # the answer took long: it may have been read at any time
        (reading(NOW + SECOND, 1, 41), timedelta(0)),
        (reading(NOW - HOUR, 1, 41), -HOUR - SECOND),
    ],
)
def test_step_is_what_the_passage_of_time_does_not_explain(later: Reading, step: timedelta) -> None:
    assert step_between(reading(NOW, 0, 0), later) == step


def ahead(**fields: object) -> Endpoint:
    """An endpoint that ran at 13:30:10 by a clock an hour ahead, 20 s ago."""
    ran_at = NOW + HOUR - 20 * SECOND
    return replace(an_endpoint("", **fields), anchor_at=ran_at, next_run_at=ran_at + MINUTE)


def back(endpoint: Endpoint, ran: tuple[datetime, datetime] | None = None, by: timedelta = HOUR) -> Endpoint:
    return bring_back(endpoint, NOW, by, ran, 30_000, CRON).endpoint


def test_interval_keeps_its_distance_in_real_time() -> None:
    moved = back(ahead(), by=HOUR + SECOND)

    assert moved.next_run_at == NOW - 20 * SECOND - SECOND + MINUTE
    assert decode_trail(moved.trail)[-1].rule == "clock"
    assert "set back by 3,601 s; this run was planned for 2025-01-01T13:30:40Z" in decode_trail(moved.trail)[-1].why


def test_slots_of_an_interval_do_not_meet_those_that_ran_on_the_same_grid() -> None:
    moved = back(ahead())

    assert moved.next_run_at == NOW - 20 * SECOND + MINUTE - timedelta(milliseconds=1)


def test_step_that_is_known_too_small_brings_a_run_no_later_than_its_schedule() -> None:
    moved = back(ahead(), by=MINUTE + SECOND)

    assert moved.next_run_at == NOW + MINUTE


def a_cron_ahead() -> Endpoint:
    """Every ten minutes; it ran at 13:30:00 by a clock an hour ahead, five seconds ago."""
    return replace(ahead(cron="*/10 * * * *"), anchor_at=NOW + HOUR, next_run_at=NOW + HOUR + 10 * MINUTE)


def test_cron_goes_on_after_the_slots_that_ran() -> None:
    ran = (NOW + 10 * MINUTE, NOW + 30 * MINUTE)

    moved = bring_back(a_cron_ahead(), NOW + 5 * SECOND, HOUR, ran, 30_000, CRON).endpoint

    assert moved.next_run_at == NOW + 40 * MINUTE
    assert (moved.ran_from_at, moved.ran_until_at) == ran
    assert [step.rule for step in decode_trail(moved.trail)][-2:] == ["clock", "clock"]


def test_cron_runs_the_slots_before_those_that_ran() -> None:
    ran = (NOW + 20 * MINUTE, NOW + 30 * MINUTE)
    moved = bring_back(a_cron_ahead(), NOW + 5 * SECOND, HOUR, ran, 30_000, CRON).endpoint
    slot = NOW + 10 * MINUTE

    after = plan_after_run(moved, slot, slot, slot + SECOND, CRON)

    assert moved.next_run_at == slot
    assert after.next_run_at == NOW + 40 * MINUTE


def test_catch_up_leaves_out_slots_that_ran() -> None:
    cron = an_endpoint(
        cron="*/10 * * * *", misfire=MisfirePolicy.CATCH_UP, next_run_at=NOW, anchor_at=NOW - 10 * MINUTE
    )
    cron = replace(cron, ran_from_at=NOW, ran_until_at=NOW + 20 * MINUTE)

    claim = admit(cron, NOW + 35 * MINUTE, Claimant("worker-1", 30_000, "run_1"), CRON).claim

    assert claim is not None
    assert claim.slot_at == NOW + 30 * MINUTE


def test_what_was_written_ahead_is_moved_or_dropped() -> None:
    endpoint = replace(
        ahead(),
        manual_at=NOW + HOUR,
        not_before=NOW + HOUR + 5 * MINUTE,
        deferred_until=NOW + 400 * DAY,
        interval_hint=IntervalHint(30_000, NOW + 300 * DAY),
        one_shot_hint=OneShotHint(NOW + 300 * DAY, NOW + 300 * DAY),
    )

    moved = back(endpoint)

    assert moved.manual_at == NOW
    assert moved.not_before == NOW + 5 * MINUTE
    assert (moved.deferred_until, moved.interval_hint, moved.one_shot_hint) == (None, None, None)


def test_hints_that_a_present_clock_could_have_written_stay() -> None:
    hint, once = IntervalHint(30_000, NOW + HOUR), OneShotHint(NOW + 2 * HOUR, NOW + 3 * HOUR)

    moved = back(replace(ahead(), interval_hint=hint, one_shot_hint=once))

    assert (moved.interval_hint, moved.one_shot_hint) == (hint, once)


def test_slot_that_was_given_back_under_a_clock_ahead_is_due_at_once() -> None:
    owed = an_endpoint(slot_at=START, next_run_at=NOW + HOUR, anchor_at=START)

    moved = back(owed)

    assert (moved.slot_at, moved.next_run_at) == (START, NOW)


def test_endpoint_that_waits_for_nothing_but_a_requested_run_says_so() -> None:
    moved = back(an_endpoint(next_run_at=None, manual_at=NOW + HOUR, anchor_at=START, job_active=False))

    assert (moved.manual_at, moved.next_run_at) == (NOW, None)
    assert decode_trail(moved.trail)[-1].why == "the clock was set back by 3,600 s"


@pytest.mark.parametrize(("lease", "kept"), [(61 * SECOND, 61 * SECOND), (HOUR, MINUTE)])
def test_lease_is_no_longer_than_the_call_may_take(lease: timedelta, kept: timedelta) -> None:
    running = an_endpoint(lease_until=NOW + lease, slot_at=START, next_run_at=START)

    assert back(running).lease_until == NOW + kept


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        (an_endpoint(anchor_at=NOW, next_run_at=NOW + MINUTE), False),
        (an_endpoint(anchor_at=NOW, next_run_at=None), False),
        (an_endpoint(anchor_at=NOW, next_run_at=NOW + 4 * MINUTE), False),  # as one that cannot be planned is
        (an_endpoint(anchor_at=NOW, next_run_at=NOW + 6 * MINUTE), True),
        (an_endpoint(anchor_at=NOW, next_run_at=NOW + DAY, deferred_until=NOW + DAY), False),
        (an_endpoint(anchor_at=NOW, next_run_at=NOW + DAY, paused_until=NOW + DAY), False),
        (an_endpoint(anchor_at=NOW, slot_at=NOW, next_run_at=NOW + SECOND, min_interval_ms=60_000), False),
        (an_endpoint(anchor_at=NOW + 3 * SECOND, next_run_at=NOW + MINUTE), True),
        (an_endpoint(anchor_at=NOW, next_run_at=NOW + DAY, manual_at=NOW + MINUTE), True),
    ],
)
def test_only_what_its_schedule_cannot_ask_for_is_ahead(endpoint: Endpoint, expected: bool) -> None:
    assert is_ahead(endpoint, NOW, CRON) is expected
