"""Reads for lists and overviews, on SQLite."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.health import Result
from mainspring.domain.instant import FOREVER, from_us
from mainspring.domain.looking import EndpointLook, RunLook, RunMark, RunPage, StateCount
from mainspring.domain.run import Run, RunStatus
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
from mainspring.stores.rows import RUN_SUMMARY_COLUMNS, id_floor, run_summary_from
from mainspring.stores.sqlite.database import Connection, Database, instant
from mainspring.stores.sqlite.schedule import encoded, endpoint_row

_INSTANTS = [index for index, column in enumerate(RUN_SUMMARY_COLUMNS) if column.endswith("_at")]


class SqliteLook:
    def __init__(self, database: Database, looked_at_max: int = LOOKED_AT_MAX) -> None:
        self._db = database
        self._looked_at_max = looked_at_max

    async def endpoints(self, tenant_id: str, wanted: EndpointLook) -> list[Endpoint]:
        query, values = page_query(tenant_id, wanted, self._db.clock.now())
        return [endpoint_row(row) for row in await self._db.read(lambda db: db.rows(query, *values))]

    async def runs(self, tenant_id: str, wanted: RunLook) -> RunPage:
        before, first = bounds_of(wanted)
        filters = (wanted.status, wanted.trigger, wanted.limit)

        def work(db: Connection) -> tuple[list[tuple[object, ...]], object]:
            if wanted.endpoint_id is not None:
                rows = db.rows("look_runs_of_endpoint", tenant_id, wanted.endpoint_id, before, first, *filters)
                return rows, None
            looked_to = (
                db.value("run_so_far_back", tenant_id, before, self._looked_at_max) if is_filtered(wanted) else None
            )
            return db.rows("look_runs", tenant_id, before, max(first, str(looked_to or "")), *filters), looked_to

        rows, looked_to = await self._db.read(work)
        return page_of([_summary(row) for row in rows], wanted, first, looked_to)

    async def recent(self, tenant_id: str, endpoint_ids: Sequence[str], limit: int) -> dict[str, list[RunMark]]:
        wanted = encoded(list(endpoint_ids))
        return marks_of(await self._db.read(lambda db: db.rows("recent_runs", wanted, tenant_id, limit)))

    async def results(self, tenant_id: str, endpoint_id: str, since: datetime) -> list[Result]:
        rows = await self._db.read(
            lambda db: db.rows("results", tenant_id, endpoint_id, id_floor("run", since), RESULTS_MAX)
        )
        return [Result(from_us(at), RunStatus(str(status)), took) for at, status, took in rows]  # type: ignore[arg-type]  # columns

    async def count_states(self, tenant_id: str, late_before: datetime) -> list[StateCount]:
        now = self._db.clock.now()
        rows = await self._db.read(lambda db: db.rows("count_states", now, late_before, tenant_id))
        return [StateCount(*row) for row in rows]  # type: ignore[arg-type]  # columns

    async def count_runs(self, tenant_id: str, since: datetime, hours: int) -> list[Mapping[str, int]]:
        before = id_floor("run", since + timedelta(hours=hours))
        rows = await self._db.read(lambda db: db.rows("count_runs", since, tenant_id, id_floor("run", since), before))
        return by_hour(rows, hours)

    async def upcoming(self, tenant_id: str, limit: int) -> list[Endpoint]:
        rows = await self._db.read(lambda db: db.rows("upcoming_endpoints", tenant_id, FOREVER, limit))
        return [endpoint_row(row) for row in rows]

    async def names(self, tenant_id: str, endpoint_ids: Sequence[str]) -> dict[str, str]:
        rows = await self._db.read(lambda db: db.rows("endpoint_names", tenant_id, encoded(list(endpoint_ids))))
        return {str(endpoint_id): str(name) for endpoint_id, name in rows}


def _summary(row: tuple[object, ...]) -> tuple[Run, str]:
    values = list(row)
    for index in _INSTANTS:
        values[index] = instant(values[index])
    return run_summary_from(values)
