"""One SQLite file: its connections, its transactions, its migrations.

A single writer with BEGIN IMMEDIATE (a deferred transaction that turns into a writer fails at once, whatever the
timeout), WAL so that readers never wait for it, synchronous=FULL so that what was acknowledged survives a power cut.
Synchronous inside; `write` and `read` run it in a thread each, or inline for the simulator, which has no threads.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.domain.instant import EPOCH, from_us
from mainspring.ports import Clock
from mainspring.stores.queries import load_queries, migrations
from mainspring.stores.rows import (
    CONFIG_COLUMNS,
    ENDPOINT_COLUMNS,
    EVENT_COLUMNS,
    JOB_COLUMNS,
    RESULT_COLUMNS,
    RUN_COLUMNS,
    STATE_COLUMNS,
)

P = ParamSpec("P")
T = TypeVar("T")

BUSY_TIMEOUT_MS = 10_000
WAL_SAFE_VERSION = 3_051_003  # before it, two writers in WAL mode could corrupt the file (sqlite.org/wal.html)
PACKAGE = "mainspring.stores.sqlite"


def _assignments(columns: Iterable[str]) -> str:
    return ", ".join(f"{column} = :{column}" for column in columns)


def _parameters(columns: Iterable[str]) -> str:
    return ", ".join(f":{column}" for column in columns)


QUERIES = load_queries(
    PACKAGE,
    {
        "endpoint_columns": ", ".join(ENDPOINT_COLUMNS),
        "endpoint_parameters": _parameters(ENDPOINT_COLUMNS),
        "state_assignments": _assignments(STATE_COLUMNS),
        "config_assignments": _assignments(CONFIG_COLUMNS[1:]),
        "run_columns": ", ".join(RUN_COLUMNS),
        "run_parameters": _parameters(RUN_COLUMNS),
        "result_assignments": _assignments(RESULT_COLUMNS[2:]),
        "event_columns": ", ".join(EVENT_COLUMNS),
        "event_parameters": _parameters(EVENT_COLUMNS),
        "job_columns": ", ".join(JOB_COLUMNS),
        "job_parameters": _parameters(JOB_COLUMNS),
    },
)


def bound(values: Iterable[object]) -> tuple[object, ...]:
    """Values as SQLite takes them: instants as exact microseconds."""
    return tuple([_us(value) if type(value) is datetime else value for value in values])


def _us(instant: datetime) -> int:
    span = instant - EPOCH
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


class Connection:
    """One SQLite connection with our pragmas and our queries by name."""

    def __init__(self, path: str, *, readonly: bool = False) -> None:
        try:
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
            self._db = apsw.Connection(path, flags=flags)
        except apsw.CantOpenError as fault:
            raise Misconfigured(
                f"cannot open the database file {path}: {fault}; the folder must exist and be writable, "
                "or name another file with MAINSPRING_DATABASE_URL",
                setting="MAINSPRING_DATABASE_URL",
            ) from fault
        self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
        journal = "wal" if apsw.SQLITE_VERSION_NUMBER >= WAL_SAFE_VERSION else "delete"
        for pragma in (f"journal_mode={journal}", "synchronous=full", "foreign_keys=on", "temp_store=memory"):
            self._db.pragma(*pragma.split("="))
        if readonly:
            self._db.pragma("query_only", 1)

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
        if rows:
            self._db.executemany(QUERIES[query], [bound(row) for row in rows])

    def script(self, sql: str) -> None:
        self._db.execute(sql)

    def data_version(self) -> int:
        """Changes whenever another connection, of any process, committed."""
        return int(self._db.pragma("data_version"))

    def close(self) -> None:
        self._db.close()


class Database:
    """The file behind every SQLite port: one writing thread, one reading thread."""

    def __init__(self, path: str, clock: Clock, *, inline: bool = False) -> None:
        if path != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.clock = clock
        self._inline = inline
        self._writer = Connection(path)
        self._reader = self._writer if path == ":memory:" else Connection(path, readonly=True)
        self._writing = ThreadPoolExecutor(1, "sqlite-writer")
        self._reading = self._writing if path == ":memory:" else ThreadPoolExecutor(1, "sqlite-reader")
        self._migrate()

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in one write transaction; it commits where `work` returns and leaves nothing where it raises."""
        return await self._on(self._writing, self._transact, "BEGIN IMMEDIATE", self._writer, work, *args, **kwargs)

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` on one consistent snapshot."""
        return await self._on(self._reading, self._transact, "BEGIN", self._reader, work, *args, **kwargs)

    async def data_version(self) -> int:
        return await self._on(self._reading, self._reader.data_version)

    async def aclose(self) -> None:
        self._writing.shutdown()
        self._reading.shutdown()
        self._reader.close()
        self._writer.close()

    async def _on(self, executor: ThreadPoolExecutor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._inline:
            return work(*args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(executor, lambda: work(*args, **kwargs))

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
                connection.script("COMMIT")
            except BaseException:
                connection.script("ROLLBACK")
                raise
        except (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as fault:
            raise StoreUnavailable(
                f"the database {self.path} cannot be used now: {fault}; it is tried again"
            ) from fault
        return result

    def _migrate(self) -> None:
        """Bring the schema up to date; the write lock keeps two migrators apart."""

        def apply(connection: Connection) -> None:
            connection.script(
                "CREATE TABLE IF NOT EXISTS schema_migration "
                "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT"
            )
            applied = {row[0] for row in connection.rows("applied_migrations")}
            known = migrations(PACKAGE)
            if unknown := applied - {number for number, _, _ in known}:
                raise Misconfigured(
                    f"the database {self.path} has schema {max(map(str, unknown))}, newer than this program knows; "
                    "run the newer version, or restore a backup made with this one",
                    setting="MAINSPRING_DATABASE_URL",
                )
            for number, name, text in known:
                if number not in applied:
                    connection.script(text)
                    connection.run("add_migration", number, name, self.clock.now())

        self._transact("BEGIN IMMEDIATE", self._writer, apply)


def instant(value: object) -> datetime | None:
    return None if value is None else from_us(value)  # type: ignore[arg-type]  # INTEGER column
