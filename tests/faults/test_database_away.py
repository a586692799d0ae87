"""R6, R7: the database crashes, stops, or does not answer; nothing acknowledged is lost, nothing spins, all goes on."""

import asyncio
import random
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.run import ENDED_BY_CALL, RunStatus
from mainspring.ports.presence import SILENT_MS
from tests.faults.conftest import Figures
from tests.faults.ledger import Ledger, all_runs, read_ledger
from tests.faults.process_stats import Vitals
from tests.faults.random_kills import Tail, drain, start_workers
from tests.faults.stage import UNHURRIED_MS, Stage, calling, fill, proxied, steady_load
from tests.faults.worker_forker import Nursery, Worker
from tests.harness.pace import Pace
from tests.harness.postgres import Cluster
from tests.harness.proxy import FaultProxy
from tests.harness.waiting import holds_for, until, until_true
from tests.peers.journal import Journal

WORKERS = 2
SLOW = 10
CALLS_THROUGH_OUTAGE = 4
RESUMES_WITHIN_S = 10.0
ATTEMPTS_PER_S_MAX = 2.0
CONNECTIONS = 9  # of a worker; for each that does not answer, the driver once asks the server to cancel
CPU_SHARE_MAX = 0.10
GROWTH_MB_MAX = 50
_numbers = count(1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A server of our own to crash, that keeps what it acknowledged as users' servers do."""
    with Cluster(fsync=True) as cluster:
        yield cluster


@pytest.fixture
def crash_stage(cluster: Cluster, tmp_path: Path) -> Stage:
    return Stage(cluster.create_database(f"crash_{next(_numbers)}"), tmp_path)


async def load(stage: Stage, journal: Journal) -> list[Endpoint]:
    """A steady load; and some endpoints, returned, that are called once and take their time."""
    async with stage.stores() as stores:
        from_at = await stores.schedule.now() + timedelta(seconds=1)
        await fill(stores, steady_load(journal, from_at, 20))
        urls = [journal.url(f"/slow/{n}?delay_ms=3000") for n in range(SLOW)]
        slow = [calling(url, from_at + timedelta(seconds=2), 3_600_000, UNHURRIED_MS) for url in urls]
        await fill(stores, slow)
    return slow


async def finish(stage: Stage, nursery: Nursery, journal: Journal) -> Ledger:
    async with stage.stores() as stores:
        await drain(nursery, stores)
        return await read_ledger(stores, journal.entries())


def unrecorded(stage: Stage, ledger: Ledger) -> set[str]:
    """Results that a worker was told are kept, and that the database does not have."""
    acknowledged = set(stage.acknowledged_file.read_text().split())
    assert acknowledged
    return acknowledged - {run.id for run in ledger.runs if run.status in ENDED_BY_CALL}


async def test_immediate_restarts_lose_no_acknowledged_result_and_work_goes_on_by_itself(
    crash_stage: Stage,
    cluster: Cluster,
    journal: Journal,
    long_run: bool,
    seed: int,
    figures: Figures,
    pace: Pace,
) -> None:
    restarts = 20 if long_run else 3
    draw = random.Random(seed)
    gaps: list[float] = []
    await load(crash_stage, journal)
    with crash_stage.nursery() as nursery:
        workers = await start_workers(nursery, WORKERS)
        tail = Tail(journal)
        for _ in range(restarts):
            wanted = tail.grown() + draw.randint(40, 160)
            await until(lambda wanted=wanted: tail.grown() >= wanted, "work goes on")  # type: ignore[misc]  # bound now
            await asyncio.to_thread(cluster.restart, "immediate")
            gaps.append(await resume_s(tail))
        survivors = nursery.running
        ledger = await finish(crash_stage, nursery, journal)

    figures(restarts=restarts, max_resume_s=round(max(gaps), 2), **ledger.figures())
    assert survivors == workers
    assert nursery.count("database unavailable") >= restarts
    assert unrecorded(crash_stage, ledger) == set()
    assert max(gaps) <= pace.fair(RESUMES_WITHIN_S)
    assert ledger.lost() == []
    assert ledger.recorded_twice() == []
    assert ledger.ids_that_differ() == []


async def test_outage_of_the_database_is_not_taken_for_the_death_of_workers(
    crash_stage: Stage, cluster: Cluster, journal: Journal, figures: Figures
) -> None:
    """At the default settings: every lock is gone, every worker is silent for longer than a dead one, and none is."""
    stage = crash_stage.at_defaults()
    async with stage.stores() as stores:
        due_at = await stores.schedule.now() + timedelta(seconds=3)
        urls = [journal.url(f"/{number}?delay_ms=9000") for number in range(CALLS_THROUGH_OUTAGE)]
        await fill(stores, [calling(url, due_at, 3_600_000, UNHURRIED_MS) for url in urls])
    with stage.nursery() as nursery:
        await start_workers(nursery, 3)
        tail = Tail(journal)
        await until(lambda: tail.grown() == CALLS_THROUGH_OUTAGE, "all calls are in flight")
        await asyncio.to_thread(cluster.stop, "immediate")
        await asyncio.to_thread(time.sleep, SILENT_MS / 1000 + 1)
        await asyncio.to_thread(cluster.start)
        async with stage.stores() as stores:

            async def are_recorded() -> bool:
                ended = [run for run in await all_runs(stores) if run.status in ENDED_BY_CALL]
                return len(ended) == CALLS_THROUGH_OUTAGE

            await until_true(are_recorded, "the results are recorded")
            ledger = await read_ledger(stores, journal.entries())

    figures(lost_workers=nursery.count("worker lost"), **ledger.figures())
    assert nursery.count("database unavailable") > 0
    assert nursery.count("worker lost") == 0
    assert {(run.status, run.attempt) for run in ledger.runs} == {(RunStatus.SUCCESS, 1)}


async def resume_s(tail: Tail) -> float:
    """How long from now until the next delivery."""
    back_at, wanted = time.monotonic(), tail.grown() + 1
    await until(lambda: tail.grown() >= wanted, "work resumes")
    return time.monotonic() - back_at


def noticed(worker: Worker) -> bool:
    return any(line["event"] == "database unavailable" for line in worker.lines)


async def go_away(how: str, cluster: Cluster, proxy: FaultProxy) -> None:
    if how == "stopped":
        await asyncio.to_thread(cluster.stop)
    else:
        await proxy.half_open()


async def come_back(how: str, cluster: Cluster, proxy: FaultProxy) -> None:
    if how == "stopped":
        await asyncio.to_thread(cluster.start)
    else:
        proxy.cut()  # what was held back is lost, as with a machine that is gone
        await proxy.resume()


@pytest.mark.parametrize(
    ("how", "short_s"), [pytest.param("stopped", 8, id="stopped"), pytest.param("half open", 4, id="half open")]
)
async def test_an_outage_crashes_nothing_and_spins_nothing_and_results_are_recorded_afterwards(
    how: str,
    short_s: int,
    crash_stage: Stage,
    cluster: Cluster,
    journal: Journal,
    long_run: bool,
    figures: Figures,
    pace: Pace,
) -> None:
    outage_s = 60 if long_run else short_s
    slow = {each.id for each in await load(crash_stage, journal)}
    async with proxied(crash_stage) as (stage, proxy):
        with stage.nursery(lease_margin="120s") as nursery:
            workers = await start_workers(nursery, WORKERS)
            tail = Tail(journal)
            await until(lambda: sum("/slow/" in each.path for each in journal.entries()) == SLOW, "slow calls start")
            await go_away(how, cluster, proxy)
            await until(lambda: all(noticed(worker) for worker in workers), "all notice")
            before, accepted = [Vitals.of(worker.pid) for worker in workers], proxy.accepted
            await holds_for(lambda: nursery.running == workers, "nobody crashes", outage_s)
            await until(lambda: proxy.accepted > accepted, "workers try to connect")  # a connect may wait for 3 s
            after, attempts = [Vitals.of(worker.pid) for worker in workers], proxy.accepted - accepted
            await come_back(how, cluster, proxy)
            resumed_s = await resume_s(tail)
            ledger = await finish(crash_stage, nursery, journal)

    watched_s = after[0].at - before[0].at  # longer than the outage was meant to be, where others have the cores
    attempts_per_s = attempts / watched_s / WORKERS
    cpu = [now.cpu_share_since(then) for now, then in zip(after, before, strict=True)]
    growth_mb = [now.growth_mb_since(then) for now, then in zip(after, before, strict=True)]
    figures(
        outage_s=outage_s,
        resumed_s=round(resumed_s, 2),
        attempts_per_s=round(attempts_per_s, 2),
        cpu=[round(share, 3) for share in cpu],
        growth_mb=[round(grown, 1) for grown in growth_mb],
        **ledger.figures(),
    )
    assert 0 < attempts <= WORKERS * (ATTEMPTS_PER_S_MAX * watched_s + CONNECTIONS)
    assert max(cpu) <= CPU_SHARE_MAX
    assert max(growth_mb) <= GROWTH_MB_MAX
    assert resumed_s <= pace.fair(RESUMES_WITHIN_S)
    assert [(run.status, run.attempt) for run in ledger.runs if run.endpoint_id in slow] == [
        (RunStatus.SUCCESS, 1)
    ] * SLOW
    assert unrecorded(stage, ledger) == set()
    assert ledger.lost() == []
    assert ledger.recorded_twice() == []
    assert [slot for slot, times in ledger.deliveries_per_slot().items() if times > 1] == []
