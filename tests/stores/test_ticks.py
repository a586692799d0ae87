"""Ticks on real databases: order, cap, catch-up, one writer, fencing, retention."""

import asyncio
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.api.test_store_calls import CountedPort
from tests.stores.databases import query
from tests.stores.flow_world import SALT, a_ticker, a_workflow, get, log_of, order, publish, send, start, tick
from tests.stores.world import FixedClock

from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import WorkflowStores
from mainspring.stores.postgres.ticks import FIRST_BATCH
from mainspring.workers.ticker import RETRY_S, Ticker, TickerOptions
from mainspring.workflow.audit import verify, verify_ticks
from mainspring.workflow.model import LogicalClock, Status
from mainspring.workflow.tick import TickRun, partition_of

ROOT = Path(__file__).parents[2]
# What the executions of the downtime test come to, on every database, with and without downtime.
GOLDEN_HEADS = ["88bd8fa1", "0a8a6086", "9e558beb", "e88d16e7", "3fa19be4", "c2bf9ed4"]


async def heads(stores: Stores, partition: int = 0) -> list[tuple[int, list[str]]]:
    """Which executions each tick moved."""
    ticks = await stores.flows.logs.ticks(partition, 0, 10_000)
    return [(head.tick, [each for each, _, _ in head.heads]) for head in ticks]


async def assert_sound(stores: Stores, partition: int = 0) -> None:
    """The chain of ticks is whole, and so is every log that it names."""
    end = await stores.flows.logs.partition_end(partition)
    breach, ends = verify_ticks(partition, await stores.flows.logs.ticks(partition, 0, 100_000), end)
    assert breach is None
    assert set(ends) == set(await stores.flows.logs.log_ids(partition))
    for execution_id in ends:
        anchors = await stores.flows.logs.anchors(partition, execution_id)
        entries = await stores.flows.logs.entries("default", execution_id, 0, 100_000)
        assert verify(execution_id, SALT, entries, anchors).valid


async def test_execution_starts_in_its_tick_and_waits_in_ticks(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"wait": "3d"}, {"end": "done"}))
    await start(stores, workflow, "x1")
    ticker = a_ticker(stores)

    await tick(ticker, clock)
    assert (await get(stores, "x1")).state.wake_tick == 259_200
    assert await tick(ticker, clock, 259_198) == 0
    await tick(ticker, clock)
    assert (await get(stores, "x1")).status is Status.COMPLETED
    await assert_sound(stores)


async def test_order_within_a_tick_is_by_ready_tick_then_id(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"end": "done"}))
    ticker = a_ticker(stores, executions_per_tick=2)
    await ticker.run_once()
    for name in ("x3", "x1", "x2"):
        await start(stores, workflow, name)
    clock.tick(seconds=1)
    await start(stores, workflow, "x0")

    await tick(ticker, clock, 5)

    assert await heads(stores) == [(0, ["x1", "x2"]), (1, ["x0", "x3"])]


async def test_cap_starves_nobody(stores: Stores, clock: FixedClock) -> None:
    """High ids would wait for ever behind low ones that are ready again in every tick, if id alone were the order."""
    busy = await publish(
        stores, a_workflow({"wait": "1s"}, {"wait": "1s", "next": "s0", "visits": 10_000}, name="busy")
    )
    once = await publish(stores, a_workflow({"end": "done"}, name="once"))
    for number in range(5):
        await start(stores, busy, f"a{number}")
    await start(stores, once, "z")
    ticker = a_ticker(stores, executions_per_tick=3)

    for _ in range(4):
        await tick(ticker, clock)

    assert (await get(stores, "z")).status is Status.COMPLETED


async def test_event_is_taken_in_the_tick_after_it_came_and_numbered_by_the_writer(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    workflow = await publish(stores, a_workflow({"wait_for": {"event": "go", "timeout": "1h"}}, {"end": "done"}))
    await start(stores, workflow, "x1")
    ticker = a_ticker(stores)
    await tick(ticker, clock)
    clock.tick(milliseconds=300)
    await send(stores, "x1", "other", "b")
    clock.tick(milliseconds=300)
    await send(stores, "x1", "go", "a")
    assert await ticker.run_once() == 0

    await tick(ticker, clock)

    assert (await log_of(stores, "x1"))[2:] == ["2:s0:event", "2:s0:event", "2:s0:received", "2:s1:end"]
    rows = await query(store_url, "SELECT id, number, tick FROM execution_arrival ORDER BY number")
    assert rows == [("b", 1, 2), ("a", 2, 2)]


async def test_event_with_an_id_that_was_seen_is_ignored(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"wait": "1h"}))
    await start(stores, workflow, "x1")

    assert [await send(stores, "x1", "go", "same"), await send(stores, "x1", "go", "same")] == [1, 0]
    ticker = a_ticker(stores)
    await tick(ticker, clock, 2)
    assert await send(stores, "x1", "go", "same") == 0


