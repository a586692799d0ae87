"""Proposals: advice in mode `ask`. A person with the scope `run` approves or rejects them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query

from mainspring.api.access import Reading, Running
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.endpoint_views import dry_run_endpoint
from mainspring.api.models.fields import Cursor, DryRun, Limit
from mainspring.api.models.requests import Rejection
from mainspring.domain.advice.proposal import StoredProposal
from mainspring.operations import proposals
from mainspring.operations.context import Desk
from mainspring.views.endpoint import EndpointDryRun
from mainspring.views.planner import PlannerProposal, ProposalStates, load_proposals
from mainspring.views.view import PageOf

router = APIRouter(prefix="/proposals", tags=["proposals"])
ProposalRef = Annotated[str, Path(alias="proposal", max_length=200, description="Id of a proposal.")]
OfEndpoint = Annotated[str | None, Query(max_length=1_000, description="Only of this endpoint: its id or name.")]
InState = Annotated[ProposalStates | None, Query(description="Only proposals in this state.")]


@router.get("")
async def list_proposals(
    desk: Reading, endpoint: OfEndpoint = None, state: InState = None, limit: Limit = 50, cursor: Cursor = None
) -> PageOf[PlannerProposal]:
    """Proposals of mode `ask`, newest first; with `state=pending`, those that wait for a decision."""
    place = open_cursor(desk, "proposals", cursor)
    before = None if place is None else (datetime.fromisoformat(place[0]), place[1])
    wanted = await proposals.proposal_filter(desk, endpoint, state, before, limit + 1)
    found = await desk.stores.proposals.proposals(desk.tenant_id, wanted)
    page = found[:limit]
    last = page[-1] if len(found) > limit else None
    more = None if last is None else seal_cursor(desk, "proposals", last.created_at.isoformat(), last.id)
    return PageOf(items=await load_proposals(desk, page), next_cursor=more)


@router.get("/{proposal}")
async def read_proposal(desk: Reading, proposal: ProposalRef) -> PlannerProposal:
    """One proposal: the change, the endpoint, the author, the reason, and the decision."""
    return await _tell(desk, await proposals.find_proposal(desk, proposal))


@router.post("/{proposal}/approve")
async def approve_proposal(
    desk: Running, proposal: ProposalRef, dry_run: DryRun = False
) -> PlannerProposal | EndpointDryRun:
    """Apply a proposal now, within the current limits: what a person set since then wins (409, and it stays pending).

    An expired proposal is refused (409). With `dry_run`, what it would change.
    """
    if dry_run:
        return await dry_run_endpoint(desk, lambda there: proposals.approve_proposal(there, proposal))
    return await _tell(desk, (await proposals.approve_proposal(desk, proposal)).proposal)


@router.post("/{proposal}/reject")
async def reject_proposal(
    desk: Running, proposal: ProposalRef, wish: Rejection | None = None, dry_run: DryRun = False
) -> PlannerProposal | EndpointDryRun:
    """Reject a proposal. The same is not proposed again while this one would have been valid."""
    reason = "" if wish is None else wish.reason
    if dry_run:
        return await dry_run_endpoint(desk, lambda there: proposals.reject_proposal(there, proposal, reason))
    return await _tell(desk, (await proposals.reject_proposal(desk, proposal, reason)).proposal)


async def _tell(desk: Desk, proposal: StoredProposal) -> PlannerProposal:
    (view,) = await load_proposals(desk, [proposal])
    return view
