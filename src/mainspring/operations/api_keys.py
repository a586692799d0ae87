"""API keys of a tenant: create, list, revoke. A key is shown once, when it is created."""

from datetime import timedelta

from msgspec import Struct

from mainspring.domain.access.account import (
    KEY_LIFE_DEFAULT,
    ApiKey,
    api_key_text,
    check_key_life,
    check_scopes,
    digest,
    key_id_from,
    read_api_key,
)
from mainspring.domain.access.scope import Scope
from mainspring.domain.errors import NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import check_name
from mainspring.operations.context import Desk
from mainspring.ports.outbound import PasswordHasher


class NewApiKey(Struct, frozen=True):
    name: str
    scopes: tuple[str, ...] = (Scope.READ,)
    life: timedelta = KEY_LIFE_DEFAULT
    is_operator: bool = False


async def add_api_key(desk: Desk, hasher: PasswordHasher, wish: NewApiKey) -> tuple[ApiKey, str]:
    """The key as listed, and its text."""
    name = check_name(wish.name, field="name", kind="key")
    scopes, life = check_scopes(wish.scopes), check_key_life(wish.life)
    now = await desk.stores.schedule.now()
    text = api_key_text(key_id_from(hasher.new_secret()), hasher.new_secret())
    parts = read_api_key(text)
    assert parts is not None, "we can read what we have written"
    key = ApiKey(parts[0], desk.tenant_id, name, scopes, wish.is_operator, desk.actor, now, now + life)
    data: dict[str, object] = {"subject": key.id, "name": name, "after": sorted(scopes)}
    event = Event(EventType.API_KEY_CREATED, now, desk.tenant_id, actor=desk.actor, data=data)
    await desk.stores.credentials.add_api_key(key, digest(parts[1]), event)
    return key, text


async def list_api_keys(desk: Desk) -> list[ApiKey]:
    """Newest first, including revoked and expired keys."""
    return await desk.stores.credentials.api_keys(desk.tenant_id)


async def revoke_api_key(desk: Desk, key_id: str) -> ApiKey:
    """Revokes a key; every process refuses it from the next request on."""
    now = await desk.stores.schedule.now()
    event = Event(EventType.API_KEY_REVOKED, now, desk.tenant_id, actor=desk.actor, data={"subject": key_id})
    revoked = await desk.stores.credentials.revoke_api_key(desk.tenant_id, key_id, event)
    keys = await list_api_keys(desk)
    if not revoked:
        raise NotFound("live API key", key_id, tuple(key.id for key in keys if key.revoked_at is None))
    return next(key for key in keys if key.id == key_id)
