"""Open the desk, the context that operations work in: stores, keys and ids."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import InvalidInput, Misconfigured, did_you_mean
from mainspring.domain.schedule.cron import CRON
from mainspring.operations.context import Desk
from mainspring.operations.secret_rotation import SECRET_KEY_ID, remember_retired
from mainspring.operations.tenants import check_tenant_id
from mainspring.ports.outbound import PasswordHasher
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from mainspring.wiring.clock import TimeOrderedIds, worker_name
from mainspring.wiring.outbound import check_certificates, never_called
from mainspring.wiring.stores import open_stores

if TYPE_CHECKING:
    from mainspring.outbound.vault import KeyRing


def open_keys(settings: Settings) -> "KeyRing":
    """The encryption keys for secrets; creates a key file at the first start, and follows it from then on."""
    from mainspring.outbound.key_file import KeyFile, parse_keys
    from mainspring.outbound.vault import KeyRing

    if not settings.secret_key:
        file = KeyFile(settings.key_file)
        primary, *old = file.read()
        return KeyRing(primary, tuple(old), reread=file.reread)
    keys = parse_keys(settings.secret_key)
    if not keys:
        raise Misconfigured(
            "MAINSPRING_SECRET_KEY is not 32 bytes in base64; create one with `openssl rand -base64 32`, "
            "and separate several by commas",
            setting="MAINSPRING_SECRET_KEY",
        )
    return KeyRing(keys[0], keys[1:])


def open_password_hasher() -> PasswordHasher:
    from mainspring.outbound.passwords import Argon2Hasher

    return Argon2Hasher()


def new_signing_secret() -> str:
    from mainspring.outbound.signing import generate_secret

    return generate_secret()


@asynccontextmanager
async def open_desk(
    settings: Settings, actor: str = "cli", *, for_all: bool = False, create: bool = True
) -> AsyncIterator[Desk]:
    """Opens one tenant's stores with everything operations need. Refuses a database that was encrypted with another
    key.

    `for_all` is for work across all tenants, which need not include that of the settings. Without `create`, a database
    that does not exist is not created, nor is its key: NoDatabase.
    """
    from mainspring.outbound.checkpoints import CheckpointSigner
    from mainspring.outbound.vault import AesVault as SealingVault

    if not create and not settings.secret_key and not settings.key_file.exists():
        async with open_stores(settings.url, pool_size=1, behind_bouncer=settings.pgbouncer, create=False):
            pass  # it exists, so that the next line may create its key
    keys = open_keys(settings)
    async with open_stores(
        settings.url,
        pool_size=settings.database_pool,
        behind_bouncer=settings.pgbouncer,
        audit_keys=keys.audit_keys,
        create=create,
        keep_runs=settings.keep_runs,
    ) as stores:
        vault = SealingVault(keys)
        await stores.upkeep.check_identity()  # refuses a database that the installation has left
        await check_key(stores, keys)
        if not for_all and not await has_tenant(stores, settings.tenant):
            await stores.endpoints.put_tenant(Tenant(settings.tenant, settings.tenant))
        await remember_retired(stores, vault.recall)
        desk = Desk(stores, settings.tenant, actor, TimeOrderedIds(), vault, CRON)
        yield replace(
            desk,
            allow_ports=settings.allow_ports,
            commands=settings.commands,
            never_called=never_called,
            signer=CheckpointSigner(keys),
            partitions=settings.workflow_partitions,
            worker=worker_name(),
            site=settings.site,
            callback_site=settings.callback_site,
            proxies=frozenset(settings.proxy_urls),
            check_certificates=check_certificates,
        )


async def check_key(stores: Stores, keys: "KeyRing") -> None:
    sealed_with = await stores.upkeep.installation(SECRET_KEY_ID, keys.primary_id)
    if sealed_with not in keys.ciphers:
        keys.refresh()  # it may have changed since it was read
    if sealed_with not in keys.ciphers:
        raise Misconfigured(
            f"the secrets of this database are encrypted with key {sealed_with}, but this process has key "
            f"{' and '.join(keys.ciphers)}; set MAINSPRING_SECRET_KEY or MAINSPRING_SECRET_KEY_FILE to the "
            "original key",
            setting="MAINSPRING_SECRET_KEY",
        )


async def has_tenant(stores: Stores, tenant_id: str) -> bool:
    """False in a new database, which gets its first tenant automatically. Any other tenant must be created
    explicitly, so that a typo does not create one: Misconfigured.
    """
    if await stores.endpoints.tenant(tenant_id) is not None:
        return True
    known = tuple(tenant.id for tenant in await stores.accounts.tenants())
    if tenant_id not in known and (known or tenant_id != Settings.model_fields["tenant"].default):
        raise _no_tenant(tenant_id, known)
    return bool(known)  # another process has just created it


def _no_tenant(tenant_id: str, known: tuple[str, ...]) -> Misconfigured:
    try:
        check_tenant_id(tenant_id)
    except InvalidInput as fault:
        return Misconfigured(f"MAINSPRING_TENANT: {fault}", setting="MAINSPRING_TENANT")
    return Misconfigured(
        f"MAINSPRING_TENANT: no tenant {tenant_id!r}{did_you_mean(tenant_id, known) or ';'} `mainspring "
        f"tenant create {tenant_id}` creates it, `mainspring tenant list` shows all tenants",
        setting="MAINSPRING_TENANT",
    )
