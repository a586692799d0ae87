"""What a user does about proposals: approve and reject them at a desk, on both databases."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.harness.config import a_config
from tests.operations.rival import interrupted
from tests.stores.world import START, FixedClock, an_outcome, archived, edited, run_slot

from mainspring.domain.advice.approval import approve, propose_for_model
from mainspring.domain.advice.proposal import ProposalState, StoredProposal, make_proposal
from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.model.tools import Proposal
from mainspring.domain.rules.judge import decide as judge
from mainspring.domain.rules.judge import want
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.cron import CRON
from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.dry_run import dry_run_desk
from mainspring.operations.endpoints import add_endpoint, find_endpoint
from mainspring.operations.proposals import (
    approve_proposal,
    check_state,
    find_proposal,
    pending_of,
    proposal_filter,
    reject_proposal,
)
from mainspring.operations.rules import add_rules, find_owner, set_mode
from mainspring.ports.planner import ProposalFilter
from mainspring.workers.planner import Planner

ONE = a_config("one", "https://example.com/", interval_ms=3_600_000, spread=False)


async def proposed(desk: Desk, clock: FixedClock, **rule: object) -> tuple[Endpoint, StoredProposal]:
    """An endpoint in mode `ask`, and what its rule proposed."""
    endpoint = await add_endpoint(desk, ONE)
    await set_mode(desk, "one", "ask")
    await add_rules(desk, await find_owner(desk, "one", None), [{"when": "ok", **(rule or {"interval": "30s"})}])
    clock.tick(hours=1)
    await run_slot(desk.stores, clock, an_outcome(), took_ms=0)
    page = await desk.stores.planner.next_page(20)
    assert page is not None
    facts = await desk.stores.planner.facts(want(page))
    await desk.stores.planner.commit_page(page, judge(page, facts, lambda wanted: ()))
    (proposal,) = await pending_of(desk, endpoint)
    return endpoint, proposal


def with_proposal(endpoint: Endpoint, proposal: StoredProposal) -> Change:
    return Change(endpoint, proposals=(proposal,))


async def test_approval_is_recorded_with_who_gave_it_and_applied_as_the_rules_own_act(
    desk: Desk, clock: FixedClock
) -> None:
    _, proposal = await proposed(desk, clock)

    decided = await approve_proposal(replace(desk, actor="user:ann"), proposal.id)

    assert decided.proposal == await find_proposal(desk, proposal.id)
    assert (decided.proposal.state, decided.proposal.decided_by) == (ProposalState.APPROVED, "user:ann")
    hint = (await find_endpoint(desk, "one")).interval_hint
    assert hint is not None
    assert (hint.interval_ms, hint.author) == (30_000, "rule:rule-1")


async def test_rehearsed_approval_changes_nothing(desk: Desk, clock: FixedClock) -> None:
    _, proposal = await proposed(desk, clock)
    before = await find_endpoint(desk, "one")

    decided = await approve_proposal(dry_run_desk(desk), proposal.id)

    assert decided.change.endpoint.interval_hint is not None
    assert await find_endpoint(desk, "one") == before
    assert await find_proposal(desk, proposal.id) == proposal


async def test_rejection_keeps_the_endpoint_and_the_reason(desk: Desk, clock: FixedClock) -> None:
    _, proposal = await proposed(desk, clock, pause="1h")
    before = await find_endpoint(desk, "one")

    decided = await reject_proposal(desk, proposal.id, "not tonight")

    assert (decided.proposal.state, decided.proposal.note) == (ProposalState.REJECTED, "not tonight")
    assert await find_endpoint(desk, "one") == before
    with pytest.raises(Conflict, match="is rejected since"):
        await approve_proposal(desk, proposal.id)


@pytest.mark.parametrize("mode", ["shadow", "off"])
async def test_proposal_made_while_the_switch_was_thrown_is_not_applied(
    desk: Desk, clock: FixedClock, mode: str
) -> None:
    """A switch withdraws what is pending and lets nothing be proposed after it, so this guard is the second one."""
    endpoint, proposal = await proposed(desk, clock)
    await set_mode(desk, "one", mode)
    now = clock.now()
    late = make_proposal(
        ("default", endpoint.id), "rule:late", "rule", proposal.arguments, "x", "", "", now, proposal.expires_at - now
    )
    await desk.stores.endpoints.change_endpoints("default", [endpoint.id], lambda each, now: with_proposal(each, late))

    with pytest.raises(Conflict, match=f"mode of 'one' is {mode}, in which nothing is applied"):
        await approve_proposal(desk, late.id)
    assert (await find_proposal(desk, proposal.id)).state is ProposalState.WITHDRAWN


@pytest.mark.parametrize("mode", ["shadow", "off"])
async def test_approval_loses_to_a_switch_between_its_reading_and_its_commit(
    desk: Desk, clock: FixedClock, mode: str
) -> None:
    _, proposal = await proposed(desk, clock)
    raced = interrupted(desk, "change_endpoints", lambda: set_mode(desk, "all", mode))

    with pytest.raises(Conflict, match="is not pending"):
        await approve_proposal(raced, proposal.id)

    assert (await find_endpoint(desk, "one")).interval_hint is None


async def test_tenants_minimum_holds_for_the_models_proposals(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(desk, ONE)
    await set_mode(desk, "one", "ask")
    new = make_proposal(
        ("default", endpoint.id), "model:x", "propose_interval", {"tool": "propose_interval", "reason": "so",
        "interval_ms": 5_000, "ttl": "PT600S"}, "every 5s", "so", "ses_1", START, timedelta(minutes=10),
    )  # fmt: skip
    await desk.stores.endpoints.change_endpoints("default", [endpoint.id], lambda each, now: with_proposal(each, new))
    await desk.stores.endpoints.put_tenant(Tenant("default", "default", interval_ms_min=60_000))

    await approve_proposal(desk, new.id)

    hint = (await find_endpoint(desk, "one")).interval_hint
    assert hint is not None
    assert hint.interval_ms == 60_000


async def test_proposals_are_found_by_endpoint_and_state_within_the_tenant(desk: Desk, clock: FixedClock) -> None:
    endpoint, proposal = await proposed(desk, clock)
    before = (clock.now(), proposal.id)

    assert await proposal_filter(desk, "one", "pending", before, 5) == ProposalFilter(endpoint.id, "pending", before, 5)
    assert check_state("expired") == "expired"
    with pytest.raises(InvalidInput, match="unknown state 'lost'; choose one of pending, approved, rejected"):
        check_state("lost")
    with pytest.raises(NotFound, match="no proposal 'prop_1'"):
        await find_proposal(desk, "prop_1")
    await desk.stores.endpoints.put_tenant(Tenant("other", "other"))
    with pytest.raises(NotFound):
        await approve_proposal(replace(desk, tenant_id="other"), proposal.id)


async def test_proposal_whose_endpoint_is_deleted_meanwhile_is_not_found(desk: Desk, clock: FixedClock) -> None:
    endpoint, proposal = await proposed(desk, clock)

    class Read:
        """What was read just before the endpoint went."""

        async def proposal(self, tenant_id: str, proposal_id: str) -> StoredProposal | None:
            return proposal

    event = Event(EventType.ENDPOINT_DELETED, clock.now(), "default", endpoint.id)
    await desk.stores.endpoints.delete_endpoint("default", endpoint.id, event)

    with pytest.raises(NotFound):
        await approve_proposal(replace(desk, stores=replace(desk.stores, proposals=Read())), proposal.id)


async def proposed_for_a_sibling(desk: Desk, clock: FixedClock) -> StoredProposal:
    """What a rule of `one` proposed to do to `two`, which is in mode `ask`."""
    await add_endpoint(desk, ONE)
    two = await add_endpoint(desk, replace(ONE, name="two"))
    await set_mode(desk, "two", "ask")
    await add_rules(desk, await find_owner(desk, "one", None), [{"when": "ok", "interval": "30s", "target": "two"}])
    clock.tick(hours=1)
    await run_slot(desk.stores, clock, an_outcome(), took_ms=0)
    while await Planner(desk.stores.planner, Metrics(), "planner-1").run_once():
        pass
    (proposal,) = await pending_of(desk, two)
    return proposal


async def test_permission_to_act_on_siblings_is_checked_again_at_the_approval(desk: Desk, clock: FixedClock) -> None:
    proposal = await proposed_for_a_sibling(desk, clock)
    one = await find_endpoint(desk, "one")

    await desk.stores.endpoints.change_endpoints("default", [one.id], edited(advice=("interval", "run")))
    with pytest.raises(Conflict, match="the owner of 'one' does not allow advice: siblings"):
        await approve_proposal(desk, proposal.id)
    refused = await find_endpoint(desk, "two")
    await desk.stores.endpoints.change_endpoints("default", [one.id], edited(advice=("interval", "siblings")))
    await approve_proposal(desk, proposal.id)

    assert (proposal.subject_id, refused.interval_hint) == (one.id, None)
    assert (await find_endpoint(desk, "two")).interval_hint is not None


async def test_proposal_of_an_endpoint_that_was_archived_is_refused(desk: Desk, clock: FixedClock) -> None:
    proposal = await proposed_for_a_sibling(desk, clock)
    one = await find_endpoint(desk, "one")
    await desk.stores.endpoints.change_endpoints("default", [one.id], archived())

    with pytest.raises(Conflict, match="the endpoint that gave this advice was archived or deleted"):
        await approve_proposal(desk, proposal.id)
    assert (await find_endpoint(desk, "two")).interval_hint is None


async def test_session_about_one_endpoint_names_it_in_what_it_proposes_for_a_sibling(desk: Desk) -> None:
    one, two = await add_endpoint(desk, ONE), await add_endpoint(desk, replace(ONE, name="two"))
    wanted = Proposal("propose_interval", "so", interval_ms=60_000, ttl=timedelta(minutes=10))
    whose = (START, "model:x", "ses_1", 0, CRON)

    (for_two,) = propose_for_model(wanted, two, *whose, one.id).proposals
    (for_one,) = propose_for_model(wanted, one, *whose, one.id).proposals
    confined = replace(one, advice=("interval",))

    assert (for_two.subject_id, for_one.subject_id) == (one.id, "")
    with pytest.raises(Conflict, match="does not allow advice: siblings"):
        approve(for_two, two, "ask", START, "user:ann", 0, CRON, confined)
    assert approve(for_two, two, "ask", START, "user:ann", 0, CRON, one).endpoint.interval_hint is not None
