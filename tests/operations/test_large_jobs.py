"""Jobs with many more endpoints than one page: what happens to the job happens to every one of them."""

from collections import Counter

import pytest
from tests.harness.loop_watch import LoopWatch
from tests.harness.pace import SHARED
from tests.stores.databases import multiply, query
from tests.stores.world import FixedClock, add, an_endpoint

from mainspring.domain.endpoint import JobStatus
from mainspring.operations.context import Desk
from mainspring.operations.jobs import PAGE, set_job_status

ENDPOINTS = 2_500  # two whole pages and a half


@pytest.fixture
async def large_job(desk: Desk, store_url: str) -> str:
    endpoint = an_endpoint("endpoint")
    await add(desk.stores, endpoint)
    await multiply(store_url, endpoint, ENDPOINTS - 1)
    return endpoint.job_id


async def counted(url: str, columns: str) -> Counter[tuple[object, ...]]:
    return Counter(await query(url, f"SELECT {columns} FROM endpoint JOIN schedule USING (id)"))


def test_job_is_larger_than_two_pages() -> None:
    assert ENDPOINTS > 2 * PAGE


async def test_large_job_is_paused_and_resumed_as_a_whole(
    desk: Desk, store_url: str, large_job: str, clock: FixedClock
) -> None:
    await set_job_status(desk, large_job, JobStatus.PAUSED)
    paused = await counted(store_url, "next_run_at IS NULL, job_active")
    await set_job_status(desk, large_job, JobStatus.ACTIVE)
    resumed = await counted(store_url, "next_run_at IS NULL, job_active")

    assert (paused, resumed) == (Counter({(True, False): ENDPOINTS}), Counter({(False, True): ENDPOINTS}))


async def test_large_job_is_archived_as_a_whole(desk: Desk, store_url: str, large_job: str) -> None:
    async with LoopWatch() as watch:
        await set_job_status(desk, large_job, JobStatus.ARCHIVED)
    assert watch.longest_s < 0.1 * SHARED

    archived = await counted(store_url, "next_run_at IS NULL, archived_at IS NOT NULL, version")

    assert archived == Counter({(True, True, 2): ENDPOINTS})
