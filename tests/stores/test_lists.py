"""Reads for lists and overviews: literal search, filters by the state in words, pages, counts."""

from datetime import timedelta

import pytest
from tests.stores.databases import query
from tests.stores.world import START, FixedClock, add, an_endpoint, an_outcome, archived, change, claim, run_slot

from mainspring.domain.instant import FOREVER
from mainspring.domain.run import RunStatus, RunTrigger
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.ports.filters import EndpointListFilter, RunListFilter, RunMark, StateCount
from mainspring.ports.stores import Stores
from mainspring.views.endpoint import state_of

HOUR = timedelta(hours=1)


async def names(stores: Stores, **wanted: object) -> list[str]:
    return [each.name for each in await stores.look.endpoints("default", EndpointListFilter(**wanted))]  # type: ignore[arg-type]  # a filter's fields


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%", ["100% sure"]),
        ("_", ["a_b"]),
        ("\\", ["back\\slash"]),
        ("A_B", ["a_b"]),
        (".*", []),
        ("'; DROP TABLE run; --", []),
        ("/healthz?x=", ["a_b"]),
        ("written down", ["100% sure"]),
        ("x" * 500, []),
    ],
)
async def test_search_is_literal(stores: Stores, text: str, found: list[str]) -> None:
    plain = an_endpoint("back\\slash")
    await add(stores, plain, an_endpoint("100% sure", description="Written down."))
    url = type(plain.action)(url="http://127.0.0.1:9/healthz?x=1")
    await add(stores, an_endpoint("a_b", action=url), an_endpoint("axb"))

    assert await names(stores, text=text) == found


async def test_states_in_sql_are_those_in_words(stores: Stores, clock: FixedClock) -> None:
    later = START + HOUR
    made = [
        an_endpoint("a"),
        an_endpoint("b", paused_until=later),
        an_endpoint("c", paused_until=START),
        an_endpoint("d", parked_at=START, paused_until=later),
        an_endpoint("e", job_active=False, paused_until=later),
        an_endpoint("f", deferred_until=later),
        an_endpoint("g", deferred_until=START - HOUR, failure_count=2),
    ]
    await add(stores, *made, an_endpoint("h"))
    await change(stores, (await stores.look.endpoints("default", EndpointListFilter()))[-1], archived())
    by_words = {each.name: state_of(each, clock.now()) for each in made}

    for state in set(by_words.values()):
        assert await names(stores, state=state) == [name for name, said in by_words.items() if said == state]
    assert await names(stores, state="archived") == ["h"]
    assert await names(stores, state="failing") == ["g"]
    assert await names(stores, state="running") == []
    assert await names(stores, state="adapting") == []
    assert sorted(await stores.look.count_states("default", START - HOUR), key=lambda each: each.state) == [
        StateCount("active", 3, 1, 0, 0),
        StateCount("archived", 1, 0, 0, 0),
        StateCount("deferred", 1, 0, 0, 0),
        StateCount("job-paused", 1, 0, 0, 0),
        StateCount("parked", 1, 0, 0, 0),
        StateCount("paused", 1, 0, 0, 0),
    ]


async def test_adapting_are_those_with_a_hint_in_force(stores: Stores) -> None:
    soon, over = START + HOUR, START - HOUR
    await add(
        stores,
        an_endpoint("by its schedule"),
        an_endpoint("more often", interval_hint=IntervalHint(30_000, soon)),
        an_endpoint("not any more", interval_hint=IntervalHint(30_000, over)),
        an_endpoint("once more", one_shot_hint=OneShotHint(soon, soon)),
    )

    assert await names(stores, state="adapting") == ["more often", "once more"]


async def test_newest_runs_of_several_endpoints_come_at_once(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint("a"), an_endpoint("b"), an_endpoint("never ran", paused_until=FOREVER))
    for _ in range(3):
        await run_slot(stores, clock)
        clock.tick(minutes=2)
    ids = {each.name: each.id for each in await stores.look.endpoints("default", EndpointListFilter())}

    recent = await stores.look.recent("default", list(ids.values()), 2)

    assert set(recent) == {ids["a"], ids["b"]}
    for name in ("a", "b"):
        page = await stores.look.runs("default", RunListFilter(endpoint_id=ids[name], limit=2))
        assert recent[ids[name]] == [RunMark(run.id, run.status.value, run.duration_ms) for run, _ in page.runs]
    assert await stores.look.recent("another", list(ids.values()), 2) == {}


async def test_endpoints_come_in_pages_by_name(stores: Stores) -> None:
    await add(stores, *(an_endpoint(f"endpoint {number}") for number in range(5)))
    first = await stores.look.endpoints("default", EndpointListFilter(limit=3))
    rest = await stores.look.endpoints("default", EndpointListFilter(limit=3, after=(first[-1].name, first[-1].id)))

    assert [each.name for each in (*first, *rest)] == [f"endpoint {number}" for number in range(5)]


