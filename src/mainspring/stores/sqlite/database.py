"""One SQLite file: its connections, its transactions, its migrations.

A single writer with BEGIN IMMEDIATE (a deferred transaction that becomes a writer fails at once, regardless of the
timeout), WAL so that readers never wait for the writer, synchronous=FULL so that acknowledged writes survive a power
cut.

A transaction reads and decides on the event loop. What it writes is queued and executed in a thread together with
COMMIT, each batch as one statement over a JSON array, so that SQLite works in parallel to the interpreter: a thread
that needs the interpreter after every row waits for it every time. If another process is writing, we ask for the lock
every other millisecond from the event loop, and continue there once we have it. A thread that waited for the lock would
hold it until its loop had time for it, and keep the other process out meanwhile. The simulator, inline, has no threads.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from mainspring import __version__
from mainspring.domain.access.audit import AuditKeys
from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.ports.outbound import Clock
from mainspring.ports.upkeep import MOVED_TO
from mainspring.stores.queries import migrations
from mainspring.stores.schema import moved_text
from mainspring.stores.session import Work
from mainspring.stores.sqlite.connection import BUSY_TIMEOUT_MS, PACKAGE, SqliteConnection
from mainspring.stores.sqlite.session import SqliteSession, finish

P = ParamSpec("P")
T = TypeVar("T")

POLL_S = 0.1  # how often to check whether another process committed; a check costs some microseconds
BUSY_PAUSE_S = 0.002  # about as long as another process takes to write
AWAY = (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError, apsw.ReadOnlyError)
WAYS_OUT: dict[type[Exception], str] = {  # of errors that do not pass with time
    apsw.ReadOnlyError: "make the file and its folder writable for the user of this process",
    apsw.FullError: "free space on its disk",
}


def _file_id(path: str) -> tuple[int, int] | None:
    """Device and inode; None if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _LoopWatch:
    """Detects whether the event loop is running."""

    def __init__(self) -> None:
        self.has_turned = False
        self._handle = asyncio.get_running_loop().call_soon(self._turn)

    def end(self) -> None:
        self._handle.cancel()

    def _turn(self) -> None:
        self.has_turned = True


