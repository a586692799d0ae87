"""A clock that is far ahead for a moment: no wait ends, and if one did, the partition can be repaired."""

from datetime import timedelta

import pytest
from tests.stores.flow_world import a_ticker, a_workflow, get, log_of, publish, send, start, tick
from tests.stores.world import START, FixedClock

from mainspring.observe import Metrics
from mainspring.operations.partitions import clock_status, repair_clock
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.audit import TickWalk
from mainspring.workflow.model import LogicalClock, Status
from mainspring.workflow.replay import replay

YEAR = timedelta(days=365)


class Held:
    """A ticker that confirms a jump of the clock, with a monotonic clock of its own."""

    def __init__(self, stores: Stores, clock: FixedClock, **options: object) -> None:
        self.clock, self.monotonic_ns = clock, 0
        given = TickerOptions("ticker-1", hold=timedelta(minutes=1), **options)  # type: ignore[arg-type]  # of the test
        self.ticker = Ticker(stores.flows, given, Metrics(), monotonic_ns=lambda: self.monotonic_ns)

    async def tick(self, seconds: int) -> int:
        self.monotonic_ns += seconds * 1_000_000_000
        return await tick(self.ticker, self.clock, seconds)


async def test_clock_that_is_a_year_ahead_for_a_moment_ends_no_wait_and_stops_nothing(
    stores: Stores, clock: FixedClock
) -> None:
    flow = await publish(stores, a_workflow({"wait": {"for": "1h"}}, {"end": {"outcome": "done"}}))
    await start(stores, flow, "exe_1")
    held = Held(stores, clock)
    await held.tick(1)
    clock.at += YEAR
    turns = [await held.tick(20), await held.tick(20)]
    clock.at -= YEAR

    assert turns == [0, 0]
    assert await held.tick(3_500) == 0
    assert await held.tick(100) == 1
    assert (await get(stores, "exe_1")).status is Status.COMPLETED


async def test_jump_that_lasts_is_followed_after_a_minute(stores: Stores, clock: FixedClock) -> None:
    flow = await publish(stores, a_workflow({"wait": {"for": "1h"}}, {"end": {"outcome": "done"}}))
    await start(stores, flow, "exe_1")
    held = Held(stores, clock)
    await held.tick(1)
    clock.at += timedelta(hours=2)

    assert [await held.tick(30) for _ in range(3)] == [0, 0, 1]


async def test_clock_that_is_far_ahead_at_the_start_is_confirmed_too(stores: Stores, clock: FixedClock) -> None:
    flow = await publish(stores, a_workflow({"wait": {"for": "1h"}}, {"end": {"outcome": "done"}}))
    await start(stores, flow, "exe_1")
    await Held(stores, clock).tick(1)
    clock.at += YEAR

    turns = await Held(stores, clock, seen_at=START).tick(1)

    assert turns == 0


async def test_downtime_of_hours_is_caught_up_at_once(stores: Stores, clock: FixedClock) -> None:
    flow = await publish(stores, a_workflow({"wait": {"for": "1h"}}, {"end": {"outcome": "done"}}))
    await start(stores, flow, "exe_1")
    await tick(a_ticker(stores, lock_ttl_ms=1), clock)
    clock.at += timedelta(hours=5)

    assert await Held(stores, clock, seen_at=START).tick(1) == 1


async def a_stopped_partition(stores: Stores, clock: FixedClock) -> None:
    """`early` waits an hour twice, `patient` two years; while the clock is a year ahead, events reach both."""
    flow = await publish(
        stores, a_workflow({"wait": {"for": "1h"}}, {"wait": {"for": "400d"}}, {"end": {"outcome": "x"}})
    )
    patience = await publish(stores, a_workflow({"wait": {"for": "730d"}}, {"end": {"outcome": "x"}}, name="patience"))
    await start(stores, flow, "exe_early")
    for name in ("exe_patient", "exe_silent"):
        await start(stores, patience, name)
    ticker = a_ticker(stores)
    await tick(ticker, clock)
    clock.at += YEAR
    await send(stores, "exe_early", "hello")
    await send(stores, "exe_patient", "hello")
    await tick(ticker, clock)
    clock.at -= YEAR


