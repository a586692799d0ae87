"""A writer of events that is stopped inside its transaction: what follows waits for a bounded time, and it is named.

A real process opens the store at its default settings, writes an event and stops itself before it commits.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mainspring.domain.event import Event, EventType
from mainspring.stores.postgres.database import SERVER_SETTINGS, PostgresDatabase
from mainspring.wiring.stores import open_stores
from tests.faults.conftest import Figures
from tests.harness.waiting import until_true

ROOT = Path(__file__).parents[2]
STOPPED = """
import asyncio, os, signal
from mainspring.domain.event import Event, EventType
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.events import add_events

async def main():
    database = await PostgresDatabase.open(os.environ["URL"])
    async with database.transaction() as session:
        now = await session.now()
        await add_events(session, [Event(EventType.SCHEDULE_LATE, now, "default", data={"number": 1})])
        print("written", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)

asyncio.run(main())
"""
BOUND_S = 10  # idle_in_transaction_session_timeout
SLACK_S = 10  # a machine that is busy with other things


@contextmanager
def stopped_writer(url: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"URL": url, "PYTHONPATH": f"{ROOT}/src"}
    process = subprocess.Popen([sys.executable, "-c", STOPPED], env=environment, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


async def test_events_behind_a_stopped_writer_wait_for_ten_seconds_at_most_and_it_is_named(
    postgres_url: str, figures: Figures
) -> None:
    async with open_stores(postgres_url) as stores:
        with stopped_writer(postgres_url):
            began = time.monotonic()
            now = await stores.schedule.now()
            await stores.runs.add_events([Event(EventType.SCHEDULE_LATE, now, "default", data={"number": 2})])
            early = await stores.runs.events_after("", "default", 10)
            lag = await stores.upkeep.event_lag()

            async def flow() -> bool:
                return len(await stores.runs.events_after("", "default", 10)) > 0

            await until_true(flow, "the event behind the stopped writer", BOUND_S + SLACK_S)
            held_s = time.monotonic() - began
        (event,) = await stores.runs.events_after("", "default", 10)
        after = await stores.upkeep.event_lag()

    figures(held_s=round(held_s, 1))
    assert SERVER_SETTINGS["idle_in_transaction_session_timeout"] == f"{BOUND_S}s"
    assert early == []
    assert [(each.name, each.state) for each in lag.writers] == [("mainspring at 127.0.0.1", "idle in transaction")]
    assert lag.oldest_at == now
    assert held_s < BOUND_S + SLACK_S
    assert event.event.data == {"number": 2}
    assert (after.seconds, after.writers) == (0, ())


@pytest.mark.parametrize("tenant_id", [None, "default"])
async def test_transaction_behind_a_bouncer_is_bounded_too(postgres_url: str, tenant_id: str | None) -> None:
    """Connections there are not ours to set up."""
    database = await PostgresDatabase.open(postgres_url, behind_bouncer=True)
    try:
        async with database.transaction(tenant_id) as session:
            limit = await session._connection.fetchval("SHOW idle_in_transaction_session_timeout")
    finally:
        await database.aclose()

    assert limit == f"{BOUND_S}s"
