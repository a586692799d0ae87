"""What is told: every event of a schedule's life, by whom it concerns, when it happened, and the run it belongs to."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from tests.stores.world import (
    FixedClock,
    add,
    an_endpoint,
    an_outcome,
    change,
    claim,
    finished,
    hinted,
    kinds,
    requested,
    run_slot,
    told,
)

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.event import EventType, place_of
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.stores import Stores

Happening = Callable[[Stores, FixedClock, Endpoint], Awaitable[str]]  # the id of the run it belongs to, or none
MINUTE = timedelta(minutes=1)


async def run_starts(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    (each,) = (await claim(stores)).claims
    return each.run_id


async def run_ends(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    (each,) = await run_slot(stores, clock, took_ms=0)
    return each.run_id


async def run_passes_its_deadline(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    (each,) = await run_slot(stores, clock, an_outcome(RunStatus.TIMEOUT, body=None), took_ms=0)
    return each.run_id


async def worker_is_lost(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    (each,) = (await claim(stores)).claims
    clock.tick(seconds=60)
    await claim(stores, worker="worker-2")
    return each.run_id


async def worker_is_lost_five_times(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    for _ in range(6):
        await claim(stores)
        clock.tick(seconds=60)
    clock.tick(seconds=-60)
    return ""


async def run_is_asked_for(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    await change(stores, endpoint, requested())
    (each,) = (await claim(stores)).claims
    return each.run_id


async def hint_is_written(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    await change(stores, endpoint, hinted(5_000))
    return ""


async def hint_expires(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    await change(stores, endpoint, hinted(3_600_000, ttl=MINUTE))
    clock.tick(minutes=1)
    await stores.schedule.expire_hints(10)
    return ""


async def it_is_paused(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    await change(stores, endpoint, lambda old, now: changes.pause(old, None, "", now, "tester", CRON))
    return ""


async def it_is_resumed(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    await it_is_paused(stores, clock, endpoint)
    clock.tick(seconds=1)
    await change(stores, endpoint, lambda old, now: changes.resume(old, now, "tester", CRON))
    return ""


async def quota_is_used_up(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> str:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    await claim(stores)
    return ""


HAPPENINGS: dict[EventType, Happening] = {
    EventType.RUN_STARTED: run_starts,
    EventType.RUN_FINISHED: run_ends,
    EventType.RUN_TIMEOUT: run_passes_its_deadline,
    EventType.RUN_ABANDONED: worker_is_lost,
    EventType.SCHEDULE_UPDATED: it_is_paused,
    EventType.BACKOFF_APPLIED: run_passes_its_deadline,
    EventType.MANUAL_RUN_STARTED: run_is_asked_for,
    EventType.HINT_WRITTEN: hint_is_written,
    EventType.HINT_EXPIRED: hint_expires,
    EventType.ENDPOINT_PAUSED: it_is_paused,
    EventType.ENDPOINT_RESUMED: it_is_resumed,
    EventType.ENDPOINT_PARKED: worker_is_lost_five_times,
    EventType.QUOTA_DEFERRED: quota_is_used_up,
}


@pytest.mark.parametrize("kind", HAPPENINGS, ids=str)
async def test_event_is_told_once_with_its_time_and_the_run_it_belongs_to(
    stores: Stores, clock: FixedClock, kind: EventType
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    run_id = await HAPPENINGS[kind](stores, clock, endpoint)

    (only,) = [event for event in await told(stores) if event.type is kind]
    assert (only.tenant_id, only.endpoint_id, only.run_id, only.at) == ("default", endpoint.id, run_id, clock.now())


async def test_everything_that_one_run_causes_carries_its_id_and_comes_in_its_order(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (first,) = await run_slot(stores, clock, an_outcome(RunStatus.TIMEOUT, body=None))
    clock.tick(minutes=2)
    await run_slot(stores, clock)

    mine = [event for event in await told(stores) if event.run_id == first.run_id]

    assert kinds(mine) == ["run.started", "run.finished", "run.timeout", "backoff.applied"]
    assert {event.endpoint_id for event in mine} == {endpoint.id}


async def test_no_two_events_have_one_id_and_ids_follow_the_order(stores: Stores, clock: FixedClock) -> None:
    await add(stores, *[an_endpoint() for _ in range(3)])
    claims = (await claim(stores)).claims
    await stores.schedule.finish([finished(each) for each in claims])
    await told(stores)

    places = [place_of(each.cursor) for each in await stores.runs.events_after("", "default", 1_000)]

    assert len(places) == len(set(places)) == 1 + 3 + 2 * 3
    assert places == sorted(places)
