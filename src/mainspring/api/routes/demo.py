"""The state of the demo. Elsewhere this is not a part of the API, so it is not in its document."""

from fastapi import APIRouter, Request

from mainspring.api.access import Reading
from mainspring.api.context import Context
from mainspring.api.cursors import seal_cursor
from mainspring.api.problems import HttpProblem
from mainspring.views.view import JsonObject

router = APIRouter(prefix="/demo", include_in_schema=False)


@router.get("")
async def read_demo(desk: Reading, request: Request) -> JsonObject:
    """The shop of `mainspring demo`: the minute of its day, the messages of its pager.

    `since` is the cursor from which on events belong to this day.
    """
    context: Context = request.app.state.context
    if context.demo is None:
        raise HttpProblem("not-found", "this is not a demo; `mainspring demo` starts one")
    told = context.demo()
    return {**told, "since": seal_cursor(desk, "events", str(told["since"]))}
