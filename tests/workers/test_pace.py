"""A busy scheduler claims and records several slots together; whoever waits for it does not wait for that."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from mainspring.domain.endpoint import Endpoint
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.workers.scheduler import FINISH_EARLY, Scheduler, SchedulerOptions
from tests.harness.waiting import holds_for, until
from tests.stores.world import START, FixedClock, add, an_endpoint, change, requested
from tests.workers.fakes import FaultyStore, ScriptedCaller

LONG_S = 600.0  # a pace that no test sees the end of


class PacedBench:
    """A scheduler whose store has a pace."""

    def __init__(self, stores: Stores, pace_s: float = LONG_S, places: int = 100) -> None:
        self.store = FaultyStore(stores.schedule)
        self.store.pace_s = pace_s
        self.caller = ScriptedCaller()
        self.metrics = Metrics()
        options = SchedulerOptions("worker-1", places, per_host=1_000)
        started_ns = time.monotonic_ns()  # as on a machine that has just started
        self.scheduler = Scheduler(
            self.store, self.caller, options, self.metrics, lambda: time.monotonic_ns() - started_ns
        )

    @property
    def recorded(self) -> int:
        return sum(self.metrics.finished.values())

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        working = asyncio.create_task(self.scheduler.run())
        try:
            yield
        finally:
            self.scheduler.stop()
            await working

    async def answer_one(self, first: Endpoint, others: list[Endpoint]) -> None:
        """The first result is recorded at once, because none was lately; then the others are answered."""
        await until(lambda: self.recorded == 1, "the first result is recorded")
        for each in others:
            await self.caller.let_go(each.id)


async def endpoints_held(stores: Stores, bench: PacedBench, count: int) -> tuple[Endpoint, list[Endpoint]]:
    """Due endpoints; all but the first are answered when told."""
    first, *others = [an_endpoint() for _ in range(count)]
    await add(stores, first, *others)
    for each in others:
        bench.caller.hold(each.id)
    return first, others


async def test_results_wait_to_be_recorded_together(stores: Stores) -> None:
    bench = PacedBench(stores)
    endpoints = await endpoints_held(stores, bench, 3)

    async with bench.at_work():
        await bench.answer_one(*endpoints)
        await holds_for(lambda: bench.recorded == 1, "the others wait for more results", 0.1)

    assert (bench.recorded, bench.store.finishes) == (3, 2)


async def test_results_that_are_many_do_not_wait(stores: Stores) -> None:
    bench = PacedBench(stores)
    endpoints = await endpoints_held(stores, bench, 1 + FINISH_EARLY)

    async with bench.at_work():
        await bench.answer_one(*endpoints)
        await until(lambda: bench.recorded == 1 + FINISH_EARLY, "all are recorded", 10)


async def test_results_do_not_wait_where_an_endpoint_waits_for_a_place(stores: Stores) -> None:
    bench = PacedBench(stores, places=2)
    await endpoints_held(stores, bench, 1)
    await add(stores, *(an_endpoint() for _ in range(7)))

    async with bench.at_work():
        await until(lambda: bench.recorded == 8, "all are recorded", 10)


@pytest.mark.parametrize(("due_in", "is_paced"), [(timedelta(milliseconds=1), True), (timedelta(seconds=4), False)])
async def test_claims_are_a_pace_apart(stores: Stores, due_in: timedelta, is_paced: bool) -> None:
    bench = PacedBench(stores, pace_s=3.0)
    await add(stores, an_endpoint(next_run_at=START + due_in))

    async with bench.at_work():
        await until(lambda: bench.store.sleeps_s, "it sleeps")

    assert (1 < bench.store.sleeps_s[0] < 3.1) if is_paced else bench.store.sleeps_s[0] > 3.9


async def test_run_that_is_asked_for_does_not_wait_for_the_pace(stores: Stores) -> None:
    bench = PacedBench(stores)
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(stores, endpoint)

    async with bench.at_work():
        await until(lambda: bench.store.sleeps_s, "it sleeps")
        await change(stores, endpoint, requested())
        await until(lambda: bench.caller.requests, "it is called", 10)


async def test_endpoint_that_is_due_again_is_claimed_although_nobody_waited(stores: Stores, clock: FixedClock) -> None:
    bench = PacedBench(stores, pace_s=0.0)
    endpoint = an_endpoint()
    await add(stores, endpoint)
    bench.caller.hold()

    async with bench.at_work():
        await until(lambda: bench.store.sleeps_s, "it sleeps while the call is under way")
        clock.tick(minutes=1)
        await bench.caller.let_go()
        await until(lambda: len(bench.caller.requests) == 2, "the next slot is called", 4)  # within the tick
