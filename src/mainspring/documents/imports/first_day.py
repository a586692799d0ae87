"""Simulate the first day of imported endpoints: how often they run, and how many at the same second.

The times come from the preview of the operations, which decides as the scheduler does. Where an endpoint begins within
its interval, and its jitter, follow from its id; here an id made from its name replaces it. Every run succeeds at once.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from heapq import merge

from msgspec import Struct
from msgspec.structs import replace

from mainspring.documents.imports.takeover import Takeover
from mainspring.domain.definition import CRON_JITTER_MS_MAX, configured
from mainspring.domain.endpoint import Endpoint, EndpointConfig
from mainspring.domain.schedule.anchor import plan_first
from mainspring.domain.schedule.cron import CRON
from mainspring.operations.preview import upcoming

DAY = timedelta(days=1)
RUNS_MAX = 20_000  # about a second; a day with more is simulated in part
FIRST_RUNS = 5
JITTER_MS = 60_000  # the jitter of the second simulation of the day


class EndpointDay(Struct, frozen=True):
    name: str
    runs: int
    first: tuple[datetime, ...]
    is_expected: bool  # a heartbeat: the times by which a ping must arrive


class FirstDay(Struct, frozen=True):
    began_at: datetime
    ended_at: datetime  # earlier than a day after it, if the day has more than RUNS_MAX runs
    runs: int
    endpoints: tuple[EndpointDay, ...]
    busiest_minute: datetime | None
    busiest_minute_runs: int
    shared_seconds: int  # in which more than one run starts
    busiest_second: datetime | None
    busiest_second_runs: int
    busiest_second_runs_with_jitter: int  # with a jitter of JITTER_MS for every endpoint

    @property
    def is_whole(self) -> bool:
        return self.ended_at - self.began_at == DAY


def simulate_first_day(taken: Takeover, now: datetime) -> FirstDay:
    runs = list(_runs(taken.configs, now))
    ended_at = now + DAY if len(runs) < RUNS_MAX else runs[-1][0]
    seconds = _counted(taken, runs, timedelta(seconds=1), now)
    minutes = _counted(taken, runs, timedelta(minutes=1), now)
    by_name: dict[str, list[datetime]] = {name: [] for name in taken.configs}
    for at, name in runs:
        by_name[name].append(at)
    days = tuple(
        EndpointDay(name, len(times), tuple(times[:FIRST_RUNS]), _is_expected(taken, name))
        for name, times in by_name.items()
    )
    minute, second = _busiest(minutes), _busiest(seconds)
    spread = second
    if second[1] > 1:
        jittered = _runs({name: _jittered(config) for name, config in taken.configs.items()}, now)
        spread = _busiest(_counted(taken, list(jittered), timedelta(seconds=1), now))
    return FirstDay(
        now,
        ended_at,
        sum(each.runs for each in days if not each.is_expected),
        days,
        *minute,
        sum(count > 1 for count in seconds.values()),
        *second,
        spread[1],
    )


def _runs(configs: Mapping[str, EndpointConfig], now: datetime) -> Iterator[tuple[datetime, str]]:
    """The runs of all endpoints in their order, until the day or RUNS_MAX is over."""
    for number, run in enumerate(merge(*(_day_of(name, config, now) for name, config in configs.items()))):
        if number == RUNS_MAX or run[0] >= now + DAY:
            return
        yield run


def _day_of(name: str, config: EndpointConfig, now: datetime) -> Iterator[tuple[datetime, str]]:
    endpoint_id = f"ep_{sha256(name.encode()).hexdigest()[:32]}"
    blank = Endpoint(config.name, config.action, id=endpoint_id, created_at=now, updated_at=now, anchor_at=now)
    endpoint = plan_first(configured(blank, config, (), ""), now, CRON)
    return ((decision.next_run_at, name) for decision in upcoming(endpoint, now, CRON))


def _jittered(config: EndpointConfig) -> EndpointConfig:
    most = config.interval_ms // 2 if config.interval_ms else CRON_JITTER_MS_MAX
    return replace(config, jitter_ms=max(config.jitter_ms, min(JITTER_MS, most)))


def _is_expected(taken: Takeover, name: str) -> bool:
    return taken.configs[name].action.is_expected


def _counted(taken: Takeover, runs: list[tuple[datetime, str]], unit: timedelta, now: datetime) -> Counter[datetime]:
    """Calls by the second or minute in which they start; deadlines of heartbeats are not calls."""
    epoch = now.replace(second=0, microsecond=0)
    return Counter(epoch + (at - epoch) // unit * unit for at, name in runs if not _is_expected(taken, name))


def _busiest(counted: Counter[datetime]) -> tuple[datetime | None, int]:
    """The earliest of the times with the most runs."""
    if not counted:
        return None, 0
    most = max(counted.values())
    return min(at for at, count in counted.items() if count == most), most
