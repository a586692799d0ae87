"""Operations on proposals, which advice creates in mode `ask`: find, approve and reject them."""

from datetime import datetime

from msgspec import Struct

from mainspring.domain.advice import approval
from mainspring.domain.advice.proposal import ProposalState, StoredProposal
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import InvalidInput, NotFound, did_you_mean
from mainspring.domain.name import shown
from mainspring.domain.rules.judge import mode_of
from mainspring.domain.schedule.changes import Act, Change
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint, tenant_of
from mainspring.ports.planner import ProposalFilter

STATES = tuple(each.value for each in ProposalState)
SHOWN_MAX = 20  # per endpoint: the maximum number of pending ones


class Decided(Struct, frozen=True):
    """A decided proposal, and its effect on the endpoint."""

    proposal: StoredProposal
    change: Change


async def proposal_filter(
    desk: Desk,
    endpoint: str | None = None,
    state: str | None = None,
    before: tuple[datetime, str] | None = None,
    limit: int = 50,
) -> ProposalFilter:
    """Filter of proposals, with the name or id of an endpoint."""
    only = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    return ProposalFilter(only, state, before, limit)


def check_state(state: str) -> str:
    if state not in STATES:
        near = did_you_mean(state, STATES) or ";"
        raise InvalidInput(
            f"unknown state '{shown(state)}'{near} choose one of {', '.join(STATES)}", field="state", value=shown(state)
        )
    return state


async def pending_of(desk: Desk, endpoint: Endpoint) -> list[StoredProposal]:
    """Pending proposals of one endpoint, newest first."""
    wanted = ProposalFilter(endpoint.id, ProposalState.PENDING, limit=SHOWN_MAX)
    return await desk.stores.proposals.proposals(desk.tenant_id, wanted)


async def find_proposal(desk: Desk, proposal_id: str) -> StoredProposal:
    found = await desk.stores.proposals.proposal(desk.tenant_id, proposal_id)
    if found is None:
        raise NotFound("proposal", proposal_id)
    return found


async def approve_proposal(desk: Desk, proposal_id: str) -> Decided:
    """Applies the proposal as its author would have in mode `live`, with the current limits, pauses and authorities.

    Raises Conflict if it is not pending, if a person decided otherwise since, or if the mode forbids it.
    """
    proposal = await find_proposal(desk, proposal_id)
    floor_ms = (await tenant_of(desk)).interval_ms_min or 0
    mode = mode_of(await desk.stores.planner.modes(), desk.tenant_id, proposal.endpoint_id)
    subject_id = proposal.subject_id
    subject = await desk.stores.endpoints.endpoint(desk.tenant_id, subject_id) if subject_id else None
    return await _decide(
        desk,
        proposal,
        lambda each, now: approval.approve(proposal, each, mode, now, desk.actor, floor_ms, desk.cron, subject),
    )


async def reject_proposal(desk: Desk, proposal_id: str, reason: str = "") -> Decided:
    """Rejects the proposal; the same is not proposed again while this one would have been valid."""
    proposal = await find_proposal(desk, proposal_id)
    return await _decide(desk, proposal, lambda each, now: approval.reject(proposal, each, now, desk.actor, reason))


async def _decide(desk: Desk, proposal: StoredProposal, act: Act) -> Decided:
    changed = await desk.stores.endpoints.change_endpoints(desk.tenant_id, [proposal.endpoint_id], act)
    if not changed:
        raise NotFound("proposal", proposal.id)  # deleted with its endpoint
    return Decided(changed[0].proposals[0], changed[0])
