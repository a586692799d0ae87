"""Statements that are on their way while the next one is made: nothing of a transaction that ends early is left."""

from collections.abc import AsyncIterator

import asyncpg
import pytest
from tests.stores.databases import empty
from tests.stores.world import FixedClock

from mainspring.domain.access.audit import AuditKeys
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.session import PostgresSession


@pytest.fixture
async def database(shared_postgres_url: str, clock: FixedClock) -> AsyncIterator[PostgresDatabase]:
    await empty(shared_postgres_url)
    opened = PostgresDatabase(shared_postgres_url, clock, pool_size=1, behind_bouncer=False, audit_keys=AuditKeys())
    yield opened
    await opened.aclose()


async def partitions(database: PostgresDatabase) -> list[int]:
    """Those that are there; also shows that the one connection is free again."""
    async with database.statement() as session:
        return [number for number in range(4) if await session.rows("partition_clock", number)]


async def test_all_is_written_where_the_block_ends(database: PostgresDatabase) -> None:
    async with database.transaction() as session, session.ahead() as writing:
        for number in range(4):
            await writing.run("add_partition", number, 0, 1_000)
        assert await writing.settle() == 1

    assert await partitions(database) == [0, 1, 2, 3]


async def write_with_a_fault(session: PostgresSession, last: int) -> None:
    async with session.ahead() as writing:
        await writing.run("add_partition", 1, 0, 1_000)
        await writing.run("add_partition", -1, 0, 1_000)
        if last:
            await writing.run("add_partition", last, 0, 1_000)


@pytest.mark.parametrize("last", [0, 2], ids=["the last statement", "a statement before the last"])
async def test_fault_is_raised_and_nothing_is_left(database: PostgresDatabase, last: int) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        async with database.transaction() as session:
            await write_with_a_fault(session, last)

    assert await partitions(database) == []


async def leave_early(session: PostgresSession) -> None:
    async with session.ahead() as writing:
        await writing.run("add_partition", 1, 0, 1_000)
        raise KeyError("made no next one")


async def test_block_that_is_left_early_leaves_nothing_under_way(database: PostgresDatabase) -> None:
    with pytest.raises(KeyError):
        async with database.transaction() as session:
            await leave_early(session)

    assert await partitions(database) == []
