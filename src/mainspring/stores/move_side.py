"""One of the two databases of a move, on a separate connection: what both kinds of database share.

A source is read in pages, records which rows change, is locked, and is left. A target is written and opened. Names of
tables and columns in a statement are those that the database itself returned; values are parameters.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta

import msgspec

from mainspring.domain.instant import to_us
from mainspring.ports.upkeep import DRAIN_UNTIL, MOVE, MOVED_TO
from mainspring.stores.tables import HISTORY, Key, Row, Table, Tables, parents_first, tables_from

ACTS = ("INSERT", "UPDATE", "DELETE")
FENCES = ("fence_schedules", "fence_partitions")
CHANGE_KEY = msgspec.json.Decoder(tuple[int | str, ...])


def quoted(names: Sequence[str], prefix: str = "") -> str:
    return ", ".join(f'{prefix}"{name}"' for name in names)


class MoveSide:
    """`mark` is what the database writes before the number of a parameter."""

    mark: str

    def __init__(self, queries: Mapping[str, str], label: str) -> None:
        self._queries = queries
        self.label = label
        self.tables: Tables = {}

    async def fetch(self, sql: str, *values: object) -> list[Row]:
        raise NotImplementedError

    async def execute(self, sql: str, *values: object) -> None:
        raise NotImplementedError

    async def now(self) -> datetime:
        raise NotImplementedError

    def writing(self) -> AbstractAsyncContextManager[None]:
        """One transaction."""
        raise NotImplementedError

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows whose keys do not exist."""
        raise NotImplementedError

    async def read_keys(self, table: Table, keys: Sequence[Key]) -> list[Row]:
        """The existing rows with these keys, in any order."""
        raise NotImplementedError

    async def remove_keys(self, table: Table, keys: Sequence[Key]) -> None:
        raise NotImplementedError

    async def lock(self) -> None:
        """Begins a transaction that blocks all other writers."""
        raise NotImplementedError

    async def end(self, *, commit: bool) -> None:
        """End the transaction that `lock` began."""
        raise NotImplementedError

    async def forget_changes(self, ids: Sequence[int]) -> None:
        raise NotImplementedError

    async def expect(self) -> None:
        """Prepare the target for rows of another database, which already have the results of triggers."""

    async def check(self) -> None:
        """Raises Conflict if the copied rows are inconsistent."""

    async def welcome(self) -> None:
        """Undo `expect`, inside the transaction that opens the target."""

    async def aclose(self) -> None:
        raise NotImplementedError

    async def describe(self) -> Tables:
        """Read the tables of the database."""
        columns = await self.fetch(self.sql("list_columns"))
        self.tables = tables_from(columns, await self.fetch(self.sql("list_parents")))
        return self.tables

    async def page(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        """The first rows with greater keys."""
        place, values = self._range(table, after, None, first=2)
        return await self.fetch(self.sql("read_page", table, range=place), limit, *values)

    async def between(self, table: Table, after: Key | None, upto: Key | None) -> list[Row]:
        """All rows with keys after `after` up to `upto`."""
        place, values = self._range(table, after, upto, first=2)
        return await self.fetch(self.sql("read_page", table, range=place), 1 << 62, *values)

    async def remove_between(self, table: Table, after: Key | None, upto: Key | None) -> None:
        place, values = self._range(table, after, upto, first=1)
        await self.execute(self.sql("remove_page", table, range=place), *values)

    async def count(self, table: Table) -> int:
        return int(str((await self.fetch(self.sql("count_rows", table)))[0][0]))

    async def value(self, key: str) -> str:
        """A value of the installation; "" if it does not exist."""
        rows = await self.fetch(self.sql("installation"), key)
        return str(rows[0][0]) if rows else ""

    async def put_value(self, key: str, value: str) -> None:
        await self.execute(self.sql("put_installation"), key, value)

    async def record_changes(self) -> None:
        """Record the key of every change of the large tables from now on."""
        async with self.writing():
            for name in HISTORY:
                for act in ACTS:
                    await self.execute(self.trigger("record_changes", self.tables[name], act))

    async def stop_recording(self) -> None:
        for name in HISTORY:
            for act in ACTS:
                await self.execute(self.sql("stop_recording", self.tables[name], act=act))
        await self.execute(self.sql("forget_all_changes"))

    async def changes(self, limit: int) -> list[tuple[int, str, Key]]:
        rows = await self.fetch(self.sql("list_changes"), limit)
        return [(int(str(number)), str(table), CHANGE_KEY.decode(str(key))) for number, table, key in rows]

    async def drain(self, lasting: timedelta) -> None:
        """Ask every scheduler to start no runs for a number of seconds."""
        await self.put_value(DRAIN_UNTIL, str(to_us(await self.now() + lasting)))

    async def running(self) -> int:
        return int(str((await self.fetch(self.sql("running")))[0][0]))

    async def leave(self, moved_to: str) -> None:
        """Refuse every write from now on and store where the installation is; commits what `lock` began.

        The triggers that record changes stay, without effect: PostgreSQL removes a trigger only under a lock that waits
        for readers, and a reader that is about to write waits for `lock`.
        """
        await self.put_value(MOVED_TO, moved_to)
        for table in self.tables.values():
            await self.refuse_writes(table)
        await self.end(commit=True)

    async def refuse_writes(self, table: Table) -> None:
        raise NotImplementedError

    async def open(self) -> None:
        """Put the target into service. Its higher epochs fence all other writers."""
        async with self.writing():
            await self.welcome()
            for query in FENCES:
                await self.execute(self.sql(query))
            for key in (MOVE, MOVED_TO, DRAIN_UNTIL):
                await self.execute(self.sql("forget_installation"), key)

    async def clear(self, tables: Tables) -> None:
        for table in reversed(parents_first(tables)):
            await self.remove_between(table, None, None)

    def trigger(self, query: str, table: Table, act: str) -> str:
        """A statement that creates a trigger for one kind of change."""
        raise NotImplementedError

    def sql(self, query: str, table: Table | None = None, **fills: str) -> str:
        """A query with the names of a table inserted."""
        if table is not None:
            names = {"table": quoted((table.name,)), "name": table.name}
            fills = {**names, "columns": quoted(table.columns), "key": quoted(table.key), **fills}
        text = self._queries[query]
        for name, fill in fills.items():
            text = text.replace(f"@{name}", fill)
        return text

    def _range(self, table: Table, after: Key | None, upto: Key | None, first: int) -> tuple[str, list[object]]:
        """The condition of a range of keys and its values; `first` is the number of its first parameter."""
        conditions, values = [], list[object]()
        for sign, bound in ((">", after), ("<=", upto)):
            if bound is not None:
                marks = self.marks(first + len(values), len(bound))
                conditions.append(f"({quoted(table.key)}) {sign} ({marks})")
                values += bound
        return " AND ".join(conditions) or "true", values

    def marks(self, first: int, count: int) -> str:
        return ", ".join(f"{self.mark}{number}" for number in range(first, first + count))
