"""Move an installation from one database to another while it runs. If killed at any point, it continues when run again.

    1 copy     the large tables, page by page; the target remembers how far
    2 follow   rows that changed meanwhile, which triggers of the source recorded, until few are left
    3 compare  every page of both databases by its digest
    4 drain    schedulers start no run and record what is in flight
    5 switch   the source is locked; the last changes and all other tables are copied and compared
    6 leave    one transaction of the source: from here on it refuses every write, and names the target
    7 open     the target is in service

Before step 6 only the source is in service; its lock ends with this process. After step 6 it never is again. So the
rule that no slot runs in both databases depends on one commit, and on nothing that this process does later.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.errors import Conflict, Misconfigured
from mainspring.failpoints import failpoint, is_on
from mainspring.ports.upkeep import DRAIN_UNTIL, MOVE, MOVED_TO
from mainspring.stores.move_side import MoveSide
from mainspring.stores.session import UniqueViolation
from mainspring.stores.tables import HISTORY, Key, Row, Table, Tables, differences, digest, parents_first, size_of

PAGE_MIN, PAGE_MAX = 20, 2_000  # rows
PAGE_BYTES = 8 << 20  # rows may hold bodies of megabytes
CHANGES = 2_000  # copied at once
FEW = 200  # changes that the switch-over may copy
FOLLOW_ROUNDS = 500
TRIES = 3  # of the switch-over, if a row changed without a record: a partition was dropped
SEEN_WITHIN_S = 1.5  # every process checks once a second whether to drain
POLL_S = 0.05
INSTALLATION_ID = "installation_id"
OF_THE_MOVE = (MOVE, MOVED_TO, DRAIN_UNTIL)  # values that do not belong to the installation
DONE: list[int | str] = []  # the position of a table that was copied completely


class MoveState(Struct, frozen=True):
    """The progress of a move, as stored in the target."""

    installation: str
    positions: dict[str, list[int | str]]
    is_whole: bool = False


class MoveResult(Struct, frozen=True):
    rows: int
    paused_s: float


class _Changed(Exception):
    """Rows changed without a record; compare again."""


Tell = Callable[[str], None]


class Mover:
    def __init__(self, source: MoveSide, target: MoveSide, tell: Tell) -> None:
        self._source = source
        self._target = target
        self._tell = tell
        self._tables: Tables = {}
        self._state = MoveState("", {})
        self._limits: dict[str, int] = {}
        self._suspects: list[tuple[Table, Key | None, Key | None]] = []
        self.is_left = False  # an earlier attempt left the source, and only the target has to be opened
        self.done = 0  # rows copied or compared

    async def plan(self) -> dict[str, int]:
        """Rows of every table of the source. Raises if the move cannot be made; writes nothing."""
        self._tables = await self._source.describe()
        if found := differences(self._tables, await self._target.describe()):
            raise Misconfigured(
                f"the databases have different tables: {', '.join(found)}; run `mainspring migrate` on both with this "
                "version",
                setting="MAINSPRING_DATABASE_URL",
            )
        self.is_left = bool(await self._source.value(MOVED_TO))
        if not self.is_left:
            await self._check_target()
        return {table.name: await self._source.count(table) for table in self._tables.values()}

    async def run(self, check: Callable[[], Awaitable[None]], *, drain: timedelta, pause_max: timedelta) -> MoveResult:
        """`check` checks the target before the source is left, and raises if it is not valid. Call `plan` first."""
        if self.is_left:
            return await self._open_only()
        await self._begin()
        for name in HISTORY:
            await self._copy(self._tables[name])
        for attempt in range(TRIES):
            await self._follow()
            await self._compare()
            await self._follow()
            await self._drain(drain)
            began_s = time.monotonic()
            try:
                await self._switch(check, pause_max)
            except _Changed:
                self._tell(f"rows changed during the switch-over; the source stays active, try {attempt + 2} follows")
                continue
            await self._target.open()
            return MoveResult(self.done, time.monotonic() - began_s)
        raise Conflict(
            "rows of the source changed during every switch-over; see whether another program writes to it, then try "
            "again; the source is in service",
            kind="move",
            name="",
        )

    async def abort(self) -> None:
        """Remove the traces of an unfinished move from the source."""
        if moved_to := await self._source.value(MOVED_TO):
            raise Conflict(
                f"this installation has moved to {moved_to} already; move it back from there to a new database",
                kind="move",
                name=moved_to,
            )
        async with self._source.writing():
            await self._source.stop_recording()

    async def _check_target(self) -> None:
        if text := await self._target.value(MOVE):
            self._state = msgspec.json.decode(text, type=MoveState)
            if self._state.installation == await self._source.value(INSTALLATION_ID):
                return
            raise Conflict(
                f"{self._target.label} holds an unfinished move of another installation; name an empty database",
                kind="database",
                name=self._target.label,
            )
        held = [table.name for table in self._tables.values() if table.name not in ("installation", "worker")]
        for name in held:
            if await self._target.count(self._tables[name]):
                raise Conflict(
                    f"{self._target.label} is not empty: table {name} has rows; name an empty database",
                    kind="database",
                    name=self._target.label,
                )

    async def _open_only(self) -> MoveResult:
        """The source was left, and the process was killed before it opened the target."""
        text = await self._target.value(MOVE)
        state = msgspec.json.decode(text, type=MoveState) if text else MoveState("", {})
        if not state.is_whole or state.installation != await self._source.value(INSTALLATION_ID):
            moved_to = await self._source.value(MOVED_TO)
            raise Conflict(f"this installation has moved to {moved_to} already; use it there", kind="move", name="")
        await self._target.open()
        return MoveResult(0, 0.0)

    async def _begin(self) -> None:
        if not await self._source.value(INSTALLATION_ID):
            await self._source.put_value(INSTALLATION_ID, f"inst_{uuid4().hex}")
        await self._source.record_changes()
        await self._target.expect()
        if not self._state.installation:
            await self._save(MoveState(await self._source.value(INSTALLATION_ID), {}))
        elif self._state.positions:
            self._tell("continuing the unfinished move")

    async def _save(self, state: MoveState) -> None:
        self._state = state
        await self._target.put_value(MOVE, msgspec.json.encode(state).decode())

    async def _copy(self, table: Table) -> None:
        position = self._state.positions.get(table.name)
        after: Key | None = None if position is None else tuple(position)
        while position != DONE:
            rows = await self._source.page(table, after, self._limit(table))
            upto = table.key_of(rows[-1]) if rows else None
            position = list(upto) if upto is not None else DONE
            state = replace(self._state, positions={**self._state.positions, table.name: position})
            try:
                async with self._target.writing():
                    await self._replace(table, after, upto, rows)
                    await self._save(state)
            except UniqueViolation:  # with a row that was copied before and has changed since
                await self._follow()
                async with self._target.writing():
                    await self._replace(table, after, upto, rows)
                    await self._save(state)
            failpoint("after_move_page")
            self._count(table, rows)
            after = upto

    async def _replace(self, table: Table, after: Key | None, upto: Key | None, rows: list[Row]) -> None:
        await self._target.remove_between(table, after, upto)
        if rows:
            await self._target.put(table, rows)

    async def _follow(self) -> None:
        """Copy recorded changes until few are left, or until they arrive as fast as they are copied."""
        for _ in range(FOLLOW_ROUNDS):
            if await self._copy_changes() < FEW:
                return

    async def _copy_changes(self) -> int:
        """Copy changed rows, and only then delete the records of the changes: copying a row twice is harmless."""
        changes = await self._source.changes(CHANGES)
        keys: dict[str, dict[Key, None]] = {}
        for _, name, key in changes:
            keys.setdefault(name, {})[key] = None
        for name, changed in keys.items():
            table, ordered = self._tables[name], list(changed)
            limit = self._limit(table)
            for first in range(0, len(ordered), limit):
                await self._copy_keys(table, ordered[first : first + limit])
        if changes:
            await self._source.forget_changes([number for number, _, _ in changes])
        failpoint("after_move_changes")
        return len(changes)

    async def _copy_keys(self, table: Table, keys: list[Key]) -> None:
        rows = await self._source.read_keys(table, keys)
        async with self._target.writing():
            await self._target.remove_keys(table, keys)
            if rows:
                await self._target.put(table, rows)
        if digest(rows) != digest(await self._target.read_keys(table, keys)):
            raise self._differ(table)

    async def _compare(self) -> None:
        """Read every page from both databases. A page that differs is copied again, and compared while the source is
        locked: its rows may be changing, or may have changed without a record.
        """
        self._suspects = []
        for name in HISTORY:
            table, after = self._tables[name], None
            while True:
                rows = await self._source.page(table, after, self._limit(table))
                upto = table.key_of(rows[-1]) if rows else None
                if digest(rows) != digest(await self._target.between(table, after, upto)):
                    async with self._target.writing():
                        await self._replace(table, after, upto, rows)
                    self._suspects.append((table, after, upto))
                self._count(table, rows)
                failpoint("after_move_compare")
                if upto is None:
                    break
                after = upto

    async def _drain(self, lasting: timedelta) -> None:
        await self._source.drain(lasting + timedelta(seconds=2 * SEEN_WITHIN_S))
        began_s = time.monotonic()
        until_s = began_s + lasting.total_seconds()
        while time.monotonic() < until_s:
            if time.monotonic() - began_s > SEEN_WITHIN_S and not await self._source.running():
                return
            await asyncio.sleep(POLL_S)

    async def _switch(self, check: Callable[[], Awaitable[None]], pause_max: timedelta) -> None:
        await self._source.lock()
        try:
            async with asyncio.timeout(pause_max.total_seconds()):
                await self._copy_rest()
                await self._target.check()
                await check()
                await self._save(replace(self._state, is_whole=True))
            failpoint("before_leave")
            if is_on("no_leave"):
                await self._source.end(commit=False)
            else:
                await self._source.leave(self._target.label)
        except TimeoutError as fault:
            raise Conflict(
                f"the switch-over took longer than {pause_max.total_seconds():.0f} s and was aborted; the source is in "
                "service; give more time with --pause-max, or try again when fewer runs are due",
                kind="move",
                name="",
            ) from fault
        finally:
            await self._source.end(commit=False)  # nothing is left to end after a commit
        failpoint("after_leave")

    async def _copy_rest(self) -> None:
        """Copy the rest while writes are blocked: the last changes, and every small table."""
        while await self._copy_changes():
            pass
        for table, after, upto in self._suspects:
            if digest(await self._source.between(table, after, upto)) != digest(
                await self._target.between(table, after, upto)
            ):
                raise _Changed
        rest = {name: table for name, table in self._tables.items() if name not in HISTORY}
        copied: dict[str, int] = {}
        async with self._target.writing():
            await self._target.clear(rest)
            for table in parents_first(rest):
                copied[table.name] = await self._copy_whole(table)
            await self._save(self._state)
        for table in rest.values():
            rows = await self._target.between(table, None, None)
            if digest(self._moved(table, rows)) != copied[table.name]:
                raise self._differ(table)
        for name in HISTORY:
            if await self._source.count(self._tables[name]) != await self._target.count(self._tables[name]):
                raise _Changed

    async def _copy_whole(self, table: Table) -> int:
        """Returns the digest of the table."""
        after, total = None, 0
        while rows := await self._source.page(table, after, self._limit(table)):
            after = table.key_of(rows[-1])
            moved = self._moved(table, rows)
            await self._target.put(table, moved)
            total += digest(moved)
            self._count(table, rows)
        return total & ((1 << 128) - 1)

    def _moved(self, table: Table, rows: list[Row]) -> list[Row]:
        """Without the rows in which a database records a move."""
        if table.name != "installation":
            return rows
        return [row for row in rows if table.key_of(row)[0] not in OF_THE_MOVE]

    def _limit(self, table: Table) -> int:
        return self._limits.get(table.name, PAGE_MIN)

    def _count(self, table: Table, rows: list[Row]) -> None:
        self.done += len(rows)
        if rows:
            fits = PAGE_BYTES * len(rows) // max(size_of(rows), 1)
            self._limits[table.name] = max(1, min(fits, PAGE_MAX, 4 * self._limit(table)))

    def _differ(self, table: Table) -> Conflict:
        return Conflict(
            f"table {table.name} differs between {self._source.label} and {self._target.label} after it was copied; "
            "the source is in service; see whether another program writes to the target, then start again with an "
            "empty one",
            kind="table",
            name=table.name,
        )
