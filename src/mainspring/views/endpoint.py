"""Endpoints as all interfaces show them, without secret header values and query strings.

The settings are a model that is made from the description of the fields. A setting is shown under the name of its
field, with its unit.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, Field, create_model

from mainspring.domain.access.callback_token import CALLBACK_HEADER, callback_url
from mainspring.domain.config_field import ConfigField, FieldKind
from mainspring.domain.endpoint import SETTINGS, Endpoint
from mainspring.domain.health import WindowHealth
from mainspring.domain.kinds.http import url_of
from mainspring.domain.kinds.registry import KINDS, PAIRS, kind_of
from mainspring.domain.run import CALLBACK, Header, Outcome
from mainspring.domain.schedule.cron import describe, describe_interval
from mainspring.domain.target import shown_url
from mainspring.operations.context import Desk
from mainspring.operations.template_preview import preview_templates
from mainspring.views.run import BodyView, CallbackView, NextRunChange, PhasesView, PlannedRunView, RunView
from mainspring.views.sentences import MASK, clock
from mainspring.views.view import MANAGED_BY, At, OrNull, View

_TYPES: dict[FieldKind, Any] = {
    FieldKind.TEXT: str,
    FieldKind.DURATION: int,
    FieldKind.NUMBER: int,
    FieldKind.SWITCH: bool,
    FieldKind.INSTANT: At,
    FieldKind.CHOICE: str,
    FieldKind.NUMBERS: list[int],
    FieldKind.TEXTS: list[str],
    FieldKind.CHOICES: list[str],
}


def _shown(field: ConfigField) -> tuple[Any, Any]:
    """A field that not every kind has is null in endpoints of other kinds."""
    type_ = _shown_group(field) if field.kind is FieldKind.GROUP else _TYPES[field.kind]
    is_everywhere = not field.kinds or len(field.kinds) == len(KINDS)
    only = "" if is_everywhere else f" Null unless the kind is {' or '.join(field.kinds)}."
    described = Field(description=f"{field.about.sentence}{only}")
    return type_ | None if field.is_nullable or not is_everywhere else type_, described


def _shown_group(field: ConfigField) -> Any:
    name = f"{field.key.title().replace('_', '')}View"
    parts: Any = {part.name: _shown(part) for part in field.parts}
    return create_model(name, __base__=View, **parts)


if TYPE_CHECKING:

    class EndpointSettingsView(BaseModel):
        """Every setting of an endpoint, by the name of its field."""

        def __getattr__(self, name: str) -> Any: ...

else:
    EndpointSettingsView = create_model("EndpointSettingsView", **{field.name: _shown(field) for field in SETTINGS})


_OF_CALL = tuple(field.name for field in SETTINGS if field.kinds)

State = Literal["active", "paused", "job-paused", "parked", "deferred", "done", "archived"]


def state_of(endpoint: Endpoint, now: datetime) -> State:
    """The state of an endpoint. The strongest reason not to run comes first."""
    if endpoint.archived_at is not None:
        return "archived"
    if endpoint.parked_at is not None:
        return "parked"
    if endpoint.is_done:
        return "done"
    if not endpoint.job_active:
        return "job-paused"
    if endpoint.is_paused(now):
        return "paused"
    if endpoint.deferred_until is not None and endpoint.deferred_until > now:
        return "deferred"
    return "active"


def schedule_of(endpoint: Endpoint) -> str:
    """The schedule in words."""
    if endpoint.cron is not None:
        return describe(endpoint.cron, endpoint.id)
    return f"once at {clock(endpoint.once_at)}" if endpoint.once_at else describe_interval(endpoint.interval_ms or 0)


class HeaderView(View):
    name: str
    value: str = Field(description="`••••` if the header is secret.")
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
    worker: str = Field(description="`ping` or `callback` if a ping or a callback ends the run.")
    lease_until: At | None
    callback: CallbackView | None = Field(description="What the run waits for; null: it does not wait for a callback.")

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        return cls.from_value(endpoint, worker=endpoint.claimed_by, callback=endpoint.waiting)


class RefusedAdviceView(View):
    at: At
    author: str
    does: str
    because: str


class EndpointView(EndpointSettingsView, View):
    id: str
    name: str
    status: State
    target: str = Field(description="What the endpoint calls, in one line without secrets.")
    url: str | None = Field(description="Null unless the kind is http.")
    headers: list[HeaderView]
    environment: list[HeaderView] = Field(description="Environment variables of kind command.")
    schedule: str = Field(description="The schedule in words.")
    managed_by: OrNull = Field(description=MANAGED_BY)
    version: int = Field(description="Version of the configuration, also used for the ETag.")
    created_at: At
    updated_at: At
    paused_until: At | None
    pause_reason: str
    pause_author: str = Field(description="Who paused it: `user:ann@example.com`, `rule:night`, `model:NAME`.")
    advice_may_resume: bool = Field(description="Whether rules, workflows and the model may end the pause.")
    parked_at: At | None
    parked_reason: str
    archived_at: At | None
    deferred_until: At | None
    failure_count: int = Field(description="Consecutive failures. A manual run and a reset set it to 0.")
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
        action, kind = endpoint.action, kind_of(endpoint.action)
        return cls.from_value(
            endpoint,
            **{name: getattr(action, name, None) for name in _OF_CALL},
            kind=kind.name,
            status=state_of(endpoint, now),
            target=kind.summary(action),
            url=shown_url(url_of(action)) or None,
            **{name: [HeaderView.of(each) for each in getattr(action, name, ())] for name in PAIRS},
            schedule=schedule_of(endpoint),
            run_requested_at=endpoint.requested_at,
            running=RunInFlight.of(endpoint) if endpoint.is_running or endpoint.is_open else None,
        )


async def load_endpoint(desk: Desk, endpoint: Endpoint) -> EndpointView:
    return EndpointView.of(endpoint, await desk.stores.schedule.now())


class TemplateText(View):
    name: str = Field(description="Field of the text: `url`, `headers.X-Day`, `body`, `command[1]`.")
    text: str = Field(description="As it would be sent. Literal parts of a query string are hidden.")


class TemplatesView(View):
    """The texts with templates, filled in for one slot. Nothing was sent."""

    slot_at: At
    texts: list[TemplateText]
    fault: OrNull = Field(description="Why the templates cannot be filled in; the run would be blocked.")


async def load_templates(desk: Desk, endpoint: Endpoint, slot_at: datetime | None = None) -> TemplatesView | None:
    """For the next run, or another time; None if the endpoint has no templates."""
    found = await preview_templates(desk, endpoint, slot_at)
    if found is None:
        return None
    return TemplatesView(
        slot_at=found.slot_at,
        texts=[TemplateText(name=name, text=text) for name, text in found.texts],
        fault=found.fault or None,
    )


class PreviewChange(View):
    before: list[PlannedRunView]
    after: list[PlannedRunView]


class EndpointDryRun(View):
    """What a write with `dry_run` would have changed. Nothing was changed."""

    dry_run: Literal[True] = True
    before: EndpointView | None
    after: EndpointView | None
    changed: list[str] = Field(description="Fields that would have another value.")
    next_run_at: NextRunChange | None = Field(description="How the next run would move; null: it does not move.")
    preview: PreviewChange = Field(description="The next runs, before and after.")
    templates: TemplatesView | None = Field(description="Texts of the next run; null if there are no templates.")


class RunRequested(View):
    endpoint: EndpointView
    run: RunView | None = Field(description="The finished run; null if it has not ended, or without `wait`.")


class OutcomeView(View):
    """The result of a call."""

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
    """The result of a call of an endpoint that is not saved."""

    next_run_at: At | None = Field(description="When the first run would be, if the endpoint were saved now.")


class RequestView(View):
    kind: str
    target: str
    method: str | None
    url: str | None
    headers: list[HeaderView]
    body: str | None
    timeout_ms: int

    @classmethod
    def of(cls, endpoint: EndpointView, site: str) -> Self:
        """What a run would send; the callback URL of a run is made with its request."""
        headers = endpoint.headers
        if endpoint.completes == CALLBACK:
            url = callback_url(site, MASK)
            headers = [*headers, HeaderView(name=CALLBACK_HEADER, value=url, secret=True)]
        return cls.from_value(endpoint, headers=headers)


class TestDryRun(View):
    dry_run: Literal[True] = True
    would_call: RequestView
    templates: TemplatesView | None = Field(description="Texts as they would be sent; null if there are no templates.")


async def load_test_dry_run(desk: Desk, endpoint: Endpoint) -> TestDryRun:
    """What a test call now would send."""
    return TestDryRun(
        would_call=RequestView.of(await load_endpoint(desk, endpoint), desk.callback_site),
        templates=await load_templates(desk, endpoint, await desk.stores.schedule.now()),
    )


class HealthWindow(View):
    window: Literal["1h", "24h", "7d", "30d"]
    since: At = Field(description="Start of the window, or the oldest stored run if that is later.")
    runs: int
    successes: int
    success_share: float | None = Field(description="0 to 1; null without runs.")
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
