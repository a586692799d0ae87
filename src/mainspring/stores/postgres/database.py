"""A PostgreSQL database: its pool, its transactions, its notifications, its migrations.

Every wait has an end (connect, lock, statement, idle transaction), because a scheduler that hangs on its database is
a scheduler that is late. A lost connection is StoreUnavailable: the worker keeps its results and comes back.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, Self

import asyncpg
import msgspec

from mainspring.domain.access.audit import AuditKeys
from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.domain.instant import to_us
from mainspring.domain.schedule.fairness import SLOW_AFTER_MS, EndpointPace
from mainspring.ports.outbound import Clock
from mainspring.stores.account_rows import ACCOUNT_FRAGMENTS
from mainspring.stores.model_session_rows import ANALYSIS_COLUMNS
from mainspring.stores.paging import look_fragments
from mainspring.stores.postgres.hosts import Hosts, for_writing
from mainspring.stores.postgres.lasting_connection import CHANNEL, LastingConnection
from mainspring.stores.postgres.migrate import migrate
from mainspring.stores.proposals import PROPOSAL_FRAGMENTS
from mainspring.stores.queries import load_queries
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
from mainspring.stores.session import UniqueViolation

PACKAGE = "mainspring.stores.postgres"
CONNECT_TIMEOUT_S = 3
ACQUIRE_TIMEOUT_S = CONNECT_TIMEOUT_S + 2
COMMAND_TIMEOUT_S = 10  # a peer that accepts and never answers is noticed by us, not only by the kernel
# A client that is stopped between preparing a statement and executing it is not idle to the server, and neither of the
# timeouts below ends it: without this bound it would hold its locks for as long as it stands still.
TRANSACTION_TIMEOUT = "60s"  # > whatever we do in one, bulk acts over thousands of rows included
IDLE_LIMIT = "10s"  # of a transaction whose process is stopped: what it holds, events of others included, waits for it
CLOSE_TIMEOUT_S = 0.5  # a goodbye that is not answered by then is left unsaid
RECONNECT_PAUSE_S = 1.25  # with the listener, at most two attempts a second while the database is away
CLAIM_LOCK = 0x6D61696E737063  # "mainspc"
PRESENCE_CLASS = 0x6D737072  # "mspr": the first half of the locks that say which processes are alive
EVERY_TENANT = "*"  # what the policies take for all; no tenant can be named so
SERVER_SETTINGS = {
    "application_name": "mainspring",
    "statement_timeout": "5s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": IDLE_LIMIT,
    "default_transaction_isolation": "read committed",  # a row that was locked, or counted, is seen as it is by then
    "tcp_user_timeout": "10s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "jit": "off",  # our statements are short; compiling them costs more than running them
    # Rows are looked up by index, one by one: a plan made while a table was small must not read all of a large one.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "mainspring.tenant": EVERY_TENANT,  # a worker's; whoever works for one tenant narrows it for a transaction
}
AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that was lost in the middle of something
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.OperatorInterventionError,
    asyncpg.LockNotAvailableError,
    asyncpg.TransactionRollbackError,  # deadlock, serialization
    asyncpg.InsufficientResourcesError,  # disk full, out of memory
    asyncpg.ReadOnlySQLTransactionError,
)
# What no waiting mends: a URL that is none, a user or database that is not there, a right that is missing.
REFUSED = (
    ValueError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
TENANT_COLUMNS = ("id", "name", "runs_per_month", "tokens_per_month", "endpoints_max", "interval_ms_min")
_USED = "(SELECT COALESCE(SUM(runs), 0)::bigint FROM usage WHERE usage.tenant_id = tenant.id AND month = {month})"
_KEYS = (
    "ARRAY(SELECT sealed FROM signing_key WHERE tenant_id = tenant.id ORDER BY created_at DESC, signing_key.id DESC)"
)
_UPCOMING = """
    LEAST((SELECT MIN(upcoming.claimable_at) FROM tenant CROSS JOIN LATERAL (
               SELECT claimable_at FROM schedule WHERE tenant_id = tenant.id AND claimable_at > (SELECT now FROM clock)
               ORDER BY claimable_at LIMIT 1) AS upcoming),
          (SELECT MIN(hint_expires_at) FROM schedule WHERE hint_expires_at IS NOT NULL))"""
# The endpoints of the rows before it in a FROM that are still at the revisions given there and that nobody else holds.
_UNCHANGED = """CROSS JOIN LATERAL (SELECT kept.id FROM schedule AS kept
    WHERE kept.id = new.id AND kept.revision = new.revision FOR UPDATE SKIP LOCKED) AS unchanged"""
# Whether somebody holds the lock of a row's worker; see `take_presence`.
_IS_HELD = f"""EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND classid = {PRESENCE_CLASS} AND objsubid = 2
      AND objid = (hashtext(worker.id)::bigint & 4294967295)::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""
