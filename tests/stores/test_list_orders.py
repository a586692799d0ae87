"""Lists in other orders than their first, page by page, and how many there are of what a list shows."""

from datetime import timedelta

import pytest
from tests.stores.world import START, FixedClock, add, an_endpoint, archived, change, run_slot

from mainspring.ports.filters import EndpointListFilter, EndpointOrder, RunListFilter, Total
from mainspring.ports.notifications import DeliveryFilter
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import ExecutionFilter

HOUR = timedelta(hours=1)


async def in_pages(stores: Stores, order: EndpointOrder, limit: int = 2, **filters: str) -> list[str]:
    """The names, read page by page."""
    names: list[str] = []
    after: tuple[str, str] | None = None
    while True:
        wanted = EndpointListFilter(after=after, limit=limit, order=order, **filters)
        page = await stores.look.endpoints("default", wanted)
        names += [each.name for each in page]
        if len(page) < limit:
            return names
        last = page[-1]
        assert last.next_run_at is not None
        after = (last.name if "name" in order else last.next_run_at.isoformat(), last.id)


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("name", ["a", "b", "c", "d", "e"]),
        ("-name", ["e", "d", "c", "b", "a"]),
        ("next_run_at", ["c", "a", "e", "b", "d"]),
        ("-next_run_at", ["d", "b", "e", "a", "c"]),
    ],
)
async def test_endpoints_are_sorted_over_all_pages(stores: Stores, order: EndpointOrder, found: list[str]) -> None:
    hours = {"a": 2, "b": 4, "c": 1, "d": 5, "e": 3}
    await add(stores, *(an_endpoint(name, next_run_at=START + HOUR * hour) for name, hour in hours.items()))

    assert await in_pages(stores, order) == found
    assert await in_pages(stores, order, limit=50) == found


async def test_endpoints_with_the_same_next_run_are_each_on_one_page(stores: Stores) -> None:
    await add(stores, *(an_endpoint(name, next_run_at=START + HOUR) for name in "abcde"))

    assert sorted(await in_pages(stores, "next_run_at")) == list("abcde")
    assert sorted(await in_pages(stores, "-next_run_at")) == list("abcde")


async def test_archived_endpoints_are_in_no_order_unless_they_are_asked_for(stores: Stores) -> None:
    gone = an_endpoint("gone")
    await add(stores, gone, an_endpoint("here"))
    await change(stores, gone, archived())
    look = EndpointListFilter(order="-name")

    assert [each.name for each in await stores.look.endpoints("default", look)] == ["here"]
    assert [
        each.name
        for each in await stores.look.endpoints("default", EndpointListFilter(state="archived", order="-name"))
    ] == ["gone"]


async def test_runs_are_listed_oldest_first_page_by_page(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one", interval_ms=600_000)
    await add(stores, one)
    for _ in range(5):
        await run_slot(stores, clock)
        clock.tick(minutes=10)
    newest_first = [run.id for run, _ in (await stores.look.runs("default", RunListFilter())).runs]

    for of in (None, one.id):
        found: list[str] = []
        place: str | None = None
        while True:
            page = await stores.look.runs(
                "default", RunListFilter(endpoint_id=of, before_id=place, limit=2, oldest_first=True)
            )
            found += [run.id for run, _ in page.runs]
            place = page.next_before_id
            if place is None:
                break
        assert found == newest_first[::-1]


async def test_totals_count_what_matches_wherever_the_page_begins(stores: Stores, clock: FixedClock) -> None:
    one, two = an_endpoint("one", interval_ms=600_000), an_endpoint("two", failure_count=2)
    await add(stores, one)
    for _ in range(3):
        await run_slot(stores, clock)
        clock.tick(minutes=10)
    await add(stores, two, an_endpoint("three"))

    assert await stores.look.total("default", EndpointListFilter(after=("two", two.id), limit=1)) == Total(
        3, is_exact=True
    )
    assert await stores.look.total("default", EndpointListFilter(state="failing")) == Total(1, is_exact=True)
    assert await stores.look.total("default", EndpointListFilter(text="tw")) == Total(1, is_exact=True)
    assert await stores.look.total("other", EndpointListFilter()) == Total(0, is_exact=True)
    assert await stores.look.total("default", RunListFilter(limit=1)) == Total(3, is_exact=True)
    assert await stores.look.total("default", RunListFilter(endpoint_id=two.id)) == Total(0, is_exact=True)
    assert await stores.look.total("default", RunListFilter(status="failed")) == Total(0, is_exact=True)
    assert await stores.look.total("default", RunListFilter(until=START - HOUR)) == Total(0, is_exact=True)
    assert await stores.look.total("default", ExecutionFilter(in_need=True)) == Total(0, is_exact=True)
    assert await stores.look.total("default", DeliveryFilter()) == Total(0, is_exact=True)


async def test_total_of_a_filter_says_when_it_stopped_looking(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint("one", interval_ms=600_000))
    for _ in range(4):
        await run_slot(stores, clock)
        clock.tick(minutes=10)
    near = type(stores.look)(stores.look._db, looked_at_max=2)  # type: ignore[attr-defined,call-arg]  # both stores have it

    assert await near.total("default", RunListFilter(status="success")) == Total(2, is_exact=False)
    assert await near.total("default", RunListFilter()) == Total(4, is_exact=True)
