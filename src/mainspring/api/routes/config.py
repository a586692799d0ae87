"""Configuration as code: apply a document, export the configuration, get the schema of documents."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from mainspring.api.access import Reading, Writing
from mainspring.api.context import Context
from mainspring.api.models.fields import DryRun, RequestModel
from mainspring.api.problems import HttpProblem
from mainspring.documents.apply import Report, apply_files
from mainspring.documents.document import json_schema
from mainspring.documents.export import export_documents
from mainspring.documents.faults import SHOWN_FAULTS_MAX, InvalidDocument
from mainspring.documents.plan import Options
from mainspring.documents.references import sent
from mainspring.documents.yaml_writer import as_yaml
from mainspring.views.document import Applied

DOCUMENT_MAX = 900_000
EXAMPLE = "source: shop\nendpoints:\n  health:\n    url: https://example.com/health\n    every: 30s\n"

router = APIRouter(prefix="/config", tags=["config"])


class DocumentFile(RequestModel):
    name: str = Field(max_length=300, description="Name of the file; used in errors and as the default source.")
    content: str = Field(max_length=DOCUMENT_MAX, description="Content of the file.", examples=[EXAMPLE])


class Application(RequestModel):
    """Documents to apply, as YAML or JSON text. The server does not read references to variables and files."""

    document: str = Field(default="", max_length=DOCUMENT_MAX, description="Text of a document.", examples=[EXAMPLE])
    files: list[DocumentFile] = Field(
        default=[], max_length=1_000, description="Alternatively several documents, with their names."
    )
    references: dict[str, str] = Field(
        default={},
        max_length=10_000,
        description="Values of references, read by the client: `env:NAME` or `file:/path` to its value.",
    )
    source: str | None = Field(
        default=None,
        max_length=100,
        description="Source that manages the entries, unless the document names one; default `api`.",
    )
    prune: bool = Field(
        default=False, description="Archive or delete what its sources manage and the documents no longer describe."
    )
    take_over: bool = Field(default=False, description="Take over entries that another source manages.")


@router.post("/apply", response_model=Applied)
async def apply_config(request: Request, desk: Writing, wish: Application, dry_run: DryRun = False) -> Response:
    """Apply documents: change what they describe to match, all or nothing.

    They describe jobs, endpoints, rules, calendars, maintenance windows, alerts, webhooks and workflows.
    """
    context: Context = request.app.state.context
    options = Options(sent(wish.references), context.messengers, prune=wish.prune, take_over=wish.take_over)
    if bool(wish.document) == bool(wish.files):
        detail = "give either `document` or `files`: one text, or several with their names"
        raise HttpProblem("invalid-input", detail, errors=[{"pointer": "/document", "detail": detail}])
    texts = [(each.name, each.content) for each in wish.files] or [("document", wish.document)]
    files = [(name, text.encode("utf-8", "replace")) for name, text in texts]
    source = wish.source or (None if wish.files else "api")
    try:
        report = await apply_files(desk, files, options, source=source, dry_run=dry_run)
        return await asyncio.to_thread(_answer, report, dry_run)
    except InvalidDocument as refused:
        names = [name for name, _ in files]
        errors = [
            {
                "pointer": f"/files/{names.index(each.place.file)}/content" if wish.files else "/document",
                "detail": f"line {each.place.line}, column {each.place.column}: {each.message}",
                "line": each.place.line,
                "column": each.place.column,
                "length": each.place.length,
                "masked": each.place.is_masked,
                "message": each.message,
            }
            for each in refused.faults[:SHOWN_FAULTS_MAX]
        ]
        raise HttpProblem("invalid-input", str(refused), errors=errors) from None


def _answer(report: Report, dry_run: bool) -> Response:
    """Thousands of steps, serialised in a thread: FastAPI would validate and serialise them on the event loop."""
    return Response(Applied.of(report, dry_run=dry_run).model_dump_json(), media_type="application/json")


@router.get("/export", response_class=PlainTextResponse)
async def export_config(
    desk: Reading,
    source: Annotated[str | None, Query(max_length=100, description="Only entries of this source.")] = None,
) -> PlainTextResponse:
    """Export everything as YAML, one document per source; `${stored}` replaces secrets."""
    documents = await export_documents(desk, source)
    text = await desk.sandbox.call(desk.tenant_id, as_yaml, documents)
    return PlainTextResponse(text, media_type="text/plain; charset=utf-8")


@router.get("/schema")
async def read_config_schema(desk: Reading) -> dict[str, object]:
    """The JSON Schema of documents, for editors."""
    return json_schema()
