"""Claiming: who gets which slot, when, and what happens to slots whose worker is lost."""

from datetime import timedelta

from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished, get, run_slot

from mainspring.domain.endpoint import LostWorkerPolicy, Tenant
from mainspring.domain.run import RunStatus, Trigger
from mainspring.ports import Caps, RunFilter, Stores


async def test_due_endpoint_is_claimed_with_a_run_row_and_a_lease_of_its_own_deadline(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    batch = await claim(stores)

    (each,) = batch.claims
    (run,) = await stores.runs.runs("default", RunFilter())
    stored = await get(stores, endpoint)
    assert (each.endpoint.id, each.slot_at, each.attempt, each.trigger) == (endpoint.id, START, 1, Trigger.SCHEDULE)
    assert stored.lease_until == START + timedelta(seconds=60)
    assert (run.id, run.status, run.slot_at, run.claim_epoch) == (each.run_id, RunStatus.RUNNING, START, 1)


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
    assert (second.attempt, second.trigger) == (2, Trigger.RETRY)
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
