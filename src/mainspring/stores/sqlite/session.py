"""The session of `stores/session.py` on SQLite."""

import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, ParamSpec, TypeVar

import apsw

from mainspring.ports.outbound import Clock
from mainspring.stores.session import Row, UniqueViolation
from mainspring.stores.sqlite.connection import SqliteConnection, bound, instant

P = ParamSpec("P")
T = TypeVar("T")
Hop = Callable[..., Awaitable[Any]]  # runs a statement in a thread
UNIQUE = (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY)


class SqliteSession:
    """A transaction on one connection. `hop` runs a statement elsewhere; without it, statements never suspend."""

    def __init__(self, connection: SqliteConnection, clock: Clock, hop: Hop | None = None) -> None:
        self.connection = connection
        self.audit_keys = connection.audit_keys
        self._clock = clock
        self._hop = hop

    async def rows(self, query: str, *values: object) -> list[Row]:
        return list(await self._do(self.connection.rows, query, *_plain(values)))

    async def rows_for(self, query: str, each: Sequence[Row]) -> list[Row]:
        return [row for values in each for row in await self.rows(query, *values)]

    async def value(self, query: str, *values: object) -> object:
        return await self._do(self.connection.value, query, *_plain(values))

    async def run(self, query: str, *values: object) -> int:
        return await self._do(self.connection.run, query, *_plain(values))

    async def run_many(self, query: str, rows: Sequence[Row]) -> None:
        await self._do(self.connection.run_many, query, [bound(row) for row in rows])

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
        """Other processes look at the version of the file."""

    async def only(self, tenant_id: str) -> None:
        """SQLite has no row-level security: every query names its tenant."""

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

    async def _do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await self._hop(work, *args, **kwargs) if self._hop is not None else work(*args, **kwargs)
        except apsw.ConstraintError as fault:
            if fault.extendedresult in UNIQUE:  # type: ignore[attr-defined]  # in apsw, not in its stubs
                raise UniqueViolation(str(fault)) from fault
            raise


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end at once; it may await nothing but a session that never suspends."""
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]  # the coroutine's result
    work.close()
    raise AssertionError("something was awaited inside a transaction, while the database was locked")


def _plain(values: Iterable[object]) -> Iterator[object]:
    """Lists as the JSON arrays that `json_each` reads."""
    return (json.dumps(value) if type(value) is list else value for value in values)
