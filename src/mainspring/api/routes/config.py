"""Configuration as code: apply a document, export what there is, the schema of documents."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from pydantic import Field

from mainspring.api.access import Reading, Writing
from mainspring.api.answers import Answer
from mainspring.api.context import Context
from mainspring.api.fields import DryRun, RequestModel
from mainspring.api.problems import ApiError
from mainspring.configuration.applying import apply_files
from mainspring.configuration.document import json_schema
from mainspring.configuration.exporting import export_documents
from mainspring.configuration.faults import SHOWN_FAULTS_MAX, InvalidDocument
from mainspring.configuration.planning import Options
from mainspring.configuration.references import remote
from mainspring.configuration.shape import report_shape
from mainspring.configuration.writing import as_yaml
from mainspring.shapes import Shape

DOCUMENT_MAX = 900_000
EXAMPLE = "source: shop\nendpoints:\n  health:\n    url: https://example.com/health\n    every: 30s\n"

router = APIRouter(prefix="/config", tags=["config"])


class Application(RequestModel):
    """A document to apply, as YAML or JSON text. References to variables and files are not read on the server."""

    document: str = Field(max_length=DOCUMENT_MAX, description="The text of a document.", examples=[EXAMPLE])
    source: str | None = Field(
        default=None, max_length=100, description="Who manages what it describes, unless it says so itself; else `api`."
    )
    prune: bool = Field(
        default=False, description="Archive or delete what its sources manage and it no longer describes."
    )
    take_over: bool = Field(default=False, description="Manage also what another source manages.")


class FieldChanged(Answer):
    field: str
    before: object = None
    after: object = None


class StepTaken(Answer):
    act: str = Field(description="create, change, archive or delete.")
    kind: str
    name: str
    renamed_from: str | None
    fields: list[FieldChanged]


class Applied(Answer):
    dry_run: bool
    written: bool = Field(description="False: nothing was to be changed, or it was a dry run.")
    sources: list[str]
    counts: dict[str, int]
    steps: list[StepTaken]
    notes: list[str]


@router.post("/apply", response_model=Applied)
async def apply_config(request: Request, desk: Writing, wish: Application, dry_run: DryRun = False) -> Shape:
    """Make jobs and endpoints what a document describes, all of it or nothing."""
    context: Context = request.app.state.context
    options = Options(remote, context.messengers, prune=wish.prune, take_over=wish.take_over)
    files = [("document", wish.document.encode("utf-8", "replace"))]
    try:
        report = await apply_files(desk, files, options, source=wish.source or "api", dry_run=dry_run)
        return {"dry_run": dry_run, **report_shape(report)}
    except InvalidDocument as refused:
        errors = [
            {"pointer": "/document", "detail": f"line {each.place.line}, column {each.place.column}: {each.message}"}
            for each in refused.faults[:SHOWN_FAULTS_MAX]
        ]
        raise ApiError("invalid-input", str(refused), errors=errors) from None


@router.get("/export", response_class=PlainTextResponse)
async def export_config(desk: Reading) -> PlainTextResponse:
    """Jobs and endpoints as YAML, one document for each source; `${stored}` stands where a secret is."""
    return PlainTextResponse(as_yaml(await export_documents(desk)), media_type="text/plain; charset=utf-8")


@router.get("/schema")
async def read_config_schema(desk: Reading) -> dict[str, object]:
    """The JSON Schema of documents, for editors."""
    return json_schema()
