"""What a ripe rule does to its target, and what is told of it."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.world import START, an_endpoint

from mainspring.domain.advice.authority import advise_pause
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import EventType
from mainspring.domain.instant import FOREVER
from mainspring.domain.rules.apply import Firing, RuleState, action_in_words, counted, fire, is_ripe
from mainspring.domain.rules.rule import Rule, read_rule
from mainspring.domain.schedule.cron import CRON

NOW = START + timedelta(seconds=10)
SECOND = timedelta(seconds=1)


def a_rule(**document: object) -> Rule:
    return read_rule({"when": "ok", **document}, "x")


def fired(rule: Rule, endpoint: Endpoint, mode: str = "live") -> tuple[Endpoint, list[EventType]]:
    firing = Firing(rule, "rule_1", endpoint.tenant_id, endpoint.id, "run_1", mode)
    change = fire(firing, endpoint, NOW, CRON)
    return change.endpoint, [event.type for event in change.events]


def idle(**fields: object) -> Endpoint:
    """It ran at START and runs again in an hour."""
    planned = {"anchor_at": START, "interval_ms": 3_600_000, "next_run_at": START + timedelta(hours=1)}
    return an_endpoint("one", **{**planned, **fields})


def test_interval_takes_effect_at_once_and_repeating_it_tells_nothing() -> None:
    rule = a_rule(interval="30s", ttl="10m", reason="deep")
    after, told = fired(rule, idle())
    assert after.next_run_at == NOW + 30 * SECOND
    assert told == [EventType.RULE_FIRED, EventType.HINT_WRITTEN, EventType.SCHEDULE_UPDATED]

    assert after.interval_hint is not None
    older = replace(after.interval_hint, expires_at=NOW + 60 * SECOND)
    again, told = fired(rule, replace(after, interval_hint=older))

    assert again.interval_hint == after.interval_hint  # good for ten minutes again
    assert told == []


def test_sleeper_is_woken_with_its_hints_in_place() -> None:
    asleep = idle(paused_until=FOREVER, next_run_at=FOREVER, advice_may_resume=True)

    after, told = fired(a_rule(resume=True, run="now", interval="30s", cooldown="1m"), asleep)

    assert (after.paused_until, after.next_run_at) == (None, NOW)
    assert told[0] is EventType.RULE_FIRED
    assert EventType.ENDPOINT_RESUMED in told


def test_sleep_pause_and_clear() -> None:
    hinted, _ = fired(a_rule(interval="30s"), idle())

    asleep, _ = fired(a_rule(pause="forever", clear_hints=True), hinted)
    assert (asleep.paused_until, asleep.interval_hint) == (FOREVER, None)
    assert fired(a_rule(pause="forever"), asleep) == (asleep, [])
    paused, _ = fired(a_rule(pause="2h"), idle())
    assert paused.paused_until == NOW + timedelta(hours=2)


@pytest.mark.parametrize(("mode", "told"), [("shadow", [EventType.RULE_FIRED]), ("live", [])])
def test_shadow_and_those_that_cannot_run_are_left_alone(mode: str, told: list[EventType]) -> None:
    endpoint = idle() if mode == "shadow" else idle(job_active=False)

    assert fired(a_rule(interval="30s"), endpoint, mode) == (endpoint, told)


def test_what_is_refused_is_told_as_a_fault() -> None:
    beyond = replace(a_rule(interval="30s"), interval_ms=1)

    after, told = fired(beyond, idle())

    assert (after.interval_hint, told) == (None, [EventType.RULE_FAULTY])


def test_new_hint_of_another_author_or_a_moved_run_is_told() -> None:
    hinted, _ = fired(a_rule(interval="30s"), idle())
    assert hinted.interval_hint is not None
    other = replace(hinted, interval_hint=replace(hinted.interval_hint, author="user"))
    assert fired(a_rule(interval="30s"), other)[1] != []
    assert fired(a_rule(run="in 40s", cooldown="1m"), hinted)[1][0] is EventType.RULE_FIRED
    until = NOW + SECOND
    paused = idle(paused_until=until, next_run_at=until, pause_reason="other words", pause_author="rule:other")
    assert fired(a_rule(pause="1s"), paused)[1] == [EventType.RULE_FIRED, EventType.ENDPOINT_PAUSED]


def test_streak_and_cooldown_decide_when_a_rule_is_ripe() -> None:
    rule = a_rule(pause="1h", cooldown="1m", **{"for": 2})
    once = counted(RuleState(), True, 2)
    assert not is_ripe(rule, once, RuleState(), NOW)
    twice = counted(once, True, 2)
    assert is_ripe(rule, twice, RuleState(), NOW)
    assert not is_ripe(rule, twice, RuleState(fired_at=NOW - 59 * SECOND), NOW)
    assert is_ripe(rule, twice, RuleState(fired_at=NOW - 60 * SECOND), NOW)
    assert counted(twice, True, 2) is twice  # nobody counts further
    assert counted(twice, False, 2) == RuleState()
    assert counted(counted(twice, "no field", 2), "another", 2) == RuleState(fault="another")
    assert counted(RuleState(fault="no field"), False, 2) == RuleState()
    assert counted(RuleState(streak=2, fault="no field"), True, 2) == RuleState(streak=2)


def test_actions_are_said_in_words() -> None:
    words = action_in_words(a_rule(clear_hints=True, resume=True, interval="30s", run="in 5s", cooldown="1m"))

    assert words == "clear hints, wake, every 30s for 1h, run in 5s"
    assert action_in_words(a_rule(pause="1h", run="now", cooldown="1m")) == "run now, pause for 1h"
    assert action_in_words(a_rule(pause="forever")) == "put to sleep"


def test_advised_pause_never_brings_a_run_forward() -> None:
    planned = idle(min_interval_ms=60_000)
    running = idle(min_interval_ms=60_000, lease_until=NOW + SECOND)

    def until(endpoint: Endpoint) -> object:
        return advise_pause(endpoint, NOW + SECOND, "", NOW, "model", CRON).endpoint.paused_until

    assert until(planned) == planned.next_run_at
    assert until(running) == NOW + 60 * SECOND
    assert until(idle(next_run_at=None, job_active=False)) == NOW + SECOND
