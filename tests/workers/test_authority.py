"""People decide, then rules and workflow steps, then the model: no act of advice changes what a person set."""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

import pytest
from msgspec.structs import replace

from mainspring.domain.advice.authority import note_refusal
from mainspring.domain.advice.step_hint import apply_step
from mainspring.domain.endpoint import POWERS, Endpoint
from mainspring.domain.errors import AdviceRefused, InvalidInput
from mainspring.domain.event import EventType
from mainspring.domain.instant import FOREVER
from mainspring.domain.model.tools import apply_proposal, read_proposal
from mainspring.domain.rules.apply import Firing, author, fire
from mainspring.domain.rules.rule import Rule, read_rule
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Intent
from mainspring.workers.effects.hint import HintHandler
from tests.stores.world import START, FixedClock, add, an_endpoint, change, get, told

ACTS = 10_000
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
PERSON = "user:ann@example.com"


def a_rule(**document: object) -> Rule:
    return read_rule({"when": "ok", "name": "night", **document}, "x")


def by_rule(rule: Rule, endpoint: Endpoint, now: datetime) -> Endpoint:
    return fire(Firing(rule, "rule_1", endpoint.tenant_id, endpoint.id, "run_1"), endpoint, now, CRON).endpoint


def by_model(tool: str, given: dict[str, object], endpoint: Endpoint, now: datetime) -> Endpoint:
    proposal = read_proposal(tool, {"reason": "so", **given}, now)
    try:
        return apply_proposal(proposal, endpoint, now, "model:x", 0, CRON).endpoint
    except AdviceRefused as refused:
        return note_refusal(endpoint, "model:x", tool, str(refused), now).endpoint


def by_workflow(wanted: dict[str, object], endpoint: Endpoint, now: datetime) -> Endpoint:
    try:
        return apply_step(wanted, endpoint, now, "execution:exe_1", CRON).endpoint
    except AdviceRefused:
        return endpoint


def advice(random: Random, endpoint: Endpoint, now: datetime) -> Endpoint:
    """One act of some adviser, as its door does it."""
    span = f"{random.randrange(1, 600)}s"
    at = (now + timedelta(seconds=random.randrange(1, 1_700))).isoformat()
    match random.randrange(11):
        case 0:
            return by_rule(a_rule(resume=True, run="now", cooldown="1m"), endpoint, now)
        case 1:
            return by_rule(a_rule(interval=span, clear_hints=random.random() < 0.5), endpoint, now)
        case 2:
            return by_rule(a_rule(pause=random.choice(("forever", span)), clear_hints=True), endpoint, now)
        case 3:
            return by_rule(a_rule(run=f"in {span}", cooldown="1m"), endpoint, now)
        case 4:
            return by_model("propose_interval", {"interval_ms": random.randrange(1_000, 900_000)}, endpoint, now)
        case 5:
            return by_model("propose_next_time", {"next_run_at": at}, endpoint, now)
        case 6:
            return by_model("pause_until", {"until": random.choice((None, at))}, endpoint, now)
        case 7:
            return by_model("clear_hints", {}, endpoint, now)
        case 8:
            return by_workflow({"clear": True}, endpoint, now)
        case 9:
            return by_workflow({"interval_ms": random.randrange(1_000, 900_000)}, endpoint, now)
        case _:
            return by_workflow({"after_ms": random.randrange(0, 900_000)}, endpoint, now)


def a_person(random: Random, endpoint: Endpoint, now: datetime) -> Endpoint:
    ends = now + timedelta(seconds=random.randrange(1, 3_600))
    match random.randrange(6):
        case 0:
            return changes.pause(endpoint, ends, "maintenance", now, PERSON, CRON).endpoint
        case 1:
            return changes.pause(endpoint, None, "stop", now, PERSON, CRON).endpoint
        case 2:
            return changes.resume(endpoint, now, PERSON, CRON).endpoint
        case 3:
            hint = IntervalHint(random.randrange(1_000, 900_000), ends, "I watch it", PERSON)
            return changes.put_interval_hint(endpoint, hint, now, CRON).endpoint
        case 4:
            once = OneShotHint(now + MINUTE, now + HOUR, "I want it", PERSON)
            return changes.put_one_shot_hint(endpoint, once, now, CRON).endpoint
        case _:
            return changes.clear_hints(endpoint, now, PERSON, CRON).endpoint


