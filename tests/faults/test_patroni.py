"""Patroni with etcd and HAProxy, as many installations have it: leaders are killed and switched under load.

Long runs only. Of the time until calls go on, most is Patroni's: it waits until the key of a dead leader has expired.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import Figures
from tests.faults.stage import Stage
from tests.faults.test_database_away import unrecorded
from tests.faults.test_failover import FIRST_CALL_S, promote_under_load
from tests.faults.test_worker_deaths import assert_nothing_lost_and_nothing_twice
from tests.harness.pace import Pace
from tests.harness.patroni import PatroniCluster, missing
from tests.peers.journal import Journal

ROUNDS = 3  # of a switchover and a kill each


@pytest.fixture
def cluster(long_only: None) -> Iterator[PatroniCluster]:
    if lacking := missing():
        pytest.skip(f"not installed: {', '.join(lacking)}")
    with PatroniCluster() as cluster:
        yield cluster


@pytest.mark.parametrize("way", ["haproxy", "both hosts"])
async def test_new_leader_of_patroni_is_used_and_no_acknowledged_result_is_lost(
    cluster: PatroniCluster, way: str, tmp_path: Path, journal: Journal, seed: int, figures: Figures, pace: Pace
) -> None:
    url = cluster.create_database("failover")
    stage = Stage(url if way == "haproxy" else cluster.direct_url(url), tmp_path).at_defaults()
    faults = [cluster.switch_over, cluster.kill_leader] * ROUNDS
    seen, ledger = await promote_under_load(stage, journal, seed, cluster.wait_until_safe, faults)

    lost = unrecorded(stage, ledger)
    figures(way=way, **seen.figures(), acknowledged_lost=len(lost), **ledger.figures())
    assert lost == set()
    assert_nothing_lost_and_nothing_twice(ledger)
    assert ledger.ids_that_differ() == []
    assert max(seen.first_call_s) <= pace.fair(FIRST_CALL_S)
