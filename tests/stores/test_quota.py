"""Quotas: over the runs of a month an endpoint is deferred once, and only its own tenant notices."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    change,
    claim,
    edited,
    finished,
    get,
    hinted_once,
    requested,
    run_slot,
    told,
)

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Act
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.stores import Stores

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


def with_job(*, active: bool) -> Act:
    return lambda old, now: changes.set_job_active(old, active, now, "tester", CRON)


async def test_quota_that_ends_within_a_claim_defers_the_rest_of_it(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=3))
    endpoints = [an_endpoint() for _ in range(5)]
    await add(stores, *endpoints)

    batch = await claim(stores)

    deferred = [endpoint.id for endpoint in endpoints if (await get(stores, endpoint)).deferred_until == FEBRUARY]
    assert (len(batch.claims), len(deferred)) == (3, 2)
    assert {each.endpoint.id for each in batch.claims}.isdisjoint(deferred)


async def test_deferral_is_told_with_its_end(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await claim(stores)

    *_, last = await told(stores)

    data: dict[str, object] = {"until": "2025-02-01T00:00:00Z", "quota": "runs_per_month"}
    assert last == Event(EventType.QUOTA_DEFERRED, START, "default", endpoint.id, data=data)


async def test_december_is_followed_by_january(stores: Stores, clock: FixedClock) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    clock.at = datetime(2025, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    endpoint = an_endpoint(next_run_at=clock.at)
    await add(stores, endpoint)

    await claim(stores)

    assert (await get(stores, endpoint)).next_run_at == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "act", [hinted_once(timedelta(seconds=1)), edited(interval_ms=5_000)], ids=["a hint", "an edit"]
)
async def test_deferred_endpoint_is_not_brought_back_by(stores: Stores, act: Act) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await claim(stores)

    await change(stores, endpoint, act)

    assert (await get(stores, endpoint)).next_run_at == FEBRUARY


async def test_requested_run_of_a_deferred_endpoint_is_refused(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    endpoint = an_endpoint("health")
    await add(stores, endpoint)
    await claim(stores)

    with pytest.raises(QuotaExceeded, match="'health' waits until 2025-02-01T00:00:00Z"):
        await change(stores, endpoint, requested())


async def test_raised_quota_is_seen_by_a_process_that_deferred_the_endpoint_itself(
    stores: Stores, other_stores: Stores
) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    await add(stores, an_endpoint())
    assert (await claim(stores)).claims == ()

    await other_stores.endpoints.put_tenant(Tenant("default", "default"))

    assert len((await claim(stores)).claims) == 1


async def test_raised_quota_of_one_tenant_leaves_another_deferred(stores: Stores) -> None:
    for tenant_id in ("default", "other"):
        await stores.endpoints.put_tenant(Tenant(tenant_id, tenant_id, runs_per_month=0))
    await add(stores, an_endpoint(), an_endpoint(tenant_id="other", job_id="job_other"))
    await claim(stores)

    await stores.endpoints.put_tenant(Tenant("default", "default"))

    assert [each.endpoint.tenant_id for each in (await claim(stores)).claims] == ["default"]


async def test_raised_quota_leaves_a_paused_endpoint_paused(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await claim(stores)
    until = START + timedelta(days=60)
    await change(stores, endpoint, lambda old, now: changes.pause(old, until, "", now, "tester", CRON))

    await stores.endpoints.put_tenant(Tenant("default", "default"))

    assert (await claim(stores)).claims == ()
    assert (await get(stores, endpoint)).next_run_at == until


async def test_raised_quota_reaches_endpoints_whose_job_is_paused_meanwhile(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await claim(stores)
    await change(stores, endpoint, with_job(active=False))

    await stores.endpoints.put_tenant(Tenant("default", "default"))
    await change(stores, endpoint, with_job(active=True))

    assert len((await claim(stores)).claims) == 1


async def test_run_in_flight_ends_as_usual_when_the_quota_is_used_up(stores: Stores, clock: FixedClock) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=1))
    endpoint = an_endpoint()
    await add(stores, endpoint)

    await run_slot(stores, clock)

    assert (await get(stores, endpoint)).next_run_at == START + timedelta(minutes=1)
