"""Partitions of runs and events on PostgreSQL: made before they are needed, whatever the clock does, and guarded."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from tests.harness.postgres import Cluster
from tests.stores.databases import query
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished, get_run, run_slot

from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import place_of
from mainspring.domain.run import RunStatus
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.upkeep import SqlUpkeepStore
from mainspring.wiring.stores import open_stores

pytestmark = pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
async def no_partitions(store_url: str) -> None:
    """The database is shared by tests, whose clocks all begin at the same time."""
    await query(store_url, "SELECT drop_partition(name) FROM history_partition WHERE parent = 'run'")


async def partitions(url: str, parent: str = "run") -> list[str]:
    rows = await query(url, f"SELECT name FROM history_partition WHERE parent = '{parent}' ORDER BY first")
    return [str(name) for (name,) in rows]


async def test_first_run_makes_the_partition_of_its_day_and_three_more(stores: Stores, store_url: str) -> None:
    await add(stores, an_endpoint())

    await claim(stores)

    days = ["run_20250101_0000", "run_20250102_0000", "run_20250103_0000", "run_20250104_0000"]
    assert await partitions(store_url) == days


@pytest.mark.parametrize("step", [timedelta(days=31), timedelta(days=-400), timedelta(days=20_000)])
async def test_runs_go_on_when_the_clock_jumps(stores: Stores, clock: FixedClock, step: timedelta) -> None:
    """Nobody has made partitions meanwhile: no janitor runs here."""
    await add(stores, an_endpoint())
    await run_slot(stores, clock)
    clock.at += step
    await add(stores, an_endpoint(next_run_at=clock.now()))

    (each,) = [each for each in (await claim(stores)).claims if each.slot_at == clock.now()]
    await stores.schedule.finish([finished(each)])

    assert (await get_run(stores, each)).status is RunStatus.SUCCESS


async def test_partition_that_somebody_removed_is_made_again(stores: Stores, store_url: str, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await run_slot(stores, clock)
    await query(store_url, "SELECT drop_partition(name) FROM history_partition WHERE parent = 'run'")
    clock.tick(minutes=1)

    with pytest.raises(asyncpg.CheckViolationError):  # the worker's loop tries again
        await claim(stores)

    assert len((await claim(stores)).claims) == 1


async def test_two_processes_that_need_the_same_partitions_make_them_once(
    stores: Stores, other_stores: Stores, store_url: str
) -> None:
    databases = [each.upkeep._db for each in (stores, other_stores) if isinstance(each.upkeep, SqlUpkeepStore)]

    async def make_room(database: object) -> None:
        assert isinstance(database, PostgresDatabase)
        async with database.statement() as session:
            await session.make_room(START)

    await asyncio.gather(*map(make_room, databases))

    assert len(await partitions(store_url)) == 4


async def test_partitions_of_another_width_fill_the_gaps_between_those_that_exist(
    stores: Stores, store_url: str
) -> None:
    await query(store_url, "SELECT make_run_partitions('2025-01-01T06:00Z', '6 hours', 1)")

    await query(store_url, "SELECT make_run_partitions('2025-01-01T00:00Z', '1 day', 2)")

    bounds = "SELECT run_id_time(first), run_id_time(upto) FROM history_partition WHERE parent = 'run' ORDER BY first"
    rows = await query(store_url, bounds)
    hours = [(0, 6), (6, 12), (12, 24), (24, 48)]
    start = datetime(2025, 1, 1, tzinfo=UTC)
    assert rows == [(start + timedelta(hours=first), start + timedelta(hours=upto)) for first, upto in hours]


async def test_short_retention_makes_short_partitions(store_url: str, clock: FixedClock) -> None:
    async with open_stores(store_url, clock=clock, keep_runs=timedelta(hours=1)) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        await add(stores, an_endpoint())
        await claim(stores)

    assert await partitions(store_url) == [f"run_20250101_00{minute:02}" for minute in (0, 2, 4, 6)]


@pytest.mark.parametrize("parent", ["run", "event"])
async def test_row_security_holds_for_those_who_name_a_partition(
    stores: Stores, store_url: str, clock: FixedClock, parent: str
) -> None:
    await add(stores, an_endpoint())
    await run_slot(stores, clock)
    name = (await partitions(store_url, parent))[0]
    connection = await asyncpg.connect(store_url)  # a plain user, who owns the tables
    try:
        seen = []
        for tenant in ("", "other", "default", "*"):
            await connection.execute("SELECT set_config('mainspring.tenant', $1, false)", tenant)
            seen.append(bool(await connection.fetchval(f"SELECT COUNT(*) FROM {name}")))
    finally:
        await connection.close()

    assert seen == [False, False, True, True]


async def test_user_who_owns_nothing_makes_partitions_by_running(
    stores: Stores, store_url: str, clock: FixedClock, postgres_cluster: Cluster
) -> None:
    await add(stores, an_endpoint())
    name = store_url.rpartition("/")[2]
    for statement in (
        "CREATE ROLE app_of_partitions LOGIN PASSWORD 'x'",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app_of_partitions",
        "GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO app_of_partitions",
    ):
        postgres_cluster.execute(statement, name)
    url = f"postgresql://app_of_partitions:x@{postgres_cluster.host}:{postgres_cluster.port}/{name}"
    try:
        async with open_stores(url, clock=clock) as plain:
            await run_slot(plain, clock)
    finally:
        postgres_cluster.execute("DROP OWNED BY app_of_partitions; DROP ROLE app_of_partitions", name)

    assert len(await partitions(store_url)) == 4


async def test_events_keep_their_order_across_partitions(stores: Stores, store_url: str, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await run_slot(stores, clock)
    before = [each.cursor for each in await stores.runs.events_after("", None, 100)]
    ((began,),) = await query(store_url, "SELECT begin_event_partition()")
    clock.tick(minutes=1)
    await run_slot(stores, clock)

    after = await stores.runs.events_after("", None, 100)

    assert began is True
    assert [each.cursor for each in after][: len(before)] == before
    assert [each.event.at for each in after] == sorted(each.event.at for each in after)
    assert [each.cursor for each in await stores.runs.events_after(before[-1], None, 100)] == [
        each.cursor for each in after[len(before) :]
    ]


async def test_partition_of_events_does_not_begin_while_a_writer_from_before_the_last_one_is_open(
    stores: Stores, store_url: str
) -> None:
    """Its number would be further away than readers can tell."""
    writer = await asyncpg.connect(store_url)
    try:
        await writer.execute("SET mainspring.tenant = '*'; BEGIN")
        await writer.execute("INSERT INTO event (tenant_id, at, events) VALUES ('default', 'epoch', '[]')")
        began = [(await query(store_url, "SELECT begin_event_partition()"))[0][0] for _ in range(2)]
        horizon = (await query(store_url, "SELECT event_horizon()"))[0][0]
        own = await writer.fetchval("SELECT MAX(seq) FROM event")
    finally:
        await writer.close()

    assert began == [True, False]
    assert horizon == own - 1


async def test_numbers_of_events_never_meet_a_missing_partition(stores: Stores, store_url: str) -> None:
    """A partition has 2^30 numbers, and two more exist: whoever uses up one goes on in the next."""
    await query(store_url, "SELECT make_event_partitions()")
    ((newest,),) = await query(store_url, "SELECT last_value >> 30 FROM event_seq_seq")
    await query(store_url, f"SELECT setval('event_seq_seq', (({newest} + 1)::bigint << 30) - 1)")
    await add(stores, an_endpoint())

    events = await stores.runs.events_after("", None, 100)
    assert {place_of(each.cursor)[0] >> 30 for each in events} == {int(str(newest)) + 1}
