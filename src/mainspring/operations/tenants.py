"""Operations on tenants and their quotas."""

import re
from collections.abc import Callable

from msgspec.structs import replace

from mainspring.domain.access.scope import Role
from mainspring.domain.endpoint import INTERVAL_MS_MAX, Tenant
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import check_name, shown
from mainspring.operations.context import Desk

TENANT_ID = re.compile(r"[a-z][a-z0-9-]{0,62}")
QUOTA_MAX = 10**15  # beyond any real use, within every database's integers
# Quotas of a new tenant until an operator changes them. The first tenant of an installation has no limits: it is the
# operator's own. A thousand endpoints that run every minute make 43 million runs a month.
DEFAULT_QUOTAS = Tenant(
    "", "", runs_per_month=50_000_000, tokens_per_month=10_000_000, endpoints_max=1_000, interval_ms_min=1_000
)


async def find_tenant(desk: Desk) -> Tenant:
    tenant = await desk.stores.endpoints.tenant(desk.tenant_id)
    if tenant is None:
        raise NotFound("tenant", desk.tenant_id)
    return tenant


async def set_quotas(desk: Desk, change: Callable[[Tenant], Tenant]) -> Tenant:
    """Changes quotas by a function of the current ones; endpoints deferred by the old quota become due again."""
    present = await find_tenant(desk)
    wanted = _checked(change(present))
    data: dict[str, object] = {"subject": wanted.id, "before": _quotas(present), "after": _quotas(wanted)}
    event = Event(EventType.QUOTA_CHANGED, await desk.stores.schedule.now(), wanted.id, actor=desk.actor, data=data)
    await desk.stores.endpoints.put_tenant(wanted, event if wanted != present else None)
    return wanted


async def add_tenant(desk: Desk, tenant_id: str, name: str = "", owner_id: str = "") -> Tenant:
    """Creates a tenant with the default quotas, for an operator of the installation, who may become its first owner."""
    check_tenant_id(tenant_id)
    tenant = replace(DEFAULT_QUOTAS, id=tenant_id, name=check_name(name or tenant_id, field="name", kind="tenant"))
    if await desk.stores.endpoints.tenant(tenant_id) is not None:
        raise Conflict(f"tenant {tenant_id!r} already exists; choose another id", kind="tenant", name=tenant_id)
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"subject": tenant_id, "after": {"name": tenant.name, **_quotas(tenant)}}
    created = Event(EventType.TENANT_CREATED, now, tenant_id, actor=desk.actor, data=data)
    await desk.stores.endpoints.put_tenant(tenant, created)
    if owner_id:
        joined: dict[str, object] = {"subject": desk.actor.removeprefix("user:"), "before": None, "after": Role.OWNER}
        event = Event(EventType.MEMBER_CHANGED, now, tenant_id, actor=desk.actor, data=joined)
        await desk.stores.accounts.put_member(tenant_id, owner_id, Role.OWNER, event)
    return tenant


def check_tenant_id(tenant_id: str) -> None:
    if not TENANT_ID.fullmatch(tenant_id):
        raise InvalidInput(
            f"tenant id '{shown(tenant_id)}' is not valid; use 1 to 63 of a-z, 0-9 and -, starting with a-z",
            field="id",
            value=shown(tenant_id),
        )


def _checked(wanted: Tenant) -> Tenant:
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
    return wanted


def _quotas(tenant: Tenant) -> dict[str, object]:
    return {
        "runs_per_month": tenant.runs_per_month,
        "tokens_per_month": tenant.tokens_per_month,
        "endpoints_max": tenant.endpoints_max,
        "interval_ms_min": tenant.interval_ms_min,
    }