async def test_late_event_is_kept_and_marked(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"end": "done"}))
    await start(stores, workflow, "x1")
    ticker = a_ticker(stores)
    await tick(ticker, clock)

    await send(stores, "x1", "go")
    await tick(ticker, clock, 2)

    assert (await log_of(stores, "x1"))[-1] == "2:s0:event.late"
    await assert_sound(stores)


@pytest.mark.parametrize("is_down", [False, True], ids=["without downtime", "with a day of downtime"])
async def test_downtime_changes_no_trace(stores: Stores, clock: FixedClock, is_down: bool) -> None:
    """The same starts and events at the same instants; a ticker that slept for a day catches up, tick by tick."""
    step = {"wait_for": {"event": "go", "where": "event.data.n > 1", "timeout": "20h", "on_timeout": "s2"}}
    workflow = await publish(stores, a_workflow({"wait": "1h"}, step, {"wait": {"cron": "0 9 * * *"}}, {"end": "done"}))
    ticker = a_ticker(stores)
    for number in range(6):
        await start(stores, workflow, f"x{number}")
    for hour in range(40):
        if hour in (3, 10, 22):
            await send(stores, f"x{hour % 6}", "go", f"e{hour}", n=hour % 4)
        clock.tick(hours=1)
        if not is_down or hour == 39:
            while await ticker.run_once():
                pass

    assert [(await get(stores, f"x{number}")).state.head[:8] for number in range(6)] == GOLDEN_HEADS
    await assert_sound(stores)


async def test_clock_that_goes_back_stops_the_ticks_until_it_has_caught_up(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"wait": "2s"}, {"end": "done"}))
    await start(stores, workflow, "x1")
    ticker = a_ticker(stores)
    await tick(ticker, clock, 10)

    clock.at -= timedelta(hours=1)
    assert await tick(ticker, clock, 60) == 0
    await tick(ticker, clock, 3600)
    assert (await get(stores, "x1")).status is Status.COMPLETED


async def test_partition_has_one_writer_until_its_lease_is_over(stores: Stores, clock: FixedClock) -> None:
    await stores.flows.workflows.clock(0, 1_000)
    first = await stores.flows.ticks.lead(0, "one", 30_000)
    assert first is not None
    assert await stores.flows.ticks.lead(0, "two", 30_000) is None

    clock.tick(seconds=29)
    assert await stores.flows.ticks.renew(first, 30_000)
    clock.tick(seconds=29)
    assert await stores.flows.ticks.lead(0, "two", 30_000) is None
    clock.tick(seconds=1)
    second = await stores.flows.ticks.lead(0, "two", 30_000)
    assert second is not None
    assert second.epoch == first.epoch + 1
    assert not await stores.flows.ticks.renew(first, 30_000)


async def test_ticker_on_standby_asks_for_the_lease_and_does_nothing_else(stores: Stores, clock: FixedClock) -> None:
    await tick(a_ticker(stores, "one"), clock)
    calls: list[str] = []
    flows = WorkflowStores(
        *(CountedPort(getattr(stores.flows, each), each, calls) for each in WorkflowStores.__struct_fields__)  # type: ignore[arg-type]  # of any port
    )
    standby = Ticker(flows, TickerOptions("two"), Metrics())

    await tick(standby, clock)

    assert calls == ["ticks.is_led"]


async def test_whoever_resigns_lets_others_lead_at_once(stores: Stores) -> None:
    await stores.flows.workflows.clock(0, 1_000)
    first = await stores.flows.ticks.lead(0, "one", 30_000)
    assert first is not None

    await stores.flows.ticks.resign(first)

    assert await stores.flows.ticks.lead(0, "two", 30_000) is not None


