"""The rows that ticks read and write are found by an index."""

import apsw
import asyncpg
from tests.stores.databases import file_of, is_sqlite, query
from tests.stores.flow_world import a_ticker, a_workflow, publish, start, tick
from tests.stores.world import FixedClock

from mainspring.domain.instant import to_us
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.queries import QUERIES as POSTGRES_QUERIES
from mainspring.stores.postgres.queries import as_json
from mainspring.stores.sqlite.connection import QUERIES as SQLITE_QUERIES

WAITING = 3_000


async def test_tick_finds_its_work_by_index_among_many_that_wait(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    """100,000 that wait cost nothing only if nothing walks over them."""
    workflow = await publish(stores, a_workflow({"wait": "30d"}))
    await start(stores, workflow, "x1")
    await tick(a_ticker(stores), clock)
    await query(
        store_url,
        f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {WAITING}) "
        "INSERT INTO execution SELECT 'w' || n, tenant_id, workflow, version, partition, correlation, idempotency_key, "
        "salt, status, step, ready_tick + n, number, head, outcome, error, actor, created_us, moved_us, state, "
        "ended_us FROM execution, series WHERE id = 'x1'",
    )
    await query(
        store_url,
        "INSERT INTO execution_arrival SELECT id, 'e', partition, 'event', 'go', '{}', '', '', 0, 1, 1 FROM execution",
    )
    await query(store_url, "ANALYZE")
    now_us = to_us(clock.now())
    ids = '["x1"]' if is_sqlite(store_url) else ["x1"]
    values: dict[str, tuple[object, ...]] = {
        "ready_by_time": (0, 5, 500),
        "ready_states": (ids,),
        "ready_by_arrival": (0, 1_000_000, 0, now_us, 500),
        "new_arrivals": (ids, now_us),
    }
    if is_sqlite(store_url):
        values["tick_outlook"] = (0,)
    else:
        values["outlook_and_read_clock"] = (0,)
        turn = ("x1", "waiting", "s0", 9, 3, "", "", "", "{}", None, 2_592_001)
        entry = ("x1", 3, "s0", "wait", "null", "null", 5)
        values["write_turns"] = (as_json([turn]), now_us, 0, bytes(160), as_json([entry]))

    plans = {name: await plan_of(store_url, name, given) for name, given in values.items()}

    assert [name for name, plan in plans.items() if walks_a_table(plan)] == []


async def test_those_that_run_under_a_key_are_found_without_those_that_ended_under_it(
    stores: Stores, store_url: str
) -> None:
    workflow = await publish(stores, a_workflow({"wait": "30d"}))
    await start(stores, workflow, "x1", correlation="order-7")
    await query(
        store_url,
        f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {WAITING}) "
        "INSERT INTO execution SELECT 'w' || n, tenant_id, workflow, version, partition, correlation, idempotency_key, "
        "salt, 'completed', step, NULL, number, head, outcome, error, actor, created_us, moved_us, state, n "
        "FROM execution, series WHERE id = 'x1'",
    )
    await query(store_url, "ANALYZE")

    plan = " ".join(await plan_of(store_url, "running_under", ("default", "order-7", None, 1)))

    assert "execution_by_correlation" in plan
    assert ("ended_us=?" if is_sqlite(store_url) else "(ended_us IS NULL)") in plan


async def plan_of(url: str, name: str, values: tuple[object, ...]) -> list[str]:
    if is_sqlite(url):
        file = apsw.Connection(str(file_of(url)))
        plan = [str(row[3]) for row in file.execute("EXPLAIN QUERY PLAN " + SQLITE_QUERIES[name], values)]
        file.close()
        return plan
    connection = await asyncpg.connect(url)
    plan = [str(row[0]) for row in await connection.fetch("EXPLAIN " + POSTGRES_QUERIES[name], *values)]
    await connection.close()
    return plan


def walks_a_table(plan: list[str]) -> bool:
    return any("Seq Scan" in line or line.startswith("SCAN execution") for line in plan)