def held(endpoint: Endpoint, now: datetime) -> dict[str, object]:
    """What a person set and is in force."""
    found: dict[str, object] = {}
    if endpoint.is_paused(now) and endpoint.pause_author == PERSON:
        found["pause"] = (endpoint.paused_until, endpoint.pause_reason, endpoint.next_run_at)
    for name in ("interval_hint", "one_shot_hint"):
        hint = getattr(endpoint, name)
        if hint is not None and hint.author == PERSON and hint.is_fresh(now):
            found[name] = hint
    return found


Adviser = Callable[[Random, Endpoint, datetime], Endpoint]


def broken(seed: int, acts: int, adviser: Adviser) -> tuple[int, int]:
    """How often an act of advice changed what a person had set, and how often a person had set something."""
    random, now = Random(seed), START
    endpoint = an_endpoint("one", interval_ms=600_000)
    faults = exposed = 0
    for _ in range(acts):
        if random.random() < 0.2:
            endpoint = a_person(random, endpoint, now)
        before = held(endpoint, now)
        endpoint = adviser(random, endpoint, now)
        exposed += bool(before)
        after = held(endpoint, now)
        faults += any(after.get(name) != value for name, value in before.items())
        now += timedelta(seconds=random.randrange(0, 120))
    return faults, exposed


@pytest.mark.parametrize("seed", range(3))
def test_no_act_of_advice_changes_what_a_person_set(seed: int) -> None:
    faults, exposed = broken(seed, ACTS, advice)

    assert faults == 0
    assert exposed > ACTS // 3


def test_acts_without_authors_would_break_it() -> None:
    """The negative control: the same acts where nobody asks who set what."""

    def unguarded(random: Random, endpoint: Endpoint, now: datetime) -> Endpoint:
        anybodys = replace(endpoint, pause_author="model")
        if endpoint.interval_hint is not None:
            anybodys = replace(anybodys, interval_hint=replace(endpoint.interval_hint, author="model"))
        return advice(random, anybodys, now)

    faults, _ = broken(1, 1_000, unguarded)

    assert faults > 100


def paused(until: datetime | None = None) -> Endpoint:
    return changes.pause(an_endpoint("one"), until, "moving house", START, PERSON, CRON).endpoint


def test_rule_that_wakes_is_refused_by_a_pause_of_a_person_and_says_why() -> None:
    endpoint = paused(START + HOUR)
    rule = a_rule(resume=True, run="now", cooldown="1m")
    change = fire(Firing(rule, "rule_1", "default", endpoint.id, "run_1"), endpoint, START, CRON)
    again = fire(Firing(rule, "rule_1", "default", endpoint.id, "run_2"), change.endpoint, START + MINUTE, CRON)

    (event,) = change.events
    because = "ann@example.com paused 'one' until 2025-01-01T01:00:00Z (moving house); only a person can change it"
    assert (event.type, event.actor, event.data) == (
        EventType.ADVICE_REFUSED,
        author(rule),
        {"does": "wake, run now", "because": because},
    )
    assert replace(change.endpoint, refused_advice=None) == endpoint
    assert again == Change(change.endpoint)  # the same refusal is not told again


def test_sleep_that_a_person_leaves_to_advice_is_ended_by_advice() -> None:
    asleep = changes.pause(
        an_endpoint("one"), None, "until it is needed", START, PERSON, CRON, advice_may_resume=True
    ).endpoint

    assert asleep.paused_until == FOREVER
    assert by_rule(a_rule(resume=True), asleep, START).paused_until is None
    assert by_model("pause_until", {"until": None}, asleep, START).paused_until is None


def test_advice_ends_and_replaces_what_advice_set() -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000)
    asleep = by_rule(a_rule(pause="forever", reason="quiet"), endpoint, START)
    hinted = by_model("propose_interval", {"interval_ms": 60_000}, endpoint, START)

    assert by_rule(a_rule(resume=True), asleep, START).paused_until is None
    assert by_rule(a_rule(interval="20s"), hinted, START).interval_hint != hinted.interval_hint
    assert by_workflow({"clear": True}, hinted, START).interval_hint is None


def test_model_yields_to_rules() -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000)
    asleep = by_rule(a_rule(pause="forever"), endpoint, START)
    hinted = by_rule(a_rule(interval="20s"), endpoint, START)

    assert by_model("pause_until", {"until": None}, asleep, START).paused_until == FOREVER
    refused = by_model("propose_interval", {"interval_ms": 60_000}, hinted, START)
    assert refused.interval_hint == hinted.interval_hint
    assert refused.refused_advice is not None
    assert refused.refused_advice.because.endswith("rules take precedence over the model")