async def test_paused_leader_writes_nothing_after_a_takeover_and_steps_down(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    workflow = await publish(stores, a_workflow({"wait": "1s"}, {"wait": "1s", "next": "s0", "visits": 10_000}))
    await start(stores, workflow, "x1")
    old, new = a_ticker(stores, "old"), a_ticker(other_stores, "new")
    await tick(old, clock)
    lead = old.leads[0]
    load = await stores.flows.ticks.load_tick(lead, 500)
    clock.tick(seconds=40)
    load = await stores.flows.ticks.load_tick(lead, 500)
    assert load.tick is not None
    turns = TickRun(
        load.ready, lambda *_: workflow, LogicalClock(load.tick, lead.zero), 0, lead.sequence + 1, lead.head, lead.epoch
    )

    await tick(new, clock)
    assert await stores.flows.ticks.commit_tick(lead, turns, load.wall, 30_000) is None

    assert await tick(old, clock) == 0
    assert old.leads == {}
    await assert_sound(stores)


async def test_two_writers_that_race_write_every_tick_once(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    """Both believe that they lead, as two processes do when one was stopped beyond its lease; each tick is one's."""
    assert await race(stores, other_stores, clock) > 0
    await assert_sound(stores)


async def race(stores: Stores, other_stores: Stores, clock: FixedClock) -> int:
    """Two tickers on one partition, with leases that are over at once; how often one of them stepped down."""
    workflow = await publish(stores, a_workflow({"wait": "1s"}, {"wait": "1s", "next": "s0", "visits": 10_000}))
    for number in range(5):
        await start(stores, workflow, f"x{number}")
    tickers = [a_ticker(stores, "one", lock_ttl_ms=0), a_ticker(other_stores, "two", lock_ttl_ms=0)]
    for _ in range(25):
        clock.tick(seconds=1)
        await asyncio.gather(*(each.run_once() for each in tickers))
    return sum(each._metrics.step_downs for each in tickers)


def test_without_the_comparison_two_writers_break_the_chain(tmp_path: Path) -> None:
    """The negative control: the same race with the compare-and-set switched off must be noticed."""
    code = (
        "import asyncio\n"
        "from tests.stores.test_ticks import race, assert_sound\n"
        "from tests.stores.world import FixedClock\n"
        "from mainspring.wiring.stores import open_stores\n"
        "async def main():\n"
        "    clock = FixedClock()\n"
        f"    url = 'sqlite://{tmp_path}/m.db'\n"
        "    async with open_stores(url, clock=clock) as one, open_stores(url, clock=clock) as two:\n"
        "        await race(one, two, clock)\n"
        "        await assert_sound(one)\n"
        "asyncio.run(main())\n"
    )
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/src:{ROOT}", "MAINSPRING_FAILPOINTS": "no_tick_fence"}

    ended = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, check=False)

    assert ended.returncode != 0
    assert b"AssertionError" in ended.stderr or b"Constraint" in ended.stderr, ended.stderr[-500:]


async def test_partitions_are_independent_and_executions_keep_theirs(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"wait": "2s"}, {"end": "done"}))
    names = [f"x{number}" for number in range(12)]
    for name in names:
        await start(stores, workflow, name, partitions=4)
    ticker = a_ticker(stores, partitions=(0, 1, 2, 3))

    await tick(ticker, clock, 5)

    for partition in range(4):
        mine = [name for name in names if partition_of(name, 4) == partition]
        assert sorted(await stores.flows.logs.log_ids(partition)) == sorted(mine)
        await assert_sound(stores, partition)


async def test_orders_reach_the_engine_and_stand_in_the_log(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"wait": "1h"}))
    await start(stores, workflow, "x1")
    ticker = a_ticker(stores)
    await tick(ticker, clock)
    await order(stores, "x1", "pause")
    await tick(ticker, clock, 2)
    assert (await get(stores, "x1")).status is Status.PAUSED

    await order(stores, "x1", "cancel")
    await tick(ticker, clock, 2)

    assert (await get(stores, "x1")).status is Status.CANCELLED
    assert [line.split(":")[2] for line in await log_of(stores, "x1")] == ["start", "wait", "command", "command", "end"]


async def test_execution_that_breaks_the_engine_stops_alone(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"end": "done"}))
    gone = a_workflow({"end": "done"}, name="never published")
    await start(stores, gone, "x1")
    await start(stores, workflow, "x2")

    await tick(a_ticker(stores), clock)

    assert (await get(stores, "x1")).status is Status.FAILED
    assert (await get(stores, "x2")).status is Status.COMPLETED
    await assert_sound(stores)


async def test_tick_of_many_is_one_tick_whatever_number_is_written_at_a_time(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"set": {"n": "input.n"}}, {"wait": "1s"}, {"end": "done"}))
    names = [f"x{number:03}" for number in range(FIRST_BATCH + 1)]
    for number, name in enumerate(names):
        await start(stores, workflow, name, {"n": number})

    ticker = a_ticker(stores)
    turns = await tick(ticker, clock, 0) + await tick(ticker, clock)

    assert turns == 2 * len(names)
    assert await heads(stores) == [(0, names), (1, names)]
    await assert_sound(stores)


