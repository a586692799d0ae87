"""Upkeep: zombies, retention in small batches, the backlog, workers, values of the installation."""

import asyncio
from datetime import timedelta

from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished, run_slot

from mainspring.domain.event import Event, EventType
from mainspring.domain.run import RunStatus
from mainspring.ports import Retention, RunFilter, Stores

NEVER = START - timedelta(days=3650)
FIVE_MINUTES_MS = 300_000


async def sweep_all(stores: Stores, keep: Retention, batch: int) -> list[int]:
    removed = []
    while True:
        swept = await stores.upkeep.sweep(keep, batch)
        removed.append(swept.removed)
        if swept.done:
            return removed


async def run_often(stores: Stores, clock: FixedClock, times: int) -> None:
    for _ in range(times):
        await run_slot(stores, clock)
        clock.tick(minutes=1)


async def statuses(stores: Stores) -> list[RunStatus]:
    return [run.status for run in await stores.runs.runs("default", RunFilter(limit=1000))]


async def test_run_nobody_finished_is_closed_as_timeout_only_long_after_its_lease(
    stores: Stores, clock: FixedClock
) -> None:
    await add(stores, an_endpoint())
    await claim(stores)  # its lease ends after a minute
    clock.tick(minutes=5, seconds=59)
    assert await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100) == 0

    clock.tick(seconds=2)

    assert await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100) == 1
    assert await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100) == 0
    assert await statuses(stores) == [RunStatus.TIMEOUT]


async def test_result_of_a_run_that_was_closed_as_a_zombie_still_counts_while_nobody_took_it_over(
    stores: Stores, clock: FixedClock
) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims
    clock.tick(minutes=10)
    await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100)

    await stores.schedule.finish([finished(each)])

    assert await statuses(stores) == [RunStatus.SUCCESS]


async def test_runs_older_than_wanted_go_in_batches_and_newer_ones_stay(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await run_often(stores, clock, 5)
    keep = Retention(START + timedelta(minutes=3), NEVER, NEVER, 10_000)

    removed = await sweep_all(stores, keep, batch=2)

    assert [count for count in removed if count] == [2, 1]
    assert len(await statuses(stores)) == 2


async def test_runs_beyond_the_wanted_number_go_oldest_first(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint(), an_endpoint(interval_ms=120_000))
    await run_often(stores, clock, 6)
    newest = {run.id for run in await stores.runs.runs("default", RunFilter(limit=4))}

    await sweep_all(stores, Retention(NEVER, NEVER, NEVER, 2), batch=100)

    runs = await stores.runs.runs("default", RunFilter(limit=1000))
    per_endpoint = [sum(run.endpoint_id == each for run in runs) for each in {run.endpoint_id for run in runs}]
    assert per_endpoint == [2, 2]
    assert newest & {run.id for run in runs}


async def test_bodies_go_before_their_runs(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await run_often(stores, clock, 2)
    new, old = await stores.runs.runs("default", RunFilter())

    await sweep_all(stores, Retention(NEVER, START + timedelta(minutes=1), NEVER, 10_000), batch=100)

    assert await stores.runs.body("default", old.id) is None
    assert await stores.runs.body("default", new.id) is not None
    assert len(await statuses(stores)) == 2


async def test_running_runs_are_never_swept(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await claim(stores)
    clock.tick(days=400)

    await sweep_all(stores, Retention(clock.now(), clock.now(), clock.now(), 1), batch=100)

    assert await statuses(stores) == [RunStatus.RUNNING]


async def test_old_events_go(stores: Stores, clock: FixedClock) -> None:
    await stores.runs.add_events([Event(EventType.RUN_MISSED, START, "default")])
    later = START + timedelta(days=1)
    await stores.runs.add_events([Event(EventType.RUN_MISSED, later, "default")])

    await sweep_all(stores, Retention(NEVER, NEVER, later, 10_000), batch=100)

    assert [each.event.at for each in await stores.runs.events_after("", None, 10)] == [later]


async def test_backlog_counts_what_is_late_and_not_what_runs(stores: Stores, clock: FixedClock) -> None:
    await add(stores, *(an_endpoint() for _ in range(3)))
    await claim(stores, limit=1)
    clock.tick(seconds=6)

    backlog = await stores.upkeep.backlog(5_000)

    assert (backlog.due, backlog.oldest_due_at, backlog.running) == (2, START, 1)
    assert (await stores.upkeep.backlog(7_000)).due == 0


async def test_workers_are_those_seen_lately(stores: Stores, clock: FixedClock) -> None:
    await stores.schedule.heartbeat("old", "scheduler", 10)
    clock.tick(minutes=1)
    await stores.schedule.heartbeat("new", "scheduler", 20)

    assert [(row.id, row.places) for row in await stores.upkeep.workers(30_000)] == [("new", 20)]
    assert len(await stores.upkeep.workers(120_000)) == 2


async def test_value_of_the_installation_is_set_once_by_whoever_comes_first(
    stores: Stores, other_stores: Stores
) -> None:
    values = await asyncio.gather(
        stores.upkeep.installation("key", "one"), other_stores.upkeep.installation("key", "two")
    )

    assert len(set(values)) == 1
    assert await stores.upkeep.installation("key", "three") == values[0]
