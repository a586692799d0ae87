"""What a claim touches does not grow with tenants, with runs in flight elsewhere, or with endpoints that are not due.

Counted in pages that PostgreSQL visits and in steps of SQLite's machine, which are the same on a busy machine.
"""

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import apsw
import pytest
from tests.stores.databases import is_sqlite, literal, multiply, query
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished

from mainspring.ports.stores import Stores
from mainspring.stores.postgres.queries import QUERIES
from mainspring.stores.postgres.session import PostgresSession
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.sqlite.schedule import SqliteSchedule

DUE = 20
FEW, MANY = 1_000, 6_000
FLAT = 1.3


async def fill(stores: Stores, store_url: str, crowd: str, size: int) -> None:
    idle = an_endpoint(f"idle {size}", next_run_at=START + timedelta(days=1))
    await add(stores, idle)
    await multiply(store_url, idle, size)
    each = f"WHERE id LIKE '{idle.id}_%'"
    if crowd != "endpoints":  # each in a tenant of its own
        await query(store_url, f"INSERT INTO tenant (id, name) SELECT id, 'crowd' FROM schedule {each}")
        await query(store_url, f"UPDATE schedule SET tenant_id = id, host = id || ':80' {each}")
    if crowd == "runs in flight":
        until = literal(store_url, START + timedelta(days=1))
        await query(store_url, f"UPDATE schedule SET lease_until = {until} {each}")
    await query(store_url, "ANALYZE" if is_sqlite(store_url) else "VACUUM ANALYZE schedule")


async def touched(stores: Stores, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> int:
    """Pages or steps of a claim of everything that is due, and of a look that finds nothing; caches are warm."""
    await stores.schedule.finish([finished(each) for each in (await claim(stores)).claims])
    clock.tick(seconds=60)
    counts: list[int] = []
    with monkeypatch.context() as patch:
        if isinstance(stores.schedule, SqliteSchedule):
            trace_steps(stores.schedule._db, counts)
        else:
            count_pages(patch, counts)
        assert len((await claim(stores)).claims) == DUE
        assert (await claim(stores)).claims == ()
    if isinstance(stores.schedule, SqliteSchedule):
        trace_steps(stores.schedule._db, None)
    return sum(counts)


def trace_steps(database: SqliteDatabase, counts: list[int] | None) -> None:
    def profiled(event: dict[str, Any]) -> None:
        assert counts is not None
        counts.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    for connection in (database._writer, database._looker):
        connection._db.trace_v2(
            apsw.SQLITE_TRACE_PROFILE if counts is not None else 0, profiled if counts is not None else None
        )


def count_pages(patch: pytest.MonkeyPatch, counts: list[int]) -> None:
    def counting(method: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def counted(session: PostgresSession, name: str, *values: object) -> object:
            attempt = session._connection.transaction()
            await attempt.start()
            text = await session._connection.fetchval(
                "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) " + QUERIES[name], *values
            )
            await attempt.rollback()
            plan = json.loads(text)[0]["Plan"]
            counts.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
            return await method(session, name, *values)

        return counted

    for method in ("rows", "value"):
        patch.setattr(PostgresSession, method, counting(getattr(PostgresSession, method)))


@pytest.mark.parametrize("crowd", ["endpoints", "tenants", "runs in flight"])
async def test_claim_touches_no_more_beside_more(
    stores: Stores, store_url: str, clock: FixedClock, crowd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(stores, *(an_endpoint(host=f"host-{number}:80") for number in range(DUE)))
    await fill(stores, store_url, crowd, FEW)
    few = await touched(stores, clock, monkeypatch)
    await fill(stores, store_url, crowd, MANY)
    clock.tick(seconds=60)
    many = await touched(stores, clock, monkeypatch)

    print(f"beside {FEW:,} and {FEW + MANY:,} {crowd}: {few:,} and {many:,}")
    assert 0 < many <= FLAT * few
