"""The overview: counts, recent runs, upcoming runs."""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Request

from mainspring.api.access import Reading
from mainspring.api.models.fields import Limit
from mainspring.domain.health import percentile
from mainspring.operations.context import Desk
from mainspring.ports.filters import RunListFilter
from mainspring.views.dashboard import Activity, ActivityHour, RecentRuns, RunMarkView, Stats, Upcoming
from mainspring.views.run import RunView
from mainspring.views.view import PageOf

router = APIRouter(prefix="/dashboard", tags=["dashboard"])
HOUR = timedelta(hours=1)
LATE = timedelta(seconds=5)
SETTLED = timedelta(
    minutes=15
)  # > the longest run with its lease: the counts of an hour that ended this long ago are final
HOURS_KEPT = 20_000  # more than a year of one tenant, or a month of thirty


class ClosedHours:
    """Caches the counts of past hours, which do not change any more."""

    def __init__(self) -> None:
        self._counts: OrderedDict[tuple[str, datetime], Mapping[str, int]] = OrderedDict()

    async def count(self, desk: Desk, now: datetime, hours: int) -> list[tuple[datetime, Mapping[str, int]]]:
        """The last hours up to the current one, oldest first; read from the first one that is not cached."""
        present = now.replace(minute=0, second=0, microsecond=0)
        begins = [present - HOUR * back for back in range(hours - 1, -1, -1)]
        known = 0
        while known < hours and (desk.tenant_id, begins[known]) in self._counts:
            known += 1
        fresh = await desk.stores.look.count_runs(desk.tenant_id, begins[known], hours - known)
        for begin, counts in zip(begins[known:], fresh, strict=True):
            if begin + HOUR + SETTLED <= now:
                self._counts[desk.tenant_id, begin] = counts
        while len(self._counts) > HOURS_KEPT:
            self._counts.popitem(last=False)
        return [(begin, self._counts[desk.tenant_id, begin]) for begin in begins[:known]] + list(
            zip(begins[known:], fresh, strict=True)
        )


@router.get("/stats")
async def read_stats(desk: Reading, request: Request) -> Stats:
    """Endpoints by state, and the runs of the last 24 hours by status."""
    now = await desk.stores.schedule.now()
    states = await desk.stores.look.count_states(desk.tenant_id, now - LATE)
    alive = [each for each in states if each.state != "archived"]
    runs: Counter[str] = Counter()
    for _, counts in await _closed_hours(request).count(desk, now, 24):
        runs.update(counts)
    return Stats.model_validate(
        {
            "now": now,
            "endpoints": {each.state: each.endpoints for each in states},
            "failing": sum(each.failing for each in alive),
            "running": sum(each.running for each in states),
            "late": sum(each.late for each in alive),
            "runs": dict(runs),
        }
    )


@router.get("/activity")
async def read_activity(
    desk: Reading, request: Request, hours: Annotated[int, Query(ge=1, le=168)] = 24, limit: Limit = 20
) -> Activity:
    """Runs by hour and status, and the latest ones."""
    now = await desk.stores.schedule.now()
    counted = await _closed_hours(request).count(desk, now, hours)
    latest = await desk.stores.look.runs(desk.tenant_id, RunListFilter(limit=limit))
    return Activity(
        hours=[ActivityHour(at=begin, runs=dict(counts)) for begin, counts in counted],
        latest=[RunView.of(run, name) for run, name in latest.runs],
    )


@router.get("/recent")
async def list_recent_runs(
    desk: Reading,
    endpoint: Annotated[list[str], Query(min_length=1, max_length=50, description="Ids of endpoints.")],
    limit: Annotated[int, Query(ge=1, le=50, description="Number of runs of each.")] = 30,
) -> PageOf[RecentRuns]:
    """The last runs of each of these endpoints, and their p95: what a list of endpoints draws as bars."""
    wanted = list(dict.fromkeys(endpoint))
    recent = await desk.stores.look.recent(desk.tenant_id, wanted, limit)
    items = []
    for endpoint_id in wanted:
        marks = recent.get(endpoint_id, [])
        took = [mark.duration_ms for mark in marks if mark.duration_ms is not None]
        runs = [RunMarkView.from_value(mark) for mark in marks]
        items.append(RecentRuns(endpoint_id=endpoint_id, runs=runs, p95_ms=percentile(took, 0.95)))
    return PageOf(items=items, next_cursor=None)


@router.get("/upcoming")
async def list_upcoming(desk: Reading, limit: Limit = 20) -> PageOf[Upcoming]:
    """Upcoming runs, soonest first."""
    found = await desk.stores.look.upcoming(desk.tenant_id, limit)
    return PageOf(items=[Upcoming.of(each) for each in found], next_cursor=None)


def _closed_hours(request: Request) -> ClosedHours:
    kept: ClosedHours = request.app.state.closed_hours
    return kept
