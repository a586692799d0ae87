"""Queries and results of lists: filters, pages, counts."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from mainspring.domain.run import Run, RunTrigger

StatusFilter = Literal[
    "running", "success", "failure", "timeout", "blocked", "abandoned", "retried", "superseded", "unknown", "missed",
    "failed",
]  # fmt: skip
"""A status of a run, or any of those with which a call failed."""

StateFilter = Literal[
    "active", "paused", "job-paused", "parked", "deferred", "done", "archived", "running", "failing", "adapting"
]
"""A state, or an additional condition: `adapting` has a valid hint."""


EndpointOrder = Literal["name", "-name", "next_run_at", "-next_run_at"]
"""The order of endpoints; a minus reverses it."""


class Total(Struct, frozen=True):
    """A count. If counting stopped early, there may be more than `count`."""

    count: int
    is_exact: bool


class EndpointListFilter(Struct, frozen=True):
    """Filter of endpoints: `state` as in `views.endpoint.state_of`, or running, failing, adapting; text is literal."""

    job_id: str | None = None
    state: str | None = None  # None: all except archived ones
    text: str | None = None  # anywhere in the name, the description or the URL; ASCII case is ignored
    after: tuple[str, str] | None = None  # name and id of the last one seen, or next run (as text) and id
    limit: int = 50
    order: EndpointOrder = "name"


class RunListFilter(Struct, frozen=True):
    endpoint_id: str | None = None
    status: StatusFilter | None = None
    trigger: RunTrigger | None = None
    since: datetime | None = None
    until: datetime | None = None
    before_id: str | None = None  # start of the page: older than this one, or newer with `oldest_first`
    limit: int = 50
    oldest_first: bool = False


class RunPage(Struct, frozen=True):
    """Runs, each with its endpoint's name (or its id, if deleted); `next_before_id`: where the next page starts.

    A page may hold fewer than requested and still not be the last: a filter checks a limited number of runs.
    """

    runs: tuple[tuple[Run, str], ...]
    next_before_id: str | None


class RunMark(Struct, frozen=True):
    """A run as a bar of a chart."""

    id: str
    status: str
    duration_ms: int | None


class StateCount(Struct, frozen=True):
    """How many endpoints are in a state; of them, how many failed last, are running, and are overdue."""

    state: str
    endpoints: int
    failing: int
    running: int
    late: int
