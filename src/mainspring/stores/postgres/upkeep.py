"""The part of the janitor's and the watchdog's store that only PostgreSQL has."""

import asyncpg

from mainspring.domain.errors import StoreUnavailable
from mainspring.ports.upkeep import (
    DeadRows,
    EventLag,
    HistoryPartition,
    OpenTransaction,
    Replication,
    Retention,
    RunRoom,
    StoreFacts,
    Swept,
)
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.events import horizon
from mainspring.stores.postgres.queries import PACKAGE
from mainspring.stores.rows import id_floor
from mainspring.stores.schema import check_applied, newer_than_known
from mainspring.stores.upkeep import SqlUpkeepStore

ANALYZE_S = 300.0  # samples of all partitions
# A reader uses it for longer than we wait; or another partition of the table is half detached, and must be first.
BUSY = (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError, asyncpg.ObjectNotInPrerequisiteStateError)


class PostgresUpkeep(SqlUpkeepStore):
    has_partitions = True

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._server = database

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        """Each statement is a separate transaction, so that none keeps locks while the next one searches for rows."""
        async with self._server.statement() as session:
            return await self._sweep(session, keep, batch)

    async def make_room(self, keep: Retention) -> RunRoom:
        async with self._server.statement() as session:
            now = await session.now()
            await session.make_room(now)
            await session.value("make_event_partitions")
            began_at = await session.value("event_partition_began_at")
            if began_at is not None and began_at <= now - keep.events_span:  # type: ignore[operator]  # timestamptz
                await session.value("begin_event_partition")
        return await self.run_room()

    async def run_room(self) -> RunRoom:
        async with self._server.statement() as session:
            now = await session.now()
            until_at = await session.value("run_room_until", id_floor("run", now))
        return RunRoom(now, until_at)  # type: ignore[arg-type]  # timestamptz

    async def expired_partitions(self, keep: Retention) -> tuple[HistoryPartition, ...]:
        async with self._server.statement() as session:
            rows = [
                *await session.rows("expired_run_partitions", id_floor("run", keep.runs_before)),
                *await session.rows("expired_event_partitions", keep.events_before),
            ]
        return tuple(HistoryPartition(*row) for row in rows)  # type: ignore[arg-type]  # columns

    async def remove_partition(self, partition: HistoryPartition) -> bool:
        """Detach it without a lock that others wait for, then drop it.

        If a reader delays it, the partition stays half detached, and the next call completes that. Only the owner can
        do this, outside a transaction; other users drop it at once or not at all, and wait 50 ms for the lock.
        """
        async with self._server.statement() as session:
            try:
                can_detach = not self._server.behind_bouncer and await session.value("owns_tables")
                if can_detach and (statement := await session.value("detach_statement", partition.name)) is not None:
                    await session.script(str(statement))
                await session.value("drop_partition", partition.name)
            except BUSY:
                return False
        return True

    async def analyze_history(self) -> None:
        async with self._server.unbounded() as session:
            await session.value("analyze_history", timeout_s=ANALYZE_S)

    async def event_lag(self) -> EventLag:
        async with self._server.statement() as session:
            upto = await horizon(session)
            writers = [OpenTransaction(*row) for row in await session.rows("event_writers_and_read_clock")]  # type: ignore[arg-type]  # columns
            oldest_at = await session.value("oldest_held_event", upto)
            now = await session.now()
        return EventLag(now, oldest_at, tuple(writers) if oldest_at else ())  # type: ignore[arg-type]  # timestamptz

    async def dead_rows(self) -> DeadRows:
        async with self._server.statement() as session:
            ((dead, live),) = await session.rows("dead_rows")
            found = await session.rows("oldest_transaction_and_read_clock")
        oldest = [OpenTransaction(*row) for row in found]  # type: ignore[arg-type]  # columns
        return DeadRows(int(str(dead)), int(str(live)), oldest[0] if oldest else None)

    async def replication(self) -> Replication:
        async with self._server.statement() as session:
            ((is_synchronous, standbys),) = await session.rows("replication")
        return Replication(await self._server.roles(), bool(is_synchronous), int(str(standbys)))

    async def facts(self) -> StoreFacts:
        async with self._server.statement() as session:
            version = str(await session.value("server_version"))
            applied = await session.rows("applied_migrations")
            above = bool(await session.value("is_above_policies"))
            owns = bool(await session.value("owns_tables"))
        schema = max(int(str(row[0])) for row in applied)
        return StoreFacts("postgresql", version, schema, self._server.migrated, above, owns)

    async def probe(self) -> None:
        try:
            async with self._server.transaction() as session:
                check_applied([row[0] for row in await session.rows("applied_migrations")], PACKAGE)
                await session.run("probe_schedule")
                await session.run("probe_run")
                await session.run("probe_event")
                await session.make_room(await session.now())
                await session.run("put_installation", "probed_at", str(await session.now()))
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError) as fault:
            raise StoreUnavailable(f"{fault}; run `mainspring migrate` with the newest version") from fault

    async def newer_schema(self) -> str | None:
        async with self._server.statement() as session:
            return newer_than_known([row[0] for row in await session.rows("applied_migrations")], PACKAGE)
