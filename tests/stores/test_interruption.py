"""Transactions that are cut short: by a cancelled task, by a lock that another process holds."""

import asyncio
import threading
from pathlib import Path

import apsw
import pytest
from tests.harness.waiting import until_true
from tests.stores.databases import is_sqlite, locked, query
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    archived,
    change,
    claim,
    finished,
    get,
    get_run,
    told,
)

from mainspring.domain.run import RunStatus
from mainspring.ports.stores import Stores
from mainspring.stores.sqlite.database import SqliteDatabase


async def begun(url: str) -> None:
    """Until whoever was started waits for a lock; on SQLite it does from its first step on."""
    await asyncio.sleep(0)
    if not is_sqlite(url):

        async def is_waiting() -> bool:
            return bool(await query(url, "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))

        await until_true(is_waiting, "a connection that waits for a lock")


async def test_change_that_is_cancelled_while_it_waits_for_a_lock_leaves_the_store_usable(
    stores: Stores, store_url: str
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    async with locked(store_url, endpoint):
        waiting = asyncio.create_task(change(stores, endpoint, archived()))
        await begun(store_url)
        waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    async with asyncio.timeout(60):
        await change(stores, endpoint, archived())
    assert (await get(stores, endpoint)).archived_at == START


async def test_change_that_is_cancelled_leaves_other_processes_free_to_write(
    stores: Stores, other_stores: Stores, store_url: str
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    async with locked(store_url, endpoint):
        waiting = asyncio.create_task(change(stores, endpoint, archived()))
        await begun(store_url)
        waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    async with asyncio.timeout(60):
        await change(other_stores, endpoint, archived())
    assert (await get(other_stores, endpoint)).archived_at == START


async def test_change_waits_for_a_lock_that_is_soon_given_back(stores: Stores, store_url: str) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    async with locked(store_url, endpoint):
        waiting = asyncio.create_task(change(stores, endpoint, archived()))
        await begun(store_url)

    assert (await waiting).archived_at == START


async def test_write_that_waits_for_another_process_keeps_it_from_nothing_while_its_own_loop_is_busy(
    tmp_path: Path,
) -> None:
    database = SqliteDatabase(str(tmp_path / "mainspring.db"), FixedClock())
    neighbour = apsw.Connection(database.path)
    neighbour.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(database.write(lambda db: db.value("any_rule")))
    await asyncio.sleep(0)
    neighbour.execute("COMMIT")

    for _ in range(100):  # none of them lets our loop have a turn
        neighbour.execute("BEGIN IMMEDIATE; COMMIT")
        threading.Event().wait(0.005)

    await waiting
    neighbour.close()
    await database.aclose()


async def test_finish_that_is_cancelled_happened_wholly_or_not_at_all(stores: Stores) -> None:
    await add(stores, *[an_endpoint() for _ in range(20)])
    outcomes: set[tuple[bool, RunStatus, tuple[str, ...]]] = set()
    for steps, each in enumerate((await claim(stores)).claims):
        finishing = asyncio.create_task(stores.schedule.finish([finished(each)]))
        for _ in range(steps):
            await asyncio.sleep(0)
        finishing.cancel()
        await asyncio.wait([finishing])

        endpoint, run = await get(stores, each.endpoint), await get_run(stores, each)
        told_of = [event.type.value for event in await told(stores) if event.run_id == each.run_id]
        outcomes.add((endpoint.is_running, run.status, tuple(told_of)))

    assert outcomes <= {
        (True, RunStatus.RUNNING, ("run.started",)),
        (False, RunStatus.SUCCESS, ("run.started", "run.finished")),
    }


async def test_read_that_is_cancelled_while_its_database_is_closed_ends_as_cancelled(tmp_path: Path) -> None:
    """Another exception in its place would be one failed round of a worker, which then would never end."""
    database = SqliteDatabase(str(tmp_path / "mainspring.db"), FixedClock())
    is_open = asyncio.Event()

    async def read() -> None:
        async with database.reading():
            is_open.set()
            await asyncio.Event().wait()

    reading = asyncio.create_task(read())
    await is_open.wait()
    await database.aclose()
    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