@pytest.mark.parametrize("until", [None, "2025-01-01T00:30:00Z"], ids=["rule puts to sleep", "model pauses"])
def test_advice_does_not_pause_an_endpoint_while_a_persons_hint_is_valid(until: str | None) -> None:
    hint = IntervalHint(30_000, START + HOUR, "I watch it", PERSON)
    hinted = changes.put_interval_hint(an_endpoint("one"), hint, START, CRON).endpoint

    after = (
        by_rule(a_rule(pause="forever"), hinted, START)
        if until is None
        else by_model("pause_until", {"until": until}, hinted, START)
    )

    assert replace(after, refused_advice=None) == hinted
    assert after.refused_advice is not None
    assert "set a hint for 'one'" in after.refused_advice.because


def test_pause_without_an_author_counts_as_a_persons() -> None:
    asleep = replace(paused(), pause_author="")

    assert by_rule(a_rule(resume=True), asleep, START).paused_until == FOREVER
    assert by_model("pause_until", {"until": None}, asleep, START).paused_until == FOREVER
    assert by_rule(a_rule(resume=True), replace(asleep, advice_may_resume=True), START).paused_until is None


def test_clearing_hints_leaves_a_persons_hint_and_takes_the_others() -> None:
    mine = OneShotHint(START + MINUTE, START + HOUR, "", PERSON)
    endpoint = changes.put_one_shot_hint(an_endpoint("one"), mine, START, CRON).endpoint
    both = by_rule(a_rule(interval="20s"), endpoint, START)
    assert both.interval_hint is not None

    cleared = by_rule(a_rule(clear_hints=True), both, START)

    assert (cleared.interval_hint, cleared.one_shot_hint) == (None, mine)


async def test_hint_step_fails_where_a_person_set_the_hint_and_the_endpoint_says_so(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint("one")
    await add(stores, endpoint)
    hint = IntervalHint(30_000, START + HOUR, "I watch it", PERSON)
    await change(stores, endpoint, lambda each, now: changes.put_interval_hint(each, hint, now, CRON))
    request: dict[str, object] = {"endpoint": "one", "interval_ms": 5_000}
    intent = Intent("key", "exe_1", "default", 0, "step", 1, 1, "hint", request, "key", 1_000, 1, False)

    ending, payload = await HintHandler(stores).run(intent)

    found = await get(stores, endpoint)
    assert (ending, payload["code"]) == ("failure", "conflict")
    assert found.interval_hint == hint
    assert found.refused_advice is not None
    assert found.refused_advice.does == "every 5s"
    assert EventType.ADVICE_REFUSED in [event.type for event in await told(stores)]


ACTS_BY_POWER: dict[str, Callable[[Endpoint], Endpoint]] = {
    "interval": lambda each: by_rule(a_rule(interval="20s"), each, START),
    "run": lambda each: by_model("propose_next_time", {"next_run_at": "2025-01-01T00:05:00Z"}, each, START),
    "wake": lambda each: by_rule(a_rule(resume=True), each, START),
    "pause": lambda each: by_model("pause_until", {"until": "2025-01-01T00:30:00Z"}, each, START),
}


@pytest.mark.parametrize("power", ACTS_BY_POWER)
def test_owner_decides_what_advice_may_do(power: str) -> None:
    asleep = {"paused_until": FOREVER, "pause_author": "rule:night"} if power == "wake" else {}
    free = an_endpoint("one", interval_ms=3_600_000, next_run_at=START + HOUR, **asleep)
    others = tuple(each for each in POWERS if each != power)
    act = ACTS_BY_POWER[power]

    assert replace(act(free), refused_advice=None) != free
    refused = act(replace(free, advice=others))
    assert replace(refused, refused_advice=None) == replace(free, advice=others)
    assert refused.refused_advice is not None
    assert refused.refused_advice.because == (
        f"the owner of 'one' does not allow advice: {power}; allowed: {', '.join(others)}"
    )


def test_rule_of_an_endpoint_that_may_not_reach_its_siblings_is_refused_there() -> None:
    endpoint = an_endpoint("two", interval_ms=3_600_000)
    firing = Firing(a_rule(interval="20s"), "rule_1", "default", endpoint.id, "run_1", confined_to="one")

    after = fire(firing, endpoint, START, CRON).endpoint

    assert after.interval_hint is None
    assert after.refused_advice is not None
    assert after.refused_advice.because == "the owner of 'one' does not allow advice: siblings"


def test_refusal_of_bad_input_is_still_a_fault() -> None:
    with pytest.raises(InvalidInput):
        apply_step({"interval_ms": 1}, an_endpoint("one"), START, "execution:exe_1", CRON)
