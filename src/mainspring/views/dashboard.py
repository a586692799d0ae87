"""The overview: counts, activity, and the running processes."""

from typing import Self

from pydantic import Field

from mainspring.domain.endpoint import Endpoint
from mainspring.ports.presence import WorkerRow
from mainspring.views.endpoint import State
from mainspring.views.run import RunView
from mainspring.views.view import At, View


class WorkerView(View):
    id: str
    kind: str
    places: int
    started_at: At
    seen_at: At

    @classmethod
    def of(cls, worker: WorkerRow) -> Self:
        return cls.from_value(worker)


class Stats(View):
    now: At
    endpoints: dict[State, int]
    failing: int = Field(description="Endpoints whose last run failed.")
    running: int
    late: int = Field(description="Endpoints that have been due for more than five seconds.")
    runs: dict[str, int] = Field(description="Runs of the last 24 hours by status.")


class ActivityHour(View):
    at: At
    runs: dict[str, int]


class Activity(View):
    hours: list[ActivityHour] = Field(description="Oldest first; the last one is the current hour.")
    latest: list[RunView]


class RunMarkView(View):
    id: str
    status: str
    duration_ms: int | None


class RecentRuns(View):
    endpoint_id: str
    runs: list[RunMarkView] = Field(description="Newest first.")
    p95_ms: int | None = Field(description="Of runs with a duration.")


class Upcoming(View):
    at: At
    endpoint_id: str
    endpoint: str
    job: str
    source: str

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        return cls(
            at=min(at for at in (endpoint.manual_at, endpoint.next_run_at) if at is not None),
            endpoint_id=endpoint.id,
            endpoint=endpoint.name,
            job=endpoint.job,
            source="manual" if endpoint.manual_at is not None else endpoint.source,
        )