class SqliteDatabase:
    """The file behind every SQLite port."""

    has_one_writer = True

    def __init__(self, path: str, clock: Clock, *, inline: bool = False, audit_keys: AuditKeys | None = None) -> None:
        in_memory = path == ":memory:"
        if not in_memory:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            # Before SQLite does, which would use the umask. Its journal gets the same mode.
            with suppress(OSError):
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self.path = path
        self.clock = clock
        self._inline = inline
        self.audit_keys = audit_keys or AuditKeys()
        self._writer = SqliteConnection(path)
        self._reader = self._writer if in_memory else SqliteConnection(path, readonly=True)  # in its thread
        self._looker = self._writer if in_memory else SqliteConnection(path, readonly=True)  # on the caller's thread
        for connection in (self._writer, self._reader, self._looker):
            connection.audit_keys = self.audit_keys
        self._file = None if in_memory else _file_id(path)
        self._writing = asyncio.Lock()
        self._reading = asyncio.Lock()  # of the reader's connection, for the duration of one snapshot
        self._kept_open: list[int] = []
        self._seen_version = 0
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

    async def write(self, work: Callable[Concatenate[SqliteConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run short `work` in one write transaction: commits when it returns, rolls back on an exception."""
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
            except apsw.ConstraintError as fault:
                self._refuse_moved(fault)
                raise
            except AWAY as fault:
                raise self._unavailable(fault) from fault
        return result

    async def now(self) -> datetime:
        return self.clock.now()

    @asynccontextmanager
    async def transaction(self, tenant_id: str | None = None) -> AsyncIterator[SqliteSession]:
        """Nothing else may be awaited inside: the lock of the file is held, and other processes wait for it."""
        async with self._writing:
            self._refuse_lost_file()
            try:
                await self._begin()
                watch = _LoopWatch()
                try:
                    yield SqliteSession(self._writer, self.clock)
                    assert not watch.has_turned, (
                        "something was awaited inside a transaction, while the database was locked"
                    )
                    if self._inline:
                        self._writer.commit()
                    else:
                        await self._in_thread(0, self._writer.commit)
                except BaseException:
                    self._writer.rollback()
                    raise
                finally:
                    watch.end()
            except apsw.ConstraintError as fault:
                self._refuse_moved(fault)
                raise
            except AWAY as fault:
                raise self._unavailable(fault) from fault

    statement = transaction

    async def run_long(self, work: Work[T], tenant_id: str | None = None) -> T:
        """Run `work` in the writer's thread; other processes wait for it, but not for the event loop."""
        return await self.write_much(lambda connection: finish(work(SqliteSession(connection, self.clock))))

    async def wait_for_commit(self, timeout_s: float) -> None:
        """Every commit to the file, by any process, changes its version."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        while (left := until - loop.time()) > 0:
            version = self.look(lambda db: db.data_version())
            if version != self._seen_version:
                self._seen_version = version
                return
            await asyncio.sleep(min(left, POLL_S))

    async def run_read(self, work: Work[T], tenant_id: str | None = None) -> T:
        """Run `work` on one consistent snapshot, in the reader's thread."""
        return await self.read(lambda connection: finish(work(SqliteSession(connection, self.clock))))

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[SqliteSession]:
        """On the caller's thread."""
        try:
            yield SqliteSession(self._looker, self.clock)
        except AWAY as fault:
            raise self._unavailable(fault) from fault

    @asynccontextmanager
    async def reading(self, tenant_id: str | None = None) -> AsyncIterator[SqliteSession]:
        """One consistent snapshot; every statement runs in the reader's thread."""
        if self._inline and self._reader is self._writer:
            yield SqliteSession(self._reader, self.clock)  # in memory and without threads: nothing can write meanwhile
            return
        hop = None if self._inline else partial(self._in_thread, 1)
        async with self._reading:
            try:
                self._reader.script("BEGIN")  # reads no file yet, nor does the end
                try:
                    yield SqliteSession(self._reader, self.clock, hop)
                finally:
                    self._reader.rollback()
            except AWAY as fault:
                raise self._unavailable(fault) from fault

    async def write_much(self, work: Callable[[SqliteConnection], T]) -> T:
        """The same for work that takes long, all of it in the thread."""
        if self._inline:
            return self._transact("BEGIN IMMEDIATE", self._writer, work)
        context = copy_context()
        async with self._writing:
            self._refuse_lost_file()
            return await self._in_thread(0, lambda: context.run(self._transact, "BEGIN IMMEDIATE", self._writer, work))

    async def read(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run `work` on one consistent snapshot."""
        if self._inline and self._reader is self._writer:
            return work(self._reader)  # in memory and without threads: nothing can write meanwhile
        if self._inline:
            return self._transact("BEGIN", self._reader, work)
        async with self._reading:
            return await self._in_thread(1, lambda: self._transact("BEGIN", self._reader, work))

    @property
    def is_inline(self) -> bool:
        return self._inline

    def look(self, work: Callable[[SqliteConnection], T]) -> T:
        """Reads a few rows immediately, without waiting for a thread or a lock."""
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
        """Refuse to write into a file that no other process can see; the database watch ends this process."""
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
        """Wait for `work` even when cancelled: a connection must not be in use after this returns."""
        call = asyncio.get_running_loop().run_in_executor(self._threads[which], lambda: work(*args, **kwargs))
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            while not call.done():
                with suppress(asyncio.CancelledError):  # cancelled again; the connection is still in use
                    await asyncio.wait((call,))
            call.exception()  # retrieved, so that the loop does not report it
            raise

    def _transact(
        self,
        begin: str,
        connection: SqliteConnection,
        work: Callable[Concatenate[SqliteConnection, P], T],
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
        except apsw.ConstraintError as fault:
            self._refuse_moved(fault)
            raise
        except AWAY as fault:
            raise self._unavailable(fault) from fault
        return result

    def _refuse_moved(self, fault: apsw.ConstraintError) -> None:
        """Raises StoreUnavailable if the installation has left this file, where a trigger refuses every write."""
        if fault.extendedresult == apsw.SQLITE_CONSTRAINT_TRIGGER:  # type: ignore[attr-defined]  # in apsw, not in its stubs
            moved_to = self._writer.value("installation", MOVED_TO)
            if moved_to is not None:
                raise StoreUnavailable(moved_text(str(moved_to))) from fault

    def _unavailable(self, fault: Exception) -> StoreUnavailable:
        way_out = WAYS_OUT.get(type(fault), "try again when it can")
        return StoreUnavailable(f"the database {self.path} cannot be used now: {fault}; {way_out}")

    def _is_current(self) -> bool:
        """Whether all migrations are applied: then opening the file blocks no writer."""
        try:
            applied = {row[0] for row in self._writer.rows("applied_migrations")}
        except apsw.Error:  # the table does not exist yet; the migration reports any other error
            return False
        return applied == {number for number, _, _ in migrations(PACKAGE)}

    def _migrate(self, connection: SqliteConnection) -> tuple[str, ...]:
        """Migrate the schema, and report the duration; the write lock lets one migrator run at a time."""
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
