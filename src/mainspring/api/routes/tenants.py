"""Tenants and their quotas, and the audit trail."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from msgspec.structs import replace

from mainspring.api.access import Administering, Known, Operating
from mainspring.api.cursors import broken_cursor
from mainspring.api.models.accounts import QuotaPatch, TenantNew
from mainspring.api.models.fields import DryRun
from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.access.scope import Principal
from mainspring.domain.errors import Forbidden, InvalidInput
from mainspring.domain.name import check_name
from mainspring.operations import audit, tenants
from mainspring.operations.accounts import account_dry_run
from mainspring.operations.context import Desk
from mainspring.views.account import TenantView
from mainspring.views.event import AuditEntryView, AuditVerdict
from mainspring.views.view import DryRunOf, ListOf, PageOf

router = APIRouter(tags=["tenants"])

Installation = Annotated[bool, Query(description="The installation's trail: logins, users. For operators.")]
TenantRef = Annotated[str, Path(max_length=100, description="A tenant's id.")]


@router.get("/tenants")
async def list_tenants(desk: Operating) -> ListOf[TenantView]:
    return ListOf(items=[TenantView.of(tenant) for tenant in await desk.stores.accounts.tenants()])


@router.post(
    "/tenants",
    status_code=201,
    responses={200: {"model": DryRunOf[TenantView]}},
)
async def create_tenant(
    desk: Operating, principal: Known, wish: TenantNew, response: Response, dry_run: DryRun = False
) -> TenantView | DryRunOf[TenantView]:
    """Create a tenant; its creator becomes the first owner."""
    there = account_dry_run(desk) if dry_run else desk
    made = TenantView.of(await tenants.add_tenant(there, wish.id, wish.name, principal.user_id))
    if dry_run:
        response.status_code = 200
        return DryRunOf[TenantView].of(None, made)
    return made


@router.get("/tenants/{tenant}")
async def read_tenant(desk: Operating, tenant: TenantRef) -> TenantView:
    return TenantView.of(await tenants.find_tenant(replace(desk, tenant_id=tenant)))


@router.patch("/tenants/{tenant}")
async def update_tenant(
    desk: Operating, tenant: TenantRef, wish: QuotaPatch, dry_run: DryRun = False
) -> TenantView | DryRunOf[TenantView]:
    """Change a tenant's name or quotas; endpoints that waited for a quota run again if the new one allows it."""
    wanted = {name: getattr(wish, name) for name in wish.model_fields_set}
    if "name" in wanted:
        if wanted["name"] is None:
            raise InvalidInput("name cannot be null; omit it, or give one", field="name")
        wanted["name"] = check_name(wanted["name"], field="name", kind="tenant")
    there = replace(desk, tenant_id=tenant)
    before = TenantView.of(await tenants.find_tenant(there))
    there = account_dry_run(there) if dry_run else there
    after = TenantView.of(await tenants.set_quotas(there, lambda present: replace(present, **wanted)))
    return DryRunOf[TenantView].of(before, after) if dry_run else after


@router.get("/audit")
async def list_audit_entries(
    desk: Administering,
    principal: Known,
    installation: Installation = False,
    limit: Annotated[int, Query(ge=1, le=audit.PAGE_MAX)] = 50,
    cursor: Annotated[str | None, Query(max_length=20, description="`next_cursor` of the previous page.")] = None,
) -> PageOf[AuditEntryView]:
    """The audit trail, newest first: who did what, when and from where."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit()):
        raise broken_cursor()
    before = None if cursor is None else min(int(cursor), 1 << 62)
    entries = await audit.audit_entries(_audited(desk, principal, installation), before, limit)
    has_more = len(entries) == limit and entries[-1].seq > 1
    names = await desk.stores.look.names(desk.tenant_id, [each.subject for each in entries])
    return PageOf(
        items=[AuditEntryView.of(entry, names.get(entry.subject)) for entry in entries],
        next_cursor=str(entries[-1].seq) if has_more else None,
    )


@router.get("/audit/verify")
async def verify_audit(desk: Administering, principal: Known, installation: Installation = False) -> AuditVerdict:
    """Verify the trail from its first entry to its last: any changed, moved or removed entry is found."""
    return AuditVerdict.of(await audit.verify_audit(_audited(desk, principal, installation)))


def _audited(desk: Desk, principal: Principal, installation: bool) -> Desk:
    if installation and not principal.is_operator:
        raise Forbidden("the installation's trail is for its operators; ask one", scope="operator")
    return replace(desk, tenant_id=INSTALLATION) if installation else desk
