"""60 s means 60.000 s: over a simulated hour, and over real time at one second. Never early, no drift."""

import random
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.domain.run import RunStatus
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.workers.scheduler import Scheduler, SchedulerOptions
from tests.faults.conftest import Figures
from tests.faults.ledger import all_runs, read_ledger
from tests.faults.random_kills import Tail, drain, start_workers
from tests.faults.stage import UNHURRIED_MS, Stage, calling, fill
from tests.harness.waiting import until
from tests.peers.journal import Journal
from tests.stores.world import START, FixedClock, add, an_endpoint
from tests.workers.fakes import ScriptedCaller

MINUTE = timedelta(minutes=1)
ENDPOINTS = 20


@pytest.mark.parametrize("fields", [{}, {"cron": "* * * * *"}, {"min_interval_ms": 60_000}], ids=str)
async def test_sixty_seconds_are_sixty_seconds_over_a_simulated_hour(
    fields: dict[str, object], stores: Stores, clock: FixedClock, seed: int, figures: Figures
) -> None:
    """However late, within its tolerance, a run starts and however long it takes, the next slot is a minute later."""
    draw = random.Random(seed)
    scheduler = Scheduler(stores.schedule, ScriptedCaller(), SchedulerOptions("worker-1"), Metrics())
    await add(stores, an_endpoint("", **fields))
    for minute in range(60):
        clock.at = START + minute * MINUTE - timedelta(microseconds=1)
        assert await scheduler.run_once() == 0
        clock.at = START + minute * MINUTE + timedelta(milliseconds=draw.randint(0, 900))
        assert await scheduler.run_once() == 1

    runs = await all_runs(stores)
    latest = max(run.started_at - run.slot_at for run in runs)
    figures(runs=len(runs), max_start_late_ms=round(latest.total_seconds() * 1_000))
    assert sorted(run.slot_at for run in runs) == [START + minute * MINUTE for minute in range(60)]
    assert {run.status for run in runs} == {RunStatus.SUCCESS}


async def test_one_second_is_one_second_over_real_time(
    sqlite_stage: Stage, postgres_stage: Stage, tmp_path: Path, long_run: bool, figures: Figures
) -> None:
    """On both databases at the same time, to take the time once."""
    seconds = 300 if long_run else 20
    with (
        Journal(tmp_path / "journal.sqlite") as sqlite_journal,
        Journal(tmp_path / "journal.postgres") as postgres_journal,
        sqlite_stage.nursery(lease_margin="30s") as sqlite_nursery,
        postgres_stage.nursery(lease_margin="30s") as postgres_nursery,
    ):
        both = (
            (sqlite_stage, sqlite_journal, sqlite_nursery),
            (postgres_stage, postgres_journal, postgres_nursery),
        )
        for stage, journal, nursery in both:
            await start_workers(nursery, 1)
            await call_every_second(stage, journal)
        for stage, journal, nursery in both:
            tail = Tail(journal)
            await until(lambda tail=tail: tail.grown() >= ENDPOINTS * seconds, "all seconds pass", 3 * seconds + 60)  # type: ignore[misc]  # bound now
            async with stage.stores() as stores:
                await drain(nursery, stores)
                ledger = await read_ledger(stores, journal.entries())
            figures(database=stage.url.partition(":")[0], seconds=seconds, **ledger.figures())
            assert ledger.early() == []
            assert ledger.lost() == []
            assert {run.status for run in ledger.runs} == {RunStatus.SUCCESS}
            assert ledger.drifts() == []


async def call_every_second(stage: Stage, journal: Journal) -> None:
    async with stage.stores() as stores:
        due_at = await stores.schedule.now() + timedelta(seconds=1)
        offsets = [timedelta(milliseconds=1_000 * n / ENDPOINTS) for n in range(ENDPOINTS)]
        calls = [calling(journal.url(f"/{n}"), due_at + at, 1_000, UNHURRIED_MS) for n, at in enumerate(offsets)]
        await fill(stores, calls)
