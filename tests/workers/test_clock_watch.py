"""The clock watch on both databases: the clock moves when it is told to, and the monotonic clock apart from it."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.event import EventType
from mainspring.domain.run import ENDED_BY_CALL, Run
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import SystemClock, TimeOrderedIds
from mainspring.wiring.stores import open_stores
from mainspring.workers.clock_watch import ClockWatch, ClockWatchOptions
from mainspring.workers.scheduler import Scheduler, SchedulerOptions
from tests.faults.ledger import all_runs
from tests.harness.waiting import until
from tests.stores.world import START, FixedClock, add, an_endpoint, change, claim, finished, get, requested, told
from tests.workers.fakes import ScriptedCaller

HOUR = timedelta(hours=1)
YEAR = timedelta(days=365)


class Stage:
    """A scheduler and a clock watch on one store, with a database clock that can be set apart from time passing."""

    def __init__(self, stores: Stores, clock: FixedClock) -> None:
        self.stores, self.clock, self.metrics = stores, clock, Metrics()
        self.here = FixedClock()
        self.monotonic_ns = 0
        self.caller = ScriptedCaller()
        self.scheduler = Scheduler(stores.schedule, self.caller, SchedulerOptions("worker-1"), Metrics())
        self.watch = self.another_watch()

    def another_watch(self, worker: str = "worker-1") -> ClockWatch:
        options = ClockWatchOptions(worker)
        return ClockWatch(
            self.stores.clock, self.here, TimeOrderedIds(), options, self.metrics, lambda: self.monotonic_ns
        )

    def pass_time(self, seconds: float) -> None:
        self.clock.tick(seconds=seconds)
        self.here.tick(seconds=seconds)
        self.monotonic_ns += int(seconds * 1e9)

    def set_clock(self, by: timedelta) -> None:
        self.clock.at += by
        self.here.at += by

    async def live(self, seconds: int, every: int = 1) -> None:
        for _ in range(0, seconds, every):
            await self.scheduler.run_once()
            await self.watch.run_once()
            self.pass_time(every)


@pytest.fixture
def stage(stores: Stores, clock: FixedClock) -> Stage:
    return Stage(stores, clock)


@pytest.mark.parametrize("back", [HOUR, HOUR + timedelta(seconds=17), YEAR], ids=str)
async def test_runs_go_on_within_seconds_after_the_clock_was_an_hour_ahead_and_set_back(
    stage: Stage, back: timedelta
) -> None:
    every_minute, every_ten = an_endpoint(), an_endpoint(interval_ms=10_000)
    await add(stage.stores, every_minute, every_ten)
    await stage.live(120)
    stage.set_clock(back)
    await stage.live(120)
    stage.set_clock(-back)
    before = len(stage.caller.requests)
    await stage.live(120)

    after = [request.endpoint_id for request in stage.caller.requests[before:]]
    assert after.count(every_minute.id) == 2
    assert after.count(every_ten.id) in (11, 12)
    assert_no_slot_ran_twice(await all_runs(stage.stores))


async def test_no_cron_slot_runs_twice_when_the_clock_reaches_it_again(stage: Stage, clock: FixedClock) -> None:
    first = START + timedelta(minutes=1)
    cron = an_endpoint(cron="* * * * *", next_run_at=first, anchor_at=START)
    await add(stage.stores, cron)
    await stage.live(120, every=10)
    stage.set_clock(HOUR)
    await stage.live(300, every=10)
    stage.set_clock(-HOUR)
    await stage.live(2 * 3_600, every=10)

    runs = [run for run in await all_runs(stage.stores) if run.status in ENDED_BY_CALL]
    assert_no_slot_ran_twice(runs)
    slots = {run.slot_at for run in runs}
    assert slots == {START + timedelta(minutes=minute) for minute in (1, *range(8, 127))}  # 2 to 7: never shown


async def test_a_slot_is_never_run_before_its_time_after_a_step_back(stage: Stage) -> None:
    await add(stage.stores, an_endpoint(), an_endpoint(cron="*/5 * * * *", next_run_at=START))
    for by in (HOUR, -HOUR, timedelta(minutes=7), -timedelta(minutes=3)):
        await stage.live(90)
        stage.set_clock(by)
    await stage.live(300)

    assert [run for run in await all_runs(stage.stores) if run.missed_count == 0 and run.started_at < run.slot_at] == []


async def test_a_run_in_flight_at_the_step_is_replanned_when_it_has_ended(stage: Stage, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stage.stores, endpoint)
    await stage.watch.run_once()
    stage.set_clock(HOUR)
    (held,) = (await claim(stage.stores)).claims
    stage.set_clock(-HOUR)
    for _ in range(2):
        await stage.watch.run_once()
        stage.pass_time(1)
    await stage.stores.schedule.finish([finished(held)])
    for _ in range(12):
        await stage.watch.run_once()
        stage.pass_time(1)

    next_run_at = (await get(stage.stores, endpoint)).next_run_at
    assert next_run_at is not None
    assert next_run_at <= clock.now() + timedelta(minutes=1)


async def test_the_lease_of_a_worker_that_died_under_a_clock_ahead_ends_in_time(stage: Stage) -> None:
    endpoint = an_endpoint()
    await add(stage.stores, endpoint)
    await stage.watch.run_once()
    stage.set_clock(YEAR)
    await claim(stage.stores)
    stage.set_clock(-YEAR)
    for _ in range(2):
        await stage.watch.run_once()
    stage.pass_time(61)

    assert [each.attempt for each in (await claim(stage.stores)).claims] == [2]


async def test_a_requested_run_does_not_wait_for_a_clock_that_was_ahead(stage: Stage, clock: FixedClock) -> None:
    endpoint = an_endpoint(cron="0 0 * * *", next_run_at=START + timedelta(days=1), anchor_at=START)
    await add(stage.stores, endpoint)
    await stage.watch.run_once()
    stage.set_clock(HOUR)
    await change(stage.stores, endpoint, requested())
    stage.set_clock(-HOUR)
    for _ in range(2):
        await stage.watch.run_once()

    assert len((await claim(stage.stores)).claims) == 1


async def test_what_its_schedule_allows_is_left_alone(stage: Stage, clock: FixedClock) -> None:
    untouched: list[Endpoint] = [
        an_endpoint(cron="0 0 1 1 *", anchor_at=START, next_run_at=datetime(2026, 1, 1, tzinfo=UTC)),
        an_endpoint(interval_ms=7_200_000, anchor_at=START, next_run_at=START + 2 * HOUR),
        an_endpoint(anchor_at=START, paused_until=START + 9 * HOUR, next_run_at=START + 9 * HOUR, source="paused"),
        an_endpoint(interval_ms=10_000, anchor_at=START, next_run_at=START + timedelta(minutes=5)),  # faulty
        an_endpoint(anchor_at=START, failure_count=5, next_run_at=START + timedelta(minutes=32)),
    ]
    await add(stage.stores, *untouched)
    await stage.watch.run_once()
    stage.set_clock(HOUR)
    await stage.watch.run_once()
    stage.set_clock(-HOUR)
    changed = [await stage.watch.run_once() for _ in range(3)]

    assert changed == [0, 0, 0]
    assert [(await get(stage.stores, each)).next_run_at for each in untouched] == [
        each.next_run_at for each in untouched
    ]


async def test_a_step_while_no_process_ran_is_found_by_the_newest_heartbeat(stage: Stage, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stage.stores, endpoint)
    stage.set_clock(HOUR)
    await stage.scheduler.run_once()
    await stage.stores.presence.appear("worker-0")
    await stage.stores.presence.beat("worker-0", {"scheduler": 1})
    stage.set_clock(-HOUR)

    changed = [await stage.watch.run_once() for _ in range(2)]

    assert changed == [0, 1]
    next_run_at = (await get(stage.stores, endpoint)).next_run_at
    assert next_run_at is not None
    assert next_run_at <= clock.now() + timedelta(minutes=1)
    assert [row.id for row in await stage.stores.presence.alive()] == ["worker-0"]
    assert [await stage.another_watch().run_once() for _ in range(2)] == [0, 0]


async def test_a_new_database_has_stored_no_instant_and_an_event_counts_as_one(stores: Stores) -> None:
    new = await stores.clock.newest_stored_at()
    await add(stores, an_endpoint())

    assert (new, await stores.clock.newest_stored_at()) == (None, START)


async def test_a_step_is_reported_once_by_all_processes_together(stage: Stage, clock: FixedClock) -> None:
    other = stage.another_watch("worker-2")
    await add(stage.stores, an_endpoint())
    for by in (timedelta(0), HOUR, timedelta(0), -HOUR, timedelta(0)):
        stage.set_clock(by)
        await stage.watch.run_once()
        await other.run_once()
        stage.pass_time(1)

    reports = await stage.stores.clock.reports(START - YEAR, 10)
    assert sorted(report.ms for report in reports) == [-3_600_000, 3_600_000]
    events = [event for event in await told(stage.stores) if event.type is EventType.CLOCK_STEPPED]
    assert [event.data["ms"] for event in events] == [3_600_000, -3_600_000]
    assert stage.metrics.clock_steps == {"ahead": 2, "back": 2}


async def test_a_slow_answer_and_a_slewed_clock_are_no_steps(stage: Stage) -> None:
    for seconds in (1, 1, 45, 1):
        await stage.watch.run_once()
        stage.pass_time(seconds)
        stage.set_clock(timedelta(milliseconds=-400))
    await stage.watch.run_once()

    assert stage.metrics.clock_steps == {}


async def test_a_worker_whose_clock_differs_by_more_than_30_s_reports_it(stage: Stage) -> None:
    stage.here.tick(seconds=29)
    await stage.watch.run_once()
    near = await stage.stores.clock.reports(START - YEAR, 10)
    stage.here.tick(seconds=2)
    for _ in range(3):
        await stage.watch.run_once()
        stage.pass_time(1)

    assert near == []
    (report,) = await stage.stores.clock.reports(START - YEAR, 10)
    assert (report.kind, report.ms, report.worker) == ("skew", 31_000, "worker-1")
    events = [event for event in await told(stage.stores) if event.type is EventType.CLOCK_DIFFERS]
    assert [event.data["ms"] for event in events] == [31_000]
    assert stage.metrics.clock_skew_seconds == 31


def assert_no_slot_ran_twice(runs: list[Run]) -> None:
    slots = [(run.endpoint_id, run.slot_at) for run in runs if run.status in ENDED_BY_CALL]
    assert len(slots) == len(set(slots))


async def test_one_endpoint_that_cannot_be_planned_keeps_no_other_waiting(stage: Stage, clock: FixedClock) -> None:
    ran_at = START + HOUR
    bad = an_endpoint(cron="* * * * *", timezone="Nowhere/Atlantis", anchor_at=ran_at, next_run_at=ran_at + HOUR)
    good = an_endpoint(anchor_at=ran_at, next_run_at=ran_at + timedelta(minutes=1))
    await add(stage.stores, bad, good)

    page = await stage.stores.clock.bring_back("", 100, HOUR, 30_000)

    assert page.changed == 2
    assert (await get(stage.stores, bad)).next_run_at == START + timedelta(minutes=5)
    assert (await get(stage.stores, good)).next_run_at == START + timedelta(minutes=1, milliseconds=-1)
    assert EventType.ENDPOINT_FAULTY in [event.type for event in await told(stage.stores)]


async def test_real_loops_go_on_within_five_seconds_after_the_clock_was_set_back(store_url: str) -> None:
    """The loops as a process runs them, on a clock that shows the time and can be set."""
    clock = SettableClock()
    async with open_stores(store_url, clock=clock) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        now = clock.now()
        await add(stores, an_endpoint(interval_ms=1_000, anchor_at=now, next_run_at=now))
        caller = ScriptedCaller()
        scheduler = Scheduler(stores.schedule, caller, SchedulerOptions("worker-1"), Metrics())
        watch = ClockWatch(stores.clock, clock, TimeOrderedIds(), ClockWatchOptions("worker-1"), Metrics())
        loops = [asyncio.create_task(each.run()) for each in (scheduler, watch)]
        await until(lambda: caller.requests, "a first call")
        clock.ahead += HOUR
        seen = len(caller.requests)
        await until(lambda: len(caller.requests) > seen + 1, "calls while the clock is ahead")
        clock.ahead -= HOUR
        seen, set_back_s = len(caller.requests), time.monotonic()
        await until(lambda: len(caller.requests) > seen + 2, "calls after the clock was set back")
        took_s = time.monotonic() - set_back_s
        scheduler.stop()
        watch.stop()
        await asyncio.gather(*loops)

    assert took_s < 10, took_s  # two rounds of the watch and three intervals; five seconds on an idle machine


class SettableClock:
    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return SystemClock().now() + self.ahead
