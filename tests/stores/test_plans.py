"""How databases go about what is done often, and what must not grow: by index, behind row-level security too."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest
from tests.stores.databases import multiply, query
from tests.stores.world import add, an_endpoint, claim, finished

from mainspring.ports.filters import EndpointListFilter
from mainspring.ports.stores import Stores
from mainspring.stores.lists import SqlListStore, page_query
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.queries import QUERIES
from mainspring.stores.postgres.schedule import PostgresSchedule
from mainspring.stores.postgres.session import PostgresSession
from mainspring.stores.sqlite import connection as sqlite
from mainspring.stores.sqlite.database import SqliteDatabase

NOW = datetime(2025, 1, 1, tzinfo=UTC)
AFTER = ("endpoint 5", "ep_5")


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
async def test_functions_that_a_claim_calls_are_planned_once(stores: Stores, store_url: str) -> None:
    """Before PostgreSQL 18, a function in SQL that is not part of its caller's plan is planned at every call."""
    called = "'claims_fit', 'tenant_room', 'cap_of_host', 'mark_event_writer'"
    languages = await query(
        store_url,
        f"SELECT lanname, COUNT(*) FROM pg_proc JOIN pg_language AS l ON l.oid = prolang "
        f"WHERE proname IN ({called}) GROUP BY 1",
    )

    assert [tuple(row) for row in languages] == [("plpgsql", 4)]


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("rows", [800, 1_000_000])
async def test_claims_and_finishes_read_no_table_as_a_whole(
    stores: Stores, store_url: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: dict[str, str] = {}

    def explaining(method: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def explain(session: PostgresSession, query: str, *values: object) -> object:
            lines = await session._connection.fetch("EXPLAIN " + QUERIES[query], *values)
            plans[query] = "\n".join(str(line[0]) for line in lines)
            return await method(session, query, *values)

        return explain

    for method in ("rows", "run", "value"):
        monkeypatch.setattr(PostgresSession, method, explaining(getattr(PostgresSession, method)))
    for number in range(3):
        await add(stores, an_endpoint(f"endpoint {number}"))
    size = f"reltuples = {rows}, relpages = 1"  # so the planner believes
    await query(store_url, f"UPDATE pg_class SET {size} WHERE relname = 'schedule' OR relname LIKE 'run_20%0000'")
    batch = await claim(stores)
    await stores.schedule.finish([finished(each) for each in batch.claims])

    assert isinstance(stores.schedule, PostgresSchedule)
    assert "Seq Scan on schedule" not in plans["due_and_read_clock"], plans["due_and_read_clock"]
    assert "schedule_upcoming" not in plans["due_and_read_clock"], plans["due_and_read_clock"]
    for name, reads in {"write_claims_and_read_clock": ["schedule"], "write_results": ["schedule", "run"]}.items():
        assert "Seq Scan" not in plans[name], plans[name]
        assert not re.search(r"Index Scan .*\n(?! *Index Cond:)", plans[name]), plans[name]
        for table in reads:
            assert re.search(rf"Index Scan using {table}\w*_pkey on {table}.*\n *Index Cond: \(.*id = ", plans[name]), (
                plans[name]
            )


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
@pytest.mark.parametrize("rows", [800, 50_000, 1_000_000])
async def test_looks_are_planned_once(stores: Stores, store_url: str, rows: int) -> None:
    """A plan takes longer than a look. PostgreSQL plans anew as long as it expects to gain by the values."""
    for number in range(3):
        await add(stores, an_endpoint(f"endpoint {number}"))
    await query(
        store_url, f"UPDATE pg_class SET reltuples = {rows}, relpages = {rows // 20} WHERE relname = 'schedule'"
    )
    for _ in range(20):
        await claim(stores)

    assert isinstance(stores.schedule, PostgresSchedule)
    async with stores.schedule._db._lent() as connection:
        counts = await connection.fetch(
            "SELECT custom_plans, generic_plans FROM pg_prepared_statements WHERE statement = $1",
            QUERIES["due_and_read_clock"],
        )
    assert [tuple(each) for each in counts] == [(5, 15)]


@pytest.mark.parametrize(
    ("wanted", "begins_after"),
    [
        (EndpointListFilter(limit=5, after=AFTER), r"name ?>"),
        (EndpointListFilter(limit=5, after=AFTER, state="failing"), r"name ?>"),
        (EndpointListFilter(limit=5, after=AFTER, text="shop"), r"name ?>"),
        (EndpointListFilter(limit=5, after=AFTER, state="archived"), r"\(?name, ?id\) ?>"),
        (EndpointListFilter(limit=5, after=AFTER, job_id="job_1"), r"job_id ?= ?.*name ?>"),
    ],
)
async def test_a_page_of_endpoints_begins_where_the_last_one_ended(
    stores: Stores, store_url: str, wanted: EndpointListFilter, begins_after: str
) -> None:
    plan = await plan_of_page(stores, store_url, wanted)

    assert re.search(begins_after, plan), plan
    assert "Sort" not in plan, plan
    assert "TEMP B-TREE" not in plan, plan


async def plan_of_page(stores: Stores, store_url: str, wanted: EndpointListFilter) -> str:
    name, values = page_query("default", wanted, NOW)
    assert isinstance(stores.look, SqlListStore)
    database = stores.look._db
    if isinstance(database, SqliteDatabase):
        bound = sqlite.bound(values)
        explain = "EXPLAIN QUERY PLAN " + sqlite.QUERIES[name]
        lines = await database.read(lambda db: list(db._db.execute(explain, bound)))
        return "\n".join(str(line[3]) for line in lines)
    assert isinstance(database, PostgresDatabase)
    common, rare = an_endpoint("endpoint"), an_endpoint("other", job_id="job_1")
    await add(stores, common, rare)
    await multiply(store_url, common, 2_000)
    await multiply(store_url, rare, 5)
    await query(store_url, "ANALYZE endpoint")
    # What autovacuum found out about other tests' endpoints: that none fails, so that a sort of none is cheap.
    await query(store_url, "DELETE FROM pg_statistic WHERE starelid = 'schedule'::regclass")
    await query(store_url, "UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname = 'schedule'")
    async with database.statement("default") as session:
        lines = await session._connection.fetch("EXPLAIN " + QUERIES[name], *values)
    return "\n".join(str(line[0]) for line in lines if "Index Cond" in line[0] or "Sort" in line[0])
