"""Proposals in the store: written with their endpoint's page or change, decided once, expired, withdrawn, swept."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.test_planner import plan, rule, saying
from tests.stores.world import START, FixedClock, add, an_endpoint, change, get, kinds, run_slot, told

from mainspring.domain.advice import approval
from mainspring.domain.advice.proposal import ProposalState, StoredProposal, make_proposal
from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType
from mainspring.domain.rules.apply import ASK, LIVE, OFF, SHADOW
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.planner import ProposalFilter
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import Retention

ALL = ProposalFilter()
MODE_SET = Event(EventType.PLANNER_MODE_SET, START, "default", actor="user:ann")
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


async def propose(stores: Stores, endpoint: Endpoint, author: str = "rule:busy", interval_ms: int = 30_000) -> None:
    def act(each: Endpoint, now: object) -> Change:
        arguments: dict[str, object] = {"name": "busy", "when": "ok", "interval_ms": interval_ms}
        whom = (each.tenant_id, each.id)
        new = make_proposal(whom, author, "rule", arguments, f"every {interval_ms}", "so", "run_1", now, HOUR)  # type: ignore[arg-type]  # an instant
        return Change(each, proposals=(new,))

    await change(stores, endpoint, act)


async def proposals(stores: Stores, state: str | None = None, tenant_id: str = "default") -> list[StoredProposal]:
    return await stores.proposals.proposals(tenant_id, replace(ALL, state=state))


async def approve(stores: Stores, proposal: StoredProposal, who: str = "user:ann") -> Change:
    (done,) = await stores.endpoints.change_endpoints(
        proposal.tenant_id,
        [proposal.endpoint_id],
        lambda each, now: approval.approve(proposal, each, ASK, now, who, 0, CRON),
    )
    return done


async def test_rule_in_mode_ask_proposes_once_and_changes_nothing(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one")
    await add(stores, one)
    await stores.planner.set_mode(f"endpoint:{one.id}", ASK, MODE_SET)
    await rule(stores, one, when="body.depth > 10", interval="5s", ttl="10m", reason="the queue grows")
    before = []
    for _ in range(5):
        await run_slot(stores, clock, saying('{"depth": 11}'), took_ms=0)
        before.append(await get(stores, one))
        await plan(stores)
        assert await get(stores, one) == before[-1]
        clock.tick(seconds=60)

    (proposal,) = await proposals(stores)
    assert (proposal.state, proposal.author, proposal.does, proposal.reason) == (
        ProposalState.PENDING,
        "rule:rule_1",
        "every 5s for 10m",
        "the queue grows",
    )
    assert (proposal.created_at, proposal.expires_at) == (START, START + 14 * MINUTE)
    assert [each.type for each in await told(stores)].count(EventType.PROPOSAL_CREATED) == 1
    assert EventType.RULE_FIRED not in kinds(await told(stores))


async def test_approved_proposal_of_a_rule_takes_effect_at_once(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one", interval_ms=3_600_000)
    await add(stores, one)
    await stores.planner.set_mode("tenant:default", ASK, MODE_SET)
    await rule(stores, one, when="ok", interval="30s", ttl="10m")
    await run_slot(stores, clock, saying("{}"), took_ms=0)
    await plan(stores)
    (proposal,) = await proposals(stores, "pending")
    clock.tick(seconds=60)

    done = await approve(stores, proposal)

    after = await get(stores, one)
    assert after == done.endpoint
    assert after.next_run_at == START + timedelta(seconds=90)
    assert after.interval_hint is not None
    assert (after.interval_hint.author, after.interval_hint.expires_at) == ("rule:rule_1", START + 11 * MINUTE)
    (kept,) = await proposals(stores)
    assert kept == replace(proposal, state=ProposalState.APPROVED, decided_at=START + MINUTE, decided_by="user:ann")
    events = {each.type: each for each in await told(stores)}
    assert events[EventType.PROPOSAL_APPROVED].actor == "user:ann"
    assert events[EventType.HINT_WRITTEN].actor == "rule:rule_1"
    trail = await stores.audit.audit_entries("default", None, 100)
    assert "proposal.approved" in [entry.act for entry in trail]


async def test_of_two_people_who_approve_at_once_one_wins(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one", interval_ms=3_600_000)
    await add(stores, one)
    await propose(stores, one)
    (proposal,) = await proposals(stores)

    outcomes = await asyncio.gather(
        *(approve(stores, proposal, f"user:{each}") for each in range(4)), return_exceptions=True
    )

    assert sum(isinstance(each, Change) for each in outcomes) == 1
    assert sum(isinstance(each, Conflict) for each in outcomes) == 3
    assert [each.type for each in await told(stores)].count(EventType.PROPOSAL_APPROVED) == 1


async def test_without_the_decision_in_the_change_all_of_them_would_apply(stores: Stores, clock: FixedClock) -> None:
    """The negative control: the same acts, of which the store is not told that they decide a proposal."""
    one = an_endpoint("one", interval_ms=3_600_000)
    await add(stores, one)
    await propose(stores, one)
    (proposal,) = await proposals(stores)

    async def blind() -> Endpoint:
        return await change(
            stores,
            one,
            lambda each, now: replace(approval.approve(proposal, each, ASK, now, "x", 0, CRON), proposals=()),
        )

    outcomes = await asyncio.gather(*(blind() for _ in range(4)), return_exceptions=True)

    assert sum(isinstance(each, Endpoint) for each in outcomes) == 4


async def test_refused_approval_leaves_the_proposal_pending(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one", interval_ms=3_600_000, advice=("run",))
    await add(stores, one)
    await propose(stores, one)
    (proposal,) = await proposals(stores)

    with pytest.raises(Conflict, match="does not allow advice: interval"):
        await approve(stores, proposal)

    assert await proposals(stores, "pending") == [proposal]


async def test_newer_proposal_replaces_the_pending_one_of_the_same_author(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one")
    await add(stores, one)
    await propose(stores, one)
    await propose(stores, one, "rule:other")
    clock.tick(seconds=1)
    await propose(stores, one, interval_ms=5_000)

    pending = await proposals(stores, "pending")
    assert [(each.author, each.does) for each in pending] == [
        ("rule:busy", "every 5000"),
        ("rule:other", "every 30000"),
    ]
    (gone,) = await proposals(stores, "superseded")
    assert gone.note == f"{pending[0].id} replaced it"
    with pytest.raises(Conflict):
        await approve(stores, gone)
    assert await stores.proposals.count_pending("default") == 2


async def test_proposal_expires_once_and_is_told(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one")
    await add(stores, one)
    await propose(stores, one)
    clock.tick(minutes=59)
    assert await stores.upkeep.expire_proposals(10) == 0
    clock.tick(minutes=1)

    (over,) = await proposals(stores, "expired")
    assert over.state is ProposalState.PENDING  # no janitor has recorded it yet
    assert await proposals(stores, "pending") == []
    assert await stores.upkeep.expire_proposals(10) == 1
    assert await stores.upkeep.expire_proposals(10) == 0
    (expired,) = await proposals(stores, "expired")
    assert (expired.state, expired.decided_at) == (ProposalState.EXPIRED, START + HOUR)
    (event,) = [each for each in await told(stores) if each.type is EventType.PROPOSAL_EXPIRED]
    assert (event.actor, event.data["pending"]) == ("system", 0)


@pytest.mark.parametrize("mode", [SHADOW, OFF])
@pytest.mark.parametrize("scope", ["all", "tenant", "endpoint"])
async def test_mode_that_applies_nothing_withdraws_what_is_pending(
    stores: Stores, clock: FixedClock, scope: str, mode: str
) -> None:
    one, two = an_endpoint("one"), an_endpoint("two")
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    foreign = an_endpoint("foreign", tenant_id="other", job_id="job_other")
    await add(stores, one, two, foreign)
    for each in (one, two, foreign):
        await propose(stores, each)
    key = {"all": "all", "tenant": "tenant:default", "endpoint": f"endpoint:{one.id}"}[scope]

    await stores.planner.set_mode(key, mode, MODE_SET)

    left = {"all": set(), "tenant": {foreign.id}, "endpoint": {two.id, foreign.id}}[scope]
    found = [*await proposals(stores), *await proposals(stores, tenant_id="other")]
    assert {each.endpoint_id for each in found if each.state is ProposalState.PENDING} == left
    gone = [each for each in found if each.endpoint_id not in left]
    assert {(each.state, each.decided_by, each.note) for each in gone} == {
        (ProposalState.WITHDRAWN, "user:ann", f"the planner's mode was set to {mode}")
    }
    assert kinds(await told(stores)).count(EventType.PROPOSAL_WITHDRAWN) == len(gone)


async def test_mode_live_leaves_what_is_pending_to_be_decided(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one")
    await add(stores, one)
    await propose(stores, one)

    await stores.planner.set_mode("tenant:default", LIVE, MODE_SET)

    assert len(await proposals(stores, "pending")) == 1


async def test_decided_proposals_are_swept_and_pending_ones_stay(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one")
    await add(stores, one)
    await propose(stores, one)
    await propose(stores, one, "rule:other")
    (_, first) = await proposals(stores)
    await change(stores, one, lambda each, now: approval.reject(first, each, now, "user:ann", ""))
    keep = Retention(START, START, START + MINUTE, 10)

    while not (await stores.upkeep.sweep(keep, 100)).done:
        pass

    assert [each.state for each in await proposals(stores)] == [ProposalState.PENDING]


async def test_proposals_are_read_page_by_page_within_one_tenant(stores: Stores, clock: FixedClock) -> None:
    one, two = an_endpoint("one"), an_endpoint("two")
    await add(stores, one, two)
    for each in range(5):
        await propose(stores, one if each % 2 else two, f"rule:{each}")
        clock.tick(seconds=each % 2)
    everything = await proposals(stores)

    read: list[StoredProposal] = []
    while page := await stores.proposals.proposals(
        "default", ProposalFilter(before=(read[-1].created_at, read[-1].id) if read else None, limit=2)
    ):
        read += page

    assert read == everything == sorted(everything, key=lambda each: (each.created_at, each.id), reverse=True)
    assert len(await stores.proposals.proposals("default", ProposalFilter(endpoint_id=one.id))) == 2
    assert await stores.proposals.proposals("other", ALL) == []
    assert await stores.proposals.proposal("other", everything[0].id) is None
    assert await stores.proposals.proposal("default", everything[0].id) == everything[0]
    assert await stores.proposals.count_pending("default", two.id) == 3


async def test_proposals_go_with_their_endpoint(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one")
    await add(stores, one)
    await propose(stores, one)

    await stores.endpoints.delete_endpoint("default", one.id, Event(EventType.ENDPOINT_DELETED, START, "default"))

    assert await proposals(stores) == []


async def test_pause_that_a_person_set_meanwhile_holds_at_the_approval(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one")
    await add(stores, one)
    await stores.planner.set_mode("all", ASK, MODE_SET)
    await rule(stores, one, when="ok", pause="1h")
    await run_slot(stores, clock, saying("{}"), took_ms=0)
    await plan(stores)
    (proposal,) = await proposals(stores)
    await change(stores, one, lambda each, now: changes.pause(each, None, "moving", now, "user:bob", CRON))
    held = await get(stores, one)

    with pytest.raises(Conflict, match="bob paused 'one' until resumed \\(moving\\); only a person can change it"):
        await approve(stores, proposal)

    assert await get(stores, one) == held


async def test_archived_endpoint_has_nothing_pending(stores: Stores, clock: FixedClock) -> None:
    one, two = an_endpoint("one"), an_endpoint("two")
    await add(stores, one, two)
    await propose(stores, one)
    await propose(stores, two)

    await change(stores, one, lambda each, now: changes.archive(each, now, "user:ann"))

    states = {each.endpoint_id: (each.state, each.decided_by, each.note) for each in await proposals(stores)}
    assert states[one.id] == (ProposalState.WITHDRAWN, "user:ann", "the endpoint was archived")
    assert states[two.id][0] is ProposalState.PENDING
    assert await stores.proposals.count_pending("default", one.id) == 0
    assert kinds(await told(stores)).count("proposal.withdrawn") == 1
