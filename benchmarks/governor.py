"""What a decision costs: the governor alone, for an interval, with hints and limits, and for crons.

python -m benchmarks.governor [--decisions 100000]
"""

import argparse
import time
from collections.abc import Iterator
from datetime import timedelta

from tests.stores.world import START, an_endpoint

from mainspring.domain.endpoint import BackoffPolicy, Endpoint
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import plan_next_run
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint

HOUR = timedelta(hours=1)


def cases() -> Iterator[tuple[str, Endpoint]]:
    yield "interval", an_endpoint()
    yield "interval, 3 failures, monitor", an_endpoint(failure_count=3, backoff=BackoffPolicy.MONITOR)
    hints = {"interval_hint": IntervalHint(30_000, START + 10**4 * HOUR, "queue grows", "planner")}
    yield "interval with hint and limits", an_endpoint(**hints, min_interval_ms=10_000, max_interval_ms=3_600_000)
    both = {**hints, "one_shot_hint": OneShotHint(START + HOUR, START + 10**4 * HOUR, "look once", "planner")}
    yield "interval with both hints", an_endpoint(**both)
    yield "cron */15, UTC", an_endpoint(cron="*/15 * * * *")
    yield "cron daily, Berlin", an_endpoint(cron="30 2 * * *", timezone="Europe/Berlin")
    yield "cron workdays, New York", an_endpoint(cron="0 9-17 * * mon-fri", timezone="America/New_York")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=50_000)
    count = parser.parse_args().decisions
    base = 0.0
    for name, endpoint in cases():
        times = [START + timedelta(seconds=37 * number) for number in range(1000)]
        for now in times:
            plan_next_run(now, endpoint, CRON)
        start = time.process_time()
        for number in range(count):
            plan_next_run(times[number % 1000], endpoint, CRON)
        us = (time.process_time() - start) / count * 1_000_000
        base = base or us
        print(f"{name:32} {us:6.1f} us a decision  {us / base:4.1f}x")


if __name__ == "__main__":
    main()
