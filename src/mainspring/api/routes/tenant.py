"""Quotas and usage of a tenant, and the running workers."""

from fastapi import APIRouter
from msgspec.structs import replace

from mainspring.api.access import OperatingHere, Reading
from mainspring.api.models.fields import DryRun
from mainspring.api.models.requests import QuotasPatch
from mainspring.operations.dry_run import dry_run_desk
from mainspring.operations.tenants import find_tenant, set_quotas
from mainspring.views.account import Quotas, QuotasDryRun, Usage
from mainspring.views.dashboard import WorkerView
from mainspring.views.view import PageOf

router = APIRouter()


@router.get("/usage", tags=["tenant"])
async def read_usage(desk: Reading) -> Usage:
    """Quotas and usage."""
    tenant = await find_tenant(desk)
    now = await desk.stores.schedule.now()
    states = await desk.stores.look.count_states(desk.tenant_id, now)
    return Usage.of(tenant, sum(each.endpoints for each in states if each.state != "archived"))


@router.get("/quotas", tags=["tenant"])
async def read_quotas(desk: Reading) -> Quotas:
    return Quotas.of(await find_tenant(desk))


@router.patch("/quotas", tags=["tenant"])
async def update_quotas(desk: OperatingHere, wish: QuotasPatch, dry_run: DryRun = False) -> Quotas | QuotasDryRun:
    """Change quotas; missing fields stay unchanged, null removes a limit. Endpoints deferred by an old quota become
    due.
    """
    given = {name: getattr(wish, name) for name in wish.model_fields_set}
    before = Quotas.of(await find_tenant(desk))
    there = dry_run_desk(desk) if dry_run else desk
    after = Quotas.of(await set_quotas(there, lambda tenant: replace(tenant, **given)))
    return QuotasDryRun.of(before, after) if dry_run else after


@router.get("/workers", tags=["system"])
async def list_workers(desk: Reading) -> PageOf[WorkerView]:
    """Processes with a heartbeat in the last 30 seconds."""
    return PageOf(items=[WorkerView.of(each) for each in await desk.stores.presence.alive()], next_cursor=None)
