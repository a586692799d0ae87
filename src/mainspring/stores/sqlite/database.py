"""One SQLite file: its connections, its transactions, its migrations.

A single writer with BEGIN IMMEDIATE (a deferred transaction that turns into a writer fails at once, whatever the
timeout), WAL so that readers never wait for it, synchronous=FULL so that what was acknowledged survives a power cut.

A transaction reads and decides where it is called; what it writes is queued and executed in a thread together with
COMMIT, each batch as one statement over a JSON array, so that SQLite works beside the interpreter and not in turns with
it: a thread that needs the interpreter back after every row waits for it every time. Where another process writes, we
ask again every other millisecond from the event loop, and go on where we got the lock: who waited for it in a thread
held it until its loop had time for it, and kept the other process out meanwhile. The simulator, inline, has no threads.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from datetime import datetime, timedelta
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from mainspring import __version__
from mainspring.domain.audit import AuditKeys
from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.domain.fairness import SLOW_AFTER_MS, Pace
from mainspring.domain.instant import EPOCH, from_us
from mainspring.ports.outside import Clock
from mainspring.stores.lists import look_fragments
from mainspring.stores.people import ACCOUNT_FRAGMENTS
from mainspring.stores.queries import load_queries, migrations
from mainspring.stores.rows import (
    CONFIG_COLUMNS,
    ENDPOINT_COLUMNS,
    EVENT_COLUMNS,
    JOB_COLUMNS,
    LEASE_COLUMNS,
    OUTCOME_COLUMNS,
    RESULT_COLUMNS,
    RUN_COLUMNS,
    RUN_SUMMARY_COLUMNS,
    STATE_COLUMNS,
    qualified,
)
from mainspring.stores.sessions import ANALYSIS_COLUMNS

P = ParamSpec("P")
T = TypeVar("T")

BUSY_TIMEOUT_MS = 10_000
BUSY_PAUSE_S = 0.002  # about as long as another process takes to write
WAL_SAFE_VERSION = 3_051_003  # before it, two writers in WAL mode could corrupt the file (sqlite.org/wal.html)
PACKAGE = "mainspring.stores.sqlite"
UNUSABLE = (apsw.CantOpenError, apsw.NotADBError, apsw.CorruptError, apsw.ReadOnlyError, apsw.PermissionsError)
_MICROSECOND = timedelta(microseconds=1)
AWAY = (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError, apsw.ReadOnlyError)
WAYS_OUT: dict[type[Exception], str] = {  # of what does not pass by itself
    apsw.ReadOnlyError: "make the file and its folder writable for who runs this",
    apsw.FullError: "make room on its disk",
}


def _assignments(columns: Iterable[str]) -> str:
    return ", ".join(f"{column} = :{column}" for column in columns)


def _from_new(columns: Iterable[str]) -> str:
    return ", ".join(f"{column} = new.{column}" for column in columns)


def _from_json(columns: Iterable[str]) -> str:
    """The columns of a row that came as a JSON array."""
    return ", ".join(f"value ->> {at} AS {column}" for at, column in enumerate(columns))


def _parameters(columns: Iterable[str]) -> str:
    return ", ".join(f":{column}" for column in columns)


QUERIES = load_queries(
    PACKAGE,
    {
        "endpoint_columns": ", ".join(qualified(ENDPOINT_COLUMNS)),
        "is_slow": f"((last_duration_ms < {SLOW_AFTER_MS}) IS NOT TRUE)",  # or new
        "pace": f"(CASE WHEN last_duration_ms IS NULL THEN {Pace.NEW:d} WHEN last_duration_ms < {SLOW_AFTER_MS} "
        f"THEN {Pace.QUICK:d} ELSE {Pace.SLOW:d} END)",
        "config_columns": ", ".join(CONFIG_COLUMNS),
        "config_parameters": _parameters(CONFIG_COLUMNS),
        "state_columns": ", ".join(STATE_COLUMNS),
        "state_parameters": _parameters(STATE_COLUMNS),
        "state_assignments": _assignments(STATE_COLUMNS),
        "lease_assignments": _from_new(LEASE_COLUMNS),
        "lease_values": _from_json((*LEASE_COLUMNS, "id")),
        "outcome_values": _from_json((*OUTCOME_COLUMNS, "id")),
        "result_values": _from_json(RESULT_COLUMNS),
        "outcome_assignments": _from_new(OUTCOME_COLUMNS),
        "config_assignments": _assignments(CONFIG_COLUMNS[1:]),
        "run_summary": ", ".join(f"run.{column}" for column in RUN_SUMMARY_COLUMNS),
        **look_fragments("instr", "action"),
        "run_columns": ", ".join(RUN_COLUMNS),
        "run_parameters": _parameters(RUN_COLUMNS),
        "result_assignments": f"{_from_new(RESULT_COLUMNS[2:-1])}, body = unhex(new.body)",
        "event_columns": ", ".join(EVENT_COLUMNS),
        "event_parameters": _parameters(EVENT_COLUMNS),
        "job_columns": ", ".join(JOB_COLUMNS),
        "job_parameters": _parameters(JOB_COLUMNS),
        "analysis_columns": ", ".join(ANALYSIS_COLUMNS),
        "analysis_parameters": _parameters(ANALYSIS_COLUMNS),
        **ACCOUNT_FRAGMENTS,
    },
)


def _file_id(path: str) -> tuple[int, int] | None:
    """Device and inode; None if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def bound(values: Iterable[object]) -> tuple[object, ...]:
    """Values as SQLite takes them: instants as exact microseconds."""
    return tuple([microseconds(value) if type(value) is datetime else value for value in values])


