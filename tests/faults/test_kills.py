"""R1, R2, R3, R17: workers die at any moment; no slot is lost, none counts twice, none changes its id."""

from datetime import timedelta

import apsw
import pytest

from tests.faults.conftest import Figures
from tests.faults.ledger import Ledger, read_ledger
from tests.faults.nursery import Nursery
from tests.faults.stage import Stage, calling
from tests.faults.storm import drain, kill_workers, start_workers
from tests.harness.waiting import until
from tests.peers.journal import Journal

from mainspring.domain.endpoint import Endpoint, LostWorkerPolicy
from mainspring.domain.run import RunStatus

ENDPOINTS = 40
INTERVAL_MS = 500
LEASE_S = 2.0  # a timeout of one second and a margin of one second
CALL_MS = 20  # how long the target takes: the share of kills that strike a run in flight


async def fill(stage: Stage, journal: Journal) -> list[Endpoint]:
    async with stage.stores() as stores:
        due_at = await stores.schedule.now() + timedelta(seconds=1)
        endpoints = [
            calling(
                journal.url(f"/{number}?delay_ms={CALL_MS}"),
                due_at + timedelta(milliseconds=INTERVAL_MS * number / ENDPOINTS),
                INTERVAL_MS,
                on_lost_worker=LostWorkerPolicy.SKIP if number % 2 else LostWorkerPolicy.RETRY,
            )
            for number in range(ENDPOINTS)
        ]
        await stage.fill(stores, endpoints)
    return endpoints


async def evidence(stage: Stage, journal: Journal) -> Ledger:
    async with stage.stores() as stores:
        return await read_ledger(stores, journal.entries())


def assert_nothing_lost_and_nothing_twice(ledger: Ledger) -> None:
    assert ledger.lost() == []
    assert ledger.recorded_twice() == []
    assert ledger.moved_twice() == []
    assert ledger.strangers() == []
    assert ledger.undelivered() == []
    assert ledger.ids_that_differ() == []
    assert ledger.early() == []
    assert [each.parked_reason for each in ledger.endpoints.values() if each.parked_at is not None] == []
    assert ledger.count(RunStatus.RUNNING) == 0


def assert_at_most_once_where_asked_for(ledger: Ledger) -> None:
    at_most_once = {each.id for each in ledger.endpoints.values() if each.on_lost_worker is LostWorkerPolicy.SKIP}
    deliveries = ledger.deliveries_per_slot()
    assert [slot for slot, times in deliveries.items() if times > 1 and slot.rpartition("_")[0] in at_most_once] == []
    lost = [run for run in ledger.runs if run.error_code == "lost_worker"]
    assert {run.status for run in lost if run.endpoint_id in at_most_once} <= {RunStatus.UNKNOWN}
    assert {run.status for run in lost if run.endpoint_id not in at_most_once} <= {RunStatus.ABANDONED}


@pytest.mark.parametrize(("kind", "workers", "kills"), [("postgres", 4, (60, 1_000)), ("sqlite", 2, (40, 1_000))])
async def test_killed_workers_lose_no_slot_and_record_none_twice(
    kind: str,
    workers: int,
    kills: tuple[int, int],
    request: pytest.FixtureRequest,
    journal: Journal,
    long_run: bool,
    seed: int,
    figures: Figures,
) -> None:
    stage: Stage = request.getfixturevalue(f"{kind}_stage")
    wanted = kills[long_run]
    await fill(stage, journal)
    with stage.nursery() as nursery:
        import time; t=time.time()
        await kill_workers(nursery, journal, workers, wanted, seed)
        print(time.time()-t)
        async with stage.stores() as stores:
            await drain(nursery, stores)
            print(time.time()-t)
            ledger = await read_ledger(stores, journal.entries())
            print(time.time()-t)
        said = nursery.log_text()

    figures(kills=wanted, **ledger.figures())
    assert list(nursery.exit_codes.values()).count(-9) == wanted
    assert ledger.count(RunStatus.ABANDONED) > 0
    assert ledger.count(RunStatus.UNKNOWN) > 0
    assert len(ledger.by_slot()) >= (5_000 if long_run else 200)
    assert_nothing_lost_and_nothing_twice(ledger)
    assert_at_most_once_where_asked_for(ledger)
    assert "database is locked" not in said
    if stage.is_sqlite:
        file = apsw.Connection(stage.url.removeprefix("sqlite://"))
        assert file.pragma("integrity_check") == "ok"


async def let_workers_stop_with_results_in_hand(
    nursery: Nursery, journal: Journal, workers: int, stops: int
) -> None:
    """A worker that its failpoint stops is left standing until its leases are over, and half as long again."""
    since: dict[int, float] = {}
    alive = await start_workers(nursery, workers)
    clock = __import__("time").monotonic
    done = 0

    def look() -> bool:
        nonlocal done
        for worker in alive:
            if not worker.is_stopped:
                continue
            if clock() - since.setdefault(worker.pid, clock()) > 1.6 * LEASE_S:
                del since[worker.pid]
                worker.thaw()
                done += 1
        return done >= stops

    await until(look, f"{stops} workers stop at their failpoint and go on", 600)
    await until(lambda: not any(worker.is_stopped for worker in alive), "all go on")
