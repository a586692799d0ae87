"""`mainspring apply`, `diff`, `export` and `schema`: configuration as code."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.command import WOULD_CHANGE, OutputOption, ask, current_settings
from mainspring.cli.output import Output, as_json, note, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.remote import apply_documents

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.documents.faults import InvalidDocument
    from mainspring.operations.context import Desk
    from mainspring.views.document import Applied, StepTaken

VALUE_CHARS_MAX = 100
MARKS = {"create": "+", "change": "~", "archive": "-", "delete": "-"}

Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help="YAML documents; a folder is all of its documents, - is stdin.")
]
Prune = Annotated[
    bool,
    typer.Option("--prune", help="Archive entries that the sources of these documents manage and no longer describe."),
]
TakeOver = Annotated[
    bool, typer.Option("--take-over", help="Take over entries that another source manages, instead of refusing.")
]
Source = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", help="Source of documents that name none; default: the name of the file."),
]


def apply(
    files: Files,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    prune: Prune = False,
    take_over: TakeOver = False,
    source: Source = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Apply documents: change jobs, endpoints, rules, calendars, maintenance, alerts, webhooks and workflows to match.

    All or nothing: an error in any document leaves everything unchanged. Applying the same documents again changes
    nothing.
    """
    report = _apply(files, prune, take_over, source, output, dry_run=dry_run)
    show_report(report, output)


def diff(
    files: Files,
    prune: Prune = False,
    take_over: TakeOver = False,
    source: Source = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what `apply` would change.

    Exits with 0 if nothing would change, and with 7 if something would.
    """
    report = _apply(files, prune, take_over, source, output, dry_run=True)
    show_report(report, output)
    if report.steps:
        sys.stdout.flush()
        raise typer.Exit(WOULD_CHANGE)


def export(
    source: Annotated[str | None, typer.Option("--source", metavar="NAME", help="Only entries of this source.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Export everything that documents describe as YAML, without defaults.

    One document per source; `source: null` has entries without a source. Secrets are replaced by ${stored}, which keeps
    the stored value when the document is applied. With -o json, a list of documents.
    """
    from mainspring.documents.export import export_documents
    from mainspring.documents.yaml_reader import read_documents
    from mainspring.documents.yaml_writer import as_yaml
    from mainspring.operations.audit import note_export

    async def work(desk: "Desk") -> list[dict[str, object]]:
        found = await export_documents(desk, source)
        await note_export(desk, "configuration")
        return found

    def remotely(client: "Client") -> list[dict[str, object]]:
        exported = client.config.export(source=source)
        return [tree.value for tree in read_documents("export", exported) if isinstance(tree.value, dict)]

    documents = ask(work, remotely)
    if source is not None and not documents:
        note(f"source {source!r} manages nothing here; `mainspring export` shows all sources")
    if output is Output.JSON:
        show_json(documents)
    else:
        print(as_yaml(documents), end="")


def schema() -> None:
    """Print the JSON Schema of documents, for editors."""
    from mainspring.documents.document import json_schema

    show_json(json_schema())


def _apply(
    files: list[str], prune: bool, take_over: bool, source: str | None, output: Output, *, dry_run: bool
) -> "Applied":
    from mainspring.documents.apply import apply_files
    from mainspring.documents.faults import InvalidDocument
    from mainspring.documents.files import read_files
    from mainspring.documents.plan import Options
    from mainspring.documents.references import local, references_in
    from mainspring.views.document import Applied
    from mainspring.wiring.outbound import open_messengers

    messengers = open_messengers(current_settings())
    options = Options(local(os.environ), messengers, prune=prune, take_over=take_over)

    async def work(desk: "Desk") -> "Applied":
        report = await apply_files(desk, read_files(files), options, source=source, dry_run=dry_run)
        return Applied.of(report, dry_run=dry_run)

    def remotely(client: "Client") -> "Applied":
        found = read_files(files)
        references: dict[str, str] = {}
        for _, data in found:
            references |= references_in(data.decode("utf-8", "replace"), local(os.environ))
        return apply_documents(
            client, found, references, source=source, prune=prune, take_over=take_over, dry_run=dry_run
        )

    try:
        with progress("diff" if dry_run else "apply"):
            return ask(work, remotely, only_reads=dry_run)
    except InvalidDocument as refused:
        show_faults(refused, output)
        raise typer.Exit(1) from None


def show_faults(refused: "InvalidDocument", output: Output) -> None:
    if output is Output.JSON:
        faults = [
            {
                "file": fault.place.file,
                "line": fault.place.line,
                "column": fault.place.column,
                "message": fault.message,
            }
            for fault in refused.faults
        ]
        error = {"code": refused.code, "message": str(refused), "field": refused.field, "faults": faults}
        print(as_json({"error": error}), file=sys.stderr)
        return
    count = len(refused.faults)
    print(refused.in_full(), file=sys.stderr)
    print(f"error: {count} error{'' if count == 1 else 's'}; nothing was changed", file=sys.stderr)


def show_report(report: "Applied", output: Output) -> None:
    if output is Output.JSON:
        show_json(report)
        return
    for step in report.steps:
        _show_step(step)
    for text in report.notes:
        note(text)
    counts = ", ".join(f"{count:,} {what}" for what, count in report.counts.items() if count)
    if not report.steps:
        say(f"nothing to change: {counts or 'the documents describe nothing'}")
    else:
        say(counts if report.written else f"plan: {counts}")


def _show_step(step: "StepTaken") -> None:
    renamed = f" (was {step.renamed_from!r})" if step.renamed_from else ""
    say(f"{MARKS[step.act]} {step.kind} {step.name}{renamed}")
    for change in step.fields:
        if step.act == "create":
            say(f"    {change.field}: {_in_words(change.after)}")
        else:
            say(f"    {change.field}: {_in_words(change.before)} -> {_in_words(change.after)}")


def _in_words(value: object) -> str:
    text = "none" if value is None or value == "" else value if isinstance(value, str) else as_json(value, indent=None)
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[:VALUE_CHARS_MAX]}…"
