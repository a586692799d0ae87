"""Mode `ask`: no act of advice changes an endpoint, whoever advises; a person's approval applies it as advice."""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random

import pytest
from msgspec.structs import replace

from mainspring.domain.advice.approval import approve, propose_for_model, propose_for_step, reject
from mainspring.domain.advice.authority import note_refusal
from mainspring.domain.advice.proposal import ProposalState, StoredProposal
from mainspring.domain.advice.step_hint import apply_step
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import AdviceRefused, Conflict
from mainspring.domain.event import Event, EventType
from mainspring.domain.model.tools import apply_proposal, read_proposal
from mainspring.domain.rules.apply import ASK, LIVE, OFF, SHADOW, Firing, answer, strictest
from mainspring.domain.rules.rule import Rule, read_rule
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import IntervalHint
from mainspring.ports.planner import ProposalFilter
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Intent
from mainspring.workers.effects.hint import HintHandler
from tests.stores.world import START, FixedClock, add, an_endpoint, change, get

ACTS = 10_000
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
PERSON = "user:ann@example.com"


def a_rule(**document: object) -> Rule:
    return read_rule({"when": "ok", "name": "night", **document}, "x")


def by_rule(rule: Rule, endpoint: Endpoint, now: datetime, mode: str = ASK) -> tuple[Change, str]:
    return answer(Firing(rule, "rule_1", endpoint.tenant_id, endpoint.id, "run_1", mode), endpoint, now, CRON)


def by_model(tool: str, given: dict[str, object], endpoint: Endpoint, now: datetime, mode: str = ASK) -> Change:
    wanted = read_proposal(tool, {"reason": "so", **given}, now)
    try:
        if mode == ASK:
            return propose_for_model(wanted, endpoint, now, "model:x", "ses_1", 0, CRON)
        return apply_proposal(wanted, endpoint, now, "model:x", 0, CRON)
    except AdviceRefused as refused:
        return Change(endpoint) if mode == ASK else note_refusal(endpoint, "model:x", tool, str(refused), now)


def by_step(wanted: dict[str, object], endpoint: Endpoint, now: datetime, mode: str = ASK) -> Change:
    try:
        if mode == ASK:
            return propose_for_step(wanted, endpoint, now, "exe_1", CRON)
        return apply_step(wanted, endpoint, now, "execution:exe_1", CRON)
    except AdviceRefused:
        return Change(endpoint)


def advice(random: Random, endpoint: Endpoint, now: datetime, mode: str) -> Change:
    """One act of some adviser, as its door does it."""
    span = f"{random.randrange(1, 600)}s"
    at = (now + timedelta(seconds=random.randrange(1, 1_700))).isoformat()
    match random.randrange(11):
        case 0:
            return by_rule(a_rule(resume=True, run="now", cooldown="1m"), endpoint, now, mode)[0]
        case 1:
            return by_rule(a_rule(interval=span, clear_hints=random.random() < 0.5), endpoint, now, mode)[0]
        case 2:
            return by_rule(a_rule(pause=random.choice(("forever", span)), clear_hints=True), endpoint, now, mode)[0]
        case 3:
            return by_rule(a_rule(run=f"in {span}", cooldown="1m"), endpoint, now, mode)[0]
        case 4:
            return by_model("propose_interval", {"interval_ms": random.randrange(1_000, 900_000)}, endpoint, now, mode)
        case 5:
            return by_model("propose_next_time", {"next_run_at": at}, endpoint, now, mode)
        case 6:
            return by_model("pause_until", {"until": random.choice((None, at))}, endpoint, now, mode)
        case 7:
            return by_model("clear_hints", {}, endpoint, now, mode)
        case 8:
            return by_step({"clear": True}, endpoint, now, mode)
        case 9:
            return by_step({"interval_ms": random.randrange(1_000, 900_000)}, endpoint, now, mode)
        case _:
            return by_step({"after_ms": random.randrange(0, 900_000)}, endpoint, now, mode)


def someone(random: Random, endpoint: Endpoint, now: datetime) -> Endpoint:
    """What people and advice of an earlier time may have set."""
    ends = now + timedelta(seconds=random.randrange(1, 3_600))
    author = random.choice((PERSON, "rule:other", "model:x"))
    match random.randrange(5):
        case 0:
            return changes.pause(endpoint, ends, "", now, author, CRON).endpoint
        case 1:
            return changes.resume(endpoint, now, author, CRON).endpoint
        case 2 | 3:
            hint = IntervalHint(random.randrange(1_000, 900_000), ends, "", author)
            return changes.put_interval_hint(endpoint, hint, now, CRON).endpoint
        case _:
            return changes.clear_hints(endpoint, now, author, CRON).endpoint


