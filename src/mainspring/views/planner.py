"""The planner as every door shows it: modes, sessions of the model, what they cost, what shadow mode recorded."""

from typing import Literal, Self

from pydantic import Field, JsonValue

from mainspring.domain.event import Event
from mainspring.domain.model.session import ModelSession, TokenUsage
from mainspring.operations.endpoints import Desk
from mainspring.operations.planner import Modes
from mainspring.views.view import At, View, differences

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
        description="`incomplete`: a budget or the time ended it; `stopped`: the planner was switched off meanwhile."
    )
    mode: Literal["live", "ask", "shadow"] = Field(
        description="In mode ask proposals were made, in shadow mode nothing was changed."
    )
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float = Field(description="Estimated, by the prices in the settings.")
    duration_ms: int
    next_analysis_at: At
    failures: int = Field(description="In a row, when it looked.")
    reasoning: str
    actions_taken: str
    confidence: str
    warnings: list[str]
    note: str = Field(description="Why it was skipped or failed.")
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
    tokens_max: int | None = Field(description="The tenant's quota; null: none.")
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
    endpoints: list[EndpointMode] = Field(description="Those that are not live.")

    @classmethod
    def of(cls, modes: Modes) -> Self:
        endpoints = [
            {"endpoint": name, "endpoint_id": each, "mode": mode} for each, (name, mode) in modes.endpoints.items()
        ]
        return cls.from_value(modes, all=modes.everything, endpoints=endpoints)


class PlannerStatus(View):
    policy: Literal["rules", "rules and model"]
    model: str | None
    model_fault: str | None = Field(description="Why the model that is configured is off: no key, no library.")
    how_to_add_a_model: str | None = Field(description="What to set, where there is none.")
    modes: PlannerModes = Field(description="Of the three that concern an endpoint, the strictest holds.")
    rules: int
    rules_with_faults: int
    proposals_pending: int = Field(description="How many proposals of mode `ask` wait for a person.")
    spend: Spend


class ModeSet(View):
    scope: str = Field(description="`all`, `tenant`, or the endpoint's name.")
    mode: Mode
    in_force: int = Field(description="On how many endpoints advice is still in force; `undo` ends it.")
    undone: int = Field(default=0, description="On how many endpoints it was undone.")


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
    run_id: str | None = Field(description="The finished run that it answers.")
    rule: str
    does: str
    reason: str

    @classmethod
    def of(cls, event: Event, endpoint: str | None) -> Self:
        told = {name: str(event.data.get(name, "")) for name in ("rule", "does", "reason")}
        return cls.from_value(event, endpoint=endpoint, run_id=event.run_id or None, **told)


class ShadowResults(View):
    firings: list[ShadowFiring] = Field(description="Newest first, among the newest 5,000 events.")
    sessions: list[PlannerSession] = Field(description="Newest first; `tool_calls` tell what would have changed.")


async def load_sessions(desk: Desk, found: list[ModelSession]) -> list[PlannerSession]:
    """With the names of their endpoints."""
    ids = sorted({session.endpoint_id for session in found})
    names = await desk.stores.look.names(desk.tenant_id, ids) if ids else {}
    return [PlannerSession.of(session, names.get(session.endpoint_id, "")) for session in found]
