"""Responses to changes of endpoints and jobs: the result, or with `dry_run` what would change."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from mainspring.domain.endpoint import Endpoint, Job
from mainspring.domain.schedule.changes import Change
from mainspring.operations.context import Desk
from mainspring.operations.dry_run import dry_run
from mainspring.operations.preview import load_preview
from mainspring.ports.filters import EndpointListFilter, RunListFilter
from mainspring.ports.notifications import DeliveryFilter
from mainspring.ports.workflows import ExecutionFilter
from mainspring.views.endpoint import EndpointDryRun, EndpointView, PreviewChange, load_endpoint, load_templates
from mainspring.views.job import JobDryRun
from mainspring.views.run import NextRunChange, PlannedRunView
from mainspring.views.view import TotalView, differences

PREVIEWED = 5

Act = Callable[[Desk], Awaitable[Change]]


async def total_of(
    desk: Desk, wanted: EndpointListFilter | RunListFilter | ExecutionFilter | DeliveryFilter, with_total: bool
) -> TotalView | None:
    """The total of a list, if the request asks for it."""
    if not with_total:
        return None
    return TotalView.from_value(await desk.stores.look.total(desk.tenant_id, wanted))


async def act_on_endpoint(desk: Desk, act: Act, dry_run: bool) -> EndpointView | EndpointDryRun:
    """Applies the change and shows the endpoint, or shows what would change."""
    if not dry_run:
        return await load_endpoint(desk, (await act(desk)).endpoint)
    return await dry_run_endpoint(desk, act)


async def dry_run_endpoint(desk: Desk, act: Callable[[Desk], Awaitable[object]]) -> EndpointDryRun:
    there, tried = dry_run(desk)
    await act(there)
    before, after = tried.changed[-1]
    now = await desk.stores.schedule.now()
    old = await load_endpoint(desk, before) if before else None
    new = await load_endpoint(there, after) if after else None
    from_at = before.next_run_at if before else None
    to_at = after.next_run_at if after else None
    return EndpointDryRun(
        before=old,
        after=new,
        changed=differences(old, new),
        next_run_at=NextRunChange(before=from_at, after=to_at) if from_at != to_at else None,
        preview=PreviewChange(before=await _previewed(desk, before, now), after=await _previewed(desk, after, now)),
        templates=await load_templates(there, after) if after else None,
    )


async def dry_run_job(desk: Desk, act: Callable[[Desk], Awaitable[Job]], before: Job | None) -> JobDryRun:
    there, tried = dry_run(desk)
    after = await act(there)
    return JobDryRun.of(before, after, tried.changed)


async def _previewed(desk: Desk, endpoint: Endpoint | None, now: datetime) -> list[PlannedRunView]:
    if endpoint is None:
        return []
    return [PlannedRunView.of(decision) for decision in await load_preview(desk, endpoint, now, PREVIEWED)]
