"""An SQLite file as the source or target of a move."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import apsw

from mainspring.domain.errors import Conflict, StoreUnavailable
from mainspring.ports.outbound import Clock
from mainspring.stores.move_side import ACTS, MoveSide, quoted
from mainspring.stores.sqlite.connection import QUERIES, open_file
from mainspring.stores.sqlite.session import refusal
from mainspring.stores.tables import Key, Row, Table

LOCK_TRIES = 6  # of ten seconds each, against processes that write all the time


class SqliteMove(MoveSide):
    mark = "?"

    def __init__(self, path: str, label: str, clock: Clock) -> None:
        super().__init__(QUERIES, label)
        self._clock = clock
        self._db = open_file(path)
        self._db.pragma("foreign_keys", "off")  # `check` checks all of them at the end

    async def fetch(self, sql: str, *values: object) -> list[Row]:
        return list(self._db.execute(sql, values))

    async def execute(self, sql: str, *values: object) -> None:
        self._db.execute(sql, values)

    async def now(self) -> datetime:
        return self._clock.now()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        values = self.marks(1, len(table.columns))
        try:
            self._db.executemany(self.sql("put_row", table, values=values), rows)
        except apsw.ConstraintError as fault:
            raise refusal(fault) from fault

    async def read_keys(self, table: Table, keys: Sequence[Key]) -> list[Row]:
        sql = self.sql("read_row", table, range=self._same(table))
        return [row for key in keys for row in self._db.execute(sql, key)]

    async def remove_keys(self, table: Table, keys: Sequence[Key]) -> None:
        self._db.executemany(self.sql("remove_page", table, range=self._same(table)), keys)

    async def lock(self) -> None:
        for _ in range(LOCK_TRIES):
            try:
                self._db.execute("BEGIN IMMEDIATE")
            except apsw.BusyError:
                continue
            return
        raise StoreUnavailable(f"{self.label} is written all the time; try again when fewer runs are due")

    async def end(self, *, commit: bool) -> None:
        if self._db.in_transaction:
            self._db.execute("COMMIT" if commit else "ROLLBACK")

    async def forget_changes(self, ids: Sequence[int]) -> None:
        self._db.execute(self.sql("forget_changes"), (json.dumps(ids),))

    async def expect(self) -> None:
        self._db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)  # of this connection

    async def check(self) -> None:
        for (table,) in self._db.execute(self.sql("orphans")):
            raise Conflict(f"rows of {table} refer to rows that do not exist", kind="table", name=str(table))

    async def refuse_writes(self, table: Table) -> None:
        for act in ACTS:
            self._db.execute(self.sql("refuse_writes", table, act=act))

    def trigger(self, query: str, table: Table, act: str) -> str:
        return self.sql(query, table, act=act, key=quoted(table.key, "OLD." if act == "DELETE" else "NEW."))

    async def aclose(self) -> None:
        self._db.close()

    def _same(self, table: Table) -> str:
        return f"({quoted(table.key)}) = ({self.marks(1, len(table.key))})"
