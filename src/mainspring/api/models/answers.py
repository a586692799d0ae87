"""What the API answers with: the objects of `shapes`, written down field by field for the OpenAPI document.

A test holds each of them against its shape: a field that one has and the other lacks fails it.
"""

from typing import Literal

from pydantic import Field

from mainspring.views.decision import DecisionStepView, NextRunChange, PlannedRunView
from mainspring.views.endpoint_settings import EndpointSettingsView
from mainspring.views.run import BodyView, PhasesView, RunView
from mainspring.views.view import At
from mainspring.views.view import View as ResponseModel

State = Literal["active", "paused", "job-paused", "parked", "deferred", "archived"]


class HeaderView(ResponseModel):
    name: str
    value: str = Field(description="`••••` where it is secret.")
    secret: bool


class IntervalHintView(ResponseModel):
    interval_ms: int
    expires_at: At
    reason: str
    author: str


class OneShotHintView(ResponseModel):
    next_run_at: At
    expires_at: At
    reason: str
    author: str


class RunInFlight(ResponseModel):
    run_id: str
    slot_at: At | None
    attempt: int
    trigger: str
    worker: str
    lease_until: At | None


class RefusedAdviceView(ResponseModel):
    at: At
    author: str
    does: str
    because: str


class EndpointView(EndpointSettingsView, ResponseModel):
    id: str
    name: str
    status: State
    url: str
    headers: list[HeaderView]
    schedule: str = Field(description="When it runs, in words.")
    managed_by: str | None = Field(description="The configuration file that describes it, if one does.")
    version: int = Field(description="Of the configuration; the ETag is made from it.")
    created_at: At
    updated_at: At
    paused_until: At | None
    pause_reason: str
    pause_author: str = Field(description="Who paused it: `user:ann@example.com`, `rule:night`, `model:NAME`.")
    advice_may_resume: bool = Field(description="Rules, workflows and the model may end this pause of a person.")
    parked_at: At | None
    parked_reason: str
    archived_at: At | None
    deferred_until: At | None
    failure_count: int = Field(description="How many of the last runs failed; a run by hand and a reset count anew.")
    not_before: At | None
    interval_hint: IntervalHintView | None
    one_shot_hint: OneShotHintView | None
    refused_advice: RefusedAdviceView | None = Field(description="The newest advice that was refused, and why.")
    next_run_at: At | None
    source: str = Field(description="The rule that set the next run.")
    run_requested_at: At | None
    running: RunInFlight | None
    last_run_at: At | None
    last_status: str | None


class WaitView(ResponseModel):
    """What an endpoint that is due and not started waits for."""

    cause: Literal["scheduler", "host", "rate", "tenant", "tenant_slow", "tenant_new", "slow", "new", "places"]
    name: str = Field(description="The host or the tenant; empty for the others.")
    limit: str = Field(description="How many runs may be in flight, or the rate.")
    in_flight: int
    since: At | None = Field(description="When the endpoint was due.")
    waiting: int = Field(description="Endpoints that wait for the same, this one included.")
    setting: str | None = Field(description="The setting to change.")
    text: str = Field(description="The same in words.")
    advice: str = Field(description="What to change.")


class DecisionView(ResponseModel):
    endpoint: str
    status: State
    next_run_at: At | None
    source: str
    trail: list[DecisionStepView] = Field(description="Every candidate of the decision, and why it won or lost.")
    running: RunView | None
    waiting: WaitView | None = Field(description="What it waits for, if it is due and not started; null: nothing.")
    sentences: list[str] = Field(description="The same in words.")


class RunRequested(ResponseModel):
    endpoint: EndpointView
    run: RunView | None = Field(description="The run, once it has ended; null: it has not, or was not waited for.")


class EndpointChecked(ResponseModel):
    """What a call of an endpoint that is not saved met."""

    status: str
    status_code: int | None
    error_code: str | None
    error: str | None
    duration_ms: int
    address: str | None
    address_verdict: Literal["allowed", "blocked", "not reached"]
    phases: PhasesView | None
    headers: list[tuple[str, str]]
    retry_after_s: int | None
    body: BodyView | None
    next_run_at: At | None = Field(description="When it would run first, if it were saved now.")


class PreviewChange(ResponseModel):
    before: list[PlannedRunView]
    after: list[PlannedRunView]


class EndpointDryRun(ResponseModel):
    """What a write with `dry_run` would have changed. Nothing was."""

    dry_run: Literal[True] = True
    before: EndpointView | None
    after: EndpointView | None
    changed: list[str] = Field(description="Fields that would have another value.")
    next_run_at: NextRunChange | None = Field(description="Where the next run would move; null: it stays.")
    preview: PreviewChange = Field(description="The next runs, before and after.")


class HealthWindow(ResponseModel):
    window: Literal["1h", "24h", "7d", "30d"]
    since: At = Field(description="The window's begin, or the oldest run that is kept, if that is later.")
    runs: int
    successes: int
    success_share: float | None = Field(description="0 to 1; null: no run.")
    latency_p50_ms: int | None
    latency_p95_ms: int | None


class HealthView(ResponseModel):
    endpoint: str
    status: State
    failure_streak: int
    last_status: str | None
    last_run_at: At | None
    windows: list[HealthWindow]


class Stats(ResponseModel):
    now: At
    endpoints: dict[State, int]
    failing: int = Field(description="Endpoints whose last run failed.")
    running: int
    late: int = Field(description="Endpoints that are due for more than five seconds and not started.")
    runs: dict[str, int] = Field(description="Runs of the last 24 hours by status.")


class ActivityHour(ResponseModel):
    at: At
    runs: dict[str, int]


class Activity(ResponseModel):
    hours: list[ActivityHour] = Field(description="Oldest first; the last one is the present hour.")
    latest: list[RunView]


class RunMarkView(ResponseModel):
    id: str
    status: str
    duration_ms: int | None


class RecentRuns(ResponseModel):
    endpoint_id: str
    runs: list[RunMarkView] = Field(description="Newest first.")
    p95_ms: int | None = Field(description="Of those that took time.")


class Upcoming(ResponseModel):
    at: At
    endpoint_id: str
    endpoint: str
    job: str
    source: str


class RequestView(ResponseModel):
    method: str
    url: str
    headers: list[HeaderView]
    body: str | None
    timeout_ms: int


class TestDryRun(ResponseModel):
    dry_run: Literal[True] = True
    would_call: RequestView
