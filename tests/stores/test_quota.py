"""Quotas: over the runs of a month an endpoint is deferred once, and only its own tenant notices."""

from datetime import UTC, datetime

from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished, get, run_slot

from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import EventType
from mainspring.ports import Stores

FEBRUARY = datetime(2025, 2, 1, tzinfo=UTC)


async def test_endpoint_over_the_run_quota_is_deferred_once_to_the_first_of_the_next_month(
    stores: Stores, clock: FixedClock
) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=1))
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await run_slot(stores, clock)
    clock.tick(minutes=1)

    assert (await claim(stores)).claims == ()
    clock.tick(minutes=1)
    assert (await claim(stores)).claims == ()

    stored = await get(stores, endpoint)
    events = [each.event.type for each in await stores.runs.events_after("", "default", 100)]
    assert (stored.next_run_at, stored.deferred_until) == (FEBRUARY, FEBRUARY)
    assert events.count(EventType.QUOTA_DEFERRED) == 1


async def test_deferred_endpoint_runs_when_the_month_has_come(stores: Stores, clock: FixedClock) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=1))
    await add(stores, an_endpoint(), an_endpoint())
    assert len((await claim(stores)).claims) == 1

    clock.at = FEBRUARY

    assert len((await claim(stores)).claims) == 1


async def test_other_tenants_run_on_time_while_one_is_over_its_quota(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await add(stores, an_endpoint(), an_endpoint(tenant_id="other", job_id="job_other"))

    (each,) = (await claim(stores)).claims

    assert each.endpoint.tenant_id == "other"


async def test_runs_of_all_workers_count_together(stores: Stores, other_stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=3))
    await add(stores, *(an_endpoint() for _ in range(5)))

    first = await claim(stores, limit=2, worker="worker-1")
    second = await claim(other_stores, limit=2, worker="worker-2")

    tenant = await stores.endpoints.tenant("default")
    assert tenant is not None
    assert (len(first.claims), len(second.claims), tenant.runs_this_month) == (2, 1, 3)


async def test_raised_quota_brings_deferred_endpoints_back(stores: Stores, clock: FixedClock) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await claim(stores)
    clock.tick(hours=1)

    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=10))

    (each,) = (await claim(stores)).claims
    assert each.endpoint.id == endpoint.id
    await stores.schedule.finish([finished(each)])
    assert (await get(stores, endpoint)).deferred_until is None


async def test_usage_starts_again_every_month(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await claim(stores)
    clock.at = FEBRUARY

    tenant = await stores.endpoints.tenant("default")

    assert START.month == 1
    assert tenant is not None
    assert tenant.runs_this_month == 0
