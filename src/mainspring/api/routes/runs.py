"""Runs: what happened. A response body is shown as harmless text, or given out raw as a file that nothing will open."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from msgspec.structs import replace

from mainspring.api.access import Reading
from mainspring.api.answers import BodyShown, Page, Run, RunInFull
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.fields import Cursor, EndpointRef, Instant, Limit, RunRef
from mainspring.domain.errors import NotFound
from mainspring.domain.looking import RunLook, StatusFilter
from mainspring.domain.run import Body, Trigger
from mainspring.operations.endpoints import Desk, find_endpoint
from mainspring.shapes import Shape, body_shape, run_in_full, run_shape

router = APIRouter(tags=["runs"])
Status = Annotated[
    StatusFilter | None, Query(description="Only runs that ended so; `failed`: as failure, timeout or blocked.")
]
By = Annotated[Trigger | None, Query(description="Only runs that began for this reason.")]
Since = Annotated[Instant | None, Query(description="Only runs that began at this instant or later.")]
Until = Annotated[Instant | None, Query(description="Only runs that began before this instant.")]
RAW_HEADERS = {
    "Content-Disposition": 'attachment; filename="response.txt"',
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
RAW = {"text/plain": {"schema": {"type": "string", "format": "binary"}}}


@router.get("/runs", response_model=Page[Run])
async def list_runs(
    desk: Reading,
    endpoint: Annotated[str | None, Query(max_length=1_000, description="Id or name of an endpoint.")] = None,
    status: Status = None,
    trigger: By = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Shape:
    """Newest first. With a filter a page may be short and still have a next one."""
    endpoint_id = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    return await _page(desk, RunLook(endpoint_id, status, trigger, since, until, None, limit), cursor)


@router.get("/endpoints/{endpoint}/runs", response_model=Page[Run])
async def list_runs_of_endpoint(
    desk: Reading,
    endpoint: EndpointRef,
    status: Status = None,
    trigger: By = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Shape:
    """Newest first."""
    found = await find_endpoint(desk, endpoint)
    return await _page(desk, RunLook(found.id, status, trigger, since, until, None, limit), cursor)


@router.get("/runs/{run}", response_model=RunInFull)
async def read_run(desk: Reading, run: RunRef) -> Shape:
    """With its phases, its response headers, its body as text, and the decision that planned it."""
    found = await desk.stores.runs.run(desk.tenant_id, run)
    if found is None:
        raise NotFound("run", run)
    names = await desk.stores.look.names(desk.tenant_id, [found.endpoint_id])
    body = await desk.stores.runs.body(desk.tenant_id, run)
    return run_in_full(found, names.get(found.endpoint_id, found.endpoint_id), body)


@router.get("/runs/{run}/body", response_model=BodyShown)
async def read_body(desk: Reading, run: RunRef) -> Shape:
    """The response body as harmless text: what would act on a screen is spelled out."""
    return body_shape(await _body(desk, run))


@router.get("/runs/{run}/body/raw", response_class=Response, responses={200: {"content": RAW}})
async def download_body(desk: Reading, run: RunRef) -> Response:
    """The bytes as they came, up to the endpoint's cap, as a file to save: never to be shown by a browser."""
    body = await _body(desk, run)
    return Response(body.data, media_type="text/plain; charset=utf-8", headers=RAW_HEADERS)


async def _body(desk: Desk, run: str) -> Body:
    body = await desk.stores.runs.body(desk.tenant_id, run)
    if body is None:
        raise NotFound("response body of run", run)
    return body


async def _page(desk: Desk, wanted: RunLook, cursor: str | None) -> Shape:
    place = open_cursor(desk, "runs", cursor)
    page = await desk.stores.look.runs(desk.tenant_id, replace(wanted, before_id=place[0] if place else None))
    after = page.next_before_id
    return {
        "items": [run_shape(run, name) for run, name in page.runs],
        "next_cursor": None if after is None else seal_cursor(desk, "runs", after),
    }
