"""How the demo stands, where this is one; no part of the API elsewhere, and so not in its document."""

from fastapi import APIRouter, Request

from mainspring.api.access import Reading
from mainspring.api.context import Context
from mainspring.api.cursors import seal_cursor
from mainspring.api.problems import HttpProblem
from mainspring.views.shapes import Shape

router = APIRouter(prefix="/demo", include_in_schema=False)


@router.get("")
async def read_demo(desk: Reading, request: Request) -> Shape:
    """The shop of `mainspring demo`: which minute its day is in, what its pager received.

    `since` is the cursor of events from which on they are of this day.
    """
    context: Context = request.app.state.context
    if context.demo is None:
        raise HttpProblem("not-found", "this is no demo; `mainspring demo` starts one beside it")
    told = context.demo()
    return {**told, "since": seal_cursor(desk, "events", str(told["since"]))}
