"""A PostgreSQL database: its pool, its transactions, its notifications, its migrations.

Every wait has a limit (connect, lock, statement, idle transaction), because a scheduler that hangs on its database is
late. A lost connection is StoreUnavailable: the worker keeps its results and retries.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar

import asyncpg

from mainspring.domain.access.audit import AuditKeys
from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.domain.history import span_width
from mainspring.domain.instant import to_us
from mainspring.ports.outbound import Clock
from mainspring.stores.postgres.hosts import Hosts, roles_of
from mainspring.stores.postgres.lasting_connection import LastingConnection
from mainspring.stores.postgres.migrate import migrate
from mainspring.stores.postgres.queries import IDLE_LIMIT, PACKAGE, QUERIES
from mainspring.stores.postgres.run_partitions import RunPartitions
from mainspring.stores.postgres.session import PostgresSession, affected_rows
from mainspring.stores.postgres.url import ConnectionUrl
from mainspring.stores.schema import moved_text
from mainspring.stores.session import Work

T = TypeVar("T")

CONNECT_TIMEOUT_S = 3
ACQUIRE_TIMEOUT_S = CONNECT_TIMEOUT_S + 2
COMMAND_TIMEOUT_S = 10  # a peer that accepts and never responds is detected by us, not only by the kernel
# A client that is stopped between preparing a statement and executing it is not idle to the server, and neither of the
# timeouts below ends it: without this limit it would hold its locks for as long as it is stopped.
TRANSACTION_TIMEOUT = "60s"  # > the longest of our transactions, including bulk operations over thousands of rows
CLOSE_TIMEOUT_S = 0.5  # a close that is not confirmed by then is abandoned
POLL_S = 0.25  # a notification for every finished run would cost each of them a lock at commit
RECONNECT_PAUSE_S = 1.25  # with the listener, at most two attempts a second while the database is unavailable
EVERY_TENANT = "*"  # means all tenants in the policies; no tenant can have this name
SERVER_SETTINGS = {
    "application_name": "mainspring",
    "statement_timeout": "5s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": IDLE_LIMIT,
    "default_transaction_isolation": "read committed",  # a statement sees the newest row after a lock
    "tcp_user_timeout": "10s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "jit": "off",  # our statements are short; JIT compilation costs more than it saves
    # Rows are looked up by index, one by one: a plan made while a table was small must not scan a large one.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "mainspring.tenant": EVERY_TENANT,  # a worker's; a caller that works for one tenant narrows it for a transaction
}
AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection lost during an operation
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.OperatorInterventionError,
    asyncpg.LockNotAvailableError,
    asyncpg.TransactionRollbackError,  # deadlock, serialization
    asyncpg.InsufficientResourcesError,  # disk full, out of memory
    asyncpg.ReadOnlySQLTransactionError,
)
CUT = (TimeoutError, asyncio.CancelledError, asyncpg.ReadOnlySQLTransactionError)  # end a connection at once
MOVED_STATE = "MS001"  # the code of the error in a database that an installation has left
# Errors that do not pass with time: an invalid URL, an unknown user or database, a missing privilege.
REFUSED = (
    ValueError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)


class PostgresDatabase:
    has_one_writer = False

    def __init__(
        self,
        url: str,
        clock: Clock | None,
        *,
        pool_size: int,
        behind_bouncer: bool,
        audit_keys: AuditKeys,
        keep_runs: timedelta = timedelta(days=30),
    ) -> None:
        """With a clock, that clock decides what is due; without one, as in production, the database's clock does."""
        self.url = ConnectionUrl.parse(url)
        self._hosts = Hosts(self.url)
        self.clock = clock
        self.audit_keys = audit_keys
        self._size = pool_size
        self.behind_bouncer = behind_bouncer
        self._pool: Any = None  # asyncpg ships no types
        self._away_until = 0.0
        self._away_fault: BaseException = OSError("the last attempt to connect has just failed")
        self._server: object = None  # the start time of the server that we use, which identifies it
        self.breaks = 0
        self.migrated: tuple[str, ...] = ()
        self.run_partitions = RunPartitions(span_width(keep_runs))
        self.origin = f"{id(self):x}-{time.monotonic_ns():x}"
        self.lasting = LastingConnection(
            self._hosts, self.origin, QUERIES["take_presence"], behind_bouncer=behind_bouncer
        )

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
        keep_runs: timedelta = timedelta(days=30),
    ) -> Self:
        keys = audit_keys or AuditKeys()
        database = cls(
            url, clock, pool_size=pool_size, behind_bouncer=behind_bouncer, audit_keys=keys, keep_runs=keep_runs
        )
        try:
            database.migrated = await migrate(database, PACKAGE, create=create)
        except REFUSED as fault:
            await database.aclose()
            # The invalid part of a URL may be a part of its password.
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
        """One transaction: commits at the end of the block, rolls back on an exception.

        With a tenant, row-level security hides every other tenant in it; every read or write within one tenant passes
        it. Without one, as in the workers, it spans all tenants at no cost. `begin` names a query that begins the
        transaction and does something more in the same round trip.
        that begins it and does something more on the same way to the database and back.
        """
        async with self._lent() as connection:
            try:
                found = affected_rows(await connection.execute(QUERIES[begin]))
                session = PostgresSession(connection, self, found)
                if tenant_id is not None:
                    await session.only(tenant_id)
                elif self.behind_bouncer:
                    await connection.fetchval(QUERIES["work_for_all"])
                yield session
                await connection.execute("COMMIT")
            except BaseException as fault:
                if not isinstance(fault, CUT) and not connection.is_closed():
                    await connection.execute("ROLLBACK")
                raise

    @asynccontextmanager
    async def statement(self, tenant_id: str | None = None) -> AsyncIterator[PostgresSession]:
        """Single statements, each in a separate transaction; for a tenant, or behind a bouncer, all in one."""
        if tenant_id is not None or self.behind_bouncer:  # a setting for a transaction needs one
            async with self.transaction(tenant_id) as session:
                yield session
        else:
            async with self._lent() as connection:
                yield PostgresSession(connection, self)

    reading = statement  # a read needs no more than a single writing statement does
    looking = statement

    async def wait_for_commit(self, timeout_s: float) -> None:
        await asyncio.sleep(min(timeout_s, POLL_S))

    async def run_read(self, work: Work[T], tenant_id: str | None = None) -> T:
        async with self.statement(tenant_id) as session:
            return await work(session)

    async def run_long(self, work: Work[T], tenant_id: str | None = None) -> T:
        """Run `work` in one transaction; the server does it, so nothing here can block the event loop."""
        async with self.transaction(tenant_id) as session:
            return await work(session)

    @asynccontextmanager
    async def unbounded(self) -> AsyncIterator[PostgresSession]:
        """Single statements that may wait and run for as long as they need, outside a transaction."""
        async with self._lent() as connection:
            if self.behind_bouncer:  # a session setting would remain for the next user of the connection
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

    async def roles(self) -> tuple[tuple[str, str], ...]:
        """Each host of the URL, and whether it is the primary, a standby or unreachable."""
        return await roles_of(self.url, CONNECT_TIMEOUT_S)

    async def now(self) -> datetime:
        if self.clock is not None:
            return self.clock.now()
        async with self.statement() as session:
            return await session.now()

    @property
    def clock_override(self) -> datetime | None:
        """The time of an injected clock; None if the database's own clock decides."""
        return None if self.clock is None else self.clock.now()

    def at(self, read: object) -> datetime:
        """The time that a statement read from the database's clock, unless another clock is injected."""
        return self.clock.now() if self.clock is not None else read  # type: ignore[return-value]  # timestamptz

    def notify_payload(self, moved_to: datetime | None) -> str:
        """The text of a notification: which process sends it, and when something becomes due."""
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
        """A connection of the pool.

        One that does not respond in time is cut, because it would not confirm a close either. So is one whose user is
        cancelled: asyncpg waits for the server to confirm that, which can take as long as a statement. So is one whose
        server was made read-only: another server may have taken over.
        """
        try:
            pool = await self._connected()
            async with pool.acquire(timeout=ACQUIRE_TIMEOUT_S) as connection:
                self._away_until = 0.0
                try:
                    yield connection
                except CUT:
                    connection.terminate()
                    raise
        except asyncpg.CheckViolationError:  # also raised where a partition is missing
            self.run_partitions.forget()
            raise
        except AWAY as fault:
            self.breaks += 1
            self._away_until = time.monotonic() + RECONNECT_PAUSE_S
            self._away_fault = fault
            raise _unavailable(fault) from fault
        except asyncpg.UnknownPostgresError as fault:
            if fault.sqlstate == MOVED_STATE:
                raise StoreUnavailable(moved_text(str(fault))) from fault
            raise

    async def _greet(self, connection: Any) -> None:  # asyncpg ships no types
        try:
            await _bound_transactions(connection)
            self.note_server(await connection.fetchval(QUERIES["server_start"]))
        except BaseException:
            connection.terminate()  # the pool would wait for its confirmation
            raise

    def note_server(self, started_at: object) -> None:
        """Another server took over, or the same one was restarted: counts as a break."""
        if self._server is not None and started_at != self._server:
            self.breaks += 1
        self._server = started_at

    async def _connected(self) -> Any:
        if self._pool is None:
            if time.monotonic() < self._away_until:
                raise _unavailable(self._away_fault)  # logged, not counted as another break
            self._pool = await asyncpg.create_pool(
                min_size=0,
                max_size=self._size,
                timeout=CONNECT_TIMEOUT_S,
                command_timeout=COMMAND_TIMEOUT_S,
                connect=self._hosts.connect,
                statement_cache_size=0 if self.behind_bouncer else 200,
                max_inactive_connection_lifetime=300,
                init=None if self.behind_bouncer else self._greet,
                reset=_nothing_to_reset,
                server_settings=None if self.behind_bouncer else SERVER_SETTINGS,
            )
        elif self._away_until and self._pool.get_idle_size() == 0:
            now = time.monotonic()
            if now < self._away_until:
                raise _unavailable(self._away_fault)
            self._away_until = now + ACQUIRE_TIMEOUT_S  # ours is the next attempt; callers in the meantime make none
        return self._pool


async def _bound_transactions(connection: Any) -> None:  # asyncpg ships no types
    await connection.fetchval(QUERIES["bound_transactions"], TRANSACTION_TIMEOUT, False)


async def _nothing_to_reset(connection: object) -> None:
    """All settings are per transaction, so a connection returns unchanged."""


def _unavailable(fault: BaseException) -> StoreUnavailable:
    if isinstance(fault, asyncpg.TargetServerAttributeNotMatched):
        return StoreUnavailable(
            "the database is read-only: no host of the URL accepts writes; promote a standby, or name the primary"
        )
    what = str(fault) or type(fault).__name__
    return StoreUnavailable(f"the database does not answer: {what}; try again when it is back")
