"""Claiming: who gets which slot, when, and what happens to slots whose worker is lost."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg
import pytest
from tests.harness.postgres import as_superuser
from tests.stores.databases import is_sqlite
from tests.stores.world import (
    LEASE_MARGIN_MS,
    START,
    FixedClock,
    add,
    an_endpoint,
    archived,
    change,
    claim,
    finished,
    get,
    get_run,
    kinds,
    run_slot,
    told,
)

from mainspring.domain.endpoint import LostWorkerPolicy, Tenant
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import HttpAction, RunStatus, RunTrigger
from mainspring.domain.schedule.anchor import FAULTY_DELAY
from mainspring.domain.schedule.fairness import Caps
from mainspring.ports.records import RunFilter
from mainspring.ports.schedule import ClaimBatch
from mainspring.ports.stores import Stores
from mainspring.wiring.stores import open_stores


async def test_due_endpoint_is_claimed_with_a_run_row_and_a_lease_of_its_own_deadline(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    batch = await claim(stores)

    (each,) = batch.claims
    (run,) = await stores.runs.runs("default", RunFilter())
    stored = await get(stores, endpoint)
    assert (each.endpoint.id, each.slot_at, each.attempt, each.trigger) == (endpoint.id, START, 1, RunTrigger.SCHEDULE)
    assert stored.lease_until == START + timedelta(seconds=60)
    assert (run.id, run.status, run.slot_at, run.claim_epoch) == (each.run_id, RunStatus.RUNNING, START, 1)


async def test_leases_of_one_claim_last_as_long_as_the_deadline_of_each(stores: Stores) -> None:
    endpoints = [an_endpoint(action=HttpAction("http://127.0.0.1:9/", timeout_ms=ms)) for ms in (1, 5_000, 600_000)]
    await add(stores, *endpoints)

    await claim(stores)

    leases = [(await get(stores, endpoint)).lease_until for endpoint in endpoints]
    assert leases == [START + timedelta(milliseconds=ms + LEASE_MARGIN_MS) for ms in (1, 5_000, 600_000)]


STOPPED = {
    "paused": {"paused_until": START + timedelta(microseconds=1)},
    "of a job that is not active": {"job_active": False},
    "archived": {"archived_at": START},
    "parked": {"parked_at": START},
}


@pytest.mark.parametrize("fields", STOPPED.values(), ids=STOPPED)
async def test_due_endpoint_is_not_claimed_that_is(stores: Stores, fields: dict[str, object]) -> None:
    stopped, neighbour = an_endpoint("stopped", **fields), an_endpoint()
    await add(stores, stopped, neighbour)

    batch = await claim(stores)

    assert [each.endpoint.id for each in batch.claims] == [neighbour.id]


async def test_endpoint_is_not_claimed_before_it_is_due(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(next_run_at=START + timedelta(microseconds=1))
    await add(stores, endpoint)

    assert (await claim(stores)).claims == ()
    assert (await claim(stores)).next_due_at == endpoint.next_run_at

    clock.tick(microseconds=1)
    assert len((await claim(stores)).claims) == 1


async def test_leased_endpoint_is_not_claimed_again(stores: Stores) -> None:
    await add(stores, an_endpoint())
    await claim(stores)

    assert (await claim(stores, worker="worker-2")).claims == ()


async def test_finished_run_plans_the_next_one_from_its_slot(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    clock.tick(milliseconds=7)

    await run_slot(stores, clock)

    stored = await get(stores, endpoint)
    assert stored.next_run_at == START + timedelta(minutes=1)
    assert not stored.is_running


async def test_lost_worker_is_replaced_with_the_same_slot_id_and_the_old_result_is_superseded(
    stores: Stores, clock: FixedClock
) -> None:
    await add(stores, an_endpoint())
    (first,) = (await claim(stores)).claims
    clock.tick(seconds=60)

    (second,) = (await claim(stores, worker="worker-2")).claims
    late = await stores.schedule.finish([finished(first)])
    on_time = await stores.schedule.finish([finished(second)])

    assert second.slot_id == first.slot_id
    assert (second.attempt, second.trigger) == (2, RunTrigger.RETRY)
    assert late.superseded == (first.run_id,)
    assert on_time.recorded == (second.run_id,)
    runs = {run.id: run.status for run in await stores.runs.runs("default", RunFilter())}
    assert runs == {first.run_id: RunStatus.SUPERSEDED, second.run_id: RunStatus.SUCCESS}


async def test_at_most_once_slot_of_a_lost_worker_ends_as_unknown_and_is_left(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint(on_lost_worker=LostWorkerPolicy.SKIP)
    await add(stores, endpoint)
    (first,) = (await claim(stores)).claims
    clock.tick(seconds=60)

    assert (await claim(stores)).claims == ()
    run = await stores.runs.run("default", first.run_id)
    assert run is not None
    assert run.status is RunStatus.UNKNOWN
    assert (await get(stores, endpoint)).next_run_at == START + timedelta(minutes=2)


async def test_endpoint_that_loses_five_workers_in_a_row_is_parked(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    for _ in range(5):
        assert len((await claim(stores)).claims) == 1
        clock.tick(seconds=60)

    assert (await claim(stores)).claims == ()
    stored = await get(stores, endpoint)
    assert stored.next_run_at is None
    assert "lost its worker 5 times" in stored.parked_reason


async def test_finishing_the_same_batch_twice_changes_nothing(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    result = finished(each)
    await stores.schedule.finish([result])
    before = await get(stores, endpoint)

    report = await stores.schedule.finish([result])

    assert report.recorded == (each.run_id,)
    assert await get(stores, endpoint) == before
    run = await stores.runs.run("default", each.run_id)
    assert run is not None
    assert run.status is RunStatus.SUCCESS


async def test_released_slot_is_due_at_once_with_the_same_id(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    (first,) = (await claim(stores)).claims

    await stores.schedule.release([first])
    (second,) = (await claim(stores, worker="worker-2")).claims

    assert second.slot_id == first.slot_id
    assert second.attempt == 2


async def test_caps_hold_for_a_host_and_leave_room_for_others(stores: Stores) -> None:
    busy = [an_endpoint(host="busy:80") for _ in range(5)]
    quiet = [an_endpoint(host="quiet:80", next_run_at=START) for _ in range(2)]
    await add(stores, *busy, *quiet)

    batch = await claim(stores, caps=Caps(per_tenant=100, per_host=3))
    again = await claim(stores, caps=Caps(per_tenant=100, per_host=3))

    hosts = sorted(each.endpoint.host for each in batch.claims)
    assert hosts == ["busy:80"] * 3 + ["quiet:80"] * 2
    assert again.claims == ()


async def test_places_are_shared_fairly_between_tenants(stores: Stores, clock: FixedClock) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    flood = [an_endpoint() for _ in range(50)]
    late = [an_endpoint(tenant_id="other", job_id="job_other") for _ in range(3)]
    await add(stores, *flood, *late)

    batch = await claim(stores, limit=6)

    tenants = sorted(each.endpoint.tenant_id for each in batch.claims)
    assert tenants == ["default"] * 3 + ["other"] * 3


async def test_cap_of_a_tenant_holds_over_all_workers(stores: Stores, other_stores: Stores) -> None:
    await add(stores, *[an_endpoint() for _ in range(5)])
    caps = Caps(per_tenant=3, per_host=100)

    first = await claim(stores, limit=2, caps=caps)
    second = await claim(other_stores, worker="worker-2", caps=caps)

    assert (len(first.claims), len(second.claims)) == (2, 1)


async def test_oldest_are_claimed_first(stores: Stores) -> None:
    ages = (3, 9, 1, 7, 5)
    endpoints = {age: an_endpoint(next_run_at=START - timedelta(seconds=age)) for age in ages}
    await add(stores, *endpoints.values())

    batch = await claim(stores, limit=2)

    assert {each.endpoint.id for each in batch.claims} == {endpoints[9].id, endpoints[7].id}


async def test_claim_that_fills_every_place_asks_to_look_again(stores: Stores) -> None:
    await add(stores, *[an_endpoint() for _ in range(3)])

    batch = await claim(stores, limit=2)

    assert (len(batch.claims), batch.more, batch.next_due_at) == (2, True, None)


async def test_claim_that_took_everything_says_when_the_next_one_is_due(stores: Stores) -> None:
    later = START + timedelta(seconds=7)
    await add(stores, an_endpoint(), an_endpoint(next_run_at=later))

    batch = await claim(stores)

    assert (len(batch.claims), batch.more, batch.next_due_at) == (1, False, later)


async def test_lease_that_runs_out_is_something_to_wake_for(stores: Stores) -> None:
    await add(stores, an_endpoint())
    await claim(stores)

    assert (await claim(stores)).next_due_at == START + timedelta(seconds=60)


async def test_nothing_planned_is_nothing_to_wake_for(stores: Stores) -> None:
    await add(stores, an_endpoint(next_run_at=None))

    assert await claim(stores) == ClaimBatch(START, START)


@pytest.mark.parametrize("limit", [0, -1])
async def test_worker_without_a_free_place_claims_nothing(stores: Stores, limit: int) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    assert (await claim(stores, limit=limit)).claims == ()
    assert await get(stores, endpoint) == endpoint


async def test_endpoint_that_throws_is_pushed_ahead_and_its_neighbour_is_claimed(
    stores: Stores, clock: FixedClock
) -> None:
    poisoned, neighbour = an_endpoint(cron="not a cron"), an_endpoint()
    await add(stores, poisoned, neighbour)
    clock.tick(minutes=2)

    batch = await claim(stores)

    assert [each.endpoint.id for each in batch.claims] == [neighbour.id]
    assert (await get(stores, poisoned)).next_run_at == clock.now() + FAULTY_DELAY
    assert EventType.ENDPOINT_FAULTY in kinds(await told(stores))


async def test_endpoint_that_throws_is_not_reached_for_again_before_its_delay_is_over(
    stores: Stores, clock: FixedClock
) -> None:
    await add(stores, an_endpoint(cron="not a cron"))
    clock.tick(minutes=2)
    await claim(stores)

    assert (await claim(stores)).next_due_at == clock.now() + FAULTY_DELAY


async def test_claim_carries_the_sealed_signing_keys_newest_first(stores: Stores, clock: FixedClock) -> None:
    for key in ("old", "new"):
        event = Event(EventType.SIGNING_KEY_CREATED, clock.now(), "default")
        await stores.runs.add_signing_key("default", f"sk_{key}", f"sealed {key}", event)
        clock.tick(seconds=1)
    await add(stores, an_endpoint())

    (each,) = (await claim(stores)).claims

    assert each.signing_keys == ("sealed new", "sealed old")


async def test_start_of_a_run_is_told_in_the_transaction_of_its_claim(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    (each,) = (await claim(stores)).claims

    *_, last = await told(stores)
    data = {"slot_at": "2025-01-01T00:00:00Z", "attempt": 1, "trigger": "schedule"}
    assert last == Event(EventType.RUN_STARTED, START, "default", endpoint.id, each.run_id, "worker-1", data)


async def test_a_batch_says_when_it_was_judged_and_when_it_was_handed_over(store_url: str) -> None:
    async with open_stores(store_url) as stores:  # with the database's own clock
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        await add(stores, an_endpoint())
        before = await stores.schedule.now()
        batch = await claim(stores)
        after = await stores.schedule.now()

    assert before <= batch.now < batch.handed_at
    assert batch.handed_at - after < timedelta(milliseconds=50)  # told by another clock that started with this one


async def test_two_workers_at_once_never_get_the_same_slot(stores: Stores, other_stores: Stores) -> None:
    await add(stores, *[an_endpoint() for _ in range(20)])

    batches = await asyncio.gather(
        *[claim(each, limit=3, worker=f"worker-{number}") for number, each in enumerate([stores, other_stores] * 4)]
    )

    claimed = [each.endpoint.id for batch in batches for each in batch.claims]
    assert len(claimed) == len(set(claimed)) > 0


async def test_row_that_another_transaction_has_locked_is_skipped_and_not_waited_for(
    stores: Stores, store_url: str
) -> None:
    if is_sqlite(store_url):
        pytest.skip("SQLite has one writer and no row locks: nobody can hold a row during a claim")
    held, free = an_endpoint(), an_endpoint()
    await add(stores, held, free)
    connection = await asyncpg.connect(as_superuser(store_url))
    try:
        async with connection.transaction(), asyncio.timeout(20):
            await connection.execute("SELECT id FROM schedule WHERE id = $1 FOR UPDATE", held.id)
            batch = await claim(stores)
    finally:
        await connection.close()

    assert [each.endpoint.id for each in batch.claims] == [free.id]


async def test_release_ends_the_run_as_abandoned(stores: Stores) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims

    await stores.schedule.release([each])

    run = await get_run(stores, each)
    assert (run.status, run.error_code, run.finished_at) == (RunStatus.ABANDONED, "lost_worker", START)


async def test_release_is_told_as_the_end_of_its_run(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims

    await stores.schedule.release([each])

    *_, last = await told(stores)
    data: dict[str, object] = {"status": "abandoned", "worker": "worker-1"}
    assert last == Event(EventType.RUN_ABANDONED, START, "default", endpoint.id, each.run_id, "worker-1", data)


async def test_result_that_comes_after_its_release_is_superseded(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    await stores.schedule.release([each])
    before = await get(stores, endpoint)

    report = await stores.schedule.finish([finished(each)])

    assert report.superseded == (each.run_id,)
    assert await get(stores, endpoint) == before


async def test_release_after_the_slot_was_taken_over_changes_nothing(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (late,) = (await claim(stores)).claims
    clock.tick(seconds=60)
    (newer,) = (await claim(stores, worker="worker-2")).claims
    before = await get(stores, endpoint)

    await stores.schedule.release([late])

    assert await get(stores, endpoint) == before
    assert (await get_run(stores, newer)).status is RunStatus.RUNNING


async def test_release_after_the_result_was_recorded_changes_nothing(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    await stores.schedule.finish([finished(each)])
    before = await get(stores, endpoint)

    await stores.schedule.release([each])

    assert await get(stores, endpoint) == before
    assert (await get_run(stores, each)).status is RunStatus.SUCCESS


async def test_released_slot_of_an_endpoint_that_was_archived_meanwhile_is_not_started(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    await change(stores, endpoint, archived())
    await stores.schedule.release([each])

    assert (await claim(stores)).claims == ()
    assert (await get(stores, endpoint)).next_run_at is None


async def test_clock_of_the_store_is_the_clock_it_was_given(stores: Stores, clock: FixedClock) -> None:
    clock.tick(seconds=3)

    assert await stores.schedule.now() == START + timedelta(seconds=3)


async def test_claim_counts_its_own_leases_among_what_to_wake_for(stores: Stores) -> None:
    await add(stores, an_endpoint(), an_endpoint(next_run_at=START + timedelta(hours=1)))

    assert (await claim(stores)).next_due_at == START + timedelta(seconds=60)


@dataclass
class RestlessClock:
    """A clock that has moved on whenever it is read again, as real ones have."""

    at: datetime = START

    def now(self) -> datetime:
        self.at += timedelta(milliseconds=1)
        return self.at


async def test_what_falls_due_during_a_claim_is_claimed_or_something_to_wake_for(store_url: str) -> None:
    clock = RestlessClock()
    async with open_stores(store_url, clock=clock) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        await add(stores, an_endpoint(next_run_at=None))
        slept_through = []
        for after_ms in range(1, 12):
            due_at = clock.at + timedelta(milliseconds=after_ms)
            endpoint = an_endpoint(next_run_at=due_at, anchor_at=due_at - timedelta(minutes=1))
            await add(stores, endpoint)
            batch = await claim(stores)
            if not batch.claims and batch.next_due_at != due_at:
                slept_through.append(after_ms)
            deleted = Event(EventType.ENDPOINT_DELETED, START, "default", endpoint.id)
            await stores.endpoints.delete_endpoint("default", endpoint.id, deleted)

    assert slept_through == []
