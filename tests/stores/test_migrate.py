"""A migration beside a long reader on PostgreSQL: claims go on, and it comes through when the reader has ended."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from tests.harness.postgres import as_superuser
from tests.stores.databases import query
from tests.stores.world import FixedClock, add, an_endpoint

from mainspring.domain.endpoint import Tenant
from mainspring.stores.queries import migrations
from mainspring.wiring.stores import open_stores

PACKAGE = "mainspring.stores.postgres"
STALL_S_MAX = 1.5  # a quarter of a second of waiting, and what a busy machine adds
READER_S = 4.0
OLD = 19


async def make_old(url: str) -> None:
    """A database with an endpoint, at an earlier schema."""
    owner = await asyncpg.connect(url)
    try:
        async with owner.transaction():
            await owner.execute(
                'CREATE TABLE schema_migration (number bigint PRIMARY KEY, name text COLLATE "C" NOT NULL, '
                "applied_at timestamptz NOT NULL)"
            )
            for number, name, text in migrations(PACKAGE):
                if number <= OLD:
                    await owner.execute(text)
                    await owner.execute("INSERT INTO schema_migration VALUES ($1, $2, clock_timestamp())", number, name)
    finally:
        await owner.close()


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


async def migrate(url: str) -> tuple[str, ...]:
    async with open_stores(url, clock=FixedClock()) as stores:
        return (await stores.upkeep.facts()).migrated


async def test_claims_go_on_while_a_migration_waits_for_a_long_reader(postgres_empty_url: str) -> None:
    await make_old(postgres_empty_url)
    claims = Claims(postgres_empty_url)
    async with claims.going_on():
        async with reading(postgres_empty_url):
            migrating = asyncio.create_task(migrate(postgres_empty_url))
            ended, _ = await asyncio.wait((migrating,), timeout=READER_S)
            before = claims.count
        migrated = await migrating

    expected = tuple(name for number, name, _ in migrations(PACKAGE) if number > OLD)
    assert not ended
    assert before > 20
    assert claims.longest_s < STALL_S_MAX
    assert migrated == expected
    is_valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'delivery_next'::regclass"
    assert await query(postgres_empty_url, is_valid) == [(True,)]


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


async def test_index_that_an_interrupted_migration_left_behind_is_built_again(postgres_empty_url: str) -> None:
    await make_old(postgres_empty_url)
    await query(postgres_empty_url, "CREATE INDEX delivery_next ON delivery (id)")
    invalid = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'delivery_next'::regclass"
    await query(postgres_empty_url, invalid)

    await migrate(postgres_empty_url)

    (built,) = await query(
        postgres_empty_url,
        "SELECT indisvalid, pg_get_indexdef(indexrelid) FROM pg_index WHERE indexrelid = 'delivery_next'::regclass",
    )
    assert built[0] is True
    assert "(subscription_id, status, next_attempt_at, id)" in str(built[1])


async def test_many_that_upgrade_at_once_all_succeed(postgres_empty_url: str) -> None:
    await make_old(postgres_empty_url)

    migrated = await asyncio.gather(*(migrate(postgres_empty_url) for _ in range(3)))

    names = sorted(name for each in migrated for name in each)
    assert set(names) == {name for number, name, _ in migrations(PACKAGE) if number > OLD}
    async with open_stores(postgres_empty_url, clock=FixedClock()) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        await add(stores, an_endpoint())


def test_migrations_that_build_concurrently_do_nothing_else() -> None:
    for _, name, text in migrations(PACKAGE):
        body = " ".join(line for line in text.splitlines() if not line.startswith("--"))
        if " CONCURRENTLY " in body:
            assert all(" CONCURRENTLY " in each for each in body.split(";") if each.strip()), name
