"""A PostgreSQL URL that names several hosts: every door uses the one that answers and accepts writes."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest
from tests.cli.shell import Shell
from tests.harness.addresses import free_port
from tests.harness.postgres import Cluster, find_binaries
from tests.harness.processes import Processes

from mainspring.domain.errors import StoreUnavailable
from mainspring.stores.postgres.hosts import for_writing, hosts_of, without_password
from mainspring.wiring.stores import open_stores

READ_WRITE = "target_session_attrs=read-write"


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://u:p@h1:1,h2:2/db", [("h1", 1), ("h2", 2)]),
        ("postgresql://h1,h2/db", [("h1", 5432), ("h2", 5432)]),
        ("postgresql://u@[::1]:7,h2/db", [("::1", 7), ("h2", 5432)]),
        ("postgresql:///db?host=h1,h2&port=1,2", [("h1", 1), ("h2", 2)]),
        ("postgresql:///db?host=/run/postgresql", []),
        ("postgresql://u:p%40%2C@h1/db", [("h1", 5432)]),
    ],
)
def test_hosts_of_a_url(url: str, hosts: list[tuple[str, int]]) -> None:
    assert hosts_of(url) == hosts


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("postgresql://h1,h2/db", f"postgresql://h1,h2/db?{READ_WRITE}"),
        ("postgresql://h1,h2/db?sslmode=require", f"postgresql://h1,h2/db?sslmode=require&{READ_WRITE}"),
        ("postgresql://h1,h2/db?target_session_attrs=any", "postgresql://h1,h2/db?target_session_attrs=any"),
        ("postgresql://h1/db", "postgresql://h1/db"),
    ],
)
def test_of_several_hosts_the_one_that_accepts_writes_is_asked_for(url: str, asked: str) -> None:
    assert for_writing(url) == asked


def test_password_is_taken_out_of_a_url_with_several_hosts() -> None:
    assert without_password("postgresql://u:a%40b@h1:1,h2:2/db") == ("postgresql://u@h1:1,h2:2/db", "a@b")


@contextmanager
def a_server_that_never_answers() -> Iterator[int]:
    """Its port takes connections, and no process ever accepts one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def with_hosts(url: str, cluster: Cluster, *ports: int) -> str:
    return url.replace(f"127.0.0.1:{cluster.port}", ",".join(f"127.0.0.1:{port}" for port in ports))


async def test_host_that_refuses_or_never_answers_is_passed_over(postgres_url: str, postgres_cluster: Cluster) -> None:
    with a_server_that_never_answers() as silent:
        url = with_hosts(postgres_url, postgres_cluster, free_port(), silent, postgres_cluster.port)
        async with open_stores(url) as stores:
            assert (await stores.upkeep.facts()).kind == "postgresql"
            await stores.upkeep.probe()


async def test_server_that_accepts_no_writes_is_passed_over(postgres_url: str, postgres_cluster: Cluster) -> None:
    url = with_hosts(postgres_url, postgres_cluster, postgres_cluster.port, postgres_cluster.port)
    name = postgres_url.rpartition("/")[2]
    postgres_cluster.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    with pytest.raises((StoreUnavailable, asyncpg.PostgresError), match="read-write"):
        async with open_stores(url):
            pass


def test_every_command_works_with_two_hosts(
    tmp_path: Path, processes: Processes, postgres_url: str, postgres_empty_url: str, postgres_cluster: Cluster
) -> None:
    path = f"{find_binaries()}:{os.environ['PATH']}"
    dead = free_port()
    env = {"MAINSPRING_DATA_DIR": str(tmp_path), "PATH": path, "MAINSPRING_ALLOW_CIDRS": "127.0.0.0/8"}
    url = with_hosts(postgres_url, postgres_cluster, dead, postgres_cluster.port)
    shell = Shell(env | {"MAINSPRING_DATABASE_URL": url})
    shell.add("health")
    scheduler = processes.start("scheduler", env=env | {"MAINSPRING_DATABASE_URL": url})
    scheduler.wait_for("scheduler started")
    server = processes.start("serve", env=env | {"MAINSPRING_DATABASE_URL": url, "MAINSPRING_PORT": "0"})
    server.wait_for("listening on http://")

    assert "alive" in shell("doctor").stdout
    assert scheduler.terminate() == 0
    assert server.terminate() == 0
    shell.ok("backup", str(tmp_path / "dump"))
    new_url = with_hosts(postgres_empty_url, postgres_cluster, dead, postgres_cluster.port)
    new = Shell(env | {"MAINSPRING_DATABASE_URL": new_url})
    new.ok("restore", str(tmp_path / "dump"))
    assert new.json("endpoint", "list") == shell.json("endpoint", "list")
    assert "••••" in new.ok("settings")