async def test_another_tenants_endpoints_and_runs_are_not_seen(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint("a"))
    await run_slot(stores, clock)

    assert await stores.look.endpoints("other", EndpointListFilter()) == []
    assert (await stores.look.runs("other", RunListFilter())).runs == ()
    assert await stores.look.count_states("other", START) == []
    assert await stores.look.count_runs("other", START, 1) == [{}]
    assert await stores.look.upcoming("other", 10) == []


async def test_runs_are_listed_with_the_names_of_their_endpoints_and_without_what_is_large(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint("a")
    await add(stores, endpoint)
    await run_slot(stores, clock)
    page = await stores.look.runs("default", RunListFilter())

    ((run, name),) = page.runs
    assert (name, run.endpoint_id, run.status, run.trail, run.detail) == ("a", endpoint.id, "success", "[]", "{}")
    assert page.next_before_id is None


async def test_runs_are_filtered_by_endpoint_status_trigger_and_time(stores: Stores, clock: FixedClock) -> None:
    one = an_endpoint("one", interval_ms=3_600_000)
    two = an_endpoint("two", next_run_at=START + HOUR, interval_ms=3_600_000)
    await add(stores, one, two)
    await run_slot(stores, clock)
    clock.at = START + HOUR
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))

    async def found(**wanted: object) -> list[str]:
        return [name for _, name in (await stores.look.runs("default", RunListFilter(**wanted))).runs]  # type: ignore[arg-type]  # a filter's fields

    assert sorted(await found()) == ["one", "one", "two"]
    assert await found(endpoint_id=two.id) == ["two"]
    assert await found(status=RunStatus.SUCCESS) == ["one"]
    assert sorted(await found(status="failed")) == ["one", "two"]
    assert await found(trigger=RunTrigger.MANUAL) == []
    assert await found(until=START + HOUR) == ["one"]
    assert sorted(await found(since=START + HOUR)) == ["one", "two"]
    assert await found(endpoint_id=one.id, since=START + HOUR, until=START + HOUR) == []


async def test_failed_runs_are_those_that_ended_badly_whatever_way(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("a", interval_ms=600_000)
    await add(stores, endpoint)
    for status in (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.BLOCKED):
        await run_slot(stores, clock, an_outcome(status))
        clock.tick(hours=6)  # past any backoff

    for of in (None, endpoint.id):
        page = await stores.look.runs("default", RunListFilter(endpoint_id=of, status="failed"))
        assert [run.status for run, _ in page.runs] == ["blocked", "timeout", "failure"]


async def test_filtered_page_ends_after_so_many_runs_and_says_where_to_go_on(stores: Stores, clock: FixedClock) -> None:
    look = type(stores.look)(stores.look._db, looked_at_max=2)  # type: ignore[call-arg, attr-defined]  # a small one
    await add(stores, an_endpoint("a", interval_ms=600_000))
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))
    for _ in range(4):
        clock.tick(minutes=10)
        await run_slot(stores, clock)

    pages, before = [], None
    while True:
        page = await look.runs("default", RunListFilter(status="failure", before_id=before, limit=10))
        pages.append(len(page.runs))
        before = page.next_before_id
        if before is None:
            break

    assert pages == [0, 1]


async def test_results_of_an_endpoint_leave_tests_out(stores: Stores, clock: FixedClock, store_url: str) -> None:
    endpoint = an_endpoint("a", interval_ms=600_000)
    await add(stores, endpoint)
    await run_slot(stores, clock, took_ms=12)
    clock.tick(minutes=10)
    (tested,) = await run_slot(stores, clock, an_outcome(RunStatus.FAILURE, duration_ms=30))
    await query(store_url, f"UPDATE run SET trigger = 'test' WHERE id = '{tested.run_id}'")

    (result,) = await stores.look.results("default", endpoint.id, START)
    assert (result.status, result.duration_ms) == ("success", 12)
    assert await stores.look.results("default", endpoint.id, clock.now() + HOUR) == []


async def test_runs_are_counted_by_hour_and_status(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint("a", interval_ms=7_200_000), an_endpoint("b", interval_ms=7_200_000))
    await run_slot(stores, clock)
    clock.at = START + HOUR * 2
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))

    assert await stores.look.count_runs("default", START, 4) == [{"success": 2}, {}, {"failure": 2}, {}]


async def test_upcoming_are_those_that_wait_for_their_time(stores: Stores, clock: FixedClock) -> None:
    await add(
        stores,
        an_endpoint("late", next_run_at=START + HOUR),
        an_endpoint("soon", next_run_at=START + HOUR / 2),
        an_endpoint("asked", next_run_at=START + HOUR, manual_at=START + HOUR / 4),
        an_endpoint("never", next_run_at=None),
        an_endpoint("paused", next_run_at=FOREVER, paused_until=FOREVER),
        an_endpoint("running", next_run_at=START),
    )
    await claim(stores)

    assert [each.name for each in await stores.look.upcoming("default", 10)] == ["asked", "soon", "late"]


async def test_names_are_given_by_id_also_of_archived_endpoints(stores: Stores) -> None:
    one, two = an_endpoint("one"), an_endpoint("two")
    await add(stores, one, two)
    await change(stores, two, archived())

    assert await stores.look.names("default", [one.id, two.id, "ep_none"]) == {one.id: "one", two.id: "two"}
