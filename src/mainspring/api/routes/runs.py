"""Runs: past runs and their responses. A response body is returned as safe text, or raw as a file download."""

import asyncio
from collections.abc import Callable
from typing import Annotated, ParamSpec

from fastapi import APIRouter, Query, Response
from msgspec.structs import replace
from pydantic import BaseModel

from mainspring.api.access import Reading
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.endpoint_views import total_of
from mainspring.api.models.fields import Cursor, EndpointRef, Limit, NewestOrOldest, RunRef, WithTotal
from mainspring.domain.errors import NotFound
from mainspring.domain.run import Body, RunTrigger
from mainspring.inputs.values import Instant
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from mainspring.operations.runs import waiting_of
from mainspring.ports.filters import RunListFilter, StatusFilter
from mainspring.views.run import BodyView, RunDetailView, RunView
from mainspring.views.view import CountedPage

router = APIRouter(tags=["runs"])
P = ParamSpec("P")
Status = Annotated[
    StatusFilter | None, Query(description="Only runs with this status; `failed`: failure, timeout or blocked.")
]
By = Annotated[RunTrigger | None, Query(description="Only runs with this trigger.")]
Since = Annotated[Instant | None, Query(description="Only runs that started at this time or later.")]
Until = Annotated[Instant | None, Query(description="Only runs that started before this time.")]
RAW_HEADERS = {
    "Content-Disposition": 'attachment; filename="response.txt"',
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
RAW = {"text/plain": {"schema": {"type": "string", "format": "binary"}}}


@router.get("/runs")
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
) -> CountedPage[RunView]:
    """Runs, newest first, or in the order of `sort`. A filtered page may be short and still have a next one."""
    endpoint_id = None if endpoint is None else (await find_endpoint(desk, endpoint)).id
    return await _page(
        desk,
        RunListFilter(endpoint_id, status, trigger, since, until, None, limit, sort == "started_at"),
        cursor,
        with_total,
    )


@router.get("/endpoints/{endpoint}/runs")
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
) -> CountedPage[RunView]:
    """Runs of an endpoint, newest first, or in the order of `sort`."""
    found = await find_endpoint(desk, endpoint)
    return await _page(
        desk,
        RunListFilter(found.id, status, trigger, since, until, None, limit, sort == "started_at"),
        cursor,
        with_total,
    )


@router.get("/runs/{run}", response_model=RunDetailView)
async def read_run(desk: Reading, run: RunRef) -> Response:
    """A run with its phases, response headers, body as text, and the decision that planned it."""
    found = await desk.stores.runs.run(desk.tenant_id, run)
    if found is None:
        raise NotFound("run", run)
    names = await desk.stores.look.names(desk.tenant_id, [found.endpoint_id])
    body = await desk.stores.runs.body(desk.tenant_id, run)
    waiting = await waiting_of(desk, found)
    return await _written(RunDetailView.of, found, names.get(found.endpoint_id, found.endpoint_id), body, waiting)


@router.get("/runs/{run}/body", response_model=BodyView)
async def read_body(desk: Reading, run: RunRef) -> Response:
    """The response body as safe text: control characters are escaped."""
    return await _written(BodyView.of, await _body(desk, run))


@router.get("/runs/{run}/body/raw", response_class=Response, responses={200: {"content": RAW}})
async def download_body(desk: Reading, run: RunRef) -> Response:
    """The raw bytes, up to the endpoint's cap, as a file to save: never displayed by a browser."""
    body = await _body(desk, run)
    return Response(body.data, media_type="text/plain; charset=utf-8", headers=RAW_HEADERS)


async def _written(view: Callable[P, BaseModel], *args: P.args, **kwargs: P.kwargs) -> Response:
    """The response, made in a thread: escaping and writing a binary body of 10 MB takes more than a second."""
    data = await asyncio.to_thread(lambda: view(*args, **kwargs).model_dump_json())
    return Response(data, media_type="application/json")


async def _body(desk: Desk, run: str) -> Body:
    body = await desk.stores.runs.body(desk.tenant_id, run)
    if body is None:
        raise NotFound("response body of run", run)
    return body


async def _page(desk: Desk, wanted: RunListFilter, cursor: str | None, with_total: bool) -> CountedPage[RunView]:
    kind = "runs, oldest first" if wanted.oldest_first else "runs"
    place = open_cursor(desk, kind, cursor)
    page = await desk.stores.look.runs(desk.tenant_id, replace(wanted, before_id=place[0] if place else None))
    after = page.next_before_id
    return CountedPage(
        items=[RunView.of(run, name) for run, name in page.runs],
        next_cursor=None if after is None else seal_cursor(desk, kind, after),
        total=await total_of(desk, wanted, with_total),
    )
