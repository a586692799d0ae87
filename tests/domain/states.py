"""Endpoints in every state the governor may meet, drawn from a seed: the same ones in every process.

Run as a program it prints one line for each decision about the first N of them, for comparison between processes.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

from tests.stores.world import an_endpoint

from mainspring.domain.endpoint import BackoffPolicy, Endpoint
from mainspring.domain.instant import FOREVER
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import encode_trail, plan_next_run
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint

CRONS = ("* * * * *", "*/15 * * * *", "30 2 * * *", "H H * * *", "0 0 29 2 *", "*/7 * * * * *", "0 9 * * MON-FRI")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
INTERVALS_MS = (100, 1_000, 4_999, 60_000, 3_600_000, 86_400_000, 366 * 86_400_000)
HINT_INTERVALS_MS = (-(10**20), -1, 0, 1, 999, 1_000, 30_000, 7_200_000, 366 * 86_400_000, 10**20)
FAILURES = (0, 0, 0, 1, 2, 3, 5, 6, 64, 65, 10**6)
FIRST_SECOND = datetime(2024, 12, 25, tzinfo=UTC)
SECONDS = 400 * 86_400


def states(seed: int, count: int) -> Iterator[tuple[datetime, Endpoint]]:
    random = Random(seed)
    for number in range(count):
        now = FIRST_SECOND + timedelta(seconds=random.randrange(SECONDS), microseconds=random.randrange(10**6))
        yield now, _endpoint(random, number, now)


def _endpoint(random: Random, number: int, now: datetime) -> Endpoint:
    limits = sorted(random.choice((1_000, 30_000, 60_000, 600_000, 86_400_000)) for _ in range(2))
    schedule: dict[str, object] = {"interval_ms": random.choice(INTERVALS_MS)}
    if random.random() < 0.4:
        schedule = {"cron": random.choice(CRONS), "timezone": random.choice(ZONES)}
    return an_endpoint(
        "drawn",
        id=f"ep_{number}",
        backoff=random.choice(list(BackoffPolicy)),
        jitter_ms=random.choice((0, 0, 1, 50, 30_000)),
        failure_count=random.choice(FAILURES),
        min_interval_ms=random.choice((None, None, 0, limits[0])),
        max_interval_ms=random.choice((None, None, 0, limits[1])),
        paused_until=random.choice((None, None, None, _near(random, now), FOREVER)),
        not_before=random.choice((None, None, _near(random, now))),
        interval_hint=random.choice((None, _interval_hint(random, now))),
        one_shot_hint=random.choice((None, _one_shot_hint(random, now))),
        **schedule,
    )


def _near(random: Random, now: datetime) -> datetime:
    seconds = random.choice((-86_400.0, -1.0, 0.0, 0.000001, 1.0, 30.0, 60.0, 86_400.0, random.uniform(-100, 4_000)))
    return now + timedelta(seconds=seconds)


def _interval_hint(random: Random, now: datetime) -> IntervalHint:
    return IntervalHint(random.choice(HINT_INTERVALS_MS), _near(random, now), random.choice(("", "slow")), "rule")


def _one_shot_hint(random: Random, now: datetime) -> OneShotHint:
    return OneShotHint(_near(random, now), _near(random, now), random.choice(("", "soon")), "model")


def main(seed: int, count: int) -> None:
    for now, endpoint in states(seed, count):
        decision = plan_next_run(now, endpoint, CRON)
        sys.stdout.write(f"{decision.next_run_at.isoformat()} {decision.source} {encode_trail(decision.trail)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
