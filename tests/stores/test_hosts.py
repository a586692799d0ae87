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
from mainspring.stores.postgres.url import ConnectionUrl
from mainspring.wiring.stores import open_stores


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

    with pytest.raises((StoreUnavailable, asyncpg.PostgresError), match="no host of the URL accepts writes"):
        async with open_stores(url):
            pass


def by_service(url: str, file: Path) -> str:
    """The same database by a service with several hosts, and an option; the password is in a file of its own."""
    asked = ConnectionUrl.parse(url, {})
    passwords = file.with_suffix(".pgpass")
    passwords.write_text(f"*:*:*:*:{asked.password}\n")
    passwords.chmod(0o600)
    hosts, ports = (",".join(map(str, each)) for each in zip(*asked.hosts, strict=True))
    with file.open("a") as services:
        services.write(f"[{asked.database}]\nhost={hosts}\nport={ports}\nuser={asked.user}\npassfile={passwords}\n")
        services.write(f"dbname={asked.database}\noptions=-c mainspring.mark=seen\n")
    return f"postgresql:///?service={asked.database}"


@pytest.mark.parametrize("form", ["authority", "service"])
def test_every_command_works_with_two_hosts(
    form: str,
    tmp_path: Path,
    processes: Processes,
    postgres_url: str,
    postgres_empty_url: str,
    postgres_cluster: Cluster,
) -> None:
    path = f"{find_binaries()}:{os.environ['PATH']}"
    dead = free_port()
    env = {"MAINSPRING_DATA_DIR": str(tmp_path), "PATH": path, "MAINSPRING_ALLOW_CIDRS": "127.0.0.0/8"}
    services = tmp_path / "services"
    env["PGSERVICEFILE"] = str(services)
    url = with_hosts(postgres_url, postgres_cluster, dead, postgres_cluster.port)
    url = by_service(url, services) if form == "service" else url
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
    new_url = by_service(new_url, services) if form == "service" else new_url
    new = Shell(env | {"MAINSPRING_DATABASE_URL": new_url})
    new.ok("restore", str(tmp_path / "dump"))
    assert new.json("endpoint", "list") == shell.json("endpoint", "list")
    assert new.json("endpoint", "list") != []
    if form == "authority":
        assert "••••" in new.ok("settings")
