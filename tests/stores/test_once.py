"""Endpoints with a single run, on both databases."""

from datetime import timedelta

import pytest
from tests.stores.world import START, FixedClock, add, an_endpoint, change, claim, get, kinds, requested, run_slot, told

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import MainspringError
from mainspring.domain.instant import EPOCH
from mainspring.domain.schedule.anchor import plan_first
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.filters import EndpointListFilter
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import Retention

HOUR = timedelta(hours=1)


def single(name: str = "single", **fields: object) -> Endpoint:
    settings: dict[str, object] = {"interval_ms": None, "once_at": START + HOUR}
    return plan_first(an_endpoint(name, **settings | fields), START, CRON)


async def test_runs_once_at_its_time(stores: Stores, clock: FixedClock) -> None:
    endpoint = single()
    await add(stores, endpoint)
    early = (await claim(stores)).claims
    clock.tick(hours=1)
    (started,) = await run_slot(stores, clock)
    clock.tick(days=400)

    assert (early, started.slot_at, (await claim(stores)).claims) == ((), START + HOUR, ())
    assert (await get(stores, endpoint)).is_done


async def test_lists_find_what_is_done_and_a_requested_run_leaves_it_so(stores: Stores, clock: FixedClock) -> None:
    await add(stores, single(), an_endpoint("other", next_run_at=START + 2 * HOUR))
    clock.tick(hours=1)
    await run_slot(stores, clock)
    (done,) = await stores.look.endpoints("default", EndpointListFilter(state="done"))
    await change(stores, done, requested())
    await run_slot(stores, clock)

    still_done = await stores.look.endpoints("default", EndpointListFilter(state="done"))
    active = await stores.look.endpoints("default", EndpointListFilter(state="active"))
    assert [each.name for each in (done, *still_done, *active)] == ["single", "single", "other"]
    assert len(await stores.runs.runs("default", RunFilter(done.id))) == 2


@pytest.mark.parametrize("fields", [{"once_at": None}, {"interval_ms": 60_000}, {"cron": "* * * * *"}])
async def test_schema_refuses_no_schedule_and_two(stores: Stores, fields: dict[str, object]) -> None:
    settings: dict[str, object] = {"interval_ms": None, "once_at": START + HOUR}
    contradictory = an_endpoint("contradictory", **settings | fields)
    if "cron" in fields:
        assert contradictory.once_at is not None

    with pytest.raises(Exception) as refused:  # noqa: PT011  # each driver has its own
        await add(stores, contradictory)

    assert not isinstance(refused.value, MainspringError)


async def test_what_is_done_is_removed_with_its_runs_after_its_retention(stores: Stores, clock: FixedClock) -> None:
    managed = single("managed", managed_by="shop")
    waiting = single("waiting", once_at=START + 100 * HOUR)
    await add(stores, single(), managed, waiting)
    clock.tick(hours=1)
    await run_slot(stores, clock)
    for done_before in (clock.now() - HOUR, clock.now() + HOUR):
        keep = Retention(EPOCH, EPOCH, EPOCH, 10_000, done_before=done_before)
        while not (await stores.upkeep.sweep(keep, 10)).done:
            pass

    left = await stores.endpoints.endpoints("default", EndpointFilter())
    assert sorted(each.name for each in left) == ["managed", "waiting"]
    assert [run.endpoint_id for run in await stores.runs.runs("default", RunFilter())] == [managed.id]
    assert kinds(await told(stores)).count("endpoint.deleted") == 1
