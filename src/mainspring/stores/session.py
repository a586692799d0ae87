"""One interface to both databases: what a store needs of a transaction.

A store is written once over these two protocols; `sqlite/database.py` and `postgres/database.py` implement them.
Only the stores that differ in kind (schedule, ticks, backup, presence) use a driver directly.

    async with self._db.transaction(tenant_id) as session:
        if await session.run("put_thing", ...):
            await add_events(session, [event])

In a transaction on SQLite the session never suspends: nothing else may be awaited between its statements, because the
write lock of the file is held meanwhile. The driver checks that. Work that takes long, or that reads with many
statements, is a coroutine function: SQLite runs all of it in a thread, in one hop.

    return await self._db.run_long(partial(self._sweep, batch=batch))
"""

from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol, TypeVar

from mainspring.domain.access.audit import AuditKeys

Row = Sequence[object]
T = TypeVar("T")


class UniqueViolation(Exception):
    """A row with the same unique values exists. The transaction cannot continue and must end with an exception."""


class Session(Protocol):
    """Named queries inside one transaction, or one consistent read."""

    audit_keys: AuditKeys

    async def rows(self, query: str, *values: object) -> list[Row]: ...

    async def rows_for(self, query: str, each: Sequence[Row]) -> list[Row]:
        """Read for each row of values: by one statement over arrays on PostgreSQL, one after the other on SQLite."""

    async def value(self, query: str, *values: object) -> object:
        """Return the first column of the first row, or None if there is no row."""

    async def run(self, query: str, *values: object) -> int:
        """Execute for its effect, and return how many rows changed. Raises UniqueViolation."""

    async def run_many(self, query: str, rows: Sequence[Row]) -> None:
        """Execute once for each row."""

    async def insert(self, query: str, rows: Sequence[Row]) -> None:
        """Insert all rows: by one statement over arrays on PostgreSQL, one after the other on SQLite."""

    async def update(self, query: str, rows: Sequence[Row]) -> None:
        """Update all rows: by one statement over a JSON array on PostgreSQL, one after the other on SQLite."""

    async def lock(self, query: str, *values: object) -> None:
        """Lock the rows of a query until the transaction ends. SQLite has one writer and nothing to lock."""

    async def lock_endpoints(self, ids: Sequence[str], *, skip_held: bool = False) -> tuple[Collection[str], datetime]:
        """Lock endpoints until the transaction ends; return the ids of those that exist, and the time afterwards.

        Without `skip_held` it waits for endpoints that another transaction holds. SQLite has nothing to lock and
        returns `ids` unchecked.
        """

    async def notify(self) -> None:
        """Notify at the commit that a schedule moved. On SQLite other processes notice the commit itself."""

    async def only(self, tenant_id: str) -> None:
        """Hide every other tenant's rows until the transaction ends (row-level security; SQLite has none)."""

    async def make_room(self, at: datetime) -> None:
        """Make sure that runs with ids of this time can be inserted (partitions; SQLite has none)."""

    async def now(self) -> datetime:
        """Read the clock that counts: the database's, or the injected one of a test or simulation."""

    def at(self, read: object) -> datetime:
        """Return the time that a `*_read_clock` query read, unless another clock counts."""

    def instant(self, value: object) -> datetime | None:
        """Convert a column that holds a time."""

    def instants(self, row: Row, columns: Sequence[int]) -> list[object]:
        """Copy a row with the times at these indexes converted."""


class Database(Protocol):
    """Opens sessions. Every block commits at its end and rolls back on an exception."""

    has_one_writer: bool  # SQLite: a writing transaction keeps every other writer waiting

    async def now(self) -> datetime:
        """Read the clock that counts; inside a session, ask the session."""

    def transaction(self, tenant_id: str | None = None) -> AbstractAsyncContextManager[Session]:
        """Open a short transaction that may write; with a tenant, row-level security hides every other tenant."""

    def statement(self, tenant_id: str | None = None) -> AbstractAsyncContextManager[Session]:
        """Open a session for one writing statement, without the round trips of a transaction where possible."""

    def looking(self) -> AbstractAsyncContextManager[Session]:
        """Open a session for reads of a few rows by their key, which SQLite does without a thread."""

    def reading(self, tenant_id: str | None = None) -> AbstractAsyncContextManager[Session]:
        """Open a session that only reads. On SQLite it is one snapshot, and each statement is one hop to a thread."""

    async def wait_for_commit(self, timeout_s: float) -> None:
        """Return soon after something was committed, or after `timeout_s`. It may also return for no reason."""

    async def run_read(self, work: "Work[T]", tenant_id: str | None = None) -> T:
        """Run `work`, which only reads. On SQLite it is one snapshot, and all of it is one hop to a thread."""

    async def run_long(self, work: "Work[T]", tenant_id: str | None = None) -> T:
        """Run `work` in a transaction that may take long. On SQLite all of it is one hop to the writer's thread."""


Work = Callable[[Session], Coroutine[Any, Any, T]]
"""An operation on a session; it awaits nothing else."""
