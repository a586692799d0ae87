"""Attacks by someone who knows the algorithm and not the keys: each is found, or is on the list in docs/workflows.md.

Exports are changed anywhere in their JSON; rows of a database are edited, deleted, and made anew with fitting hashes.
"""

import copy
import json
import re
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any, Protocol

import apsw
import asyncpg
import pytest
from msgspec.structs import replace
from tests.harness.postgres import as_superuser
from tests.operations.test_verification import COUNTS, WAITS, a_signing_ticker, sequences, signing
from tests.stores.databases import file_of, is_sqlite
from tests.stores.flow_world import tick
from tests.stores.world import FixedClock

from mainspring.domain.errors import MainspringError
from mainspring.operations.context import Desk
from mainspring.operations.execution_export import export_execution
from mainspring.operations.executions import erase_execution, find_execution, send_event
from mainspring.operations.partitions import export_checkpoints, repair_clock, verify_partitions
from mainspring.operations.workflows import publish_workflow, start_execution
from mainspring.outbound.checkpoints import is_signed
from mainspring.ports.workflows import Checkpoint
from mainspring.stores.workflow_rows import text_of
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.workers.ticker import Ticker
from mainspring.workflow.audit import revive, seal, seal_tick
from mainspring.workflow.bundle import check_bundle, read_bundle
from mainspring.workflow.model import EntryDraft

__all__ = ["signing"]

SHORT, LONG = 120, 600  # of each kind
# What an export says that its log does not commit to: docs/workflows.md, "What cannot be found".
UNPROVEN_IN_EXPORT = re.compile(r"/created_at|/note|/ticks/\d+/epoch")
UNPROVEN_IF_ERASED = re.compile(
    "/(status|outcome|error|correlation|actor|workflow|version|document|zero|zeros.*|resolution_ms)"
)
JUMP = timedelta(days=3)
# The same of rows. Wall time and workers stand beside the hashes.
UNPROVEN_COLUMNS = {
    "execution": {"idempotency_key", "created_us", "moved_us", "ended_us"},
    "workflow_tick": {"epoch", "wall_us", "worker"},
    "workflow_version": {"actor", "created_us"},
}
Tree = Any


async def a_world(desk: Desk, clock: FixedClock) -> list[str]:
    """Executions that ended, count and wait, in signed ticks; the clock was repaired in the middle."""
    await publish_workflow(desk, WAITS)
    await publish_workflow(desk, COUNTS.replace("600", "6"))
    ids = [(await start_execution(desk, name, {}, correlation=f"order-{name}")).id for name in ("waits", "counts")]
    ids += [(await start_execution(desk, "waits", {})).id for _ in range(2)]
    ticker = a_signing_ticker(desk)
    await tick(ticker, clock)
    for number in range(3):
        await send_event(desk, ids[0], "noise", {"n": number, "half": 0.5})
        await tick(ticker, clock, 2)
    await repair_after_a_jump(desk, clock, ticker, ids)
    for each in (ids[0], ids[2]):
        await send_event(desk, each, "go", {"by": "ann"})
    await tick(a_signing_ticker(desk), clock, 2)
    return ids


async def repair_after_a_jump(desk: Desk, clock: FixedClock, ticker: Ticker, ids: list[str]) -> None:
    clock.at += JUMP
    for each in ids:
        await send_event(desk, each, "noise", {})
    await tick(ticker, clock, 2)
    clock.at -= JUMP
    await repair_clock(desk.stores, TimeOrderedIds(), "ada")


def paths_of(tree: Tree, path: str = "") -> list[str]:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(each for key, value in pairs for each in paths_of(value, f"{path}/{key}"))]


