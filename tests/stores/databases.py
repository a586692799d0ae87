"""A database for each test, of both kinds, and a way into it that does not lead through a store.

SQLite is a new file, in memory. PostgreSQL is one database for the whole session, emptied before each test: a clone
of the template costs half a second, and there are hundreds of tests. A test of the migrations makes its own.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import asyncpg
import pytest
from tests.harness.postgres import Cluster, as_superuser
from tests.stores.world import FixedClock

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.instant import rfc3339, to_us
from mainspring.ports.stores import Stores
from mainspring.stores.rows import CONFIG_COLUMNS, STATE_COLUMNS
from mainspring.wiring.stores import open_stores

KINDS = ("sqlite", "postgres")
REFUSED = (apsw.ConstraintError, asyncpg.IntegrityConstraintViolationError)  # what a constraint of the schema raises
# Behaviour is the same there, and thousands of commits need not reach a disk: power cuts are for the fault tests.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
VACUUM_EVERY = 50  # tests: nobody else takes the dead rows away
_numbers = count(1)
_emptied = count(1)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(scope="session")
def shared_postgres_url(postgres_cluster: Cluster, postgres_template: str) -> Iterator[str]:
    name = f"shared_{next(_numbers)}"
    yield postgres_cluster.create_database(name, template=postgres_template)
    postgres_cluster.drop_database(name)


@pytest.fixture(params=KINDS)
async def store_url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    if request.param == "sqlite":
        with TemporaryDirectory(dir=IN_MEMORY) as folder:
            yield f"sqlite://{folder}/mainspring.db"
    else:
        url = str(request.getfixturevalue("shared_postgres_url"))
        await empty(url)
        yield url


@pytest.fixture
async def stores(store_url: str, clock: FixedClock) -> AsyncIterator[Stores]:
    async with open_stores(store_url, clock=clock) as opened:
        await opened.endpoints.put_tenant(Tenant("default", "default"))
        yield opened


@pytest.fixture
async def other_stores(stores: Stores, store_url: str, clock: FixedClock) -> AsyncIterator[Stores]:
    """The same database as `stores`, opened once more, as another process would."""
    async with open_stores(store_url, clock=clock) as opened:
        yield opened


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite:")


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite://"))


def literal(url: str, at: datetime) -> str:
    """An instant as it is written in the SQL of this database."""
    return str(to_us(at)) if is_sqlite(url) else f"'{rfc3339(at)}'::timestamptz"


async def query(url: str, sql: str) -> list[tuple[object, ...]]:
    """Execute a statement past every rule but the schema's own."""
    if is_sqlite(url):
        file = apsw.Connection(str(file_of(url)))
        file.set_busy_timeout(60_000)  # a server may be writing
        try:
            return list(file.execute(sql))
        finally:
            file.close()
    connection = await asyncpg.connect(as_superuser(url))
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


async def multiply(url: str, endpoint: Endpoint, count: int) -> None:
    """Copies of a stored endpoint, ids and names followed by 1, 2, ...: one statement, where adding takes seconds."""
    series = f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {count})"
    config = ", ".join(column for column in CONFIG_COLUMNS if column not in ("id", "name"))
    state = ", ".join(("tenant_id", "host", *STATE_COLUMNS))
    named = f"SELECT id || '_' || n, name || ' ' || n, {config} FROM endpoint, series WHERE id = '{endpoint.id}'"
    await query(url, f"{series} INSERT INTO endpoint (id, name, {config}) {named}")
    planned = f"SELECT id || '_' || n, {state} FROM schedule, series WHERE id = '{endpoint.id}'"
    await query(url, f"{series} INSERT INTO schedule (id, {state}) {planned}")


async def empty(url: str) -> None:
    """Remove every row of a PostgreSQL database, and keep its schema; TRUNCATE makes new files, which takes longer."""
    connection = await asyncpg.connect(as_superuser(url))
    try:
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        names = [table[0] for table in tables if table[0] != "schema_migration"]
        await connection.execute("SET session_replication_role = replica")  # foreign keys: everything goes anyway
        await connection.execute("; ".join(f"DELETE FROM {name}" for name in names))
        if next(_emptied) % VACUUM_EVERY == 0:
            await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


@asynccontextmanager
async def locked(url: str, endpoint: Endpoint) -> AsyncIterator[None]:
    """Another process inside a transaction that writes this endpoint."""
    if is_sqlite(url):
        file = apsw.Connection(str(file_of(url)))
        file.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            file.close()
        return
    connection = await asyncpg.connect(as_superuser(url))
    try:
        async with connection.transaction():
            await connection.execute("SELECT id FROM schedule WHERE id = $1 FOR UPDATE", endpoint.id)
            yield
    finally:
        await connection.close()
