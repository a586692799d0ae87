"""What the routes of rules, sessions and the planner take and answer with, field by field."""

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.models.answers import At, ResponseModel
from mainspring.api.models.fields import RequestModel
from mainspring.api.models.simulations import Backtest
from mainspring.inputs.values import Text

EXAMPLE: dict[str, JsonValue] = {
    "name": "busy",
    "when": "body.depth > 200",
    "for": 2,
    "interval": "30s",
    "ttl": "10m",
    "reason": "the queue is long",
}
DOCUMENT = (
    "As in a configuration file: `when` (CEL) and what to do: `interval` with `ttl`, `run`, `pause`, `resume`, "
    "`clear_hints`; further `name`, `for`, `target`, `cooldown`, `reason`."
)
Mode = Literal["live", "ask", "shadow", "off"]


ProposalStates = Literal["pending", "approved", "rejected", "expired", "superseded", "withdrawn"]


class RuleNew(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "billing", "rule": EXAMPLE}]})

    endpoint: Text | None = Field(default=None, description="Whose it is: an endpoint's id or name.")
    job: Text | None = Field(default=None, description="Or a whole job's.")
    rule: dict[str, JsonValue] = Field(description=DOCUMENT, examples=[EXAMPLE])


class RulePatch(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"rule": {"interval": "1m", "for": None}}]})

    rule: dict[str, JsonValue] = Field(description="The keys to change; null takes one away.")


class RulesGiven(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "billing", "rules": [EXAMPLE]}]})

    endpoint: Text | None = Field(default=None, description="As rules of this endpoint: its id or name.")
    job: Text | None = Field(default=None, description="Or of this whole job.")
    rules: list[dict[str, JsonValue]] | None = Field(
        default=None, max_length=50, description=f"{DOCUMENT} Left out: the rules that are kept."
    )
    limit: int = Field(default=50, ge=1, le=1_000, description="The newest so many recorded runs.")


class RuleView(ResponseModel):
    id: str
    endpoint: str | None = Field(description="Whose it is; null: a whole job's.")
    endpoint_id: str | None
    job_id: str
    rule: dict[str, JsonValue] = Field(description=DOCUMENT, examples=[EXAMPLE])
    does: str = Field(description="What it does, in words.", examples=["every 30s for 10m"])
    created_at: At
    fired_at: At | None = Field(description="When it fired last.")
    fault: str | None = Field(description="Why it could not be judged at its last evaluation.")
    refused: str | None = Field(description="Why its newest act was refused: a person decided otherwise.")


class RuleDryRun(ResponseModel):
    dry_run: Literal[True] = True
    before: RuleView | None
    after: RuleView | None
    changed: list[str]


class RulesChecked(ResponseModel):
    ok: Literal[True] = True
    rules: list[dict[str, JsonValue]] = Field(description="As they would be kept.")


class RunTested(ResponseModel):
    run_id: str
    endpoint: str = Field(description="Whose run it is: rules read those of the whole job.")
    at: At
    fired: list[str] = Field(description="Names of the rules that would have fired.")
    faults: list[str]


class RulesTested(ResponseModel):
    runs: list[RunTested] = Field(description="Oldest first.")
    fired: dict[str, int] = Field(description="How often each would have fired.")
    endpoints: list[str] = Field(description="Whose runs were counted: endpoints of the job, by name.")


class ToolCalled(ResponseModel):
    tool: str
    arguments: dict[str, JsonValue]
    result: str


class PlannerSession(ResponseModel):
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


class Spend(ResponseModel):
    month: str = Field(examples=["2030-01"])
    sessions: int
    tokens_in: int
    tokens_out: int
    tokens: int
    tokens_max: int | None = Field(description="The tenant's quota; null: none.")
    cost_usd: float


class TenantSpend(Spend):
    tenant: str


class Spends(ResponseModel):
    items: list[TenantSpend]


class EndpointMode(ResponseModel):
    endpoint: str
    endpoint_id: str
    mode: Mode


class PlannerModes(ResponseModel):
    all: Mode = Field(description="For the whole installation.")
    tenant: Mode
    endpoints: list[EndpointMode] = Field(description="Those that are not live.")


class PlannerStatus(ResponseModel):
    policy: Literal["rules", "rules and model"]
    model: str | None
    model_fault: str | None = Field(description="Why the model that is configured is off: no key, no library.")
    how_to_add_a_model: str | None = Field(description="What to set, where there is none.")
    modes: PlannerModes = Field(description="Of the three that concern an endpoint, the strictest holds.")
    rules: int
    rules_with_faults: int
    proposals_pending: int = Field(description="How many proposals of mode `ask` wait for a person.")
    spend: Spend


class ModeChange(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"mode": "off"}]})

    mode: Mode = Field(description="`ask` proposes, `shadow` records what would happen, `off` stops it.")
    undo: bool = Field(default=False, description="Also clear the hints and end the pauses of advice in force.")


class ModeSet(ResponseModel):
    scope: str = Field(description="`all`, `tenant`, or the endpoint's name.")
    mode: Mode
    in_force: int = Field(description="On how many endpoints advice is still in force; `undo` ends it.")
    undone: int = Field(default=0, description="On how many endpoints it was undone.")


class ModeDryRun(ResponseModel):
    dry_run: Literal[True] = True
    before: ModeSet
    after: ModeSet
    changed: list[str]


class ShadowFiring(ResponseModel):
    """What a rule would have done."""

    at: At
    endpoint: str | None
    endpoint_id: str
    run_id: str | None = Field(description="The finished run that it answers.")
    rule: str
    does: str
    reason: str


class ShadowResults(ResponseModel):
    firings: list[ShadowFiring] = Field(description="Newest first, among the newest 5,000 events.")
    sessions: list[PlannerSession] = Field(description="Newest first; `tool_calls` tell what would have changed.")


class PlannerProposal(ResponseModel):
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
    cause: str | None = Field(description="The run that a rule answers, the model's session, or the execution.")
    created_at: At
    expires_at: At = Field(description="From then on it can be neither approved nor rejected.")
    decided_at: At | None
    decided_by: str | None = Field(description="Who approved or rejected it; `system`: it expired or was replaced.")
    note: str | None = Field(description="Why it was rejected or withdrawn.")


class Rejection(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "maintenance tonight"}]})

    reason: Text = Field(default="", description="Why; shown with the proposal.")


class DraftRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "billing"}]})

    endpoint: Text = Field(description="An endpoint with a description: its id or name.")


class RulesDrafted(ResponseModel):
    rules: list[dict[str, JsonValue]] = Field(description="Checked, and not added: create those you accept.")
    explanation: str
    session: PlannerSession
    backtest: Backtest | None = Field(description="With them beside the present rules; null: nothing was recorded yet.")
