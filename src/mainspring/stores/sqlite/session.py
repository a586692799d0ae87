"""The session of `stores/session.py` on SQLite."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, TypeVar

import apsw

from mainspring.ports.outbound import Clock
from mainspring.stores.session import Row, UniqueViolation
from mainspring.stores.sqlite.connection import SqliteConnection, bound, instant

T = TypeVar("T")
Hop = Callable[..., Awaitable[Any]]  # runs a statement in a thread
UNIQUE = (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY)


class SqliteSession:
    """A transaction on one connection. `hop` runs a reading statement elsewhere; without it, nothing suspends."""

    def __init__(self, connection: SqliteConnection, clock: Clock, hop: Hop | None = None) -> None:
        self.connection = connection
        self.audit_keys = connection.audit_keys
        self._clock = clock
        self._hop = hop

    async def rows(self, query: str, *values: object) -> list[Row]:
        if self._hop is not None:
            return await self._hop(self._rows, query, values)  # type: ignore[no-any-return]  # what `_rows` returns
        try:
            return self.connection.rows(query, *values)  # type: ignore[return-value]  # tuples are sequences
        except apsw.ConstraintError as fault:
            raise refusal(fault) from fault

    async def rows_for(self, query: str, each: Sequence[Row]) -> list[Row]:
        return [row for values in each for row in await self.rows(query, *values)]

    async def value(self, query: str, *values: object) -> object:
        if self._hop is not None:
            return await self._hop(self.connection.value, query, *values)
        return self.connection.value(query, *values)

    async def run(self, query: str, *values: object) -> int:
        try:
            return self.connection.run(query, *values)
        except apsw.ConstraintError as fault:
            raise refusal(fault) from fault

    async def run_many(self, query: str, rows: Sequence[Row]) -> None:
        try:
            self.connection.run_many(query, [bound(row) for row in rows])
        except apsw.ConstraintError as fault:
            raise refusal(fault) from fault

    async def insert(self, query: str, rows: Sequence[Row]) -> None:
        await self.run_many(query, rows)

    async def update(self, query: str, rows: Sequence[Row]) -> None:
        await self.run_many(query, rows)

    async def lock(self, query: str, *values: object) -> None:
        """There is one writer."""

    async def lock_endpoints(self, ids: Sequence[str], *, skip_held: bool = False) -> tuple[Sequence[str], datetime]:
        """There is one writer."""
        return ids, self._clock.now()

    async def notify(self) -> None:
        """Other processes check the version of the file."""

    async def only(self, tenant_id: str) -> None:
        """SQLite has no row-level security: every query names its tenant."""

    async def make_room(self, at: datetime) -> None:
        """SQLite has no partitions."""

    async def now(self) -> datetime:
        return self._clock.now()

    def at(self, read: object) -> datetime:
        return self._clock.now()

    def instant(self, value: object) -> datetime | None:
        return instant(value)

    def instants(self, row: Row, columns: Sequence[int]) -> list[object]:
        values = list(row)
        for index in columns:
            values[index] = instant(values[index])
        return values

    def _rows(self, query: str, values: tuple[object, ...]) -> list[Row]:
        try:
            return self.connection.rows(query, *values)  # type: ignore[return-value]  # tuples are sequences
        except apsw.ConstraintError as fault:
            raise refusal(fault) from fault


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end at once; it may only await a session that never suspends."""
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]  # the coroutine's result
    work.close()
    raise AssertionError("something was awaited inside a transaction, while the database was locked")


def refusal(fault: apsw.ConstraintError) -> Exception:
    """A unique violation, or the error itself: any other constraint is our own mistake."""
    return UniqueViolation(str(fault)) if fault.extendedresult in UNIQUE else fault  # type: ignore[attr-defined]  # in apsw, not in its stubs
