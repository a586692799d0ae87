"""Downtime: what is still there after a restart, and what runs of the slots that passed meanwhile."""

from datetime import timedelta

import pytest
from tests.stores.world import START, FixedClock, add, an_endpoint, an_outcome, get, run_slot

from mainspring.domain.endpoint import MisfirePolicy, Tenant
from mainspring.domain.run import RunStatus
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.wiring.stores import open_stores

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
FAILURE = an_outcome(RunStatus.FAILURE)


async def test_backoff_and_next_run_survive_a_restart(store_url: str, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    async with open_stores(store_url, clock=clock) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        await add(stores, endpoint)
        await run_slot(stores, clock, FAILURE, took_ms=0)
        clock.tick(minutes=2)
        await run_slot(stores, clock, FAILURE, took_ms=0)
        before = await get(stores, endpoint)

    async with open_stores(store_url, clock=clock) as stores:
        after = await get(stores, endpoint)
        clock.tick(minutes=4)
        await run_slot(stores, clock, FAILURE, took_ms=0)
        following = await get(stores, endpoint)

    assert (before.failure_count, before.next_run_at) == (2, START + 6 * MINUTE)
    assert after == before
    assert (following.failure_count, following.next_run_at) == (3, START + 14 * MINUTE)


@pytest.mark.parametrize(
    ("overdue", "failures"),
    [
        pytest.param(HOUR, 4, id="an hour overdue, it is kept"),
        pytest.param(HOUR + timedelta(microseconds=1), 1, id="a moment longer, it is dropped"),
    ],
)
async def test_backoff_is_dropped_where_its_run_is_more_than_an_hour_overdue(
    stores: Stores, clock: FixedClock, overdue: timedelta, failures: int
) -> None:
    endpoint = an_endpoint(failure_count=3)
    await add(stores, endpoint)
    clock.at += overdue

    await run_slot(stores, clock, FAILURE)

    assert (await get(stores, endpoint)).failure_count == failures


async def seen_after(stores: Stores, clock: FixedClock) -> list[tuple[str, str, timedelta, int]]:
    """Everything that runs now, one after the other; then all runs: how, why, for which slot, how many were missed."""
    while await run_slot(stores, clock):
        pass
    runs = sorted(await stores.runs.runs("default", RunFilter()), key=lambda run: (run.slot_at, run.attempt))
    return [(run.status, run.trigger, run.slot_at - START, run.missed_count) for run in runs]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {}, [("missed", "schedule", 0 * MINUTE, 5), ("success", "schedule", 5 * MINUTE, 0)],
            id="run_once, the default: the newest",
        ),
        pytest.param(
            {"misfire": MisfirePolicy.SKIP}, [("missed", "schedule", 0 * MINUTE, 6)], id="skip: none"
        ),
        pytest.param(
            {"misfire": MisfirePolicy.CATCH_UP, "catch_up_max": 2},
            [
                ("missed", "schedule", 0 * MINUTE, 4), ("success", "catch-up", 4 * MINUTE, 0),
                ("success", "catch-up", 5 * MINUTE, 0),
            ],
            id="catch_up(2): the two newest, oldest first",
        ),
        pytest.param(
            {"max_lateness_ms": 39_000}, [("missed", "schedule", 0 * MINUTE, 6)],
            id="run_once, but the newest is too late",
        ),
        pytest.param(
            {"misfire": MisfirePolicy.SKIP, "max_lateness_ms": 40_000},
            [("missed", "schedule", 0 * MINUTE, 5), ("success", "schedule", 5 * MINUTE, 0)],
            id="skip, but the newest is not too late",
        ),
    ],
)  # fmt: skip
async def test_slots_that_passed_run_as_the_misfire_policy_says_and_the_rest_is_one_row(
    stores: Stores, clock: FixedClock, fields: dict[str, object], expected: list[tuple[str, str, timedelta, int]]
) -> None:
    await add(stores, an_endpoint("was away", **fields))
    clock.tick(minutes=5, seconds=40)

    assert await seen_after(stores, clock) == expected
