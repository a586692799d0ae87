"""Whoever waits for the run they asked for is told when it will not come."""

from collections.abc import Awaitable, Callable

import pytest
from tests.harness.config import a_config
from tests.stores.world import FixedClock, run_slot

from mainspring.domain.endpoint import JobStatus
from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.run import RunStatus
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, archive_endpoint, delete_endpoint, run_endpoint
from mainspring.operations.jobs import set_job_status
from mainspring.operations.runs import wait_for_requested_run

HEALTH = a_config("health", "https://example.com/health", interval_ms=60_000, spread=False, job="shop")
ENDINGS: dict[str, Callable[[Desk], Awaitable[object]]] = {
    "its endpoint is archived": lambda desk: archive_endpoint(desk, "health"),
    "its job is archived": lambda desk: set_job_status(desk, "shop", JobStatus.ARCHIVED),
}


async def test_run_that_was_asked_for_is_given_once_it_has_ended(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, HEALTH)
    asked = (await run_endpoint(desk, "health")).endpoint
    await run_slot(desk.stores, clock)

    run = await wait_for_requested_run(desk, asked)

    assert (run.slot_at, run.status) == (asked.manual_at, RunStatus.SUCCESS)


async def test_waiting_for_an_endpoint_that_is_deleted_meanwhile_ends(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    asked = (await run_endpoint(desk, "health")).endpoint
    await delete_endpoint(desk, "health")

    with pytest.raises(NotFound, match="no endpoint 'health'"):
        await wait_for_requested_run(desk, asked)


@pytest.mark.parametrize("ending", ENDINGS)
async def test_run_that_was_asked_for_will_not_start_when(desk: Desk, ending: str) -> None:
    await add_endpoint(desk, HEALTH)
    asked = (await run_endpoint(desk, "health")).endpoint
    await ENDINGS[ending](desk)

    with pytest.raises(Conflict, match=r"requested run of 'health' will not start.*resume it and ask again"):
        await wait_for_requested_run(desk, asked)
