"""Workers behind a real PgBouncer in transaction mode, at the default settings otherwise.

No lock can be held there, so a dead worker is known by its silence alone; and nothing can be listened to, so changes by
other processes are noticed by looking.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.domain.run import RunStatus
from tests.cli.shell import Shell
from tests.faults.conftest import Figures
from tests.faults.ledger import read_ledger
from tests.faults.random_kills import drain, ready, start_workers
from tests.faults.stage import Stage, calling, fill
from tests.faults.test_worker_deaths import (
    assert_nothing_lost_and_nothing_twice,
    load,
    one_with_runs_in_flight,
    until_all_are_called,
)
from tests.harness.bouncer import Bouncer, is_installed
from tests.harness.pace import Pace
from tests.harness.postgres import Cluster
from tests.harness.waiting import until
from tests.peers.journal import Journal
from tests.stores.flow_world import a_workflow, publish, start

SILENT_S = 20.0  # fifteen of silence, as much again as others need where a lock says it
NOTICED_S = 5.0


@pytest.fixture
def installed() -> None:
    if not is_installed():
        pytest.skip("the program pgbouncer is not installed")


@pytest.fixture
def bouncer(installed: None, postgres_cluster: Cluster, postgres_stage: Stage) -> Iterator[Bouncer]:
    with Bouncer(postgres_cluster, postgres_stage.url.rpartition("/")[2]) as bouncer:
        yield bouncer


def test_schema_is_created_and_commands_work_behind_a_bouncer(
    installed: None, postgres_cluster: Cluster, postgres_empty_url: str, tmp_path: Path
) -> None:
    with Bouncer(postgres_cluster, postgres_empty_url.rpartition("/")[2]) as bouncer:
        env = {"MAINSPRING_DATA_DIR": str(tmp_path), "MAINSPRING_PGBOUNCER": "true"}
        shell = Shell(env | {"MAINSPRING_DATABASE_URL": bouncer.url})
        shell.ok("migrate")
        shell.add("health")

        assert [each["name"] for each in shell.json("endpoint", "list")] == ["health"]
        assert "answers: postgresql" in shell("doctor").stdout


async def test_killed_worker_behind_a_bouncer_keeps_no_endpoint_still_for_twenty_seconds(
    bouncer: Bouncer, postgres_stage: Stage, journal: Journal, long_run: bool, figures: Figures, pace: Pace
) -> None:
    """Endpoints and a workflow, so that claims, results, heartbeats and ticks all go through the bouncer."""
    kills = 5 if long_run else 1
    stage = postgres_stage.at_defaults()
    waits: list[float] = []
    with stage.nursery(database_url=bouncer.url, pgbouncer="true") as nursery:
        await start_workers(nursery, 4)
        paths = await load(stage, journal)
        async with stage.stores() as stores:
            step = {"call": {"url": journal.url("/step")}, "visits": 9_999}
            loop = a_workflow(step, {"wait": "1s", "next": "s0", "visits": 9_999})
            await start(stores, await publish(stores, loop), "x")
            late = calling(journal.url("/late"), await stores.schedule.now(), 3_600_000)
            stored_at = time.time()
            await fill(stores, [late])
            await until(lambda: any(entry.path == "/late" for entry in journal.entries()), "what is new is noticed")
            noticed_s = time.time() - stored_at
            for _ in range(kills):
                victim = await one_with_runs_in_flight(stores, nursery)
                victim.kill()
                killed_at = time.time()
                await ready([nursery.start()])
                waits.append(await until_all_are_called(journal, paths, killed_at, 90))
                await until_all_are_called(journal, {"/step"}, time.time(), 90)
            await drain(nursery, stores)
            ledger = await read_ledger(stores, [entry for entry in journal.entries() if entry.path != "/step"])

    figures(kills=kills, longest_s=round(max(waits), 1), noticed_s=round(noticed_s, 1), **ledger.figures())
    assert ledger.count(RunStatus.ABANDONED) > 0
    assert_nothing_lost_and_nothing_twice(ledger)
    assert max(waits) <= pace.fair(SILENT_S)
    assert noticed_s <= pace.fair(NOTICED_S)


async def test_worker_behind_a_bouncer_that_is_asked_to_stop_delays_no_run_by_two_seconds(
    long_only: None, bouncer: Bouncer, postgres_stage: Stage, journal: Journal, figures: Figures, pace: Pace
) -> None:
    stage = postgres_stage.at_defaults()
    with stage.nursery(database_url=bouncer.url, pgbouncer="true") as nursery:
        workers = await start_workers(nursery, 2)
        await load(stage, journal)
        async with stage.stores() as stores:
            for worker in workers:
                await ready([nursery.start()])
                worker.terminate()
                await until(lambda worker=worker: not worker.is_running, "a worker drains", 60)  # type: ignore[misc]  # bound now
            await drain(nursery, stores)
            ledger = await read_ledger(stores, journal.entries())

    late = max(ledger.lateness_s())
    figures(restarts=2, latest_s=round(late, 2), **ledger.figures())
    assert_nothing_lost_and_nothing_twice(ledger)
    assert late <= pace.fair(2.0)
