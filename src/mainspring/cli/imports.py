"""`mainspring import`: convert the configuration of other products into a document."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask, current_settings, fail_unless
from mainspring.cli.documents import show_faults, show_report
from mainspring.cli.output import Output, note, now, show_json
from mainspring.cli.progress import progress
from mainspring.cli.remote import apply_documents
from mainspring.domain.errors import InvalidInput

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.documents.imports.takeover import Takeover
    from mainspring.operations.context import Desk
    from mainspring.views.document import Applied

BYTES_MAX = 5_000_000  # as many as a document may have
COMMANDS = ("heartbeat", "command")

app = CommandApp("Import from other products.")

FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="The file; - is standard input.")]
SourceOption = Annotated[str, typer.Option("--source", metavar="NAME", help="Source that manages the endpoints.")]
ApplyOption = Annotated[bool, typer.Option("--apply", help="Also create the endpoints, instead of only showing them.")]
PausedOption = Annotated[bool, typer.Option("--paused", help="Also import what is paused; it then runs at once.")]
ZoneOption = Annotated[
    str | None, typer.Option("--tz", metavar="ZONE", help="Time zone of the source, UTC by default: Europe/Berlin.")
]


@app.callback()
def importing() -> None:
    "Import from other products."


@app.command("crontab")
def crontab(
    file: FileArgument,
    system: Annotated[bool, typer.Option("--system", help="The crontab has a user column, like /etc/crontab.")] = False,
    commands: Annotated[
        str,
        typer.Option(
            "--commands",
            metavar="KIND",
            help="What commands other than curl and wget become: heartbeat (the job stays in the crontab, behind "
            "`mainspring exec`) or command (a worker runs the program).",
        ),
    ] = "heartbeat",
    tz: ZoneOption = None,
    source: SourceOption = "crontab",
    apply: ApplyOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Convert a crontab into a document.

    Calls of curl and wget become endpoints of kind http; --commands says what becomes of other commands. Nothing is
    written unless --apply is given. Standard error names everything that is left out, and describes the first day.
    """
    from mainspring.documents.imports.crontab import CommandsAs, read_crontab
    from mainspring.documents.imports.source_file import check_size

    if commands not in COMMANDS:
        raise InvalidInput(f"--commands {commands[:40]!r} is unknown; give {' or '.join(COMMANDS)}", field="commands")
    data = _data(file)
    check_size(data, "a crontab")
    text = data.decode("utf-8", "replace")
    taken = read_crontab(text, has_users=system, timezone=tz, commands_as=CommandsAs(commands))
    _show(taken, source, apply, output)


@app.command("uptime-kuma")
def uptime_kuma(
    file: FileArgument,
    paused: PausedOption = False,
    source: SourceOption = "uptime-kuma",
    apply: ApplyOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Convert the JSON backup of Uptime Kuma 1.x, or its database kuma.db, into a document.

    The database is opened read-only. Nothing is written unless --apply is given. Standard error names everything that
    is left out, and describes the first day.
    """
    from mainspring.documents.imports.uptime_kuma import read_uptime_kuma
    from mainspring.documents.imports.uptime_kuma_database import MAGIC, read_kuma_db

    if _begins_with(file, MAGIC):
        taken = read_kuma_db(Path(file), with_paused=paused)
    else:
        taken = read_uptime_kuma(_data(file), with_paused=paused)
    _show(taken, source, apply, output)


@app.command("healthchecks")
def healthchecks(
    file: FileArgument,
    paused: PausedOption = False,
    source: SourceOption = "healthchecks",
    apply: ApplyOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Convert the checks of Healthchecks, the JSON of GET /api/v3/checks/, into heartbeats.

    Nothing is written unless --apply is given. Standard error names everything that is left out, and describes the
    first day.
    """
    from mainspring.documents.imports.healthchecks import read_healthchecks

    _show(read_healthchecks(_data(file), with_paused=paused), source, apply, output)


@app.command("kubernetes")
def kubernetes(
    file: FileArgument,
    paused: PausedOption = False,
    tz: ZoneOption = None,
    source: SourceOption = "kubernetes",
    apply: ApplyOption = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Convert Kubernetes CronJobs, as YAML or JSON manifests, into a document.

    A job that calls a URL with curl or wget becomes an endpoint, any other a heartbeat. Nothing is written unless
    --apply is given. Standard error names everything that is left out, and describes the first day.
    """
    from mainspring.documents.faults import InvalidDocument
    from mainspring.documents.imports.kubernetes import read_cron_jobs

    try:
        taken = read_cron_jobs(Path(file).name, _data(file), timezone=tz, with_paused=paused)
    except InvalidDocument as refused:
        show_faults(refused, output)
        raise typer.Exit(1) from None
    _show(taken, source, apply, output)


def _show(taken: "Takeover", source: str, apply: bool, output: Output) -> None:
    from mainspring.views.imports import ImportView, first_day_lines

    with progress("simulate"):
        shown = ImportView.of(taken, source, now().replace(microsecond=0))
    if output is Output.JSON and not apply:
        show_json(shown)
    elif output is Output.TABLE:
        print(shown.text, end="")
    for remark in taken.notes():
        note(remark)
    if shown.first_day is None:
        note("nothing could be converted")
        fail_unless(False)
        return
    for line in first_day_lines(shown.first_day):
        note(line)
    if apply:
        _apply(source, shown.text, taken.secrets, output)


def _apply(source: str, text: str, secrets: dict[str, str], output: Output) -> None:
    from mainspring.documents.apply import apply_files
    from mainspring.documents.faults import InvalidDocument
    from mainspring.documents.plan import Options
    from mainspring.documents.references import local
    from mainspring.views.document import Applied
    from mainspring.wiring.outbound import open_messengers

    options = Options(local({**os.environ, **secrets}), open_messengers(current_settings()))
    files = [(source, text.encode())]

    async def work(desk: "Desk") -> "Applied":
        return Applied.of(await apply_files(desk, files, options))

    def remotely(client: "Client") -> "Applied":
        references = {f"env:{name}": value for name, value in secrets.items()}
        return apply_documents(client, files, references, source=None, prune=False, take_over=False, dry_run=False)

    try:
        with progress("apply"):
            report = ask(work, remotely)
        show_report(report, output)
    except InvalidDocument as refused:
        show_faults(refused, output)
        raise typer.Exit(1) from None


def _begins_with(file: str, magic: bytes) -> bool:
    if file == "-":
        return False
    try:
        with open(file, "rb") as opened:
            return opened.read(len(magic)) == magic
    except OSError:
        return False  # the error is reported when the file is read


def _data(file: str) -> bytes:
    """At most one byte more than the maximum."""
    if file == "-":
        return sys.stdin.buffer.read(BYTES_MAX + 1)
    try:
        with open(file, "rb") as opened:
            return opened.read(BYTES_MAX + 1)
    except OSError as fault:
        raise InvalidInput(
            f"cannot read {file}: {fault.strerror or fault}; name a file, or - for standard input", field="file"
        ) from None
