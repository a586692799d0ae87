"""A PostgreSQL database as the source or target of a move."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Self

import asyncpg

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.history import span_start, span_width
from mainspring.domain.instant import from_us, to_us
from mainspring.stores.move_side import MoveSide, quoted
from mainspring.stores.postgres.backup import connect
from mainspring.stores.postgres.database import EVERY_TENANT
from mainspring.stores.postgres.queries import QUERIES
from mainspring.stores.session import UniqueViolation
from mainspring.stores.tables import Key, Row, Table, Tables

EPOCH_2000_US = 946_684_800_000_000  # PostgreSQL counts microseconds from 2000
EVENTS_BITS = 30  # each partition has 2^30 numbers
LOCK_TRIES = 30
LOCK_PAUSE_S = 0.5
SETTINGS = {
    "application_name": "mainspring move",
    "mainspring.tenant": EVERY_TENANT,
    "lock_timeout": "2s",  # all statements after a waiting LOCK wait with it
    # A process that is suspended, or whose machine has failed, must not keep a source locked.
    "idle_in_transaction_session_timeout": "30s",
    "tcp_user_timeout": "10s",
    "tcp_keepalives_idle": "3",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "jit": "off",
}
HELD = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)


class PostgresMove(MoveSide):
    mark = "$"

    def __init__(self, connection: Any, label: str, width: timedelta) -> None:  # asyncpg ships no types
        super().__init__(QUERIES, label)
        self._connection = connection
        self._width = width  # of partitions of runs
        self._spans: set[datetime] = set()  # existing partitions
        self._types: dict[tuple[str, str], str] = {}

    @classmethod
    async def open_url(cls, url: str, label: str, keep_runs: timedelta) -> Self:
        connection = await connect(url, server_settings=SETTINGS)
        await connection.set_type_codec(
            "timestamptz",
            schema="pg_catalog",
            format="tuple",
            encoder=lambda us: (us - EPOCH_2000_US,),
            decoder=lambda value: value[0] + EPOCH_2000_US,
        )
        await connection.set_type_codec(
            "bool",
            schema="pg_catalog",
            format="binary",
            encoder=lambda value: b"\x01" if value else b"\x00",
            decoder=lambda value: value[0],
        )
        return cls(connection, label, span_width(keep_runs))

    async def fetch(self, sql: str, *values: object) -> list[Row]:
        return [tuple(row) for row in await self._connection.fetch(sql, *values)]

    async def execute(self, sql: str, *values: object) -> None:
        await self._connection.execute(sql, *values)

    async def describe(self) -> Tables:
        self._types = {(str(table), str(column)): str(kind) for table, column, kind in await self._listed_types()}
        return await super().describe()

    async def now(self) -> datetime:
        return from_us(await self._connection.fetchval(self.sql("read_clock")))

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        async with self._connection.transaction():
            yield

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        await self._make_room(table, rows)
        await self.execute(self.sql("make_stage", table))
        await self._connection.copy_records_to_table(f"move_{table.name}", records=rows, columns=table.columns)
        try:
            await self.execute(self.sql("put_staged", table))
        except asyncpg.UniqueViolationError as fault:
            raise UniqueViolation(str(fault)) from fault
        await self.execute(self.sql("clear_stage", table))

    async def read_keys(self, table: Table, keys: Sequence[Key]) -> list[Row]:
        return await self.fetch(self.sql("read_rows", table, values=self._arrays(table)), *_columns(keys))

    async def remove_keys(self, table: Table, keys: Sequence[Key]) -> None:
        await self.execute(self.sql("remove_rows", table, values=self._arrays(table)), *_columns(keys))

    async def lock(self) -> None:
        for _ in range(LOCK_TRIES):
            await self.execute("BEGIN")
            try:
                for table in self.tables.values():
                    await self.execute(self.sql("lock_table", table))
            except HELD:
                await self.execute("ROLLBACK")
                await asyncio.sleep(LOCK_PAUSE_S)
                continue
            return
        raise StoreUnavailable(
            f"{self.label} has a transaction that does not end, so it cannot be locked; end it and try again"
        )

    async def end(self, *, commit: bool) -> None:
        if not self._connection.is_closed():
            await self.execute("COMMIT" if commit else "ROLLBACK")

    async def forget_changes(self, ids: Sequence[int]) -> None:
        await self.execute(self.sql("forget_changes"), ids)

    async def expect(self) -> None:
        async with self.writing():
            for table in self.tables.values():
                await self.execute(self.sql("silence_triggers", table))

    async def welcome(self) -> None:
        for table in self.tables.values():
            await self.execute(self.sql("restore_triggers", table))
        await self._connection.fetchval(self.sql("continue_events"))
        await self._connection.fetchval(self.sql("make_next_event_partitions"))

    async def refuse_writes(self, table: Table) -> None:
        await self.execute(self.sql("refuse_writes", table))

    def trigger(self, query: str, table: Table, act: str) -> str:
        return self.sql(query, table, act=act, seen="OLD" if act == "DELETE" else "NEW", key=quoted(table.key))

    async def aclose(self) -> None:
        self._connection.terminate()

    async def _make_room(self, table: Table, rows: Sequence[Row]) -> None:
        """Create the partitions of these rows."""
        if table.name == "run":
            starts = {span_start(run_time(str(table.key_of(row)[1])), self._width) for row in rows} - self._spans
            for start in starts:
                await self._connection.fetchval(self.sql("make_run_partitions"), to_us(start), self._width, 1)
            self._spans |= starts
        elif table.name == "event":
            for number in {int(table.key_of(row)[0]) >> EVENTS_BITS for row in rows}:
                await self._connection.fetchval(self.sql("make_event_partition"), number)

    async def _listed_types(self) -> list[Row]:
        return await self.fetch(self.sql("list_types"))

    def _arrays(self, table: Table) -> str:
        """An array parameter for each column of the key."""
        kinds = [self._types[table.name, column] for column in table.key]
        return ", ".join(f"${number}::{kind}[]" for number, kind in enumerate(kinds, 1))


def run_time(run_id: str) -> datetime:
    """When a run was created: its id begins with milliseconds since 1970."""
    return from_us(int(run_id[4:16], 16) * 1000)


def _columns(keys: Sequence[Key]) -> list[list[int | str]]:
    return [list(column) for column in zip(*keys, strict=True)]