def mutated(value: Tree, random: Random) -> Tree:
    """Another value of the same kind, or null."""
    if random.random() < 0.1 and value is not None:
        return None
    match value:
        case bool():
            return not value
        case int():
            return value + random.choice((-1, 1, 1000))
        case str() if value:
            place = random.randrange(len(value))
            return value[:place] + chr(ord("a") + (ord(value[place]) + 1) % 26) + value[place + 1 :]
        case list() if value:
            place = random.randrange(len(value))
            kind = random.choice(("drop", "double", "swap"))
            if kind == "drop":
                return value[:place] + value[place + 1 :]
            if kind == "double":
                return [*value[: place + 1], *value[place:]]
            other = random.randrange(len(value))
            swapped = list(value)
            swapped[place], swapped[other] = swapped[other], swapped[place]
            return swapped
        case dict() if value:
            return {key: value[key] for key in list(value)[1:]}
        case _:
            return "forged"


def put(tree: Tree, path: str, change: Callable[[Tree], Tree]) -> None:
    *way, last = path.split("/")[1:]
    for key in way:
        tree = tree[int(key)] if isinstance(tree, list) else tree[key]
    place = int(last) if isinstance(tree, list) else last
    tree[place] = change(tree[place])


async def test_changed_export_is_found_or_documented(signing: Desk, clock: FixedClock, long_run: bool) -> None:
    ids = await a_world(signing, clock)
    await erase_execution(signing, ids[2], "asked for")
    exports = [json.loads(json.dumps(_plain(await export_execution(signing, each, as_operator=True)))) for each in ids]
    random = Random(1)
    found, documented = 0, 0
    while found + documented < (LONG if long_run else SHORT):
        genuine = random.choice(exports)
        forged = copy.deepcopy(genuine)
        path = random.choice(paths_of(genuine)[1:])
        put(forged, path, lambda value: mutated(value, random))
        if forged == genuine:
            continue
        if is_found(forged):
            found += 1
        elif forged["ticks"] == genuine["ticks"][1:]:
            documented += 1  # what is left proves itself
        else:
            is_erased = not genuine["salt"] and UNPROVEN_IF_ERASED.fullmatch(path)
            assert UNPROVEN_IN_EXPORT.search(path) or is_erased, (path, "changed and not found")
            documented += 1

    print(f"{found} found, {documented} on the list")
    assert found > 10 * documented


def is_found(export: Tree) -> bool:
    """Whether `verify FILE` refuses it, or says that nobody has signed it."""
    try:
        checked = check_bundle(read_bundle(json.dumps(export).encode()), is_signed)
    except MainspringError:
        return True
    return not checked.valid or not checked.signed_by


class Vandal(Protocol):
    """Whoever can write every row of a database, and puts back what was there."""

    async def edit(self, table: str) -> tuple[str, str]:
        """Change one column of one row; "" for the column where the schema refuses it or nothing changed."""

    async def delete(self, table: str) -> tuple[str, str]: ...

    async def write(self, sql: str, *values: object) -> None:
        """Values take the places of `?`."""

    async def undo(self) -> None: ...

    async def close(self) -> None: ...


def changed(value: Tree, random: Random) -> Tree:
    """Another value for a column."""
    if not isinstance(value, bytes):
        return mutated(value, random)
    return (str(mutated(value.hex(), random) or "") + "00").encode()[:32]


