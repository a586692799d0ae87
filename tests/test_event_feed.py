"""The change feed: one reader, many listeners; nothing skipped, nothing twice, nobody waited for."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import Event, EventType, StoredEvent, place_of
from mainspring.event_feed import CutOff, Feed, Step
from mainspring.ports.records import RunStore
from mainspring.ports.stores import Stores
from tests.harness.waiting import until
from tests.stores.databases import clock, other_stores, shared_postgres_url, store_url, stores
from tests.stores.world import START, told

__all__ = ["clock", "other_stores", "shared_postgres_url", "store_url", "stores"]


def numbered(*numbers: int, tenant_id: str = "default") -> list[Event]:
    return [Event(EventType.HINT_WRITTEN, START, tenant_id, data={"number": number}) for number in numbers]


def numbers_of(events: Sequence[StoredEvent]) -> list[object]:
    return [each.event.data["number"] for each in events]


class CountingRuns:
    """A run store that counts how often events were asked for."""

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs
        self.reads = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._runs, name)

    async def events_after(self, cursor: str, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        self.reads += 1
        return await self._runs.events_after(cursor, tenant_id, limit)


@pytest.fixture
async def feed(stores: Stores) -> AsyncIterator[Feed]:
    running = Feed(stores.runs, poll_s=0.01)
    task = asyncio.create_task(running.run())
    yield running
    running.stop()
    await task


async def collect(steps: AsyncIterator[Step], count: int) -> list[StoredEvent]:
    seen: list[StoredEvent] = []
    async with asyncio.timeout(60):
        async for _, events in steps:
            seen += events
            if len(seen) >= count:
                break
    return seen


async def test_listeners_get_what_is_committed_after_they_came(stores: Stores, feed: Feed) -> None:
    await stores.runs.add_events(numbered(1))
    await told(stores)

    async with feed.listen("default") as one, feed.listen("default") as two:
        await stores.runs.add_events(numbered(2, 3))
        heard = [numbers_of(await each.next(20)) for each in (one, two)]

    assert heard == [[2, 3], [2, 3]]


async def test_listener_hears_nothing_of_other_tenants(stores: Stores, feed: Feed) -> None:
    async with feed.listen("default") as mine, feed.listen(None) as everybody:
        await stores.runs.add_events(numbered(1, tenant_id="other"))
        await stores.runs.add_events(numbered(2))
        await until(lambda: len(everybody._events) == 2, "both events")

        assert numbers_of(await mine.next(20)) == [2]


async def test_following_from_a_cursor_goes_over_from_stored_to_live_events_without_a_seam(
    stores: Stores, feed: Feed
) -> None:
    await stores.runs.add_events(numbered(*range(5)))
    await told(stores)
    (first, *_) = await stores.runs.events_after("", "default", 1)

    async def write() -> None:
        for number in range(5, 60):
            await stores.runs.add_events(numbered(number))

    writing = asyncio.create_task(write())
    seen = await collect(feed.follow("default", first.cursor, 0.1), 59)
    await writing

    assert numbers_of(seen) == list(range(1, 60))


async def test_who_follows_from_now_on_is_told_nothing_older_though_the_feed_is_behind(stores: Stores) -> None:
    behind = Feed(stores.runs, poll_s=0.01)
    async with behind.listen(None):  # so it has a place, and does not move on from it
        await stores.runs.add_events(numbered(1))
        await told(stores)
        following = behind.follow("default", None, 20)
        await anext(following)
        await stores.runs.add_events(numbered(2))
        running = asyncio.create_task(behind.run())
        seen = await collect(following, 1)
        await following.aclose()
    behind.stop()
    await running

    assert numbers_of(seen) == [2]


async def test_follower_cut_in_the_middle_goes_on_where_it_was(stores: Stores, feed: Feed) -> None:
    """Again and again, while others write on two connections."""
    seen: list[StoredEvent] = []
    cursor = await feed.position()
    writing = asyncio.create_task(_write_slowly(stores, 60))
    while len(seen) < 60:
        seen += await collect(feed.follow("default", cursor, 0.1), min(7, 60 - len(seen)))
        cursor = seen[-1].cursor
    await writing

    assert sorted(map(str, numbers_of(seen))) == sorted(map(str, range(60)))
    assert [place_of(each.cursor) for each in seen] == sorted({place_of(each.cursor) for each in seen})


async def _write_slowly(stores: Stores, count: int) -> None:
    for number in range(count):
        await stores.runs.add_events(numbered(number))
        await asyncio.sleep(0)


async def test_two_hundred_listeners_cost_the_queries_of_one(stores: Stores) -> None:
    runs, loop, poll_s = CountingRuns(stores.runs), asyncio.get_running_loop(), 0.05
    feed = Feed(runs, poll_s)  # type: ignore[arg-type]  # what it does not count it hands on
    running = asyncio.create_task(feed.run())

    async def listen() -> int:
        async with feed.listen("default") as listener:
            heard = 0
            while heard < 100:
                heard += len(await listener.next(20))
            return heard

    listening = [asyncio.create_task(listen()) for _ in range(200)]
    await until(lambda: feed.listeners == 200, "two hundred listeners")
    await feed.position()
    before, began_s = runs.reads, loop.time()
    for number in range(100):
        await stores.runs.add_events(numbered(number))
    heard = await asyncio.gather(*listening)
    reads, took_s = runs.reads - before, loop.time() - began_s
    feed.stop()
    await running

    assert heard == [100] * 200
    assert reads <= took_s / poll_s + 2  # as often as one reader looks in that time


async def test_listener_that_does_not_read_is_cut_off_and_others_are_not(stores: Stores, feed: Feed) -> None:
    async with feed.listen("default", backlog_max=10) as slow, feed.listen("default") as quick:
        await stores.runs.add_events(numbered(*range(11)))
        heard = await quick.next(20)
        with pytest.raises(CutOff, match="events were not read in time"):
            await slow.next(20)

    assert numbers_of(heard) == list(range(11))


async def test_stopping_ends_every_listener_at_once(stores: Stores, feed: Feed) -> None:
    async with feed.listen("default") as listener:
        waiting = asyncio.create_task(listener.next(3_600))
        await asyncio.sleep(0)
        feed.stop()

        with pytest.raises(CutOff, match="the server is stopping"):
            async with asyncio.timeout(60):
                await waiting


async def test_nobody_listening_reads_nothing(stores: Stores) -> None:
    runs = CountingRuns(stores.runs)
    feed = Feed(runs, poll_s=0.001)  # type: ignore[arg-type]  # what it does not count it hands on
    running = asyncio.create_task(feed.run())
    async with feed.listen(None) as listener:
        await stores.runs.add_events(numbered(1))
        await listener.next(20)
    await asyncio.sleep(0.02)
    before = runs.reads
    await asyncio.sleep(0.05)
    feed.stop()
    await running

    assert runs.reads == before


@pytest.mark.parametrize(
    "cursor", ["x", "1", ":", "1:", ":1", "-1:0", "1.2.3:0", "1:0 ", "٣:0", "9" * 19 + ":0", "1:\x00"]
)
async def test_what_is_no_cursor_is_refused(stores: Stores, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="is not a cursor of this database; a cursor comes with an event") as refusal:
        await stores.runs.events_after(cursor, "default", 10)

    assert refusal.value.field == "cursor"


async def test_text_that_is_not_a_cursor_is_refused(stores: Stores) -> None:
    foreign = "12.3:0"

    with pytest.raises(InvalidInput, match="is not a cursor of this database"):
        await stores.runs.events_after(foreign, None, 10)
