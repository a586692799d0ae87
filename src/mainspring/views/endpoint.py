"""Endpoints as every door shows them. Secret header values and query strings are never here, sealed or open."""

from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from mainspring.domain.endpoint import SETTINGS, Endpoint, config_value
from mainspring.domain.health import WindowHealth
from mainspring.domain.run import Header, Outcome
from mainspring.domain.schedule.cron import describe, describe_interval
from mainspring.domain.target import shown_url
from mainspring.operations.endpoints import Desk
from mainspring.views.decision import NextRunChange, PlannedRunView
from mainspring.views.endpoint_settings import EndpointSettingsView
from mainspring.views.run import BodyView, PhasesView, RunView
from mainspring.views.sentences import MASK
from mainspring.views.view import MANAGED_BY, At, OrNull, View

State = Literal["active", "paused", "job-paused", "parked", "deferred", "archived"]


def state_of(endpoint: Endpoint, now: datetime) -> State:
    """What an endpoint is doing, in one word: the strongest reason not to run comes first."""
    if endpoint.archived_at is not None:
        return "archived"
    if endpoint.parked_at is not None:
        return "parked"
    if not endpoint.job_active:
        return "job-paused"
    if endpoint.is_paused(now):
        return "paused"
    if endpoint.deferred_until is not None and endpoint.deferred_until > now:
        return "deferred"
    return "active"


class HeaderView(View):
    name: str
    value: str = Field(description="`••••` where it is secret.")
    secret: bool

    @classmethod
    def of(cls, header: Header) -> Self:
        return cls.from_value(header, value=MASK if header.secret else header.value)


class IntervalHintView(View):
    interval_ms: int
    expires_at: At
    reason: str
    author: str


class OneShotHintView(View):
    next_run_at: At
    expires_at: At
    reason: str
    author: str


class RunInFlight(View):
    run_id: str
    slot_at: At | None
    attempt: int
    trigger: str
    worker: str
    lease_until: At | None

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        return cls.from_value(endpoint, worker=endpoint.claimed_by)


class RefusedAdviceView(View):
    at: At
    author: str
    does: str
    because: str


class EndpointView(EndpointSettingsView, View):
    id: str
    name: str
    status: State
    url: str
    headers: list[HeaderView]
    schedule: str = Field(description="When it runs, in words.")
    managed_by: OrNull = Field(description=MANAGED_BY)
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
    last_status: OrNull

    @classmethod
    def of(cls, endpoint: Endpoint, now: datetime) -> Self:
        cron, interval_ms = endpoint.cron, endpoint.interval_ms or 0
        return cls.from_value(
            endpoint,
            **{field.name: config_value(endpoint, field) for field in SETTINGS},
            status=state_of(endpoint, now),
            url=shown_url(endpoint.action.url),
            headers=[HeaderView.of(header) for header in endpoint.action.headers],
            schedule=describe_interval(interval_ms) if cron is None else describe(cron, endpoint.id),
            run_requested_at=endpoint.manual_at,
            running=RunInFlight.of(endpoint) if endpoint.is_running else None,
        )


async def load_endpoint(desk: Desk, endpoint: Endpoint) -> EndpointView:
    return EndpointView.of(endpoint, await desk.stores.schedule.now())


class PreviewChange(View):
    before: list[PlannedRunView]
    after: list[PlannedRunView]


class EndpointDryRun(View):
    """What a write with `dry_run` would have changed. Nothing was."""

    dry_run: Literal[True] = True
    before: EndpointView | None
    after: EndpointView | None
    changed: list[str] = Field(description="Fields that would have another value.")
    next_run_at: NextRunChange | None = Field(description="Where the next run would move; null: it stays.")
    preview: PreviewChange = Field(description="The next runs, before and after.")


class RunRequested(View):
    endpoint: EndpointView
    run: RunView | None = Field(description="The run, once it has ended; null: it has not, or was not waited for.")


class OutcomeView(View):
    """What a call met."""

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

    @classmethod
    def of(cls, outcome: Outcome, **others: object) -> Self:
        reached = "allowed" if outcome.address else "not reached"
        return cls.from_value(
            outcome,
            address_verdict="blocked" if outcome.error_code == "blocked_address" else reached,
            body=None if outcome.body is None else BodyView.of(outcome.body),
            **others,
        )


class EndpointChecked(OutcomeView):
    """What a call of an endpoint that is not saved met."""

    next_run_at: At | None = Field(description="When it would run first, if it were saved now.")


class RequestView(View):
    method: str
    url: str
    headers: list[HeaderView]
    body: str | None
    timeout_ms: int


class TestDryRun(View):
    dry_run: Literal[True] = True
    would_call: RequestView


class HealthWindow(View):
    window: Literal["1h", "24h", "7d", "30d"]
    since: At = Field(description="The window's begin, or the oldest run that is kept, if that is later.")
    runs: int
    successes: int
    success_share: float | None = Field(description="0 to 1; null: no run.")
    latency_p50_ms: int | None
    latency_p95_ms: int | None

    @classmethod
    def of(cls, window: WindowHealth) -> Self:
        return cls.from_value(window)


class HealthView(View):
    endpoint: str
    status: State
    failure_streak: int
    last_status: OrNull
    last_run_at: At | None
    windows: list[HealthWindow]

    @classmethod
    def of(cls, endpoint: Endpoint, windows: list[WindowHealth], now: datetime) -> Self:
        return cls.from_value(
            endpoint,
            endpoint=endpoint.name,
            status=state_of(endpoint, now),
            failure_streak=endpoint.failure_count,
            windows=windows,
        )
