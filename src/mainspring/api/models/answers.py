"""What the API answers with: the objects of `shapes`, written down field by field for the OpenAPI document.

A test holds each of them against its shape: a field that one has and the other lacks fails it.
"""

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from mainspring.views.endpoint_settings import EndpointSettingsView

At = Annotated[str, Field(json_schema_extra={"format": "date-time"}, examples=["2030-01-31T08:00:00Z"])]
State = Literal["active", "paused", "job-paused", "parked", "deferred", "archived"]
T = TypeVar("T")


class ResponseModel(BaseModel):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


class PageOf(ResponseModel, Generic[T]):
    items: list[T]
    next_cursor: str | None = Field(description="Give it back as `cursor` for the next page; null: this is the last.")


class TotalView(ResponseModel):
    count: int
    is_exact: bool = Field(description="False: there are this many or more; counting stopped at 10,000.")


class CountedPage(PageOf[T], Generic[T]):
    total: TotalView | None = Field(description="How many match on all pages; null unless `with_total` asked for it.")


class DryRunOf(ResponseModel, Generic[T]):
    """What a write with `dry_run` would have changed. Nothing was."""

    dry_run: Literal[True] = True
    before: T | None = Field(description="Null: it is not there.")
    after: T | None = Field(description="Null: it would not be there.")
    changed: list[str] = Field(description="Fields that would have another value.")


class JobView(ResponseModel):
    id: str
    name: str
    description: str
    status: Literal["active", "paused", "archived"]
    managed_by: str | None = Field(description="The configuration file that describes it, if one does.")
    created_at: At
    updated_at: At


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


class DecisionStepView(ResponseModel):
    rule: str
    at: At | None
    verdict: str
    why: str


class PlannedRunView(ResponseModel):
    next_run_at: At
    source: str
    trail: list[DecisionStepView]


class RunView(ResponseModel):
    id: str
    endpoint: str = Field(description="The endpoint's name, or its id where it was deleted.")
    endpoint_id: str
    slot_at: At
    attempt: int
    trigger: str
    source: str
    status: str
    started_at: At
    finished_at: At | None
    duration_ms: int | None
    status_code: int | None
    error: str | None


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


class UpcomingRunsView(ResponseModel):
    now: At
    failures: int | None = Field(description="The failures in a row that were supposed; null: every run succeeds.")
    runs: list[PlannedRunView]


class PhasesView(ResponseModel):
    """Microseconds since the start of the call."""

    dns_us: int = 0
    connect_us: int = 0
    tls_us: int = 0
    first_byte_us: int = 0
    total_us: int | None = None


class BodyView(ResponseModel):
    content_type: str
    bytes_kept: int
    bytes_seen: int
    truncated: bool
    text: str = Field(description="As text, with whatever would act on a screen spelled out.")


class RunDetailView(RunView):
    error_code: str | None
    worker: str
    missed_count: int
    phases: PhasesView | None
    address: str | None
    headers: list[tuple[str, str]]
    body: BodyView | None
    trail: list[DecisionStepView]


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


class NextRunChange(ResponseModel):
    before: At | None
    after: At | None


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


class EndpointChanged(ResponseModel):
    id: str
    name: str
    next_run_at: NextRunChange


class JobDryRun(ResponseModel):
    """What a write with `dry_run` would have changed. Nothing was."""

    dry_run: Literal[True] = True
    before: JobView | None
    after: JobView | None
    changed: list[str]
    endpoints_changed: int
    endpoints: list[EndpointChanged] = Field(description="Whose next run would move; at most 100 of them.")


class Deleted(ResponseModel):
    id: str
    name: str
    deleted: Literal[True] = True


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


class EventView(ResponseModel):
    cursor: str
    type: str
    at: At
    endpoint: str | None
    endpoint_id: str | None
    run_id: str | None
    actor: str
    data: dict[str, object]


class Quotas(ResponseModel):
    """null: no limit."""

    runs_per_month: int | None
    tokens_per_month: int | None
    endpoints_max: int | None
    interval_ms_min: int | None


class Usage(ResponseModel):
    tenant: str
    name: str
    signing_keys: int = Field(description="How many keys sign its calls.")
    quotas: Quotas
    runs_this_month: int
    endpoints: int


class QuotasDryRun(ResponseModel):
    dry_run: Literal[True] = True
    before: Quotas
    after: Quotas
    changed: list[str]


class WorkerView(ResponseModel):
    id: str
    kind: str
    places: int
    started_at: At
    seen_at: At


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
