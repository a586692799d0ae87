"""One connection to an SQLite file, with our pragmas, our queries by name, and the conversion of values."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import apsw
import msgspec

from mainspring.domain.access.audit import AuditKeys
from mainspring.domain.errors import Misconfigured
from mainspring.domain.instant import EPOCH, from_us
from mainspring.domain.schedule.fairness import SLOW_AFTER_MS, EndpointPace
from mainspring.stores.account_rows import ACCOUNT_FRAGMENTS
from mainspring.stores.lists import look_fragments
from mainspring.stores.maintenance import MAINTENANCE_FRAGMENTS
from mainspring.stores.model_sessions import ANALYSIS_COLUMNS
from mainspring.stores.proposals import PROPOSAL_FRAGMENTS
from mainspring.stores.queries import LISTS, load_queries
from mainspring.stores.rows import (
    CONFIG_COLUMNS,
    ENDPOINT_COLUMNS,
    EVENT_COLUMNS,
    HAS_RESULT,
    JOB_COLUMNS,
    LEASE_COLUMNS,
    OUTCOME_COLUMNS,
    RESULT_COLUMNS,
    RUN_COLUMNS,
    RUN_SUMMARY_COLUMNS,
    STATE_COLUMNS,
    qualified,
)

BUSY_TIMEOUT_MS = 10_000
WAL_SAFE_VERSION = 3_051_003  # before it, two writers in WAL mode could corrupt the file (sqlite.org/wal.html)
PACKAGE = "mainspring.stores.sqlite"
UNUSABLE = (apsw.CantOpenError, apsw.NotADBError, apsw.CorruptError, apsw.ReadOnlyError, apsw.PermissionsError)
_MICROSECOND = timedelta(microseconds=1)


def _assignments(columns: Iterable[str]) -> str:
    return ", ".join(f"{column} = :{column}" for column in columns)


def _from_new(columns: Iterable[str]) -> str:
    return ", ".join(f"{column} = new.{column}" for column in columns)


def _from_json(columns: Iterable[str]) -> str:
    """The columns of a row that arrived as a JSON array."""
    return ", ".join(f"value ->> {at} AS {column}" for at, column in enumerate(columns))


def _parameters(columns: Iterable[str]) -> str:
    return ", ".join(f":{column}" for column in columns)


QUERIES = load_queries(
    PACKAGE,
    {
        **{f"in_{each}": f"IN (SELECT value FROM json_each(:{each}))" for each in LISTS},
        "endpoint_columns": ", ".join(qualified(ENDPOINT_COLUMNS)),
        "has_result": HAS_RESULT,
        "is_slow": f"((last_duration_ms < {SLOW_AFTER_MS}) IS NOT TRUE)",  # or new
        "pace": f"(CASE WHEN last_duration_ms IS NULL THEN {EndpointPace.NEW:d} WHEN "
        f"last_duration_ms < {SLOW_AFTER_MS} THEN {EndpointPace.QUICK:d} ELSE {EndpointPace.SLOW:d} END)",
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
        **PROPOSAL_FRAGMENTS,
        **MAINTENANCE_FRAGMENTS,
    },
    "?",
)


def bound(values: Iterable[object]) -> tuple[object, ...]:
    """Values as SQLite takes them: times as exact microseconds, lists as the JSON arrays that `json_each` reads."""
    return tuple([_PLAIN[type(value)](value) if type(value) in _PLAIN else value for value in values])


def microseconds(instant: datetime | None) -> int | None:
    return None if instant is None else (instant - EPOCH) // _MICROSECOND


def _json(values: object) -> str:
    return msgspec.json.encode(values).decode()


_PLAIN: dict[type, Callable[[Any], object]] = {datetime: microseconds, list: _json}


def open_file(path: str) -> apsw.Connection:
    """A connection with our pragmas."""
    try:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        file = apsw.Connection(path, flags=flags)
        file.set_busy_timeout(BUSY_TIMEOUT_MS)
        # Otherwise SQLite prepares a statement again whenever a value that its plan may depend on is bound again, such
        # as that of LIMIT: six times the time of the query `due`.
        file.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        journal = "wal" if apsw.SQLITE_VERSION_NUMBER >= WAL_SAFE_VERSION else "delete"
        settings = (f"journal_mode={journal}", "synchronous=full", "foreign_keys=on", "temp_store=memory")
        if file.pragma("page_count") == 0:  # only a new file can be set to give space back
            _set(file, "auto_vacuum", "2")
        for pragma in settings:
            _set(file, *pragma.split("="))
    except UNUSABLE as fault:
        raise Misconfigured(
            f"cannot open the database file {path}: {fault}; it must be an SQLite file, in a folder that exists "
            "and is writable: name another one with MAINSPRING_DATABASE_URL",
            setting="MAINSPRING_DATABASE_URL",
        ) from fault
    return file


def _set(file: apsw.Connection, pragma: str, value: str) -> None:
    """SQLite does not wait to change a new file's journal: a process that opens it at the same time is an error."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            file.pragma(pragma, value)
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


class SqliteConnection:
    """One SQLite connection with our pragmas and our queries by name."""

    def __init__(self, path: str, *, readonly: bool = False) -> None:
        self.audit_keys = AuditKeys()
        self._db = open_file(path)
        self._queue: list[tuple[str, Sequence[Any], bool]] = []  # with values, or with many rows of them
        if readonly:
            self._db.pragma("query_only", 1)

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        return list(self._db.execute(QUERIES[query], bound(values)))

    def value(self, query: str, *values: object) -> object:
        for row in self._db.execute(QUERIES[query], bound(values)):
            return row[0]
        return None

    def run(self, query: str, *values: object) -> int:
        """Execute a statement; return how many rows it changed."""
        self._db.execute(QUERIES[query], bound(values))
        return self._db.changes()

    def run_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute once for each row; times in them are microseconds already."""
        if rows:
            self._db.executemany(QUERIES[query], rows)

    def try_begin(self) -> bool:
        """Begin a write, unless another process is writing: then a thread must wait, not the event loop."""
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
        self._queue.append((QUERIES[query], bound(values), False))

    def later_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Queue a statement that is executed for each row; times in them are microseconds already."""
        if rows:
            self._queue.append((QUERIES[query], rows, True))

    def commit(self) -> None:
        """Execute the queued statements, then commit."""
        queue, self._queue = self._queue, []
        for sql, values, is_many in queue:
            if is_many:
                self._db.executemany(sql, values)
            else:
                self._db.execute(sql, values)
        self._db.execute("COMMIT")

    def script(self, sql: str) -> None:
        self._db.execute(sql)

    def rollback(self) -> None:
        """A connection that was closed meanwhile has nothing to undo, and must not hide the original error."""
        self._queue = []
        with suppress(apsw.ConnectionClosedError):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def data_version(self) -> int:
        """Changes whenever another connection, of any process, commits."""
        return int(self._db.pragma("data_version"))

    def close(self) -> None:
        self._db.close()


def instant(value: object) -> datetime | None:
    return None if value is None else from_us(value)  # type: ignore[arg-type]  # INTEGER column
