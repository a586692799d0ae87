"""A scheduler sleeps until the next slot; whatever moves one earlier meanwhile, from wherever, must wake it."""

import asyncio
from datetime import timedelta

import pytest

from mainspring.domain.schedule.changes import Act
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.workers.scheduler import EARLY_S, Scheduler, SchedulerOptions
from tests.harness.waiting import holds_for, until
from tests.stores.world import START, add, an_endpoint, change, claim, finished, hinted, hinted_once, requested
from tests.workers.fakes import FaultyStore, ScriptedCaller

HEARD_S = 0.3  # how long a notification may take through the database; a store has no way to say that it heard one


@pytest.mark.parametrize(
    ("due_in", "slept"),
    [
        pytest.param(timedelta(seconds=3), 3.0, id="until the earliest slot"),
        pytest.param(timedelta(hours=1), 5.0, id="for one tick, where the earliest slot is later"),
        pytest.param(None, 5.0, id="for one tick, where nothing is planned"),
    ],
)
async def test_a_scheduler_sleeps(stores: Stores, due_in: timedelta | None, slept: float) -> None:
    later = [START + due_in, START + due_in + timedelta(seconds=1)] if due_in else [None]
    await add(stores, *(an_endpoint(next_run_at=at) for at in later))
    store = FaultyStore(stores.schedule)
    scheduler = Scheduler(store, ScriptedCaller(), SchedulerOptions("worker-1"), Metrics())
    working = asyncio.create_task(scheduler.run())

    await until(lambda: store.sleeps_s, "it falls asleep")

    scheduler.stop()
    await working
    assert store.sleeps_s[0] == slept + EARLY_S


async def fall_asleep_and_wake(stores: Stores, other_stores: Stores) -> None:
    """Until a change of another process wakes us: from then on everything is listened to."""
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(stores, endpoint)
    for _ in range(40):
        asleep = asyncio.create_task(stores.schedule.wait_for_change(0.5))
        await change(other_stores, endpoint, hinted_once(timedelta(minutes=30)))
        if await asleep:
            break


async def settle_down(stores: Stores) -> None:
    """Look and sleep, as a scheduler does, until nothing that happened so far wakes us any more."""
    assert (await claim(stores)).claims == ()
    while await stores.schedule.wait_for_change(HEARD_S):
        assert (await claim(stores)).claims == ()


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(requested(), id="a run asked for"),
        pytest.param(hinted(1_000), id="an interval hint of one second"),
        pytest.param(hinted_once(timedelta(seconds=2)), id="a one-shot in two seconds"),
    ],
)
async def test_a_change_by_another_process_wakes_a_sleeping_scheduler(
    act: Act, stores: Stores, other_stores: Stores
) -> None:
    await fall_asleep_and_wake(stores, other_stores)
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(other_stores, endpoint)
    await settle_down(stores)
    await claim(stores)
    asleep = asyncio.create_task(stores.schedule.wait_for_change(15.0))

    await change(other_stores, endpoint, act)

    async with asyncio.timeout(60):
        assert await asleep


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(requested(), id="a run asked for"),
        pytest.param(hinted(1_000), id="an interval hint of one second"),
        pytest.param(hinted_once(timedelta(seconds=2)), id="a one-shot in two seconds"),
    ],
)
async def test_a_change_between_the_last_look_and_falling_asleep_is_not_slept_through(
    act: Act, stores: Stores, other_stores: Stores
) -> None:
    await fall_asleep_and_wake(stores, other_stores)
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(other_stores, endpoint)
    await settle_down(stores)
    assert (await claim(stores)).claims == ()

    await change(other_stores, endpoint, act)
    await holds_for(lambda: True, "the notification arrives", HEARD_S)

    async with asyncio.timeout(60):
        assert await stores.schedule.wait_for_change(15.0)


async def test_a_result_recorded_by_another_just_before_falling_asleep_is_not_slept_through(
    stores: Stores, other_stores: Stores
) -> None:
    """The other one may be draining: then nobody else knows of the slot that its last result has planned."""
    await fall_asleep_and_wake(stores, other_stores)
    await add(other_stores, an_endpoint(interval_ms=2_000))
    (each,) = (await claim(other_stores, worker="worker-2")).claims
    await settle_down(stores)
    assert (await claim(stores)).claims == ()

    await other_stores.schedule.finish([finished(each)])
    await holds_for(lambda: True, "the notification arrives", HEARD_S)

    async with asyncio.timeout(60):
        assert await stores.schedule.wait_for_change(15.0)
