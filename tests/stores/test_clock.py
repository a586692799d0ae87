"""The database's clock alone says what is due: a worker whose own clock is wrong runs nothing early or late."""

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest
from tests.harness.postgres import as_superuser
from tests.stores.world import add, an_endpoint, claim

from mainspring.domain.endpoint import Tenant
from mainspring.wiring.stores import open_stores

HOUR = timedelta(hours=1)
SOON = timedelta(seconds=10)


async def set_clock(url: str, ahead: timedelta) -> None:
    """Give a database a clock that differs from ours: the name is found in `public` before it is in the system's."""
    connection = await asyncpg.connect(as_superuser(url))
    try:
        await connection.execute(
            "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE "
            f"AS $$ SELECT pg_catalog.clock_timestamp() + interval '{ahead.total_seconds()} seconds' $$"
        )
        await connection.execute(f"ALTER DATABASE {url.rpartition('/')[2]} SET search_path = public, pg_catalog")
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("ahead", "due_in", "is_claimed"),
    [
        pytest.param(-HOUR, -SOON, False, id="due by our clock and not yet by the database's"),
        pytest.param(HOUR, HOUR - SOON, True, id="due by the database's clock and not yet by ours"),
    ],
)
async def test_only_what_is_due_by_the_databases_clock_is_claimed(
    postgres_empty_url: str, ahead: timedelta, due_in: timedelta, is_claimed: bool
) -> None:
    """On PostgreSQL: SQLite is in our process and has no clock but ours."""
    async with open_stores(postgres_empty_url) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
    await set_clock(postgres_empty_url, ahead)
    async with open_stores(postgres_empty_url) as stores:
        ours = datetime.now(UTC)
        await add(stores, an_endpoint(next_run_at=ours + due_in))

        batch = await claim(stores)

    assert [each.slot_at for each in batch.claims] == ([ours + due_in] if is_claimed else [])
    assert timedelta(0) <= batch.now - ours - ahead < timedelta(minutes=10)
