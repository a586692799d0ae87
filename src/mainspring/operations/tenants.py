"""What a tenant may use, and how that is changed."""

from collections.abc import Callable

from mainspring.domain.endpoint import INTERVAL_MS_MAX, Tenant
from mainspring.domain.errors import InvalidInput, NotFound
from mainspring.operations.endpoints import Desk

QUOTA_MAX = 10**15  # beyond any real use, within every database's integers


async def find_tenant(desk: Desk) -> Tenant:
    tenant = await desk.stores.endpoints.tenant(desk.tenant_id)
    if tenant is None:
        raise NotFound("tenant", desk.tenant_id)
    return tenant


async def set_quotas(desk: Desk, change: Callable[[Tenant], Tenant]) -> Tenant:
    """Change quotas by a function of the present ones; endpoints deferred by the old quota are due again at once."""
    wanted = change(await find_tenant(desk))
    for quota, most in (
        ("runs_per_month", QUOTA_MAX),
        ("tokens_per_month", QUOTA_MAX),
        ("endpoints_max", QUOTA_MAX),
        ("interval_ms_min", INTERVAL_MS_MAX),
    ):
        value = getattr(wanted, quota)
        if value is not None and not 0 <= value <= most:
            raise InvalidInput(
                f"quota {quota} {value} is out of bounds; give 0 to {most:,}, or none for no limit",
                field=quota,
                value=value,
            )
    await desk.stores.endpoints.put_tenant(wanted)
    return wanted
