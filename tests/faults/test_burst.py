"""R12, R13: thousands of endpoints due in one second keep to the caps; one tenant's flood delays no other tenant."""

import time
from datetime import datetime, timedelta

from mainspring.domain.run import RunStatus
from tests.faults.conftest import Figures
from tests.faults.counting_target import Arrival, Harbour
from tests.faults.ledger import percentile, until_counted
from tests.faults.random_kills import start_workers
from tests.faults.stage import UNHURRIED_MS, Stage, calling, fill
from tests.harness.pace import Pace
from tests.harness.waiting import until

PORTS = 50
PER_HOST = 4
PLACES = 50  # of each of two schedulers: 100 in all
QUIET = 5
HOUR_MS = 3_600_000


def lateness_s(arrivals: list[Arrival], since: float = 0.0) -> list[float]:
    """How long after its slot, or after `since` if that was later, each call arrived."""
    return sorted(each.at - max(since, datetime.fromisoformat(each.slot).timestamp()) for each in arrivals)


async def test_a_burst_keeps_to_the_caps_and_is_drained(stage: Stage, long_run: bool, figures: Figures) -> None:
    count = 5_000 if long_run else 1_000
    async with Harbour(PORTS, delay_s=0.2, closed_until=PLACES + 1) as harbour, stage.stores() as stores:
        due_at = await stores.schedule.now()
        # Half of them at five ports: there the cap of a host binds, elsewhere that of the fleet.
        urls = [harbour.url(number if number % 2 else number // 2 % 5, f"/{number}") for number in range(count)]
        await fill(stores, [calling(url, due_at, HOUR_MS, timeout_ms=UNHURRIED_MS) for url in urls])
        with stage.nursery(concurrency=PLACES, concurrency_per_host=PER_HOST, lease_margin="60s") as nursery:
            started_at = time.time()
            await start_workers(nursery, 2)
            await until(lambda: len(harbour.arrivals) >= count, "all are called", 180 + count / 50)
            await until_counted(stores, RunStatus.SUCCESS, count)

    late = lateness_s(harbour.arrivals, started_at)
    figures(
        endpoints=count,
        most_in_flight=harbour.most_in_flight,
        most_at_a_port=harbour.most_at_a_port,
        lateness_s={"p50": round(percentile(late, 0.5), 2), "max": round(late[-1], 2)},
    )
    assert PLACES < harbour.most_in_flight <= 2 * PLACES
    assert harbour.most_at_a_port == PER_HOST
    assert len({each.webhook_id for each in harbour.arrivals}) == len(harbour.arrivals) == count


async def test_a_flood_of_one_tenant_delays_no_other(
    stage: Stage, long_run: bool, figures: Figures, pace: Pace
) -> None:
    """Every place is taken by slow calls of one tenant, over and over; another tenant's few calls come in between."""
    count, call_s, seconds = (2_500, 2.0, 60) if long_run else (1_000, 1.0, 5)
    async with Harbour(PORTS, delay_s=call_s) as slow, Harbour(2, delay_s=0.005) as quick, stage.stores() as stores:
        due_at = await stores.schedule.now()
        flood = [
            calling(slow.url(n, f"/{n}"), due_at, HOUR_MS, timeout_ms=10_000, last_duration_ms=5) for n in range(count)
        ]
        await fill(stores, flood)
        due_at = await stores.schedule.now() + timedelta(seconds=2)
        offsets = [timedelta(milliseconds=100 * n) for n in range(QUIET)]
        await fill(
            stores,
            [
                calling(quick.url(n, f"/{n}"), due_at + at, 1_000, tenant_id="quiet", job_id="job_quiet")
                for n, at in enumerate(offsets)
            ],
        )
        with stage.nursery(concurrency=PLACES, concurrency_per_host=PER_HOST, lease_margin="60s") as nursery:
            await start_workers(nursery, 1)
            await until(lambda: len(slow.arrivals) >= PLACES, "the flood takes every place")
            flooded_at = time.time()
            await until(lambda: len(quick.arrivals) >= QUIET * seconds, "the quiet tenant goes on", 3 * seconds + 60)
            flooded = len(slow.arrivals)

    late = lateness_s(quick.arrivals, flooded_at)
    figures(
        flood=flooded,
        most_in_flight=slow.most_in_flight,
        quiet=len(quick.arrivals),
        quiet_lateness_s={"p50": round(percentile(late, 0.5), 3), "p99": round(percentile(late, 0.99), 3)},
    )
    assert slow.most_in_flight >= PLACES - QUIET
    assert flooded < count  # it lasted to the end
    assert percentile(late, 0.99) <= call_s + pace.fair(1.0)  # until a place becomes free: all may do so at once
    assert lateness_s(quick.arrivals)[0] >= 0
