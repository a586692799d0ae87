"""Whether history stays bounded at speed: runs of an hour in minutes, with a retention of minutes.

    python -m benchmarks.retention [--stores sqlite postgres] [--minutes 40] [--endpoints 50] [--keep 10]

Every endpoint runs once in each second of a clock that is moved as fast as the store allows. The janitor sweeps once in
each minute of that clock. Prints for each quarter: the size of runs and events (SQLite: of the file), their dead rows,
partitions, and the processor time of a run, with the janitor and the server. The ratios compare the last quarter with
the second, when the retention is full.
"""

import argparse
import asyncio
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
from msgspec import Struct
from tests.harness.postgres import as_superuser
from tests.stores.databases import multiply
from tests.stores.world import FixedClock, add, an_endpoint, an_outcome

from benchmarks.world import database_url, steal_told
from mainspring.domain.endpoint import Tenant
from mainspring.domain.schedule.fairness import Caps
from mainspring.domain.schedule.finish import Finished
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.wiring.stores import open_stores
from mainspring.workers.janitor import Janitor, JanitorOptions

CAPS = Caps(10**6, 10**6)
HISTORY = """SELECT SUM(pg_total_relation_size(relid)), SUM(n_dead_tup), COUNT(*)
FROM pg_stat_user_tables WHERE relname ~ '^(run|event)_[0-9]'"""
CONNECTIONS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'mainspring'"


class Quarter(Struct, frozen=True):
    runs: int
    size_mb: float
    dead: int
    partitions: int
    processor_ms: float  # of one run


async def measure(kind: str, minutes: int, endpoints: int, keep: timedelta) -> list[Quarter]:
    clock = FixedClock()
    options = JanitorOptions(keep_runs=keep, keep_bodies=keep / 2, keep_events=keep, runs_per_endpoint_max=10**6)
    with database_url(kind) as url:
        async with open_stores(url, clock=clock, keep_runs=keep) as stores:
            await stores.endpoints.put_tenant(Tenant("default", "default"))
            endpoint = an_endpoint(interval_ms=1_000)
            await add(stores, endpoint)
            await multiply(url, endpoint, endpoints - 1)
            janitor = Janitor(stores.upkeep, stores.runs, options, Metrics())
            quarters = []
            runs = minutes // 4 * 60 * endpoints
            for _ in range(4):
                before = await _processor_s(kind, url)
                for _ in range(minutes // 4):
                    await janitor.run_once()
                    for _ in range(60):
                        await _run_second(stores, clock, endpoints)
                spent = await _processor_s(kind, url) - before
                quarters.append(Quarter(runs, *await _facts(kind, url), spent / runs * 1000))
    return quarters


async def _run_second(stores: Stores, clock: FixedClock, endpoints: int) -> None:
    runs = 0
    while (batch := await stores.schedule.claim_due("bench", endpoints, 30_000, CAPS)).claims:
        await stores.schedule.finish([Finished(each, an_outcome(), batch.now, batch.now) for each in batch.claims])
        runs += len(batch.claims)
    assert runs == endpoints, "every endpoint runs in every second"
    clock.tick(seconds=1)


async def _processor_s(kind: str, url: str) -> float:
    """What this process has used, and its connections at the server, which is on this machine."""
    pids = [] if kind == "sqlite" else [row[0] for row in await _fetch(url, CONNECTIONS)]
    return time.process_time() + sum(_used_s(pid) for pid in pids)


def _used_s(pid: int) -> float:
    """User and system time of a process: the twelfth and thirteenth field after its name, man 5 proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _facts(kind: str, url: str) -> tuple[float, int, int]:
    """Megabytes of history, its dead rows, and how many partitions there are."""
    if kind == "sqlite":
        return os.stat(url.removeprefix("sqlite://")).st_size / 1e6, 0, 0
    ((size, dead, partitions),) = await _fetch(url, HISTORY)
    return int(size) / 1e6, int(dead), int(partitions)


async def _fetch(url: str, sql: str) -> list[Any]:  # asyncpg ships no types
    connection = await asyncpg.connect(as_superuser(url))
    try:
        return list(await connection.fetch(sql))
    finally:
        await connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--minutes", type=int, default=40)
    parser.add_argument("--endpoints", type=int, default=50)
    parser.add_argument("--keep", type=int, default=10, help="minutes")
    options = parser.parse_args()
    with steal_told():
        for kind in options.stores:
            keep = timedelta(minutes=options.keep)
            quarters = asyncio.run(measure(kind, options.minutes, options.endpoints, keep))
            for number, each in enumerate(quarters, 1):
                print(
                    f"{kind:10} quarter {number}: {each.runs:,} runs, {each.size_mb:6.1f} MB, {each.dead:,} dead rows, "
                    f"{each.partitions} partitions, {each.processor_ms:5.2f} ms of processor time for a run"
                )
            second, last = quarters[1], quarters[3]
            print(
                f"{kind:10} last against second quarter: size {last.size_mb / second.size_mb:4.2f}x, "
                f"processor time {last.processor_ms / second.processor_ms:4.2f}x"
            )


if __name__ == "__main__":
    main()
