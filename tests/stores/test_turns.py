"""Claims on PostgreSQL that are decided on without a lock: what happens between look and lease is not overlooked."""

import re
from datetime import timedelta

import pytest
from tests.stores.world import FixedClock, add, an_endpoint, claim

from mainspring.domain.endpoint import Tenant
from mainspring.domain.schedule.fairness import Caps
from mainspring.ports.schedule import ClaimBatch
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.queries import QUERIES
from mainspring.stores.postgres.schedule import PostgresSchedule
from mainspring.wiring.stores import open_stores

pytestmark = pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
ONE_PLACE = (Caps(per_tenant=1, per_host=9), Caps(per_tenant=9, per_host=1))


async def claim_while_another_does(
    stores: Stores, store_url: str, clock: FixedClock, caps: Caps, monkeypatch: pytest.MonkeyPatch
) -> tuple[ClaimBatch, ClaimBatch]:
    """What is given to a worker that looks and then stands still, and to another that claims meanwhile."""
    await add(stores, an_endpoint())
    between: list[ClaimBatch] = []
    look = PostgresSchedule._read_candidates
    async with open_stores(store_url, clock=clock, pool_size=2) as elsewhere:

        async def look_and_stand_still(schedule: PostgresSchedule, *asked: object) -> object:
            sight = await look(schedule, *asked)  # type: ignore[arg-type]  # passed on
            if schedule is stores.schedule and not between:
                await add(
                    stores, an_endpoint(next_run_at=clock.at - timedelta(seconds=1))
                )  # older: its turn comes first
                between.append(await claim(elsewhere, limit=1, caps=caps))
            return sight

        monkeypatch.setattr(PostgresSchedule, "_read_candidates", look_and_stand_still)
        return await claim(stores, limit=1, caps=caps), between[0]


@pytest.mark.parametrize("caps", ONE_PLACE, ids=("of a tenant", "of a host"))
async def test_place_that_is_taken_between_look_and_lease_is_not_given_twice(
    stores: Stores, store_url: str, clock: FixedClock, caps: Caps, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, early = await claim_while_another_does(stores, store_url, clock, caps, monkeypatch)

    assert (len(late.claims), len(early.claims)) == (0, 1)


@pytest.mark.parametrize("caps", ONE_PLACE, ids=("of a tenant", "of a host"))
async def test_without_counting_again_the_place_is_given_twice(
    stores: Stores, store_url: str, clock: FixedClock, caps: Caps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    lease = QUERIES["write_claims_and_read_clock"]
    unguarded = re.sub(r"ELSE\s+(claims_fit\(.*?\)) END", r"ELSE \1 OR true END", lease, flags=re.DOTALL)
    assert unguarded != lease
    monkeypatch.setitem(QUERIES, "write_claims_and_read_clock", unguarded)

    late, early = await claim_while_another_does(stores, store_url, clock, caps, monkeypatch)

    assert (len(late.claims), len(early.claims)) == (1, 1)


async def test_lease_that_is_refused_leaves_neither_usage_nor_events(
    stores: Stores, store_url: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, early = await claim_while_another_does(stores, store_url, clock, ONE_PLACE[0], monkeypatch)

    tenant = await stores.endpoints.tenant("default")
    assert tenant is not None
    assert tenant.runs_this_month == len(late.claims + early.claims) == 1


async def test_quota_that_is_used_up_between_look_and_lease_is_not_exceeded(
    stores: Stores, store_url: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=1))

    late, early = await claim_while_another_does(stores, store_url, clock, Caps(9, 9), monkeypatch)

    assert (len(late.claims), len(early.claims)) == (0, 1)


async def test_lease_of_a_worker_that_stood_still_after_its_look_counts_from_when_it_goes_on(
    stores: Stores, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(stores, an_endpoint())
    look = PostgresSchedule._read_candidates
    looks: list[object] = []

    async def look_and_stand_still(schedule: PostgresSchedule, *asked: object) -> object:
        looks.append(await look(schedule, *asked))  # type: ignore[arg-type]  # passed on
        if len(looks) == 1:
            clock.tick(minutes=10)
        return looks[-1]

    monkeypatch.setattr(PostgresSchedule, "_read_candidates", look_and_stand_still)
    (claimed,) = (await claim(stores)).claims

    assert claimed.endpoint.lease_until is not None
    assert claimed.endpoint.lease_until > clock.at
    assert len(looks) == 2