def changed(seed: int, acts: int, mode: str) -> tuple[int, int]:
    """How many acts of advice changed the endpoint, and how many proposed something."""
    random, now = Random(seed), START
    endpoint = an_endpoint("one", interval_ms=600_000)
    faults = proposed = 0
    for _ in range(acts):
        if random.random() < 0.3:
            endpoint = someone(random, endpoint, now)
        change = advice(random, endpoint, now, mode)
        faults += change.endpoint != endpoint
        proposed += bool(change.proposals)
        now += timedelta(seconds=random.randrange(0, 120))
    return faults, proposed


@pytest.mark.parametrize("seed", range(3))
def test_no_act_of_advice_in_mode_ask_changes_the_endpoint(seed: int) -> None:
    faults, proposed = changed(seed, ACTS, ASK)

    assert faults == 0
    assert proposed > ACTS // 4


def test_same_acts_in_mode_live_change_it() -> None:
    """The negative control."""
    faults, proposed = changed(1, 1_000, LIVE)

    assert faults > 200
    assert proposed == 0


def only(change: Change) -> StoredProposal:
    (proposal,) = change.proposals
    return proposal


@pytest.mark.parametrize("seed", range(3))
def test_approval_at_once_does_what_mode_live_would_have_done(seed: int) -> None:
    random, now = Random(seed), START
    endpoint = an_endpoint("one", interval_ms=600_000)
    compared = 0
    for number in range(2_000):
        endpoint = someone(random, endpoint, now)
        asked, live = (advice(Random(number), endpoint, now, mode) for mode in (ASK, LIVE))
        if asked.proposals:
            done = approve(only(asked), endpoint, ASK, now, PERSON, 0, CRON)
            assert done.endpoint == live.endpoint
            compared += 1
        now += MINUTE
    assert compared > 500


def test_authority_and_limits_hold_when_a_proposal_is_approved() -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000, next_run_at=START + HOUR)
    proposal = only(by_rule(a_rule(interval="20s", ttl="30m"), endpoint, START)[0])
    later = START + 10 * MINUTE
    mine = IntervalHint(60_000, START + HOUR, "I watch it", PERSON)
    held = changes.put_interval_hint(endpoint, mine, START, CRON).endpoint

    with pytest.raises(AdviceRefused, match="only a person can change it"):
        approve(proposal, held, ASK, later, PERSON, 0, CRON)
    with pytest.raises(AdviceRefused, match="does not allow advice: interval"):
        approve(proposal, replace(endpoint, advice=("run",)), ASK, later, PERSON, 0, CRON)
    hint = approve(proposal, endpoint, ASK, later, PERSON, 0, CRON).endpoint.interval_hint
    assert hint == IntervalHint(20_000, later + 30 * MINUTE, "rule night: ok", "rule:night")


def test_proposal_of_the_model_yields_to_a_rule_at_its_approval_and_to_the_tenants_minimum() -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000, next_run_at=START + HOUR)
    proposal = only(by_model("propose_interval", {"interval_ms": 5_000}, endpoint, START))
    ruled = by_rule(a_rule(interval="20s"), endpoint, START, LIVE)[0].endpoint

    with pytest.raises(AdviceRefused, match="rules take precedence over the model"):
        approve(proposal, ruled, ASK, START, PERSON, 0, CRON)
    hint = approve(proposal, endpoint, ASK, START, PERSON, 60_000, CRON).endpoint.interval_hint
    assert hint is not None
    assert (hint.interval_ms, hint.author) == (60_000, "model:x")


@pytest.mark.parametrize("mode", [SHADOW, OFF])
def test_approval_is_refused_where_the_mode_applies_nothing(mode: str) -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000)
    proposal = only(by_rule(a_rule(pause="1h"), endpoint, START)[0])

    with pytest.raises(Conflict, match=f"mode of 'one' is {mode}, in which nothing is applied; set it to ask or live"):
        approve(proposal, endpoint, mode, START, PERSON, 0, CRON)


def test_expired_proposal_is_refused_with_the_way_out() -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000)
    proposal = only(by_rule(a_rule(pause="10m"), endpoint, START)[0])
    words = "is expired since 2025-01-01T00:10:00Z; .* wait for a new one, or change the endpoint yourself"

    decisions: tuple[Callable[[datetime], Change], ...] = (
        lambda at: approve(proposal, endpoint, ASK, at, PERSON, 0, CRON),
        lambda at: reject(proposal, endpoint, at, PERSON, ""),
    )

    for decide in decisions:
        assert decide(START + 9 * MINUTE).proposals[0].decided_by == PERSON
        with pytest.raises(Conflict, match=words):
            decide(START + 10 * MINUTE)


def test_approval_is_refused_for_an_endpoint_that_does_not_run() -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000)
    proposal = only(by_rule(a_rule(pause="10m"), endpoint, START)[0])

    with pytest.raises(Conflict, match="'one' is archived or parked, or its job is not active"):
        approve(proposal, replace(endpoint, job_active=False), ASK, START, PERSON, 0, CRON)


