"""A standby is promoted under load, again and again, at the default settings: the same processes go on.

With a synchronous standby, every result that a worker was told is stored is on the new primary. With an asynchronous
one, what the standby had not received is lost: counted here, and called again under the same slot id.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.faults.conftest import Figures
from tests.faults.ledger import Ledger, read_ledger
from tests.faults.random_kills import Tail, drain, start_workers
from tests.faults.stage import Stage
from tests.faults.test_database_away import unrecorded
from tests.faults.test_readiness import serve, wait_for_status
from tests.faults.test_worker_deaths import assert_nothing_lost_and_nothing_twice, load, until_all_are_called
from tests.harness.pace import Pace
from tests.harness.postgres import StopMode
from tests.harness.processes import Processes
from tests.harness.proxy import FaultProxy
from tests.harness.standby import Pair
from tests.harness.waiting import until
from tests.peers.journal import Journal

WORKERS = 3
FIRST_CALL_S = 5.0
MODES: tuple[StopMode, ...] = ("immediate", "kill", "fast")  # power is cut, out of memory, a planned switchover


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with Pair(synchronous=request.param == "synchronous") as pair:
        yield pair


synchronous = pytest.mark.parametrize("pair", ["synchronous"], indirect=True)
asynchronous = pytest.mark.parametrize("pair", ["asynchronous"], indirect=True)


class Promotions:
    """What was measured, in seconds after the standby was told to take over."""

    def __init__(self) -> None:
        self.first_call_s: list[float] = []
        self.every_endpoint_s: list[float] = []
        self.longest_pause_s = 0.0  # without any call, from before the primary failed

    def figures(self) -> dict[str, object]:
        calls, endpoints = sorted(self.first_call_s), sorted(self.every_endpoint_s)
        return {
            "promotions": len(calls),
            "first_call_s": (round(calls[len(calls) // 2], 2), round(calls[-1], 2)),
            "every_endpoint_s": (round(endpoints[len(endpoints) // 2], 1), round(endpoints[-1], 1)),
            "longest_pause_s": round(self.longest_pause_s, 1),
        }


async def promote_under_load(
    stage: Stage, journal: Journal, seed: int, prepare: Callable[[], None], promotions: Sequence[Callable[[], float]]
) -> tuple[Promotions, Ledger]:
    """Prepare and fail over, again and again; each promotion says when the new primary was told."""
    draw = random.Random(seed)
    seen = Promotions()
    with stage.nursery() as nursery:
        workers = await start_workers(nursery, WORKERS)
        paths = await load(stage, journal)
        tail = Tail(journal)
        for promote in promotions:
            await asyncio.to_thread(prepare)
            wanted = tail.grown() + draw.randint(20, 60)
            await until(lambda wanted=wanted: tail.grown() >= wanted, "work goes on")  # type: ignore[misc]  # bound now
            told_at = await asyncio.to_thread(promote)
            called = await until(lambda at=told_at: [e.at for e in journal.entries() if e.at > at], "a call")  # type: ignore[misc]  # bound now
            seen.first_call_s.append(called[0] - told_at)
            seen.every_endpoint_s.append(await until_all_are_called(journal, paths, told_at, 120))
        survivors = nursery.running
        async with stage.stores() as stores:
            await drain(nursery, stores)
            ledger = await read_ledger(stores, journal.entries())
    assert survivors == workers
    assert nursery.count("database unavailable") >= len(promotions)
    seen.longest_pause_s = max(after.at - before.at for before, after in pairwise(ledger.entries))
    return seen, ledger


def failures(pair: Pair, count: int) -> list[Callable[[], float]]:
    return [partial(pair.fail_over, MODES[number % len(MODES)]) for number in range(count)]


@synchronous
def test_doctor_and_readyz_follow_the_primary(pair: Pair, tmp_path: Path, processes: Processes) -> None:
    url = pair.create_database("failover")
    shell = Shell({"MAINSPRING_DATABASE_URL": url, "MAINSPRING_DATA_DIR": str(tmp_path)})
    first, second = (f"127.0.0.1:{each.port}" for each in (pair.primary, pair.standby))
    server, web = serve(processes, tmp_path, url)
    wait_for_status(web, 200)
    assert f"{first} primary, {second} standby; commits wait for a standby" in shell("doctor").stdout

    pair.primary.stop("immediate")
    wait_for_status(web, 503)
    pair.primary, pair.standby = pair.standby, pair.primary
    pair.primary.promote()

    wait_for_status(web, 200)
    assert f"{first} unreachable, {second} primary" in shell("doctor").stdout
    pair.standby.start()  # not rewound: what an operator must not do
    assert f"2 hosts accept writes: {first} primary, {second} primary" in shell("doctor").stdout
    assert server.is_running


@asynchronous
async def test_connections_to_a_primary_that_was_made_read_only_are_given_up(
    pair: Pair, tmp_path: Path, processes: Processes
) -> None:
    """Some tools fence so. Its connections stay open, and nothing else would lead to the new primary."""
    url = pair.create_database("failover")
    _, web = serve(processes, tmp_path, url)
    await asyncio.to_thread(wait_for_status, web, 200)
    pair.primary.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    pair.primary.execute("SELECT pg_reload_conf()")
    await asyncio.to_thread(wait_for_status, web, 503)
    pair.standby.promote()
    await asyncio.to_thread(wait_for_status, web, 200)

    listening = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'failover' AND query LIKE 'LISTEN%'"
    await until(lambda: pair.standby.execute(listening) == "1", "the new primary is listened to")


@synchronous
async def test_promotion_of_a_synchronous_standby_loses_no_acknowledged_result(
    pair: Pair, tmp_path: Path, journal: Journal, long_run: bool, seed: int, figures: Figures, pace: Pace
) -> None:
    promotions = 50 if long_run else 2
    stage = Stage(pair.create_database("failover"), tmp_path).at_defaults()
    seen, ledger = await promote_under_load(stage, journal, seed, pair.bring_back, failures(pair, promotions))

    unacknowledged = unrecorded(stage, ledger)
    figures(**seen.figures(), acknowledged_lost=len(unacknowledged), **ledger.figures())
    assert unacknowledged == set()
    assert_nothing_lost_and_nothing_twice(ledger)
    assert ledger.ids_that_differ() == []
    assert max(seen.first_call_s) <= pace.fair(FIRST_CALL_S)


@asynchronous
async def test_promotion_of_a_standby_that_lags_loses_what_it_had_not_received(
    pair: Pair, tmp_path: Path, journal: Journal, seed: int, figures: Figures, pace: Pace
) -> None:
    """The negative control of the test above; and even so nothing is recorded twice, and the slots run again."""
    stage = Stage(pair.create_database("failover"), tmp_path).at_defaults()
    seen, ledger = await promote_under_load(stage, journal, seed, pair.cut, failures(pair, 1))

    lost = unrecorded(stage, ledger)
    figures(**seen.figures(), acknowledged_lost=len(lost), **ledger.figures())
    assert len(lost) >= 10
    assert_nothing_lost_and_nothing_twice(ledger)
    assert ledger.ids_that_differ() == []
    assert max(seen.first_call_s) <= pace.fair(FIRST_CALL_S)
    assert max(seen.every_endpoint_s) <= pace.fair(FIRST_CALL_S)


@asynchronous
async def test_promotion_of_an_asynchronous_standby_loses_little(
    long_only: None, pair: Pair, tmp_path: Path, journal: Journal, seed: int, figures: Figures, pace: Pace
) -> None:
    stage = Stage(pair.create_database("failover"), tmp_path).at_defaults()
    seen, ledger = await promote_under_load(stage, journal, seed, pair.bring_back, failures(pair, 50))

    figures(**seen.figures(), acknowledged_lost=len(unrecorded(stage, ledger)), **ledger.figures())
    assert_nothing_lost_and_nothing_twice(ledger)
    assert ledger.ids_that_differ() == []
    assert max(seen.first_call_s) <= pace.fair(FIRST_CALL_S)


@asynchronous
async def test_primary_whose_machine_vanishes_is_replaced_within_five_seconds_of_the_promotion(
    long_only: None, pair: Pair, tmp_path: Path, journal: Journal, figures: Figures, pace: Pace
) -> None:
    """Its address takes no connection and open ones say nothing: statements have to time out first."""
    url = pair.create_database("failover")
    async with FaultProxy(pair.primary.host, pair.primary.port) as proxy:
        stage = Stage(url.replace(f":{pair.primary.port},", f":{proxy.port},"), tmp_path).at_defaults()
        with stage.nursery() as nursery:
            workers = await start_workers(nursery, WORKERS)
            paths = await load(stage, journal)
            await proxy.black_hole()
            vanished_at = time.time()
            await until(lambda: nursery.count("database unavailable") >= WORKERS, "all workers notice", 120)
            noticed_s = time.time() - vanished_at
            told_at = await asyncio.to_thread(pair.fail_over, "immediate")
            called = await until(lambda: [e.at for e in journal.entries() if e.at > told_at], "a call")
            every_endpoint_s = await until_all_are_called(journal, paths, told_at, 120)
            assert nursery.running == workers

    figures(noticed_s=round(noticed_s, 1), first_call_s=round(called[0] - told_at, 2), every=round(every_endpoint_s, 1))
    assert called[0] - told_at <= pace.fair(FIRST_CALL_S)
