"""Reads for lists and overviews, on PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.health import Result
from mainspring.domain.instant import FOREVER
from mainspring.domain.looking import EndpointLook, RunLook, RunMark, RunPage, StateCount
from mainspring.domain.run import RunStatus
from mainspring.stores.lists import (
    LOOKED_AT_MAX,
    RESULTS_MAX,
    bounds_of,
    by_hour,
    is_filtered,
    marks_of,
    page_of,
    page_query,
)
from mainspring.stores.postgres.database import Database
from mainspring.stores.rows import endpoint_from, id_floor, run_summary_from


class PostgresLook:
    def __init__(self, database: Database, looked_at_max: int = LOOKED_AT_MAX) -> None:
        self._db = database
        self._looked_at_max = looked_at_max

    async def endpoints(self, tenant_id: str, wanted: EndpointLook) -> list[Endpoint]:
        async with self._db.statement(tenant_id) as session:
            query, values = page_query(tenant_id, wanted, await self._db.now_in(session))
            rows = await session.rows(query, *values)
        return [endpoint_from(row) for row in rows]

    async def runs(self, tenant_id: str, wanted: RunLook) -> RunPage:
        before, first = bounds_of(wanted)
        filters = (wanted.status, wanted.trigger, wanted.limit)
        looked_to: object = None
        async with self._db.statement(tenant_id) as session:
            if wanted.endpoint_id is not None:
                rows = await session.rows(
                    "look_runs_of_endpoint", tenant_id, wanted.endpoint_id, before, first, *filters
                )
            else:
                if is_filtered(wanted):
                    looked_to = await session.value("run_so_far_back", tenant_id, before, self._looked_at_max)
                rows = await session.rows("look_runs", tenant_id, before, max(first, str(looked_to or "")), *filters)
        return page_of([run_summary_from(row) for row in rows], wanted, first, looked_to)

    async def recent(self, tenant_id: str, endpoint_ids: Sequence[str], limit: int) -> dict[str, list[RunMark]]:
        async with self._db.statement(tenant_id) as session:
            return marks_of(await session.rows("recent_runs", list(endpoint_ids), tenant_id, limit))

    async def results(self, tenant_id: str, endpoint_id: str, since: datetime) -> list[Result]:
        async with self._db.statement(tenant_id) as session:
            rows = await session.rows("results", tenant_id, endpoint_id, id_floor("run", since), RESULTS_MAX)
        return [Result(at, RunStatus(str(status)), took) for at, status, took in _typed(rows)]

    async def count_states(self, tenant_id: str, late_before: datetime) -> list[StateCount]:
        async with self._db.statement(tenant_id) as session:
            now = await self._db.now_in(session)
            rows = await session.rows("count_states", now, late_before, tenant_id)
        return [StateCount(*row) for row in _typed(rows)]

    async def count_runs(self, tenant_id: str, since: datetime, hours: int) -> list[Mapping[str, int]]:
        before = id_floor("run", since + timedelta(hours=hours))
        async with self._db.statement(tenant_id) as session:
            rows = await session.rows("count_runs", since, tenant_id, id_floor("run", since), before)
        return by_hour(_typed(rows), hours)

    async def upcoming(self, tenant_id: str, limit: int) -> list[Endpoint]:
        async with self._db.statement(tenant_id) as session:
            rows = await session.rows("upcoming_endpoints", tenant_id, FOREVER, limit)
        return [endpoint_from(row) for row in rows]

    async def names(self, tenant_id: str, endpoint_ids: Sequence[str]) -> dict[str, str]:
        async with self._db.statement(tenant_id) as session:
            return {
                row[0]: row[1] for row in _typed(await session.rows("endpoint_names", tenant_id, list(endpoint_ids)))
            }


def _typed(rows: list[Sequence[object]]) -> list[Sequence[Any]]:
    """The schema types the columns; the driver does not."""
    return rows
