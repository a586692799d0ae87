"""Which `now` the governor is given: anchors, drift, phases, and what an act between runs moves."""

from collections import Counter
from datetime import datetime, timedelta
from random import Random

import pytest
from msgspec.structs import replace
from tests.domain.stage import DAY, after, at, due, end, every, once, run, start, types
from tests.stores.world import an_endpoint

from mainspring.domain.endpoint import BackoffPolicy, Endpoint
from mainspring.domain.instant import FOREVER
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.anchor import (
    FAULTY_DELAY,
    expire_hints,
    nudge,
    plan_after_run,
    plan_first,
    push_ahead,
    replan,
)
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import DecisionStep, decode_trail

NOON = at("12:00:00")
MINUTE = timedelta(minutes=1)
HOUR = at("01:00:00")


def slots_of_an_hour(endpoint: Endpoint, seed: int) -> list[datetime]:
    """Run for an hour with starts up to a second late and runs up to 50 s long; early starts are impossible."""
    random = Random(seed)
    slots = [due(endpoint)]
    while slots[-1] < NOON + timedelta(hours=1):
        started_at = slots[-1] + timedelta(seconds=random.choice((0, random.random(), 1)))
        claim = start(endpoint, started_at)
        status = random.choice((RunStatus.SUCCESS, RunStatus.FAILURE)) if endpoint.cron else RunStatus.SUCCESS
        endpoint = after(end(claim.endpoint, claim, status, took=random.uniform(0, 50)))
        slots.append(due(endpoint))
    return slots


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("minimum", [None, 60_000], ids=["no minimum", "a minimum of 60 s"])
def test_sixty_seconds_stay_sixty_seconds_without_drift(seed: int, minimum: int | None) -> None:
    endpoint = an_endpoint(interval_ms=60_000, min_interval_ms=minimum, next_run_at=NOON)

    assert slots_of_an_hour(endpoint, seed) == [NOON + MINUTE * number for number in range(61)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("minimum", [None, 60_000], ids=["no minimum", "a minimum of 60 s"])
def test_a_minute_cron_stays_on_the_minute(seed: int, minimum: int | None) -> None:
    endpoint = an_endpoint(cron="* * * * *", min_interval_ms=minimum, next_run_at=NOON)

    assert slots_of_an_hour(endpoint, seed) == [NOON + MINUTE * number for number in range(61)]


@pytest.mark.parametrize(
    ("late", "took", "expected"),
    [
        pytest.param(0.0, 0.1, at("12:01:00"), id="on time"),
        pytest.param(1.0, 0.1, at("12:01:00"), id="as late as is tolerated"),
        pytest.param(1.000001, 0.1, at("12:01:01.000001"), id="later: counted from the start"),
        pytest.param(20.0, 0.1, at("12:01:20"), id="much later"),
        pytest.param(0.0, 59.9, at("12:01:00"), id="slow, but over before the next slot"),
        pytest.param(0.0, 60.0, at("12:01:00"), id="over at the very instant of the next slot"),
        pytest.param(0.0, 60.1, at("12:02:00.1"), id="too slow: counted from the end"),
    ],
)
def test_the_next_run_counts_from_the_slot_the_start_or_the_end(late: float, took: float, expected: datetime) -> None:
    started_at = NOON + timedelta(seconds=late)

    planned = plan_after_run(an_endpoint(), NOON, started_at, started_at + timedelta(seconds=took), CRON)

    assert due(planned) == expected


def test_a_run_that_seems_to_start_before_its_slot_counts_from_its_start() -> None:
    started_at = NOON - timedelta(seconds=5)  # the clock was set back in between

    assert due(plan_after_run(an_endpoint(), NOON, started_at, NOON, CRON)) == at("12:00:55")


@pytest.mark.parametrize(
    ("slot", "late_s", "expected"),
    [
        ("12:00:00", 5, "12:01:00"),
        ("12:00:00", 6, "12:02:00"),
        ("12:00:30", 0, "12:02:00"),
    ],
    ids=["some seconds late", "later than that", "off the minute"],
)
def test_a_minute_cron_with_a_minimum_of_a_minute_comes_back_to_the_minute(
    slot: str, late_s: int, expected: str
) -> None:
    minutely = an_endpoint(cron="* * * * *", min_interval_ms=60_000)
    started = at(slot) + timedelta(seconds=late_s)

    planned = plan_after_run(minutely, at(slot), started, started, CRON)

    assert planned.next_run_at == at(expected)
    assert replan(planned, started, CRON).next_run_at == at(expected)


@pytest.mark.parametrize(("most", "expected"), [(100_000, "12:01:30"), (120_000, "12:02:00")])
def test_a_cron_comes_back_to_the_minute_only_within_its_maximum(most: int, expected: str) -> None:
    bounded = an_endpoint(cron="* * * * *", min_interval_ms=90_000, max_interval_ms=most)

    assert plan_after_run(bounded, NOON, NOON, NOON, CRON).next_run_at == at(expected)


def test_a_hint_on_a_cron_is_not_moved_to_the_times_of_the_cron() -> None:
    hinted = an_endpoint(cron="* * * * *", min_interval_ms=60_000, interval_hint=every(10, at("14:00:00")))

    planned = plan_after_run(hinted, at("12:00:00"), at("12:00:05"), at("12:00:05"), CRON)

    assert (planned.next_run_at, planned.source) == (at("12:01:05"), "clamped-min")


def test_after_a_slow_run_a_cron_goes_on_at_its_next_occurrence() -> None:
    endpoint = an_endpoint(cron="*/5 * * * *")

    planned = plan_after_run(endpoint, NOON, NOON, at("12:07:30"), CRON)

    assert (due(planned), planned.source) == (at("12:10:00"), "baseline-cron")


def test_a_slow_failing_run_waits_for_the_backed_off_interval_after_its_end() -> None:
    endpoint = an_endpoint(interval_ms=15_000, next_run_at=NOON)

    assert due(run(endpoint, NOON, RunStatus.TIMEOUT, took=40)) == at("12:01:10")


def test_the_anchor_is_the_instant_the_decision_counted_from() -> None:
    on_time = plan_after_run(an_endpoint(), NOON, NOON + timedelta(seconds=1), at("12:00:02"), CRON)
    late = plan_after_run(an_endpoint(), NOON, at("12:00:02"), at("12:00:03"), CRON)
    slow = plan_after_run(an_endpoint(), NOON, NOON, at("12:03:00"), CRON)

    assert [each.anchor_at for each in (on_time, late, slow)] == [NOON, at("12:00:02"), at("12:03:00")]


def test_a_new_cron_starts_at_its_next_occurrence() -> None:
    planned = plan_first(an_endpoint(cron="0 3 * * *", spread=True, next_run_at=None), NOON, CRON)

    assert (due(planned), planned.source, planned.anchor_at) == (at("03:00:00", day=2), "baseline-cron", NOON)


def test_new_endpoints_of_one_interval_spread_uniformly_over_it() -> None:
    minutes = Counter(
        (due(plan_first(an_endpoint(id=f"ep_{number}", interval_ms=3_600_000, spread=True), NOON, CRON)) - NOON)
        // timedelta(minutes=5)
        for number in range(3_000)
    )
    expected = 3_000 / 12
    chi_squared = sum((minutes[part] - expected) ** 2 / expected for part in range(12))

    assert set(minutes) == set(range(12))
    assert chi_squared < 31.3  # 11 degrees of freedom, one in a thousand


def test_a_phase_is_the_endpoints_own_and_stays_the_same() -> None:
    endpoint = an_endpoint(id="ep_7", spread=True)

    assert plan_first(endpoint, NOON, CRON) == plan_first(endpoint, NOON, CRON)
    assert due(plan_first(endpoint, NOON, CRON)) != due(plan_first(replace(endpoint, id="ep_8"), NOON, CRON))


def test_without_spread_an_endpoint_starts_at_once() -> None:
    assert due(plan_first(an_endpoint(spread=False, interval_ms=86_400_000), NOON, CRON)) == NOON


def test_jitter_never_puts_a_first_run_into_the_past() -> None:
    endpoints = [an_endpoint(id=f"ep_{number}", jitter_ms=30_000) for number in range(100)]
    endpoints += [an_endpoint(id=f"ep_{number}", backoff=BackoffPolicy.MONITOR) for number in range(100)]
    first = [due(plan_first(endpoint, NOON, CRON)) for endpoint in endpoints]

    assert min(first) == NOON
    assert max(first) > NOON


def test_planning_again_with_nothing_changed_moves_nothing() -> None:
    endpoint = run(an_endpoint(next_run_at=NOON), NOON)

    assert replan(endpoint, at("12:00:30"), CRON) == endpoint


@pytest.mark.parametrize("schedule", [{"interval_ms": 60_000}, {"cron": "* * * * *"}], ids=["interval", "cron"])
def test_planning_again_leaves_a_due_slot_to_whoever_will_claim_it(schedule: dict[str, object]) -> None:
    endpoint = run(an_endpoint("due", next_run_at=NOON, **schedule), NOON)

    assert due(replan(endpoint, at("12:01:00.3"), CRON)) == at("12:01:00")
    assert due(replan(endpoint, at("15:00:00"), CRON)) == at("12:01:00")


def test_planning_again_moves_the_next_run_in_either_direction() -> None:
    endpoint = run(an_endpoint(next_run_at=NOON), NOON)
    slower = replan(replace(endpoint, interval_ms=600_000), at("12:00:30"), CRON)
    faster = replan(replace(endpoint, interval_ms=45_000), at("12:00:30"), CRON)

    assert (due(slower), due(faster)) == (at("12:10:00"), at("12:00:45"))


def test_an_interval_that_is_overdue_by_the_new_rules_runs_at_once() -> None:
    endpoint = run(an_endpoint(interval_ms=3_600_000, next_run_at=NOON), NOON)

    planned = replan(replace(endpoint, interval_ms=60_000), at("12:30:00"), CRON)

    assert (due(planned), planned.source, planned.anchor_at) == (at("12:30:00"), "baseline-interval", NOON)
    assert decode_trail(planned.trail)[-1] == DecisionStep(
        "overdue", at("12:30:00"), "moved", "its time by the present rules has passed, so it runs at once"
    )


def test_an_overdue_run_that_is_planned_again_before_it_starts_is_not_put_off() -> None:
    endpoint = run(an_endpoint(interval_ms=3_600_000, next_run_at=NOON), NOON)
    overdue = replan(replace(endpoint, interval_ms=60_000), at("12:30:00"), CRON)

    assert due(replan(overdue, at("12:30:00.2"), CRON)) == at("12:30:00.2")


@pytest.mark.parametrize("minimum", [None, 1_800_000], ids=["no minimum", "a minimum that reaches over the next hour"])
def test_a_cron_that_is_overdue_by_the_new_rules_runs_at_its_next_time(minimum: int | None) -> None:
    endpoint = an_endpoint(cron="0 * * * *", min_interval_ms=minimum, anchor_at=NOON, next_run_at=None)

    planned = replan(endpoint, at("15:45:00"), CRON)
    again = replan(planned, at("15:50:00"), CRON)

    assert (due(planned), planned.source) == (at("16:00:00"), "baseline-cron")
    assert again == planned


def test_an_overdue_run_is_not_put_down_to_a_one_shot_that_is_still_to_come() -> None:
    hint = once(at("12:30:00"), at("13:00:00"))
    interval = an_endpoint(anchor_at=NOON, next_run_at=None, one_shot_hint=hint)
    cron = an_endpoint(cron="0 * * * *", anchor_at=at("10:00:00"), next_run_at=None, one_shot_hint=hint)

    at_once = replan(interval, at("12:20:00"), CRON)
    next_time = replan(cron, at("12:20:00"), CRON)

    assert (due(at_once), at_once.source) == (at("12:20:00"), "baseline-interval")
    assert (due(next_time), next_time.source) == (at("12:30:00"), "ai-oneshot")


@pytest.mark.parametrize("minimum", [None, 300_000])
def test_an_overdue_run_that_a_one_shot_asks_for_now_is_put_down_to_the_one_shot(minimum: int | None) -> None:
    hint = once(at("12:20:00"), at("13:00:00"))
    asleep = an_endpoint(anchor_at=NOON, next_run_at=None, one_shot_hint=hint, min_interval_ms=minimum)

    woken = replan(asleep, at("12:20:00"), CRON)

    assert (due(woken), woken.source) == (at("12:20:00"), "ai-oneshot")


def test_a_cron_that_is_planned_again_at_the_very_instant_of_its_time_runs_then() -> None:
    endpoint = an_endpoint(cron="0 * * * *", anchor_at=NOON, next_run_at=None)

    assert due(replan(endpoint, at("13:00:00"), CRON)) == at("13:00:00")


def test_a_cron_that_its_maximum_made_overdue_runs_at_once() -> None:
    yearly = an_endpoint(cron="0 0 1 1 *", max_interval_ms=3_600_000, anchor_at=NOON, next_run_at=None)

    planned = replan(yearly, at("15:45:00"), CRON)

    assert (due(planned), planned.source) == (at("15:45:00"), "clamped-max")


def test_planning_again_ignores_a_hint_that_was_fresh_at_the_anchor_and_no_longer_is() -> None:
    endpoint = an_endpoint(
        interval_ms=3_600_000, anchor_at=DAY, next_run_at=None, one_shot_hint=once(at("00:10:00"), at("00:30:00"))
    )

    assert due(replan(endpoint, at("00:30:00"), CRON)) == HOUR
    assert due(replan(endpoint, at("00:29:59"), CRON)) == at("00:29:59")


def test_planning_again_during_a_pause_gives_its_end() -> None:
    endpoint = an_endpoint(anchor_at=DAY, next_run_at=None, paused_until=at("06:00:00"))

    assert (due(replan(endpoint, HOUR, CRON)), replan(endpoint, HOUR, CRON).source) == (at("06:00:00"), "paused")


def test_a_pause_that_ended_meanwhile_no_longer_binds() -> None:
    endpoint = an_endpoint(cron="0 * * * *", anchor_at=DAY, next_run_at=None, paused_until=at("00:30:00"))

    assert due(replan(endpoint, at("02:15:00"), CRON)) == at("03:00:00")


@pytest.mark.parametrize("stopped", [{"job_active": False}, {"archived_at": DAY}, {"parked_at": DAY}])
def test_what_cannot_run_has_no_next_run(stopped: dict[str, object]) -> None:
    assert replan(an_endpoint("stopped", **stopped), DAY, CRON).next_run_at is None
    assert plan_after_run(an_endpoint("stopped", **stopped), DAY, DAY, DAY, CRON).next_run_at is None


def test_over_quota_nothing_brings_the_next_run_back_before_its_month() -> None:
    endpoint = an_endpoint(
        deferred_until=at("00:00:00", day=32), next_run_at=at("00:00:00", day=32), interval_hint=every(10, HOUR)
    )

    assert due(replan(endpoint, NOON, CRON)) == at("00:00:00", day=32)
    assert nudge(endpoint, NOON, CRON) == endpoint


def test_a_nudge_moves_only_to_an_earlier_instant() -> None:
    endpoint = an_endpoint(interval_ms=3_600_000, anchor_at=NOON, next_run_at=at("13:00:00"))
    now = at("12:20:00")
    tightened = nudge(replace(endpoint, interval_hint=every(60, at("13:00:00"))), now, CRON)
    relaxed = nudge(replace(endpoint, interval_hint=every(7_200, at("13:00:00"))), now, CRON)
    asked = nudge(replace(endpoint, one_shot_hint=once(at("12:25:00"), at("13:00:00"))), now, CRON)
    late = nudge(replace(endpoint, one_shot_hint=once(at("13:05:00"), at("13:10:00"))), now, CRON)

    assert [due(each) for each in (tightened, relaxed, asked, late)] == [
        at("12:21:00"), at("13:00:00"), at("12:25:00"), at("13:00:00"),
    ]  # fmt: skip
    assert (tightened.source, asked.source) == ("ai-interval", "ai-oneshot")
    assert tightened.anchor_at == NOON


def test_a_nudge_to_the_same_instant_changes_nothing() -> None:
    endpoint = an_endpoint(
        interval_ms=3_600_000,
        anchor_at=NOON,
        next_run_at=at("13:00:00"),
        one_shot_hint=once(at("13:00:00"), at("14:00:00")),
    )

    assert nudge(endpoint, at("12:20:00"), CRON) == endpoint


def test_a_nudge_keeps_the_limits() -> None:
    endpoint = an_endpoint(interval_ms=3_600_000, anchor_at=NOON, next_run_at=at("13:00:00"), min_interval_ms=600_000)

    nudged = nudge(replace(endpoint, one_shot_hint=once(at("12:20:00"), at("13:00:00"))), at("12:20:00"), CRON)

    assert (due(nudged), nudged.source) == (at("12:30:00"), "clamped-min")


@pytest.mark.parametrize("fields", [{"paused_until": FOREVER}, {"next_run_at": None}], ids=["paused", "stopped"])
def test_a_nudge_does_nothing_to_what_is_paused_or_stopped(fields: dict[str, object]) -> None:
    endpoint = an_endpoint("still", one_shot_hint=once(DAY, HOUR), **fields)

    assert nudge(endpoint, DAY, CRON) == endpoint


def test_what_cannot_be_planned_is_tried_again_after_a_fixed_delay_with_the_fault_in_its_trail() -> None:
    endpoint = an_endpoint(cron="0 * * * *")

    pushed = push_ahead(endpoint, NOON, "ValueError: no such zone")

    assert due(pushed) == NOON + FAULTY_DELAY
    assert decode_trail(pushed.trail) == (
        DecisionStep(
            "faulty", at("12:05:00"), "won", "planning failed and is retried later: ValueError: no such zone"
        ),
    )  # fmt: skip
    assert replace(pushed, next_run_at=endpoint.next_run_at, trail=endpoint.trail) == endpoint


def test_an_expired_hint_gives_back_the_plan_of_the_moment_it_expired() -> None:
    relaxed = an_endpoint(anchor_at=DAY, next_run_at=at("04:00:00"), interval_hint=every(14_400, at("00:30:00")))

    planned, events = expire_hints(relaxed, at("02:00:00"), CRON)

    assert (due(planned), planned.source, planned.interval_hint) == (at("00:30:00"), "baseline-interval", None)
    assert types(events) == ["hint.expired", "schedule.updated"]


def test_of_two_expired_hints_the_later_expiry_counts() -> None:
    hinted = an_endpoint(
        anchor_at=DAY, next_run_at=at("00:10:00"), cron="0 * * * *",
        interval_hint=every(600, at("00:59:00")), one_shot_hint=once(at("00:20:00"), at("02:30:00")),
    )  # fmt: skip

    planned, events = expire_hints(hinted, at("05:00:00"), CRON)

    assert (due(planned), planned.interval_hint, planned.one_shot_hint) == (at("03:00:00"), None, None)
    assert types(events) == ["hint.expired", "hint.expired", "schedule.updated"]


def test_fresh_hints_are_left_alone() -> None:
    hinted = an_endpoint(interval_hint=every(30, HOUR), one_shot_hint=once(at("00:20:00"), HOUR))

    assert expire_hints(hinted, at("00:59:59"), CRON) == (hinted, ())
    assert expire_hints(an_endpoint("bare", id="ep_1"), DAY, CRON) == (an_endpoint("bare", id="ep_1"), ())


def test_a_hint_that_expires_beside_a_fresh_one_leaves_it() -> None:
    hinted = an_endpoint(interval_hint=every(30, HOUR), one_shot_hint=once(at("00:20:00"), at("00:30:00")))
    other = an_endpoint(interval_hint=every(30, at("00:30:00")), one_shot_hint=once(at("00:20:00"), HOUR))

    assert expire_hints(hinted, at("00:30:00"), CRON)[0].interval_hint == every(30, HOUR)
    assert expire_hints(other, at("00:30:00"), CRON)[0].one_shot_hint == once(at("00:20:00"), HOUR)
