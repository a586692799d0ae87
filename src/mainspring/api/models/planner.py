"""What the routes of rules, proposals and the planner take."""

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.models.fields import RequestModel
from mainspring.inputs.values import Text
from mainspring.views.planner import Mode
from mainspring.views.rule import DOCUMENT, EXAMPLE


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


class ModeChange(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"mode": "off"}]})

    mode: Mode = Field(description="`ask` proposes, `shadow` records what would happen, `off` stops it.")
    undo: bool = Field(default=False, description="Also clear the hints and end the pauses of advice in force.")


class Rejection(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "maintenance tonight"}]})

    reason: Text = Field(default="", description="Why; shown with the proposal.")


class DraftRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"endpoint": "billing"}]})

    endpoint: Text = Field(description="An endpoint with a description: its id or name.")
