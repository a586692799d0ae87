"""After downtime exactly the runs the misfire policy names take place, and the rest is one `missed` row (R11)."""

from datetime import datetime, timedelta
from itertools import count
from time import process_time

import pytest
from msgspec.structs import replace
from tests.domain.stage import DAY, after, at, due, end, every, once, reach, types
from tests.stores.world import an_endpoint, an_outcome

from mainspring.domain.endpoint import Endpoint, MisfirePolicy
from mainspring.domain.run import Outcome, Run, RunStatus, RunTrigger
from mainspring.domain.schedule.claim import Transition

NOON = at("12:00:00")
MINUTE = timedelta(minutes=1)
RUN_ONCE, SKIP, CATCH_UP = MisfirePolicy.RUN_ONCE, MisfirePolicy.SKIP, MisfirePolicy.CATCH_UP


def down(misfire: MisfirePolicy = RUN_ONCE, **fields: object) -> Endpoint:
    """An endpoint that was due at noon and that nobody could run."""
    wanted = {"misfire": misfire, "anchor_at": NOON - MINUTE, "next_run_at": NOON, **fields}
    return an_endpoint("down", id="ep_1", **wanted)


def summary(transition: Transition) -> tuple[datetime | None, int]:
    """The slot that starts, and how many are summed up as missed."""
    started = transition.claim.slot_at if transition.claim else None
    if transition.missed is None:
        return started, 0
    assert transition.missed.missed_count > 0, "a row about nothing"
    return started, transition.missed.missed_count


def caught_up(endpoint: Endpoint, now: datetime, result: Outcome, took: float = 0.5) -> tuple[list[Run], Endpoint]:
    """Run on until the slots of the downtime are done: the rows that were written, and the endpoint at rest."""
    runs: list[Run] = []
    for number in count():
        transition = reach(endpoint, now, run_id=f"run_{number}")
        assert transition.claim is not None
        assert transition.opened is not None
        runs.append(transition.opened)
        endpoint = after(end(transition.endpoint, transition.claim, result, took=took))
        now += timedelta(seconds=took)
        if endpoint.slot_at is None:
            return runs, endpoint
        now = max(now, due(endpoint))
    raise AssertionError("it never ends")


def test_up_to_the_grace_a_start_is_late_and_nothing_more() -> None:
    for misfire in MisfirePolicy:
        on_the_edge = reach(down(misfire, interval_ms=10_000), NOON + timedelta(seconds=30))

        assert summary(on_the_edge) == (NOON, 0)


@pytest.mark.parametrize(
    ("late", "fields", "expected"),
    [
        pytest.param(MINUTE, {}, (at("12:01:00"), 1), id="interval, 1 min: the newest runs"),
        pytest.param(MINUTE * 1.5, {}, (at("12:01:00"), 1), id="interval, 1.5 min"),
        pytest.param(timedelta(seconds=31), {}, (NOON, 0), id="interval, 31 s: the only one runs"),
        pytest.param(timedelta(hours=1), {}, (at("13:00:00"), 60), id="interval, 1 h"),
        pytest.param(timedelta(days=30), {}, (at("12:00:00", day=31), 43_200), id="interval, 30 days, counted exactly"),
        pytest.param(MINUTE, {"cron": "* * * * *"}, (at("12:01:00"), 1), id="cron, 1 min"),
        pytest.param(timedelta(hours=1), {"cron": "* * * * *"}, (at("13:00:00"), 60), id="cron, 1 h"),
        pytest.param(timedelta(hours=1), {"cron": "0 * * * *"}, (at("13:00:00"), 1), id="hourly cron, 1 h"),
        pytest.param(timedelta(minutes=59), {"cron": "0 12 * * *"}, (NOON, 0), id="daily cron within its hour"),
        pytest.param(timedelta(minutes=60), {"cron": "0 12 * * *"}, (NOON, 0), id="daily cron, exactly an hour late"),
        pytest.param(timedelta(minutes=61), {"cron": "0 12 * * *"}, (None, 1), id="daily cron, more than an hour late"),
        pytest.param(
            timedelta(minutes=61), {"cron": "0 12 * * *", "max_lateness_ms": 7_200_000}, (NOON, 0),
            id="daily cron that may be two hours late",
        ),
        pytest.param(timedelta(days=3), {"interval_ms": 86_400_000}, (at("12:00:00", day=4), 3), id="daily interval"),
        pytest.param(MINUTE, {"max_lateness_ms": 0}, (at("12:01:00"), 1), id="no lateness, but one is just due"),
        pytest.param(MINUTE * 1.5, {"max_lateness_ms": 29_999}, (None, 2), id="later than it may be"),
        pytest.param(MINUTE * 1.5, {"max_lateness_ms": 30_000}, (at("12:01:00"), 1), id="as late as it may be"),
    ],
)  # fmt: skip
def test_run_once_runs_the_newest_slot_that_is_not_too_late(
    late: timedelta, fields: dict[str, object], expected: tuple[datetime | None, int]
) -> None:
    assert summary(reach(down(RUN_ONCE, **fields), NOON + late)) == expected


