"""`doctor` on PostgreSQL when old versions of rows cannot be removed."""

import asyncio
import json
from pathlib import Path
from typing import cast

import asyncpg
import pytest

from mainspring.cli import doctor_checks
from mainspring.cli.doctor import WARNING
from mainspring.domain.endpoint import Tenant
from mainspring.wiring.stores import open_stores
from tests.cli.shell import Shell
from tests.harness.postgres import as_superuser
from tests.stores.databases import multiply
from tests.stores.world import FixedClock, add, an_endpoint

ENDPOINTS = 1_000
VERSIONS = 12  # of each: more than 10,000 dead rows


async def dead_rows(folder: Path, url: str) -> dict[str, str]:
    """What `doctor` says after every endpoint was updated often; autovacuum is off in the tests."""
    async with open_stores(url, clock=FixedClock()) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        endpoint = an_endpoint("busy")
        await add(stores, endpoint)
    await multiply(url, endpoint, ENDPOINTS - 1)
    connection = await asyncpg.connect(as_superuser(url))
    for _ in range(VERSIONS):
        await connection.execute("UPDATE schedule SET next_run_at = next_run_at + interval '1 s'")
    await connection.execute("SELECT pg_stat_force_next_flush()")
    await connection.close()
    shell = Shell({"MAINSPRING_DATA_DIR": str(folder), "MAINSPRING_DATABASE_URL": url})
    said = await asyncio.to_thread(shell, "doctor", "-o", "json")
    (found,) = [each for each in json.loads(said.stdout) if each["check"] == "dead rows"]
    assert found["level"] == WARNING
    return cast(dict[str, str], found)


async def test_doctor_names_the_transaction_that_keeps_dead_rows(
    tmp_path: Path, postgres_empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_checks, "OPEN_S_MAX", 0)
    other = await asyncpg.connect(postgres_empty_url, server_settings={"application_name": "report"})
    await other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    pid = other.get_server_pid()
    try:
        found = await dead_rows(tmp_path, postgres_empty_url)
    finally:
        await other.close()

    assert "dead rows for 1,000 endpoints make queries for due endpoints slow: process" in found["message"]
    assert f"process {pid} (report at 127.0.0.1, idle in transaction for " in found["message"]
    assert found["message"].endswith(") keeps them")
    assert found["way_out"] == f"end the transaction in the database: SELECT pg_terminate_backend({pid})"


async def test_doctor_says_where_to_look_when_it_sees_no_transaction_that_keeps_dead_rows(
    tmp_path: Path, postgres_empty_url: str
) -> None:
    found = await dead_rows(tmp_path, postgres_empty_url)

    assert found["message"].endswith("dead rows for 1,000 endpoints make queries for due endpoints slow")
    assert found["way_out"].startswith("switch autovacuum on and run VACUUM schedule; if they stay, ")
