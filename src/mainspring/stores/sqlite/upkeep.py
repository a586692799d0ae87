"""What the janitor and the watchdog need of an SQLite file alone."""

from functools import partial

import apsw

from mainspring.ports.upkeep import DeadRows, EventLag, Retention, StoreFacts, Swept
from mainspring.stores.schema import check_applied, newer_than_known
from mainspring.stores.sqlite.connection import PACKAGE, SqliteConnection
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.upkeep import SqlUpkeepStore


class SqliteUpkeep(SqlUpkeepStore):
    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self._file = database

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        return await self._file.run_long(partial(self._sweep, keep=keep, batch=batch))

    async def event_lag(self) -> EventLag:
        return EventLag(self._file.clock.now(), None)

    async def dead_rows(self) -> DeadRows:
        return DeadRows(0, 0)

    async def facts(self) -> StoreFacts:
        applied = await self._file.read(lambda db: db.rows("applied_migrations"))
        schema = max(int(str(number)) for (number,) in applied)
        return StoreFacts("sqlite", apsw.sqlite_lib_version(), schema, self._file.migrated)

    async def probe(self) -> None:
        def work(db: SqliteConnection) -> None:
            check_applied([row[0] for row in db.rows("applied_migrations")], PACKAGE)
            db.run("put_installation", "probed_at", str(self._file.clock.now()))

        await self._file.write(work)

    async def newer_schema(self) -> str | None:
        applied = await self._file.read(lambda db: db.rows("applied_migrations"))
        return newer_than_known([row[0] for row in applied], PACKAGE)

    async def check_identity(self) -> None:
        self._file.check_file()
