"""R1, R2, R3, R17: workers die or stand still at any moment; no slot is lost, none counts twice, ids stay the same."""

import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

import apsw
import pytest

from mainspring.domain.endpoint import LostWorkerPolicy
from mainspring.domain.run import RunStatus
from tests.faults.conftest import Figures
from tests.faults.ledger import ASK_S, Ledger, all_runs, read_ledger
from tests.faults.random_kills import drain, kill_workers, start_workers
from tests.faults.stage import Stage, fill, steady_load
from tests.faults.worker_forker import Nursery
from tests.harness.waiting import until_true
from tests.peers.journal import Journal

LEASE_S = 2.0  # a timeout of one second and a margin of one second
STANDSTILL_S = 1.6 * LEASE_S
CALL_MS = 5  # how long the target takes: the more, the more kills strike runs in flight, and the more are parked
# What a worker that stops may take along. Where a slow machine lets more fall due at once, it would else take all of
# it, time after time: after five lost workers an endpoint is parked, and soon nothing runs any more.
IN_HAND = 5
RETRY, SKIP = LostWorkerPolicy.RETRY, LostWorkerPolicy.SKIP


async def load(stage: Stage, journal: Journal, *policies: LostWorkerPolicy) -> None:
    async with stage.stores() as stores:
        from_at = await stores.schedule.now() + timedelta(seconds=1)
        await fill(stores, steady_load(journal, from_at, CALL_MS, *policies))


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
    await load(stage, journal, RETRY, SKIP)
    with stage.nursery() as nursery:
        await kill_workers(nursery, journal, workers, wanted, seed)
        async with stage.stores() as stores:
            await drain(nursery, stores)
            ledger = await read_ledger(stores, journal.entries())

    figures(kills=wanted, **ledger.figures())
    assert list(nursery.exit_codes.values()).count(-9) == wanted
    assert ledger.count(RunStatus.ABANDONED) > 0
    assert ledger.count(RunStatus.UNKNOWN) > 0
    assert len(ledger.by_slot()) >= (5_000 if long_run else 200)
    assert_nothing_lost_and_nothing_twice(ledger)
    assert_at_most_once_where_asked_for(ledger)
    if stage.is_sqlite:
        assert "database is locked" not in nursery.log_text()
        assert apsw.Connection(stage.url.removeprefix("sqlite://")).pragma("integrity_check") == "ok"


async def test_results_that_outlive_their_lease_are_superseded_and_move_nothing(
    postgres_stage: Stage, journal: Journal, long_run: bool, figures: Figures
) -> None:
    wanted, slots = (300, 2_000) if long_run else (6, 100)

    def is_proof(ledger: Ledger) -> bool:
        return ledger.count(RunStatus.SUPERSEDED) >= wanted / 2 and len(ledger.by_slot()) >= slots

    async with postgres_stage.stores() as stores:

        async def enough(stops: int) -> bool:
            return stops >= wanted and is_proof(Ledger({}, await all_runs(stores), (), ()))

        stops, ledger = await stop_with_results_in_hand(postgres_stage, journal, enough)

    figures(stops=stops, **ledger.figures())
    assert is_proof(ledger)
    assert_nothing_lost_and_nothing_twice(ledger)


async def test_without_the_fence_such_results_count_twice(
    postgres_stage: Stage, journal: Journal, long_run: bool, figures: Figures
) -> None:
    """The negative control: the same run with the guard off must fail, else the test above proves nothing."""
    wanted = 11 if long_run else 3

    async with postgres_stage.stores() as stores:

        async def enough(stops: int) -> bool:
            return len(Ledger({}, await all_runs(stores), (), ()).recorded_twice()) >= wanted

        stops, ledger = await stop_with_results_in_hand(postgres_stage, journal, enough, "no_fence")

    figures(stops=stops, **ledger.figures(), moved_twice=len(ledger.moved_twice()))
    assert len(ledger.recorded_twice()) >= wanted
    assert len(ledger.moved_twice()) >= wanted


async def stop_with_results_in_hand(
    stage: Stage, journal: Journal, enough: Callable[[int], Awaitable[bool]], *guards_off: str
) -> tuple[int, Ledger]:
    """Workers stop themselves after two in a hundred calls, before recording them, and go on after their leases."""
    await load(stage, journal, RETRY)
    with stage.nursery(",".join(("after_call=stop:0.02", *guards_off)), concurrency=IN_HAND) as nursery:
        await start_workers(nursery, 4)
        thaws = await thaw_the_stopped(nursery, enough)
    with stage.nursery() as healthy:  # the others would stop again, also while they drain
        healthy.start()
        async with stage.stores() as stores:
            await drain(healthy, stores)
            return thaws, await read_ledger(stores, journal.entries())


async def thaw_the_stopped(nursery: Nursery, enough: Callable[[int], Awaitable[bool]]) -> int:
    """Let every worker that stopped stand still until its leases are over, and half as long again."""
    since: dict[int, float] = {}
    thaws, asked_s = 0, 0.0

    async def look() -> bool:
        nonlocal thaws, asked_s
        for worker in nursery.running:
            if worker.is_stopped and time.monotonic() - since.setdefault(worker.pid, time.monotonic()) > STANDSTILL_S:
                del since[worker.pid]
                worker.thaw()
                thaws += 1
        if time.monotonic() - asked_s < ASK_S:
            return False
        asked_s = time.monotonic()
        return await enough(thaws)

    await until_true(look, "workers stop at their failpoint, go on, and record what they had", 900)
    return thaws


def assert_nothing_lost_and_nothing_twice(ledger: Ledger) -> None:
    assert ledger.lost() == []
    assert ledger.recorded_twice() == []
    assert ledger.moved_twice() == []
    assert ledger.strangers() == []
    assert ledger.undelivered() == []
    assert ledger.ids_that_differ() == []
    assert ledger.early() == []
    assert ledger.count(RunStatus.RUNNING) == 0


def assert_at_most_once_where_asked_for(ledger: Ledger) -> None:
    at_most_once = {each.id for each in ledger.endpoints.values() if each.on_lost_worker is SKIP}
    deliveries = ledger.deliveries_per_slot()
    assert [slot for slot, times in deliveries.items() if times > 1 and slot.rpartition("_")[0] in at_most_once] == []
    lost = [run for run in ledger.runs if run.error_code == "lost_worker"]
    assert {run.status for run in lost if run.endpoint_id in at_most_once} <= {RunStatus.UNKNOWN}
    assert {run.status for run in lost if run.endpoint_id not in at_most_once} <= {RunStatus.ABANDONED}
