"""Caps and rates of hosts, and the share of slow runs, as a claim keeps them over all workers."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.world import (
    LEASE_MARGIN_MS,
    START,
    FixedClock,
    add,
    an_endpoint,
    an_outcome,
    claim,
    finished,
    get,
)

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.schedule.fairness import Caps, SlowRoom
from mainspring.domain.schedule.host_limit import parse_host_limits
from mainspring.ports.schedule import ClaimBatch
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.queries import QUERIES
from mainspring.stores.postgres.schedule import PostgresSchedule
from mainspring.stores.postgres.session import PostgresSession
from mainspring.wiring.stores import open_stores

MANY = 1_000
RATED = Caps(MANY, MANY, parse_host_limits("rated = 2/s, burst 3"))
QUICK, SLOW = 1_999, 2_000


def at_host(host: str, count: int, **fields: object) -> list[Endpoint]:
    return [replace(an_endpoint(host=host), **fields) for _ in range(count)]


async def claim_slow(stores: Stores, slow: SlowRoom, limit: int = 100, per_tenant: int = MANY) -> list[str]:
    batch = await stores.schedule.claim_due("worker-1", limit, LEASE_MARGIN_MS, Caps(per_tenant, MANY), slow)
    return sorted(each.endpoint.name for each in batch.claims)


@pytest.mark.parametrize(
    ("pattern", "host"),
    [
        ("busy.example.com", "busy.example.com:443"),
        ("*.example.com:443", "busy.example.com:443"),
        ("b_sy.example.com", "b_sy.example.com:80"),
        ("[::1]:8080", "[::1]:8080"),
    ],
)
async def test_cap_of_a_host_pattern_holds_over_all_workers(
    stores: Stores, other_stores: Stores, pattern: str, host: str
) -> None:
    caps = Caps(MANY, MANY, parse_host_limits(f"{pattern} = 3; *.example.org = 1"))
    await add(stores, *at_host(host, 5), *at_host("other:80", 2))

    first = await claim(stores, limit=2, caps=caps)
    second = await claim(other_stores, worker="worker-2", caps=caps)
    third = await claim(stores, caps=caps)

    assert [sum(each.endpoint.host == host for each in batch.claims) for batch in (first, second, third)] == [2, 1, 0]
    assert sum(len(batch.claims) for batch in (first, second, third)) == 5


async def test_pattern_means_only_what_it_says(stores: Stores) -> None:
    caps = Caps(MANY, MANY, parse_host_limits("b_sy.example.com = 1"))
    await add(stores, *at_host("busy.example.com:80", 3))

    assert len((await claim(stores, limit=2, caps=caps)).claims) == 2
    assert len((await claim(stores, caps=caps)).claims) == 1


async def test_host_may_have_a_higher_cap_than_all_others(stores: Stores) -> None:
    caps = Caps(MANY, 1, parse_host_limits("gateway = 4"))
    await add(stores, *at_host("gateway:80", 6), *at_host("other:80", 2))

    hosts = [each.endpoint.host for _ in range(3) for each in (await claim(stores, caps=caps)).claims]

    assert sorted(hosts) == ["gateway:80"] * 4 + ["other:80"]


async def test_rate_of_a_host_holds_over_all_workers(stores: Stores, other_stores: Stores, clock: FixedClock) -> None:
    await add(stores, *at_host("rated:80", 9), *at_host("other:80", 2))
    started = []
    for milliseconds in (0, 0, 499, 1, 500, 1_500):
        clock.tick(milliseconds=milliseconds)
        one = await claim(stores, limit=2, caps=RATED)
        two = await claim(other_stores, worker="worker-2", caps=RATED)
        started.append(sum(each.endpoint.host == "rated:80" for each in one.claims + two.claims))

    assert started == [3, 0, 0, 1, 1, 3]


async def test_claim_says_when_the_rate_lets_the_next_one_start(stores: Stores, clock: FixedClock) -> None:
    await add(stores, *at_host("rated:80", 5), an_endpoint(next_run_at=START + timedelta(seconds=3)))

    first = await claim(stores, caps=RATED)
    second = await claim(stores, caps=RATED)

    assert (len(first.claims), first.more) == (3, True)
    assert (second.claims, second.more, second.next_due_at) == ((), False, START + timedelta(milliseconds=500))


async def test_endpoints_behind_a_rate_hide_nobody_else(stores: Stores) -> None:
    await add(stores, *at_host("rated:80", 20), *at_host("other:80", 2, next_run_at=START))
    await claim(stores, limit=5, caps=RATED)

    batch = await claim(stores, limit=5, caps=RATED)

    assert [each.endpoint.host for each in batch.claims] == ["other:80"] * 2


async def test_rate_that_was_taken_away_holds_nobody_up(stores: Stores) -> None:
    await add(stores, *at_host("rated:80", 5))
    await claim(stores, caps=RATED)

    assert len((await claim(stores, caps=Caps(MANY, MANY))).claims) == 2


async def claim_while_another_does(
    stores: Stores, store_url: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, int]:
    """How many runs a worker starts that looks and then stands still, and another that claims meanwhile, where claims
    do not take turns: as after a worker that stopped within its own."""
    await add(stores, *at_host("rated:80", 5))
    monkeypatch.setitem(QUERIES, "begin_claim", "BEGIN; SELECT 1")
    between: list[ClaimBatch] = []
    look = PostgresSchedule._read_candidates
    async with open_stores(store_url, clock=clock, pool_size=2) as elsewhere:

        async def look_and_stand_still(schedule: PostgresSchedule, session: PostgresSession, asked: object) -> object:
            sight = await look(schedule, session, asked)  # type: ignore[arg-type]  # passed on
            if schedule is stores.schedule and session.found and not between:
                await add(stores, *at_host("rated:80", 5, next_run_at=START - timedelta(seconds=1)))
                between.append(await claim(elsewhere, caps=RATED))
            return sight

        monkeypatch.setattr(PostgresSchedule, "_read_candidates", look_and_stand_still)
        late = await claim(stores, caps=RATED)
    assert late.more
    return len(late.claims), len(between[0].claims)


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
async def test_starts_that_another_worker_used_meanwhile_are_not_used_twice(
    stores: Stores, store_url: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await claim_while_another_does(stores, store_url, clock, monkeypatch) == (0, 3)


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
async def test_without_comparing_what_is_paid_for_they_are_used_twice(
    stores: Stores, store_url: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    guard = "WHERE host_rate.paid_until <= "
    assert guard in QUERIES["pay_starts"]
    unguarded = QUERIES["pay_starts"].replace(guard, "WHERE true OR host_rate.paid_until <= ")
    monkeypatch.setitem(QUERIES, "pay_starts", unguarded)

    assert await claim_while_another_does(stores, store_url, clock, monkeypatch) == (3, 3)


async def test_workers_that_claim_at_once_do_not_exceed_a_rate(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await add(stores, *at_host("rated:80", 30))
    async with AsyncExitStack() as stack:
        workers = [await stack.enter_async_context(open_stores(store_url, clock=clock, pool_size=2)) for _ in range(8)]
        batches = await asyncio.gather(
            *(claim(each, 5, f"worker-{number}", RATED) for number, each in enumerate(workers))
        )

    assert sum(len(batch.claims) for batch in batches) == 3


async def test_finish_keeps_how_long_the_run_took(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (claimed,) = (await claim(stores)).claims

    await stores.schedule.finish([finished(claimed, an_outcome(duration_ms=2_345))])

    assert (await get(stores, endpoint)).last_duration_ms == 2_345


async def test_slow_runs_take_no_more_places_than_they_may(stores: Stores) -> None:
    slow = [an_endpoint(f"slow {number}", last_duration_ms=SLOW) for number in range(3)]
    quick = [an_endpoint(f"quick {number}", last_duration_ms=QUICK) for number in range(2)]
    await add(stores, *slow, *quick)

    assert await claim_slow(stores, SlowRoom(1, 1)) == ["quick 0", "quick 1", "slow 0"]
    assert await claim_slow(stores, SlowRoom(0, 0)) == []
    assert await claim_slow(stores, SlowRoom(9, 9)) == ["slow 1", "slow 2"]


async def test_first_runs_of_endpoints_have_places_beside_slow_ones(stores: Stores) -> None:
    old = START - timedelta(minutes=1)
    slow = [an_endpoint(f"slow {number}", next_run_at=old, last_duration_ms=SLOW) for number in range(9)]
    new = [an_endpoint(f"new {number}") for number in range(3)]
    await add(stores, *slow, *new, an_endpoint("quick", last_duration_ms=QUICK))

    assert await claim_slow(stores, SlowRoom(0, 2), limit=5) == ["new 0", "new 1", "quick"]
    assert await claim_slow(stores, SlowRoom(-2, 0)) == []
    assert await claim_slow(stores, SlowRoom(2, 3)) == ["new 2", "slow 0", "slow 1"]


async def test_quick_run_is_found_behind_any_number_of_slow_ones(stores: Stores) -> None:
    slow = [an_endpoint(next_run_at=START - timedelta(minutes=1), last_duration_ms=SLOW) for _ in range(20)]
    await add(stores, *slow, an_endpoint("quick", last_duration_ms=QUICK))

    assert await claim_slow(stores, SlowRoom(0, 0), limit=5) == ["quick"]


async def test_endpoints_of_a_host_that_hangs_count_as_slow(stores: Stores) -> None:
    hanging = [an_endpoint(f"hanging {number}", host="hangs:80", last_duration_ms=QUICK) for number in range(9)]
    await add(stores, *hanging, an_endpoint("quick", host="other:80", last_duration_ms=QUICK))
    room = SlowRoom(2, 2, frozenset({"hangs:80"}))

    assert await claim_slow(stores, room) == ["hanging 0", "hanging 1", "quick"]
    assert await claim_slow(stores, SlowRoom(0, 9, room.hosts)) == []


async def test_slow_runs_of_a_tenant_leave_a_quarter_of_its_cap(stores: Stores) -> None:
    slow = [an_endpoint(next_run_at=START - timedelta(minutes=1), last_duration_ms=SLOW) for _ in range(20)]
    await add(stores, *slow)

    assert len(await claim_slow(stores, SlowRoom(MANY, MANY), per_tenant=8)) == 6
    assert await claim_slow(stores, SlowRoom(MANY, MANY), per_tenant=8) == []
    await add(stores, *(an_endpoint(f"quick {number}", last_duration_ms=QUICK) for number in range(3)))
    earlier = START - timedelta(seconds=1)
    await add(stores, *(an_endpoint(f"new {number}", next_run_at=earlier) for number in range(3)))
    assert await claim_slow(stores, SlowRoom(MANY, MANY), limit=5, per_tenant=8) == ["new 0", "quick 0"]
