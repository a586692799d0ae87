"""R21: the governor is a pure function whose answer is always within the user's limits."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.domain.stage import DAY
from tests.domain.states import CRONS, ZONES, states
from tests.stores.world import an_endpoint

from mainspring.domain.endpoint import BackoffPolicy, Endpoint
from mainspring.domain.instant import FOREVER, after_ms
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import SOURCES, Decision, plan_next_run
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint

ROOT = Path(__file__).parents[2]
DRAWN = 8_000
COMPARED = 300

nows = st.datetimes(datetime(2000, 1, 1), datetime(2400, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
limits = st.one_of(st.none(), st.just(0), st.integers(1_000, 366 * 86_400_000))
milliseconds = st.one_of(st.integers(), st.integers(-5, 5_000), st.integers(1_000, 366 * 86_400_000))


@st.composite
def endpoints(draw: st.DrawFn, now: datetime) -> Endpoint:
    """Any endpoint a store could hold, and some it should not: hints with any number, any instants, any counts."""
    near = st.builds(after_ms, st.just(now), st.integers(-(10**9), 10**9))
    low, high = draw(limits), draw(limits)
    if low and high and low > high:
        low, high = high, low
    schedule: dict[str, object] = {"interval_ms": draw(st.integers(100, 366 * 86_400_000))}
    if draw(st.booleans()):
        schedule = {"cron": draw(st.sampled_from(CRONS)), "timezone": draw(st.sampled_from(ZONES))}
    return an_endpoint(
        "any",
        id=draw(st.text(max_size=5)),
        min_interval_ms=low,
        max_interval_ms=high,
        backoff=draw(st.sampled_from(BackoffPolicy)),
        jitter_ms=draw(st.integers(0, 3_600_000)),
        failure_count=draw(st.integers(-3, 10**12)),
        paused_until=draw(st.one_of(st.none(), st.none(), near, st.just(FOREVER))),
        not_before=draw(st.one_of(st.none(), near, st.just(FOREVER))),
        interval_hint=draw(st.one_of(st.none(), st.builds(IntervalHint, milliseconds, near))),
        one_shot_hint=draw(st.one_of(st.none(), st.builds(OneShotHint, near, near))),
        **schedule,
    )


situations = nows.flatmap(lambda now: st.tuples(st.just(now), endpoints(now)))


def broken_promises(now: datetime, endpoint: Endpoint, decision: Decision) -> list[str]:
    broken = []
    if decision.next_run_at < now:
        broken.append("before now")
    if decision.source not in SOURCES:
        broken.append("an unknown source")
    if decision.source not in {step.rule for step in decision.trail if step.verdict in ("won", "moved")}:
        broken.append("the trail does not name the rule")
    if endpoint.is_paused(now):
        if (decision.next_run_at, decision.source) != (endpoint.paused_until, "paused"):
            broken.append("not the end of the pause")
        return broken
    if endpoint.min_interval_ms and decision.next_run_at < after_ms(now, endpoint.min_interval_ms):
        broken.append("below the minimum")
    if endpoint.max_interval_ms and decision.next_run_at > after_ms(now, endpoint.max_interval_ms):
        broken.append("above the maximum")
    return broken


@given(situations)
def test_the_answer_is_within_the_limits_or_the_end_of_the_pause(situation: tuple[datetime, Endpoint]) -> None:
    now, endpoint = situation

    assert broken_promises(now, endpoint, plan_next_run(now, endpoint, CRON)) == []


@given(situations)
def test_the_same_question_has_the_same_answer(situation: tuple[datetime, Endpoint]) -> None:
    now, endpoint = situation

    assert plan_next_run(now, endpoint, CRON) == plan_next_run(now, replace(endpoint), CRON)


@given(situations, st.integers(0, 80))
def test_with_the_default_policy_more_failures_never_mean_an_earlier_run(
    situation: tuple[datetime, Endpoint], failures: int
) -> None:
    now, endpoint = situation
    endpoint = replace(endpoint, backoff=BackoffPolicy.DEFAULT, jitter_ms=0)

    fewer = plan_next_run(now, replace(endpoint, failure_count=failures), CRON)
    more = plan_next_run(now, replace(endpoint, failure_count=failures + 1), CRON)

    assert fewer.next_run_at <= more.next_run_at


@given(situations)
def test_exactly_one_candidate_wins(situation: tuple[datetime, Endpoint]) -> None:
    now, endpoint = situation

    assert [step.verdict for step in plan_next_run(now, endpoint, CRON).trail].count("won") == 1


@given(situations)
def test_every_hint_appears_in_the_trail(situation: tuple[datetime, Endpoint]) -> None:
    now, endpoint = situation
    rules = [step.rule for step in plan_next_run(now, endpoint, CRON).trail]

    assert rules.count("ai-interval") == (endpoint.interval_hint is not None)
    assert rules.count("ai-oneshot") == (endpoint.one_shot_hint is not None)


def test_no_drawn_state_breaks_a_promise() -> None:
    sources = set()
    for now, endpoint in states(seed=21, count=DRAWN):
        decision = plan_next_run(now, endpoint, CRON)
        sources.add(decision.source)
        assert broken_promises(now, endpoint, decision) == [], (now, endpoint)

    assert sources == set(SOURCES)


@pytest.mark.parametrize(
    ("decision", "broken"),
    [
        pytest.param(Decision(DAY - timedelta(seconds=1), "nowhere", ()), 4, id="early, unknown, unexplained"),
        pytest.param(Decision(DAY + timedelta(hours=9), "baseline-interval", ()), 2, id="late, unexplained"),
    ],
)
def test_a_governor_that_breaks_its_promises_would_be_caught(decision: Decision, broken: int) -> None:
    endpoint = an_endpoint(min_interval_ms=60_000, max_interval_ms=3_600_000)

    assert len(broken_promises(DAY, endpoint, decision)) == broken
    assert "not the end of the pause" in broken_promises(DAY, replace(endpoint, paused_until=FOREVER), decision)


def test_answers_are_the_same_in_every_process_zone_and_language() -> None:
    worlds = [
        {"PYTHONHASHSEED": "1", "TZ": "UTC", "LANG": "C", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu", "LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8"},
        {"PYTHONHASHSEED": "3", "TZ": "America/New_York", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
    ]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.domain.states", "300", str(COMPARED)],
            cwd=ROOT,
            env={**os.environ, **world, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
            stdout=subprocess.PIPE,
        )
        for world in worlds
    ]

    answers = [process.communicate()[0] for process in started]

    assert [process.returncode for process in started] == [0, 0, 0]
    assert answers[0].count(b"\n") == COMPARED
    assert answers[0] == answers[1] == answers[2]
