"""What a claim costs as endpoints grow: 100 due ones among 10,000, 100,000 and 1,000,000 that are not.

    python -m benchmarks.claim_cost [--stores sqlite postgres] [--sizes 10000 100000 1000000] [--rounds 40]

Prints milliseconds for a claim of 100 and for a look that finds nothing, and the ratio to the smallest size.
"""

import argparse
import asyncio
import statistics
import time
from datetime import timedelta

from tests.stores.world import an_outcome

from benchmarks.world import database_url, filled
from mainspring.domain.settling import Finished
from mainspring.ports.schedule import Caps
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import SystemClock

CAPS = Caps(10**6, 10**6)
DUE = 100


async def measure(url: str, size: int, rounds: int) -> tuple[float, float]:
    """Milliseconds (median) of a claim of 100, and of a look that finds nothing due."""
    later = SystemClock().now() + timedelta(hours=2)
    async with filled(url, size, "http://127.0.0.1:9/", later, spread_s=3600, interval_ms=3_600_000) as stores:
        idle = [await _timed(stores, 0) for _ in range(rounds)]
        claims = []
        for _ in range(rounds):
            await _make_due(stores, size)
            start = time.perf_counter()
            batch = await stores.schedule.claim_due("bench", DUE, 30_000, CAPS)
            claims.append((time.perf_counter() - start) * 1000)
            assert len(batch.claims) == DUE
            done = [Finished(each, an_outcome(), batch.now, batch.now) for each in batch.claims]
            await stores.schedule.finish(done)
        return statistics.median(claims), statistics.median(idle)


async def _timed(stores: Stores, found: int) -> float:
    start = time.perf_counter()
    batch = await stores.schedule.claim_due("bench", DUE, 30_000, CAPS)
    assert len(batch.claims) == found
    return (time.perf_counter() - start) * 1000


async def _make_due(stores: Stores, size: int) -> None:
    from msgspec.structs import replace

    from mainspring.domain.changes import Change
    from mainspring.domain.endpoint import Endpoint

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
        base = 0.0
        for size in options.sizes:
            with database_url(kind) as url:
                claim, idle = asyncio.run(measure(url, size, options.rounds))
            base = base or claim
            ratio = f"{claim:6.2f} ms ({claim / base:4.2f}x)"
            print(f"{kind:10} {size:9,} endpoints: claim of {DUE} {ratio}, nothing due {idle:6.3f} ms")


if __name__ == "__main__":
    main()
