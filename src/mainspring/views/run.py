"""Decisions of the governor, runs and responses as all interfaces show them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self

import msgspec
from pydantic import Field

from mainspring.domain.calendar import ExcludedDay
from mainspring.domain.run import Body, Run
from mainspring.domain.schedule.callback_wait import CallbackWait
from mainspring.domain.schedule.governor import Decision, decode_trail
from mainspring.domain.text import sanitised_view
from mainspring.views.calendar import ExcludedDayView
from mainspring.views.view import At, OrNull, View


class DecisionStepView(View):
    rule: str
    at: At | None
    verdict: str
    why: str


class PlannedRunView(View):
    next_run_at: At
    source: str
    trail: list[DecisionStepView]

    @classmethod
    def of(cls, decision: Decision) -> Self:
        return cls.from_value(decision)


class UpcomingRunsView(View):
    now: At
    failures: int | None = Field(description="Assumed consecutive failures; null: every run succeeds.")
    runs: list[PlannedRunView]
    excluded: list[ExcludedDayView] = Field(
        default=[], description="Days up to the last of these runs on which calendars allow none, with the reason."
    )

    @classmethod
    def of(
        cls, decisions: list[Decision], now: datetime, failures: int | None, excluded: Sequence[ExcludedDay] = ()
    ) -> Self:
        runs = [PlannedRunView.of(each) for each in decisions]
        return cls(now=now, failures=failures, runs=runs, excluded=[ExcludedDayView.of(each) for each in excluded])


class NextRunChange(View):
    before: At | None
    after: At | None


class CallbackView(View):
    """A run that its target accepted and that a callback ends."""

    since_at: At
    until_at: At = Field(description="Deadline of the callback; a report of progress extends it.")
    percent: int | None = Field(description="Progress that the target reported last.")
    text: str = Field(description="What the target reported last.")
    reported_at: At | None = Field(description="When the target reported progress last.")


class RunView(View):
    id: str
    endpoint: str = Field(description="Name of the endpoint, or its id if it was deleted.")
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
    maintenance: OrNull = Field(description="Maintenance window that was open during the run; it does not count.")

    @classmethod
    def of(cls, run: Run, endpoint: str) -> Self:
        return cls.from_value(run, endpoint=endpoint)


class PhasesView(View):
    """Microseconds since the start of the call."""

    dns_us: int = 0
    connect_us: int = 0
    tls_us: int = 0
    first_byte_us: int = 0
    total_us: int | None = None


class BodyView(View):
    content_type: str
    bytes_kept: int
    bytes_seen: int
    truncated: bool
    text: str = Field(description="The body as text. Control characters are escaped.")

    @classmethod
    def of(cls, body: Body) -> Self:
        text = sanitised_view(body.data, body.content_type)
        return cls.from_value(body, bytes_kept=len(body.data), text=text)


class RunCertificateView(View):
    """The certificate that the target presented."""

    subject: str
    issuer: str
    days_left: int | None = Field(description="Whole days until it expired, when the run read it.")
    not_after: str | None


class RunDetailView(RunView):
    error_code: str | None
    worker: str
    missed_count: int
    phases: PhasesView | None
    address: str | None
    headers: list[tuple[str, str]]
    tls: RunCertificateView | None = Field(description="The certificate of the target, if the endpoint asks for it.")
    body: BodyView | None
    callback: CallbackView | None = Field(description="What the run waits for; null: it does not wait for a callback.")
    trail: list[DecisionStepView]

    @classmethod
    def of(cls, run: Run, endpoint: str, body: Body | None = None, waiting: CallbackWait | None = None) -> Self:
        detail = msgspec.json.decode(run.detail, type=dict[str, object])
        return cls.from_value(
            run,
            endpoint=endpoint,
            phases=_phases(detail.get("phases")),
            address=detail.get("address"),
            headers=detail.get("headers") or [],
            tls=detail.get("tls"),
            body=None if body is None else BodyView.of(body),
            callback=waiting,
            trail=decode_trail(run.trail),
        )


def _phases(stored: object) -> dict[str, object] | None:
    """Rows store the phases as a list in the order of the fields."""
    return dict(zip(PhasesView.model_fields, stored, strict=False)) if isinstance(stored, list) else None
