"""Many changes at once: all or nothing, names in a circle, whoever else writes meanwhile."""

from datetime import datetime

import pytest
from msgspec.structs import replace
from tests.stores.world import START, add, an_endpoint, get

from mainspring.domain.endpoint import Endpoint, Job, JobStatus
from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Act, Change
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.documents import Changeset
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.stores import Stores


def a_job(name: str, **fields: object) -> Job:
    return replace(Job(f"job_{name}", "default", name, "", JobStatus.ACTIVE, START, START, "file"), **fields)


def named(name: str) -> Act:
    return lambda old, now: changes.edit(old, replace(old, name=name, managed_by="file"), now, "file", CRON)


async def names(stores: Stores) -> list[str]:
    return [each.name for each in await stores.endpoints.endpoints("default", EndpointFilter())]


async def test_jobs_and_endpoints_are_made_together_with_their_source(stores: Stores) -> None:
    endpoint = an_endpoint("health", job_id="job_new", job="new", managed_by="file")
    told = Event(EventType.ENDPOINT_CREATED, START, "default", endpoint.id)

    await stores.configuration.apply(
        "default", Changeset(new_jobs=[a_job("new")], new_endpoints=[endpoint], events=[told])
    )

    assert await get(stores, endpoint) == endpoint
    assert await stores.endpoints.jobs("default") == [a_job("new")]
    assert [each.event for each in await stores.runs.events_after("", "default", 10)] == [told]


async def test_endpoints_change_with_their_source_and_version(stores: Stores) -> None:
    endpoint = an_endpoint("health")
    await add(stores, endpoint)

    await stores.configuration.apply("default", Changeset(acts={endpoint.id: named("vitals")}))

    changed = await get(stores, endpoint)
    assert (changed.name, changed.managed_by, changed.version) == ("vitals", "file", 2)


async def test_names_may_go_round_in_a_circle(stores: Stores) -> None:
    a, b = an_endpoint("a"), an_endpoint("b")
    await add(stores, a, b)

    await stores.configuration.apply(
        "default", Changeset(acts={a.id: named("b"), b.id: named("a")}, freed=[a.id, b.id])
    )

    assert ((await get(stores, a)).name, (await get(stores, b)).name) == ("b", "a")


async def test_name_of_an_archived_endpoint_is_free_for_a_new_one(stores: Stores) -> None:
    old, new = an_endpoint("a"), an_endpoint("a")
    await add(stores, old)

    def archive(endpoint: Endpoint, now: datetime) -> Change:
        return changes.archive(endpoint, now, "file")

    await stores.configuration.apply("default", Changeset(acts={old.id: archive}, freed=[old.id], new_endpoints=[new]))

    assert (await get(stores, old)).name == "a"
    assert (await get(stores, old)).archived_at == START
    assert await names(stores) == ["a"]


async def test_taken_name_undoes_everything(stores: Stores) -> None:
    await add(stores, an_endpoint("a"))

    with pytest.raises(Conflict, match="taken meanwhile; nothing was written"):
        await stores.configuration.apply(
            "default",
            Changeset(new_jobs=[a_job("new")], new_endpoints=[an_endpoint("b"), an_endpoint("a")]),
        )

    assert await names(stores) == ["a"]
    assert [job.name for job in await stores.endpoints.jobs("default")] == ["job_default"]


async def test_act_that_raises_undoes_everything(stores: Stores) -> None:
    a, b = an_endpoint("a"), an_endpoint("b")
    await add(stores, a, b)

    def refuse(old: Endpoint, now: datetime) -> Change:
        raise Conflict("no", kind="endpoint", name="b")

    with pytest.raises(Conflict, match="no"):
        await stores.configuration.apply("default", Changeset(acts={a.id: named("c"), b.id: refuse}))

    assert await names(stores) == ["a", "b"]


async def test_endpoint_of_another_tenant_is_not_found_and_keeps_its_name(stores: Stores) -> None:
    a = an_endpoint("a")
    await add(stores, a)

    with pytest.raises(NotFound):
        await stores.configuration.apply("other", Changeset(acts={a.id: named("b")}, freed=[a.id]))

    assert await names(stores) == ["a"]


async def test_job_keeps_its_source_when_it_is_put(stores: Stores) -> None:
    job = a_job("new")
    await stores.configuration.apply("default", Changeset(new_jobs=[job]))

    await stores.configuration.apply("default", Changeset(changed_jobs=[replace(job, name="newer", managed_by="")]))

    assert await stores.endpoints.jobs("default") == [replace(job, name="newer", managed_by="")]
