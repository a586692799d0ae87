"""Workers behind a real PgBouncer in transaction mode, at the default settings otherwise. Long runs only.

No lock can be held there, so a dead worker is known by its silence alone; and nothing can be listened to, so changes by
other processes are noticed by looking.
"""

import time
from collections.abc import Iterator

import pytest

from mainspring.domain.run import RunStatus
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

SILENT_S = 20.0  # fifteen of silence, as much again as others need where a lock says it
NOTICED_S = 5.0
KILLS = 5


@pytest.fixture
def bouncer(long_only: None, request: pytest.FixtureRequest) -> Iterator[Bouncer]:
    if not is_installed():
        pytest.skip("the program pgbouncer is not installed")
    cluster: Cluster = request.getfixturevalue("postgres_cluster")
    stage: Stage = request.getfixturevalue("postgres_stage")
    with Bouncer(cluster, stage.url.rpartition("/")[2]) as bouncer:
        yield bouncer


async def test_killed_worker_behind_a_bouncer_keeps_no_endpoint_still_for_twenty_seconds(
    bouncer: Bouncer, postgres_stage: Stage, journal: Journal, figures: Figures, pace: Pace
) -> None:
    stage = postgres_stage.at_defaults()
    waits: list[float] = []
    with stage.nursery(database_url=bouncer.url, pgbouncer="true") as nursery:
        await start_workers(nursery, 4)
        paths = await load(stage, journal)
        async with stage.stores() as stores:
            late = calling(journal.url("/late"), await stores.schedule.now(), 3_600_000)
            stored_at = time.time()
            await fill(stores, [late])
            await until(lambda: any(entry.path == "/late" for entry in journal.entries()), "what is new is noticed")
            noticed_s = time.time() - stored_at
            for _ in range(KILLS):
                victim = await one_with_runs_in_flight(stores, nursery)
                victim.kill()
                killed_at = time.time()
                await ready([nursery.start()])
                waits.append(await until_all_are_called(journal, paths, killed_at, 90))
            await drain(nursery, stores)
            ledger = await read_ledger(stores, journal.entries())

    figures(kills=KILLS, longest_s=round(max(waits), 1), noticed_s=round(noticed_s, 1), **ledger.figures())
    assert ledger.count(RunStatus.ABANDONED) > 0
    assert_nothing_lost_and_nothing_twice(ledger)
    assert max(waits) <= pace.fair(SILENT_S)
    assert noticed_s <= pace.fair(NOTICED_S)


async def test_worker_behind_a_bouncer_that_is_asked_to_stop_delays_no_run_by_two_seconds(
    bouncer: Bouncer, postgres_stage: Stage, journal: Journal, figures: Figures, pace: Pace
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
