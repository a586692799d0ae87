"""Retention on PostgreSQL: the janitor archives and drops whole partitions, and nobody waits for it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import asyncpg
import pytest

from mainspring.domain.event import Event, EventType
from mainspring.domain.history import span_start, span_width
from mainspring.observe import Metrics
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.queries import QUERIES
from mainspring.stores.rows import id_floor, id_time
from mainspring.stores.runs import SqlRunStore
from mainspring.wiring.stores import open_stores
from mainspring.workers.janitor import Janitor, JanitorOptions
from tests.harness.postgres import Cluster, as_superuser
from tests.stores.databases import query
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, run_slot

pytestmark = pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
DAY = timedelta(days=1)
KEEP = JanitorOptions(keep_runs=10 * DAY, keep_bodies=10 * DAY, keep_events=10 * DAY)


@pytest.fixture(autouse=True)
async def no_partitions(store_url: str) -> None:
    """The database is shared by tests, whose clocks all begin at the same time."""
    await query(store_url, "SELECT drop_partition(name) FROM history_partition WHERE parent = 'run'")


@pytest.fixture
async def reader(store_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A report that takes long: it has read all runs and its transaction is open."""
    connection = await asyncpg.connect(as_superuser(store_url))
    await connection.execute("BEGIN")
    await connection.fetch("SELECT * FROM run")
    yield connection
    await connection.close()


def a_janitor(stores: Stores, metrics: Metrics | None = None) -> Janitor:
    return Janitor(stores.upkeep, stores.runs, KEEP, metrics or Metrics())


async def run_days(stores: Stores, clock: FixedClock, days: int) -> None:
    await add(stores, an_endpoint(interval_ms=86_400_000))
    for _ in range(days):
        await run_slot(stores, clock, took_ms=0)
        clock.at += DAY


async def days_left(stores: Stores) -> list[datetime]:
    return sorted(run.slot_at for run in await stores.runs.runs("default", RunFilter(limit=1000)))


async def partitions(url: str, parent: str) -> list[str]:
    rows = await query(url, f"SELECT name FROM history_partition WHERE parent = '{parent}' ORDER BY name")
    return [str(name) for (name,) in rows]


@pytest.mark.parametrize(
    ("keep", "width"),
    [
        (timedelta(days=30), DAY),
        (timedelta(days=365), 7 * DAY),
        (timedelta(days=3650), 30 * DAY),
        (timedelta(days=1), timedelta(minutes=30)),
        (timedelta(minutes=3), timedelta(minutes=1)),
    ],
)
def test_partition_is_a_thirtieth_of_the_retention_or_less(store_url: str, keep: timedelta, width: timedelta) -> None:
    assert span_width(keep) == width


def test_days_begin_at_midnight(store_url: str) -> None:
    assert span_start(START + timedelta(hours=23), DAY) == START


