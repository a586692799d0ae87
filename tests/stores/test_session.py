"""The session that stores are written over: the same promises from both drivers."""

import asyncio
from threading import Event

import pytest

from mainspring.ports.stores import Stores
from mainspring.stores.runs import SqlRunStore
from mainspring.stores.session import Database, Session, UniqueViolation
from mainspring.stores.sqlite.database import SqliteDatabase

KEY = ("key_1", "default", "sealed")


def database_of(stores: Stores) -> Database:
    assert isinstance(stores.runs, SqlRunStore)
    return stores.runs._db


async def test_transaction_that_raises_leaves_nothing(stores: Stores) -> None:
    database = database_of(stores)

    async def fail() -> None:
        async with database.transaction("default") as session:
            await session.run("add_signing_key", *KEY, await session.now())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    assert await stores.runs.signing_keys("default") == []


async def test_second_row_with_the_same_key_is_a_unique_violation(stores: Stores) -> None:
    database = database_of(stores)
    async with database.transaction("default") as session:
        await session.run("add_signing_key", *KEY, await session.now())

    with pytest.raises(UniqueViolation):
        async with database.transaction("default") as session:
            await session.run("add_signing_key", *KEY, await session.now())


async def test_instants_come_back_as_they_were_written(stores: Stores) -> None:
    database = database_of(stores)
    async with database.transaction("default") as session:
        now = await session.now()
        await session.run("add_signing_key", *KEY, now)

    assert await stores.runs.signing_keys("default") == [("key_1", now)]


async def test_reading_waits_for_no_writer(stores: Stores) -> None:
    """Nor does it see what is not committed yet."""
    database = database_of(stores)
    written, seen = Event(), Event()

    async def write(session: Session) -> None:
        await session.run("add_signing_key", *KEY, await session.now())
        written.set()
        if isinstance(database, SqliteDatabase):
            assert seen.wait(5)  # in the writer's thread
        else:
            await asyncio.to_thread(seen.wait, 5)

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        tasks.create_task(database.run_long(write, "default"))
        await asyncio.to_thread(written.wait, 5)
        keys = await stores.runs.signing_keys("default")
        seen.set()

    assert keys == []
    assert len(await stores.runs.signing_keys("default")) == 1


async def test_work_that_raises_leaves_nothing(stores: Stores) -> None:
    database = database_of(stores)

    async def fail(session: Session) -> None:
        await session.run("add_signing_key", *KEY, await session.now())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.run_long(fail, "default")

    assert await stores.runs.signing_keys("default") == []


async def test_read_gives_what_its_work_returns(stores: Stores) -> None:
    database = database_of(stores)

    async def count_twice(session: Session) -> list[int]:
        return [len(await session.rows("signing_keys", "default")) for _ in range(2)]

    assert await database.run_read(count_twice, "default") == [0, 0]


async def test_nothing_else_may_be_awaited_by_work_on_sqlite(stores: Stores) -> None:
    database = database_of(stores)
    if not isinstance(database, SqliteDatabase):
        pytest.skip("a transaction on PostgreSQL locks rows, not the database")

    async def wait_inside(session: Session) -> None:
        await session.run("add_signing_key", *KEY, await session.now())
        await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="something was awaited inside a transaction"):
        await database.run_long(wait_inside, "default")

    assert await stores.runs.signing_keys("default") == []


async def test_nothing_else_may_be_awaited_while_sqlite_is_locked(stores: Stores) -> None:
    database = database_of(stores)
    if not isinstance(database, SqliteDatabase):
        pytest.skip("a transaction on PostgreSQL locks rows, not the database")

    async def wait_inside() -> None:
        async with database.transaction("default") as session:
            await session.run("add_signing_key", *KEY, await session.now())
            await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="something was awaited inside a transaction"):
        await wait_inside()

    assert await stores.runs.signing_keys("default") == []
