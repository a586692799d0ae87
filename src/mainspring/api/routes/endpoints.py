"""Endpoints: made, read, changed, archived, deleted."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mainspring.api.access import Reading, Running, Writing
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.endpoint_views import act_on_endpoint, rehearse_endpoint, tell, total_of
from mainspring.api.etags import IfMatch, endpoint_etag, version_wanted
from mainspring.api.models.answers import CountedPage, Deleted, EndpointChecked, EndpointDryRun, EndpointView
from mainspring.api.models.fields import Cursor, DryRun, EndpointRef, Limit, WithTotal
from mainspring.api.models.requests import EndpointNew, EndpointPatch, apply_patch
from mainspring.domain.instant import FOREVER
from mainspring.domain.run import Outcome
from mainspring.domain.schedule.changes import Change
from mainspring.operations import endpoints
from mainspring.operations.jobs import find_job
from mainspring.operations.test_run import check_endpoint as call_unsaved
from mainspring.ports.filters import EndpointListFilter, EndpointOrder, StateFilter
from mainspring.views.shapes import Shape, body_shape, endpoint_shape, instant

router = APIRouter(prefix="/endpoints", tags=["endpoints"])


@router.get("", response_model=CountedPage[EndpointView])
async def list_endpoints(
    desk: Reading,
    job: Annotated[str | None, Query(max_length=1_000, description="Id or name of a job.")] = None,
    state: Annotated[StateFilter | None, Query(description="Left out: all that are not archived.")] = None,
    text: Annotated[
        str | None,
        Query(min_length=1, max_length=500, description="Literally somewhere in name, description or URL."),
    ] = None,
    sort: Annotated[
        EndpointOrder, Query(description="By name or by next run; with a minus the other way round.")
    ] = "name",
    with_total: WithTotal = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Shape:
    """By name, or as `sort` says. A cursor belongs to the order that it was given out for."""
    jobs = {each.id: each.name for each in await desk.stores.endpoints.jobs(desk.tenant_id)}
    job_id = None if job is None else (await find_job(desk, job)).id
    kind = "endpoints" if sort == "name" else f"endpoints by {sort}"
    place = open_cursor(desk, kind, cursor)
    wanted = EndpointListFilter(job_id, state, text, (place[0], place[1]) if place else None, limit, sort)
    found = await desk.stores.look.endpoints(desk.tenant_id, wanted)
    now = await desk.stores.schedule.now()
    more = None
    if len(found) == limit:
        at = found[-1].next_run_at or FOREVER
        more = seal_cursor(desk, kind, found[-1].name if "name" in sort else at.isoformat(), found[-1].id)
    return {
        "items": [endpoint_shape(each, jobs[each.job_id], now) for each in found],
        "next_cursor": more,
        "total": await total_of(desk, wanted, with_total),
    }


@router.post(
    "", status_code=201, response_model=EndpointView | EndpointDryRun, responses={200: {"model": EndpointDryRun}}
)
async def create_endpoint(desk: Writing, wish: EndpointNew, response: Response, dry_run: DryRun = False) -> Shape:
    """Add an endpoint: a URL, and either `interval_ms` or `cron`. Its job is made if it is new."""
    if dry_run:
        response.status_code = 200
        return await rehearse_endpoint(desk, lambda there: endpoints.add_endpoint(there, wish.definition()))
    added = await endpoints.add_endpoint(desk, wish.definition())
    response.headers["ETag"] = endpoint_etag(added)
    response.headers["Location"] = f"/api/v1/endpoints/{added.id}"
    return await tell(desk, added)


@router.post("/check", response_model=EndpointChecked)
async def check_endpoint(desk: Running, wish: EndpointNew, request: Request) -> Shape:
    """Call an endpoint that is not saved, once, and tell what came back. Nothing is stored."""
    drafted, outcome = await call_unsaved(desk, request.app.state.context.caller, wish.definition())
    return {**await asyncio.to_thread(_outcome, outcome), "next_run_at": instant(drafted.next_run_at)}


@router.get("/{endpoint}", response_model=EndpointView)
async def read_endpoint(desk: Reading, endpoint: EndpointRef, response: Response) -> Shape:
    found = await endpoints.find_endpoint(desk, endpoint)
    response.headers["ETag"] = endpoint_etag(found)
    return await tell(desk, found)


@router.patch("/{endpoint}", response_model=EndpointView | EndpointDryRun)
async def update_endpoint(
    desk: Writing,
    endpoint: EndpointRef,
    wish: EndpointPatch,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Shape:
    """A JSON merge patch: what is not named stays, null sets a field back to its default.

    `interval_ms` takes the place of a cron expression, `cron` that of an interval. A header without a value, or with
    the mask that stands for a secret, keeps the value that is stored.
    """
    found = await endpoints.find_endpoint(desk, endpoint)
    version = version_wanted(if_match, found)

    async def edit(there: endpoints.Desk) -> Change:
        return await endpoints.edit_endpoint(there, found.id, lambda before: apply_patch(before, wish), version)

    if dry_run:
        return await rehearse_endpoint(desk, edit)
    edited = (await edit(desk)).endpoint
    response.headers["ETag"] = endpoint_etag(edited)
    return await tell(desk, edited)


@router.post("/{endpoint}/archive", response_model=EndpointView | EndpointDryRun)
async def archive_endpoint(
    desk: Writing, endpoint: EndpointRef, if_match: IfMatch = None, dry_run: DryRun = False
) -> Shape:
    """Take it out of the schedule for good; it is kept with its runs, and its name is free again."""
    found = await endpoints.find_endpoint(desk, endpoint)
    version_wanted(if_match, found)
    return await act_on_endpoint(desk, lambda there: endpoints.archive_endpoint(there, found.id), dry_run)


@router.delete("/{endpoint}", response_model=Deleted | EndpointDryRun)
async def delete_endpoint(
    desk: Writing, endpoint: EndpointRef, if_match: IfMatch = None, dry_run: DryRun = False
) -> Shape:
    """Remove it and all its runs. There is no way back; archiving keeps them."""
    found = await endpoints.find_endpoint(desk, endpoint)
    version_wanted(if_match, found)
    if dry_run:
        return await rehearse_endpoint(desk, lambda there: endpoints.delete_endpoint(there, found.id))
    deleted = await endpoints.delete_endpoint(desk, found.id)
    return {"id": deleted.id, "name": deleted.name, "deleted": True}


def _outcome(outcome: Outcome) -> Shape:
    phases = outcome.phases
    reached = "allowed" if outcome.address else "not reached"
    return {
        "status": outcome.status.value,
        "status_code": outcome.status_code,
        "error_code": outcome.error_code,
        "error": outcome.error,
        "duration_ms": outcome.duration_ms,
        "address": outcome.address,
        "address_verdict": "blocked" if outcome.error_code == "blocked_address" else reached,
        "phases": None if phases is None else {name: getattr(phases, name) for name in phases.__struct_fields__},
        "headers": list(outcome.headers),
        "retry_after_s": outcome.retry_after_s,
        "body": None if outcome.body is None else body_shape(outcome.body),
    }
