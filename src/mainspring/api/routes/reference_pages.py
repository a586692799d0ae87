"""Pages for people: the front page, the reference of the API, and the meaning of each kind of problem."""

from html import escape
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from mainspring.api.problems import PROBLEMS, HttpProblem
from mainspring.api.schema import Description
from mainspring.domain.errors import did_you_mean
from mainspring.domain.name import shown

router = APIRouter(include_in_schema=False)
REFERENCE_PAGE = files("mainspring.api").joinpath("reference_page")
TYPES = {"page.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}


@router.get("/api/v1/openapi.json")
async def read_description(request: Request) -> Response:
    """The OpenAPI document."""
    description: Description = request.app.state.description
    return Response(await description.text(), media_type="application/json")


@router.get("/api/docs")
async def show_reference() -> Response:
    """The API reference, rendered in the browser from the document by our own script: it works without the network."""
    return _file("page.html")


@router.get("/api/docs/{name}")
async def show_reference_part(name: str) -> Response:
    if name not in TYPES:
        raise HttpProblem("not-found", f"file {shown(name)!r} does not exist; /api/docs is the reference of the API")
    return _file(name)


@router.get("/problems/{kind}")
async def explain_problem(kind: str) -> HTMLResponse:
    known = PROBLEMS.get(kind)
    if known is None:
        raise HttpProblem("not-found", f"problem {shown(kind)!r} does not exist{did_you_mean(kind, tuple(PROBLEMS))}")
    title = escape(f"{known.status} {known.title}")
    return HTMLResponse(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<h1>{title}</h1><p>{escape(known.meaning)}</p>"
        f"<p>The answer's <code>detail</code> says what happened; its <code>errors</code> say where.</p></html>"
    )


def _file(name: str) -> Response:
    return Response(REFERENCE_PAGE.joinpath(name).read_bytes(), media_type=f"{TYPES[name]}; charset=utf-8")
