"""`mainspring import crontab`: convert curl and wget calls of a crontab into a document."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask, current_settings, fail_unless
from mainspring.cli.documents import show_faults, show_report
from mainspring.cli.output import Output, note, show_json
from mainspring.cli.progress import progress
from mainspring.cli.remote import apply_documents
from mainspring.domain.errors import InvalidInput

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.endpoints import Desk
    from mainspring.views.document import Applied

app = CommandApp("Import from other schedulers.")


@app.callback()
def importing() -> None:
    "Import from other schedulers."


@app.command("crontab")
def crontab(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A crontab; - is standard input: crontab -l | ... -")],
    system: Annotated[bool, typer.Option("--system", help="The crontab has a user column, like /etc/crontab.")] = False,
    tz: Annotated[
        str | None,
        typer.Option("--tz", metavar="ZONE", help="Time zone of the crontab, UTC by default: Europe/Berlin."),
    ] = None,
    source: Annotated[
        str, typer.Option("--source", metavar="NAME", help="Source that manages the endpoints.")
    ] = "crontab",
    apply: Annotated[
        bool, typer.Option("--apply", help="Also create the endpoints, instead of only showing them.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Convert a crontab's calls of curl and wget into a document.

    Nothing is written unless --apply is given. Remarks on standard error name each line that is left out, and why.
    """
    from mainspring.documents.crontab import read_crontab
    from mainspring.documents.yaml_writer import as_yaml

    taken = read_crontab(_text(file), has_users=system, timezone=tz)
    document = taken.document(source)
    text = as_yaml([document]) if taken.endpoints else ""
    if output is Output.JSON and not apply:
        show_json({"document": document, "remarks": taken.remarks})
    elif output is Output.TABLE:
        print(text, end="")
    for remark in taken.remarks:
        note(remark)
    if not taken.endpoints:
        note("no line could be converted")
        fail_unless(False)
    if apply:
        _apply(text, taken.secrets, output)


def _apply(text: str, secrets: dict[str, str], output: Output) -> None:
    from mainspring.documents.apply import apply_files
    from mainspring.documents.faults import InvalidDocument
    from mainspring.documents.plan import Options
    from mainspring.documents.references import local
    from mainspring.views.document import Applied
    from mainspring.wiring.outbound import open_messengers

    options = Options(local({**os.environ, **secrets}), open_messengers(current_settings()))

    async def work(desk: "Desk") -> "Applied":
        return Applied.of(await apply_files(desk, [("crontab", text.encode())], options))

    def remotely(client: "Client") -> "Applied":
        references = {f"env:{name}": value for name, value in secrets.items()}
        files = [("crontab", text.encode())]
        return apply_documents(client, files, references, source=None, prune=False, take_over=False, dry_run=False)

    try:
        with progress("apply"):
            report = ask(work, remotely)
        show_report(report, output)
    except InvalidDocument as refused:
        show_faults(refused, output)
        raise typer.Exit(1) from None


def _text(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read()
    except OSError as fault:
        raise InvalidInput(
            f"cannot read {file}: {fault.strerror or fault}; name a crontab, or - for standard input", field="file"
        ) from None
