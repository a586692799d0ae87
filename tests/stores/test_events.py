"""Events: in their order, none skipped, none twice, however they are read."""

import asyncio
from datetime import timedelta

import asyncpg
import msgspec
import pytest
from tests.harness.postgres import as_superuser
from tests.harness.waiting import until_true
from tests.stores.databases import is_sqlite
from tests.stores.world import START, FixedClock, told

from mainspring.domain.event import Event, EventType, StoredEvent, place_of
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import Retention

LIMITS = [1, 2, 3, 1_000]
FOREVER_AGO = START - timedelta(days=10_000)


def numbered(*numbers: int, tenant_id: str = "default") -> list[Event]:
    return [Event(EventType.HINT_WRITTEN, START, tenant_id, data={"number": number}) for number in numbers]


def numbers_of(stored: list[StoredEvent]) -> list[object]:
    return [each.event.data["number"] for each in stored]


async def written(stores: Stores, sizes: list[int], tenant_ids: tuple[str, ...] = ("default",)) -> list[int]:
    """Transactions with so many events each, tenants taking turns; the numbers of all of them in their order."""
    number = 0
    for size in sizes:
        events = [
            numbered(number + each, tenant_id=tenant_ids[(number + each) % len(tenant_ids)])[0] for each in range(size)
        ]
        await stores.runs.add_events(events)
        number += size
    await told(stores)
    return list(range(number))


async def read_on(stores: Stores, limit: int, cursor: str = "", tenant_id: str | None = "default") -> list[StoredEvent]:
    """Everything from the cursor on, as a reader goes who stops at the first empty answer."""
    seen: list[StoredEvent] = []
    while page := await stores.runs.events_after(cursor, tenant_id, limit):
        assert len(page) <= limit
        seen += page
        cursor = page[-1].cursor
    return seen


async def test_event_is_read_as_it_was_written(stores: Stores) -> None:
    event = Event(
        EventType.HINT_WRITTEN, START + timedelta(microseconds=1), "default", "ep_1", "run_1", "é ☃ \U0001f980",
        {"text": "a\x00b'\"\\", "number": 2**40, "nested": {"list": [1, None, True, 1.5]}},
    )  # fmt: skip

    await stores.runs.add_events([event])

    assert await told(stores) == [event]


@pytest.mark.parametrize("limit", LIMITS)
async def test_reading_in_pages_loses_and_repeats_nothing(stores: Stores, limit: int) -> None:
    numbers = await written(stores, [1, 3, 1, 1, 2, 5, 1])

    assert numbers_of(await read_on(stores, limit)) == numbers


@pytest.mark.parametrize("limit", LIMITS)
async def test_reading_can_go_on_from_any_event(stores: Stores, limit: int) -> None:
    numbers = await written(stores, [2, 1, 3])
    stored = await read_on(stores, 1_000)

    for place, each in enumerate(stored):
        assert numbers_of(await read_on(stores, limit, each.cursor)) == numbers[place + 1 :]


@pytest.mark.parametrize("limit", LIMITS)
async def test_reader_of_one_tenant_sees_all_of_that_tenant_and_no_other(stores: Stores, limit: int) -> None:
    numbers = await written(stores, [4, 1, 3, 2], ("default", "other"))

    assert numbers_of(await read_on(stores, limit, tenant_id="other")) == numbers[1::2]


async def test_reader_of_all_tenants_sees_everything_once(stores: Stores) -> None:
    numbers = await written(stores, [4, 1, 3, 2], ("default", "other"))

    seen = numbers_of([each for each in await read_on(stores, 3, tenant_id=None) if each.event.tenant_id != "mark"])

    assert sorted(map(str, seen)) == sorted(map(str, numbers))


async def test_cursor_of_all_tenants_goes_on_for_one_of_them(stores: Stores) -> None:
    await stores.runs.add_events(numbered(0, 1, 2, tenant_id="other"))
    await stores.runs.add_events(numbered(3, 4, 5))
    await told(stores)
    of_all = await stores.runs.events_after("", None, 2)

    assert numbers_of(await read_on(stores, 1_000, of_all[-1].cursor)) == [3, 4, 5]


async def test_reading_goes_on_after_the_event_that_was_read_last_is_swept(stores: Stores, clock: FixedClock) -> None:
    await stores.runs.add_events(numbered(0, 1, 2))
    await told(stores)
    (*_, last) = await stores.runs.events_after("", "default", 2)
    later = [msgspec.structs.replace(event, at=START + timedelta(days=2)) for event in numbered(3, 4, 5)]
    await stores.runs.add_events(later)
    await told(stores)
    keep = Retention(FOREVER_AGO, FOREVER_AGO, START + timedelta(days=1), 10, events_span=timedelta())
    while not (await stores.upkeep.sweep(keep, 100)).done:
        pass

    assert numbers_of(await read_on(stores, 1_000, last.cursor)) == [3, 4, 5]


