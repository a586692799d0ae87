"""Jobs, endpoints and runs as they are told: read together with what belongs to them, or rehearsed."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from mainspring.domain.endpoint import Endpoint, Job
from mainspring.domain.schedule.changes import Change
from mainspring.operations.dry_run import dry_run
from mainspring.operations.endpoints import Desk
from mainspring.operations.preview import preview
from mainspring.operations.proposals import pending_of
from mainspring.operations.runs import find_wait
from mainspring.ports.filters import EndpointListFilter, RunListFilter
from mainspring.ports.notifications import DeliveryFilter
from mainspring.ports.workflows import ExecutionFilter
from mainspring.views.decision import PlannedRunView
from mainspring.views.job import JobDryRun
from mainspring.views.sentences import EndpointSight
from mainspring.views.shapes import Shape, endpoint_shape, instant
from mainspring.views.view import TotalView

PREVIEWED = 5

Act = Callable[[Desk], Awaitable[Change]]


async def see(desk: Desk, endpoint: Endpoint) -> EndpointSight:
    """With what it waits for, if it is due, and with its pending proposals."""
    workers = await desk.stores.presence.alive()
    has_scheduler = any(worker.kind == "scheduler" for worker in workers)
    wait = await find_wait(desk, endpoint)
    now = await desk.stores.schedule.now()
    return EndpointSight(endpoint, endpoint.job, now, has_scheduler, wait, await pending_of(desk, endpoint))


async def tell(desk: Desk, endpoint: Endpoint) -> Shape:
    return endpoint_shape(endpoint, endpoint.job, await desk.stores.schedule.now())


async def total_of(
    desk: Desk, wanted: EndpointListFilter | RunListFilter | ExecutionFilter | DeliveryFilter, with_total: bool
) -> TotalView | None:
    """How many a list has in all, where that was asked for."""
    if not with_total:
        return None
    return TotalView.from_value(await desk.stores.look.total(desk.tenant_id, wanted))


async def act_on_endpoint(desk: Desk, act: Act, dry_run: bool) -> Shape:
    """Do it and tell the endpoint as it now is, or tell what would change."""
    if not dry_run:
        return await tell(desk, (await act(desk)).endpoint)
    return await rehearse_endpoint(desk, act)


async def rehearse_endpoint(desk: Desk, act: Callable[[Desk], Awaitable[object]]) -> Shape:
    there, rehearsed = dry_run(desk)
    await act(there)
    before, after = rehearsed.changed[-1]
    now = await desk.stores.schedule.now()
    old = await tell(desk, before) if before else None
    new = await tell(there, after) if after else None
    from_at = before.next_run_at if before else None
    to_at = after.next_run_at if after else None
    return {
        "dry_run": True,
        "before": old,
        "after": new,
        "changed": differences(old, new),
        "next_run_at": _moved(from_at, to_at) if from_at != to_at else None,
        "preview": {"before": _previewed(desk, before, now), "after": _previewed(desk, after, now)},
    }


async def rehearse_job(desk: Desk, act: Callable[[Desk], Awaitable[Job]], before: Job | None) -> JobDryRun:
    there, rehearsed = dry_run(desk)
    after = await act(there)
    return JobDryRun.of(before, after, rehearsed.changed)


def compared(before: Shape | None, after: Shape | None) -> Shape:
    """What a write with `dry_run` would have changed."""
    return {"dry_run": True, "before": before, "after": after, "changed": differences(before, after)}


def differences(before: Shape | None, after: Shape | None) -> list[str]:
    old, new = before or {}, after or {}
    return [name for name in (new or old) if old.get(name) != new.get(name)]


def _moved(before: datetime | None, after: datetime | None) -> Shape:
    return {"before": instant(before), "after": instant(after)}


def _previewed(desk: Desk, endpoint: Endpoint | None, now: datetime) -> list[PlannedRunView]:
    if endpoint is None:
        return []
    return [PlannedRunView.of(decision) for decision in preview(endpoint, now, PREVIEWED, desk.cron)]
