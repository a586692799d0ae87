"""The record of what happened, on SQLite."""

from collections.abc import Sequence
from datetime import datetime

from mainspring.domain.event import Event, StoredEvent
from mainspring.domain.instant import from_us
from mainspring.domain.run import Body, Outcome, Run
from mainspring.ports.records import RunFilter
from mainspring.stores.rows import RUN_COLUMNS, body_values, parse_cursor, run_from, run_values, stored_events
from mainspring.stores.sqlite.database import Connection, Database, instant
from mainspring.stores.sqlite.endpoints import add_events

_INSTANTS = [index for index, column in enumerate(RUN_COLUMNS) if column.endswith("_at")]


class SqliteRuns:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def run(self, tenant_id: str, run_id: str) -> Run | None:
        rows = await self._db.read(lambda db: db.rows("run", tenant_id, run_id))
        return _run(rows[0]) if rows else None

    async def runs(self, tenant_id: str, wanted: RunFilter) -> list[Run]:
        if wanted.endpoint_id is None:
            rows = await self._db.read(
                lambda db: db.rows("runs", tenant_id, wanted.before_id, wanted.status, wanted.limit)
            )
        else:
            rows = await self._db.read(
                lambda db: db.rows(
                    "runs_of_endpoint", tenant_id, wanted.endpoint_id, wanted.before_id, wanted.status, wanted.limit
                )
            )
        return [_run(row) for row in rows]

    async def body(self, tenant_id: str, run_id: str) -> Body | None:
        rows = await self._db.read(lambda db: db.rows("body", tenant_id, run_id))
        if not rows or rows[0][0] is None:
            return None
        data, content_type, truncated, seen = rows[0]
        return Body(data, content_type, bool(truncated), seen)  # type: ignore[arg-type]  # columns

    async def add_test_run(self, run: Run, outcome: Outcome, events: Sequence[Event]) -> None:
        def work(db: Connection) -> None:
            db.run("add_run", *run_values(run))
            if outcome.body is not None:
                db.run("add_body", *body_values(outcome.body), run.tenant_id, run.id)
            add_events(db, events)

        await self._db.write(work)

    async def events_after(self, cursor: str, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        seq, index = parse_cursor(cursor, "0")

        def read(db: Connection) -> list[tuple[object, ...]]:
            if tenant_id is None:
                return db.rows("events_after", int(seq), limit + 1)
            return db.rows("events_of_tenant_after", tenant_id, int(seq), limit + 1)

        rows = await self._db.read(read)
        return stored_events([(str(row[0]), str(row[1])) for row in rows], (seq, index))[:limit]

    async def latest_events(self, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        def read(db: Connection) -> list[tuple[object, ...]]:
            if tenant_id is None:
                return db.rows("latest_events", limit)
            return db.rows("latest_events_of_tenant", tenant_id, limit)

        rows = await self._db.read(read)
        return stored_events([(str(row[0]), str(row[1])) for row in reversed(rows)])[-limit:]

    async def last_place(self) -> str:
        return str(await self._db.read(lambda db: db.value("newest_event")))

    async def add_events(self, events: Sequence[Event]) -> None:
        await self._db.write(add_events, events)

    async def add_signing_key(self, tenant_id: str, key_id: str, sealed: str, event: Event) -> None:
        def work(db: Connection) -> None:
            db.run("add_signing_key", key_id, tenant_id, sealed, event.at)
            add_events(db, [event])

        await self._db.write(work)

    async def revoke_signing_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        def work(db: Connection) -> bool:
            if not db.run("revoke_signing_key", tenant_id, key_id):
                return False
            add_events(db, [event])
            return True

        return await self._db.write(work)

    async def signing_keys(self, tenant_id: str) -> list[tuple[str, datetime]]:
        rows = await self._db.read(lambda db: db.rows("signing_keys", tenant_id))
        return [(str(key_id), from_us(created_at)) for key_id, created_at in rows]  # type: ignore[arg-type]  # columns


def _run(row: tuple[object, ...]) -> Run:
    values = list(row)
    for index in _INSTANTS:
        values[index] = instant(values[index])
    return run_from(values)
