"""What the routes of simulations and back-tests take and answer with, field by field."""

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.models.answers import At, ResponseModel
from mainspring.api.models.fields import RequestModel
from mainspring.inputs.values import Duration, Text

DOCUMENT_MAX = 100_000
Minute = float


class SimulationRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"scenario": "flash-sale", "seed": 1}]})

    scenario: str | None = Field(default=None, max_length=100, description="One that comes with Mainspring, by name.")
    document: str | None = Field(
        default=None, max_length=DOCUMENT_MAX, description="Or one of your own, in YAML; docs/simulation.md tells how."
    )
    seed: int = Field(default=1, ge=0, le=2**31, description="What chance draws from; the same seed, the same answer.")


class ScenarioView(ResponseModel):
    name: str
    title: str
    description: str
    minutes: float
    endpoints: int
    checks: int


class Scenarios(ResponseModel):
    items: list[ScenarioView]


class ScenarioDetailView(ScenarioView):
    document: dict[str, JsonValue] = Field(description="What `document` of a simulation may say, as JSON.")


class ScenarioPhase(ResponseModel):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True, populate_by_name=True)

    begin: Minute = Field(alias="from")
    to: Minute
    phase: str
    measured: dict[str, JsonValue] = Field(description="What the targets measure from then on.")


class Asleep(ResponseModel):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True, populate_by_name=True)

    begin: Minute = Field(alias="from")
    to: Minute


class PlayedRunView(ResponseModel):
    minute: Minute
    duration_ms: int | None
    status: str
    source: str = Field(description="The rule that set it: `ai-interval` is an interval hint.")
    why: str


class PlayedInterval(ResponseModel):
    minute: Minute
    seconds: float = Field(description="Until the run after it.")


class PlayedEndpoint(ResponseModel):
    name: str
    group: str
    every: str | None
    cron: str | None
    min_interval_ms: int | None
    max_interval_ms: int | None
    asleep: list[Asleep]
    runs: list[PlayedRunView]
    intervals: list[PlayedInterval]


class PlayedDecision(ResponseModel):
    minute: Minute
    endpoint: str
    type: str
    actor: str
    data: dict[str, JsonValue]


class PlayedCheck(ResponseModel):
    check: str
    ok: bool
    detail: str


class Played(ResponseModel):
    title: str
    description: str
    seed: int
    minutes: float
    started_at: At = Field(description="On the simulated clock.")
    ok: bool = Field(description="Whether every check holds.")
    runs: int
    sources: dict[str, int] = Field(description="How many runs came from what.")
    phases: list[ScenarioPhase]
    endpoints: list[PlayedEndpoint]
    decisions: list[PlayedDecision]
    checks: list[PlayedCheck]
    is_cut: bool = Field(description="Whether there is more than is told here: 60 endpoints, 5,000 runs.")


class BacktestInput(RequestModel):
    """What to change; what is left out stays as it is."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"endpoint": "billing", "rules": [{"when": "failures >= 2", "interval": "30s"}], "limit": 500}]
        }
    )

    endpoint: Text | None = Field(default=None, description="Whose policy changes: an endpoint's id or name.")
    job: Text | None = Field(default=None, description="Or a whole job's.")
    rules: list[dict[str, JsonValue]] | None = Field(
        default=None, max_length=50, description="In place of the rules it has; an empty list: none."
    )
    every: Duration | None = None
    cron: Text | None = None
    min_interval: Duration | None = None
    max_interval: Duration | None = None
    limit: int = Field(
        default=500, ge=1, le=50_000, description="The newest so many runs of each endpoint; 50,000 of all together."
    )


class Calls(ResponseModel):
    recorded: int
    present: int = Field(description="Replayed with the present policy.")
    changed: int = Field(description="Replayed with the changed one.")
    saved: int = Field(description="present less changed.")


class EndpointCalls(Calls):
    endpoint: str
    endpoint_id: str


class SeenAfter(ResponseModel):
    present: float | None
    changed: float | None


class RecordedFailure(ResponseModel):
    endpoint: str
    failed_at: At
    recovered_at: At | None
    seen_after_s: SeenAfter = Field(description="Seconds until each policy saw it; null: not before it was over.")


class ReplayedFiring(ResponseModel):
    at: At
    endpoint: str
    rule: str
    does: str
    run_id: str | None = Field(description="The recorded run whose response held then.")


class Differences(ResponseModel):
    only_present: list[ReplayedFiring]
    only_changed: list[ReplayedFiring]


class ReplayedRunView(ResponseModel):
    at: At
    endpoint: str
    ok: bool
    source: str


class ReplayedRuns(ResponseModel):
    present: list[ReplayedRunView]
    changed: list[ReplayedRunView]


class BacktestTotals(ResponseModel):
    """How many there are; the lists hold the first `listed` of them."""

    failures: int
    only_present: int
    only_changed: int
    listed: int


class Backtest(ResponseModel):
    begin: At
    end: At
    limit: int = Field(description="The newest so many runs of each endpoint were replayed.")
    is_limited: bool = Field(description="Whether the limit left out runs of some endpoint, or may have.")
    is_cut: bool = Field(description="Whether a replay was ended at 60,000 runs.")
    faults: list[str] = Field(description="Rules of the changed policy that could not be judged, and why.")
    calls: Calls
    endpoints: list[EndpointCalls]
    totals: BacktestTotals
    failures: list[RecordedFailure]
    differs: Differences = Field(description="Decisions that only one of the two took.")
    runs: ReplayedRuns = Field(description="The first 2,000 of each.")
