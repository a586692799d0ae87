"""Tenants with what they used this month and their sealed signing keys."""

from collections.abc import Sequence

from mainspring.domain.endpoint import Tenant
from mainspring.stores.claim_batch import month_of
from mainspring.stores.session import Session


async def tenants(session: Session, ids: Sequence[str]) -> list[Tenant]:
    """Those of these tenants that exist, by id."""
    wanted = list(ids)
    rows = await session.rows("tenants_by_id", month_of(await session.now()), wanted)
    keys: dict[str, list[str]] = {}
    for tenant_id, sealed in await session.rows("signing_keys_by_tenant", wanted):
        keys.setdefault(str(tenant_id), []).append(str(sealed))
    return [Tenant(*row, tuple(keys.get(str(row[0]), ()))) for row in rows]  # type: ignore[arg-type, call-arg]  # columns
