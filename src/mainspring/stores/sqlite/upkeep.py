"""The part of the janitor's and the watchdog's store that only SQLite has."""

from functools import partial

import apsw

from mainspring.ports.upkeep import (
    DeadRows,
    EventLag,
    HistoryPartition,
    Replication,
    Retention,
    RunRoom,
    StoreFacts,
    Swept,
)
from mainspring.stores.schema import check_applied, newer_than_known
from mainspring.stores.sqlite.connection import PACKAGE, SqliteConnection
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.upkeep import SqlUpkeepStore

FREE_SHARE = 4  # one page in four may be free: deleted rows are replaced within an hour
FREE_PAGES = 2_500  # and 10 MB in any case


class SqliteUpkeep(SqlUpkeepStore):
    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self._file = database

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        """Once nothing is left to remove, the file gives back space, in small steps too."""
        swept = await self._file.run_long(partial(self._sweep, keep=keep, batch=batch))
        if swept.done and await self._file.write_much(_give_back):
            return Swept(0, done=False)
        return swept

    async def make_room(self, keep: Retention) -> RunRoom:
        return await self.run_room()

    async def run_room(self) -> RunRoom:
        return RunRoom(self._file.clock.now(), None, is_needed=False)

    async def expired_partitions(self, keep: Retention) -> tuple[HistoryPartition, ...]:
        return ()

    async def remove_partition(self, partition: HistoryPartition) -> bool:
        return True

    async def analyze_history(self) -> None:
        """SQLite has no partitions."""

    async def event_lag(self) -> EventLag:
        return EventLag(self._file.clock.now(), None)

    async def dead_rows(self) -> DeadRows:
        return DeadRows(0, 0)

    async def replication(self) -> Replication:
        return Replication()

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

    async def check_identity(self) -> float:
        self._file.check_file()
        return await super().check_identity()


def _give_back(db: SqliteConnection) -> bool:
    """Shorten the file by one step if it has many free pages; return whether it did."""
    ((free, pages),) = db.rows("free_pages")
    if int(str(free)) <= max(FREE_PAGES, int(str(pages)) // FREE_SHARE):
        return False
    db.rows("give_back_pages")
    return True
