"""Lateness at a steady load: how long after its slot a call starts, how many slots were missed, how many were early.

    python -m benchmarks.lateness [--stores sqlite postgres] [--rate 1000] [--seconds 60]

As many endpoints as runs a second, each once a second, spread evenly; the lateness is what the scheduler measures
itself for every run (slot to start of the call). The run table says which slots ran: those between an endpoint's first
and last one that it does not have were missed.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from benchmarks.target import running_target
from benchmarks.world import database_url, filled, make_caller, recorded_runs, steal_told
from mainspring.cli.command import complete
from mainspring.observe import Metrics, Spread
from mainspring.wiring.clock import SystemClock
from mainspring.workers.scheduler import Scheduler, SchedulerOptions
from mainspring.workers.supervisor import tune_interpreter

FINE_BUCKETS_S = tuple(0.0005 * step for step in range(1, 2001))  # half a millisecond up to one second


def percentile(spread: Spread, share: float) -> float:
    """The bucket bound, in milliseconds, below which that share of the values lies."""
    wanted = share * sum(spread.counts)
    for bound, count in zip((*spread.bounds, float("inf")), spread.counts, strict=True):
        wanted -= count
        if wanted <= 0:
            return bound * 1000
    return float("inf")


async def measure(url: str, target: str, rate: int, seconds: float) -> str:
    first = SystemClock().now() + timedelta(seconds=3)
    every = timedelta(seconds=1)
    async with filled(url, rate, target, first, spread_s=1, interval_ms=every // timedelta(milliseconds=1)) as stores:
        metrics = Metrics()
        metrics.lateness = Spread(FINE_BUCKETS_S)
        caller = make_caller()
        options = SchedulerOptions("bench", places=500, per_tenant=10**6, per_host=10**6)
        scheduler = Scheduler(stores.schedule, caller, options, metrics)
        task = asyncio.create_task(scheduler.run())
        await asyncio.sleep((first - SystemClock().now()).total_seconds() + 2)
        metrics.lateness = Spread(FINE_BUCKETS_S)  # the first seconds warm plans, connections and caches
        start, before = time.monotonic(), sum(metrics.finished.values())
        await asyncio.sleep(seconds)
        elapsed, ran = time.monotonic() - start, sum(metrics.finished.values()) - before
        spread = metrics.lateness
        scheduler.stop()
        await task
        await caller.aclose()
        late = "  ".join(f"p{100 * share:g} {percentile(spread, share):6.1f} ms" for share in (0.5, 0.99, 0.999))
        return f"{ran / elapsed:8,.0f} runs/s  {counted(await recorded_runs(stores), every)}  {late}"


def counted(runs: Sequence[tuple[str, datetime, datetime]], every: timedelta) -> str:
    """How many slots were missed, ran twice and began early."""
    slots: dict[str, list[datetime]] = {}
    for endpoint_id, slot_at, _ in runs:
        slots.setdefault(endpoint_id, []).append(slot_at)
    due = sum((max(each) - min(each)) // every + 1 for each in slots.values())
    ran = sum(len(set(each)) for each in slots.values())
    early = sum(started_at < slot_at for _, slot_at, started_at in runs)
    return f"of {due:,} slots {due - ran} missed, {len(runs) - ran} twice, {early} early"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    tune_interpreter()
    with running_target() as target:
        for kind in options.stores:
            with database_url(kind) as url, steal_told():
                result = complete(measure(url, target, options.rate, options.seconds))
                print(f"{options.rate:,}/s on {kind:10} {result}")


if __name__ == "__main__":
    main()
