"""The record of what happened: runs with their bodies, events, signing keys."""

from collections.abc import Collection, Sequence
from datetime import datetime

from mainspring.domain.event import Event, StoredEvent
from mainspring.domain.run import Body, Outcome, Run
from mainspring.domain.templates import PastRun
from mainspring.ports.records import RunFilter
from mainspring.stores.events import EventReader, add_events
from mainspring.stores.rows import RUN_COLUMNS, body_values, id_time, past_run_from, run_from, run_values
from mainspring.stores.session import Database, Row, Session

_SLOT_AT = 2  # its position in a row of `past_run`
_INSTANTS = [index for index, column in enumerate(RUN_COLUMNS) if column.endswith("_at")]


class SqlRunStore:
    def __init__(self, database: Database, events: EventReader) -> None:
        self._db = database
        self._events = events

    async def run(self, tenant_id: str, run_id: str) -> Run | None:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("run", tenant_id, run_id)
        return run_row(session, rows[0]) if rows else None

    async def runs(self, tenant_id: str, wanted: RunFilter) -> list[Run]:
        page = (wanted.before_id, wanted.status, wanted.limit)
        async with self._db.reading(tenant_id) as session:
            if wanted.endpoint_id is None:
                rows = await session.rows("runs", tenant_id, *page)
            else:
                rows = await session.rows("runs_of_endpoint", tenant_id, wanted.endpoint_id, *page)
        return [run_row(session, row) for row in rows]

    async def body(self, tenant_id: str, run_id: str) -> Body | None:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("body", tenant_id, run_id)
        if not rows or rows[0][0] is None:
            return None
        data, content_type, truncated, seen = rows[0]
        return Body(data, content_type, bool(truncated), seen)  # type: ignore[arg-type]  # columns

    async def past_runs(
        self, tenant_id: str, endpoint_id: str, before: datetime, wanted: Collection[str]
    ) -> dict[str, PastRun]:
        found: dict[str, PastRun] = {}
        async with self._db.reading(tenant_id) as session:
            for name in sorted(wanted):
                rows = await session.rows("past_run", tenant_id, endpoint_id, before, name == "last_success")
                if rows:
                    found[name] = past_run_from(session.instants(rows[0], [_SLOT_AT]))
        return found

    async def add_test_run(self, run: Run, outcome: Outcome, events: Sequence[Event]) -> None:
        async with self._db.transaction(run.tenant_id) as session:
            await session.make_room(id_time(run.id))
            await session.run("add_run", *run_values(run))
            if outcome.body is not None:
                await session.run("add_body", *body_values(outcome.body), run.tenant_id, run.id)
            await add_events(session, events)

    async def events_after(self, cursor: str, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        async with self._db.reading(tenant_id) as session:
            return await self._events.events_after(session, cursor, tenant_id, limit)

    async def latest_events(self, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        async with self._db.reading(tenant_id) as session:
            return await self._events.latest_events(session, tenant_id, limit)

    async def last_place(self) -> str:
        async with self._db.reading() as session:
            return str(await session.value("last_place"))

    async def add_events(self, events: Sequence[Event]) -> None:
        async with self._db.transaction() as session:
            await add_events(session, events)

    async def add_signing_key(self, tenant_id: str, key_id: str, sealed: str, event: Event) -> None:
        async with self._db.transaction(tenant_id) as session:
            await session.run("add_signing_key", key_id, tenant_id, sealed, event.at)
            await add_events(session, [event])

    async def revoke_signing_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        async with self._db.transaction(tenant_id) as session:
            if not await session.run("revoke_signing_key", tenant_id, key_id):
                return False
            await add_events(session, [event])
            return True

    async def signing_keys(self, tenant_id: str) -> list[tuple[str, datetime]]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("signing_keys", tenant_id)
        return [(str(key_id), session.instant(created_at)) for key_id, created_at in rows]  # type: ignore[misc]  # never null


def run_row(session: Session, row: Row) -> Run:
    return run_from(session.instants(row, _INSTANTS))
