"""Row-level security: what one tenant asks for holds nothing of another, also where a query forgets to say whose."""

import ast
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from tests.harness.postgres import as_superuser
from tests.stores.databases import empty
from tests.stores.flow_world import SALT
from tests.stores.people import add_user
from tests.stores.world import START, FixedClock, add, an_endpoint, claim

import mainspring.stores.postgres
from mainspring.domain.access.audit import AuditKeys
from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.event import Event, EventType
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import Execution, Start
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.queries import QUERIES
from mainspring.wiring.stores import open_stores
from mainspring.workflow.model import ExecutionState

# Tables of the installation. What is here belongs to no tenant, or says nothing about one.
FOR_ALL = {
    "schema_migration": "the schema's own",
    "installation": "what there is once",
    "account": "a user belongs to the installation",
    "session": "a user's, not a tenant's",
    "link": "a user's, not a tenant's",
    "second_factor": "a user's, not a tenant's",
    "passkey": "a user's, not a tenant's",
    "challenge": "of a login, before anybody is known",
    "attempt": "counts logins before anybody is known",
    "worker": "workers serve every tenant",
    "move_change": "a move copies every tenant",
    "host_rate": "a rate holds for a host, whoever calls it",
    "outbox_position": "one reader for all events",
    "maintenance_revision": "one number that grows with every change",
    "planner_cursor": "one reader for all events",
    "trigger_position": "one reader for all events",
    "planner_mode": "read by workers for every scope at once",
    "clock_report": "the clock is everybody's",
    "watch_report": "one report for all tenants",
    "partition_zero": "a partition holds executions of every tenant",
    "workflow_partition": "a partition holds executions of every tenant",
    "execution_ready": "the queue of a partition: ids alone",
    "workflow_tick": "hashes over a partition",
    "workflow_checkpoint": "signatures over a partition",
}
# Tables that nobody lists by tenant: rows are found by the key of what they belong to.
NOT_LISTED = {"alert_state", "analysis", "connection_token", "execution_effect", "ping_url"}


def at(tenant_id: str, number: int) -> Endpoint:
    return an_endpoint(f"{tenant_id} {number}", tenant_id=tenant_id, job_id=f"job_{tenant_id}")


@pytest.fixture
async def two_tenants(shared_postgres_url: str, clock: FixedClock) -> AsyncIterator[Stores]:
    await empty(shared_postgres_url)
    async with open_stores(shared_postgres_url, clock=clock) as stores:
        for tenant_id in ("acme", "zeta"):
            await stores.endpoints.put_tenant(Tenant(tenant_id, tenant_id))
            await add(stores, at(tenant_id, 1), at(tenant_id, 2))
            event = Event(EventType.SIGNING_KEY_CREATED, clock.now(), tenant_id, actor="user:ann@example.com")
            await stores.runs.add_signing_key(tenant_id, f"key_{tenant_id}", "sealed", event)
            await add_user(stores, f"{tenant_id}@example.com", tenant_id=tenant_id)
        assert len((await claim(stores)).claims) == 4
        yield stores


@pytest.fixture
async def database(two_tenants: Stores, shared_postgres_url: str, clock: FixedClock) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(shared_postgres_url, clock, pool_size=2, behind_bouncer=False, audit_keys=AuditKeys())
    yield opened
    await opened.aclose()


async def all_rows(database: PostgresDatabase, tenant_id: str | None, sql: str) -> set[object]:
    async with database.statement(tenant_id) as session:
        return {row[0] for row in await session._connection.fetch(sql)}  # past the named queries, as no store can


def without_tenant(query: str) -> str:
    """A query of ours after somebody forgot the filter."""
    forgotten = QUERIES[query].replace("endpoint.tenant_id = $1 AND", "$1::text IS NOT NULL AND")
    assert forgotten != QUERIES[query]
    return forgotten


async def test_query_that_forgot_its_tenant_finds_nothing_of_another(database: PostgresDatabase) -> None:
    async with database.statement("acme") as session:
        rows = await session._connection.fetch(without_tenant("look_endpoints"), "acme", None, START, None, "", 100)

    assert {row["name"] for row in rows} == {"acme 1", "acme 2"}


async def test_with_the_policy_off_the_same_query_finds_the_other_tenant(
    database: PostgresDatabase, shared_postgres_url: str
) -> None:
    superuser = await asyncpg.connect(as_superuser(shared_postgres_url))
    await superuser.execute("ALTER TABLE endpoint DISABLE ROW LEVEL SECURITY")
    await superuser.execute("ALTER TABLE schedule DISABLE ROW LEVEL SECURITY")
    try:
        async with database.statement("acme") as session:
            rows = await session._connection.fetch(without_tenant("look_endpoints"), "acme", None, START, None, "", 100)
    finally:
        await superuser.execute("ALTER TABLE endpoint ENABLE ROW LEVEL SECURITY")
        await superuser.execute("ALTER TABLE schedule ENABLE ROW LEVEL SECURITY")
        await superuser.close()

    assert {row["name"] for row in rows} == {"acme 1", "acme 2", "zeta 1", "zeta 2"}


TABLES = ("job", "endpoint", "schedule", "run", "event", "usage", "signing_key", "member", "audit_entry", "audit_head")


@pytest.mark.parametrize("table", TABLES)
async def test_a_tenant_sees_its_own_rows_and_a_worker_those_of_all(database: PostgresDatabase, table: str) -> None:
    sql = f"SELECT tenant_id FROM {table} WHERE tenant_id <> ''"

    assert await all_rows(database, "acme", sql) == {"acme"}
    assert await all_rows(database, None, sql) == {"acme", "zeta"}
    assert await all_rows(database, "*", sql) == set()


