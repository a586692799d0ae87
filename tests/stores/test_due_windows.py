"""A look reads a bounded part of what is due, and still finds whoever can start: in a backlog, behind a full host."""

from datetime import timedelta

import pytest
from tests.stores.databases import multiply
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished

from mainspring.domain.endpoint import Tenant
from mainspring.domain.schedule.fairness import Caps
from mainspring.ports.stores import Stores
from mainspring.stores.due_windows import FIRST, LOT_MAX, WINDOW_MIN, DueWindows, Place

SECOND = timedelta(seconds=1)
BACKLOG = 3 * WINDOW_MIN
LOOKS = BACKLOG // WINDOW_MIN + 1  # to see all of it


async def fill(stores: Stores, store_url: str, **fields: object) -> None:
    """A backlog of one tenant at one host."""
    one = an_endpoint("flood", host="full:80", **fields)
    await add(stores, one)
    await multiply(store_url, one, BACKLOG)


@pytest.mark.parametrize("due_at", [START - SECOND, START], ids=("older", "of the same instant"))
async def test_tenant_behind_the_backlog_of_another_starts_within_a_few_looks(
    stores: Stores, store_url: str, clock: FixedClock, due_at: object
) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await fill(stores, store_url, next_run_at=due_at)
    await add(stores, an_endpoint("late", tenant_id="other", job_id="job_other"))
    started: list[str] = []
    for _ in range(LOOKS):
        claims = (await claim(stores, limit=2)).claims
        started += [each.endpoint.name for each in claims]
        await stores.schedule.finish([finished(each) for each in claims])

    assert "late" in started


@pytest.mark.parametrize("due_at", [START - SECOND, START], ids=("older", "of the same instant"))
async def test_endpoint_behind_a_full_host_is_found_within_a_few_looks(
    stores: Stores, store_url: str, clock: FixedClock, due_at: object
) -> None:
    caps = Caps(per_tenant=1000, per_host=1)
    await fill(stores, store_url, next_run_at=due_at)
    await add(stores, an_endpoint("late", host="free:80"))
    batches = [await claim(stores, caps=caps) for _ in range(LOOKS)]

    hosts = [each.endpoint.host for batch in batches for each in batch.claims]
    assert sorted(hosts) == ["free:80", "full:80"]


async def test_what_falls_due_behind_a_backlog_that_cannot_start_starts_with_the_next_look(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    caps = Caps(per_tenant=1000, per_host=1)
    await fill(stores, store_url, next_run_at=START)
    await add(stores, an_endpoint("late", host="free:80", next_run_at=START + SECOND))
    await claim(stores, caps=caps)
    await claim(stores, caps=caps)
    clock.tick(seconds=1)

    assert [each.endpoint.name for each in (await claim(stores, caps=caps)).claims] == ["late"]


async def test_look_that_found_nobody_in_a_part_of_the_backlog_goes_on_soon(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    caps = Caps(per_tenant=1000, per_host=1)
    await fill(stores, store_url, next_run_at=START)
    await claim(stores, caps=caps)

    batch = await claim(stores, caps=caps)

    assert (batch.claims, batch.more) == ((), False)
    assert batch.next_due_at is not None
    assert batch.next_due_at <= clock.at + SECOND / 10


def test_without_a_backlog_a_look_reads_one_window() -> None:
    windows = DueWindows()
    assert not windows.looked(START, {})

    assert windows.starts == [FIRST]


def test_second_window_moves_through_the_backlog_and_begins_again_at_its_end() -> None:
    windows = DueWindows()
    oldest, middle = Place(START, 3), Place(START, 7)
    assert windows.looked(START + SECOND, {0: oldest})
    fresh = Place(START + SECOND, LOT_MAX)
    assert windows.starts == [FIRST, oldest, fresh]
    assert windows.looked(START + SECOND, {0: oldest, 1: middle})
    assert windows.starts == [FIRST, middle, fresh]
    assert windows.looked(START + SECOND, {0: oldest})
    assert windows.starts == [FIRST, oldest, fresh]
    assert not windows.looked(START + SECOND, {})
    assert windows.starts == [FIRST]
