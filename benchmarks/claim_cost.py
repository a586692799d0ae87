"""What a look and a claim cost beside more endpoints, tenants and runs in flight; 100 endpoints are due.

    python -m benchmarks.claim_cost [--stores sqlite postgres] [--rounds 40]
        [--endpoints 10000 100000 1000000] [--tenants 1 1000 50000] [--in-flight 0 20000] [--due-tenants 1 100]

Prints milliseconds of processor time (median), of this process and of the server, for a claim of 100 and for a look
that finds nothing, and the ratios to the first size. The endpoints that are due have hosts of their own and belong to
one tenant, so that all claims find the same, except for the last series, in which they belong to several of 2,000
tenants. What several schedulers cost: `benchmarks.scheduler_process`.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from tests.stores.databases import is_sqlite, literal, multiply, query
from tests.stores.world import START, FixedClock, add, an_endpoint, an_outcome

from benchmarks.world import database_url
from mainspring.domain.endpoint import Tenant
from mainspring.domain.schedule.finish import Finished
from mainspring.ports.stores import Stores
from mainspring.wiring.stores import open_stores
from mainspring.workers.scheduler import SchedulerOptions

DUE = 100
WARM = 8  # rounds before the first that counts: PostgreSQL settles for a plan after five
OPTIONS = SchedulerOptions("bench")


class Crowd(NamedTuple):
    """What is there besides the endpoints that are due."""

    endpoints: int
    tenants: int = 1
    in_flight: int = 0
    due_tenants: int = 1  # that the due endpoints belong to


class World(NamedTuple):
    stores: Stores
    clock: FixedClock
    processor_ms: Callable[[], float]
    looks: list[float]
    claims: list[float]


def series_of(
    endpoints: list[int], tenants: list[int], in_flight: list[int], due_tenants: list[int]
) -> dict[str, dict[int, Crowd]]:
    return {
        "endpoints": {size: Crowd(size) for size in endpoints},
        "tenants": {size: Crowd(max(tenants), size) for size in tenants},
        "in flight": {size: Crowd(max(in_flight), min(1_000, max(in_flight)), size) for size in in_flight},
        "tenants of what is due": {size: Crowd(2_000, 2_000, due_tenants=size) for size in due_tenants},
    }


@asynccontextmanager
async def world(kind: str, crowd: Crowd) -> AsyncIterator[World]:
    clock = FixedClock()
    with database_url(kind) as url:
        async with open_stores(url, clock=clock) as stores:
            await stores.endpoints.put_tenant(Tenant("default", "default"))
            await fill(stores, url, crowd)
            yield World(stores, clock, await processor_clock(url), [], [])


async def fill(stores: Stores, url: str, crowd: Crowd) -> None:
    idle = an_endpoint("idle", next_run_at=START + timedelta(days=900))
    await add(stores, idle)
    await multiply(url, idle, crowd.endpoints)
    await add(stores, *(an_endpoint(f"due {number}", host=f"host-{number}:80") for number in range(DUE)))
    await query(
        url,
        "WITH RECURSIVE series (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM series "
        f"WHERE n < {crowd.tenants - 1}) INSERT INTO tenant (id, name) SELECT 'tenant_' || n, 'crowd' FROM series",
    )
    place = f"CAST(substr(id, {len(idle.id) + 2}) AS integer)"
    theirs = f"id LIKE '{idle.id}_%'"
    own = f"tenant_id = 'tenant_' || ({place} % {crowd.tenants})"
    await query(url, f"UPDATE schedule SET {own}, host = 'crowd-' || {place} || ':80' WHERE {theirs}")
    await query(url, f"UPDATE endpoint SET {own} WHERE {theirs}")
    if crowd.due_tenants > 1:
        number = "CAST(substr(host, 6, length(host) - 8) AS integer)"
        theirs_due = f"tenant_id = 'tenant_' || ({number} % {crowd.due_tenants}) WHERE host LIKE 'host-%'"
        await query(url, f"UPDATE schedule SET {theirs_due}")
        await query(url, f"UPDATE endpoint SET {theirs_due}")
    if crowd.in_flight:
        until = literal(url, START + timedelta(days=900))
        await query(url, f"UPDATE schedule SET lease_until = {until} WHERE {theirs} AND {place} <= {crowd.in_flight}")
    await query(url, "ANALYZE" if is_sqlite(url) else "VACUUM ANALYZE schedule")


async def processor_clock(url: str) -> Callable[[], float]:
    """Milliseconds of processor time of this process and, on PostgreSQL, of the server's processes that work for it."""
    if is_sqlite(url):
        return lambda: time.process_time() * 1000
    rows = await query(url, "SELECT pid FROM pg_stat_activity WHERE application_name = 'mainspring'")
    files = [Path(f"/proc/{pid}/schedstat") for (pid,) in rows]
    return lambda: time.process_time() * 1000 + sum(int(file.read_text().split()[0]) for file in files) / 1e6


async def measure(kind: str, crowds: list[Crowd], rounds: int) -> list[tuple[float, float]]:
    """For each crowd, milliseconds (median) of a claim and of a look. They take turns, to meet the same slow second."""
    async with AsyncExitStack() as stack:
        worlds = [await stack.enter_async_context(world(kind, crowd)) for crowd in crowds]
        for number in range(WARM + rounds):
            for each in worlds:
                claim, look = await _round(each)
                if number >= WARM:
                    each.claims.append(claim)
                    each.looks.append(look)
        return [(statistics.median(each.claims), statistics.median(each.looks)) for each in worlds]


async def _round(world: World) -> tuple[float, float]:
    schedule = world.stores.schedule
    costs = []
    for found in (DUE, 0, 0):  # the first of two looks reads past the row versions that the claim left
        start_ms = world.processor_ms()
        batch = await schedule.claim_due(OPTIONS.worker, DUE, OPTIONS.lease_margin_ms, OPTIONS.caps)
        costs.append(world.processor_ms() - start_ms)
        assert len(batch.claims) == found, batch
        if batch.claims:
            await schedule.finish([Finished(each, an_outcome(), batch.now, batch.now) for each in batch.claims])
    world.clock.tick(minutes=1)
    return costs[0], costs[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--endpoints", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--tenants", nargs="*", type=int, default=[1, 1_000, 50_000])
    parser.add_argument("--in-flight", nargs="*", type=int, default=[0, 20_000])
    parser.add_argument("--due-tenants", nargs="*", type=int, default=[1, 100])
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    series = series_of(options.endpoints, options.tenants, options.in_flight, options.due_tenants)
    for kind in options.stores:
        for name, sizes in series.items():
            measured = asyncio.run(measure(kind, list(sizes.values()), options.rounds)) if sizes else []
            for size, (claim, look) in zip(sizes, measured, strict=True):
                claims = f"claim of {DUE} {claim:6.2f} ms ({claim / measured[0][0]:4.2f}x)"
                looks = f"nothing due {look:6.3f} ms ({look / measured[0][1]:4.2f}x)"
                print(f"{kind:9} {size:9,} {name:9}: {claims}, {looks}", flush=True)


if __name__ == "__main__":
    main()
