"""A server whose database user owns nothing: it does everything, and can neither switch policies off nor migrate."""

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Misconfigured
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import Retention
from mainspring.wiring.stores import open_stores
from tests.api.every import every_operation
from tests.api.test_every_operation import ids
from tests.harness.postgres import OWNER, as_superuser
from tests.stores.world import FixedClock

__all__ = ["ids"]

GUIDE = Path(__file__).parents[2] / "docs/operating/README.md"
LESSER = "mainspring_app"


async def granted(owner_url: str) -> str:
    """The same database for the lesser user, once the recipe of the guide was followed in it."""
    _, recipe = re.findall(r"```sql\n(.*?)```", GUIDE.read_text().partition("With two users")[2], re.DOTALL)[:2]
    password = owner_url.partition("://")[2].partition("@")[0].partition(":")[2]
    connection = await asyncpg.connect(as_superuser(owner_url))
    try:
        with suppress(asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
            await connection.execute(f"CREATE ROLE {LESSER} LOGIN PASSWORD '{password}'")
        await connection.execute(recipe.replace("mainspring_owner", OWNER))
    finally:
        await connection.close()
    return owner_url.replace(f"//{OWNER}:", f"//{LESSER}:", 1)


@pytest.fixture
async def lesser_url(postgres_url: str) -> str:
    return await granted(postgres_url)


@pytest.fixture
async def stores(lesser_url: str, clock: FixedClock) -> AsyncIterator[Stores]:
    async with open_stores(lesser_url, clock=clock) as opened:
        await opened.endpoints.put_tenant(Tenant("default", "default"))
        yield opened


async def test_user_who_owns_nothing_is_enough_for_everything(
    app: FastAPI, api: AsyncClient, ids: dict[str, str], stores: Stores, clock: FixedClock
) -> None:
    answers = [(each.id, await each.send(api, ids)) for each in every_operation(app)]
    await stores.upkeep.sweep(Retention(clock.now(), clock.now(), clock.now(), 1), 100)
    facts = await stores.upkeep.facts()

    assert [(name, answer.text) for name, answer in answers if answer.status_code >= 500] == []
    assert (facts.above_policies, facts.owns_tables) == (False, False)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE endpoint DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE endpoint NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY one_tenant ON endpoint",
        "ALTER ROLE CURRENT_USER BYPASSRLS",
        f"SET ROLE {OWNER}",
        "CREATE TABLE mine (id int)",
    ],
)
async def test_user_who_owns_nothing_cannot_switch_the_policies_off(lesser_url: str, statement: str) -> None:
    connection = await asyncpg.connect(lesser_url)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_migrations_are_left_to_the_owner_in_words(postgres_empty_url: str) -> None:
    url = await granted(postgres_empty_url)
    rule = r"may not change its schema .* run `mainspring migrate` as the user who owns the tables"
    with pytest.raises(Misconfigured, match=rule):
        async with open_stores(url):
            pass
    async with open_stores(postgres_empty_url) as stores:
        assert (await stores.upkeep.facts()).owns_tables
    async with open_stores(url) as stores:
        assert not (await stores.upkeep.facts()).owns_tables
