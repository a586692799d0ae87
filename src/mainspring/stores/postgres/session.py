"""The session of `stores/session.py` on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import asyncpg

from mainspring.stores.postgres.lasting_connection import CHANNEL
from mainspring.stores.postgres.queries import QUERIES, as_json, columns
from mainspring.stores.session import UniqueViolation

if TYPE_CHECKING:
    from mainspring.stores.postgres.database import PostgresDatabase


class PostgresSession:
    """A connection inside one transaction, with our queries by name; `found`: the rows of its first query."""

    def __init__(self, connection: Any, database: "PostgresDatabase", found: int = 0) -> None:  # asyncpg ships no types
        self._connection = connection
        self._database = database
        self._clock = database.clock
        self.audit_keys = database.audit_keys
        self.found = found
        self.breaks = database.breaks

    async def rows(self, query: str, *values: object) -> list[Sequence[object]]:
        try:
            return list(await self._connection.fetch(QUERIES[query], *values))
        except asyncpg.UniqueViolationError as fault:
            raise UniqueViolation(str(fault)) from fault

    async def rows_for(self, query: str, each: Sequence[Sequence[object]]) -> list[Sequence[object]]:
        return await self.rows(query, *columns(each, len(each[0]))) if each else []

    async def value(self, query: str, *values: object, timeout_s: float | None = None) -> object:
        return await self._connection.fetchval(QUERIES[query], *values, timeout=timeout_s)

    async def run(self, query: str, *values: object) -> int:
        """Execute a statement; return how many rows it changed."""
        try:
            return affected_rows(await self._connection.execute(QUERIES[query], *values))
        except asyncpg.UniqueViolationError as fault:
            raise UniqueViolation(str(fault)) from fault

    async def run_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute once for each row, without waiting for each response."""
        try:
            if rows:
                await self._connection.executemany(QUERIES[query], rows)
        except asyncpg.UniqueViolationError as fault:
            raise UniqueViolation(str(fault)) from fault

    async def insert(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            await self.run(query, *columns(rows, len(rows[0])))

    async def update(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            await self.run(query, as_json(rows))

    async def lock(self, query: str, *values: object) -> None:
        await self._connection.fetch(QUERIES[query], *values)

    async def lock_endpoints(self, ids: Sequence[str], *, skip_held: bool = False) -> tuple[dict[str, int], datetime]:
        """Lock endpoints until the transaction ends; return their revisions, and the time when all were locked."""
        query = "lock_free_and_read_clock" if skip_held else "lock_and_read_clock"
        rows = await self._connection.fetch(QUERIES[query], list(ids))
        now = self.at(rows[-1][2]) if rows else await self.now()
        return {row[0]: row[1] for row in rows}, now

    async def notify(self) -> None:
        await self.value("notify", CHANNEL, self._database.notify_payload(None))

    async def make_room(self, at: datetime) -> None:
        await self._database.run_partitions.make_room(self, at)

    async def now(self) -> datetime:
        return self._clock.now() if self._clock is not None else await self.value("read_clock")  # type: ignore[return-value]  # timestamptz

    def at(self, read: object) -> datetime:
        return self._clock.now() if self._clock is not None else read  # type: ignore[return-value]  # timestamptz

    def instant(self, value: object) -> datetime | None:
        return value  # type: ignore[return-value]  # timestamptz

    def instants(self, row: Sequence[object], columns: Sequence[int]) -> list[object]:
        return list(row)

    @asynccontextmanager
    async def ahead(self) -> AsyncIterator["PipelinedStatement"]:
        """Statements that are sent while the caller prepares the next one; all are done at the end of the block."""
        ahead = PipelinedStatement(self)
        try:
            yield ahead
            await ahead.settle()
        finally:
            await ahead.give_up()

    async def only(self, tenant_id: str) -> None:
        """From here to the end of the transaction, no row of another tenant is visible or writable."""
        await self._connection.fetchval(QUERIES["work_for"], tenant_id)

    async def script(self, sql: str, timeout_s: float | None = None) -> None:
        await self._connection.execute(sql, timeout=timeout_s)


class PipelinedStatement:
    """One statement of a session at a time, which the server executes while this process continues."""

    def __init__(self, session: PostgresSession) -> None:
        self._session = session
        self._under_way: asyncio.Task[int] | None = None

    async def run(self, query: str, *values: object) -> None:
        """Send a statement, once the previous one is done; its errors are raised by the next call."""
        await self.settle()
        self._under_way = asyncio.create_task(self._session.run(query, *values))
        await asyncio.sleep(0)  # so that it leaves now

    async def settle(self) -> int:
        """Wait for the statement that was sent last; return how many rows it found or changed."""
        return await self._under_way if self._under_way is not None else 0

    async def give_up(self) -> None:
        if self._under_way is not None and not self._under_way.done():
            self._under_way.cancel()
            await asyncio.wait((self._under_way,))


def affected_rows(status: str) -> int:
    """The number of rows in a command tag such as `UPDATE 3`."""
    count = status.rpartition(" ")[2]
    return int(count) if count.isdigit() else 0
