"""Scenarios and results of simulations as all interfaces show them."""

from pydantic import ConfigDict, Field, JsonValue

from mainspring.views.view import At, View

Minute = float


class ScenarioView(View):
    name: str
    title: str
    description: str
    minutes: float
    endpoints: int
    checks: int


class ScenarioDetailView(ScenarioView):
    document: dict[str, JsonValue] = Field(description="JSON Schema of the `document` of a simulation.")


class ScenarioPhase(View):
    model_config = ConfigDict(populate_by_name=True)

    begin: Minute = Field(alias="from")
    to: Minute
    phase: str
    measured: dict[str, JsonValue] = Field(description="Values of the targets from then on.")


class Asleep(View):
    model_config = ConfigDict(populate_by_name=True)

    begin: Minute = Field(alias="from")
    to: Minute


class PlayedRunView(View):
    minute: Minute
    duration_ms: int | None
    status: str
    source: str = Field(description="The rule that set the interval: `ai-interval` is an interval hint.")
    why: str


class PlayedInterval(View):
    minute: Minute
    seconds: float = Field(description="Time until the next run.")


class PlayedEndpoint(View):
    name: str
    group: str
    every: str | None
    cron: str | None
    min_interval_ms: int | None
    max_interval_ms: int | None
    asleep: list[Asleep]
    runs: list[PlayedRunView]
    intervals: list[PlayedInterval]


class PlayedDecision(View):
    minute: Minute
    endpoint: str
    type: str
    actor: str
    data: dict[str, JsonValue]


class PlayedCheck(View):
    check: str
    ok: bool
    detail: str


class Played(View):
    title: str
    description: str
    seed: int
    minutes: float
    started_at: At = Field(description="Simulated duration.")
    ok: bool = Field(description="Whether every check passed.")
    runs: int
    sources: dict[str, int] = Field(description="Number of runs by source.")
    phases: list[ScenarioPhase]
    endpoints: list[PlayedEndpoint]
    decisions: list[PlayedDecision]
    checks: list[PlayedCheck]
    is_cut: bool = Field(description="Whether the result was truncated to 60 endpoints and 5,000 runs.")
