"""A machine vanishes: no packet says so, neither a reset nor a goodbye. Long runs only, at the default settings.

The workers of one host lose their cable to the switch, with calls in flight. PostgreSQL closes their connections when
keepalives are not answered, and what they held is taken up by the others. When the cable is back, late results change
nothing, and the workers take part again: seen alive, woken by others, with runs of their own.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.domain.run import RunStatus
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.stores import Stores
from tests.faults.conftest import Figures
from tests.faults.ledger import read_ledger
from tests.faults.random_kills import drain, start_workers
from tests.faults.stage import Stage
from tests.faults.test_worker_deaths import assert_nothing_lost_and_nothing_twice, load, until_all_are_called
from tests.faults.worker_forker import Worker
from tests.harness.network import NETWORK, Network, why_not
from tests.harness.pace import Pace
from tests.harness.postgres import Cluster
from tests.harness.waiting import until_true
from tests.peers.journal import Journal
from tests.stores.databases import query

VANISHED_S = 15.0  # ten until the server gives the connection up, and a little for the rest
BACK_S = 15.0
ROUNDS = 5
LISTENING = "SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'listen%' AND client_addr = '{}'"


@pytest.fixture
def network(long_only: None) -> Iterator[Network]:
    if missing := why_not():
        pytest.skip(missing)
    with Network("server", "worker") as network:
        yield network


async def in_flight(stores: Stores, worker: Worker) -> int:
    endpoints = await stores.endpoints.endpoints("default", EndpointFilter(limit=1_000))
    return sum(each.is_running and f"-{worker.pid}-" in each.claimed_by for each in endpoints)


async def is_listed(stores: Stores, worker: Worker) -> bool:
    return any(f"-{worker.pid}-" in row.id for row in await stores.presence.alive())


async def test_machine_that_vanishes_is_replaced_in_fifteen_seconds_and_fenced_when_it_returns(
    network: Network, tmp_path: Path, figures: Figures, pace: Pace
) -> None:
    waits: list[float] = []
    returns: list[float] = []
    here = network.address("server")
    with network.on("server"), Cluster(fsync=True, host=here) as cluster, Journal(tmp_path / "j", host=here) as journal:
        stage = Stage(cluster.create_database("vanish"), tmp_path, {"allow_cidrs": NETWORK})
        async with stage.stores() as stores:
            with stage.nursery() as survivors:
                with network.on("worker"):
                    far = stage.nursery()
                with far:
                    await start_workers(survivors, 2)
                    (vanishing,) = await start_workers(far, 1)
                    paths = await load(stage, journal)
                    for number in range(ROUNDS):
                        await until_true(lambda: in_flight(stores, vanishing), "it has runs in flight")
                        network.pull("worker")
                        pulled_at = time.time()
                        waits.append(await until_all_are_called(journal, paths, pulled_at, 90))
                        assert not await is_listed(stores, vanishing)
                        assert vanishing.is_running
                        network.plug("worker")
                        plugged_at = time.time()
                        await until_true(lambda: is_listed(stores, vanishing), "it is seen alive again")
                        await until_true(lambda: in_flight(stores, vanishing), "it claims again")
                        returns.append(time.time() - plugged_at)
                        ((listening,),) = await query(stage.url, LISTENING.format(network.address("worker")))
                        assert listening == 1, f"round {number}: it hears what others say"
                    await drain(far, stores)
                    await drain(survivors, stores)
                    ledger = await read_ledger(stores, journal.entries())
                    lost = survivors.count("worker lost")

    figures(
        rounds=ROUNDS,
        longest_s=round(max(waits), 1),
        shortest_s=round(min(waits), 1),
        back_s=round(max(returns), 1),
        **ledger.figures(),
    )
    assert lost >= ROUNDS
    assert ledger.count(RunStatus.SUPERSEDED) > 0  # what it brought when it returned
    assert_nothing_lost_and_nothing_twice(ledger)
    assert max(waits) <= pace.fair(VANISHED_S)
    assert max(returns) <= pace.fair(BACK_S)
