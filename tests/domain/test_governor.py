"""The governor's table and rules (spec: scheduling, section 2), each by its name."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.domain.stage import DAY, at, due, every, once, run
from tests.stores.world import an_endpoint

from mainspring.domain.endpoint import BackoffPolicy, Endpoint
from mainspring.domain.instant import FOREVER
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import (
    SOURCES,
    Decision,
    DecisionStep,
    decode_trail,
    encode_trail,
    plan_next_run,
)

HOUR = at("01:00:00")


def decide(now: datetime, **fields: object) -> Decision:
    return plan_next_run(now, an_endpoint("checked", id="ep_1", **fields), CRON)


def answer(now: datetime, **fields: object) -> tuple[datetime, str]:
    decision = decide(now, **fields)
    return decision.next_run_at, decision.source


TABLE = [
    pytest.param(
        DAY, {"interval_ms": 60_000, "failure_count": 3}, at("00:08:00"), "baseline-interval",
        id="interval 60 s, 3 failures",
    ),
    pytest.param(
        DAY, {"cron": "*/15 * * * *", "failure_count": 5}, at("00:15:00"), "baseline-cron",
        id="cron every quarter of an hour, 5 failures",
    ),
    pytest.param(
        DAY, {"failure_count": 5, "interval_hint": every(120, HOUR)}, at("00:02:00"), "ai-interval",
        id="interval 60 s, 5 failures, interval hint 120 s until 01:00",
    ),
    pytest.param(
        DAY, {"one_shot_hint": once(at("00:30:00"), HOUR)}, at("00:01:00"), "baseline-interval",
        id="interval 60 s, one-shot 00:30 until 01:00",
    ),
    pytest.param(
        DAY,
        {"interval_ms": 600_000, "interval_hint": every(120, HOUR), "one_shot_hint": once(at("00:01:30"), HOUR)},
        at("00:01:30"), "ai-oneshot",
        id="interval 600 s, interval hint 120 s and one-shot 00:01:30",
    ),
    pytest.param(
        at("00:00:05"), {"interval_ms": 10_000, "min_interval_ms": 60_000}, at("00:01:05"), "clamped-min",
        id="interval 10 s, min 60 s, now 00:00:05",
    ),
    pytest.param(
        DAY, {"paused_until": at("06:00:00"), "one_shot_hint": once(at("00:01:00"), HOUR)}, at("06:00:00"), "paused",
        id="paused until 06:00, one-shot 00:01",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("now", "fields", "expected", "source"), TABLE)
def test_the_table_of_the_specification_holds(
    now: datetime, fields: dict[str, object], expected: datetime, source: str
) -> None:
    assert answer(now, **fields) == (expected, source)


def test_six_failures_then_successes_give_the_gaps_of_the_table() -> None:
    endpoint = an_endpoint(interval_ms=60_000, next_run_at=DAY)
    gaps = []
    for status in [RunStatus.FAILURE] * 6 + [RunStatus.SUCCESS] * 2:
        slot_at = due(endpoint)
        endpoint = run(endpoint, slot_at, status)
        gaps.append((due(endpoint) - slot_at).total_seconds())

    assert gaps == [120, 240, 480, 960, 1920, 1920, 60, 60]


def test_a_run_of_20_s_every_15_s_runs_again_15_s_after_its_end() -> None:
    endpoint = an_endpoint(interval_ms=15_000, next_run_at=at("12:00:00"))

    assert due(run(endpoint, at("12:00:00"), took=20)) == at("12:00:35")


@pytest.mark.parametrize(
    ("failures", "minutes"), [(-1, 1), (0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 32), (10**9, 32)]
)
def test_default_backoff_doubles_five_times_and_stays(failures: int, minutes: int) -> None:
    assert answer(DAY, failure_count=failures) == (DAY + timedelta(minutes=minutes), "baseline-interval")


def test_cron_is_strictly_after_now_and_in_its_own_zone() -> None:
    assert answer(at("00:15:00"), cron="*/15 * * * *") == (at("00:30:00"), "baseline-cron")
    assert answer(DAY, cron="30 2 * * *", timezone="Europe/Berlin") == (at("01:30:00"), "baseline-cron")


@pytest.mark.parametrize("baseline", [{"interval_ms": 600_000}, {"cron": "*/10 * * * *"}], ids=["interval", "cron"])
@pytest.mark.parametrize("seconds", [30, 7_200], ids=["shorter", "longer"])
def test_a_fresh_interval_hint_replaces_the_baseline_and_bypasses_backoff(
    baseline: dict[str, object], seconds: int
) -> None:
    decided = answer(DAY, failure_count=4, interval_hint=every(seconds, HOUR), **baseline)

    assert decided == (DAY + timedelta(seconds=seconds), "ai-interval")


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        pytest.param(
            {"interval_hint": every(60, HOUR), "one_shot_hint": once(at("00:01:00"), HOUR)},
            (at("00:01:00"), "ai-interval"), id="both hints at one instant: the interval hint",
        ),
        pytest.param(
            {"interval_hint": every(60, HOUR), "one_shot_hint": once(at("00:00:59"), HOUR)},
            (at("00:00:59"), "ai-oneshot"), id="both hints, the one-shot is earlier",
        ),
        pytest.param(
            {"interval_hint": every(1_800, HOUR), "one_shot_hint": once(at("00:40:00"), HOUR)},
            (at("00:30:00"), "ai-interval"), id="both hints, the earlier baseline is ignored",
        ),
        pytest.param(
            {"one_shot_hint": once(at("00:10:00"), HOUR)},
            (at("00:10:00"), "baseline-interval"), id="one-shot and baseline at one instant: the baseline",
        ),
        pytest.param(
            {"one_shot_hint": once(at("00:09:59"), HOUR)},
            (at("00:09:59"), "ai-oneshot"), id="the one-shot is earlier than the baseline",
        ),
        pytest.param({}, (at("00:10:00"), "baseline-interval"), id="no hint: the baseline"),
    ],
)  # fmt: skip
def test_the_choice_is_the_earlier_one_and_ties_are_settled(
    hints: dict[str, object], expected: tuple[datetime, str]
) -> None:
    assert answer(DAY, interval_ms=600_000, **hints) == expected


def test_a_hint_that_expires_at_this_instant_is_no_longer_fresh() -> None:
    fields: dict[str, object] = {"interval_hint": every(30, HOUR), "one_shot_hint": once(at("00:59:00"), HOUR)}

    assert answer(HOUR, **fields) == (at("01:01:00"), "baseline-interval")
    assert answer(HOUR - timedelta(microseconds=1), **fields)[1] == "ai-oneshot"


def test_a_one_shot_in_the_past_is_floored_to_now() -> None:
    assert answer(at("00:20:00"), one_shot_hint=once(at("00:10:00"), HOUR)) == (at("00:20:00"), "ai-oneshot")


@pytest.mark.parametrize("interval_ms", [-(10**30), -1, 0, 1, 999, 366 * 86_400_000 + 1, 10**30])
def test_an_interval_hint_out_of_bounds_is_ignored_and_the_trail_says_so(interval_ms: int) -> None:
    decision = decide(DAY, interval_hint=replace(every(1, HOUR), interval_ms=interval_ms))

    assert (decision.next_run_at, decision.source) == (at("00:01:00"), "baseline-interval")
    assert decision.trail[1] == DecisionStep(
        "ai-interval", None, "ignored", f"{interval_ms} ms is out of a hint's bounds"
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"min_interval_ms": 60_001}, (at("00:01:00.001"), "clamped-min"), id="below the minimum"),
        pytest.param({"min_interval_ms": 60_000}, (at("00:01:00"), "baseline-interval"), id="equal to the minimum"),
        pytest.param({"max_interval_ms": 60_000}, (at("00:01:00"), "baseline-interval"), id="equal to the maximum"),
        pytest.param({"max_interval_ms": 59_999}, (at("00:00:59.999"), "clamped-max"), id="above the maximum"),
        pytest.param(
            {"min_interval_ms": 0, "max_interval_ms": 0}, (at("00:01:00"), "baseline-interval"), id="0 is no limit"
        ),
        pytest.param(
            {"min_interval_ms": 90_000, "max_interval_ms": 90_000}, (at("00:01:30"), "clamped-min"),
            id="only one instant",
        ),
        pytest.param(
            {"failure_count": 5, "max_interval_ms": 300_000}, (at("00:05:00"), "clamped-max"),
            id="backoff above the maximum",
        ),
        pytest.param(
            {"interval_hint": every(1, HOUR), "min_interval_ms": 30_000}, (at("00:00:30"), "clamped-min"),
            id="a wild hint",
        ),
        pytest.param(
            {"one_shot_hint": once(DAY, HOUR), "min_interval_ms": 30_000}, (at("00:00:30"), "clamped-min"),
            id="a one-shot now",
        ),
        pytest.param(
            {"interval_hint": every(7_200, HOUR), "max_interval_ms": 3_600_000}, (HOUR, "clamped-max"),
            id="a sleepy hint",
        ),
    ],
)  # fmt: skip
def test_limits_hold_and_equal_is_not_clamped(fields: dict[str, object], expected: tuple[datetime, str]) -> None:
    assert answer(DAY, **fields) == expected


def test_where_limits_contradict_each_other_the_maximum_has_the_last_word() -> None:
    assert answer(DAY, min_interval_ms=90_000, max_interval_ms=30_000) == (at("00:00:30"), "clamped-max")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"min_interval_ms": 7_200_000},
        {"max_interval_ms": 1_000},
        {"interval_hint": every(1, HOUR)},
        {"one_shot_hint": once(DAY, HOUR)},
        {"not_before": at("12:00:00")},
        {"cron": "* * * * *"},
    ],
)
def test_pause_wins_over_everything_last(fields: dict[str, object]) -> None:
    assert answer(DAY, paused_until=at("00:00:10"), **fields) == (at("00:00:10"), "paused")


def test_a_pause_that_ends_at_this_instant_is_over() -> None:
    assert answer(DAY, paused_until=DAY) == (at("00:01:00"), "baseline-interval")


def test_retry_after_holds_the_choice_back_without_becoming_its_source() -> None:
    held = {"not_before": at("00:05:00")}

    assert answer(DAY, **held) == (at("00:05:00"), "baseline-interval")
    assert answer(DAY, cron="* * * * *", **held) == (at("00:05:00"), "baseline-cron")
    assert answer(DAY, interval_hint=every(30, HOUR), **held) == (at("00:05:00"), "ai-interval")


@pytest.mark.parametrize("not_before", [at("00:01:00"), at("00:00:30"), DAY, at("00:00:00") - timedelta(days=1)])
def test_retry_after_never_brings_a_run_forward(not_before: datetime) -> None:
    decision = decide(DAY, not_before=not_before)

    assert decision.next_run_at == at("00:01:00")
    assert [step.rule for step in decision.trail] == ["baseline-interval"]


def test_limits_win_over_retry_after() -> None:
    assert answer(DAY, not_before=at("05:00:00"), max_interval_ms=600_000) == (at("00:10:00"), "clamped-max")
    assert answer(DAY, not_before=at("00:02:00"), min_interval_ms=600_000) == (at("00:10:00"), "clamped-min")


def test_an_interval_beyond_the_calendar_is_never() -> None:
    assert answer(DAY, interval_ms=10**15, failure_count=5) == (FOREVER, "baseline-interval")
    assert answer(FOREVER, interval_ms=60_000) == (FOREVER, "baseline-interval")


def test_sources_are_a_closed_set() -> None:
    assert SOURCES == (
        "baseline-cron", "baseline-interval", "ai-interval", "ai-oneshot", "clamped-min", "clamped-max", "paused",
    )  # fmt: skip


def test_the_trail_of_a_plain_decision_is_the_baseline() -> None:
    assert decide(DAY, failure_count=1) == Decision(
        at("00:02:00"),
        "baseline-interval",
        (DecisionStep("baseline-interval", at("00:02:00"), "won", "every 1m, times 2 after the last run failed"),),
    )


def test_the_trail_names_every_candidate_with_its_verdict_and_reason() -> None:
    decision = decide(
        DAY,
        cron="*/15 * * * *",
        timezone="Europe/Berlin",
        interval_hint=every(120, HOUR, "errors are rising", "rule"),
        one_shot_hint=once(at("00:01:30"), HOUR, author="model"),
        not_before=at("00:01:45"),
        min_interval_ms=180_000,
    )

    assert decision == Decision(
        at("00:03:00"),
        "clamped-min",
        (
            DecisionStep(
                "baseline-cron", at("00:15:00"), "lost",
                "cron */15 * * * * in Europe/Berlin; with two hints the baseline is ignored",
            ),
            DecisionStep("ai-interval", at("00:02:00"), "lost", "rule asked for every 2m: errors are rising"),
            DecisionStep("ai-oneshot", at("00:01:30"), "won", "model asked for once at 2025-01-01T00:01:30Z"),
            DecisionStep("retry-after", at("00:01:45"), "moved", "the target asked not to be called before"),
            DecisionStep("clamped-min", at("00:03:00"), "moved", "at least 3m apart"),
        ),
    )  # fmt: skip


def test_the_trail_says_that_an_interval_hint_replaced_the_baseline() -> None:
    decision = decide(DAY, interval_hint=every(7_200, HOUR), max_interval_ms=3_600_000)

    assert decision.trail == (
        DecisionStep("baseline-interval", at("00:01:00"), "lost", "every 1m; an interval hint replaces the baseline"),
        DecisionStep("ai-interval", at("02:00:00"), "won", "user asked for every 2h"),
        DecisionStep("clamped-max", HOUR, "moved", "at most 1h apart"),
    )


@pytest.mark.parametrize("interval_ms", [1_000, 366 * 86_400_000])
def test_an_interval_hint_on_the_edge_of_its_bounds_is_followed(interval_ms: int) -> None:
    hint = replace(every(1, HOUR), interval_ms=interval_ms)

    assert answer(DAY, interval_hint=hint) == (DAY + timedelta(milliseconds=interval_ms), "ai-interval")


def test_the_trail_begins_with_the_baseline_whatever_was_ignored() -> None:
    interval = decide(HOUR, interval_hint=every(30, at("02:00:00")), one_shot_hint=once(DAY, HOUR))
    one_shot = decide(HOUR, interval_hint=every(30, HOUR), one_shot_hint=once(HOUR, at("02:00:00")))

    assert [step.rule for step in interval.trail] == ["baseline-interval", "ai-oneshot", "ai-interval"]
    assert [step.rule for step in one_shot.trail] == ["baseline-interval", "ai-interval", "ai-oneshot"]


def test_the_trail_keeps_expired_hints_as_ignored() -> None:
    decision = decide(HOUR, interval_hint=every(30, at("00:30:00")), one_shot_hint=once(at("00:50:00"), HOUR))

    assert decision.trail[1:] == (
        DecisionStep("ai-interval", None, "ignored", "the interval hint expired 2025-01-01T00:30:00Z"),
        DecisionStep("ai-oneshot", None, "ignored", "the one-shot hint expired 2025-01-01T01:00:00Z"),
    )


def test_the_trail_says_which_of_one_shot_and_baseline_lost() -> None:
    earlier = decide(DAY, one_shot_hint=once(at("00:00:30"), HOUR))
    later = decide(DAY, one_shot_hint=once(at("00:30:00"), HOUR))

    assert [(step.rule, step.verdict) for step in earlier.trail] == [
        ("baseline-interval", "lost"), ("ai-oneshot", "won"),
    ]  # fmt: skip
    assert [(step.rule, step.verdict) for step in later.trail] == [
        ("baseline-interval", "won"), ("ai-oneshot", "lost"),
    ]  # fmt: skip


def test_the_trail_of_a_pause_shows_what_would_have_been() -> None:
    decision = decide(DAY, paused_until=at("06:00:00"), pause_reason="moving house", max_interval_ms=30_000)

    assert decision.trail == (
        DecisionStep("baseline-interval", at("00:01:00"), "lost", "every 1m"),
        DecisionStep("clamped-max", at("00:00:30"), "moved", "at most 30s apart"),
        DecisionStep("paused", at("06:00:00"), "won", "pause wins over everything: moving house"),
    )
    assert decide(DAY, paused_until=at("06:00:00")).trail[-1].why == "pause wins over everything"


def test_the_trail_of_the_monitor_policy_says_so() -> None:
    policy = BackoffPolicy.MONITOR

    assert decide(DAY, backoff=policy).trail[0].why == "1m with jitter and monitor backoff"
    assert (
        decide(DAY, backoff=policy, failure_count=2).trail[0].why
        == "1m with jitter and monitor backoff after the last 2 runs failed"
    )


def test_a_trail_survives_the_store() -> None:
    trail = decide(DAY, one_shot_hint=once(at("00:30:00"), HOUR), paused_until=FOREVER).trail

    assert decode_trail(encode_trail(trail)) == trail


def test_the_endpoint_is_not_changed_by_being_asked_about() -> None:
    endpoint: Endpoint = an_endpoint(one_shot_hint=once(DAY, HOUR), failure_count=3)
    before = replace(endpoint)

    assert plan_next_run(DAY, endpoint, CRON) == plan_next_run(DAY, endpoint, CRON)
    assert endpoint == before
