"""`doctor` on PostgreSQL while a transaction that wrote events keeps their readers waiting."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg

from mainspring.cli.doctor import ERROR, OK
from tests.cli.shell import Shell
from tests.harness.postgres import as_superuser

INSERT = "INSERT INTO event (tenant_id, at, events) VALUES ('default', now() - interval '90 s', '[]')"


async def findings(folder: Path, url: str, beside: Callable[[asyncpg.Connection], Awaitable[object]]) -> list[str]:
    """The level, the message and the way out of `doctor` about events, with this beside an event 90 s old."""
    shell = Shell({"MAINSPRING_DATA_DIR": str(folder), "MAINSPRING_DATABASE_URL": url})
    first = await asyncpg.connect(url, server_settings={"application_name": "a script", "mainspring.tenant": "*"})
    second = await asyncpg.connect(as_superuser(url))
    try:
        await beside(first)
        await second.execute(INSERT)
        said = await asyncio.to_thread(shell, "doctor", "-o", "json")
    finally:
        pid = first.get_server_pid()
        await first.close()
        await second.close()
    (found,) = [each for each in json.loads(said.stdout) if each["check"] == "events"]
    return [str(found[part]).replace(str(pid), "PID") for part in ("level", "message", "way_out")]


async def test_doctor_names_the_process_that_holds_events_back_and_how_to_end_it(
    tmp_path: Path, postgres_url: str
) -> None:
    level, message, way_out = await findings(tmp_path, postgres_url, lambda their: their.execute(f"BEGIN; {INSERT}"))

    assert level == ERROR
    assert message.startswith("rules, alerts, webhooks and event streams are 1m3")
    assert " behind: process PID (a script at 127.0.0.1, idle in transaction for " in message
    assert message.endswith(") wrote events and has not committed")
    assert way_out == "end the transaction in the database: SELECT pg_terminate_backend(PID)"


async def test_doctor_names_the_prepared_transaction_that_holds_events_back(tmp_path: Path, postgres_url: str) -> None:
    name = f"left open {os.getpid()}"

    async def prepare(their: asyncpg.Connection) -> None:
        await their.execute(f"BEGIN; {INSERT}; PREPARE TRANSACTION '{name}'")

    try:
        level, message, way_out = await findings(tmp_path, postgres_url, prepare)
    finally:
        connection = await asyncpg.connect(as_superuser(postgres_url))
        await connection.execute(f"ROLLBACK PREPARED '{name}'")
        await connection.close()

    assert level == ERROR
    assert f"the prepared transaction '{name}' wrote events and has not committed" in message
    assert way_out == f"end the transaction in the database: ROLLBACK PREPARED '{name}'"


async def test_doctor_names_the_process_of_another_user_as_far_as_it_may_see_it(
    tmp_path: Path, postgres_url: str
) -> None:
    other = await asyncpg.connect(as_superuser(postgres_url), server_settings={"application_name": "psql"})
    pid = other.get_server_pid()
    try:
        _, message, way_out = await findings(tmp_path, postgres_url, lambda _: other.execute(f"BEGIN; {INSERT}"))
    finally:
        await other.close()

    assert message.endswith(f"process {pid} (psql) wrote events and has not committed")
    assert way_out.endswith(f"pg_terminate_backend({pid})")


async def test_doctor_passes_over_transactions_that_wrote_no_event(tmp_path: Path, postgres_url: str) -> None:
    opened = "BEGIN; SELECT pg_current_xact_id()"

    level, message, _ = await findings(tmp_path, postgres_url, lambda their: their.execute(opened))

    assert (level, message) == (OK, "readers see every committed event")
