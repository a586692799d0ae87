"""How fast an installation moves to another database, and for how long it pauses.

    python -m benchmarks.move [--endpoints 10000] [--runs 1000000] [--ways sqlite-postgres postgres-sqlite]

Prints rows per second, processor seconds of this process, and the length of the switch-over.
"""

import argparse
import asyncio
import os
import time
from datetime import timedelta
from tempfile import TemporaryDirectory

from tests.stores.databases import is_sqlite, query
from tests.stores.world import an_outcome

from benchmarks.world import database_url, filled, steal_told
from mainspring.domain.schedule.fairness import Caps
from mainspring.domain.schedule.finish import Finished
from mainspring.settings import load_settings
from mainspring.wiring.clock import SystemClock
from mainspring.wiring.move import open_move

COLUMNS = (
    "tenant_id, endpoint_id, slot_at, attempt, trigger, source, status, started_at, claim_epoch, worker, finished_at, "
    "duration_ms, status_code, missed_count, trail, detail, body_type, body_truncated, body_seen, body"
)


async def fill(url: str, endpoints: int, runs: int) -> None:
    """Endpoints, and copies of one run that was recorded."""
    now = SystemClock().now()
    async with filled(url, endpoints, "http://127.0.0.1:9/", now, interval_ms=3_600_000) as stores:
        batch = await stores.schedule.claim_due("bench", 1, 30_000, Caps(10**6, 10**6))
        await stores.schedule.finish([Finished(each, an_outcome(), batch.now, batch.now) for each in batch.claims])
    numbers = f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {runs})"
    number = "printf('%012x', n)" if is_sqlite(url) else "lpad(to_hex(n), 12, '0')"
    one = f"(SELECT id, {COLUMNS} FROM run LIMIT 1) AS one"
    new_id = f"substr(one.id, 1, length(one.id) - 12) || {number}"
    await query(url, f"{numbers} INSERT INTO run (id, {COLUMNS}) SELECT {new_id}, {COLUMNS} FROM series, {one}")


async def measure(source: str, target: str) -> str:
    with TemporaryDirectory() as folder:
        settings = load_settings({"MAINSPRING_DATA_DIR": folder, "MAINSPRING_DATABASE_URL": source})
        async with open_move(settings, target, print, creates=True) as moving:
            rows = sum((await moving.plan()).values())
            began_s, began_cpu_s = time.perf_counter(), time.process_time()
            moved = await moving.run(timedelta(0), timedelta(minutes=10))
            took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    rate = f"{rows / took_s:,.0f} rows/s"
    return f"{rows:,} rows in {took_s:.1f} s: {rate}, {cpu_s:.1f} s of processor time, paused {moved.paused_s:.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoints", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--ways", nargs="+", default=["sqlite-postgres", "postgres-sqlite"])
    options = parser.parse_args()
    os.environ.pop("MAINSPRING_DATABASE_URL", None)
    with steal_told():
        for way in options.ways:
            one, other = way.split("-")
            with database_url(one) as source, database_url(other) as target:
                asyncio.run(fill(source, options.endpoints, options.runs))
                print(f"{way:16} {asyncio.run(measure(source, target))}", flush=True)


if __name__ == "__main__":
    main()
