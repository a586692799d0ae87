"""What the routes of rules, sessions and the planner take and answer with, field by field."""

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.answers import Answer, At
from mainspring.api.fields import RequestModel, Text
from mainspring.api.playing import Backtest

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
Mode = Literal["live", "shadow", "off"]


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


class Rule(Answer):
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


class RuleRehearsed(Answer):
    dry_run: Literal[True] = True
    before: Rule | None
    after: Rule | None
    changed: list[str]


class RulesChecked(Answer):
    ok: Literal[True] = True
    rules: list[dict[str, JsonValue]] = Field(description="As they would be kept.")


class RunTested(Answer):
    run_id: str
    endpoint: str = Field(description="Whose run it is: rules read those of the whole job.")
    at: At
    fired: list[str] = Field(description="Names of the rules that would have fired.")
    faults: list[str]


class RulesTested(Answer):
    runs: list[RunTested] = Field(description="Oldest first.")
    fired: dict[str, int] = Field(description="How often each would have fired.")
    endpoints: list[str] = Field(description="Whose runs were counted: endpoints of the job, by name.")


class ToolCalled(Answer):
    tool: str
    arguments: dict[str, JsonValue]
    result: str


class PlannerSession(Answer):
    id: str
    endpoint: str
    endpoint_id: str
    at: At
    status: Literal["done", "incomplete", "skipped", "stopped", "failed"] = Field(
        description="`incomplete`: a budget or the time ended it; `stopped`: the planner was switched off meanwhile."
    )
    mode: Literal["live", "shadow"] = Field(description="In shadow mode nothing was changed.")
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


class Spend(Answer):
    month: str = Field(examples=["2030-01"])
    sessions: int
    tokens_in: int
    tokens_out: int
    tokens: int
    tokens_max: int | None = Field(description="The tenant's quota; null: none.")
    cost_usd: float


class TenantSpend(Spend):
    tenant: str


class Spends(Answer):
    items: list[TenantSpend]


class EndpointMode(Answer):
    endpoint: str
    endpoint_id: str
    mode: Mode


class PlannerModes(Answer):
    all: Mode = Field(description="For the whole installation.")
    tenant: Mode
    endpoints: list[EndpointMode] = Field(description="Those that are not live.")


class PlannerStatus(Answer):
    policy: Literal["rules", "rules and model"]
    model: str | None
    model_fault: str | None = Field(description="Why the model that is configured is off: no key, no library.")
    how_to_add_a_model: str | None = Field(description="What to set, where there is none.")
    modes: PlannerModes = Field(description="Of the three that concern an endpoint, the strictest holds.")
    rules: int
    rules_with_faults: int
    spend: Spend


class ModeWish(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"mode": "off"}]})

    mode: Mode = Field(description="`shadow` records what would happen; `off` stops it.")
    undo: bool = Field(default=False, description="Also clear the hints and end the pauses of advice in force.")


class ModeSet(Answer):
    scope: str = Field(description="`all`, `tenant`, or the endpoint's name.")
    mode: Mode
    in_force: int = Field(description="On how many endpoints advice is still in force; `undo` ends it.")
    undone: int = Field(default=0, description="On how many endpoints it was undone.")


class ModeRehearsed(Answer):
    dry_run: Literal[True] = True
    before: ModeSet
    after: ModeSet
    changed: list[str]


class ShadowFiring(Answer):
    """What a rule would have done."""

    at: At
    endpoint: str | None
    endpoint_id: str
    run_id: str | None = Field(description="The finished run that it answers.")
    rule: str
    does: str
    reason: str


class ShadowResults(Answer):
    firings: list[ShadowFiring] = Field(description="Newest first, among the newest 5,000 events.")
    sessions: list[PlannerSession] = Field(description="Newest first; `tool_calls` tell what would have changed.")


class DraftWish(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "billing"}]})

    endpoint: Text = Field(description="An endpoint with a description: its id or name.")


class RulesDrafted(Answer):
    rules: list[dict[str, JsonValue]] = Field(description="Checked, and not added: create those you accept.")
    explanation: str
    session: PlannerSession
    backtest: Backtest | None = Field(description="With them beside the present rules; null: nothing was recorded yet.")
