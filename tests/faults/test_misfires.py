"""R11: after downtime exactly the runs take place that the misfire policy names; the rest is one `missed` row.

Fifty endpoints of each policy, due every minute at the full minute; the workers are away from just before a minute.
"""

from collections import Counter
from datetime import timedelta

import pytest

from mainspring.domain.endpoint import MisfirePolicy
from mainspring.domain.run import RunStatus
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.workers.scheduler import Scheduler, SchedulerOptions
from tests.faults.ledger import all_runs
from tests.faults.stage import fill
from tests.stores.world import START, FixedClock, an_endpoint
from tests.workers.fakes import ScriptedCaller

ENDPOINTS = 50
CATCH_UP_MAX = 10
OPTIONS = SchedulerOptions("worker-1", places=1_000, per_tenant=1_000, per_host=1_000)
MINUTE, HOUR, MONTH = timedelta(minutes=1), timedelta(hours=1), timedelta(days=30)
RUN_ONCE, SKIP, CATCH_UP = MisfirePolicy.RUN_ONCE, MisfirePolicy.SKIP, MisfirePolicy.CATCH_UP

# Downtime since a slot, cron or interval, policy -> runs that take place, slots that are summed up as missed.
# The newest slot is as old as the downtime is over a full minute: 40 s, which `skip` finds too late.
LATE_BY = timedelta(seconds=40)
TABLE = [
    (MINUTE, "interval", RUN_ONCE, 1, 1),
    (MINUTE, "interval", SKIP, 0, 2),
    (MINUTE, "interval", CATCH_UP, 2, 0),
    (MINUTE, "cron", RUN_ONCE, 1, 1),
    (MINUTE, "cron", SKIP, 0, 2),
    (MINUTE, "cron", CATCH_UP, 2, 0),
    (HOUR, "interval", RUN_ONCE, 1, 60),
    (HOUR, "interval", SKIP, 0, 61),
    (HOUR, "interval", CATCH_UP, 10, 51),
    (HOUR, "cron", RUN_ONCE, 1, 60),
    (HOUR, "cron", SKIP, 0, 61),
    (HOUR, "cron", CATCH_UP, 10, 51),
    (MONTH, "interval", RUN_ONCE, 1, 43_200),
    (MONTH, "interval", SKIP, 0, 43_201),
    (MONTH, "interval", CATCH_UP, 10, 43_191),
    (MONTH, "cron", RUN_ONCE, 1, 999),  # crons are counted up to a thousand: "many"
    (MONTH, "cron", SKIP, 0, 1_000),
    (MONTH, "cron", CATCH_UP, 10, 990),
]


@pytest.mark.parametrize(
    ("downtime", "kind", "policy", "runs", "missed"),
    [pytest.param(*row, id=f"{row[0]} {row[1]} {row[2]}") for row in TABLE],
)
async def test_downtime_is_followed_by_what_the_policy_names(
    downtime: timedelta, kind: str, policy: MisfirePolicy, runs: int, missed: int, stores: Stores, clock: FixedClock
) -> None:
    cron = "* * * * *" if kind == "cron" else None
    endpoints = [an_endpoint(cron=cron, misfire=policy, catch_up_max=CATCH_UP_MAX) for _ in range(ENDPOINTS)]
    await fill(stores, endpoints)
    scheduler = Scheduler(stores.schedule, ScriptedCaller(), OPTIONS, Metrics())
    clock.at = START + downtime + LATE_BY
    while await scheduler.run_once():
        clock.tick(milliseconds=100)  # a call takes a moment, and what is caught up follows it

    rows = await all_runs(stores)
    done = Counter(run.endpoint_id for run in rows if run.status is RunStatus.SUCCESS)
    summed_up = [run.missed_count for run in rows if run.status is RunStatus.MISSED]
    assert [done[each.id] for each in endpoints] == [runs] * ENDPOINTS
    assert summed_up == ([missed] * ENDPOINTS if missed else [])
    if policy is not CATCH_UP:
        assert len(rows) <= 2 * ENDPOINTS


async def test_after_downtime_the_schedule_goes_on_from_the_present(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(cron="* * * * *")
    await fill(stores, [endpoint])
    scheduler = Scheduler(stores.schedule, ScriptedCaller(), OPTIONS, Metrics())
    clock.at = START + MONTH + LATE_BY
    await scheduler.run_once()

    found = await stores.endpoints.endpoint("default", endpoint.id)
    assert found is not None
    assert found.next_run_at == START + MONTH + MINUTE
