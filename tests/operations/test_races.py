"""Two people at once: what somebody does between an operation's reading and its writing is not lost or undone."""

import pytest
from msgspec.structs import replace
from tests.harness.config import a_config
from tests.operations.rival import interrupted
from tests.stores.world import START, claim, get

from mainspring.domain.endpoint import JobStatus, Tenant
from mainspring.domain.errors import Conflict, NotFound, Outdated, QuotaExceeded
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import (
    EDIT_TRIES_MAX,
    add_endpoint,
    delete_endpoint,
    edit_endpoint,
    find_endpoint,
    pause_endpoint,
)
from mainspring.operations.jobs import add_job, set_job_status
from mainspring.ports.endpoints import EndpointFilter

HEALTH = a_config("health", "https://example.com/health", interval_ms=60_000, spread=False)


async def test_endpoint_that_is_deleted_before_it_is_paused_is_not_found(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    slow = interrupted(desk, "change_endpoints", lambda: delete_endpoint(desk, "health"))

    with pytest.raises(NotFound, match="no endpoint 'health'"):
        await pause_endpoint(slow, "health", lambda now: None)


async def test_endpoint_that_is_deleted_twice_at_once_is_found_once(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    slow = interrupted(desk, "delete_endpoint", lambda: delete_endpoint(desk, "health"))

    with pytest.raises(NotFound, match="no endpoint 'health'"):
        await delete_endpoint(slow, "health")


async def test_job_that_two_make_at_once_is_a_conflict_for_one_of_them(desk: Desk) -> None:
    slow = interrupted(desk, "add_job", lambda: add_job(desk, "shop"))

    with pytest.raises(Conflict, match="'shop'"):
        await add_endpoint(slow, replace(HEALTH, job="shop"))
    assert len(await desk.stores.endpoints.jobs("default")) == 1


async def test_pause_of_an_endpoint_survives_an_edit_that_was_begun_before(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    slow = interrupted(desk, "change_endpoints", lambda: pause_endpoint(desk, "health", lambda now: None))

    await edit_endpoint(slow, "health", lambda old: replace(old, description="slowly"))

    stored = await get(desk.stores, endpoint)
    assert (stored.is_paused(START), stored.description) == (True, "slowly")


async def test_edit_of_one_field_does_not_undo_the_edit_of_another(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)

    async def meanwhile() -> None:
        await edit_endpoint(desk, "health", lambda old: replace(old, interval_ms=30_000))

    slow = interrupted(desk, "change_endpoints", meanwhile)
    await edit_endpoint(slow, "health", lambda old: replace(old, description="slowly"))

    stored = await find_endpoint(desk, "health")
    assert (stored.interval_ms, stored.description) == (30_000, "slowly")


async def test_endpoint_that_others_edit_all_the_time_is_a_conflict(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)

    async def meanwhile() -> None:
        await edit_endpoint(desk, "health", lambda old: replace(old, interval_ms=(old.interval_ms or 0) + 1_000))

    slow = interrupted(desk, "change_endpoints", meanwhile, times=EDIT_TRIES_MAX)
    with pytest.raises(Conflict, match="'health' is being edited concurrently; try again in a moment"):
        await edit_endpoint(slow, "health", lambda old: replace(old, description="slowly"))

    assert (await find_endpoint(desk, "health")).description == ""


async def test_edit_of_a_version_that_is_no_longer_the_present_one_is_refused(desk: Desk) -> None:
    seen = await add_endpoint(desk, HEALTH)
    await edit_endpoint(desk, "health", lambda old: replace(old, description="first"), seen.version)

    with pytest.raises(Outdated):
        await edit_endpoint(desk, "health", lambda old: replace(old, description="second"), seen.version)
    assert (await find_endpoint(desk, "health")).description == "first"


async def test_endpoint_that_joins_a_job_while_it_is_paused_does_not_run(desk: Desk) -> None:
    await add_job(desk, "shop")
    slow = interrupted(desk, "add_endpoint", lambda: set_job_status(desk, "shop", JobStatus.PAUSED))

    await add_endpoint(slow, replace(HEALTH, job="shop"))

    assert (await claim(desk.stores)).claims == ()


async def test_quota_of_endpoints_holds_for_two_that_are_added_at_once(desk: Desk) -> None:
    await desk.stores.endpoints.put_tenant(Tenant("default", "default", endpoints_max=1))
    slow = interrupted(desk, "add_endpoint", lambda: add_endpoint(desk, HEALTH))

    with pytest.raises(QuotaExceeded):
        await add_endpoint(slow, replace(HEALTH, name="second"))
    assert len(await desk.stores.endpoints.endpoints("default", EndpointFilter())) == 1
