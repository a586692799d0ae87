"""Quotas and usage of a tenant, and the running workers."""

from fastapi import APIRouter
from msgspec.structs import replace

from mainspring.api.access import OperatingHere, Reading
from mainspring.api.endpoint_views import differences
from mainspring.api.models.answers import PageOf, Quotas, QuotasDryRun, Usage, WorkerView
from mainspring.api.models.fields import DryRun
from mainspring.api.models.requests import QuotasPatch
from mainspring.domain.endpoint import Tenant
from mainspring.operations.dry_run import dry_run_desk
from mainspring.operations.tenants import find_tenant, set_quotas
from mainspring.views.shapes import Shape, instant

router = APIRouter()


@router.get("/usage", tags=["tenant"], response_model=Usage)
async def read_usage(desk: Reading) -> Shape:
    """Quotas and usage."""
    tenant = await find_tenant(desk)
    now = await desk.stores.schedule.now()
    states = await desk.stores.look.count_states(desk.tenant_id, now)
    return {
        "tenant": tenant.id,
        "name": tenant.name,
        "signing_keys": len(tenant.signing_keys),
        "quotas": _quotas(tenant),
        "runs_this_month": tenant.runs_this_month,
        "endpoints": sum(each.endpoints for each in states if each.state != "archived"),
    }


@router.get("/quotas", tags=["tenant"], response_model=Quotas)
async def read_quotas(desk: Reading) -> Shape:
    return _quotas(await find_tenant(desk))


@router.patch("/quotas", tags=["tenant"], response_model=Quotas | QuotasDryRun)
async def update_quotas(desk: OperatingHere, wish: QuotasPatch, dry_run: DryRun = False) -> Shape:
    """Change quotas; missing fields stay unchanged, null removes a limit. Endpoints deferred by an old quota become
    due.
    """
    given = {name: getattr(wish, name) for name in wish.model_fields_set}
    before = _quotas(await find_tenant(desk))
    there = dry_run_desk(desk) if dry_run else desk
    after = _quotas(await set_quotas(there, lambda tenant: replace(tenant, **given)))
    if not dry_run:
        return after
    return {"dry_run": True, "before": before, "after": after, "changed": differences(before, after)}


@router.get("/workers", tags=["system"], response_model=PageOf[WorkerView])
async def list_workers(desk: Reading) -> Shape:
    """Processes with a heartbeat in the last 30 seconds."""
    workers = await desk.stores.presence.alive()
    items = [
        {
            "id": each.id,
            "kind": each.kind,
            "places": each.places,
            "started_at": instant(each.started_at),
            "seen_at": instant(each.seen_at),
        }
        for each in workers
    ]
    return {"items": items, "next_cursor": None}


def _quotas(tenant: Tenant) -> Shape:
    return {
        "runs_per_month": tenant.runs_per_month,
        "tokens_per_month": tenant.tokens_per_month,
        "endpoints_max": tenant.endpoints_max,
        "interval_ms_min": tenant.interval_ms_min,
    }
