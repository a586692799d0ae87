"""A migration beside a long reader on PostgreSQL: claims go on, and it comes through when the reader has ended."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from shutil import copytree

import asyncpg
import pytest
from tests.harness.postgres import as_superuser
from tests.stores.databases import query
from tests.stores.world import FixedClock, add, an_endpoint

from mainspring.domain.access.audit import AuditKeys
from mainspring.domain.endpoint import Tenant
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.migrate import migrate
from mainspring.stores.queries import migrations
from mainspring.wiring.stores import open_stores

PACKAGE = "mainspring.stores.postgres"
STALL_S_MAX = 1.5  # a quarter of a second of waiting, and what a busy machine adds
READER_S = 4.0
LATER = {
    "9001_column": "ALTER TABLE schedule ADD COLUMN something text;",
    "9002_index": "DROP INDEX CONCURRENTLY IF EXISTS delivery_by_error;\n"
    "CREATE INDEX CONCURRENTLY delivery_by_error ON delivery (tenant_id, error);",
    "9003_table": "CREATE TABLE something_else (tenant_id text PRIMARY KEY);",
}


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package that has the schema of today and three migrations after it."""
    package = f"later_{tmp_path.name}"
    copytree(str(files(PACKAGE).joinpath("migrations")), tmp_path / package / "migrations")
    (tmp_path / package / "__init__.py").touch()
    for name, text in LATER.items():
        (tmp_path / package / "migrations" / f"{name}.sql").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return package


async def make_old(url: str) -> None:
    """Make a database that has the schema of today, before the later migrations."""
    async with open_stores(url, clock=FixedClock()) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        await add(stores, an_endpoint())


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[None]:
    """A transaction that has read the tables of the schedule, as a report or a dump does."""
    reader = await asyncpg.connect(as_superuser(url))
    try:
        async with reader.transaction():
            for table in ("schedule", "delivery", "run"):
                await reader.fetch(f"SELECT * FROM {table}")
            yield
    finally:
        await reader.close()


class Claims:
    """Short writes to the schedule, one after the other, and the longest that one of them took."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.longest_s = 0.0
        self.count = 0
        self._stopping = False

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        connection = await asyncpg.connect(as_superuser(self._url))
        task = asyncio.create_task(self._claim(connection))
        try:
            yield
        finally:
            self._stopping = True
            await task
            await connection.close()

    async def _claim(self, connection: asyncpg.Connection) -> None:
        while not self._stopping:
            began_s = time.monotonic()
            await connection.execute("UPDATE schedule SET revision = revision + 1")
            self.longest_s = max(self.longest_s, time.monotonic() - began_s)
            self.count += 1
            await asyncio.sleep(0.01)


async def upgrade(url: str, package: str) -> tuple[str, ...]:
    """Apply the migrations of a package as a starting process does; return the names of what was applied."""
    database = PostgresDatabase(url, FixedClock(), pool_size=2, behind_bouncer=False, audit_keys=AuditKeys())
    try:
        return await migrate(database, package)
    finally:
        await database.aclose()


async def test_claims_go_on_while_a_migration_waits_for_a_long_reader(postgres_empty_url: str, later: str) -> None:
    await make_old(postgres_empty_url)
    claims = Claims(postgres_empty_url)
    async with claims.going_on():
        async with reading(postgres_empty_url):
            migrating = asyncio.create_task(upgrade(postgres_empty_url, later))
            ended, _ = await asyncio.wait((migrating,), timeout=READER_S)
            before = claims.count
        migrated = await migrating

    assert not ended
    assert before > 20
    assert claims.longest_s < STALL_S_MAX
    assert migrated == tuple(LATER)
    is_valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'delivery_by_error'::regclass"
    assert await query(postgres_empty_url, is_valid) == [(True,)]


async def test_new_table_of_a_tenant_is_guarded_after_its_migration(postgres_empty_url: str, later: str) -> None:
    await make_old(postgres_empty_url)
    await upgrade(postgres_empty_url, later)

    guarded = "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'something_else'"
    assert await query(postgres_empty_url, guarded) == [(True, True)]


async def test_without_the_short_wait_every_claim_waits_for_the_reader(postgres_empty_url: str) -> None:
    """The negative control: an ALTER TABLE that waits lets everybody wait who comes after it."""
    await make_old(postgres_empty_url)
    claims = Claims(postgres_empty_url)
    impatient = await asyncpg.connect(postgres_empty_url)
    async with claims.going_on():
        async with reading(postgres_empty_url):
            altering = asyncio.create_task(impatient.execute("ALTER TABLE schedule ADD COLUMN something text"))
            await asyncio.wait((altering,), timeout=STALL_S_MAX + 1)
        await altering
    await impatient.close()

    assert claims.longest_s > STALL_S_MAX


async def test_index_that_an_interrupted_migration_left_behind_is_built_again(
    postgres_empty_url: str, later: str
) -> None:
    await make_old(postgres_empty_url)
    await query(postgres_empty_url, "CREATE INDEX delivery_by_error ON delivery (id)")
    invalid = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'delivery_by_error'::regclass"
    await query(postgres_empty_url, invalid)

    await upgrade(postgres_empty_url, later)

    (built,) = await query(
        postgres_empty_url,
        "SELECT indisvalid, pg_get_indexdef(indexrelid) FROM pg_index WHERE indexrelid = 'delivery_by_error'::regclass",
    )
    assert built[0] is True
    assert "(tenant_id, error)" in str(built[1])


async def test_many_that_upgrade_at_once_all_succeed(postgres_empty_url: str, later: str) -> None:
    await make_old(postgres_empty_url)

    migrated = await asyncio.gather(*(upgrade(postgres_empty_url, later) for _ in range(3)))

    assert {name for each in migrated for name in each} == set(LATER)
    applied = await query(postgres_empty_url, "SELECT name FROM schema_migration WHERE number > 9000 ORDER BY number")
    assert [name for (name,) in applied] == list(LATER)


def test_migrations_that_build_concurrently_do_nothing_else() -> None:
    for _, name, text in migrations(PACKAGE):
        body = " ".join(line for line in text.splitlines() if not line.startswith("--"))
        if " CONCURRENTLY " in body:
            assert all(" CONCURRENTLY " in each for each in body.split(";") if each.strip()), name
