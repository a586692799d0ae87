"""Reads for lists and overviews."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.health import RunResult
from mainspring.domain.instant import FOREVER
from mainspring.domain.run import RunStatus
from mainspring.ports.filters import EndpointListFilter, RunListFilter, RunMark, RunPage, StateCount, Total
from mainspring.stores.paging import (
    LOOKED_AT_MAX,
    RESULTS_MAX,
    Counted,
    bounds_forwards,
    bounds_of,
    by_hour,
    end_of,
    is_filtered,
    marks_of,
    page_of,
    page_query,
    total_of,
    total_query,
)
from mainspring.stores.rows import ENDPOINT_INSTANTS, RUN_SUMMARY_COLUMNS, endpoint_from, id_floor, run_summary_from
from mainspring.stores.session import Database, Row

_INSTANTS = [index for index, column in enumerate(RUN_SUMMARY_COLUMNS) if column.endswith("_at")]


class SqlListStore:
    def __init__(self, database: Database, looked_at_max: int = LOOKED_AT_MAX) -> None:
        self._db = database
        self._looked_at_max = looked_at_max

    async def endpoints(self, tenant_id: str, wanted: EndpointListFilter) -> list[Endpoint]:
        async with self._db.reading(tenant_id) as session:
            query, values = page_query(tenant_id, wanted, await session.now())
            rows = await session.rows(query, *values)
        return [endpoint_from(session.instants(row, ENDPOINT_INSTANTS)) for row in rows]

    async def total(self, tenant_id: str, wanted: Counted) -> Total:
        async with self._db.reading(tenant_id) as session:
            now = await session.now()
            query, most, values = total_query(tenant_id, wanted, now, self._looked_at_max)
            rows = await session.rows(query, *values)
        return total_of(rows[0], most)

    async def runs(self, tenant_id: str, wanted: RunListFilter) -> RunPage:
        if wanted.oldest_first:
            return await self._runs_forwards(tenant_id, wanted)
        before, first = bounds_of(wanted)
        filters = (wanted.status, wanted.trigger, wanted.limit)
        looked_to: object = None
        async with self._db.reading(tenant_id) as session:
            if wanted.endpoint_id is not None:
                rows = await session.rows(
                    "look_runs_of_endpoint", tenant_id, wanted.endpoint_id, before, first, *filters
                )
            else:
                if is_filtered(wanted):
                    looked_to = await session.value("run_so_far_back", tenant_id, before, self._looked_at_max)
                rows = await session.rows("look_runs", tenant_id, before, max(first, str(looked_to or "")), *filters)
        return page_of([run_summary_from(session.instants(row, _INSTANTS)) for row in rows], wanted, first, looked_to)

    async def _runs_forwards(self, tenant_id: str, wanted: RunListFilter) -> RunPage:
        after, before = bounds_forwards(wanted)
        filters = (wanted.status, wanted.trigger, wanted.limit)
        looked_to: object = None
        async with self._db.reading(tenant_id) as session:
            if wanted.endpoint_id is not None:
                of = (tenant_id, wanted.endpoint_id, after, before)
                rows = await session.rows("look_runs_of_endpoint_forwards", *of, *filters)
            else:
                if is_filtered(wanted):
                    looked_to = await session.value("run_so_far_ahead", tenant_id, after, self._looked_at_max)
                end = end_of(before, looked_to)
                rows = await session.rows("look_runs_forwards", tenant_id, after, end, *filters)
        return page_of([run_summary_from(session.instants(row, _INSTANTS)) for row in rows], wanted, before, looked_to)

    async def recent(self, tenant_id: str, endpoint_ids: Sequence[str], limit: int) -> dict[str, list[RunMark]]:
        async with self._db.reading(tenant_id) as session:
            return marks_of(await session.rows("recent_runs", list(endpoint_ids), tenant_id, limit))

    async def results(self, tenant_id: str, endpoint_id: str, since: datetime) -> list[RunResult]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("results", tenant_id, endpoint_id, id_floor("run", since), RESULTS_MAX)
        found = [session.instants(row, (0,)) for row in rows]
        return [RunResult(at, RunStatus(str(status)), took) for at, status, took in _typed(found)]

    async def count_states(self, tenant_id: str, late_before: datetime) -> list[StateCount]:
        async with self._db.reading(tenant_id) as session:
            now = await session.now()
            rows = await session.rows("count_states", now, late_before, tenant_id)
        return [StateCount(*row) for row in _typed(rows)]

    async def count_runs(self, tenant_id: str, since: datetime, hours: int) -> list[Mapping[str, int]]:
        before = id_floor("run", since + timedelta(hours=hours))
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("count_runs", since, tenant_id, id_floor("run", since), before)
        return by_hour(_typed(rows), hours)

    async def upcoming(self, tenant_id: str, limit: int) -> list[Endpoint]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("upcoming_endpoints", tenant_id, FOREVER, limit)
        return [endpoint_from(session.instants(row, ENDPOINT_INSTANTS)) for row in rows]

    async def names(self, tenant_id: str, endpoint_ids: Sequence[str]) -> dict[str, str]:
        async with self._db.reading(tenant_id) as session:
            return {
                row[0]: row[1] for row in _typed(await session.rows("endpoint_names", tenant_id, list(endpoint_ids)))
            }


def _typed(rows: Sequence[Row]) -> Sequence[Sequence[Any]]:
    """The schema types the columns; the driver does not."""
    return rows
