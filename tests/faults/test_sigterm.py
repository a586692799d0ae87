"""R16: SIGTERM drains. What ends within the grace is recorded once, the rest is given back and done elsewhere."""

import asyncio
import random
import signal
import time
from datetime import timedelta

from mainspring.domain.endpoint import LostWorkerPolicy
from mainspring.domain.run import RunStatus
from mainspring.ports.stores import Stores
from tests.actions import http_of
from tests.faults.conftest import Figures
from tests.faults.ledger import read_ledger, until_counted
from tests.faults.random_kills import Tail, drain, start_workers
from tests.faults.stage import UNHURRIED_MS, Stage, calling, fill, proxied, steady_load
from tests.faults.worker_forker import Nursery
from tests.harness.pace import Pace
from tests.harness.processes import Processes
from tests.harness.waiting import holds_for, until
from tests.peers.journal import Entry, Journal

GRACE_S = 1.5
HOUR_MS = 3_600_000
SOON_MS = 700  # ends within the grace
LATE_MS = 8_000  # does not, however long another worker takes to start


async def call_slowly(stores: Stores, journal: Journal) -> None:
    """Endpoints that are called once: some end within a grace, some do not, some of those may run once only."""
    due_at = await stores.schedule.now() + timedelta(seconds=1)
    urls = [journal.url(f"/soon/{n}?delay_ms={SOON_MS}") for n in range(10)]
    await fill(stores, [calling(url, due_at, HOUR_MS, UNHURRIED_MS) for url in urls])
    for kind, policy in (("late", LostWorkerPolicy.RETRY), ("once", LostWorkerPolicy.SKIP)):
        urls = [journal.url(f"/{kind}/{n}?delay_ms={LATE_MS}") for n in range(5)]
        await fill(stores, [calling(url, due_at, HOUR_MS, UNHURRIED_MS, on_lost_worker=policy) for url in urls])


def received(journal: Journal, kind: str, attempt: int) -> list[Entry]:
    return [each for each in journal.entries() if each.path.startswith(f"/{kind}/") and each.attempt == attempt]


async def test_runs_that_end_within_the_grace_are_recorded_and_the_rest_is_done_elsewhere_at_once(
    stage: Stage, journal: Journal, figures: Figures, pace: Pace
) -> None:
    async with stage.stores() as stores:
        await call_slowly(stores, journal)
        with stage.nursery(shutdown_grace=f"{GRACE_S}s") as nursery:
            (leaving,) = await start_workers(nursery, 1)
            await until(lambda: len(journal.entries()) == 20, "all calls are in flight")
            await start_workers(nursery, 1)
            told_at = time.time()
            leaving.terminate()
            await until(lambda: not leaving.is_running, "it ends")
            ended_s = time.time() - told_at
            await until(lambda: len(received(journal, "late", 2)) == 5, "the other one calls again")
            await until_counted(stores, RunStatus.RUNNING, 0)
        ledger = await read_ledger(stores, journal.entries())

    by_path = {each.id: http_of(each).url.split("/")[3] for each in ledger.endpoints.values()}
    statuses = {
        kind: sorted({run.status for run in ledger.runs if by_path[run.endpoint_id] == kind})
        for kind in ("soon", "late", "once")
    }
    waits = [entry.at - told_at - GRACE_S for entry in received(journal, "late", 2)]
    figures(ended_after_s=round(ended_s, 2), retaken_after_grace_s=round(max(waits), 2), **ledger.figures())
    assert leaving.wait() == 0
    assert ended_s <= GRACE_S + pace.fair(2)
    assert statuses["soon"] == [RunStatus.SUCCESS]
    assert statuses["late"] == [RunStatus.ABANDONED, RunStatus.SUCCESS]
    assert statuses["once"] == [RunStatus.UNKNOWN]
    assert max(waits) <= pace.fair(1.0)
    assert len(ledger.entries) == 25
    assert ledger.ids_that_differ() == []
    assert not [run for run in ledger.runs if f"-{leaving.pid}-" in run.worker and run.started_at.timestamp() > told_at]


async def test_a_second_sigterm_ends_at_once(stage: Stage, journal: Journal, figures: Figures, pace: Pace) -> None:
    async with stage.stores() as stores:
        await call_slowly(stores, journal)
        with stage.nursery(shutdown_grace="20s") as nursery:
            (worker,) = await start_workers(nursery, 1)
            await until(lambda: len(journal.entries()) == 20, "all calls are in flight")
            worker.terminate()
            await until(lambda: any(line["event"] == "draining" for line in worker.lines), "it drains")
            told_at = time.monotonic()
            worker.send(signal.SIGTERM)
            code = worker.wait()
            ended_s = time.monotonic() - told_at

    figures(ended_after_s=round(ended_s, 3), exit_code=code)
    assert ended_s < pace.fair(1)
    assert code not in (0, -signal.SIGTERM)


