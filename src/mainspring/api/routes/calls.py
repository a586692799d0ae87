"""Calls: single runs that a program requests, each by a key."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from mainspring.api.access import Reading, Writing
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.models.fields import Cursor, DryRun, Limit
from mainspring.api.models.requests import CallsNew
from mainspring.operations import calls
from mainspring.operations.dry_run import dry_run_desk
from mainspring.ports.calls import CallFilter, CallState
from mainspring.views.call import CallView, PlacedCalls
from mainspring.views.view import DryRunOf, PageOf

router = APIRouter(prefix="/calls", tags=["calls"])
CallRef = Annotated[
    str, Path(alias="call", description="Id or key of a call.", max_length=1_000, examples=["order-17"])
]


@router.post("", status_code=201, responses={200: {"model": PlacedCalls, "description": "The calls, not stored."}})
async def create_calls(desk: Writing, wish: CallsNew, response: Response, dry_run: DryRun = False) -> PlacedCalls:
    """Call URLs once each, now or at a time: up to 2,000 calls, all or none.

    The same key twice is one call: the response has the existing call, with `is_new` false.
    """
    if dry_run:
        response.status_code = 200
    there = dry_run_desk(desk) if dry_run else desk
    drafts = await asyncio.to_thread(wish.drafts)  # thousands take a tenth of a second
    return PlacedCalls.of(await calls.add_calls(there, drafts, dry_run=dry_run), dry_run=dry_run)


@router.get("")
async def list_calls(
    desk: Reading,
    state: Annotated[CallState | None, Query(description="Default: all.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> PageOf[CallView]:
    """Calls, newest first."""
    place = open_cursor(desk, "calls", cursor)
    found = await desk.stores.calls.calls(desk.tenant_id, CallFilter(state, place[0] if place else None, limit))
    more = seal_cursor(desk, "calls", found[-1].id, "") if len(found) == limit else None
    return PageOf(items=[CallView.of(each) for each in found], next_cursor=more)


@router.get("/{call}")
async def read_call(desk: Reading, call: CallRef) -> CallView:
    return CallView.of(await calls.find_call(desk, call))


@router.post("/{call}/cancel")
async def cancel_call(desk: Writing, call: CallRef, dry_run: DryRun = False) -> CallView | DryRunOf[CallView]:
    """Cancel a waiting call. A running one is not interrupted and has no further attempt."""
    if not dry_run:
        return CallView.of(await calls.cancel_call(desk, call))
    before = CallView.of(await calls.find_call(desk, call))
    return DryRunOf[CallView].of(before, CallView.of(await calls.cancel_call(dry_run_desk(desk), call)))