async def test_latest_events_are_the_newest_and_reading_goes_on_from_there(stores: Stores) -> None:
    await written(stores, [3, 2])

    latest = await stores.runs.latest_events("default", 3)
    await stores.runs.add_events(numbered(5, 6))
    await told(stores)

    assert numbers_of(latest) == [2, 3, 4]
    assert numbers_of(await read_on(stores, 2, latest[-1].cursor)) == [5, 6]


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 10])
async def test_latest_events_are_as_many_as_wanted(stores: Stores, limit: int) -> None:
    numbers = await written(stores, [2, 1, 1])

    assert numbers_of(await stores.runs.latest_events("default", limit)) == numbers[max(0, 4 - limit) :]


async def test_last_place_is_that_of_the_newest_event(stores: Stores) -> None:
    before = await stores.runs.last_place()
    await written(stores, [1, 2])
    newest = await stores.runs.latest_events(None, 1)

    assert await stores.runs.last_place() == newest[-1].cursor.partition(":")[0]
    assert place_of(f"{before}:0") < place_of(newest[0].cursor)


async def test_events_of_writers_at_once_are_all_read_once(stores: Stores, other_stores: Stores) -> None:
    async def write(each: Stores, first: int) -> None:
        for number in range(first, first + 10):
            await each.runs.add_events(numbered(number))

    async def read() -> list[object]:
        seen: list[object] = []
        cursor = ""
        async with asyncio.timeout(20):
            while len(seen) < 40:
                for each in await stores.runs.events_after(cursor, "default", 3):
                    seen.append(each.event.data["number"])
                    cursor = each.cursor
                await asyncio.sleep(0)
        return seen

    reading = asyncio.create_task(read())
    await asyncio.gather(*[write(each, 10 * place) for place, each in enumerate([stores, other_stores] * 2)])
    seen = await reading

    assert sorted(map(str, seen)) == sorted(map(str, range(40)))
    for writer in range(4):
        mine = [number for number in seen if number in range(10 * writer, 10 * writer + 10)]
        assert mine == list(range(10 * writer, 10 * writer + 10))


async def test_event_of_a_transaction_that_commits_late_is_not_skipped(stores: Stores, store_url: str) -> None:
    if is_sqlite(store_url):
        pytest.skip("SQLite has one writer: whoever begins first commits first")
    await stores.runs.add_events(numbered(0))
    connection = await asyncpg.connect(as_superuser(store_url))
    try:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(
            "INSERT INTO event (tenant_id, at, events) VALUES ('default', $1, $2)",
            START,
            msgspec.json.encode(numbered(1)).decode(),
        )
        await stores.runs.add_events(numbered(2))
        before = await read_on(stores, 1)
        await transaction.commit()
    finally:
        await connection.close()
    await told(stores)

    after = await read_on(stores, 1, before[-1].cursor)

    assert (numbers_of(before), numbers_of(after)) == ([0], [1, 2])


async def test_event_of_a_transaction_that_is_rolled_back_holds_nobody_up(stores: Stores, store_url: str) -> None:
    if is_sqlite(store_url):
        pytest.skip("SQLite has one writer: whoever begins first commits first")
    connection = await asyncpg.connect(as_superuser(store_url))
    try:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("INSERT INTO event (tenant_id, at, events) VALUES ('default', $1, '[]')", START)
        await stores.runs.add_events(numbered(1))
        await transaction.rollback()
    finally:
        await connection.close()

    async def is_read() -> bool:
        return numbers_of(await read_on(stores, 1)) == [1]

    await until_true(is_read, "the event after the one that never was")


async def test_old_events_are_swept_and_newer_ones_stay(stores: Stores) -> None:
    ages = [msgspec.structs.replace(event, at=START - timedelta(days=40 - number)) for number, event in
            enumerate(numbered(*range(4)))]  # fmt: skip
    for event in ages:
        await stores.runs.add_events([event])
    keep = Retention(FOREVER_AGO, FOREVER_AGO, START - timedelta(days=38), 10, events_span=timedelta())

    swept = [await stores.upkeep.sweep(keep, batch=1) for _ in range(3)]

    assert [(each.removed, each.done) for each in swept] == [(1, False), (1, False), (0, True)]
    assert [event.data["number"] for event in await told(stores)] == [2, 3]
