"""Proposals as every door shows them."""

from datetime import datetime
from typing import Literal, Self

from pydantic import Field, JsonValue

from mainspring.domain.advice.proposal import StoredProposal
from mainspring.operations.endpoints import Desk
from mainspring.views.view import At, OrNull, View

ProposalStates = Literal["pending", "approved", "rejected", "expired", "superseded", "withdrawn"]
KINDS = {"rule": "rule", "model": "model"}  # by the first part of the author; every other author is a workflow


class PlannerProposal(View):
    """What advice would do to an endpoint in mode `ask`; a person approves or rejects it."""

    id: str
    endpoint: str = Field(description="The endpoint that would be changed.")
    endpoint_id: str
    state: ProposalStates
    kind: Literal["rule", "model", "workflow"]
    author: str = Field(examples=["rule:night"])
    action: str = Field(description="`rule`, `hint` (a workflow's step), or a tool of the model.")
    arguments: dict[str, JsonValue]
    does: str = Field(description="What it would do, in words.", examples=["every 30s for 10m"])
    reason: str
    cause: OrNull = Field(description="The run that a rule answers, the model's session, or the execution.")
    created_at: At
    expires_at: At = Field(description="From then on it can be neither approved nor rejected.")
    decided_at: At | None
    decided_by: OrNull = Field(description="Who approved or rejected it; `system`: it expired or was replaced.")
    note: OrNull = Field(description="Why it was rejected or withdrawn.")

    @classmethod
    def of(cls, proposal: StoredProposal, endpoint: str, now: datetime) -> Self:
        """A pending proposal whose time is over is shown as expired."""
        kind = KINDS.get(proposal.author.partition(":")[0], "workflow")
        return cls.from_value(proposal, endpoint=endpoint, state=proposal.state_at(now), kind=kind)


async def load_proposals(desk: Desk, found: list[StoredProposal]) -> list[PlannerProposal]:
    """With the names of their endpoints."""
    ids = sorted({each.endpoint_id for each in found})
    names = await desk.stores.look.names(desk.tenant_id, ids) if ids else {}
    now = await desk.stores.schedule.now()
    return [PlannerProposal.of(each, names.get(each.endpoint_id, ""), now) for each in found]