def test_rejection_changes_nothing_and_says_who_and_why() -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000)
    proposal = only(by_rule(a_rule(pause="10m"), endpoint, START)[0])

    change = reject(proposal, endpoint, START, PERSON, " not tonight ")

    decided = replace(proposal, state=ProposalState.REJECTED, decided_at=START, decided_by=PERSON, note="not tonight")
    assert change == Change(endpoint, proposals=(decided,))


EXPIRIES: dict[str, tuple[Change, timedelta]] = {
    "the hint's own time": (by_rule(a_rule(interval="20s", ttl="10m"), an_endpoint(), START)[0], 10 * MINUTE),
    "an hour without one": (by_rule(a_rule(interval="20s"), an_endpoint(), START)[0], HOUR),
    "the shortest of several": (
        by_rule(a_rule(interval="20s", run="in 10s", cooldown="1m"), an_endpoint(next_run_at=START + HOUR), START)[0],
        30 * MINUTE + timedelta(seconds=10),
    ),
    "the end of a pause": (by_model("pause_until", {"until": "2025-01-01T02:00:00Z"}, an_endpoint(), START), 2 * HOUR),
    "a day for sleep": (by_rule(a_rule(pause="forever"), an_endpoint(), START)[0], 24 * HOUR),
    "half an hour for a step's run": (
        by_step({"after_ms": 5_000}, an_endpoint(next_run_at=START + HOUR), START),
        HOUR / 2,
    ),
}


@pytest.mark.parametrize("case", EXPIRIES)
def test_proposal_expires_after(case: str) -> None:
    change, span = EXPIRIES[case]

    assert only(change).expires_at == START + span


def test_what_is_in_force_already_is_not_proposed() -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000, next_run_at=START + HOUR)
    rule = a_rule(interval="20s")
    hinted = by_rule(rule, endpoint, START, LIVE)[0].endpoint

    assert by_rule(rule, hinted, START)[0] == Change(hinted)
    assert by_rule(a_rule(resume=True), endpoint, START)[0] == Change(endpoint)
    assert by_step({"clear": True}, endpoint, START) == Change(endpoint)


def test_refused_act_is_not_proposed_and_the_rule_says_why() -> None:
    held = changes.pause(an_endpoint("one"), None, "moving", START, PERSON, CRON).endpoint

    change, refused = by_rule(a_rule(resume=True), held, START)

    assert change == Change(held)
    assert refused.endswith("only a person can change it")


def test_strictest_mode_holds() -> None:
    assert strictest([None, None]) == LIVE
    assert strictest([LIVE, ASK]) == ASK
    assert strictest([ASK, SHADOW, None]) == SHADOW
    assert strictest([OFF, ASK]) == OFF


def a_step(**request: object) -> Intent:
    wanted = {"endpoint": "one", **request}
    return Intent("key", "exe_1", "default", 0, "step", 1, 1, "hint", wanted, "key", 1_000, 1, False)


@pytest.mark.parametrize("mode", [ASK, SHADOW, OFF])
async def test_hint_step_changes_nothing_where_the_mode_says_so_and_the_execution_goes_on(
    stores: Stores, clock: FixedClock, mode: str
) -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000)
    await add(stores, endpoint)
    event = Event(EventType.PLANNER_MODE_SET, START, "default")
    await stores.planner.set_mode(f"endpoint:{endpoint.id}", mode, event)

    ending, payload = await HintHandler(stores).run(a_step(interval_ms=5_000, reason="busy"))

    found = await stores.proposals.proposals("default", ProposalFilter())
    assert await get(stores, endpoint) == endpoint
    assert (ending, payload["result"]) == (
        "success",
        {
            "endpoint": "one",
            "next_run_at": "2025-01-01T00:00:00Z",
            "applied": False,
            "mode": mode,
            "proposal": found[0].id if mode == ASK else None,
        },
    )
    assert [(each.author, each.does, each.reason) for each in found] == (
        [("execution:exe_1", "every 5s", "busy")] if mode == ASK else []
    )


async def test_hint_step_in_mode_ask_fails_where_a_person_set_the_hint(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("one", interval_ms=3_600_000)
    await add(stores, endpoint)
    await stores.planner.set_mode("all", ASK, Event(EventType.PLANNER_MODE_SET, START, "default"))
    mine = IntervalHint(60_000, START + HOUR, "I watch it", PERSON)
    await change(stores, endpoint, lambda each, now: changes.put_interval_hint(each, mine, now, CRON))
    before = await get(stores, endpoint)

    ending, payload = await HintHandler(stores).run(a_step(interval_ms=5_000))

    assert (ending, payload["code"]) == ("failure", "conflict")
    assert await get(stores, endpoint) == before
