"""The order of events on PostgreSQL: the same for every reader, none skipped, held up by nothing but their writers.

Writers here insert past the stores, so that they can commit late, in any order, or never.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import msgspec
import pytest
from tests.harness.postgres import Cluster, as_superuser
from tests.harness.waiting import until_true
from tests.stores.databases import query
from tests.stores.test_events import numbered, numbers_of, read_on
from tests.stores.test_planner import rule
from tests.stores.world import START, FixedClock, add, an_endpoint, run_slot

from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import StoredEvent, place_of
from mainspring.ports.stores import Stores
from mainspring.wiring.stores import open_stores

INSERT = "INSERT INTO event (tenant_id, at, events) VALUES ($1, $2, $3)"
STEPS = 120
OPEN_MAX = 6  # transactions of writers at once
SEEDS = 6
WRITERS = 8
TRANSACTIONS = 30  # of each writer
UNMARKED = "ALTER TABLE event DISABLE TRIGGER event_writers"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
async def stores(postgres_url: str, clock: FixedClock) -> AsyncIterator[Stores]:
    async with open_stores(postgres_url, clock=clock) as opened:
        await opened.endpoints.put_tenant(Tenant("default", "default"))
        yield opened


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(as_superuser(url))
    try:
        yield connection
    finally:
        await connection.close()


async def write(connection: asyncpg.Connection, number: int) -> None:
    await connection.execute(INSERT, "default", START, msgspec.json.encode(numbered(number)).decode())


class Reader:
    """Reads on from where it stopped, a few events at a time."""

    def __init__(self, stores: Stores, tenant_id: str | None, limit: int) -> None:
        self._stores = stores
        self._tenant_id = tenant_id
        self._limit = limit
        self.stored: list[StoredEvent] = []

    @property
    def numbers(self) -> list[object]:
        return numbers_of(self.stored)

    async def read(self) -> None:
        cursor = self.stored[-1].cursor if self.stored else ""
        self.stored += await read_on(self._stores, self._limit, cursor, self._tenant_id)


def readers(stores: Stores) -> list[Reader]:
    return [Reader(stores, None, 1_000), Reader(stores, None, 2), Reader(stores, "default", 3)]


@pytest.mark.parametrize("where", ["in our database", "in another database of the server"])
async def test_open_transaction_of_another_client_holds_no_event_back(
    where: str, stores: Stores, postgres_url: str, postgres_empty_url: str
) -> None:
    async with connected(postgres_url if "our" in where else postgres_empty_url) as stranger, stranger.transaction():
        await stranger.execute("SELECT pg_current_xact_id()")

        await stores.runs.add_events(numbered(1))

        assert numbers_of(await read_on(stores, 10)) == [1]
        assert numbers_of(await stores.runs.latest_events(None, 1)) == [1]


async def test_forgotten_prepared_transaction_holds_no_event_back(
    stores: Stores, postgres_cluster: Cluster, postgres_empty_url: str
) -> None:
    database = postgres_empty_url.rpartition("/")[2]
    postgres_cluster.execute("CREATE TABLE theirs (n int)", database)
    async with connected(postgres_empty_url) as stranger:
        await stranger.execute("BEGIN; INSERT INTO theirs VALUES (1); PREPARE TRANSACTION 'forgotten'")

        await stores.runs.add_events(numbered(1))

        try:
            assert numbers_of(await read_on(stores, 10)) == [1]
        finally:
            await stranger.execute("ROLLBACK PREPARED 'forgotten'")


async def test_rules_judge_runs_while_another_client_keeps_a_transaction_open(
    stores: Stores, postgres_url: str, clock: FixedClock
) -> None:
    endpoint = an_endpoint("judged")
    await add(stores, endpoint)
    async with connected(postgres_url) as stranger, stranger.transaction():
        await stranger.execute("SELECT pg_current_xact_id()")
        await rule(stores, endpoint, when="ok", interval="10s")
        await run_slot(stores, clock)

        page = await stores.planner.next_page(20)

    assert page is not None
    assert [run.endpoint_id for run in page.runs] == [endpoint.id]


async def interleave(stores: Stores, url: str, seed: int) -> tuple[list[int], list[Reader]]:
    """Writers begin, write once or twice, commit or roll back in a random order; readers read in between."""
    choose = random.Random(seed)
    committed: list[int] = []
    under_way: list[tuple[asyncpg.Connection, list[int]]] = []
    idle = [await asyncpg.connect(as_superuser(url)) for _ in range(OPEN_MAX)]
    everyone = idle.copy()
    reading = readers(stores)
    try:
        for number in range(STEPS):
            if idle and choose.random() < 0.5:
                connection = idle.pop()
                await connection.execute("BEGIN")
                under_way.append((connection, [number]))
                await write(connection, number)
            elif under_way:
                connection, numbers = under_way.pop(choose.randrange(len(under_way)))
                if choose.random() < 0.3:
                    numbers.append(number)
                    await write(connection, number)
                ends_well = choose.random() < 0.8
                await connection.execute("COMMIT" if ends_well else "ROLLBACK")
                committed += numbers if ends_well else []
                idle.append(connection)
            await choose.choice(reading).read()
        for connection, numbers in under_way:
            await connection.execute("COMMIT")
            committed += numbers
        for reader in reading:
            await reader.read()
    finally:
        for connection in everyone:
            await connection.close()
    return sorted(committed), reading


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
async def test_every_reader_sees_every_event_once_in_one_order_however_commits_interleave(
    seed: int, stores: Stores, postgres_url: str
) -> None:
    committed, reading = await interleave(stores, postgres_url, seed)

    assert sorted(map(int, map(str, reading[0].numbers))) == committed
    assert [reader.numbers for reader in reading[1:]] == [reading[0].numbers] * 2


async def test_interleaved_commits_lose_events_when_writers_are_not_marked(stores: Stores, postgres_url: str) -> None:
    """The negative control: without the horizon, the test above must fail."""
    await query(postgres_url, UNMARKED)

    committed, reading = await interleave(stores, postgres_url, seed=1)

    assert len(reading[0].numbers) < len(committed)


async def storm(stores: Stores, url: str) -> tuple[int, list[Reader]]:
    """Writers at full speed, each commit some turns of the loop after its event; readers all the while."""
    choose = random.Random(1)
    ended = asyncio.Event()
    committed = 0
    reading = readers(stores)

    async def keep_writing(first: int) -> None:
        nonlocal committed
        async with connected(url) as connection:
            for number in range(first, first + TRANSACTIONS):
                await connection.execute("BEGIN")
                await write(connection, number)
                for _ in range(choose.randrange(4)):
                    await connection.execute("SELECT 1")
                ends_well = choose.random() < 0.9
                await connection.execute("COMMIT" if ends_well else "ROLLBACK")
                committed += ends_well

    async def keep_reading(reader: Reader) -> None:
        while not ended.is_set():
            await reader.read()
        await reader.read()

    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        for reader in reading:
            tasks.create_task(keep_reading(reader))
        await asyncio.gather(*(keep_writing(TRANSACTIONS * each) for each in range(WRITERS)))
        ended.set()
    return committed, reading


async def test_every_reader_sees_every_event_once_while_many_write_at_once(stores: Stores, postgres_url: str) -> None:
    committed, reading = await storm(stores, postgres_url)
    places = [place_of(each.cursor) for each in reading[0].stored]

    assert len(set(reading[0].numbers)) == len(places) == committed
    assert places == sorted(places)
    assert [reader.numbers for reader in reading[1:]] == [reading[0].numbers] * 2


async def test_many_writers_at_once_lose_events_when_they_are_not_marked(stores: Stores, postgres_url: str) -> None:
    """The negative control of the test above."""
    await query(postgres_url, UNMARKED)

    committed, reading = await storm(stores, postgres_url)

    assert min(len(reader.numbers) for reader in reading) < committed


async def test_bulk_of_statements_takes_one_lock(stores: Stores, postgres_url: str) -> None:
    """The server's table of locks has room for some thousands."""
    async with connected(postgres_url) as writer, writer.transaction():
        for number in range(50):
            await write(writer, number)
        held = await query(postgres_url, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")

    assert held == [(1,)]


async def test_savepoint_that_is_rolled_back_leaves_the_writer_marked(stores: Stores, postgres_url: str) -> None:
    """It takes its lock along, and the note that there is one."""
    async with connected(postgres_url) as writer, writer.transaction():
        await writer.execute("SAVEPOINT before")
        await write(writer, 1)
        await writer.execute("ROLLBACK TO before")
        await write(writer, 2)
        await stores.runs.add_events(numbered(3))
        early = await read_on(stores, 10)

    assert numbers_of(early) == []
    assert numbers_of(await read_on(stores, 10)) == [2, 3]


@pytest.mark.parametrize("reached", [1, 2**32 - 2, 2**33 + 2**31])
async def test_horizon_holds_at_any_number(reached: int, stores: Stores, postgres_url: str) -> None:
    """A lock's key has room for half of a number."""
    await query(postgres_url, f"SELECT setval('event_seq_seq', {reached})")
    await query(postgres_url, "SELECT make_event_partitions()")
    async with connected(postgres_url) as writer, writer.transaction():
        await stores.runs.add_events(numbered(1))
        await write(writer, 2)
        for number in range(3, 8):
            await stores.runs.add_events(numbered(number))
        early = await read_on(stores, 10)

    assert numbers_of(early) == [1]
    assert numbers_of(await read_on(stores, 10)) == list(range(1, 8))


async def test_events_of_a_writer_that_ends_are_read_without_being_asked_twice(
    stores: Stores, postgres_url: str
) -> None:
    async with connected(postgres_url) as writer:
        await writer.execute("BEGIN")
        await write(writer, 1)
        await stores.runs.add_events(numbered(2))
        await writer.close()

    async def is_read() -> bool:
        return numbers_of(await read_on(stores, 1)) == [2]

    await until_true(is_read, "the event after the one that never was")
