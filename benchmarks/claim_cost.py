"""What a claim costs as endpoints grow: 100 due ones among 10,000, 100,000 and 1,000,000 that are not.

    python -m benchmarks.claim_cost [--stores sqlite postgres] [--sizes 10000 100000 1000000] [--rounds 40]

Prints milliseconds for a claim of 100 and for a look that finds nothing, and the ratio to the smallest size.
"""

import argparse
import asyncio
import statistics
import time
from contextlib import AsyncExitStack
from datetime import timedelta

from tests.stores.world import an_outcome

from benchmarks.world import database_url, filled
from mainspring.domain.schedule.fairness import Caps
from mainspring.domain.schedule.finish import Finished
from mainspring.ports.schedule import ClaimBatch
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import SystemClock

CAPS = Caps(10**6, 10**6)
DUE = 100


async def measure(kind: str, sizes: list[int], rounds: int) -> list[tuple[float, float]]:
    """For each size, milliseconds (median) of a claim of 100 and of a look that finds nothing due.

    The sizes take turns, so that a slow second of the machine falls on all of them.
    """
    later = SystemClock().now() + timedelta(hours=2)
    looks: list[list[float]] = [[] for _ in sizes]
    claims: list[list[float]] = [[] for _ in sizes]
    async with AsyncExitStack() as stack:
        worlds = []
        for size in sizes:
            url = stack.enter_context(database_url(kind))
            world = filled(url, size, "http://127.0.0.1:9/", later, spread_s=3600, interval_ms=3_600_000)
            worlds.append(await stack.enter_async_context(world))
        for _ in range(rounds):
            for stores, size, look, claim in zip(worlds, sizes, looks, claims, strict=True):
                look.append((await _timed(stores, 0))[1])
                await _make_due(stores, size)
                batch, took = await _timed(stores, DUE)
                claim.append(took)
                await stores.schedule.finish(
                    [Finished(each, an_outcome(), batch.now, batch.now) for each in batch.claims]
                )
    medians = statistics.median
    return [(medians(claim), medians(look)) for claim, look in zip(claims, looks, strict=True)]


async def _timed(stores: Stores, found: int) -> tuple[ClaimBatch, float]:
    start = time.perf_counter()
    batch = await stores.schedule.claim_due("bench", DUE, 30_000, CAPS)
    assert len(batch.claims) == found
    return batch, (time.perf_counter() - start) * 1000


async def _make_due(stores: Stores, size: int) -> None:
    from msgspec.structs import replace

    from mainspring.domain.endpoint import Endpoint
    from mainspring.domain.schedule.changes import Change

    def act(endpoint: Endpoint, now) -> Change:  # type: ignore[no-untyped-def]  # datetime
        return Change(replace(endpoint, next_run_at=now))

    step = size // DUE
    ids = [f"ep_bench_{number * step:07d}" for number in range(DUE)]
    await stores.endpoints.change_endpoints("default", ids, act)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    for kind in options.stores:
        measured = asyncio.run(measure(kind, options.sizes, options.rounds))
        base = measured[0][0]
        for size, (claim, look) in zip(options.sizes, measured, strict=True):
            ratio = f"{claim:6.2f} ms ({claim / base:4.2f}x)"
            print(f"{kind:10} {size:9,} endpoints: claim of {DUE} {ratio}, nothing due {look:6.3f} ms")


if __name__ == "__main__":
    main()
