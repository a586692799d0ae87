"""Endpoints: create, read, change, archive, delete."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mainspring.api.access import Reading, Running, Writing
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.endpoint_views import act_on_endpoint, dry_run_endpoint, total_of
from mainspring.api.etags import IfMatch, endpoint_etag, version_wanted
from mainspring.api.models.fields import Cursor, DryRun, EndpointRef, Limit, WithTotal
from mainspring.api.models.requests import EndpointNew, EndpointPatch, apply_patch
from mainspring.domain.instant import FOREVER
from mainspring.domain.schedule.changes import Change
from mainspring.operations import endpoints
from mainspring.operations.context import Desk
from mainspring.operations.jobs import find_job
from mainspring.operations.test_run import check_endpoint as call_unsaved
from mainspring.ports.filters import EndpointListFilter, EndpointOrder, StateFilter
from mainspring.views.endpoint import EndpointChecked, EndpointDryRun, EndpointView, load_endpoint
from mainspring.views.view import CountedPage, Deleted

router = APIRouter(prefix="/endpoints", tags=["endpoints"])


@router.get("")
async def list_endpoints(
    desk: Reading,
    job: Annotated[str | None, Query(max_length=1_000, description="Id or name of a job.")] = None,
    state: Annotated[StateFilter | None, Query(description="Default: all that are not archived.")] = None,
    text: Annotated[
        str | None,
        Query(min_length=1, max_length=500, description="Literal text in name, description or URL."),
    ] = None,
    sort: Annotated[EndpointOrder, Query(description="By name or by next run; a minus reverses the order.")] = "name",
    with_total: WithTotal = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> CountedPage[EndpointView]:
    """Endpoints by name, or in the order of `sort`. A cursor is valid only for the order it was created for."""
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
    return CountedPage(
        items=[EndpointView.of(each, now) for each in found],
        next_cursor=more,
        total=await total_of(desk, wanted, with_total),
    )


@router.post("", status_code=201, responses={200: {"model": EndpointDryRun}})
async def create_endpoint(
    desk: Writing, wish: EndpointNew, response: Response, dry_run: DryRun = False
) -> EndpointView | EndpointDryRun:
    """Create an endpoint: a URL, and either `every` or `cron`. Its job is created if new."""
    if dry_run:
        response.status_code = 200
        return await dry_run_endpoint(desk, lambda there: endpoints.add_endpoint(there, wish.config()))
    added = await endpoints.add_endpoint(desk, wish.config())
    response.headers["ETag"] = endpoint_etag(added)
    response.headers["Location"] = f"/api/v1/endpoints/{added.id}"
    return await load_endpoint(desk, added)


@router.post("/check")
async def check_endpoint(desk: Running, wish: EndpointNew, request: Request) -> EndpointChecked:
    """Call an endpoint that is not saved, once, and return the response. Nothing is stored."""
    drafted, outcome = await call_unsaved(desk, request.app.state.context.caller, wish.config())
    return await asyncio.to_thread(EndpointChecked.of, outcome, next_run_at=drafted.next_run_at)


@router.get("/{endpoint}")
async def read_endpoint(desk: Reading, endpoint: EndpointRef, response: Response) -> EndpointView:
    found = await endpoints.find_endpoint(desk, endpoint)
    response.headers["ETag"] = endpoint_etag(found)
    return await load_endpoint(desk, found)


@router.patch("/{endpoint}")
async def update_endpoint(
    desk: Writing,
    endpoint: EndpointRef,
    wish: EndpointPatch,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> EndpointView | EndpointDryRun:
    """A JSON merge patch: missing fields stay unchanged, null resets a field to its default.

    `every` replaces a cron expression, `cron` replaces an interval. A header without a value, or with the mask of
    a secret, keeps the stored value.
    """
    found = await endpoints.find_endpoint(desk, endpoint)
    version = version_wanted(if_match, found)

    async def edit(there: Desk) -> Change:
        return await endpoints.edit_endpoint(
            there, found.id, lambda before: apply_patch(before, wish), version, found=found
        )

    if dry_run:
        return await dry_run_endpoint(desk, edit)
    edited = (await edit(desk)).endpoint
    response.headers["ETag"] = endpoint_etag(edited)
    return await load_endpoint(desk, edited)


@router.post("/{endpoint}/archive")
async def archive_endpoint(
    desk: Writing, endpoint: EndpointRef, if_match: IfMatch = None, dry_run: DryRun = False
) -> EndpointView | EndpointDryRun:
    """Archive an endpoint: it never runs again, is kept with its runs, and its name can be reused."""
    found = await endpoints.find_endpoint(desk, endpoint)
    version_wanted(if_match, found)
    return await act_on_endpoint(desk, lambda there: endpoints.archive_endpoint(there, found.id), dry_run)


@router.delete("/{endpoint}")
async def delete_endpoint(
    desk: Writing, endpoint: EndpointRef, if_match: IfMatch = None, dry_run: DryRun = False
) -> Deleted | EndpointDryRun:
    """Delete an endpoint and all its runs. This cannot be undone; archiving keeps them."""
    found = await endpoints.find_endpoint(desk, endpoint)
    version_wanted(if_match, found)
    if dry_run:
        return await dry_run_endpoint(desk, lambda there: endpoints.delete_endpoint(there, found.id))
    return Deleted.of(await endpoints.delete_endpoint(desk, found.id))
