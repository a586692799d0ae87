"""`/readyz` of a real `serve` says 503 whenever nothing can be claimed or recorded, and 200 when it can again."""

import asyncio
import json
import resource
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import asyncpg
import pytest

from mainspring.ports.stores import Stores
from tests.harness.postgres import Cluster, as_superuser
from tests.harness.processes import Process, Processes
from tests.harness.waiting import until, wait_until
from tests.stores.databases import literal, query
from tests.stores.world import START


def serve(processes: Processes, folder: Path, url: str = "") -> tuple[Process, str]:
    env = {"MAINSPRING_DATA_DIR": str(folder), "MAINSPRING_PORT": "0"}
    server = processes.start("serve", env=env | ({"MAINSPRING_DATABASE_URL": url} if url else {}))
    return server, server.wait_for("listening on http://").rpartition(" ")[2]


def ready(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=30) as answer:
            return answer.status, json.loads(answer.read())["checks"]["database"]
    except urllib.error.HTTPError as answer:
        return answer.code, json.loads(answer.read())["checks"]["database"]


def wait_for_status(url: str, status: int) -> str:
    return wait_until(lambda: found[1] if (found := ready(url))[0] == status else "", f"/readyz answers {status}")


@contextmanager
def locked(file: Path) -> Iterator[None]:
    other = apsw.Connection(str(file))
    other.set_busy_timeout(10_000)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


@contextmanager
def without_room(server: Process, file: Path) -> Iterator[None]:
    """No file of the process may grow: its writes fail as on a full disk."""
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextmanager
def with_an_old_schema(file: Path) -> Iterator[None]:
    database = apsw.Connection(str(file))
    database.set_busy_timeout(10_000)
    (row,) = database.execute("SELECT number, name, applied_at FROM schema_migration ORDER BY number DESC LIMIT 1")
    database.execute("DELETE FROM schema_migration WHERE number = ?", (row[0],))
    try:
        yield
    finally:
        database.execute("INSERT INTO schema_migration VALUES (?, ?, ?)", row)
        database.close()


Fault = Callable[[Process, Path], object]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda server, file: locked(file), "did not accept a write within 3 s"),
        (without_room, "cannot be used now"),
        (lambda server, file: with_an_old_schema(file), "run `mainspring migrate`"),
    ],
    ids=["file locked", "disk full", "schema too old"],
)
def test_sqlite_that_cannot_be_written_is_not_ready(
    fault: Fault, reason: str, processes: Processes, tmp_path: Path
) -> None:
    server, url = serve(processes, tmp_path)
    wait_for_status(url, 200)
    with fault(server, tmp_path / "mainspring.db"):  # type: ignore[attr-defined]  # a context manager
        why = wait_for_status(url, 503)

    assert reason in why
    wait_for_status(url, 200)
    assert server.terminate() == 0


async def test_postgres_with_a_locked_table_is_not_ready(
    processes: Processes, tmp_path: Path, postgres_url: str
) -> None:
    _, url = serve(processes, tmp_path, postgres_url)
    other = await asyncpg.connect(as_superuser(postgres_url))
    for table in ("schedule", "run", "event"):
        await until(lambda: ready(url)[0] == 200, f"ready before {table} is locked")
        async with other.transaction():
            await other.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
            await until(lambda: ready(url)[0] == 503, f"not ready while {table} is locked")
    await other.close()

    await until(lambda: ready(url)[0] == 200, "ready again")


def test_postgres_that_is_read_only_is_not_ready(
    processes: Processes, tmp_path: Path, postgres_url: str, postgres_cluster: Cluster
) -> None:
    _, url = serve(processes, tmp_path, postgres_url)
    wait_for_status(url, 200)
    name = postgres_url.rpartition("/")[2]
    sessions = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    postgres_cluster.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    postgres_cluster.execute(sessions)

    wait_until(lambda: "read-only" in ready(url)[1], "the reason")
    postgres_cluster.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    postgres_cluster.execute(sessions)
    wait_for_status(url, 200)


async def test_postgres_with_an_old_schema_is_not_ready(
    processes: Processes, tmp_path: Path, postgres_url: str
) -> None:
    _, url = serve(processes, tmp_path, postgres_url)
    wait_for_status(url, 200)
    newest = "(SELECT max(number) FROM schema_migration)"
    await query(postgres_url, f"UPDATE schema_migration SET number = -number WHERE number = {newest}")

    assert "run `mainspring migrate`" in wait_for_status(url, 503)
    await query(postgres_url, "UPDATE schema_migration SET number = -number WHERE number < 0")
    wait_for_status(url, 200)


@pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)
async def test_old_worker_that_is_restarted_after_a_migration_says_what_to_do(
    store_url: str, stores: Stores, processes: Processes, tmp_path: Path
) -> None:
    at = literal(store_url, START)
    await query(store_url, f"INSERT INTO schema_migration (number, name, applied_at) VALUES (999, 'later', {at})")
    env = {"MAINSPRING_DATA_DIR": str(tmp_path), "MAINSPRING_DATABASE_URL": store_url}
    try:
        worker = processes.start("scheduler", env=env)
        assert await asyncio.to_thread(worker.wait) == 78
    finally:
        await query(store_url, "DELETE FROM schema_migration WHERE number = 999")

    assert "has schema 999, newer than this program knows; run the newer version" in worker.output
