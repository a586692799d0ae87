"""What runs leave behind in PostgreSQL's `schedule`: HOT updates, WAL, dead rows, and blocks that a claim looks at.

    python -m benchmarks.updates [--endpoints 5000] [--runs 50000] [--open-transaction]

Claims and finishes at full speed through the store, by a clock of its own, with autovacuum at our settings once a
second. `--open-transaction` keeps a transaction of another client open in the database meanwhile: nothing that was
updated since can be removed. Decision 17 says why no update of `schedule` can be HOT.
"""

import argparse
import asyncio
import sys
from contextlib import AsyncExitStack
from datetime import datetime, timedelta

import asyncpg
import msgspec
from tests.harness.postgres import Cluster, as_superuser
from tests.stores.world import FixedClock, an_outcome

from benchmarks.world import filled
from mainspring.domain.schedule.fairness import EndpointPace
from mainspring.domain.schedule.finish import Finished
from mainspring.ports.presence import SILENT_MS
from mainspring.ports.schedule import Caps
from mainspring.ports.stores import Stores
from mainspring.stores.due_windows import FIRST
from mainspring.stores.postgres.database import SERVER_SETTINGS
from mainspring.stores.postgres.queries import QUERIES
from mainspring.wiring.clock import SystemClock
from mainspring.wiring.stores import open_stores

CAPS = Caps(10**6, 10**6)
BATCH = 100
MINUTE = timedelta(minutes=1)
AUTOVACUUM = {"autovacuum_naptime": "1s", "synchronous_commit": "off"}
UPDATES = "SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname IN ('schedule', 'run')"
BYTES = "SELECT pg_table_size('schedule'), pg_indexes_size('schedule')"
WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"


async def measure(endpoints: int, runs: int, is_open: bool) -> None:
    start = SystemClock().now()
    clock = FixedClock(start)
    async with AsyncExitStack() as stack:
        cluster = stack.enter_context(Cluster(fsync=True, settings=AUTOVACUUM))
        url = cluster.create_database("bench")
        await stack.enter_async_context(filled(url, endpoints, "http://127.0.0.1:9/", start, spread_s=60))
        stores = await stack.enter_async_context(open_stores(url, clock=clock))
        inside = await asyncpg.connect(as_superuser(url), server_settings=SERVER_SETTINGS)
        stack.push_async_callback(inside.close)
        if is_open:
            other = await asyncpg.connect(as_superuser(url))
            stack.push_async_callback(other.close)
            await other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        before = await inside.fetchval(WAL), await inside.fetchrow(BYTES)
        done = 0
        while done < runs:
            clock.at += MINUTE * BATCH / endpoints
            done += await run_due(stores)
        after = await inside.fetchval(WAL), await inside.fetchrow(BYTES)
        print(f"{done:,} runs of {endpoints:,} endpoints, a transaction kept open: {'yes' if is_open else 'no'}")
        print(f"  WAL: {(after[0] - before[0]) / done:,.0f} bytes a run, events and history included")
        for what, then, now in zip(("schedule", "its indexes"), before[1], after[1], strict=True):
            print(f"  {what}: {then / 1e6:.1f} MB before, {now / 1e6:.1f} MB after")
        print(f"  a look for due endpoints: {await looked_at(inside, clock.now()):,} blocks")
        await inside.execute("SELECT pg_stat_force_next_flush()")
        for table, updates, hot in await inside.fetch(UPDATES):
            print(f"  updates of {table}: {updates:,}, HOT {hot / max(updates, 1):.0%}")


async def run_due(stores: Stores) -> int:
    batch = await stores.schedule.claim_due("bench", 10 * BATCH, 30_000, CAPS)
    if batch.claims:
        await stores.schedule.finish([Finished(each, an_outcome(), batch.now, batch.now) for each in batch.claims])
    return len(batch.claims)


async def looked_at(inside: asyncpg.Connection, now: datetime) -> int:
    explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {QUERIES['due_and_read_clock']}"
    none: list[str] = []
    asked = (None, now, SILENT_MS, None, [FIRST.at], [FIRST.lot], none, BATCH, none, CAPS.per_host, [], CAPS.per_tenant)
    (plan,) = msgspec.json.decode(
        await inside.fetchval(explain, *asked, "bench", EndpointPace.SLOW, *[sys.maxsize] * 2)
    )
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoints", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=50_000)
    parser.add_argument("--open-transaction", action="store_true")
    options = parser.parse_args()
    asyncio.run(measure(options.endpoints, options.runs, options.open_transaction))


if __name__ == "__main__":
    main()
