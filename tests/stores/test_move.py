"""Moving an installation to another database: every table and column, and what source and target are afterwards."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from tests.stores.databases import is_sqlite, query

from mainspring.domain.errors import Conflict, Misconfigured, StoreUnavailable
from mainspring.stores.move import Mover, MoveResult
from mainspring.stores.move_side import MoveSide
from mainspring.stores.tables import HISTORY, NOT_MOVED, Row, Table, Tables, differences, digest, parents_first
from mainspring.wiring.move import open_side
from mainspring.wiring.stores import open_stores

NO_DRAIN = timedelta(0)
LONG = timedelta(minutes=5)
AT_US = 1_760_000_000_000_000
# What checks of the schema ask of a row; every other column gets a value that names it.
FITTING: dict[str, object] = {
    "installation.key": "installation_id",
    "job.status": "active",
    "endpoint.cron": None,
    "endpoint.once_at": None,
    "endpoint.interval_ms": 60_000,
    "endpoint.min_interval_ms": 2_000,
    "endpoint.max_interval_ms": 3_000,
    "endpoint.backoff": "monitor",
    "endpoint.misfire": "skip",
    "endpoint.catch_up_max": 7,
    "endpoint.on_lost_worker": "skip",
    "schedule.id": "endpoint.id",
    "schedule.hint_interval_ms": 5_000,
    "run.trigger": "retry",
    "run.status": "timeout",
    "clock_report.kind": "skew",
    "member.role": "viewer",
    "invitation.role": "viewer",
    "subscription.kind": "alert",
    "maintenance_window.cron": "",
    "maintenance_window.duration_ms": None,
    "maintenance_window.runs": "continue",
    "maintenance_window.starts_at": 1,
    "maintenance_revision.id": 1,
    "delivery.status": "held",
    "outbox_position.id": 1,
    "trigger_position.id": 1,
    "execution.status": "waiting",
    "execution_arrival.kind": "event",
    "execution_effect.idempotency": "at_most_once",
    "execution_effect.status": "sending",
    "rule.job_id": None,
    "rule.endpoint_id": "endpoint.id",
    "planner_mode.mode": "shadow",
    "planner_session.status": "done",
    "planner_session.mode": "live",
    "proposal.state": "rejected",
}
PARENTS = ("tenant", "job", "endpoint", "account", "rule", "subscription", "connection")


@pytest.fixture(params=["sqlite to postgres", "postgres to sqlite"])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    found = f"sqlite://{tmp_path}/one.db", str(request.getfixturevalue("postgres_url"))
    return found if request.param == "sqlite to postgres" else found[::-1]


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[MoveSide]:
    async with open_stores(url):
        pass
    side = await open_side(url, timedelta(days=30))
    try:
        yield side
    finally:
        await side.aclose()


@asynccontextmanager
async def a_move(source_url: str, target_url: str) -> AsyncIterator[tuple[Mover, MoveSide, MoveSide]]:
    async with opened(source_url) as source, opened(target_url) as target:
        mover = Mover(source, target, lambda told: None)
        await mover.plan()
        yield mover, source, target


async def move(source_url: str, target_url: str) -> MoveResult:
    async with a_move(source_url, target_url) as (mover, _, _):
        return await mover.run(nothing_to_check, drain=NO_DRAIN, pause_max=LONG)


async def nothing_to_check() -> None:
    pass


async def fill_every_table(url: str, copies: int = 1) -> None:
    """A row in each table, with a value of its own in every column; more in the large ones."""
    async with opened(url) as side:
        tables = await side.describe()
        await side.expect()
        async with side.writing():
            for table in parents_first(tables):
                count = copies if table.name in HISTORY else 1
                await side.put(table, [a_row(table, number) for number in range(count)])
            await side.welcome()


def a_row(table: Table, number: int) -> Row:
    return tuple(a_value(table, column, kind, number) for column, kind in zip(table.columns, table.kinds, strict=True))


def a_value(table: Table, column: str, kind: str, number: int) -> int | str | bytes | None:
    name = f"{table.name}.{column}"
    if name in FITTING:
        return FITTING[name]  # type: ignore[return-value]  # values of rows
    if name == "run.id":
        return run_id(number)
    if kind == "BLOB":
        return bytes(range(256)) + name.encode()
    if kind == "TEXT":
        parent = column.removesuffix("_id")
        is_named = column.endswith("_id") and parent in PARENTS and table.name not in HISTORY
        return f"{parent}.id" if is_named else name + (f".{number}" if number else "")
    if column.startswith(("is_", "has_")) or column in BOOLEANS:
        return 1
    return AT_US + table.columns.index(column) + (1_000 * number if column in table.key else 0)


def run_id(number: int) -> str:
    """An id of another day for each run."""
    return f"run_{AT_US // 1_000 + number * 86_400_000:012x}7000800000000000000"


BOOLEANS = ("spread", "job_active", "advice_may_resume", "body_truncated", "enabled", "reads_others")


async def everything(side: MoveSide, tables: Tables) -> dict[str, list[Row]]:
    """All rows but what each database knows of the move."""
    found = {table.name: await side.between(table, None, None) for table in tables.values()}
    found["installation"] = [row for row in found["installation"] if row[0] not in ("move", "moved_to", "drain_until")]
    return found


def fenced(rows: dict[str, list[Row]], tables: Tables) -> dict[str, list[Row]]:
    """As `open` leaves them."""
    steps = {"schedule": {"claim_epoch": 1_000_000, "revision": 1}, "workflow_partition": {"epoch": 1_000_000}}
    return rows | {name: [ahead(tables[name], row, steps[name]) for row in rows[name]] for name in steps}


def ahead(table: Table, row: Row, steps: dict[str, int]) -> Row:
    named = dict(zip(table.columns, row, strict=True))
    return tuple((named | {name: int(str(named[name])) + step for name, step in steps.items()}).values())


async def test_every_column_of_every_table_arrives(urls: tuple[str, str]) -> None:
    await fill_every_table(urls[0], copies=3)

    async with a_move(*urls) as (mover, source, target):
        before = await everything(source, source.tables)
        done = await mover.run(nothing_to_check, drain=NO_DRAIN, pause_max=LONG)
        after = await everything(target, target.tables)

    assert [name for name, rows in before.items() if not rows] == []
    assert after == fenced(before, source.tables)
    assert done.rows >= sum(len(rows) * (2 if name in HISTORY else 1) for name, rows in before.items())


async def test_both_databases_describe_the_same_tables_and_all_are_moved(urls: tuple[str, str]) -> None:
    async with opened(urls[0]) as one, opened(urls[1]) as other:
        here, there = await one.describe(), await other.describe()

    in_file = await query(next(filter(is_sqlite, urls)), "SELECT name FROM sqlite_schema WHERE type = 'table'")
    assert differences(here, there) == []
    assert {*here, *NOT_MOVED, "sqlite_sequence"} == {str(name) for (name,) in in_file} | {"sqlite_sequence"}
    assert [name for name in HISTORY if here[name].parents] == []


async def test_column_that_one_database_lacks_stops_the_move(urls: tuple[str, str]) -> None:
    await fill_every_table(urls[0])
    await query(urls[0], "ALTER TABLE job ADD COLUMN colour text")

    with pytest.raises(Misconfigured, match=r"different tables: column job\.colour"):
        await move(*urls)


async def test_source_refuses_every_write_and_names_the_target(urls: tuple[str, str]) -> None:
    await fill_every_table(urls[0])
    async with open_stores(urls[0]) as stores:
        await move(*urls)
        with pytest.raises(StoreUnavailable, match=r"this installation has moved to .*set MAINSPRING_DATABASE_URL"):
            await stores.presence.beat("worker-1", {"scheduler": 1})
        with pytest.raises(StoreUnavailable, match="this installation has moved to"):
            await stores.upkeep.probe()
        with pytest.raises(Misconfigured, match="this installation has moved to"):
            await stores.upkeep.check_identity()

    async with opened(urls[0]) as source:
        tables = await source.describe()
        for name in tables.keys() - {"audit_entry"}:  # which never lets a row go
            with pytest.raises(Exception, match=r"moved|postgresql:|sqlite:"):
                await source.remove_between(tables[name], None, None)


async def test_target_that_is_not_empty_is_refused(urls: tuple[str, str]) -> None:
    await fill_every_table(urls[0])
    await fill_every_table(urls[1])

    with pytest.raises(Conflict, match=r"is not empty: table .* has rows; name an empty database"):
        await move(*urls)
    async with open_stores(urls[0]) as stores:
        assert await stores.upkeep.check_identity() == 0


async def test_unfinished_target_is_refused_to_others_and_to_other_installations(
    urls: tuple[str, str], tmp_path: Path
) -> None:
    await fill_every_table(urls[0])
    async with a_move(*urls) as (mover, _, _):
        await mover._begin()

    async with open_stores(urls[1]) as stores:
        with pytest.raises(Misconfigured, match="a move of an installation to this database has not finished"):
            await stores.upkeep.check_identity()
    other = f"sqlite://{tmp_path}/other.db"
    await fill_every_table(other)
    await query(other, "UPDATE installation SET value = 'another'")
    with pytest.raises(Conflict, match="holds an unfinished move of another installation"):
        await move(other, urls[1])


async def test_changes_while_rows_are_copied_arrive(urls: tuple[str, str]) -> None:
    await fill_every_table(urls[0], copies=50)
    async with a_move(*urls) as (mover, source, target):
        await mover._begin()
        for name in HISTORY:
            await mover._copy(source.tables[name])
        await query(urls[0], f"DELETE FROM run WHERE id = '{run_id(7)}'")
        await query(urls[0], f"UPDATE run SET error = 'late' WHERE id = '{run_id(8)}'")
        await query(urls[0], f"UPDATE event SET events = 'new' WHERE seq = {AT_US + 2 + 3_000}")
        async with source.writing():
            await source.put(source.tables["workflow_tick"], [a_row(source.tables["workflow_tick"], 99)])
        await mover.run(nothing_to_check, drain=NO_DRAIN, pause_max=LONG)

        after = await everything(target, target.tables)
        assert after == fenced(await everything(source, source.tables), source.tables)
        assert len(after["run"]) == 49


async def test_rows_that_changed_without_a_record_are_found_and_copied_again(urls: tuple[str, str]) -> None:
    """As when a partition is dropped."""
    await fill_every_table(urls[0], copies=50)
    async with a_move(*urls) as (mover, source, target):
        await mover._begin()
        for name in HISTORY:
            await mover._copy(source.tables[name])
        async with source.writing():
            await source.stop_recording()
        await query(urls[0], f"DELETE FROM run WHERE id = '{run_id(7)}'")
        await mover.run(nothing_to_check, drain=NO_DRAIN, pause_max=LONG)

        after = await everything(target, target.tables)
        assert after == fenced(await everything(source, source.tables), source.tables)


async def test_move_that_fails_its_check_leaves_the_source_in_service(urls: tuple[str, str]) -> None:
    await fill_every_table(urls[0])

    async def refuse() -> None:
        raise Conflict("a secret cannot be decrypted", kind="move", name="")

    async with a_move(*urls) as (mover, _, _):
        with pytest.raises(Conflict, match="a secret cannot be decrypted"):
            await mover.run(refuse, drain=NO_DRAIN, pause_max=LONG)
    async with open_stores(urls[0]) as stores:
        await stores.upkeep.probe()
    await move(*urls)


async def test_switch_over_that_takes_too_long_is_aborted(urls: tuple[str, str]) -> None:
    await fill_every_table(urls[0])
    async with a_move(*urls) as (mover, _, _):
        with pytest.raises(Conflict, match="took longer than 0 s and was aborted; the source is in service"):
            await mover.run(nothing_to_check, drain=NO_DRAIN, pause_max=timedelta(0))
    async with open_stores(urls[0]) as stores:
        await stores.upkeep.probe()


async def test_aborted_move_records_no_more_changes(urls: tuple[str, str]) -> None:
    await fill_every_table(urls[0])
    async with a_move(*urls) as (mover, source, _):
        await mover._begin()
        await query(urls[0], "UPDATE run SET error = 'one'")
        assert len(await source.changes(10)) == 1
        await mover.abort()
        await query(urls[0], "UPDATE run SET error = 'two'")
        assert await source.changes(10) == []


async def test_source_that_was_left_opens_its_target_when_run_again(urls: tuple[str, str]) -> None:
    await fill_every_table(urls[0])
    async with a_move(*urls) as (mover, source, _):
        await mover._begin()
        for name in HISTORY:
            await mover._copy(source.tables[name])
        await mover._switch(nothing_to_check, LONG)

    async with a_move(*urls) as (again, _, _):
        assert again.is_left
        await again.run(nothing_to_check, drain=NO_DRAIN, pause_max=LONG)

    async with open_stores(urls[1]) as stores:
        assert await stores.upkeep.check_identity() == 0
        await stores.upkeep.probe()


def test_digest_of_rows_does_not_depend_on_their_order_and_notices_every_value() -> None:
    rows: list[Row] = [(1, "a", b"x", None), (2, "b", b"y", 0)]

    assert digest(rows) == digest(rows[::-1])
    assert digest(rows) != digest([rows[0], (2, "b", b"y", None)])
    assert digest(rows) != digest([rows[0]])
    assert digest([(1, "a")]) != digest([(1, b"a")])
