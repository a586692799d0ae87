"""Runs: what happened. A response body is shown as harmless text, or given out raw as a file that nothing will open."""

import asyncio
from collections.abc import Callable
from typing import Annotated, ParamSpec

import msgspec
from fastapi import APIRouter, Query, Response
from msgspec.structs import replace

from mainspring.api.access import Reading
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.endpoint_views import total_of
from mainspring.api.models.answers import BodyView, CountedPage, RunDetailView, RunView
from mainspring.api.models.fields import Cursor, EndpointRef, Instant, Limit, NewestOrOldest, RunRef, WithTotal
from mainspring.domain.errors import NotFound
from mainspring.domain.run import Body, RunTrigger
from mainspring.operations.endpoints import Desk, find_endpoint
from mainspring.ports.filters import RunListFilter, StatusFilter
from mainspring.views.shapes import Shape, body_shape, run_in_full, run_shape

router = APIRouter(tags=["runs"])
P = ParamSpec("P")
Status = Annotated[
    StatusFilter | None, Query(description="Only runs that ended so; `failed`: as failure, timeout or blocked.")
]
By = Annotated[RunTrigger | None, Query(description="Only runs that began for this reason.")]
Since = Annotated[Instant | None, Query(description="Only runs that began at this instant or later.")]
Until = Annotated[Instant | None, Query(description="Only runs that began before this instant.")]
RAW_HEADERS = {
    "Content-Disposition": 'attachment; filename="response.txt"',
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
RAW = {"text/plain": {"schema": {"type": "string", "format": "binary"}}}


@router.get("/runs", response_model=CountedPage[RunView])
async def list_runs(
    desk: Reading,
    endpoint: Annotated[str | None, Query(max_length=1_000, description="Id or name of an endpoint.")] = None,
    status: Status = None,
    trigger: By = None,
    since: Since = None,
    until: Until = None,
    sort: NewestOrOldest = "-started_at",
    with_total: WithTotal = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Shape:
    """Newest first, or as `sort` says. With a filter a page may be short and still have a next one."""
    endpoint_id = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    return await _page(
        desk,
        RunListFilter(endpoint_id, status, trigger, since, until, None, limit, sort == "started_at"),
        cursor,
        with_total,
    )


@router.get("/endpoints/{endpoint}/runs", response_model=CountedPage[RunView])
async def list_runs_of_endpoint(
    desk: Reading,
    endpoint: EndpointRef,
    status: Status = None,
    trigger: By = None,
    since: Since = None,
    until: Until = None,
    sort: NewestOrOldest = "-started_at",
    with_total: WithTotal = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Shape:
    """Newest first, or as `sort` says."""
    found = await find_endpoint(desk, endpoint)
    return await _page(
        desk,
        RunListFilter(found.id, status, trigger, since, until, None, limit, sort == "started_at"),
        cursor,
        with_total,
    )


@router.get("/runs/{run}", response_model=RunDetailView)
async def read_run(desk: Reading, run: RunRef) -> Response:
    """With its phases, its response headers, its body as text, and the decision that planned it."""
    found = await desk.stores.runs.run(desk.tenant_id, run)
    if found is None:
        raise NotFound("run", run)
    names = await desk.stores.look.names(desk.tenant_id, [found.endpoint_id])
    body = await desk.stores.runs.body(desk.tenant_id, run)
    return await _written(run_in_full, found, names.get(found.endpoint_id, found.endpoint_id), body)


@router.get("/runs/{run}/body", response_model=BodyView)
async def read_body(desk: Reading, run: RunRef) -> Response:
    """The response body as harmless text: what would act on a screen is spelled out."""
    return await _written(body_shape, await _body(desk, run))


@router.get("/runs/{run}/body/raw", response_class=Response, responses={200: {"content": RAW}})
async def download_body(desk: Reading, run: RunRef) -> Response:
    """The bytes as they came, up to the endpoint's cap, as a file to save: never to be shown by a browser."""
    body = await _body(desk, run)
    return Response(body.data, media_type="text/plain; charset=utf-8", headers=RAW_HEADERS)


async def _written(shape: Callable[P, Shape], *args: P.args, **kwargs: P.kwargs) -> Response:
    """The answer, made in a thread: a binary body of 10 MB is spelled out and written in more than a second."""
    data = await asyncio.to_thread(lambda: msgspec.json.encode(shape(*args, **kwargs)))
    return Response(data, media_type="application/json")


async def _body(desk: Desk, run: str) -> Body:
    body = await desk.stores.runs.body(desk.tenant_id, run)
    if body is None:
        raise NotFound("response body of run", run)
    return body


async def _page(desk: Desk, wanted: RunListFilter, cursor: str | None, with_total: bool) -> Shape:
    kind = "runs, oldest first" if wanted.oldest_first else "runs"
    place = open_cursor(desk, kind, cursor)
    page = await desk.stores.look.runs(desk.tenant_id, replace(wanted, before_id=place[0] if place else None))
    after = page.next_before_id
    return {
        "items": [run_shape(run, name) for run, name in page.runs],
        "next_cursor": None if after is None else seal_cursor(desk, kind, after),
        "total": await total_of(desk, wanted, with_total),
    }