@pytest.mark.parametrize(
    ("late", "fields", "expected", "next_run_at"),
    [
        pytest.param(timedelta(seconds=31), {}, (None, 1), at("12:01:31"), id="interval, 31 s"),
        pytest.param(MINUTE, {}, (at("12:01:00"), 1), None, id="interval: the newest is on time"),
        pytest.param(MINUTE * 10.75, {}, (None, 11), at("12:11:45"), id="interval, 10 min 45 s"),
        pytest.param(MINUTE * 10.75, {"cron": "* * * * *"}, (None, 11), at("12:11:00"), id="cron, 10 min 45 s"),
        pytest.param(
            MINUTE * 10.75, {"cron": "* * * * *", "min_interval_ms": 60_000}, (None, 11), at("12:11:00"),
            id="cron with a minimum stays on the minute",
        ),
        pytest.param(timedelta(days=30), {"cron": "0 12 * * *"}, (at("12:00:00", day=31), 30), None, id="just due"),
    ],
)  # fmt: skip
def test_skip_runs_only_what_is_not_late(
    late: timedelta, fields: dict[str, object], expected: tuple[datetime | None, int], next_run_at: datetime | None
) -> None:
    transition = reach(down(SKIP, **fields), NOON + late)

    assert summary(transition) == expected
    assert next_run_at is None or due(transition.endpoint) == next_run_at


@pytest.mark.parametrize(
    ("late", "fields", "slots", "missed"),
    [
        pytest.param(MINUTE * 4.5, {}, [NOON + MINUTE * n for n in range(5)], 0, id="interval, all of them"),
        pytest.param(
            MINUTE * 20.5, {"catch_up_max": 3}, [NOON + MINUTE * n for n in (18, 19, 20)], 18,
            id="interval, newest three",
        ),
        pytest.param(
            MINUTE * 4.5, {"cron": "* * * * *"}, [NOON + MINUTE * n for n in range(5)], 0, id="cron, all of them"
        ),
        pytest.param(
            MINUTE * 300.5, {"cron": "* * * * *", "catch_up_max": 100},
            [NOON + MINUTE * n for n in range(201, 301)], 201, id="cron, newest hundred",
        ),
        pytest.param(
            MINUTE * 10.5, {"max_lateness_ms": 150_000}, [NOON + MINUTE * n for n in (8, 9, 10)], 8,
            id="interval, none later than it may be",
        ),
        pytest.param(timedelta(seconds=45), {}, [NOON], 0, id="the only one"),
    ],
)  # fmt: skip
def test_catch_up_runs_the_newest_slots_one_after_the_other(
    late: timedelta, fields: dict[str, object], slots: list[datetime], missed: int
) -> None:
    endpoint = down(CATCH_UP, **fields)

    runs, rested = caught_up(endpoint, NOON + late, an_outcome())

    assert [each.slot_at for each in runs] == slots
    assert summary(reach(endpoint, NOON + late)) == (slots[0], missed)
    assert {each.trigger for each in runs} == {RunTrigger.CATCH_UP if len(slots) > 1 else RunTrigger.SCHEDULE}
    assert {each.attempt for each in runs} == {1}
    assert due(rested) > NOON + late


