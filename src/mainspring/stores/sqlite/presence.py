"""Presence on SQLite: a locked file for each process, in a folder beside the database, and a row with its heartbeat.

The kernel releases a lock when its process dies. Process ids prove nothing: they are reused, in containers immediately.
"""

import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import to_us
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.presence import ALIVE_WITHIN_MS, SILENT_MS, Freed, WorkerRow
from mainspring.stores.claim_batch import Batch, end_lost_all, give_back_all
from mainspring.stores.rows import Codec
from mainspring.stores.sqlite.connection import SqliteConnection, instant, microseconds
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.sqlite.schedule import SqliteSchedule, encoded, write_batch

SILENT_US = SILENT_MS * 1000
FOLDER = ".workers"  # appended to the name of the database's file

End = Callable[[Sequence[Endpoint], datetime, CronReader, Codec], Batch]


class SqlitePresence:
    def __init__(self, database: SqliteDatabase, schedule: SqliteSchedule, cron: CronReader) -> None:
        self._db = database
        self._schedule = schedule
        self._cron = cron
        # A database in memory belongs to one process, which sees itself as alive.
        self._folder = None if database.path == ":memory:" else Path(f"{database.path}{FOLDER}")

    async def appear(self, worker: str) -> None:
        if self._folder is not None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._db.keep_open(_lock(self._folder / worker))

    async def beat(self, worker: str, kinds: Mapping[str, int]) -> tuple[str, ...]:
        def work(db: SqliteConnection) -> tuple[str, ...]:
            now = self._db.clock.now()
            for kind, places in kinds.items():
                db.later("beat", worker, kind, places, now)
            return tuple(str(row[0]) for row in db.rows("silent_workers", worker, now, SILENT_US))

        return await self._db.write(work)

    async def free_lost(self, suspects: Sequence[str]) -> Freed:
        def work(db: SqliteConnection) -> Freed:
            rows = db.rows("lost_workers", encoded(suspects), self._db.clock.now(), SILENT_US)
            lost = tuple(worker for (worker,) in rows if not self._is_held(str(worker)))
            return self._free(db, tuple(map(str, lost)), end_lost_all) if lost else Freed()

        freed = await self._db.write(work)
        self._remove_files(freed.workers)
        if freed.workers:
            self._schedule.wake()
        return freed

    async def leave(self, worker: str) -> None:
        await self._db.write(lambda db: self._free(db, (worker,), give_back_all))
        self._remove_files((worker,))

    async def alive(self) -> list[WorkerRow]:
        since = self._db.clock.now() - timedelta(milliseconds=ALIVE_WITHIN_MS)
        rows = await self._db.read(lambda db: db.rows("alive", since))
        found = [WorkerRow(*row[:3], instant(row[3]), instant(row[4])) for row in rows]  # type: ignore[arg-type, call-arg]  # columns
        return [row for row in found if self._is_held(row.id)]

    def _free(self, db: SqliteConnection, workers: tuple[str, ...], end: End) -> Freed:
        now = self._db.clock.now()
        held = encoded(workers)
        endpoints = self._schedule.endpoints_by_id(db, [str(row[0]) for row in db.rows("leased_by", held)])
        rows = end(endpoints, now, self._cron, microseconds)
        write_batch(db, rows, now)
        freed = Freed(
            workers,
            len(rows.endpoints),
            db.run("free_partitions", held),
            db.run("free_effects", to_us(now), held),
            db.run("free_deliveries", now, held),
            db.run("free_sessions", held),
        )
        db.run("forget_lost", held)
        return freed

    def _is_held(self, worker: str) -> bool:
        return self._folder is None or _is_locked(self._folder / worker)

    def _remove_files(self, workers: Sequence[str]) -> None:
        if self._folder is not None:
            for worker in workers:
                (self._folder / worker).unlink(missing_ok=True)


def _lock(file: Path) -> int:
    """Held until the descriptor is closed, at the latest by the death of this process; no child inherits it."""
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def _is_locked(file: Path) -> bool:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two checks do not detect each other
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
