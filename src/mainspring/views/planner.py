"""The planner as all interfaces show it: modes, proposals, model sessions and their cost, and shadow results."""

from datetime import datetime
from typing import Literal, Self

from pydantic import Field, JsonValue

from mainspring.domain.advice.proposal import StoredProposal
from mainspring.domain.event import Event
from mainspring.domain.model.session import ModelSession, TokenUsage
from mainspring.operations.context import Desk
from mainspring.operations.planner import Modes
from mainspring.views.view import At, OrNull, View, differences

ProposalStates = Literal["pending", "approved", "rejected", "expired", "superseded", "withdrawn"]
KINDS = {"rule": "rule", "model": "model"}  # by the first part of the author; every other author is a workflow


class PlannerProposal(View):
    """A change to an endpoint that advice proposed in mode `ask`. A person approves or rejects it."""

    id: str
    endpoint: str = Field(description="The endpoint that would be changed.")
    endpoint_id: str
    state: ProposalStates
    kind: Literal["rule", "model", "workflow"]
    author: str = Field(examples=["rule:night"])
    action: str = Field(description="`rule`, `hint` (a workflow's step), or a tool of the model.")
    arguments: dict[str, JsonValue]
    does: str = Field(description="The change in words.", examples=["every 30s for 10m"])
    reason: str
    cause: OrNull = Field(description="The run that the rule evaluated, the model session, or the execution.")
    created_at: At
    expires_at: At = Field(description="When the proposal expires. It cannot be approved or rejected afterwards.")
    decided_at: At | None
    decided_by: OrNull = Field(description="Who approved or rejected it; `system`: it expired or was replaced.")
    note: OrNull = Field(description="Why it was rejected or withdrawn.")

    @classmethod
    def of(cls, proposal: StoredProposal, endpoint: str, now: datetime) -> Self:
        """A pending proposal is shown as expired after its expiry time."""
        kind = KINDS.get(proposal.author.partition(":")[0], "workflow")
        return cls.from_value(proposal, endpoint=endpoint, state=proposal.state_at(now), kind=kind)


async def load_proposals(desk: Desk, found: list[StoredProposal]) -> list[PlannerProposal]:
    """With the names of their endpoints."""
    ids = sorted({each.endpoint_id for each in found})
    names = await desk.stores.look.names(desk.tenant_id, ids) if ids else {}
    now = await desk.stores.schedule.now()
    return [PlannerProposal.of(each, names.get(each.endpoint_id, ""), now) for each in found]


Mode = Literal["live", "ask", "shadow", "off"]


class ToolCalled(View):
    tool: str
    arguments: dict[str, JsonValue]
    result: str


class PlannerSession(View):
    id: str
    endpoint: str
    endpoint_id: str
    at: At
    status: Literal["done", "incomplete", "skipped", "stopped", "failed"] = Field(
        description="`incomplete`: a budget or the time limit ended it; `stopped`: the planner was switched off."
    )
    mode: Literal["live", "ask", "shadow"] = Field(
        description="Mode of the session: `ask` creates proposals, `shadow` changes nothing."
    )
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float = Field(description="Estimated, by the prices in the settings.")
    duration_ms: int
    next_analysis_at: At
    failures: int = Field(description="Consecutive failures at that time.")
    reasoning: str
    actions_taken: str
    confidence: str
    warnings: list[str]
    note: str = Field(description="Why the session was skipped or failed.")
    tool_calls: list[ToolCalled]

    @classmethod
    def of(cls, session: ModelSession, endpoint: str) -> Self:
        detail = session.detail
        return cls.from_value(
            session,
            endpoint=endpoint,
            at=session.started_at,
            cost_usd=session.cost_micros / 1e6,
            failures=session.failure_count,
            reasoning=detail.reasoning,
            actions_taken=detail.actions_taken,
            confidence=detail.confidence,
            warnings=detail.warnings,
            note=detail.note,
            tool_calls=detail.tool_calls,
        )


class Spend(View):
    month: str = Field(examples=["2030-01"])
    sessions: int
    tokens_in: int
    tokens_out: int
    tokens: int
    tokens_max: int | None = Field(description="The tenant's quota; null: unlimited.")
    cost_usd: float

    @classmethod
    def of(cls, usage: TokenUsage, tokens_max: int | None, **others: object) -> Self:
        return cls.from_value(usage, tokens_max=tokens_max, cost_usd=usage.cost_micros / 1e6, **others)


class TenantSpend(Spend):
    tenant: str


class EndpointMode(View):
    endpoint: str
    endpoint_id: str
    mode: Mode


class PlannerModes(View):
    all: Mode = Field(description="For the whole installation.")
    tenant: Mode
    endpoints: list[EndpointMode] = Field(description="Endpoints whose mode is not live.")

    @classmethod
    def of(cls, modes: Modes) -> Self:
        endpoints = [
            {"endpoint": name, "endpoint_id": each, "mode": mode} for each, (name, mode) in modes.endpoints.items()
        ]
        return cls.from_value(modes, all=modes.everything, endpoints=endpoints)


class PlannerStatus(View):
    policy: Literal["rules", "rules and model"]
    model: str | None
    model_fault: str | None = Field(description="Why the configured model is off: no key, no library.")
    how_to_add_a_model: str | None = Field(description="What to set if no model is configured.")
    modes: PlannerModes = Field(description="Of the three modes that apply to an endpoint, the strictest is used.")
    rules: int
    rules_with_faults: int
    proposals_pending: int = Field(description="Number of proposals of mode `ask` that wait for approval.")
    spend: Spend


class ModeSet(View):
    scope: str = Field(description="`all`, `tenant`, or the endpoint's name.")
    mode: Mode
    in_force: int = Field(description="Number of endpoints on which advice is active; `undo` ends it.")
    undone: int = Field(default=0, description="Number of endpoints on which advice was undone.")


class ModeDryRun(View):
    dry_run: Literal[True] = True
    before: ModeSet
    after: ModeSet
    changed: list[str]

    @classmethod
    def of(cls, before: ModeSet, after: ModeSet) -> Self:
        return cls(before=before, after=after, changed=differences(before, after))


class ShadowFiring(View):
    """What a rule would have done."""

    at: At
    endpoint: str | None
    endpoint_id: str
    run_id: str | None = Field(description="The finished run that the rule evaluated.")
    rule: str
    does: str
    reason: str

    @classmethod
    def of(cls, event: Event, endpoint: str | None) -> Self:
        told = {name: str(event.data.get(name, "")) for name in ("rule", "does", "reason")}
        return cls.from_value(event, endpoint=endpoint, run_id=event.run_id or None, **told)


class ShadowResults(View):
    firings: list[ShadowFiring] = Field(description="Newest first, among the newest 5,000 events.")
    sessions: list[PlannerSession] = Field(description="Newest first; `tool_calls` has what would have changed.")


async def load_sessions(desk: Desk, found: list[ModelSession]) -> list[PlannerSession]:
    """With the names of their endpoints."""
    ids = sorted({session.endpoint_id for session in found})
    names = await desk.stores.look.names(desk.tenant_id, ids) if ids else {}
    return [PlannerSession.of(session, names.get(session.endpoint_id, "")) for session in found]