def microseconds(instant: datetime | None) -> int | None:
    return None if instant is None else (instant - EPOCH) // _MICROSECOND


class Connection:
    """One SQLite connection with our pragmas and our queries by name."""

    def __init__(self, path: str, *, readonly: bool = False) -> None:
        self.audit_keys = AuditKeys()
        try:
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
            self._db = apsw.Connection(path, flags=flags)
            self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
            journal = "wal" if apsw.SQLITE_VERSION_NUMBER >= WAL_SAFE_VERSION else "delete"
            for pragma in (f"journal_mode={journal}", "synchronous=full", "foreign_keys=on", "temp_store=memory"):
                self._set(*pragma.split("="))
        except UNUSABLE as fault:
            raise Misconfigured(
                f"cannot open the database file {path}: {fault}; it must be an SQLite file, in a folder that exists "
                "and is writable: name another one with MAINSPRING_DATABASE_URL",
                setting="MAINSPRING_DATABASE_URL",
            ) from fault
        self._queue: list[tuple[str, tuple[object, ...]]] = []
        if readonly:
            self._db.pragma("query_only", 1)

    def _set(self, pragma: str, value: str) -> None:
        """SQLite does not wait to change a fresh file's journal: who opens it beside us is in the way."""
        deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
        while True:
            try:
                self._db.pragma(pragma, value)
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        return list(self._db.execute(QUERIES[query], bound(values)))

    def value(self, query: str, *values: object) -> object:
        for row in self._db.execute(QUERIES[query], bound(values)):
            return row[0]
        return None

    def run(self, query: str, *values: object) -> int:
        """Execute for its effect; how many rows it changed."""
        self._db.execute(QUERIES[query], bound(values))
        return self._db.changes()

    def run_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute once for each row; instants in them are microseconds already."""
        if rows:
            self._db.executemany(QUERIES[query], rows)

    def try_begin(self) -> bool:
        """Begin to write, unless another process does so at the moment: then somebody must wait, not the event loop."""
        self._db.set_busy_timeout(0)
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            return False
        finally:
            self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
        return True

    def later(self, query: str, *values: object) -> None:
        """Queue a statement for the end of the transaction."""
        self._queue.append((QUERIES[query], bound(values)))

    def commit(self) -> None:
        """Execute what is queued, then make it last."""
        queue, self._queue = self._queue, []
        for sql, values in queue:
            self._db.execute(sql, values)
        self._db.execute("COMMIT")

    def script(self, sql: str) -> None:
        self._db.execute(sql)

    def rollback(self) -> None:
        self._queue = []
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def data_version(self) -> int:
        """Changes whenever another connection, of any process, committed."""
        return int(self._db.pragma("data_version"))

    def close(self) -> None:
        self._db.close()


class Database:
    """The file behind every SQLite port."""

    def __init__(self, path: str, clock: Clock, *, inline: bool = False, audit_keys: AuditKeys | None = None) -> None:
        in_memory = path == ":memory:"
        if not in_memory:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            # Before SQLite does: it would ask the umask. Its journal gets the same mode.
            with suppress(OSError):
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self.path = path
        self.clock = clock
        self._inline = inline
        self.audit_keys = audit_keys or AuditKeys()
        self._writer = Connection(path)
        self._writer.audit_keys = self.audit_keys
        self._reader = self._writer if in_memory else Connection(path, readonly=True)  # in its thread
        self._looker = self._writer if in_memory else Connection(path, readonly=True)  # where it is called
        self._file = None if in_memory else _file_id(path)
        self._writing = asyncio.Lock()
        self._kept_open: list[int] = []
        self._threads = (ThreadPoolExecutor(1, "sqlite-writer"), ThreadPoolExecutor(1, "sqlite-reader"))
        self.migrated = () if self._is_current() else self._transact("BEGIN IMMEDIATE", self._writer, self._migrate)

    def check_file(self) -> None:
        """Raises Misconfigured if the path no longer leads to the file that is open."""
        if self._file is not None and (found := _file_id(self.path)) != self._file:
            what = "deleted" if found is None else "replaced by another file"
            raise Misconfigured(
                f"the database file {self.path} was {what} while this process used it, so nothing it records could be "
                "found again; put the file back, or restore a backup, then start this again",
                setting="MAINSPRING_DATABASE_URL",
            )

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run short `work` in one write transaction: commits where it returns, leaves nothing where it raises."""
        if self._inline:
            return self._transact("BEGIN IMMEDIATE", self._writer, work, *args, **kwargs)
        async with self._writing:
            self._refuse_lost_file()
            try:
                await self._begin()
                try:
                    result = work(self._writer, *args, **kwargs)
                    await self._in_thread(0, self._writer.commit)
                except BaseException:
                    self._writer.rollback()
                    raise
            except AWAY as fault:
                raise self._unavailable(fault) from fault
        return result

    async def write_much(self, work: Callable[[Connection], T]) -> T:
        """The same for work that takes long, all of it in the thread."""
        if self._inline:
            return self._transact("BEGIN IMMEDIATE", self._writer, work)
        context = copy_context()
        async with self._writing:
            self._refuse_lost_file()
            return await self._in_thread(0, lambda: context.run(self._transact, "BEGIN IMMEDIATE", self._writer, work))

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot."""
        if self._inline and self._reader is self._writer:
            return work(self._reader)  # in memory and without threads: nobody can write meanwhile
        if self._inline:
            return self._transact("BEGIN", self._reader, work)
        return await self._in_thread(1, lambda: self._transact("BEGIN", self._reader, work))

    def look(self, work: Callable[[Connection], T]) -> T:
        """Read a few rows at once, without waiting for anybody."""
        try:
            return work(self._looker)
        except AWAY as fault:
            raise self._unavailable(fault) from fault

    def keep_open(self, descriptor: int) -> None:
        """A file that stays open, with its lock, until the database is closed."""
        self._kept_open.append(descriptor)

    async def aclose(self) -> None:
        for thread in self._threads:
            thread.shutdown()
        for connection in (self._looker, self._reader, self._writer):
            connection.close()
        while self._kept_open:
            os.close(self._kept_open.pop())

    def _refuse_lost_file(self) -> None:
        """Write nothing into a file that no other process can see; the watch over the file ends this process."""
        try:
            self.check_file()
        except Misconfigured as fault:
            raise StoreUnavailable(str(fault)) from fault

    async def _begin(self) -> None:
        """Nothing may be awaited between this and the work: the lock is held from here on."""
        loop = asyncio.get_running_loop()
        until = loop.time() + BUSY_TIMEOUT_MS / 1000
        while not self._writer.try_begin():
            if loop.time() > until:
                raise apsw.BusyError("another process writes all the time")
            await asyncio.sleep(BUSY_PAUSE_S)

    async def _in_thread(self, which: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Wait for `work` also when cancelled: a connection is never left in use behind our back."""
        call = asyncio.get_running_loop().run_in_executor(self._threads[which], lambda: work(*args, **kwargs))
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            while not call.done():
                with suppress(asyncio.CancelledError):  # asked again; the connection is still in use
                    await asyncio.wait((call,))
            call.exception()  # seen, or the loop would report it as forgotten
            raise

    def _transact(
        self,
        begin: str,
        connection: Connection,
        work: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        try:
            connection.script(begin)
            try:
                result = work(connection, *args, **kwargs)
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
        except AWAY as fault:
            raise self._unavailable(fault) from fault
        return result

    def _unavailable(self, fault: Exception) -> StoreUnavailable:
        way_out = WAYS_OUT.get(type(fault), "try again when it can")
        return StoreUnavailable(f"the database {self.path} cannot be used now: {fault}; {way_out}")

    def _is_current(self) -> bool:
        """Whether nothing is left to migrate: then whoever opens the file keeps nobody from writing."""
        try:
            applied = {row[0] for row in self._writer.rows("applied_migrations")}
        except apsw.Error:  # no such table yet; whatever else it is, the migration tells it
            return False
        return applied == {number for number, _, _ in migrations(PACKAGE)}

    def _migrate(self, connection: Connection) -> tuple[str, ...]:
        """Bring the schema up to date, and say what that took; the write lock keeps two migrators apart."""
        connection.run("create_migration_table")
        applied = {row[0] for row in connection.rows("applied_migrations")}
        known = migrations(PACKAGE)
        if unknown := applied - {number for number, _, _ in known}:
            newest = max(int(str(number)) for number in unknown)
            raise Misconfigured(
                f"the database {self.path} has schema {newest}, newer than this program knows; run the newer version "
                f"(this is {__version__}, which knows schema {known[-1][0]}), or restore a backup made with this one",
                setting="MAINSPRING_DATABASE_URL",
            )
        missing = [migration for migration in known if migration[0] not in applied]
        for number, name, text in missing:
            connection.script(text)
            connection.run("add_migration", number, name, self.clock.now())
        return tuple(name for _, name, _ in missing)


def instant(value: object) -> datetime | None:
    return None if value is None else from_us(value)  # type: ignore[arg-type]  # INTEGER column