async def test_waiting_executions_cost_nothing(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"wait": "30d"}))
    for number in range(20):
        await start(stores, workflow, f"x{number}")
    ticker = a_ticker(stores)
    await tick(ticker, clock)
    before = await heads(stores)

    for _ in range(5):
        assert await tick(ticker, clock) == 0

    assert await heads(stores) == before


async def test_retention_removes_what_ended_and_says_so_in_the_chain(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"end": "done"}))
    waiting = await publish(stores, a_workflow({"wait": "90d"}, name="waiting"))
    await start(stores, workflow, "x1")
    await start(stores, waiting, "x2")
    ticker = a_ticker(stores, keep=timedelta(days=30))
    await tick(ticker, clock)

    assert await ticker.sweep_once(clock.now()) == 0
    clock.tick(days=31)
    assert await ticker.sweep_once(clock.now()) == 1

    assert await stores.flows.workflows.execution("default", "x1") is None
    assert await stores.flows.logs.log_ids(0) == ["x2"]
    await assert_sound(stores)


async def test_retention_keeps_up_while_every_tick_has_work(stores: Stores, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"end": "done"}))
    waits = ({"wait": "1s", "visits": 99}, {"wait": "1s", "next": "s0", "visits": 99})
    busy = await publish(stores, a_workflow(*waits, name="busy"))
    await start(stores, busy, "busy")
    for number in range(3):
        await start(stores, workflow, f"x{number}")
    ticker = a_ticker(stores, keep=timedelta(seconds=2))
    for _ in range(5):
        await tick(ticker, clock)

    assert await ticker.sweep_once(clock.now()) == 0  # the present tick is written
    await tick(ticker, clock)

    assert await stores.flows.logs.log_ids(0) == ["busy"]
    assert (await heads(stores))[-1][1] == ["busy", "x0", "x1", "x2"]
    await assert_sound(stores)


async def test_deleted_execution_and_cut_log_are_noticed(stores: Stores, store_url: str, clock: FixedClock) -> None:
    workflow = await publish(stores, a_workflow({"wait": "1s"}, {"end": "done"}))
    for name in ("x1", "x2"):
        await start(stores, workflow, name)
    await tick(a_ticker(stores), clock, 5)

    await query(store_url, "DELETE FROM execution_entry WHERE execution_id = 'x1' AND number > 2")
    verdict = verify(
        "x1", SALT, await stores.flows.logs.entries("default", "x1", 0, 100), await stores.flows.logs.anchors(0, "x1")
    )
    await query(store_url, "DELETE FROM execution WHERE id = 'x2'")
    _, ends = verify_ticks(0, await stores.flows.logs.ticks(0, 0, 100))

    assert verdict.breach is not None
    assert verdict.breach.number == 3
    assert set(ends) - set(await stores.flows.logs.log_ids(0)) == {"x2"}


async def test_log_of_another_tenants_execution_is_empty(stores: Stores, clock: FixedClock) -> None:
    await start(stores, await publish(stores, a_workflow({"end": "done"})), "x1")
    await tick(a_ticker(stores), clock)

    assert len(await stores.flows.logs.entries("default", "x1", 0, 10)) > 0
    assert await stores.flows.logs.entries("another", "x1", 0, 10) == []


async def test_readers_enqueue_while_the_writer_runs(stores: Stores, other_stores: Stores, clock: FixedClock) -> None:
    """Starts and events of other processes wait for no tick, and no tick waits for them; all of them are taken."""
    workflow = await publish(stores, a_workflow({"wait_for": {"event": "go", "timeout": "1h"}}, {"end": "done"}))
    ticker = a_ticker(stores)
    names = [f"x{number}" for number in range(20)]

    async def write() -> None:
        for _ in range(20):
            await tick(ticker, clock)

    async def enqueue() -> None:
        for name in names:
            await start(other_stores, workflow, name)
            await send(other_stores, name, "go")

    await asyncio.gather(write(), enqueue())
    await tick(ticker, clock, 3)

    assert {(await get(stores, name)).status for name in names} == {Status.COMPLETED}
    await assert_sound(stores)


def test_defaults_are_500_a_tick_a_lock_of_30_s_renewed_in_time_and_a_try_every_second() -> None:
    options = TickerOptions("t1")

    assert (options.executions_per_tick, options.lock_ttl_ms, options.interval_s, options.resolution_ms) == (
        500, 30_000, 1.0, 1_000,
    )  # fmt: skip
    assert RETRY_S == 1.0
