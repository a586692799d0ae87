"""Tickers with a lock in a real Valkey, which saves attempts, beside the database, which decides."""

from collections.abc import AsyncIterator, Iterator

import pytest

from mainspring.observe import Metrics
from mainspring.outbound.partition_lock import RedisLock
from mainspring.ports.stores import Stores
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.model import Status
from tests.harness.proxy import FaultProxy
from tests.harness.valkey import Valkey
from tests.stores.databases import query
from tests.stores.flow_world import a_workflow, get, publish, start, tick
from tests.stores.world import FixedClock


@pytest.fixture(scope="module")
def valkey() -> Iterator[Valkey]:
    with Valkey() as server:
        yield server


@pytest.fixture
async def lock(valkey: Valkey) -> AsyncIterator[RedisLock]:
    valkey.say("FLUSHALL")
    opened = RedisLock(valkey.url, "inst_1")
    yield opened
    await opened.aclose()


def a_ticker(stores: Stores, worker: str, lock: RedisLock) -> Ticker:
    return Ticker(stores.flows, TickerOptions(worker), Metrics(), lock=lock)


async def test_lock_of_a_writer_that_died_keeps_nobody_from_its_partition(
    stores: Stores, store_url: str, clock: FixedClock, lock: RedisLock
) -> None:
    """Its lease in the database was ended when its death was noticed; the lock lives on for its whole time."""
    dead, other = a_ticker(stores, "dead", lock), a_ticker(stores, "other", lock)
    await tick(dead, clock)
    await tick(other, clock)
    assert (list(dead.leads), list(other.leads)) == ([0], [])
    await query(store_url, "UPDATE workflow_partition SET lease_until_us = 0")

    await tick(other, clock)

    assert list(other.leads) == [0]


async def test_lock_that_was_wiped_takes_the_lead_from_nobody(
    stores: Stores, clock: FixedClock, lock: RedisLock, valkey: Valkey
) -> None:
    workflow = await publish(stores, a_workflow({"wait": "3s"}, {"end": "done"}))
    await start(stores, workflow, "x1")
    one, two = a_ticker(stores, "one", lock), a_ticker(stores, "two", lock)
    await tick(one, clock)
    valkey.say("FLUSHALL")

    await tick(two, clock)
    assert (list(one.leads), list(two.leads)) == ([0], [])
    assert await lock.take(0, "one", 30_000)  # the other one has left it

    await tick(one, clock, 3)
    assert (await get(stores, "x1")).status is Status.COMPLETED


async def test_lock_whose_packets_are_lost_stops_no_tick_and_makes_no_second_writer(
    stores: Stores, clock: FixedClock, valkey: Valkey
) -> None:
    """Every round of the first one asks to hold its lock longer, in vain; the second one may try, and loses."""
    workflow = await publish(stores, a_workflow({"wait": "3s"}, {"end": "done"}))
    await start(stores, workflow, "x1")
    valkey.say("FLUSHALL")
    async with FaultProxy("127.0.0.1", valkey.port) as proxy:
        locks = [RedisLock(f"redis://127.0.0.1:{proxy.port}/0", "inst_1", rest_s=0) for _ in range(2)]
        one, two = (a_ticker(stores, name, lock) for name, lock in zip(("one", "two"), locks, strict=True))
        await tick(one, clock)
        await proxy.half_open()
        one._locked_s[0] = -1_000  # long ago, so that it must ask

        await tick(two, clock)
        await tick(one, clock, 3)

        assert one._locked_s[0] > 0
        assert (list(one.leads), list(two.leads)) == ([0], [])
        assert (await get(stores, "x1")).status is Status.COMPLETED
        for lock in locks:
            await lock.aclose()
