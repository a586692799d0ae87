"""Schedulers on PostgreSQL claim side by side: each in its own lanes, and in those of others what is late there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest
from tests.harness.postgres import as_superuser
from tests.stores.databases import query
from tests.stores.world import FixedClock, add, an_endpoint, claim, finished

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.schedule.fairness import Caps
from mainspring.ports.schedule import ClaimBatch
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.fleet import HELP_EVERY, LATE_MS, Fleet
from mainspring.stores.postgres.queries import LANE_CLASS, LANES
from mainspring.wiring.stores import open_stores

on_postgres = pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
WORKERS = ("worker-1", "worker-2")
PLACES = 1_000
LATE = max(HELP_EVERY, timedelta(milliseconds=LATE_MS + 1))


@pytest.fixture
async def pair(stores: Stores, store_url: str, clock: FixedClock) -> AsyncIterator[dict[str, Stores]]:
    """Two schedulers that know of each other."""
    async with open_stores(store_url, clock=clock) as other:
        found = dict(zip(WORKERS, (stores, other), strict=True))
        for worker, each in found.items():
            await each.presence.beat(worker, {"scheduler": PLACES})
        for worker, each in found.items():
            await claim(each, worker=worker)  # reads who is alive
        yield found


def hosts(count: int) -> list[Endpoint]:
    return [an_endpoint(host=f"host-{number}:80") for number in range(count)]


def ids(*batches: ClaimBatch) -> set[str]:
    return {each.endpoint.id for batch in batches for each in batch.claims}


@asynccontextmanager
async def holding(store_url: str, lanes: list[int]) -> AsyncIterator[None]:
    """As a worker that stands still in the middle of its claim."""
    connection = await asyncpg.connect(as_superuser(store_url))
    try:
        async with connection.transaction():
            for lane in lanes:
                assert await connection.fetchval("SELECT pg_try_advisory_xact_lock($1, $2)", LANE_CLASS, lane)
            yield
    finally:
        await connection.close()


@on_postgres
async def test_two_schedulers_claim_different_endpoints_and_together_all(
    stores: Stores, pair: dict[str, Stores]
) -> None:
    endpoints = hosts(40)
    await add(stores, *endpoints)

    one, two = [ids(await claim(each, worker=worker)) for worker, each in pair.items()]

    assert one
    assert two
    assert not one & two
    assert one | two == {each.id for each in endpoints}


@on_postgres
async def test_claim_goes_on_beside_one_that_stands_still_in_its_own_lanes(
    stores: Stores, pair: dict[str, Stores], store_url: str
) -> None:
    await add(stores, *hosts(40))
    others = Fleet(2 * PLACES, 2, WORKERS).lanes_of("worker-2")
    assert others is not None
    async with holding(store_url, others):
        batch = await claim(stores, worker="worker-1")

    assert batch.claims


@on_postgres
async def test_what_is_late_in_the_lanes_of_another_is_claimed(
    stores: Stores, pair: dict[str, Stores], clock: FixedClock
) -> None:
    endpoints = hosts(40)
    await add(stores, *endpoints)
    clock.at += LATE

    first = await claim(stores, worker="worker-1")
    clock.at += LATE
    second = await claim(stores, worker="worker-1")

    assert ids(first, second) == {each.id for each in endpoints}


@on_postgres
async def test_scheduler_with_lanes_looks_for_what_others_leave_though_nothing_is_due(
    pair: dict[str, Stores], clock: FixedClock
) -> None:
    batch = await claim(pair["worker-1"], worker="worker-1")

    assert (batch.claims, batch.next_due_at) == ((), clock.at + HELP_EVERY)


@on_postgres
async def test_lanes_of_a_silent_scheduler_go_to_the_others(
    stores: Stores, pair: dict[str, Stores], clock: FixedClock
) -> None:
    clock.tick(seconds=10)
    await stores.presence.beat("worker-1", {"scheduler": PLACES})
    await claim(stores, worker="worker-1")  # reads who is alive
    endpoints = [an_endpoint(host=f"host-{number}:80", next_run_at=clock.at) for number in range(40)]
    await add(stores, *endpoints)

    assert ids(await claim(stores, worker="worker-1")) == {each.id for each in endpoints}


@pytest.mark.parametrize("caps", [Caps(3, 100), Caps(100, 3)], ids=("of a tenant", "of a host"))
@on_postgres
async def test_caps_hold_exactly_among_schedulers_that_claim_at_once(
    stores: Stores, store_url: str, clock: FixedClock, caps: Caps
) -> None:
    assert await claimed_at_once(stores, store_url, clock, caps) == 3


@on_postgres
async def test_quota_holds_exactly_among_schedulers_that_claim_at_once(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=3))

    assert await claimed_at_once(stores, store_url, clock, Caps(100, 100)) == 3


async def claimed_at_once(stores: Stores, store_url: str, clock: FixedClock, caps: Caps) -> int:
    """How many runs eight schedulers start at the same time, of many that are due; with a cap of a host, all at one."""
    await add(stores, *(hosts(40) if caps.per_host == 100 else [an_endpoint() for _ in range(40)]))
    names = [f"worker-{number}" for number in range(8)]
    async with AsyncExitStack() as stack:
        fleet = [await stack.enter_async_context(open_stores(store_url, clock=clock, pool_size=2)) for _ in names]
        for name, each in zip(names, fleet, strict=True):
            await each.presence.beat(name, {"scheduler": PLACES})
        for _ in range(3):
            clock.at += LATE
            batches = await asyncio.gather(
                *(claim(each, worker=name, caps=caps) for name, each in zip(names, fleet, strict=True))
            )
    rows = await query(store_url, "SELECT COUNT(*) FROM schedule WHERE lease_until IS NOT NULL")
    assert len(batches) == len(names)
    return int(str(rows[0][0]))


def test_runs_of_a_tenant_are_not_counted_where_places_cannot_exceed_its_cap() -> None:
    fleet = Fleet(1_000, 1, ("worker-1",))

    assert fleet.cap_to_count("worker-1", 1_000) is None
    assert fleet.cap_to_count("worker-1", 999) == 999
    assert fleet.cap_to_count("worker-2", 1_000) == 1_000


@on_postgres
async def test_result_of_an_own_lane_wakes_nobody_else(
    stores: Stores, pair: dict[str, Stores], monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(stores, *(an_endpoint(host=f"host-{number}:80", interval_ms=1_000) for number in range(40)))
    batch = await claim(stores, worker="worker-1")
    told: list[object] = []
    payload = type(stores.schedule._db).notify_payload  # type: ignore[attr-defined]  # PostgreSQL's

    def noted(database: object, moved_to: object) -> str:
        told.append(moved_to)
        return str(payload(database, moved_to))

    monkeypatch.setattr(type(stores.schedule._db), "notify_payload", noted)  # type: ignore[attr-defined]  # the same
    await stores.schedule.finish([finished(each) for each in batch.claims])

    assert batch.claims
    assert told == []


def test_lanes_are_divided_among_those_that_are_alive() -> None:
    names = ("a", "b", "c")
    lanes = [Fleet(3, 3, names).lanes_of(name) for name in names]

    assert sorted(lane for each in lanes for lane in each or ()) == list(range(LANES))
    assert Fleet(1, 1, ("a",)).lanes_of("a") is None
    assert Fleet(3, 3, names).lanes_of("new") is None
