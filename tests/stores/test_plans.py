"""How PostgreSQL goes about what is done thousands of times a second: by index, behind row-level security too."""

import re
from collections.abc import Awaitable, Callable

import pytest
from tests.stores.databases import query
from tests.stores.world import add, an_endpoint, claim, finished

from mainspring.ports.stores import Stores
from mainspring.stores.postgres.database import QUERIES, Session
from mainspring.stores.postgres.schedule import PostgresSchedule


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
async def test_claims_and_finishes_read_no_table_as_a_whole(
    stores: Stores, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: dict[str, str] = {}

    def explaining(method: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def explain(session: Session, query: str, *values: object) -> object:
            lines = await session._connection.fetch("EXPLAIN " + QUERIES[query], *values)
            plans[query] = "\n".join(str(line[0]) for line in lines)
            return await method(session, query, *values)

        return explain

    for method in ("rows", "run", "value"):
        monkeypatch.setattr(Session, method, explaining(getattr(Session, method)))
    for number in range(3):
        await add(stores, an_endpoint(f"endpoint {number}"))
    large = "UPDATE pg_class SET reltuples = 1000000, relpages = 1 WHERE relname IN ('schedule', 'run')"
    await query(store_url, large)  # so the planner believes
    batch = await claim(stores)
    await stores.schedule.finish([finished(each) for each in batch.claims])

    assert isinstance(stores.schedule, PostgresSchedule)
    assert "Seq Scan on schedule" not in plans["due_and_read_clock"], plans["due_and_read_clock"]
    for name, reads in {"write_claims_and_read_clock": ["schedule"], "write_results": ["schedule", "run"]}.items():
        assert "Seq Scan" not in plans[name], plans[name]
        for table in reads:
            assert re.search(rf"Index Scan using {table}_pkey on {table} .*\n *Index Cond: \(.*id = ", plans[name]), (
                plans[name]
            )