async def test_sigterms_under_load_deliver_every_slot_once(
    postgres_stage: Stage, journal: Journal, long_run: bool, seed: int, figures: Figures
) -> None:
    """Every call ends within the grace, so no delivery may come twice and no slot may be given up."""
    wanted = 200 if long_run else 12
    draw = random.Random(seed)
    async with postgres_stage.stores() as stores:
        from_at = await stores.schedule.now() + timedelta(seconds=1)
        await fill(stores, steady_load(journal, from_at, 30, timeout_ms=UNHURRIED_MS))
        with postgres_stage.nursery(lease_margin="30s") as nursery:
            slowest_s = await terminate_in_turn(nursery, journal, wanted, draw)
            await drain(nursery, stores)
        ledger = await read_ledger(stores, journal.entries())

    figures(sigterms=wanted, slowest_exit_s=round(slowest_s, 2), **ledger.figures())
    assert set(nursery.exit_codes.values()) == {0}
    assert [slot for slot, times in ledger.deliveries_per_slot().items() if times > 1] == []
    assert ledger.lost() == []
    assert {run.status for run in ledger.runs} == {RunStatus.SUCCESS}


async def terminate_in_turn(nursery: Nursery, journal: Journal, sigterms: int, draw: random.Random) -> float:
    """End a worker and start another, after a random number of deliveries; how long the slowest took to end."""
    tail = Tail(journal)
    alive = await start_workers(nursery, 3)
    slowest_s = 0.0
    for _ in range(sigterms):
        wanted = tail.grown() + draw.randint(1, 20)
        await until(lambda wanted=wanted: tail.grown() >= wanted, "deliveries go on")  # type: ignore[misc]  # bound now
        leaving = alive.pop(draw.randrange(len(alive)))
        told_at = time.monotonic()
        leaving.terminate()
        alive += await start_workers(nursery, 1)
        await until(lambda leaving=leaving: not leaving.is_running, "it drains")  # type: ignore[misc]  # bound now
        slowest_s = max(slowest_s, time.monotonic() - told_at)
    return slowest_s


async def test_sigterm_while_the_database_does_not_answer_ends_within_the_grace(
    postgres_stage: Stage, journal: Journal, figures: Figures, pace: Pace
) -> None:
    async with proxied(postgres_stage) as (stage, proxy), postgres_stage.stores() as stores:
        await call_slowly(stores, journal)
        with stage.nursery(shutdown_grace=f"{GRACE_S}s") as nursery:
            workers = await start_workers(nursery, 2)
            await until(lambda: len(journal.entries()) == 20, "all calls are in flight")
            await proxy.half_open()
            await holds_for(lambda: len(nursery.running) == 2, "they wait for an answer", 1.0)
            told_at = time.monotonic()
            for worker in workers:
                worker.terminate()
            await until(lambda: not nursery.running, "both end", 60)
            ended_s = time.monotonic() - told_at
            codes = [worker.wait() for worker in workers]

    figures(ended_after_s=round(ended_s, 2), exit_codes=codes)
    assert codes == [0, 0]
    assert ended_s <= GRACE_S + pace.fair(2)


async def test_serve_ends_within_the_grace_while_the_database_does_not_answer(
    postgres_stage: Stage, processes: Processes, figures: Figures, pace: Pace
) -> None:
    """Every worker of the process, not only the scheduler."""
    async with proxied(postgres_stage) as (stage, proxy):
        env = {
            "MAINSPRING_DATABASE_URL": stage.url,
            "MAINSPRING_DATA_DIR": str(stage.folder),
            "MAINSPRING_SHUTDOWN_GRACE": f"{GRACE_S}s",
        }
        server = await asyncio.to_thread(processes.start, "serve", "--port", "0", env=env)
        await asyncio.to_thread(server.wait_for, "listening on")
        await proxy.half_open()
        await holds_for(lambda: server.is_running, "all of it waits for an answer", 1.0)
        told_at = time.monotonic()
        code = await asyncio.to_thread(server.terminate, GRACE_S + 20)
        ended_s = time.monotonic() - told_at

    figures(ended_after_s=round(ended_s, 2), exit_code=code)
    assert code == 0
    assert ended_s <= GRACE_S + pace.fair(4)