async def test_nothing_is_written_into_another_tenant(database: PostgresDatabase) -> None:
    async with database.transaction("acme") as session:
        changed = await session._connection.execute("UPDATE endpoint SET description = 'mine'")
        gone = await session._connection.execute("DELETE FROM run WHERE tenant_id = 'zeta'")

    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
        async with database.transaction("acme") as session:
            await session._connection.execute("UPDATE job SET tenant_id = 'zeta'")
    assert (changed, gone) == ("UPDATE 2", "DELETE 0")


async def test_entries_of_a_log_are_there_for_whom_its_execution_is(
    two_tenants: Stores, database: PostgresDatabase, clock: FixedClock
) -> None:
    now = clock.now()
    add_entry = "INSERT INTO execution_entry VALUES ($1, $2, 0, '', 'start', '', '', '', '', '', NULL, NULL)"
    for tenant_id in ("acme", "zeta"):
        state = ExecutionState(f"x_{tenant_id}", SALT, "flow", 1, {})
        execution = Execution(state, tenant_id, 0, "", None, "ada", now, now)
        await two_tenants.flows.workflows.start([Start(execution, Event(EventType.EXECUTION_STARTED, now, tenant_id))])
        async with database.statement() as session:
            await session._connection.execute(add_entry, execution.id, 1)
    sql = "SELECT execution_id FROM execution_entry"

    assert await all_rows(database, "acme", sql) == {"x_acme"}
    assert await all_rows(database, None, sql) == {"x_acme", "x_zeta"}
    assert await all_rows(database, "*", sql) == set()
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
        async with database.transaction("acme") as session:
            await session._connection.execute(add_entry, "x_zeta", 2)


async def test_without_a_tenant_the_owner_of_the_tables_sees_no_row_of_anybody(
    two_tenants: Stores, shared_postgres_url: str
) -> None:
    connection = await asyncpg.connect(shared_postgres_url)
    try:
        assert await connection.fetchval("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = user") is False
        tables = {row[0] for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname='public'")}
        seen = {table: await connection.fetchval(f"SELECT COUNT(*) FROM {table}") for table in tables - FOR_ALL.keys()}
    finally:
        await connection.close()

    assert seen.keys() >= {"tenant", "endpoint"}
    assert {table: count for table, count in seen.items() if count} == {}


async def test_every_table_is_guarded_and_indexed_by_tenant_or_listed_with_a_reason(
    two_tenants: Stores, shared_postgres_url: str
) -> None:
    superuser = await asyncpg.connect(as_superuser(shared_postgres_url))
    try:
        tables = await superuser.fetch("""
            SELECT relname, relrowsecurity AND relforcerowsecurity AND pg_class.oid IN (SELECT polrelid FROM pg_policy),
                   EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant_id'),
                   EXISTS (SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
                           WHERE indrelid = pg_class.oid AND attname = 'tenant_id')
            FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')""")
    finally:
        await superuser.close()

    assert {name for name, guarded, _, _ in tables if not guarded} == FOR_ALL.keys()
    assert {name for name, _, owned, _ in tables if owned} & FOR_ALL.keys() == set()
    assert {name for name, _, owned, indexed in tables if owned and not indexed} <= NOT_LISTED


async def test_table_of_a_later_migration_is_guarded_without_a_word(postgres_empty_url: str) -> None:
    async with open_stores(postgres_empty_url):
        pass
    superuser = await asyncpg.connect(as_superuser(postgres_empty_url))
    try:
        await superuser.execute("CREATE TABLE later (tenant_id text NOT NULL)")
        await superuser.execute("SELECT guard_tenants()")
        guarded = await superuser.fetchval("SELECT relforcerowsecurity FROM pg_class WHERE relname = 'later'")
    finally:
        await superuser.close()

    assert guarded is True


async def test_behind_a_bouncer_workers_see_all_and_doors_one(
    two_tenants: Stores, shared_postgres_url: str, clock: FixedClock
) -> None:
    async with open_stores(shared_postgres_url, clock=clock, behind_bouncer=True) as stores:
        names = [each.name for each in await stores.endpoints.endpoints("zeta", EndpointFilter())]
        clock.tick(hours=1)
        claimed = await claim(stores)

    assert names == ["zeta 1", "zeta 2"]
    assert {each.endpoint.tenant_id for each in claimed.claims} == {"acme", "zeta"}


async def test_a_tenants_events_and_runs_are_all_there(two_tenants: Stores) -> None:
    events = await two_tenants.runs.events_after("", "acme", 100)

    assert {stored.event.tenant_id for stored in events} == {"acme"}
    assert await two_tenants.runs.latest_events("acme", 100) == events
    assert len(await two_tenants.runs.runs("acme", RunFilter())) == 2


def methods() -> list[tuple[str, ast.AsyncFunctionDef]]:
    folder = Path(mainspring.stores.postgres.__path__[0])
    return [
        (f"{path.name}: {node.name}", node)
        for path in sorted(folder.glob("*.py"))
        if path.name != "database.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.AsyncFunctionDef) and any(each.arg == "tenant_id" for each in node.args.args)
    ]


def test_every_store_method_that_is_asked_within_a_tenant_works_for_that_tenant_alone() -> None:
    open_to_all = []
    for name, method in methods():
        calls = [call for call in ast.walk(method) if isinstance(call, ast.Call)]
        named = [(call.func.attr, call.args) for call in calls if isinstance(call.func, ast.Attribute)]
        is_narrowed = any(attribute == "only" for attribute, _ in named)
        if any(attribute in ("transaction", "statement") and not args for attribute, args in named) and not is_narrowed:
            open_to_all.append(name)

    assert open_to_all == []
