"""Runs and responses as every door shows them."""

from typing import Self

import msgspec
from pydantic import Field

from mainspring.domain.run import Body, Run
from mainspring.domain.schedule.governor import decode_trail
from mainspring.domain.text import sanitised_view
from mainspring.views.decision import DecisionStepView
from mainspring.views.view import At, View


class RunView(View):
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
    text: str = Field(description="As text, with whatever would act on a screen spelled out.")

    @classmethod
    def of(cls, body: Body) -> Self:
        text = sanitised_view(body.data, body.content_type)
        return cls.from_value(body, bytes_kept=len(body.data), text=text)


class RunDetailView(RunView):
    error_code: str | None
    worker: str
    missed_count: int
    phases: PhasesView | None
    address: str | None
    headers: list[tuple[str, str]]
    body: BodyView | None
    trail: list[DecisionStepView]

    @classmethod
    def of(cls, run: Run, endpoint: str, body: Body | None = None) -> Self:
        detail = msgspec.json.decode(run.detail, type=dict[str, object])
        return cls.from_value(
            run,
            endpoint=endpoint,
            phases=_phases(detail.get("phases")),
            address=detail.get("address"),
            headers=detail.get("headers") or [],
            body=None if body is None else BodyView.of(body),
            trail=decode_trail(run.trail),
        )


def _phases(stored: object) -> dict[str, object] | None:
    """Rows store the phases as a list in the order of the fields."""
    return dict(zip(PhasesView.model_fields, stored, strict=False)) if isinstance(stored, list) else None
