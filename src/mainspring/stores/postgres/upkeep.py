"""What the janitor and the watchdog need of a PostgreSQL server alone."""

import asyncpg

from mainspring.domain.errors import StoreUnavailable
from mainspring.ports.upkeep import DeadRows, EventLag, OpenTransaction, Retention, StoreFacts, Swept
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.events import horizon
from mainspring.stores.postgres.queries import PACKAGE
from mainspring.stores.schema import check_applied, newer_than_known
from mainspring.stores.upkeep import SqlUpkeepStore


class PostgresUpkeep(SqlUpkeepStore):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._server = database

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        """Each statement is a transaction of its own, so that none keeps locks while the next one looks for rows."""
        async with self._server.statement() as session:
            return await self._sweep(session, keep, batch)

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
                await session.run("put_installation", "probed_at", str(await session.now()))
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError) as fault:
            raise StoreUnavailable(f"{fault}; run `mainspring migrate` with the newest version") from fault

    async def newer_schema(self) -> str | None:
        async with self._server.statement() as session:
            return newer_than_known([row[0] for row in await session.rows("applied_migrations")], PACKAGE)

    async def check_identity(self) -> None:
        """A server's database has no file that could be replaced."""
