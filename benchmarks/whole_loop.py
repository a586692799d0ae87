"""The whole loop: claim, HTTP call, record with a 200-byte body, plan, persist, in one process, beside the bare client.

    python -m benchmarks.whole_loop [--stores sqlite postgres] [--endpoints 10000] [--seconds 6] [--places 1000]
        [--rounds 3]

More endpoints are due every second than can run, so the loop is never idle. The bare client makes the same calls with
nothing around them and with as many in flight, just before and just after: on a noisy machine it reaches half as many
calls again from one minute to the next, and only neighbours can be compared.
"""

import argparse
import asyncio
import cProfile
import pstats
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from statistics import median

from benchmarks.target import running_target
from benchmarks.world import database_url, filled, make_caller, steal_told
from mainspring.cli.command import complete
from mainspring.domain.run import HttpAction, Request
from mainspring.observe import Metrics
from mainspring.wiring.clock import SystemClock
from mainspring.workers.scheduler import Scheduler, SchedulerOptions
from mainspring.workers.supervisor import tune_interpreter


async def bare(target: str, in_flight: int, seconds: float) -> float:
    """Calls a second of our caller alone."""
    caller = make_caller()
    until = time.monotonic() + seconds
    action = HttpAction(url=target)
    done = 0

    async def keep_calling(number: int) -> None:
        nonlocal done
        request = Request("default", f"ep_{number}", "slot", SystemClock().now(), 1, action)
        while time.monotonic() < until:
            await caller.call(request)
            done += 1

    start = time.monotonic()
    await asyncio.gather(*(keep_calling(number) for number in range(in_flight)))
    elapsed = time.monotonic() - start
    await caller.aclose()
    return done / elapsed


async def loop(url: str, target: str, options: argparse.Namespace) -> tuple[float, float]:
    """Runs a second of the whole loop, and our CPU seconds per second."""
    past = SystemClock().now() - timedelta(seconds=20)
    async with filled(url, options.endpoints, target, past, interval_ms=1_000) as stores:
        metrics = Metrics()
        caller = make_caller()
        scheduler = Scheduler(
            stores.schedule,
            caller,
            SchedulerOptions("bench", places=options.places, per_tenant=10**6, per_host=10**6),
            metrics,
        )
        task = asyncio.create_task(scheduler.run())
        await asyncio.sleep(2)  # warm: plans prepared, connections open
        before, cpu, start = _recorded(metrics), _cpu(), time.monotonic()
        await asyncio.sleep(options.seconds)
        rate = (_recorded(metrics) - before) / (time.monotonic() - start)
        share = (_cpu() - cpu) / (time.monotonic() - start)
        scheduler.stop()
        await task
        await caller.aclose()
        return rate, share


def _recorded(metrics: Metrics) -> float:
    return sum(metrics.finished.values())


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--endpoints", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--places", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    tune_interpreter()
    shares: dict[str, list[float]] = {kind: [] for kind in options.stores}
    with running_target() as target, steal_told():

        def bare_rate() -> float:
            rate = complete(bare(target, options.places, options.seconds / 2))
            print(f"bare client                {rate:8,.0f} calls/s")
            return rate

        before = bare_rate()
        for kind in options.stores * options.rounds:
            with database_url(kind) as url, _profile(options.profile):
                rate, cores = complete(loop(url, target, options))
            print(f"whole loop on {kind:12} {rate:8,.0f} runs/s  {cores:4.2f} cores of ours")
            after = bare_rate()
            shares[kind].append(rate / ((before + after) / 2))
            before = after
    for kind, seen in shares.items():
        every = ", ".join(f"{share:.0%}" for share in seen)
        print(f"{kind:12} {median(seen):5.0%} of the bare client beside it, the middle one of {every}")


@contextmanager
def _profile(is_wanted: bool) -> Iterator[None]:
    if not is_wanted:
        yield
        return
    with cProfile.Profile() as profile:
        yield
    pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