def test_catch_up_that_is_too_late_for_any_slot_runs_none() -> None:
    transition = reach(down(CATCH_UP, max_lateness_ms=1_000), NOON + MINUTE * 4.5)

    assert (summary(transition), due(transition.endpoint)) == ((None, 5), at("12:05:30"))


def test_a_catch_up_slower_than_its_schedule_ends_after_the_slots_of_the_downtime() -> None:
    endpoint = down(CATCH_UP, interval_ms=15_000, catch_up_max=4)

    runs, rested = caught_up(endpoint, NOON + timedelta(minutes=10), an_outcome(), took=20)

    assert len(runs) == 4
    assert due(rested) == NOON + timedelta(minutes=10, seconds=4 * 20 + 15)


def test_a_tight_hint_adds_no_slots_to_a_catch_up() -> None:
    endpoint = down(CATCH_UP, source="ai-interval", interval_hint=every(5, at("15:00:00")), catch_up_max=3)

    runs, _ = caught_up(endpoint, NOON + MINUTE * 10, an_outcome())

    assert [each.slot_at for each in runs] == [NOON + MINUTE * n for n in (8, 9, 10)]


def test_catch_up_keeps_the_minimum_between_its_runs() -> None:
    endpoint = down(CATCH_UP, min_interval_ms=60_000, catch_up_max=3)

    runs, _ = caught_up(endpoint, NOON + MINUTE * 10, an_outcome())

    assert [each.started_at for each in runs] == [NOON + MINUTE * n for n in (10, 11, 12)]


def test_catch_up_stops_where_the_target_asks_for_a_break() -> None:
    endpoint = down(CATCH_UP)
    busy = an_outcome(RunStatus.FAILURE, retry_after_s=600)

    runs, rested = caught_up(endpoint, NOON + MINUTE * 5, busy)

    assert len(runs) == 1
    assert due(rested) == at("12:15:00.5")


@pytest.mark.parametrize("policy", list(MisfirePolicy))
def test_thirty_days_down_on_a_minute_cron_write_at_most_two_rows_and_cost_little(policy: MisfirePolicy) -> None:
    endpoint = down(policy, cron="* * * * *")
    now = at("12:00:40", day=31)
    began = process_time()
    transition = reach(endpoint, now)
    seconds = process_time() - began

    rows = [row for row in (transition.opened, transition.missed) if row is not None]
    assert len(rows) <= 2
    assert transition.missed is not None
    assert transition.missed.missed_count == 1_000 - (policy is not SKIP) * (10 if policy is CATCH_UP else 1)
    assert (transition.missed.error or "").startswith("many slots from 2025-01-01T12:00:00Z on passed")
    assert seconds < 0.5


def test_the_missed_row_says_how_many_since_when_and_by_which_policy() -> None:
    transition = reach(down(SKIP), NOON + MINUTE * 4.75)

    missed = transition.missed
    assert missed is not None
    assert missed == Run(
        "run_1_missed", "default", "ep_1", NOON, 0, RunTrigger.SCHEDULE, "baseline-interval", RunStatus.MISSED,
        NOON + MINUTE * 4.75, None, "worker-1", finished_at=NOON + MINUTE * 4.75, duration_ms=0, error_code="missed",
        error="5 slots from 2025-01-01T12:00:00Z on passed while nothing could run them (misfire: skip)",
        missed_count=5, trail="[]",
    )  # fmt: skip
    (event,) = transition.events
    assert (event.type.value, event.run_id, event.data["count"], event.data["policy"]) == (
        "run.missed", "run_1_missed", 5, "skip",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "late", "words"),
    [
        pytest.param({}, timedelta(seconds=45), "1 slot from ", id="one"),
        pytest.param({"cron": "* * * * *"}, MINUTE * 2.75, "3 slots from ", id="some of a cron"),
        pytest.param({}, timedelta(days=2, seconds=45), "2881 slots from ", id="any number of an interval"),
    ],
)
def test_the_missed_row_counts_in_words(fields: dict[str, object], late: timedelta, words: str) -> None:
    missed = reach(down(SKIP, **fields), NOON + late).missed

    assert missed is not None
    assert (missed.error or "").startswith(words)


