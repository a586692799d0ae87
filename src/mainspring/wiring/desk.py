"""The desk that operations work at: stores, keys and ids."""

import base64
import binascii
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Misconfigured
from mainspring.domain.schedule import CRON
from mainspring.operations.endpoints import Desk
from mainspring.ports.outside import Locksmith
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.wiring.outside import never_called
from mainspring.wiring.stores import open_stores

if TYPE_CHECKING:
    from mainspring.outbound.vault import KeyRing


def open_keys(settings: Settings) -> "KeyRing":
    """The key that secrets are sealed with; makes a key file at the first start."""
    from mainspring.outbound.vault import KeyRing, load_or_create_key

    if not settings.secret_key:
        return KeyRing(load_or_create_key(settings.key_file))
    try:
        key = base64.b64decode(settings.secret_key, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != 32:
        raise Misconfigured(
            "MAINSPRING_SECRET_KEY is not 32 bytes in base64; make one with `openssl rand -base64 32`",
            setting="MAINSPRING_SECRET_KEY",
        )
    return KeyRing(key)


def open_locksmith() -> Locksmith:
    from mainspring.outbound.locksmith import Argon2Locksmith

    return Argon2Locksmith()


def new_signing_secret() -> str:
    from mainspring.outbound.signing import generate_secret

    return generate_secret()


@asynccontextmanager
async def open_desk(settings: Settings, actor: str = "cli") -> AsyncIterator[Desk]:
    """One tenant's stores with everything operations need; refuses a database that was sealed with another key."""
    from mainspring.outbound.checkpoints import CheckpointSigner
    from mainspring.outbound.vault import Vault as SealingVault

    keys = open_keys(settings)
    async with open_stores(
        settings.url,
        pool_size=settings.database_pool,
        behind_bouncer=settings.pgbouncer,
        audit_keys=keys.audit_keys,
    ) as stores:
        await _prepare(stores, settings, keys.primary_id)
        desk = Desk(stores, settings.tenant, actor, TimeOrderedIds(), SealingVault(keys), CRON)
        yield replace(
            desk,
            allow_ports=settings.allow_ports,
            never_called=never_called,
            signer=CheckpointSigner(keys),
            partitions=settings.workflow_partitions,
        )


async def _prepare(stores: Stores, settings: Settings, key_id: str) -> None:
    sealed_with = await stores.upkeep.installation("secret_key_id", key_id)
    if sealed_with != key_id:
        raise Misconfigured(
            f"the secrets of this database are sealed with key {sealed_with}, but this process has key "
            f"{key_id}; set MAINSPRING_SECRET_KEY or MAINSPRING_SECRET_KEY_FILE to the key it was made with",
            setting="MAINSPRING_SECRET_KEY",
        )
    if await stores.endpoints.tenant(settings.tenant) is None:
        await stores.endpoints.put_tenant(Tenant(settings.tenant, settings.tenant))
