"""Pages for people: the front page, and what each kind of problem means."""

from html import escape

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, PlainTextResponse

from mainspring import __version__
from mainspring.api.problems import PROBLEMS, ApiError
from mainspring.domain.errors import did_you_mean
from mainspring.domain.name import shown

router = APIRouter(include_in_schema=False)


@router.get("/")
async def front_page() -> PlainTextResponse:
    return PlainTextResponse(f"Mainspring {__version__} is running. /api/v1/openapi.json /healthz /readyz /metrics\n")


@router.get("/problems/{kind}")
async def explain_problem(kind: str) -> HTMLResponse:
    known = PROBLEMS.get(kind)
    if known is None:
        raise ApiError("not-found", f"no problem {shown(kind)!r}{did_you_mean(kind, tuple(PROBLEMS))}")
    title = escape(f"{known.status} {known.title}")
    return HTMLResponse(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<h1>{title}</h1><p>{escape(known.meaning)}</p>"
        f"<p>The answer's <code>detail</code> says what happened; its <code>errors</code> say where.</p></html>"
    )
