"""What the routes of simulations and back-tests take and answer with, field by field."""

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.answers import Answer, At
from mainspring.api.fields import RequestModel

DOCUMENT_MAX = 100_000
Minute = float


class SimulationWish(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"scenario": "flash-sale", "seed": 1}]})

    scenario: str | None = Field(default=None, max_length=100, description="One that comes with Mainspring, by name.")
    document: str | None = Field(
        default=None, max_length=DOCUMENT_MAX, description="Or one of your own, in YAML; docs/simulation.md tells how."
    )
    seed: int = Field(default=1, ge=0, le=2**31, description="What chance draws from; the same seed, the same answer.")


class Scenario(Answer):
    name: str
    title: str
    description: str
    minutes: float
    endpoints: int
    checks: int


class Scenarios(Answer):
    items: list[Scenario]


class ScenarioInFull(Scenario):
    document: dict[str, JsonValue] = Field(description="What `document` of a simulation may say, as JSON.")


class Phase(Answer):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True, populate_by_name=True)

    begin: Minute = Field(alias="from")
    to: Minute
    phase: str
    measured: dict[str, JsonValue] = Field(description="What the targets measure from then on.")


class Asleep(Answer):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True, populate_by_name=True)

    begin: Minute = Field(alias="from")
    to: Minute


class PlayedRun(Answer):
    minute: Minute
    duration_ms: int | None
    status: str
    source: str = Field(description="The rule that set it: `ai-interval` is an interval hint.")
    why: str


class PlayedInterval(Answer):
    minute: Minute
    seconds: float = Field(description="Until the run after it.")


class PlayedEndpoint(Answer):
    name: str
    group: str
    every: str | None
    cron: str | None
    min_interval_ms: int | None
    max_interval_ms: int | None
    asleep: list[Asleep]
    runs: list[PlayedRun]
    intervals: list[PlayedInterval]


class PlayedDecision(Answer):
    minute: Minute
    endpoint: str
    type: str
    actor: str
    data: dict[str, JsonValue]


class PlayedCheck(Answer):
    check: str
    ok: bool
    detail: str


class Played(Answer):
    title: str
    description: str
    seed: int
    minutes: float
    started_at: At = Field(description="On the simulated clock.")
    ok: bool = Field(description="Whether every check holds.")
    runs: int
    sources: dict[str, int] = Field(description="How many runs came from what.")
    phases: list[Phase]
    endpoints: list[PlayedEndpoint]
    decisions: list[PlayedDecision]
    checks: list[PlayedCheck]
    is_cut: bool = Field(description="Whether there is more than is told here: 60 endpoints, 5,000 runs.")
