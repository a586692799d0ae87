"""R9: the clock jumps, forwards or backwards, between runs or during one.

Nothing runs early, twice or for less than no time, and a jump over many slots leaves one `missed` row.
"""

import random
from collections import Counter
from datetime import timedelta

import pytest

from mainspring.domain.run import ENDED_BY_CALL, Request, Run, RunStatus
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.workers.scheduler import Scheduler, SchedulerOptions
from tests.faults.conftest import Figures
from tests.faults.ledger import all_runs
from tests.stores.world import START, FixedClock, add, an_endpoint
from tests.workers.fakes import ScriptedCaller

ENDPOINTS = 5
STEPS = [timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)]
OPTIONS = SchedulerOptions("worker-1", per_host=1_000)


def assert_no_run_is_early_repeated_or_negative(runs: list[Run]) -> None:
    ended = Counter((run.endpoint_id, run.slot_at) for run in runs if run.status in ENDED_BY_CALL)
    assert [slot for slot, times in ended.items() if times > 1] == []
    assert [run for run in runs if run.status is not RunStatus.MISSED and run.started_at < run.slot_at] == []
    assert [run for run in runs if run.finished_at is not None and run.finished_at < run.started_at] == []
    assert [run for run in runs if run.duration_ms is not None and run.duration_ms < 0] == []


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("direction", [1, -1], ids=["forwards", "backwards"])
async def test_steps_between_runs_cause_no_early_and_no_repeated_run(
    step: timedelta, direction: int, stores: Stores, clock: FixedClock, figures: Figures, seed: int
) -> None:
    draw = random.Random(seed)
    scheduler = Scheduler(stores.schedule, ScriptedCaller(), OPTIONS, Metrics())
    await add(stores, *(an_endpoint() for _ in range(ENDPOINTS)))
    for _ in range(10):
        await scheduler.run_once()
        clock.at += step * direction
        await scheduler.run_once()
        clock.tick(seconds=draw.choice([1, 30, 60, 90]))

    runs = await all_runs(stores)
    figures(steps=10, runs=len(runs), missed=sum(run.missed_count for run in runs))
    assert_no_run_is_early_repeated_or_negative(runs)


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("direction", [1, -1], ids=["forwards", "backwards"])
async def test_steps_during_a_call_cause_no_early_and_no_repeated_run(
    step: timedelta, direction: int, stores: Stores, clock: FixedClock, figures: Figures
) -> None:
    caller = ScriptedCaller()
    scheduler = Scheduler(stores.schedule, caller, OPTIONS, Metrics())
    await add(stores, *(an_endpoint() for _ in range(ENDPOINTS)))
    for round_number in range(10):
        caller.on_call = SteppingOnce(clock, step * direction) if round_number % 2 else lambda request: None
        await scheduler.run_once()
        clock.tick(seconds=60)

    runs = await all_runs(stores)
    figures(steps=5, runs=len(runs), missed=sum(run.missed_count for run in runs))
    assert len(caller.requests) >= ENDPOINTS
    assert_no_run_is_early_repeated_or_negative(runs)


class SteppingOnce:
    """Moves the clock at the first call of a round."""

    def __init__(self, clock: FixedClock, step: timedelta) -> None:
        self._clock = clock
        self._step = step
        self._done = False

    def __call__(self, request: Request) -> None:
        if not self._done:
            self._done = True
            self._clock.at += self._step


async def test_a_step_forwards_over_many_slots_leaves_one_missed_row(stores: Stores, clock: FixedClock) -> None:
    scheduler = Scheduler(stores.schedule, ScriptedCaller(), OPTIONS, Metrics())
    await add(stores, an_endpoint())
    await scheduler.run_once()
    clock.tick(hours=1)

    await scheduler.run_once()

    runs = sorted(await all_runs(stores), key=lambda run: run.slot_at)
    assert [(run.status, run.missed_count) for run in runs] == [
        (RunStatus.SUCCESS, 0),
        (RunStatus.MISSED, 59),
        (RunStatus.SUCCESS, 0),
    ]
    assert [run.slot_at for run in runs] == [START, START + timedelta(minutes=1), START + timedelta(hours=1)]


async def test_a_step_backwards_delays_what_was_planned_and_loses_nothing(stores: Stores, clock: FixedClock) -> None:
    scheduler = Scheduler(stores.schedule, ScriptedCaller(), OPTIONS, Metrics())
    await add(stores, an_endpoint())
    await scheduler.run_once()
    clock.tick(hours=-1)
    claimed = [await scheduler.run_once()]
    clock.tick(hours=1, seconds=59)
    claimed.append(await scheduler.run_once())
    clock.tick(seconds=1)
    claimed.append(await scheduler.run_once())

    assert claimed == [0, 0, 1]
    assert {run.slot_at for run in await all_runs(stores)} == {START, START + timedelta(minutes=1)}