async def test_repaired_partition_goes_on_and_no_wait_that_was_begun_before_is_shorter(
    stores: Stores, clock: FixedClock
) -> None:
    await a_stopped_partition(stores, clock)
    (stopped,) = (await clock_status(stores)).stopped
    (repaired,) = await repair_clock(stores, TimeOrderedIds(), "ada")
    ticker = a_ticker(stores, "ticker-2")

    assert timedelta(0) <= YEAR - stopped.ahead < timedelta(seconds=5)
    assert (repaired.waiting, repaired.moved) == (2, 2)
    assert (await clock_status(stores)).stopped == []
    # The second wait of `early` began an hour after the first by the ticks, so 365 of its 400 days have passed.
    assert await tick(ticker, clock, 35 * 86_400 + 3_599 - 60) == 0
    assert await tick(ticker, clock, 120) == 1
    assert (await get(stores, "exe_early")).status is Status.COMPLETED
    assert await tick(ticker, clock, 730 * 86_400 - 35 * 86_400 - 3_900) == 0
    assert await tick(ticker, clock, 600) == 2
    assert (await get(stores, "exe_patient")).status is Status.COMPLETED


async def test_repair_is_recorded_and_keeps_chain_and_replay_whole(stores: Stores, clock: FixedClock) -> None:
    await a_stopped_partition(stores, clock)
    flow = await publish(stores, a_workflow({"wait_for": {"event": "paid", "timeout": "3d"}}, name="paid"))
    await repair_clock(stores, TimeOrderedIds(), "ada")
    ticker = a_ticker(stores, "ticker-2")
    await start(stores, flow, "exe_paid")
    await tick(ticker, clock, 10)
    await send(stores, "exe_patient", "hello again")
    await send(stores, "exe_paid", "paid")
    await tick(ticker, clock, 400 * 86_400)
    await send(stores, "exe_patient", "after its first time")
    await tick(ticker, clock, 10)
    await tick(ticker, clock, 331 * 86_400)

    zero, resolution_ms = await stores.flows.workflows.clock(0, 1_000)
    zeros = tuple(await stores.clock.zeros(0))
    for execution_id in ("exe_early", "exe_patient", "exe_silent", "exe_paid"):
        state = (await get(stores, execution_id)).state
        version = await stores.flows.workflows.version("default", state.workflow, state.version)
        entries = await stores.flows.logs.entries("default", execution_id, 0, 1_000)
        assert version is not None
        again = replay(version.workflow, entries, state.salt, zero, resolution_ms, zeros)
        assert again.identical, (execution_id, again.differences, await log_of(stores, execution_id))
    walk = TickWalk(0)
    for head in await stores.flows.logs.ticks(0, 0, 1_000):
        assert walk.take(head) is None
    assert [report.kind for report in await stores.clock.reports(START - YEAR, 10)] == ["repair"]


async def test_repair_leaves_a_partition_alone_that_is_not_ahead(stores: Stores, clock: FixedClock) -> None:
    flow = await publish(stores, a_workflow({"wait": {"for": "1h"}}, {"end": {"outcome": "done"}}))
    await start(stores, flow, "exe_1")
    await tick(a_ticker(stores), clock)

    assert await repair_clock(stores, TimeOrderedIds(), "ada") == []
    assert await stores.clock.repair_partition(0) is None
    assert await stores.clock.zeros(0) == []


@pytest.mark.parametrize(("tick_number", "zero"), [(0, START), (99, START), (100, START - YEAR), (500, START - YEAR)])
def test_repaired_clock_counts_earlier_ticks_from_the_earlier_instant(tick_number: int, zero: object) -> None:
    clock = LogicalClock(0, START - YEAR, 1_000, ((0, START), (100, START - YEAR)))

    assert clock.as_of(tick_number).epoch == zero
