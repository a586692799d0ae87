"""What a run leaves behind on PostgreSQL: results written in place, and a schedule that stays small."""

from collections.abc import AsyncIterator

import asyncpg
import pytest
from tests.harness.postgres import as_superuser
from tests.stores.databases import multiply, query
from tests.stores.world import FixedClock, add, an_endpoint, claim, finished

from mainspring.domain.endpoint import Tenant
from mainspring.ports.stores import Stores
from mainspring.wiring.stores import open_stores

ENDPOINTS = 50
ROUNDS = 60
VACUUM_EVERY = 10  # rounds; autovacuum comes at two dead rows in a hundred


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
async def stores(postgres_url: str, clock: FixedClock) -> AsyncIterator[Stores]:
    async with open_stores(postgres_url, clock=clock) as opened:
        await opened.endpoints.put_tenant(Tenant("default", "default"))
        endpoint = an_endpoint("often run")
        await add(opened, endpoint)
        await multiply(postgres_url, endpoint, ENDPOINTS - 1)
        yield opened


async def run_all(stores: Stores, clock: FixedClock) -> None:
    claims = (await claim(stores, limit=ENDPOINTS)).claims
    assert len(claims) == ENDPOINTS
    await stores.schedule.finish([finished(each) for each in claims])
    clock.tick(minutes=1)


async def schedule_bytes(url: str) -> int:
    return int(str((await query(url, "SELECT pg_total_relation_size('schedule')"))[0][0]))


async def updates_of_runs(url: str) -> tuple[int, int]:
    """How many there were, and how many of them left the indexes alone."""
    counts = "SELECT SUM(n_tup_upd), SUM(n_tup_hot_upd) FROM pg_stat_user_tables WHERE relname LIKE 'run!_%' ESCAPE '!'"
    ((updated, hot),) = await query(url, counts)
    return int(str(updated or 0)), int(str(hot or 0))


async def test_results_of_runs_are_written_without_touching_an_index(
    stores: Stores, clock: FixedClock, postgres_url: str
) -> None:
    before = await updates_of_runs(postgres_url)
    for _ in range(10):
        await run_all(stores, clock)
    database = stores.upkeep._db  # type: ignore[attr-defined]  # its connection has the counts, and hands them on late
    async with database.statement() as session:
        await session._connection.execute("SELECT pg_stat_force_next_flush()")
    after = await updates_of_runs(postgres_url)
    updated, hot = after[0] - before[0], after[1] - before[1]

    assert updated == 10 * ENDPOINTS
    assert hot > 0.9 * updated


async def test_schedule_stays_small_while_it_is_vacuumed(stores: Stores, clock: FixedClock, postgres_url: str) -> None:
    connection = await asyncpg.connect(as_superuser(postgres_url))
    sizes = []
    for number in range(ROUNDS):
        await run_all(stores, clock)
        if number % VACUUM_EVERY == VACUUM_EVERY - 1:
            await connection.execute("VACUUM schedule")
            sizes.append(await schedule_bytes(postgres_url))
    await connection.close()

    assert max(sizes) <= 1.5 * sizes[0]


async def test_schedule_is_vacuumed_at_two_dead_rows_in_a_hundred_without_pauses(
    stores: Stores, postgres_url: str
) -> None:
    ((options,),) = await query(postgres_url, "SELECT reloptions FROM pg_class WHERE relname = 'schedule'")

    assert isinstance(options, list)
    assert {"fillfactor=70", "autovacuum_vacuum_scale_factor=0.02", "autovacuum_vacuum_cost_delay=0"} <= set(options)
