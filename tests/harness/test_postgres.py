"""The harness's PostgreSQL is real, private and gone afterwards."""

import os
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.harness.postgres import Cluster, StopMode


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    with Cluster(fsync=True, settings={"max_connections": "17"}) as cluster:
        yield cluster


async def test_fresh_database_takes_connections(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        answer = await connection.fetchval("SELECT 40 + 2")
    finally:
        await connection.close()

    assert answer == 42


def test_databases_of_two_tests_are_different(postgres_cluster: Cluster) -> None:
    postgres_cluster.create_database("left")
    postgres_cluster.create_database("right")
    postgres_cluster.execute("CREATE TABLE only_here (id int)", "left")

    assert postgres_cluster.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'only_here'", "right") == "0"


def test_clone_holds_what_its_template_holds(postgres_cluster: Cluster) -> None:
    postgres_cluster.create_database("original")
    postgres_cluster.execute("CREATE TABLE kept AS SELECT 7 AS value", "original")
    postgres_cluster.create_database("copy", template="original")

    assert postgres_cluster.execute("SELECT value FROM kept", "copy") == "7"


async def test_database_is_dropped_under_an_open_connection(postgres_cluster: Cluster) -> None:
    connection = await asyncpg.connect(postgres_cluster.create_database("occupied"))
    try:
        postgres_cluster.drop_database("occupied")
    finally:
        await connection.close()

    assert postgres_cluster.execute("SELECT count(*) FROM pg_database WHERE datname = 'occupied'") == "0"


@pytest.mark.parametrize("mode", ["fast", "immediate", "kill"])
def test_committed_rows_survive_a_restart(own_cluster: Cluster, mode: StopMode) -> None:
    pid, port = own_cluster.pid, own_cluster.port
    own_cluster.execute(f"CREATE TABLE kept_{mode} AS SELECT 7 AS value")
    own_cluster.restart(mode)

    assert own_cluster.execute(f"SELECT value FROM kept_{mode}") == "7"
    assert own_cluster.port == port
    assert own_cluster.pid != pid


def test_fsync_is_off_unless_asked_for(postgres_cluster: Cluster, own_cluster: Cluster) -> None:
    assert postgres_cluster.execute("SHOW fsync") == "off"
    assert own_cluster.execute("SHOW fsync") == "on"
    assert own_cluster.execute("SHOW synchronous_commit") == "on"


def test_settings_of_the_test_win(own_cluster: Cluster) -> None:
    assert own_cluster.execute("SHOW max_connections") == "17"


def test_nothing_is_left_after_the_end() -> None:
    with Cluster() as cluster:
        pid = cluster.pid
        folder = Path(cluster.execute("SHOW data_directory")).parent

    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_wrong_password_is_refused(postgres_cluster: Cluster) -> None:
    stranger = Cluster.__new__(Cluster)
    stranger.__dict__ = {**postgres_cluster.__dict__, "_password": "guess"}

    with pytest.raises(RuntimeError, match="password authentication failed"):
        stranger.execute("SELECT 1")


def test_names_that_are_not_plain_are_refused(postgres_cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="not plain"):
        postgres_cluster.create_database('x"; DROP DATABASE postgres; --')


def test_failing_statement_says_why(postgres_cluster: Cluster) -> None:
    with pytest.raises(RuntimeError, match="division by zero"):
        postgres_cluster.execute("SELECT 1/0")
