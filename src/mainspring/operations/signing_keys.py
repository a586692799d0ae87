"""Signing keys of a tenant: create, list, revoke. A key is shown once, when it is created."""

from base64 import b64encode
from datetime import datetime

from mainspring.domain.access.sealing import signing_place
from mainspring.domain.errors import NotFound
from mainspring.domain.event import Event, EventType
from mainspring.operations.context import Desk
from mainspring.ports.outbound import PasswordHasher


def new_signing_secret(hasher: PasswordHasher) -> str:
    """In the format of Standard Webhooks."""
    return f"whsec_{b64encode(hasher.new_secret()).decode()}"


async def add_signing_key(desk: Desk, secret: str) -> str:
    """Adds a key that signs calls from now on; older keys keep signing until they are revoked."""
    now = await desk.stores.schedule.now()
    key_id = desk.ids.new("sk", now)
    sealed = desk.vault.seal(secret, signing_place(desk.tenant_id))
    data: dict[str, object] = {"subject": key_id, "key": key_id}
    event = Event(EventType.SIGNING_KEY_CREATED, now, desk.tenant_id, actor=desk.actor, data=data)
    await desk.stores.runs.add_signing_key(desk.tenant_id, key_id, sealed, event)
    return key_id


async def revoke_signing_key(desk: Desk, key_id: str) -> None:
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"subject": key_id, "key": key_id}
    event = Event(EventType.SIGNING_KEY_REVOKED, now, desk.tenant_id, actor=desk.actor, data=data)
    if not await desk.stores.runs.revoke_signing_key(desk.tenant_id, key_id, event):
        known = tuple(each for each, _ in await list_signing_keys(desk))
        raise NotFound("signing key", key_id, known)


async def list_signing_keys(desk: Desk) -> list[tuple[str, datetime]]:
    return await desk.stores.runs.signing_keys(desk.tenant_id)
