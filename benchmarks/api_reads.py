"""How long reads of the API take with a long history: 10,000 endpoints and 1,000,000 runs over 30 days.

    python -m benchmarks.api_reads [--stores sqlite postgres] [--endpoints 10000] [--runs 1000000] [--rounds 50]

Each read is asked for one at a time through the whole app (frame, scope, route, store, JSON), without a socket.
Prints the median and the 95th percentile in milliseconds, and the ratio of the slowest p95 to 50 ms.
"""

import argparse
import asyncio
import statistics
import time
from datetime import datetime, timedelta

from httpx2 import AsyncClient
from tests.api.app import client_of, open_app
from tests.stores.databases import is_sqlite, query

from benchmarks.world import database_url, filled, steal_told
from mainspring.domain.instant import rfc3339, to_us
from mainspring.wiring.clock import SystemClock

GOAL_MS = 50
DAYS = 30
READS = {
    "list endpoints": "/endpoints?limit=50",
    "list endpoints, last page": "/endpoints?limit=50{last_page}",
    "find one endpoint by text": "/endpoints?limit=50&text=bench%209999",
    "list failing endpoints": "/endpoints?state=failing",
    "search endpoints, nothing found": "/endpoints?text=%25nothing%25",
    "read endpoint": "/endpoints/ep_bench_0000007",
    "why": "/endpoints/ep_bench_0000007/decision",
    "preview": "/endpoints/ep_bench_0000007/preview?count=10",
    "health": "/endpoints/ep_bench_0000007/health",
    "runs of an endpoint": "/endpoints/ep_bench_0000007/runs",
    "list runs": "/runs?limit=50",
    "list runs, 200": "/runs?limit=200",
    "list failed runs": "/runs?status=failure",
    "list blocked runs, none there": "/runs?status=blocked",
    "runs of a day": "/runs?since={day}&until={next_day}",
    "events": "/events",
    "stats": "/dashboard/stats",
    "activity": "/dashboard/activity?hours=168",
    "upcoming": "/dashboard/upcoming",
    "usage": "/usage",
}
COLUMNS = (
    "id, tenant_id, endpoint_id, slot_at, attempt, trigger, source, status, started_at, claim_epoch, worker, "
    "finished_at, duration_ms, status_code, missed_count, trail, detail, body_type, body_seen, body"
)
STATUS = "CASE WHEN n % 50 = 0 THEN 'failure' ELSE 'success' END"
POSTGRES = """
INSERT INTO run ({columns})
SELECT 'run_' || lpad(to_hex(ms), 12, '0') || lpad(to_hex(n), 20, '0'), 'default',
       'ep_bench_' || lpad((n % {endpoints})::text, 7, '0'), to_timestamp(ms / 1000.0), 1, 'schedule',
       'baseline-interval', {status}, to_timestamp(ms / 1000.0), n, 'bench', to_timestamp(ms / 1000.0), n % 400,
       200, 0, '[]', '{{}}', 'application/json', 400, convert_to(repeat('x', 400), 'UTF8')
FROM (SELECT n, ({first_ms} + n * {step_ms:f})::bigint AS ms FROM generate_series(0, {runs} - 1) AS n) AS made"""
SQLITE = """
INSERT INTO run ({columns})
WITH RECURSIVE series (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM series WHERE n < {runs} - 1),
made AS (SELECT n, CAST({first_ms} + n * {step_ms:f} AS INTEGER) AS ms FROM series)
SELECT printf('run_%012x%020x', ms, n), 'default', printf('ep_bench_%07d', n % {endpoints}), ms * 1000, 1, 'schedule',
       'baseline-interval', {status}, ms * 1000, n, 'bench', ms * 1000, n % 400, 200, 0, '[]', '{{}}',
       'application/json', 400, CAST(printf('%.*c', 400, 'x') AS BLOB)
FROM made"""


async def seed(url: str, endpoints: int, runs: int, now: datetime) -> None:
    text = SQLITE if is_sqlite(url) else POSTGRES
    first = now - timedelta(days=DAYS)
    if not is_sqlite(url):
        await query(url, f"SELECT make_run_partitions('{first.isoformat()}', '1 day', {DAYS + 2})")
    await query(
        url,
        text.format(
            columns=COLUMNS, status=STATUS, endpoints=endpoints, runs=runs, first_ms=to_us(first) // 1000,
            step_ms=DAYS * 86_400_000 / runs,
        ),
    )  # fmt: skip
    if not is_sqlite(url):
        await query(url, "ANALYZE run")


async def last_page(client: AsyncClient) -> str:
    """Where the last page of endpoints begins."""
    path, cursor = "/api/v1/endpoints?limit=200", ""
    while following := (await client.get(path + cursor)).json()["next_cursor"]:
        cursor = f"&cursor={following}"
    return cursor


async def measure(url: str, endpoints: int, runs: int, rounds: int) -> dict[str, tuple[float, float]]:
    clock = SystemClock()
    now = clock.now()
    later = now + timedelta(hours=1)
    taken: dict[str, tuple[float, float]] = {}
    async with filled(url, endpoints, "http://127.0.0.1:9/", later, spread_s=3600, interval_ms=3_600_000) as stores:
        await seed(url, endpoints, runs, now)
        day = now - timedelta(days=15)
        names = {"day": rfc3339(day), "next_day": rfc3339(day + timedelta(days=1))}
        async with open_app(stores, clock) as app, client_of(app) as client:
            names["last_page"] = await last_page(client)
            for what, path in READS.items():
                spans = []
                for _ in range(rounds):
                    start = time.perf_counter()
                    answer = await client.get("/api/v1" + path.format(**names))
                    spans.append((time.perf_counter() - start) * 1000)
                    assert answer.status_code == 200, answer.text
                taken[what] = statistics.median(spans), sorted(spans)[int(len(spans) * 0.95)]
    return taken


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--endpoints", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=50)
    wanted = parser.parse_args()
    for kind in wanted.stores:
        with database_url(kind) as url, steal_told():
            taken = asyncio.run(measure(url, wanted.endpoints, wanted.runs, wanted.rounds))
        print(f"\n{kind}: {wanted.endpoints:,} endpoints, {wanted.runs:,} runs")
        for what, (median, p95) in taken.items():
            print(f"  {what:34} p50 {median:7.1f} ms   p95 {p95:7.1f} ms")
        slowest = max(taken, key=lambda each: taken[each][1])
        print(f"  slowest: {slowest}, p95 {taken[slowest][1] / GOAL_MS:.2f} x {GOAL_MS} ms")


if __name__ == "__main__":
    main()
