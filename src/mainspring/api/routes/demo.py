"""How the demo stands, where this is one; no part of the API elsewhere, and so not in its document."""

from fastapi import APIRouter, Request

from mainspring.api.access import Reading
from mainspring.api.context import Context
from mainspring.api.problems import ApiError
from mainspring.shapes import Shape

router = APIRouter(prefix="/demo", include_in_schema=False)


@router.get("")
async def read_demo(desk: Reading, request: Request) -> Shape:
    """The shop of `mainspring demo`: which minute and phase its day is in, and what its pager received."""
    context: Context = request.app.state.context
    if context.demo is None:
        raise ApiError("not-found", "this is no demo; `mainspring demo` starts one beside it")
    return context.demo()
