"""Jobs, endpoints and tenants as they are added, found, listed and removed."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.databases import REFUSED
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    archived,
    change,
    claim,
    get,
    told,
)

from mainspring.domain.endpoint import Endpoint, Job, JobStatus, Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores


async def names(stores: Stores, wanted: EndpointFilter, tenant_id: str = "default") -> list[str]:
    return [endpoint.name for endpoint in await stores.endpoints.endpoints(tenant_id, wanted)]


def created(endpoint: Endpoint) -> Event:
    return Event(EventType.ENDPOINT_CREATED, START, endpoint.tenant_id, endpoint.id)


def deleted(endpoint: Endpoint) -> Event:
    return Event(EventType.ENDPOINT_DELETED, START, endpoint.tenant_id, endpoint.id)


def a_job(name: str, tenant_id: str = "default") -> Job:
    return Job(f"job_{tenant_id}_{name}", tenant_id, name, "", JobStatus.ACTIVE, START, START)


async def add_jobs(stores: Stores, *jobs: Job) -> None:
    for job in jobs:
        await stores.endpoints.add_job(job, Event(EventType.JOB_CREATED, START, job.tenant_id))


async def test_endpoint_is_found_as_it_was_added(stores: Stores) -> None:
    endpoint = an_endpoint("health")
    await add(stores, endpoint)

    assert await stores.endpoints.endpoint("default", endpoint.id) == endpoint
    assert await stores.endpoints.endpoint("default", "health") == endpoint


async def test_endpoint_of_another_tenant_is_not_found(stores: Stores) -> None:
    endpoint = an_endpoint("health")
    await add(stores, endpoint)

    assert await stores.endpoints.endpoint("other", endpoint.id) is None
    assert await stores.endpoints.endpoint("other", "health") is None


async def test_id_finds_its_endpoint_also_where_another_one_is_named_like_it(stores: Stores) -> None:
    endpoint = an_endpoint("z")
    impostor = an_endpoint(endpoint.id, id="ep_00000000")
    await add(stores, impostor, endpoint)

    assert await stores.endpoints.endpoint("default", endpoint.id) == endpoint


async def test_second_endpoint_of_a_name_is_a_conflict_that_writes_nothing(stores: Stores) -> None:
    first, second = an_endpoint("health"), an_endpoint("health")
    await add(stores, first)
    before = await told(stores)

    with pytest.raises(Conflict) as refused:
        await stores.endpoints.add_endpoint(second, created(second))
    assert (refused.value.kind, refused.value.name) == ("endpoint", "health")
    assert await stores.endpoints.endpoint("default", second.id) is None
    assert await told(stores) == before


async def test_endpoint_of_a_job_that_is_not_there_is_our_mistake_and_no_conflict(stores: Stores) -> None:
    endpoint = an_endpoint(job_id="job_nobody")

    with pytest.raises(REFUSED, match=r"(?i)foreign key"):
        await stores.endpoints.add_endpoint(endpoint, created(endpoint))
    assert await stores.endpoints.endpoint("default", endpoint.id) is None


async def test_two_tenants_may_use_the_same_name(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    mine, theirs = an_endpoint("health"), an_endpoint("health", tenant_id="other", job_id="job_other")

    await add(stores, mine, theirs)

    assert await stores.endpoints.endpoint("default", "health") == mine
    assert await stores.endpoints.endpoint("other", "health") == theirs


async def test_name_of_an_archived_endpoint_may_be_used_again(stores: Stores) -> None:
    old, new = an_endpoint("health"), an_endpoint("health")
    await add(stores, old)
    await change(stores, old, archived())

    await add(stores, new)

    assert await stores.endpoints.endpoint("default", "health") == new
    assert (await get(stores, old)).archived_at == START


async def test_names_are_compared_exactly(stores: Stores) -> None:
    endpoints = [an_endpoint(name) for name in ("health", "Health", "héalth")]

    await add(stores, *endpoints)

    assert [await stores.endpoints.endpoint("default", endpoint.name) for endpoint in endpoints] == endpoints


async def test_endpoints_are_listed_by_name_in_one_order_on_every_database(stores: Stores) -> None:
    given = ["b", "a", "B", "é", "a b", "10", "9", "_"]
    await add(stores, *[an_endpoint(name) for name in given])

    assert await names(stores, EndpointFilter()) == sorted(given)


async def names_in_pages(stores: Stores, wanted: EndpointFilter) -> list[str]:
    seen: list[str] = []
    while page := await stores.endpoints.endpoints("default", wanted):
        seen += [endpoint.name for endpoint in page]
        wanted = replace(wanted, after=(page[-1].name, page[-1].id))
    return seen


async def test_endpoints_are_listed_in_pages_that_lose_none(stores: Stores) -> None:
    given = [f"endpoint {number:03d}" for number in range(7)]
    await add(stores, *[an_endpoint(name) for name in given])

    assert await names_in_pages(stores, EndpointFilter(limit=3)) == given


async def test_endpoints_are_listed_by_job(stores: Stores) -> None:
    await add(stores, an_endpoint("a", job_id="job_one"), an_endpoint("b", job_id="job_two"))

    assert await names(stores, EndpointFilter(job_id="job_two")) == ["b"]


async def test_endpoints_are_read_by_their_ids_archived_or_not_within_the_tenant(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    late, early, unasked = an_endpoint("b"), an_endpoint("a", archived_at=START), an_endpoint("c")
    foreign = an_endpoint("d", tenant_id="other", job_id="job_other")
    await add(stores, late, early, unasked, foreign)

    wanted = EndpointFilter(ids=(late.id, foreign.id, early.id, "ep_none"), limit=1)

    assert await names(stores, wanted) == ["a", "b"]


async def test_archived_endpoints_are_listed_apart(stores: Stores) -> None:
    gone = an_endpoint("gone")
    await add(stores, an_endpoint("here"), gone)
    await change(stores, gone, archived())

    assert await names(stores, EndpointFilter()) == ["here"]
    assert await names(stores, EndpointFilter(archived=True)) == ["gone"]


async def test_archived_endpoints_of_one_name_are_listed_in_pages_that_lose_none(stores: Stores) -> None:
    for _ in range(3):
        endpoint = an_endpoint("health")
        await add(stores, endpoint)
        await change(stores, endpoint, archived())

    assert await names_in_pages(stores, EndpointFilter(archived=True, limit=2)) == ["health"] * 3


async def test_endpoints_of_another_tenant_are_not_listed(stores: Stores) -> None:
    await add(stores, an_endpoint())

    assert await names(stores, EndpointFilter(), tenant_id="other") == []


async def test_deleted_endpoint_is_gone_with_its_runs(stores: Stores) -> None:
    gone, here = an_endpoint(), an_endpoint()
    await add(stores, gone, here)
    await claim(stores)

    assert await stores.endpoints.delete_endpoint("default", gone.id, deleted(gone))
    assert await stores.endpoints.endpoint("default", gone.id) is None
    assert [run.endpoint_id for run in await stores.runs.runs("default", RunFilter())] == [here.id]
    assert (await told(stores))[-1] == deleted(gone)


@pytest.mark.parametrize("tenant_id", ["default", "other"], ids=["unknown", "of another tenant"])
async def test_endpoint_that_is_not_there_cannot_be_deleted(stores: Stores, tenant_id: str) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    before = await told(stores)
    wanted = endpoint if tenant_id == "other" else an_endpoint()

    assert not await stores.endpoints.delete_endpoint(tenant_id, wanted.id, deleted(wanted))
    assert await get(stores, endpoint) == endpoint
    assert await told(stores) == before


async def test_jobs_are_listed_by_name_as_they_were_added(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    jobs = [replace(a_job(name), description="é ☃", status=JobStatus.PAUSED) for name in ("b", "a", "B")]

    await add_jobs(stores, *jobs, a_job("theirs", "other"))

    assert await stores.endpoints.jobs("default") == sorted(jobs, key=lambda job: job.name)


async def test_second_job_of_a_name_is_a_conflict_that_writes_nothing(stores: Stores) -> None:
    await add_jobs(stores, a_job("shop"))
    before = await told(stores)
    second = replace(a_job("shop"), id="job_second")

    with pytest.raises(Conflict) as refused:
        await add_jobs(stores, second)
    assert (refused.value.kind, refused.value.name) == ("job", "shop")
    assert await stores.endpoints.jobs("default") == [a_job("shop")]
    assert await told(stores) == before


async def test_job_cannot_take_the_name_of_another(stores: Stores) -> None:
    jobs = [a_job("one"), a_job("two")]
    await add_jobs(stores, *jobs)

    with pytest.raises(Conflict):
        await stores.endpoints.put_job(replace(jobs[0], name="two"), Event(EventType.JOB_UPDATED, START, "default"))
    assert await stores.endpoints.jobs("default") == jobs


async def test_job_is_written_with_its_name_its_description_and_its_status(stores: Stores) -> None:
    await add_jobs(stores, a_job("shop"))
    wanted = replace(
        a_job("shop"),
        name="store",
        description="sells",
        status=JobStatus.ARCHIVED,
        updated_at=START + timedelta(days=1),
    )
    event = Event(EventType.JOB_ARCHIVED, START, "default")

    await stores.endpoints.put_job(wanted, event)

    assert await stores.endpoints.jobs("default") == [wanted]
    assert (await told(stores))[-1] == event


async def test_job_of_another_tenant_cannot_be_written(stores: Stores) -> None:
    await add_jobs(stores, a_job("shop"))

    stolen = replace(a_job("shop"), tenant_id="other", name="stolen")
    await stores.endpoints.put_job(stolen, Event(EventType.JOB_UPDATED, START, "other"))

    assert await stores.endpoints.jobs("default") == [a_job("shop")]


async def test_unknown_tenant_is_none(stores: Stores) -> None:
    assert await stores.endpoints.tenant("nobody") is None


async def test_tenant_is_made_and_then_changed(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("acme", "Acme", 1, 2, 3, 4))
    first = await stores.endpoints.tenant("acme")
    await stores.endpoints.put_tenant(Tenant("acme", "Acme Inc."))

    assert first == Tenant("acme", "Acme", 1, 2, 3, 4)
    assert await stores.endpoints.tenant("acme") == Tenant("acme", "Acme Inc.")


async def test_tenant_comes_with_its_runs_of_the_month_and_its_keys_newest_first(
    stores: Stores, clock: FixedClock
) -> None:
    await add(stores, an_endpoint(), an_endpoint())
    await claim(stores)
    for key in ("old", "new"):
        event = Event(EventType.SIGNING_KEY_CREATED, clock.now(), "default")
        await stores.runs.add_signing_key("default", f"sk_{key}", f"sealed {key}", event)
        clock.tick(seconds=1)

    tenant = await stores.endpoints.tenant("default")

    assert tenant == Tenant("default", "default", runs_this_month=2, signing_keys=("sealed new", "sealed old"))


async def test_signing_key_of_another_tenant_cannot_be_revoked(stores: Stores) -> None:
    await stores.runs.add_signing_key(
        "default", "sk_1", "sealed", Event(EventType.SIGNING_KEY_CREATED, START, "default")
    )

    revoked = Event(EventType.SIGNING_KEY_REVOKED, START, "other")
    assert not await stores.runs.revoke_signing_key("other", "sk_1", revoked)
    assert await stores.runs.signing_keys("default") == [("sk_1", START)]


async def test_revoked_signing_key_is_gone(stores: Stores) -> None:
    await stores.runs.add_signing_key(
        "default", "sk_1", "sealed", Event(EventType.SIGNING_KEY_CREATED, START, "default")
    )
    revoked = Event(EventType.SIGNING_KEY_REVOKED, START, "default")

    assert await stores.runs.revoke_signing_key("default", "sk_1", revoked)
    assert await stores.runs.signing_keys("default") == []
    assert (await told(stores))[-1] == revoked
