"""Secrets at rest: nothing that was given as a secret can be read in the database, whatever was done with it."""

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config, edited
from tests.stores.databases import file_of, is_sqlite, query
from tests.stores.world import an_outcome, claim, finished

from mainspring.domain.definition import config_of
from mainspring.domain.errors import Misconfigured, NotFound
from mainspring.domain.event import EventType
from mainspring.domain.run import Header
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, archive_endpoint, edit_endpoint
from mainspring.operations.signing_keys import add_signing_key, list_signing_keys, revoke_signing_key

HEALTH = a_config("health", "https://example.com/health", interval_ms=60_000, spread=False)
CANARY = "canary-Zq81"


async def at_rest(url: str) -> bytes:
    """Every byte of the SQLite files, or every row of every PostgreSQL table as text."""
    if is_sqlite(url):
        return b"".join(path.read_bytes() for path in sorted(file_of(url).parent.iterdir()))
    tables = await query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    rows = [await query(url, f'SELECT row_to_json(each)::text FROM "{name}" AS each') for (name,) in tables]
    return repr(rows).encode()


async def test_secret_header_is_nowhere_after_all_that_can_happen_to_it(desk: Desk, store_url: str) -> None:
    secrets = (Header("Authorization", f"Bearer {CANARY}-1"), Header("X-Mine", f"{CANARY}-2", secret=True))
    await add_endpoint(desk, edited(HEALTH, headers=(*secrets, Header("X-Plain", "seen-in-the-clear"))))
    (each,) = (await claim(desk.stores)).claims
    await desk.stores.schedule.finish([finished(each, an_outcome())])
    replaced = Header("Authorization", f"Bearer {CANARY}-3")
    await edit_endpoint(desk, "health", lambda old: edited(old, headers=(replaced, *http_of(old).headers[1:])))
    await archive_endpoint(desk, "health")

    stored = await at_rest(store_url)

    assert CANARY.encode() not in stored
    assert b"seen-in-the-clear" in stored


async def test_signing_key_is_nowhere_in_the_clear(desk: Desk, store_url: str) -> None:
    await add_signing_key(desk, f"whsec_{CANARY}")

    assert CANARY.encode() not in await at_rest(store_url)


@pytest.mark.parametrize(
    "name", ["Authorization", "Cookie", "X-Api-Key", "x-auth-token", "X-Webhook-Secret", "PASSWORD"]
)
async def test_header_whose_name_speaks_of_a_secret_is_sealed_unasked(desk: Desk, name: str) -> None:
    endpoint = await add_endpoint(desk, edited(HEALTH, headers=(Header(name, CANARY),)))

    (header,) = http_of(endpoint).headers
    assert header.secret
    assert desk.vault.open(header.value, f"default|{endpoint.id}|header:{name.lower()}") == CANARY


async def test_sealed_header_does_not_open_for_another_endpoint(desk: Desk) -> None:
    first = await add_endpoint(desk, edited(HEALTH, headers=(Header("Cookie", CANARY),)))
    second = await add_endpoint(desk, replace(HEALTH, name="second"))

    with pytest.raises(Misconfigured, match="cannot be decrypted"):
        desk.vault.open(http_of(first).headers[0].value, f"default|{second.id}|header:cookie")


async def test_edit_replaces_one_secret_and_keeps_the_other(desk: Desk) -> None:
    headers = (Header("Cookie", "old-cookie"), Header("Authorization", "old-token"))
    before = await add_endpoint(desk, edited(HEALTH, headers=headers))

    change = await edit_endpoint(
        desk, "health", lambda old: edited(old, headers=(Header("Cookie", "new-cookie"), http_of(old).headers[1]))
    )

    new, kept = http_of(change.endpoint).headers
    assert desk.vault.open(new.value, f"default|{before.id}|header:cookie") == "new-cookie"
    assert kept == http_of(before).headers[1]


async def test_edit_can_remove_a_secret(desk: Desk) -> None:
    await add_endpoint(desk, edited(HEALTH, headers=(Header("Cookie", CANARY),)))

    change = await edit_endpoint(desk, "health", lambda old: edited(old, headers=()))

    assert http_of(change.endpoint).headers == ()


async def test_described_endpoint_shows_its_secret_only_sealed(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, edited(HEALTH, headers=(Header("Cookie", CANARY),)))

    described = config_of(endpoint)

    assert CANARY not in repr(described)
    assert http_of(described).headers == http_of(endpoint).headers


async def test_signing_keys_are_told_by_id_and_by_whom(desk: Desk) -> None:
    key = await add_signing_key(desk, f"whsec_{CANARY}")
    await revoke_signing_key(desk, key)

    told = [stored.event for stored in await desk.stores.runs.latest_events("default", 2)]

    assert [(event.type, event.actor, event.data) for event in told] == [
        (EventType.SIGNING_KEY_CREATED, "ada", {"subject": key, "key": key}),
        (EventType.SIGNING_KEY_REVOKED, "ada", {"subject": key, "key": key}),
    ]


async def test_unknown_signing_key_suggests_the_nearest(desk: Desk) -> None:
    key = await add_signing_key(desk, f"whsec_{CANARY}")

    with pytest.raises(NotFound, match=f"no signing key '{key}x', did you mean '{key}'?"):
        await revoke_signing_key(desk, f"{key}x")
    assert [each for each, _ in await list_signing_keys(desk)] == [key]


async def test_signing_keys_of_another_tenant_are_out_of_reach(desk: Desk) -> None:
    key = await add_signing_key(desk, f"whsec_{CANARY}")
    stranger = replace(desk, tenant_id="other")

    assert await list_signing_keys(stranger) == []
    with pytest.raises(NotFound):
        await revoke_signing_key(stranger, key)
    assert len(await list_signing_keys(desk)) == 1