async def test_days_past_their_retention_are_dropped_and_later_ones_stay(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await run_days(stores, clock, 15)

    await a_janitor(stores).run_once()

    kept = [START + day * DAY for day in range(5, 15)]
    assert await days_left(stores) == kept
    assert [name for name in await partitions(store_url, "run") if name < f"run_{kept[0]:%Y%m%d}"] == []


async def test_partition_of_a_run_in_flight_stays(stores: Stores, store_url: str, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims
    clock.at += 20 * DAY
    janitor = Janitor(stores.upkeep, stores.runs, JanitorOptions(zombie_after=400 * DAY, keep_runs=DAY), Metrics())

    await janitor.run_once()

    assert await stores.runs.run("default", each.run_id) is not None


async def test_janitor_that_was_away_for_a_month_finds_room_and_drops_what_is_old(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await run_days(stores, clock, 3)
    clock.at += 31 * DAY
    metrics = Metrics()
    assert len((await claim(stores)).claims) == 1  # before the janitor has done anything

    await a_janitor(stores, metrics).run_once()

    runs = await stores.runs.runs("default", RunFilter(limit=100))
    assert {id_time(run.id) for run in runs} == {clock.now()}
    assert metrics.run_room >= 2 * DAY.total_seconds()
    assert {each.event.at for each in await stores.runs.events_after("", None, 100)} == {clock.now()}


async def test_claims_go_on_while_a_long_reader_keeps_a_partition(
    stores: Stores, store_url: str, clock: FixedClock, reader: asyncpg.Connection
) -> None:
    """The reader began before; it has read every partition that was there."""
    await run_days(stores, clock, 12)
    await reader.fetch("SELECT * FROM run")
    await add(stores, *[an_endpoint(next_run_at=clock.now()) for _ in range(20)])
    metrics = Metrics()
    removing = asyncio.create_task(a_janitor(stores, metrics).run_once())
    waited_ms = 0.0
    while not removing.done():
        async with asyncio.timeout(1.5):  # the janitor waits two seconds for each partition
            await claim(stores, limit=1)
        rows = await query(
            store_url,
            "SELECT COALESCE(MAX(extract(epoch FROM clock_timestamp() - waitstart)) * 1000, 0)::float8 FROM pg_locks "
            "WHERE NOT granted AND mode = 'RowExclusiveLock'",
        )
        waited_ms = max(waited_ms, float(str(rows[0][0])))
    await removing
    kept = metrics.partitions_kept
    await reader.execute("ROLLBACK")
    await a_janitor(stores, metrics).run_once()

    assert waited_ms == 0
    assert (kept, metrics.partitions_kept) == (2, 0)
    assert min(await days_left(stores)) == START + 2 * DAY


async def test_removal_that_was_cut_off_is_finished_the_next_time(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    """The process ended between taking the partition out and dropping it."""
    await run_days(stores, clock, 12)
    owner = await asyncpg.connect(as_superuser(store_url))
    await owner.execute("ALTER TABLE run DETACH PARTITION run_20250101_0000")
    await owner.close()

    await a_janitor(stores).run_once()

    assert "run_20250101_0000" not in await partitions(store_url, "run")


async def test_user_who_owns_nothing_drops_partitions_too(
    stores: Stores, store_url: str, clock: FixedClock, postgres_cluster: Cluster
) -> None:
    await run_days(stores, clock, 12)
    name = store_url.rpartition("/")[2]
    for statement in (
        "CREATE ROLE app_of_history LOGIN PASSWORD 'x'",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app_of_history",
        "GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO app_of_history",
    ):
        postgres_cluster.execute(statement, name)
    url = f"postgresql://app_of_history:x@{postgres_cluster.host}:{postgres_cluster.port}/{name}"
    try:
        async with open_stores(url, clock=clock) as plain:
            await a_janitor(plain).run_once()
    finally:
        postgres_cluster.execute("DROP OWNED BY app_of_history; DROP ROLE app_of_history", name)

    assert min(await days_left(stores)) == START + 2 * DAY


async def test_events_begin_a_new_partition_and_old_ones_are_dropped(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    janitor = a_janitor(stores)
    for day in range(14):
        await stores.runs.add_events([Event(EventType.RUN_MISSED, clock.now(), "default", data={"count": day})])
        await janitor.run_once(sweep=False)
        clock.at += DAY
    before = await partitions(store_url, "event")

    await janitor.run_once()

    left = [each.event.data["count"] for each in await stores.runs.events_after("", None, 100)]
    assert left == list(range(4, 14))
    assert len(set(before) - set(await partitions(store_url, "event"))) >= 2


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("run", ("default", id_floor("run", START + 30 * DAY)), id="a run by its id"),
        pytest.param("events_after", (2**30 * 30, 2**62, 10), id="events after a cursor"),
    ],
)
async def test_lookup_reads_one_of_sixty_partitions(
    stores: Stores, store_url: str, name: str, values: tuple[object, ...]
) -> None:
    await query(store_url, f"SELECT make_run_partitions('{START}', '1 day', 60)")
    touched = await scanned(stores, name, values)

    assert len(touched) <= 3, touched  # events: those made ahead


async def test_last_runs_of_an_endpoint_are_read_from_the_newest_of_sixty_partitions(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await query(store_url, f"SELECT make_run_partitions('{START - 58 * DAY}', '1 day', 60)")
    endpoint = an_endpoint()
    await add(stores, endpoint)
    for _ in range(5):
        await run_slot(stores, clock, took_ms=0)
        clock.tick(minutes=1)

    touched = await scanned(stores, "runs_of_endpoint", ("default", endpoint.id, None, None, 3))

    assert min(touched) == "run_20250101_0000"  # after it are those made ahead


async def scanned(stores: Stores, name: str, values: tuple[object, ...]) -> set[str]:
    """Which partitions a query has looked into, as it is planned for a tenant."""
    assert isinstance(stores.runs, SqlRunStore)
    database = stores.runs._db
    assert isinstance(database, PostgresDatabase)
    async with database.statement("default") as session:
        lines = await session._connection.fetch("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) " + QUERIES[name], *values)
    found = [str(line[0]) for line in lines]
    return {line.split(" on ")[1].split()[0] for line in found if " Scan" in line and "never executed" not in line}