EVENT_ERA = "1000000000000000"  # `tx` of every event; older rows have the numbers of their transactions, all smaller
_encode = msgspec.json.Encoder().encode
_BOOLEANS = {"job_active", "body_truncated", "advice_may_resume"}
_INTEGERS = {
    "failure_count", "hint_interval_ms", "attempt", "claim_epoch", "lost_count", "duration_ms", "status_code",
    "missed_count", "body_seen", "revision", "last_duration_ms",
}  # fmt: skip


def _type(column: str) -> str:
    if column in _BOOLEANS:
        return "boolean"
    if column in _INTEGERS:
        return "bigint"
    if column == "body":
        return "bytea"
    return "timestamptz" if column == "at" or column.endswith(("_at", "_until", "_before")) else "text"


def _rows(parameter: str, columns: Iterable[str], *also: str) -> str:
    """The rows of a JSON parameter, and beside each what else is given, as a table `new`; see `as_json`.

    OFFSET 0 keeps the reading of JSON out of the statement's conditions: behind row-level security an index is only
    used for conditions that cannot leak a row, and PostgreSQL does not vouch for JSON.
    """
    values = [f"(value->>{place})::{_type(column)} AS {column}" for place, column in enumerate(columns)]
    arrays = [f"unnest(:{each}::{_type(each)}[])" for each in also]
    sources = ", ".join((f"jsonb_array_elements(:{parameter}::text::jsonb)", *arrays))
    given = f"ROWS FROM ({sources}) AS given ({', '.join(('value', *also))})"
    return f"(SELECT {', '.join((*values, *also))} FROM {given} OFFSET 0) AS new"


def _from_new(columns: Iterable[str]) -> str:
    return ", ".join(f"{column} = new.{column}" for column in columns)


def _parameters(columns: Iterable[str]) -> str:
    return ", ".join(f":{column}" for column in columns)


QUERIES = load_queries(
    PACKAGE,
    {
        "endpoint_columns": ", ".join(qualified(ENDPOINT_COLUMNS)),
        "config_columns": ", ".join(CONFIG_COLUMNS),
        "config_parameters": _parameters(CONFIG_COLUMNS),
        "config_assignments": ", ".join(f"{column} = :{column}" for column in CONFIG_COLUMNS[1:]),
        "lease_assignments": _from_new(LEASE_COLUMNS),
        "lease_rows": _rows("leases", (*LEASE_COLUMNS, "id", "revision")),
        "outcome_assignments": _from_new(OUTCOME_COLUMNS),
        "outcome_rows": _rows("outcomes", (*OUTCOME_COLUMNS, "id", "revision")),
        "state_columns": ", ".join(STATE_COLUMNS),
        "state_parameters": _parameters(STATE_COLUMNS),
        "state_assignments": _from_new(STATE_COLUMNS),
        "state_rows": _rows("states", (*STATE_COLUMNS, "id")),
        "run_summary": ", ".join(f"run.{column}" for column in RUN_SUMMARY_COLUMNS),
        **look_fragments("strpos", "action::json"),
        "run_columns": ", ".join(RUN_COLUMNS),
        "run_parameters": _parameters(RUN_COLUMNS),
        "run_rows": _rows("runs", RUN_COLUMNS),
        "result_assignments": _from_new(RESULT_COLUMNS[2:]),
        "result_rows": _rows("results", RESULT_COLUMNS[:-1], "body"),
        "event_columns": ", ".join(EVENT_COLUMNS),
        "event_rows": _rows("events", EVENT_COLUMNS),
        "job_columns": ", ".join(JOB_COLUMNS),
        "job_parameters": _parameters(JOB_COLUMNS),
        "analysis_columns": ", ".join(ANALYSIS_COLUMNS),
        "analysis_parameters": _parameters(ANALYSIS_COLUMNS),
        "claim_lock": str(CLAIM_LOCK),
        "presence_class": str(PRESENCE_CLASS),
        "is_held": _IS_HELD,
        "tenant_columns": ", ".join((*TENANT_COLUMNS, _USED.format(month=":month"), _KEYS)),
        "used_this_month": _USED.format(month="to_char((SELECT now FROM clock) AT TIME ZONE 'UTC', 'YYYY-MM')"),
        "sealed_keys": _KEYS,
        "is_slow": f"((last_duration_ms < {SLOW_AFTER_MS}) IS NOT TRUE)",  # or new
        "pace": f"(CASE WHEN last_duration_ms IS NULL THEN {EndpointPace.NEW:d} WHEN "
        f"last_duration_ms < {SLOW_AFTER_MS} THEN {EndpointPace.QUICK:d} ELSE {EndpointPace.SLOW:d} END)",
        "unchanged": _UNCHANGED,
        "upcoming": _UPCOMING,
        "event_era": EVENT_ERA,
        "idle_limit": IDLE_LIMIT,
        **ACCOUNT_FRAGMENTS,
        **PROPOSAL_FRAGMENTS,
    },
    "$",
)


