"""Recorded runs through another policy: calls, failures seen, decisions."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.stores.world import START, an_endpoint

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import FOREVER
from mainspring.domain.rules import backtest
from mainspring.domain.rules.backtest import Policy, back_test
from mainspring.domain.rules.judge import RuleResult, StoredRule
from mainspring.domain.rules.rule import read_rule
from mainspring.domain.schedule.cron import CRON

MINUTELY = an_endpoint("watch", id="ep_1", interval_ms=60_000)


def recorded(minute: float, ok: bool = True, body: str = "{}", endpoint: Endpoint = MINUTELY) -> RuleResult:
    finished_at = START + timedelta(minutes=minute)
    status = "success" if ok else "failure"
    return RuleResult(f"run_{minute:g}", endpoint.id, ok, status, 200 if ok else 500, finished_at, 0, body.encode())


def a_rule(owner: Endpoint, **document: object) -> StoredRule:
    return StoredRule("rule_1", owner.tenant_id, owner.job_id, owner.id, read_rule(document, "one"), START)


def minutes(runs: tuple[backtest.ReplayedRun, ...], since: datetime = START) -> list[float]:
    return [(run.at - since).total_seconds() / 60 for run in runs]


def test_present_policy_makes_the_calls_that_were_recorded() -> None:
    history = {"ep_1": tuple(recorded(minute) for minute in range(10))}
    policy = Policy((MINUTELY,), ())

    tested = back_test(history, policy, policy, CRON)

    assert minutes(tested.present.runs) == list(range(10))
    assert (tested.only_present, tested.only_changed, tested.detections) == ((), (), ())


def test_slower_baseline_saves_calls_and_sees_failures_later_or_not_at_all() -> None:
    down = {3, 4, 5, 6, 7, 8, 12}
    history = {"ep_1": tuple(recorded(minute, minute not in down) for minute in range(21))}
    slower = replace(MINUTELY, interval_ms=300_000)

    tested = back_test(history, Policy((MINUTELY,), ()), Policy((slower,), ()), CRON)

    assert minutes(tested.changed.runs) == [0, 5, 15, 20]
    assert [each.changed_s for each in tested.detections] == [120.0, None]


def test_rule_is_judged_by_the_response_that_held() -> None:
    bodies = {minute: '{"depth": 900}' if 5 <= minute < 10 else '{"depth": 1}' for minute in range(0, 20)}
    history = {"ep_1": tuple(recorded(minute, body=body) for minute, body in bodies.items())}
    busy = a_rule(MINUTELY, when="body.depth > 200", interval="30s", ttl="2m")

    tested = back_test(history, Policy((MINUTELY,), ()), Policy((MINUTELY,), (busy,)), CRON)

    (fired,) = tested.only_changed
    assert (fired.at, fired.does, fired.recorded_id) == (START + timedelta(minutes=5), "every 30s for 2m", "run_5")
    assert [each for each in minutes(tested.changed.runs) if 5 <= each < 12] == [
        5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5, 10, 10.5, 11,
    ]  # fmt: skip
    assert {run.source for run in tested.changed.runs} == {"baseline-interval", "ai-interval"}


def test_hint_that_runs_out_between_runs_gives_the_baseline_back() -> None:
    hourly = an_endpoint("watch", id="ep_1", interval_ms=3_600_000)
    history = {"ep_1": (recorded(0, body='{"x": 1}'), recorded(1, body='{"x": 0}'), recorded(130))}
    quick = a_rule(hourly, when="body.x == 1", interval="50s", ttl="80s")

    tested = back_test(history, Policy((hourly,), ()), Policy((hourly,), (quick,)), CRON)

    assert [round(each * 60) for each in minutes(tested.changed.runs)] == [0, 50, 100, 3700, 7300]


def test_sleeping_sibling_is_woken_by_what_was_recorded() -> None:
    asleep = an_endpoint(
        "page", id="ep_2", interval_ms=3_600_000, paused_until=FOREVER, next_run_at=FOREVER, advice_may_resume=True
    )
    slow = {minute: f'{{"load": {5000 if minute >= 4 else 100}}}' for minute in range(10)}
    history = {"ep_1": tuple(recorded(minute, body=body) for minute, body in slow.items())}
    wake = a_rule(asleep, when="siblings.watch.body.load > 3000", resume=True, run="now", cooldown="10m")

    tested = back_test(history, Policy((MINUTELY, asleep), ()), Policy((MINUTELY, asleep), (wake,)), CRON)

    woken = [run for run in tested.changed.runs if run.endpoint_id == "ep_2"]
    assert minutes(tuple(woken)) == [4]
    assert [run for run in tested.present.runs if run.endpoint_id == "ep_2"] == []


def test_health_is_that_of_the_replayed_runs() -> None:
    history = {"ep_1": tuple(recorded(minute, minute != 5) for minute in range(90))}
    shaky = a_rule(MINUTELY, when="health.h1.runs >= 10 && health.h1.success_rate < 1.0", pause="5m", cooldown="1d")
    steady = replace(MINUTELY, max_interval_ms=60_000)

    tested = back_test(history, Policy((steady,), ()), Policy((steady,), (shaky,)), CRON)

    (fired,) = tested.only_changed
    assert (fired.at - START) == timedelta(minutes=9)


def test_endpoint_that_cannot_run_makes_no_calls() -> None:
    history = {"ep_1": tuple(recorded(minute) for minute in range(5))}
    stopped = replace(MINUTELY, job_active=False)

    tested = back_test(history, Policy((MINUTELY,), ()), Policy((stopped,), ()), CRON)

    assert (len(tested.present.runs), tested.changed.runs) == (5, ())


def test_rule_that_cannot_be_judged_is_told_once() -> None:
    history = {"ep_1": tuple(recorded(minute, body='{"depth": 900}') for minute in range(5))}
    misspelt = a_rule(MINUTELY, when="body.dept > 200", interval="30s")

    tested = back_test(history, Policy((MINUTELY,), ()), Policy((MINUTELY,), (misspelt,)), CRON)

    (fault,) = tested.changed.faults
    assert fault.startswith("rule 'one': ")
    assert (tested.present.faults, tested.only_changed) == ((), ())


def test_fifty_thousand_recorded_runs_are_replayed_whole() -> None:
    history = {"ep_1": tuple(recorded(minute) for minute in range(50_000))}
    policy = Policy((MINUTELY,), ())

    tested = back_test(history, policy, policy, CRON)

    assert (len(tested.changed.runs), tested.changed.is_cut) == (50_000, False)


def test_replay_that_never_ends_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtest, "RUNS_MAX", 100)
    history = {"ep_1": (recorded(0), recorded(6_000))}

    tested = back_test(history, Policy((MINUTELY,), ()), Policy((replace(MINUTELY, interval_ms=1_000),), ()), CRON)

    assert (len(tested.changed.runs), tested.changed.is_cut) == (100, True)
