"""The cache: two processes that share a database never act on what the other one has changed meanwhile.

The witness is a third database, in memory, whose cache is emptied before every step: what the two processes with their
caches do must be what it does, claim by claim and endpoint by endpoint.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.stores.databases import IN_MEMORY, empty
from tests.stores.world import (
    FixedClock,
    add,
    an_endpoint,
    an_outcome,
    change,
    claim,
    edited,
    finished,
    hinted,
    hinted_once,
    requested,
)

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.errors import MainspringError
from mainspring.domain.run import HttpAction, Run, RunStatus
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Act
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.stores.cache import EndpointCache
from mainspring.wiring.stores import open_stores

ENDPOINTS = [
    an_endpoint("a", id="ep_a"),
    an_endpoint("b", id="ep_b", interval_ms=20_000),
    an_endpoint("c", id="ep_c", cron="*/2 * * * *"),
]


@dataclass(frozen=True)
class Step:
    who: int
    verb: str
    which: int
    number: int


@dataclass
class World:
    """Processes on one database, and the claims they hold, by endpoint and epoch."""

    processes: Sequence[Stores]
    clock: FixedClock
    is_witness: bool = False
    held: dict[tuple[str, int], Claim] = field(default_factory=dict)

    async def prepare(self) -> None:
        await self.processes[0].endpoints.put_tenant(Tenant("default", "default"))
        await add(self.processes[0], *ENDPOINTS)

    async def take(self, step: Step) -> object:
        """What the process saw, and everything as it then is."""
        stores = self.processes[step.who % len(self.processes)]
        if self.is_witness:
            forget(stores)
        try:
            seen = await VERBS[step.verb](self, stores, step)
        except MainspringError as fault:
            seen = str(fault)
        endpoints = await stores.endpoints.endpoints("default", EndpointFilter())
        runs = await stores.runs.runs("default", RunFilter(limit=10_000))
        return seen, [nameless(endpoint) for endpoint in endpoints], sorted(map(without_id, runs), key=repr)


def forget(stores: Stores) -> None:
    schedule: Any = stores.schedule  # the port does not speak of a cache, and need not
    schedule._cache = EndpointCache()


def nameless(endpoint: Endpoint) -> Endpoint:
    """Ids of runs are drawn in the order in which rows are met, which the cache may change."""
    return replace(endpoint, run_id="")


def without_id(run: Run) -> Run:
    return replace(run, id="")


async def claim_some(world: World, stores: Stores, step: Step) -> object:
    batch = await claim(stores, worker=f"worker-{step.who}")  # all: which one of two equally old comes first is open
    world.held |= {(each.endpoint.id, each.epoch): each for each in batch.claims}
    seen = [replace(each, run_id="", endpoint=nameless(each.endpoint)) for each in batch.claims]
    return sorted(seen, key=lambda each: each.endpoint.id), batch.next_due_at, batch.more


async def finish_one(world: World, stores: Stores, step: Step) -> object:
    if not world.held:
        return None
    key = sorted(world.held)[step.which % len(world.held)]
    each = world.held[key]
    if step.number % 4:  # now and then the answer is lost, and the same result comes again
        del world.held[key]
    status = RunStatus.SUCCESS if step.number % 2 else RunStatus.FAILURE
    outcome = an_outcome(status, retry_after_s=30 if step.number == 5 else None)
    started_at, now = each.claimed_at, world.clock.now()
    result = finished(each, outcome, started_at, took_ms=int((now - started_at).total_seconds() * 1000))
    report = await stores.schedule.finish([result])
    return len(report.recorded), len(report.superseded), report.next_due_at


async def release_one(world: World, stores: Stores, step: Step) -> object:
    if world.held:
        key = sorted(world.held)[step.which % len(world.held)]
        await stores.schedule.release([world.held.pop(key)])
    return None


async def expire(world: World, stores: Stores, step: Step) -> object:
    return await stores.schedule.expire_hints(10)


async def tick(world: World, stores: Stores, step: Step) -> object:
    if world.is_witness:  # the clock is one for both, and the witness comes last
        world.clock.tick(seconds=(7, 20, 45, 100)[step.number % 4])
    return None


async def forbid_runs(world: World, stores: Stores, step: Step) -> object:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=0))
    return None


async def allow_runs(world: World, stores: Stores, step: Step) -> object:
    await stores.endpoints.put_tenant(Tenant("default", "default"))
    return None


def changed(act: Callable[[int], Act]) -> Callable[[World, Stores, Step], Awaitable[object]]:
    async def take(world: World, stores: Stores, step: Step) -> object:
        endpoint = ENDPOINTS[step.which % len(ENDPOINTS)]
        return nameless(await change(stores, endpoint, act(step.number)))

    return take


def paused(number: int) -> Act:
    return lambda old, now: changes.pause(old, now + timedelta(seconds=30 * (number + 1)), "", now, "tester", CRON)


VERBS: dict[str, Callable[[World, Stores, Step], Awaitable[object]]] = {
    "claim": claim_some,
    "finish": finish_one,
    "release": release_one,
    "expire hints": expire,
    "tick": tick,
    "forbid runs": forbid_runs,
    "allow runs": allow_runs,
    "edit interval": changed(lambda number: edited(cron=None, interval_ms=10_000 * (number + 1))),
    "edit target": changed(lambda number: edited(action=HttpAction(url=f"http://h{number}/"), host=f"h{number}:80")),
    "hint": changed(lambda number: hinted(1_000 * (number + 1), ttl=timedelta(seconds=20 * (number + 1)))),
    "hint once": changed(lambda number: hinted_once(timedelta(seconds=5 * number), ttl=timedelta(seconds=60))),
    "clear hints": changed(lambda number: lambda old, now: changes.clear_hints(old, now, "tester", CRON)),
    "pause": changed(paused),
    "resume": changed(lambda number: lambda old, now: changes.resume(old, now, "tester", CRON)),
    "run": changed(lambda number: requested()),
    "reset failures": changed(lambda number: lambda old, now: changes.reset_failures(old, now, "tester", CRON)),
}
# Half of all steps claim, finish or let time pass: without those nothing is ever cached.
STEPS = st.builds(
    Step,
    st.integers(0, 1),
    st.one_of(st.sampled_from(["claim", "finish", "tick"]), st.sampled_from(sorted(VERBS))),
    st.integers(0, 2),
    st.integers(0, 5),
)
# Stories that chance finds only now and then: each would act on an old value if one write did not count as one.
EDITED_AFTER_A_FINISH = [
    Step(0, "claim", 0, 0),
    Step(0, "finish", 0, 1),
    Step(1, "edit target", 0, 1),
    *[Step(0, "tick", 0, 1)] * 3,
    Step(0, "claim", 0, 0),
]
ALLOWED_AGAIN = [
    Step(0, "forbid runs", 0, 0),
    Step(0, "claim", 0, 0),
    Step(1, "allow runs", 0, 0),
    Step(0, "claim", 0, 0),
]


async def agree(url: str, steps: Sequence[Step]) -> None:
    clock = FixedClock()
    async with AsyncExitStack() as opened:
        first, second = [await opened.enter_async_context(open_stores(url, clock=clock)) for _ in range(2)]
        witness = await opened.enter_async_context(open_stores("sqlite:///:memory:", clock=clock, inline=True))
        worlds = World([first, second], clock), World([witness], clock, is_witness=True)
        for world in worlds:
            await world.prepare()
        for step in steps:
            cached, uncached = [await world.take(step) for world in worlds]
            assert cached == uncached, step


def test_endpoint_is_known_at_the_revision_it_was_kept_at() -> None:
    cache = EndpointCache()
    cache.keep({"ep_a": 6}, [ENDPOINTS[0]], written=1)

    assert cache.known({"ep_a": 7}) == ([ENDPOINTS[0]], [])


@pytest.mark.parametrize("revision", [6, 8], ids=["before it was kept", "after somebody else wrote it"])
def test_endpoint_is_not_known_at_another_revision(revision: int) -> None:
    cache = EndpointCache()
    cache.keep({"ep_a": 6}, [ENDPOINTS[0]], written=1)

    assert cache.known({"ep_a": revision, "ep_b": 0}) == ([], ["ep_a", "ep_b"])


def test_full_cache_forgets_the_oldest() -> None:
    cache = EndpointCache(size=2)
    cache.keep({"ep_a": 0, "ep_b": 0, "ep_c": 0}, ENDPOINTS, written=1)

    assert cache.known({"ep_a": 1, "ep_b": 1, "ep_c": 1}) == (ENDPOINTS[1:], ["ep_a"])


@settings(max_examples=60)
@given(st.lists(STEPS, min_size=25, max_size=40))
@example(EDITED_AFTER_A_FINISH)
@example(ALLOWED_AGAIN)
def test_two_processes_on_sqlite_never_act_on_a_stale_value(steps: list[Step]) -> None:
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        asyncio.run(agree(f"sqlite://{folder}/mainspring.db", steps))


@settings(max_examples=15)
@given(st.lists(STEPS, min_size=25, max_size=40))
@example(EDITED_AFTER_A_FINISH)
@example(ALLOWED_AGAIN)
def test_two_processes_on_postgres_never_act_on_a_stale_value(shared_postgres_url: str, steps: list[Step]) -> None:
    asyncio.run(empty(shared_postgres_url))
    asyncio.run(agree(shared_postgres_url, steps))


def test_a_full_cache_forgets_what_was_not_written_for_longest_and_nothing_else() -> None:
    cache = EndpointCache(size=2)
    a, b, c = ENDPOINTS
    for each in (a, b, a, a):  # b is the oldest now, and a known one takes nobody's place
        cache.keep({each.id: 1}, [each], written=0)
    assert cache.known({a.id: 1, b.id: 1}) == ([a, b], [])
    cache.keep({c.id: 1}, [c], written=0)
    assert cache.known({a.id: 1, b.id: 1, c.id: 1}) == ([a, c], [b.id])
