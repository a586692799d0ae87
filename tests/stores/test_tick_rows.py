"""What lies in the rows that ticks read and write: carried over from older schemas, and found by an index."""

from pathlib import Path

import apsw
import asyncpg
import pytest
from tests.stores.databases import file_of, is_sqlite, query
from tests.stores.flow_world import SALT, a_ticker, a_workflow, publish, start, tick
from tests.stores.world import FixedClock

from mainspring.domain.instant import to_us
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.queries import QUERIES as POSTGRES_QUERIES
from mainspring.stores.postgres.queries import as_json
from mainspring.stores.queries import migrations
from mainspring.stores.sqlite.connection import QUERIES as SQLITE_QUERIES
from mainspring.stores.workflow_rows import text_of
from mainspring.wiring.stores import open_stores
from mainspring.workflow.audit import seal, verify
from mainspring.workflow.model import EntryDraft, ExecutionPhase, ExecutionState, Status

WAITING = 3_000


@pytest.fixture(params=["sqlite", "postgres"])
def older_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/older.db"
    return str(request.getfixturevalue("postgres_empty_url"))


async def script(url: str, sql: str) -> None:
    if is_sqlite(url):
        file = apsw.Connection(str(file_of(url)))
        file.execute(sql)
        file.close()
    else:
        connection = await asyncpg.connect(url)
        await connection.execute(sql)
        await connection.close()


async def migrate_to(url: str, newest: int) -> None:
    kind, queries = ("sqlite", SQLITE_QUERIES) if is_sqlite(url) else ("postgres", POSTGRES_QUERIES)
    at = "0" if is_sqlite(url) else "'2026-01-01Z'"
    await script(url, queries["create_migration_table"])
    for number, name, text in migrations(f"mainspring.stores.{kind}"):
        if number <= newest:
            await script(url, text)
            await script(url, f"INSERT INTO schema_migration VALUES ({number}, '{name}', {at})")


async def test_log_and_queue_of_an_older_schema_are_carried_over(older_url: str, clock: FixedClock) -> None:
    await migrate_to(older_url, 7)
    drafts = [
        EntryDraft(0, "s0", "start", {"n": 1}, None, ""),
        EntryDraft(0, "s0", "wait", None, {"until_tick": 5}, "c0" * 32),
    ]
    entries = seal("x1", SALT, 0, "", drafts)
    state = ExecutionState(
        "x1", SALT, "flow", 1, {}, ExecutionPhase.TIME, step="s0", visit=1, wake_tick=5, number=2, head=entries[-1].hash
    )
    await script(
        older_url,
        f"INSERT INTO execution VALUES ('x1', 'default', 'flow', 1, 0, '', NULL, '{SALT}', 'waiting', 's0', 5, 2, "
        f"'{state.head}', '', '', 'ada', 0, 0, '{text_of(state)}')",
    )
    for entry in entries:
        assert entry.input is not None
        assert entry.output is not None
        await script(
            older_url,
            f"INSERT INTO execution_entry VALUES ('x1', {entry.number}, {entry.tick}, 's0', '{entry.action}', "
            f"'{entry.input_hash}', '{entry.output_hash}', '{entry.context}', '{entry.previous}', '{entry.hash}', "
            f"'{entry.input.decode()}', '{entry.output.decode()}')",
        )

    async with open_stores(older_url, clock=clock) as stores:
        await publish(stores, a_workflow({"wait": "5s"}, {"end": "done"}))
        await stores.flows.workflows.clock(0, 1_000)
        await tick(a_ticker(stores), clock, 6)
        log = await stores.flows.logs.entries("default", "x1", 0, 10)
        found = await stores.flows.workflows.execution("default", "x1")

    assert log[:2] == entries
    assert verify("x1", SALT, log).valid
    assert found is not None
    assert found.status is Status.COMPLETED


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
