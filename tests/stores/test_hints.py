"""Hints in the database: how they run out, how they are used up, and which ones the schema itself refuses."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.databases import REFUSED, literal, query
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    change,
    claim,
    finished,
    get,
    get_run,
    hinted,
    hinted_once,
    kinds,
    run_slot,
    told,
)

from mainspring.domain.event import Event, EventType
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.anchor import FAULTY_DELAY
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.ports.stores import Stores

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
INTERVAL = IntervalHint(5_000, START + 10 * MINUTE, "queue grows", "planner")
ONE_SHOT = OneShotHint(START + MINUTE, START + 20 * MINUTE, "look once", "ada")


async def test_hints_are_stored_whole(stores: Stores) -> None:
    endpoint = an_endpoint(interval_hint=INTERVAL, one_shot_hint=ONE_SHOT)
    await add(stores, endpoint)

    stored = await get(stores, endpoint)

    assert (stored.interval_hint, stored.one_shot_hint) == (INTERVAL, ONE_SHOT)


async def test_writing_one_hint_leaves_the_other(stores: Stores) -> None:
    endpoint = an_endpoint(interval_hint=INTERVAL)
    await add(stores, endpoint)
    await change(stores, endpoint, lambda old, now: changes.put_one_shot_hint(old, ONE_SHOT, now, CRON))
    later = replace(INTERVAL, interval_ms=7_000)
    await change(stores, endpoint, lambda old, now: changes.put_interval_hint(old, later, now, CRON))

    stored = await get(stores, endpoint)

    assert (stored.interval_hint, stored.one_shot_hint) == (later, ONE_SHOT)


async def test_expiry_of_one_hint_leaves_the_other(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(interval_hint=INTERVAL, one_shot_hint=ONE_SHOT, next_run_at=START + timedelta(days=1))
    await add(stores, endpoint)
    clock.tick(minutes=10)

    assert await stores.schedule.expire_hints(10) == 1
    stored = await get(stores, endpoint)
    assert (stored.interval_hint, stored.one_shot_hint) == (None, ONE_SHOT)


async def test_relaxed_endpoint_comes_back_when_its_hint_expires(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await change(stores, endpoint, hinted(3_600_000, ttl=10 * MINUTE))
    await run_slot(stores, clock, took_ms=0)
    relaxed = await get(stores, endpoint)
    clock.tick(minutes=10)

    await stores.schedule.expire_hints(10)

    assert (relaxed.next_run_at, relaxed.source) == (START + timedelta(hours=1), "ai-interval")
    assert [each.slot_at for each in (await claim(stores)).claims] == [START + 10 * MINUTE]


async def test_expiry_of_a_hint_is_something_to_wake_for(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await change(stores, endpoint, hinted(3_600_000, ttl=10 * MINUTE))
    await run_slot(stores, clock)

    assert (await claim(stores)).next_due_at == START + 10 * MINUTE


async def test_cron_comes_back_at_its_next_occurrence_when_a_hint_expires(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(cron="*/15 * * * *")
    await add(stores, endpoint)
    await change(stores, endpoint, hinted(3_600_000, ttl=10 * MINUTE))
    await run_slot(stores, clock, took_ms=0)
    clock.tick(minutes=10)

    await stores.schedule.expire_hints(10)

    stored = await get(stores, endpoint)
    assert (stored.next_run_at, stored.source) == (START + 15 * MINUTE, "baseline-cron")


async def test_expiry_is_told_with_the_move_it_caused(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(interval_hint=INTERVAL, next_run_at=START + timedelta(days=1))
    await add(stores, endpoint)
    clock.tick(minutes=10)
    before = await told(stores)

    await stores.schedule.expire_hints(10)

    expired, moved = (await told(stores))[len(before) :]
    data: dict[str, object] = {"kind": "interval", "expired_at": "2025-01-01T00:10:00Z", "author": "planner"}
    assert expired == Event(EventType.HINT_EXPIRED, START + 10 * MINUTE, "default", endpoint.id, data=data)
    assert moved.type is EventType.SCHEDULE_UPDATED


async def test_fresh_hints_are_left_alone(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(interval_hint=INTERVAL)
    await add(stores, endpoint)
    clock.at = INTERVAL.expires_at - timedelta(microseconds=1)

    assert await stores.schedule.expire_hints(10) == 0
    assert await get(stores, endpoint) == endpoint


async def test_expired_hints_are_cleared_as_many_at_a_time_as_wanted(stores: Stores, clock: FixedClock) -> None:
    later = START + timedelta(days=1)
    await add(stores, *[an_endpoint(interval_hint=INTERVAL, next_run_at=later) for _ in range(5)])
    clock.tick(minutes=10)

    assert [await stores.schedule.expire_hints(2) for _ in range(4)] == [2, 2, 1, 0]


async def test_hint_is_expired_by_one_of_two_processes(stores: Stores, other_stores: Stores, clock: FixedClock) -> None:
    await add(stores, *[an_endpoint(interval_hint=INTERVAL) for _ in range(10)])
    clock.tick(minutes=10)

    counts = await asyncio.gather(*[each.schedule.expire_hints(10) for each in (stores, other_stores) * 2])

    assert sum(counts) == 10
    assert kinds(await told(stores)).count("hint.expired") == 10


async def test_one_shot_is_used_up_by_the_run_it_asked_for(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1), anchor_at=START)
    await add(stores, endpoint)
    await change(stores, endpoint, hinted_once(20 * SECOND))
    clock.tick(seconds=20)
    (first,) = await run_slot(stores, clock, took_ms=0)

    following = (await get(stores, endpoint)).next_run_at

    assert (first.slot_at, first.endpoint.one_shot_hint) == (START + 20 * SECOND, None)
    assert (await get(stores, endpoint)).one_shot_hint is None
    assert following == START + 80 * SECOND
    assert (await claim(stores)).claims == ()


async def test_one_shot_starts_one_run_however_many_workers_reach_for_it(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(stores, endpoint)
    await change(stores, endpoint, hinted_once(20 * SECOND))
    clock.tick(seconds=20)

    batches = await asyncio.gather(*[claim(each) for each in (stores, other_stores) * 3])

    assert sum(len(batch.claims) for batch in batches) == 1


async def test_one_shot_is_not_used_up_by_a_run_before_its_time(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await change(stores, endpoint, hinted_once(20 * SECOND))

    await run_slot(stores, clock)

    stored = await get(stores, endpoint)
    assert (stored.next_run_at, stored.source) == (START + 20 * SECOND, "ai-oneshot")


async def test_one_shot_whose_worker_is_lost_is_retried_and_not_asked_for_again(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(stores, endpoint)
    await change(stores, endpoint, hinted_once(20 * SECOND))
    clock.tick(seconds=20)
    (lost,) = (await claim(stores)).claims
    clock.tick(seconds=60)

    (retried,) = (await claim(stores, worker="worker-2")).claims
    await stores.schedule.finish([finished(retried)])

    assert retried.slot_id == lost.slot_id
    assert (await claim(stores)).claims == ()


async def test_hint_that_expires_during_a_run_leaves_the_run_alone(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await change(stores, endpoint, hinted(5_000, ttl=10 * SECOND))
    (each,) = (await claim(stores)).claims
    clock.tick(seconds=10)
    await stores.schedule.expire_hints(10)

    report = await stores.schedule.finish([finished(each, took_ms=10_000)])

    assert report.recorded == (each.run_id,)
    assert (await get(stores, endpoint)).next_run_at == START + MINUTE


async def test_expiry_that_cannot_be_planned_hurts_that_endpoint_alone(stores: Stores, clock: FixedClock) -> None:
    later = START + timedelta(days=1)
    poisoned = an_endpoint(cron="not a cron", interval_hint=INTERVAL, next_run_at=later)
    neighbour = an_endpoint(interval_hint=INTERVAL, next_run_at=later)
    await add(stores, poisoned, neighbour)
    clock.tick(minutes=10)

    assert await stores.schedule.expire_hints(10) == 2
    stored = await get(stores, poisoned)
    assert (stored.interval_hint, stored.next_run_at) == (None, clock.now() + FAULTY_DELAY)
    assert (await get(stores, neighbour)).next_run_at == clock.now()


BEYOND_THE_RULES = {
    "an interval below a second": "hint_interval_ms = 999, hint_interval_expires_at = {later}",
    "an interval above 366 days": "hint_interval_ms = 31622400001, hint_interval_expires_at = {later}",
    "an interval of zero": "hint_interval_ms = 0, hint_interval_expires_at = {later}",
    "a negative interval": "hint_interval_ms = -1, hint_interval_expires_at = {later}",
    "an interval that never expires": "hint_interval_ms = 5000, hint_interval_expires_at = NULL",
    "an expiry without an interval": "hint_interval_ms = NULL, hint_interval_expires_at = {later}",
    "a one-shot that never expires": "hint_one_shot_at = {now}, hint_one_shot_expires_at = NULL",
    "an expiry without a one-shot": "hint_one_shot_at = NULL, hint_one_shot_expires_at = {later}",
    "a one-shot after its own expiry": "hint_one_shot_at = {later}, hint_one_shot_expires_at = {now}",
    "a negative count of failures": "failure_count = -1",
}


@pytest.mark.parametrize("assignments", BEYOND_THE_RULES.values(), ids=BEYOND_THE_RULES)
async def test_schema_refuses(stores: Stores, store_url: str, assignments: str) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    instants = {"now": literal(store_url, START), "later": literal(store_url, START + MINUTE)}

    with pytest.raises(REFUSED, match=r"(?i)check"):
        await query(store_url, f"UPDATE schedule SET {assignments.format(**instants)}")
    assert await get(stores, endpoint) == endpoint


BEYOND_THE_LIMITS = {
    "an interval below 100 ms": "interval_ms = 99",
    "an interval above 366 days": "interval_ms = 31622400001",
    "both a cron and an interval": "cron = '* * * * *'",
    "neither a cron nor an interval": "interval_ms = NULL",
    "a minimum above the maximum": "min_interval_ms = 2000, max_interval_ms = 1000",
    "a minimum below a second": "min_interval_ms = 999",
    "an unknown misfire policy": "misfire = 'whatever'",
    "more than 100 slots to catch up": "catch_up_max = 101",
}


@pytest.mark.parametrize("assignments", BEYOND_THE_LIMITS.values(), ids=BEYOND_THE_LIMITS)
async def test_schema_refuses_a_configuration_with(stores: Stores, store_url: str, assignments: str) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    with pytest.raises(REFUSED, match=r"(?i)check"):
        await query(store_url, f"UPDATE endpoint SET {assignments}")
    assert await get(stores, endpoint) == endpoint


async def test_expiry_that_cannot_be_planned_during_a_run_leaves_no_run_open(stores: Stores, clock: FixedClock) -> None:
    poisoned = an_endpoint(cron="not a cron", interval_hint=INTERVAL, next_run_at=START + 10 * MINUTE - SECOND)
    await add(stores, poisoned)
    clock.at = START + 10 * MINUTE - SECOND
    (each,) = (await claim(stores)).claims
    clock.tick(seconds=1)

    await stores.schedule.expire_hints(10)

    assert not (await get(stores, poisoned)).is_running
    assert (await get_run(stores, each)).status is RunStatus.ABANDONED