class SqliteVandal:
    def __init__(self, url: str, random: Random) -> None:
        self._file = apsw.Connection(str(file_of(url)))
        self._file.set_busy_timeout(5_000)
        self._random = random
        self._undo: list[Callable[[], object]] = []

    async def write(self, sql: str, *values: object) -> None:
        self._rows(sql, *values)

    async def edit(self, table: str) -> tuple[str, str]:
        rowid, column, value = self._pick(table)
        try:
            self._rows(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed(value, self._random), rowid)
        except apsw.Error:
            return table, ""
        self._undo.append(lambda: self._rows(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", value, rowid))
        same = self._rows(f"SELECT 1 FROM {table} WHERE rowid = ? AND {column} IS ?", rowid, value)
        return table, "" if same else column

    async def delete(self, table: str) -> tuple[str, str]:
        rowid, _, _ = self._pick(table)
        (row,) = self._rows(f"SELECT rowid, * FROM {table} WHERE rowid = ?", rowid)
        columns = ", ".join(each[1] for each in self._rows(f"PRAGMA table_info({table})"))
        marks = ", ".join("?" * len(row))
        self._rows(f"DELETE FROM {table} WHERE rowid = ?", rowid)
        self._undo.append(
            lambda: self._rows(f"INSERT OR REPLACE INTO {table} (rowid, {columns}) VALUES ({marks})", *row)
        )
        return table, "a row"

    async def undo(self) -> None:
        while self._undo:
            self._undo.pop()()

    async def close(self) -> None:
        self._file.close()

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return list(self._file.execute(sql, values))

    def _pick(self, table: str) -> tuple[int, str, Any]:
        rowid = self._random.choice(self._rows(f"SELECT rowid FROM {table}"))[0]
        column = self._random.choice(self._rows(f"PRAGMA table_info({table})"))[1]
        return rowid, column, self._rows(f"SELECT {column} FROM {table} WHERE rowid = ?", rowid)[0][0]


class PostgresVandal:
    """As a superuser without triggers and foreign keys; copies of the tables are what `undo` puts back."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", random: Random) -> None:
        self._connection = connection
        self._random = random
        self._touched: set[str] = set()

    async def write(self, sql: str, *values: object) -> None:
        parts = sql.split("?")
        numbered = "".join(f"{part}${number}" for number, part in enumerate(parts[:-1], 1)) + parts[-1]
        await self._connection.execute(numbered, *values)

    async def edit(self, table: str) -> tuple[str, str]:
        place = await self._place(table)
        (row,) = await self._connection.fetch(f"SELECT * FROM {table} WHERE ctid = $1::text::tid", place)
        column = self._random.choice(list(row.keys()))
        new = changed(row[column], self._random)
        if new == row[column]:
            return table, ""
        try:
            await self._connection.execute(f"UPDATE {table} SET {column} = $1 WHERE ctid = $2::text::tid", new, place)
        except (asyncpg.PostgresError, asyncpg.DataError):
            return table, ""
        self._touched.add(table)
        return table, column

    async def delete(self, table: str) -> tuple[str, str]:
        place = await self._place(table)
        await self._connection.execute(f"DELETE FROM {table} WHERE ctid = $1::text::tid", place)
        self._touched.add(table)
        return table, "a row"

    async def undo(self) -> None:
        for table in self._touched:
            await self._connection.execute(f"DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept_{table}")
        self._touched.clear()

    async def close(self) -> None:
        for table in TABLES:
            await self._connection.execute(f"DROP TABLE IF EXISTS kept_{table}")
        await self._connection.close()

    async def _place(self, table: str) -> str:
        rows = await self._connection.fetch(f"SELECT ctid::text FROM {table} ORDER BY ctid")
        return str(self._random.choice(rows)[0])


async def a_vandal(url: str, random: Random) -> Vandal:
    if is_sqlite(url):
        return SqliteVandal(url, random)
    connection = await asyncpg.connect(as_superuser(url))
    await connection.execute("SET session_replication_role = replica")
    for table in TABLES:
        await connection.execute(f"CREATE TEMP TABLE kept_{table} AS SELECT * FROM {table}")
    return PostgresVandal(connection, random)


TABLES = (
    "execution", "execution_entry", "workflow_tick", "workflow_checkpoint", "workflow_version", "partition_zero",
)  # fmt: skip


async def test_changed_row_is_found_or_documented(
    signing: Desk, store_url: str, clock: FixedClock, long_run: bool
) -> None:
    await a_world(signing, clock)
    kept = (await export_checkpoints(signing)).checkpoints
    vandal = await a_vandal(store_url, Random(2))
    found, documented = 0, 0
    random = Random(3)
    while found + documented < (LONG if long_run else SHORT):
        table = random.choice(TABLES)
        attack = vandal.delete if random.random() < 0.2 else vandal.edit
        place = await attack(table)
        if not place[1]:
            await vandal.undo()
            continue
        if await is_database_found(signing, kept):
            found += 1
        else:
            is_beginning = place[0] == "workflow_tick" and (await sequences(signing))[0] == 2
            assert is_beginning or is_documented(*place), (place, "changed and not found")  # as retention removes it
            documented += 1
        await vandal.undo()
        assert not await is_database_found(signing, kept), (place, "not undone")
    await vandal.close()

    print(f"{found} found, {documented} on the list")
    assert found > documented


def is_documented(table: str, column: str) -> bool:
    if table == "workflow_checkpoint":
        return column in ("a row", "partition")  # one that was not kept may be deleted, or moved out of sight
    return column in UNPROVEN_COLUMNS.get(table, ())


async def is_database_found(desk: Desk, kept: tuple[Checkpoint, ...]) -> bool:
    try:
        return not all(each.valid for each in await verify_partitions(desk, None, kept))
    except (MainspringError, ValueError, TypeError, KeyError):
        return True  # a row that cannot be read at all


@pytest.mark.parametrize("with_checkpoints", [False, True], ids=["checkpoints stay", "checkpoints are deleted too"])
async def test_log_made_anew_with_fitting_hashes_is_found(
    signing: Desk, store_url: str, clock: FixedClock, with_checkpoints: bool
) -> None:
    """Every hash fits every other one; only the signature cannot be made."""
    ended, *_ = await a_world(signing, clock)
    kept = (await export_checkpoints(signing)).checkpoints
    vandal = await a_vandal(store_url, Random(4))
    await rewrite(signing, vandal, ended, with_checkpoints)

    assert await is_database_found(signing, kept)
    if with_checkpoints:
        assert not await is_database_found(signing, ())  # on the list: nothing outside of the database says otherwise
    await vandal.close()


async def rewrite(desk: Desk, vandal: Vandal, execution_id: str, with_checkpoints: bool) -> None:
    """Let an event say something else, and make all hashes after it anew: log, state, ticks, partition."""
    state = (await find_execution(desk, execution_id)).state
    entries = await desk.stores.flows.logs.entries(desk.tenant_id, execution_id, 0, 1_000)
    drafts = [
        EntryDraft(each.tick, each.step, each.action, revive(each.input or b"null"), revive(each.output or b"null"), "")
        for each in entries
    ]
    drafts = [replace(draft, context=each.context) for draft, each in zip(drafts, entries, strict=True)]
    place = next(index for index, each in enumerate(drafts) if each.action in ("event", "event.late"))
    given = dict(drafts[place].input)  # type: ignore[call-overload]  # a map, as written
    drafts[place] = replace(drafts[place], input=given | {"actor": "eve"})
    new = seal(execution_id, state.salt, 0, "", drafts)
    stored = bytes.fromhex  # as both databases keep hashes of entries
    for old, each in zip(entries, new, strict=True):
        await vandal.write(
            "UPDATE execution_entry SET input = ?, input_hash = ?, previous = ?, hash = ? WHERE execution_id = ? AND "
            "number = ?",
            (each.input or b"").decode(), stored(each.input_hash), stored(each.previous), stored(each.hash),
            execution_id, old.number,
        )  # fmt: skip
    after = replace(state, head=new[-1].hash)
    await vandal.write(
        "UPDATE execution SET head = ?, state = ? WHERE id = ?", after.head, text_of(after), execution_id
    )
    previous = ""
    for head in await desk.stores.flows.logs.ticks(0, 0, 1_000):
        heads = [
            (each, number, new[number - 1].hash if each == execution_id else last) for each, number, last in head.heads
        ]
        made = seal_tick(0, head.sequence, head.tick, heads, previous, head.epoch)
        await vandal.write(
            "UPDATE workflow_tick SET heads = ?, previous = ?, hash = ? WHERE sequence = ?",
            text_of(made.heads), made.previous, made.hash, head.sequence,
        )  # fmt: skip
        previous = made.hash
    await vandal.write("UPDATE workflow_partition SET head = ?", previous)
    if with_checkpoints:
        await vandal.write("DELETE FROM workflow_checkpoint")


def _plain(value: object) -> Tree:
    from mainspring.views.workflow import plain

    return plain(value)
