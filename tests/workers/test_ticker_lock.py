"""Tickers with a lock in a real Valkey, which saves attempts, beside the database, which decides."""

from collections.abc import AsyncIterator, Iterator

import pytest

from mainspring.observe import Metrics
from mainspring.outbound.partition_lock import RedisLock
from mainspring.ports.stores import Stores
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.model import Status
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


async def test_ticker_without_the_lock_does_not_try(
    stores: Stores, store_url: str, clock: FixedClock, lock: RedisLock
) -> None:
    await lock.take(0, "another", 30_000)

    await tick(a_ticker(stores, "one", lock), clock)

    assert await query(store_url, "SELECT 1 FROM workflow_partition WHERE epoch > 0") == []


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