def as_json(rows: Sequence[Sequence[object]]) -> str:
    """Rows as one parameter. Both ends together spend a third of what arrays, one for each column, cost them."""
    return _encode(rows).decode()


def columns(rows: Sequence[Sequence[object]], width: int) -> list[list[object]]:
    """Rows turned into one array per column, as unnest takes them."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


class PostgresSession:
    """A connection inside one transaction, with our queries by name; `found` is how many rows its beginning found."""

    def __init__(self, connection: Any, database: "PostgresDatabase", found: int = 0) -> None:  # asyncpg ships no types
        self._connection = connection
        self._clock = database.clock
        self.audit_keys = database.audit_keys
        self.found = found

    async def rows(self, query: str, *values: object) -> list[Sequence[object]]:
        try:
            return list(await self._connection.fetch(QUERIES[query], *values))
        except asyncpg.UniqueViolationError as fault:
            raise UniqueViolation(str(fault)) from fault

    async def value(self, query: str, *values: object, timeout_s: float | None = None) -> object:
        return await self._connection.fetchval(QUERIES[query], *values, timeout=timeout_s)

    async def run(self, query: str, *values: object) -> int:
        """Execute for its effect; how many rows it changed."""
        try:
            return _rows_of(await self._connection.execute(QUERIES[query], *values))
        except asyncpg.UniqueViolationError as fault:
            raise UniqueViolation(str(fault)) from fault

    async def run_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute once for each row, without waiting for the answers in between."""
        try:
            if rows:
                await self._connection.executemany(QUERIES[query], rows)
        except asyncpg.UniqueViolationError as fault:
            raise UniqueViolation(str(fault)) from fault

    async def insert(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            await self.run(query, *columns(rows, len(rows[0])))

    async def lock(self, query: str, *values: object) -> None:
        await self._connection.fetch(QUERIES[query], *values)

    async def now(self) -> datetime:
        return self._clock.now() if self._clock is not None else await self.value("read_clock")  # type: ignore[return-value]  # timestamptz

    def at(self, read: object) -> datetime:
        return self._clock.now() if self._clock is not None else read  # type: ignore[return-value]  # timestamptz

    def instant(self, value: object) -> datetime | None:
        return value  # type: ignore[return-value]  # timestamptz

    def instants(self, row: Sequence[object], columns: Sequence[int]) -> list[object]:
        return list(row)

    @asynccontextmanager
    async def ahead(self) -> AsyncIterator["PipelinedStatement"]:
        """Statements that are on their way while the caller makes the next one; all are done where the block ends."""
        ahead = PipelinedStatement(self)
        try:
            yield ahead
            await ahead.settle()
        finally:
            await ahead.give_up()

    async def only(self, tenant_id: str) -> None:
        """From here to the end of the transaction, no row of another tenant is seen or written."""
        await self._connection.fetchval(QUERIES["work_for"], tenant_id)

    async def script(self, sql: str, timeout_s: float | None = None) -> None:
        await self._connection.execute(sql, timeout=timeout_s)


class PipelinedStatement:
    """One statement of a session at a time, which the server works at while we do something else."""

    def __init__(self, session: PostgresSession) -> None:
        self._session = session
        self._under_way: asyncio.Task[int] | None = None

    async def run(self, query: str, *values: object) -> None:
        """Send a statement, once the one before it is done; its faults are raised by the next call."""
        await self.settle()
        self._under_way = asyncio.create_task(self._session.run(query, *values))
        await asyncio.sleep(0)  # so that it leaves now

    async def settle(self) -> int:
        """Wait for the statement that was sent last; how many rows it found or changed."""
        return await self._under_way if self._under_way is not None else 0

    async def give_up(self) -> None:
        if self._under_way is not None and not self._under_way.done():
            self._under_way.cancel()
            await asyncio.wait((self._under_way,))


class PostgresDatabase:
    has_one_writer = False

    def __init__(
        self, url: str, clock: Clock | None, *, pool_size: int, behind_bouncer: bool, audit_keys: AuditKeys
    ) -> None:
        """With a clock, that clock decides what is due; without one, as in production, the database's does."""
        self.url = for_writing(url)
        self.clock = clock
        self.audit_keys = audit_keys
        self._size = pool_size
        self.behind_bouncer = behind_bouncer
        self._pool: Any = None  # asyncpg ships no types
        self._away_until = 0.0
        self.migrated: tuple[str, ...] = ()
        self.origin = f"{id(self):x}-{time.monotonic_ns():x}"
        self.lasting = LastingConnection(self.url, self.origin, QUERIES["take_presence"], behind_bouncer=behind_bouncer)

    @classmethod
    async def open(
        cls,
        url: str,
        clock: Clock | None = None,
        *,
        pool_size: int = 8,
        behind_bouncer: bool = False,
        audit_keys: AuditKeys | None = None,
        create: bool = True,
    ) -> Self:
        keys = audit_keys or AuditKeys()
        database = cls(url, clock, pool_size=pool_size, behind_bouncer=behind_bouncer, audit_keys=keys)
        try:
            database.migrated = await migrate(database, PACKAGE, create=create)
        except REFUSED as fault:
            await database.aclose()
            # What is wrong with a URL may be a piece of its password.
            what = "the URL cannot be read" if isinstance(fault, ValueError) else f"PostgreSQL refused: {fault}"
            raise Misconfigured(
                f"{what}; MAINSPRING_DATABASE_URL is postgresql://user:password@host:port/name, special characters "
                "percent-encoded, and the user and the database must exist",
                setting="MAINSPRING_DATABASE_URL",
            ) from None
        except BaseException:
            await database.aclose()
            raise
        return database

    @asynccontextmanager
    async def transaction(self, tenant_id: str | None = None, begin: str = "begin") -> AsyncIterator[PostgresSession]:
        """One transaction: commits where the block ends, leaves nothing where it raises.

        With a tenant, row-level security hides every other tenant in it: whatever is asked for within one tenant
        names it here. Without one, as the workers are, it goes across them all, at no cost. `begin` names a query
        that begins it and does something more on the same way to the database and back.
        """
        async with self._lent() as connection:
            try:
                found = _rows_of(await connection.execute(QUERIES[begin]))
                session = PostgresSession(connection, self, found)
                if tenant_id is not None:
                    await session.only(tenant_id)
                elif self.behind_bouncer:
                    await connection.fetchval(QUERIES["work_for_all"])
                yield session
                await connection.execute("COMMIT")
            except BaseException as fault:
                if not isinstance(fault, TimeoutError) and not connection.is_closed():  # else it would not answer
                    await connection.execute("ROLLBACK")
                raise

    @asynccontextmanager
    async def statement(self, tenant_id: str | None = None) -> AsyncIterator[PostgresSession]:
        """Single statements, each a transaction of its own; for a tenant, or behind a bouncer, all in one."""
        if tenant_id is not None or self.behind_bouncer:  # what holds for a transaction only needs one
            async with self.transaction(tenant_id) as session:
                yield session
        else:
            async with self._lent() as connection:
                yield PostgresSession(connection, self)

    reading = statement  # a read needs no more than a single writing statement does
    looking = statement
    long_transaction = transaction  # the server does the work, so nothing here can block the event loop

    @asynccontextmanager
    async def unbounded(self) -> AsyncIterator[PostgresSession]:
        """Single statements that may wait and work for as long as they need, outside a transaction."""
        async with self._lent() as connection:
            if self.behind_bouncer:  # what is set there for a session is set for whoever has it next
                yield PostgresSession(connection, self)
                return
            await connection.execute("SET lock_timeout = 0; SET statement_timeout = 0")
            await connection.fetchval(QUERIES["bound_transactions"], "0", False)
            try:
                yield PostgresSession(connection, self)
            finally:
                if not connection.is_closed():
                    await connection.execute("RESET lock_timeout; RESET statement_timeout")
                    await _bound_transactions(connection)

    async def now(self) -> datetime:
        if self.clock is not None:
            return self.clock.now()
        async with self.statement() as session:
            return await self.now_in(session)

    async def now_in(self, session: PostgresSession) -> datetime:
        """The clock that counts, read in the transaction it counts for."""
        return await session.now()

    def at(self, read: object) -> datetime:
        """The instant that a statement read off the database's clock, unless another clock counts."""
        return self.clock.now() if self.clock is not None else read  # type: ignore[return-value]  # timestamptz

    async def notify(self, session: PostgresSession, moved_to: datetime | None = None) -> None:
        await session.value("notify", CHANNEL, self.word_of(moved_to))

    def word_of(self, moved_to: datetime | None) -> str:
        """What a notification says: who sends it, and when something is due now."""
        return f"{self.origin} {to_us(moved_to) if moved_to is not None else ''}"

    async def aclose(self) -> None:
        await self.lasting.aclose()
        if self._pool is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self._pool.close()
            self._pool.terminate()

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[Any]:
        """A connection of the pool. One that does not answer in time is cut: it would not answer a goodbye either."""
        try:
            pool = await self._connected()
            async with pool.acquire(timeout=ACQUIRE_TIMEOUT_S) as connection:
                self._away_until = 0.0
                try:
                    yield connection
                except TimeoutError:
                    connection.terminate()
                    raise
        except AWAY as fault:
            self._away_until = time.monotonic() + RECONNECT_PAUSE_S
            raise _unavailable(fault) from fault

    async def _connected(self) -> Any:
        if self._pool is None:
            if time.monotonic() < self._away_until:
                raise _unavailable(
                    OSError("the last attempt to connect has just failed")
                )  # said, not counted as another
            self._pool = await asyncpg.create_pool(
                self.url,
                min_size=0,
                max_size=self._size,
                timeout=CONNECT_TIMEOUT_S,
                command_timeout=COMMAND_TIMEOUT_S,
                connect=Hosts(self.url).connect,
                statement_cache_size=0 if self.behind_bouncer else 200,
                max_inactive_connection_lifetime=300,
                init=None if self.behind_bouncer else _bound_transactions,
                reset=_nothing_to_reset,
                server_settings=None if self.behind_bouncer else SERVER_SETTINGS,
            )
        elif self._away_until and self._pool.get_idle_size() == 0:
            now = time.monotonic()
            if now < self._away_until:
                raise _unavailable(OSError("the last attempt to connect has just failed"))
            self._away_until = now + ACQUIRE_TIMEOUT_S  # ours is the next attempt; whoever asks meanwhile makes none
        return self._pool


async def _bound_transactions(connection: Any) -> None:  # asyncpg ships no types
    await connection.fetchval(QUERIES["bound_transactions"], TRANSACTION_TIMEOUT, False)


async def _nothing_to_reset(connection: object) -> None:
    """All we set is set for a transaction, so a connection comes back as it went."""


def _rows_of(status: str) -> int:
    """How many rows a command's answer, like `UPDATE 3`, is about."""
    count = status.rpartition(" ")[2]
    return int(count) if count.isdigit() else 0


def _unavailable(fault: BaseException) -> StoreUnavailable:
    what = str(fault) or type(fault).__name__
    return StoreUnavailable(f"the database does not answer: {what}; try again when it is back")