def test_what_is_missed_is_told_before_what_starts() -> None:
    assert types(reach(down(), NOON + MINUTE * 3).events) == ["run.missed", "run.started"]


def test_a_stale_backoff_is_dropped_and_a_younger_one_survives() -> None:
    failing = down(failure_count=4, interval_ms=60_000)

    stale = reach(failing, NOON + timedelta(hours=1, seconds=1))
    young = reach(failing, NOON + timedelta(hours=1))

    assert (stale.endpoint.failure_count, young.endpoint.failure_count) == (0, 4)


def test_slots_of_a_backed_off_interval_are_counted_by_the_backed_off_interval() -> None:
    failing = down(failure_count=2, interval_ms=60_000)

    assert summary(reach(failing, NOON + MINUTE * 9)) == (NOON + MINUTE * 8, 2)


@pytest.mark.parametrize(
    ("source", "fields", "expected"),
    [
        pytest.param("clamped-min", {}, (NOON, 0), id="moved by a limit: one instant"),
        pytest.param("paused", {}, (NOON, 0), id="the end of a pause: one instant"),
        pytest.param("ai-interval", {}, (NOON + MINUTE * 9, 9), id="an interval hint: the slots of the interval"),
        pytest.param("ai-interval", {"cron": "* * * * *"}, (NOON, 0), id="an interval hint on a cron: one instant"),
    ],
)
def test_what_was_planned_for_one_instant_is_one_slot(
    source: str, fields: dict[str, object], expected: tuple[datetime, int]
) -> None:
    endpoint = replace(down(RUN_ONCE, **fields), source=source, interval_hint=every(60, at("15:00:00")))

    assert summary(reach(endpoint, NOON + MINUTE * 9)) == expected


@pytest.mark.parametrize("policy", [RUN_ONCE, CATCH_UP])
def test_one_instant_is_one_slot_however_long_ago(policy: MisfirePolicy) -> None:
    endpoint = down(policy, source="clamped-max")

    transition = reach(endpoint, NOON + timedelta(days=3))

    assert summary(transition) == (NOON, 0)
    assert transition.opened is not None
    assert transition.opened.trigger is RunTrigger.SCHEDULE


def test_a_hint_that_expired_during_the_downtime_leaves_its_slots_to_the_misfire_policy() -> None:
    hinted = an_endpoint(
        cron="0 * * * *", anchor_at=NOON, next_run_at=at("12:10:00"), source="ai-oneshot",
        one_shot_hint=once(at("12:10:00"), at("12:40:00")),
    )  # fmt: skip

    transition = reach(hinted, at("15:00:40"))

    assert summary(transition) == (at("15:00:00"), 2)
    assert types(transition.events) == ["hint.expired", "schedule.updated", "run.missed", "run.started"]


def test_the_run_after_a_misfire_is_planned_from_its_start() -> None:
    transition = reach(down(interval_ms=600_000), at("12:25:00"))
    assert transition.claim is not None

    settled = after(end(transition.endpoint, transition.claim))

    assert (transition.claim.slot_at, due(settled)) == (at("12:20:00"), at("12:35:00"))


def test_a_rare_cron_is_found_however_far_back() -> None:
    yearly = an_endpoint(
        cron="0 0 1 1 *", anchor_at=DAY - timedelta(days=366), next_run_at=DAY, max_lateness_ms=366 * 86_400_000
    )

    assert summary(reach(yearly, DAY + timedelta(days=300))) == (DAY, 0)
