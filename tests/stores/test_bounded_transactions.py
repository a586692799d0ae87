"""PostgreSQL ends what stands still: also a client that was stopped between preparing a statement and executing it."""

import asyncpg
from tests.harness.waiting import until_true
from tests.stores.databases import query
from tests.stores.world import FixedClock

from mainspring.stores.postgres.database import TRANSACTION_TIMEOUT, PostgresDatabase
from mainspring.stores.postgres.queries import QUERIES

ALL_OF_THEM = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


async def test_transaction_that_stands_still_after_preparing_is_ended(postgres_url: str) -> None:
    stopped = await asyncpg.connect(postgres_url, server_settings={"idle_in_transaction_session_timeout": "100ms"})
    assert await stopped.fetchval(QUERIES["bound_transactions"], "300ms", False) == "300ms"
    await stopped.execute("BEGIN")
    await stopped.prepare("SELECT count(*) FROM execution")  # and never a word more

    async def is_gone() -> bool:
        return (stopped.get_server_pid(),) not in [tuple(row) for row in await query(postgres_url, ALL_OF_THEM)]

    assert await until_true(is_gone, "the server ends it")
    stopped.terminate()


async def test_connections_bound_their_transactions_and_migrations_do_not(postgres_url: str) -> None:
    database = await PostgresDatabase.open(postgres_url, FixedClock())
    try:
        async with database.transaction() as session:
            bounds = [await session._connection.fetchval("SHOW transaction_timeout")]
            await session.value("bound_transactions", "0", True)
            bounds.append(await session._connection.fetchval("SHOW transaction_timeout"))
    finally:
        await database.aclose()

    assert (bounds, TRANSACTION_TIMEOUT) == (["1min", "0"], "60s")
