"""`mainspring workflow ...`: check, publish, compare, start and simulate workflows."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_workflows
from mainspring.cli.arguments import read_text
from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, ask_for_all, decide
from mainspring.cli.execution_output import MOMENT_COLUMNS, moment_lines
from mainspring.cli.output import Output, answer, note, say, show_json
from mainspring.cli.table import Column, show_fields, show_list, show_table
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import shown
from mainspring.views.sentences import span_in_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.operations.workflow_archive import Archived
    from mainspring.ports.workflows import Published
    from mainspring.views.execution import ExecutionStarted
    from mainspring.views.execution_log import Simulated
    from mainspring.views.workflow import (
        WorkflowArchived,
        WorkflowDetailView,
        WorkflowDiff,
        WorkflowPublished,
        WorkflowView,
    )
    from mainspring.workflow.model import Status
    from mainspring.workflow.replay import SimulatedAnswer, SimulatedEvent

OUTCOMES = ("success", "failure", "unknown")

STATUSES = "pending, active, waiting, paused, completed, failed, cancelled"


def read_status(status: str | None) -> "Status | None":
    from mainspring.workflow.model import Status

    known = tuple(each.value for each in Status)
    if status is not None and status not in known:
        raise InvalidInput(
            f"unknown status {shown(status)!r}{did_you_mean(status, known) or ';'} choose one of {STATUSES}",
            field="status",
        )
    return Status(status) if status else None


def read_document(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8"
        raise InvalidInput(
            f"cannot read {shown(str(file))}: {why}; name a file, or - for standard input", field="file"
        ) from None


def read_data(text: str, field: str) -> dict[str, object]:
    """A JSON object, or `@FILE` that contains one."""
    try:
        value = json.loads(read_text(text, f"--{field}"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidInput(
            f"--{field} '{shown(text)}' is not a JSON object; write it as --{field} '{{\"order\": 7}}', or "
            f"name a file that contains one: --{field} @FILE",
            field=field,
        )
    return value


def read_happenings(texts: list[str]) -> list["SimulatedEvent"]:
    from mainspring.domain.duration import parse_duration_ms
    from mainspring.workflow.reader import is_event_type
    from mainspring.workflow.replay import SimulatedEvent

    found = []
    for text in texts:
        after, _, rest = text.partition(":")
        type_, _, data = rest.partition(":")
        if not is_event_type(type_):
            raise InvalidInput(
                f"--event '{shown(text)}' is not valid; write it as --event 4d:reply:'{{\"rating\": 1}}'",
                field="event",
            )
        found.append(SimulatedEvent(parse_duration_ms(after, field="event"), type_, read_data(data or "{}", "event")))
    return found


def read_answers(texts: list[str], steps: tuple[str, ...]) -> dict[str, list["SimulatedAnswer"]]:
    from mainspring.workflow.replay import SimulatedAnswer

    found: dict[str, list[SimulatedAnswer]] = {}
    for text in texts:
        step, _, rest = text.partition(":")
        outcome, _, data = rest.partition(":")
        if step not in steps or outcome not in OUTCOMES:
            near = did_you_mean(step, steps) if step not in steps else did_you_mean(outcome, OUTCOMES)
            raise InvalidInput(
                f"--answer '{shown(text)}' is not valid{near or ';'} write STEP:OUTCOME, where the outcome "
                f"is one of {', '.join(OUTCOMES)}",
                field="answer",
            )
        made = (
            SimulatedAnswer(outcome, read_data(data or "{}", "answer"))
            if outcome == "success"
            else SimulatedAnswer(outcome, None, data)
        )
        found.setdefault(step, []).append(made)
    return found


SECONDS = "%Y-%m-%d %H:%M:%S UTC"

app = CommandApp("Workflows: steps over days, with a verifiable log.")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The document, YAML or JSON; - reads standard input.")]
Name = Annotated[str, typer.Argument(metavar="WORKFLOW", help="Name of the workflow.")]
Version = Annotated[int | None, typer.Option("--version", min=1, help="Version; default: the newest.")]
Input = Annotated[
    str, typer.Option("--input", metavar="JSON", help="Input of the execution: '{\"order\": 7}', or @FILE.")
]


@app.command("check")
def check(file: File, output: OutputOption = Output.TABLE) -> None:
    """Check a document without publishing it; every error is shown with its path and line."""
    from mainspring.settings import load_settings
    from mainspring.views.workflow import WorkflowRules
    from mainspring.workflow.document import parse_text

    text = read_document(file)
    workflow = decide(
        lambda: WorkflowRules.of(parse_text(text, load_settings().allow_ports)),
        lambda client: WorkflowRules.model_validate(client.workflows.check(document=text)),
    )
    if output is Output.JSON:
        show_json(workflow)
    else:
        count = workflow.step_count
        steps = f"{count} step{'' if count == 1 else 's'}"
        say(f"{workflow.name!r} is valid: {steps}, starts with {workflow.start!r}")


@app.command("publish")
def publish(file: File, output: OutputOption = Output.TABLE) -> None:
    """Publish a document as the next version of its workflow; running executions keep their version."""
    from mainspring.operations.workflows import publish_workflow
    from mainspring.views.workflow import WorkflowPublished

    text = read_document(file)

    async def work(desk: "Desk") -> "WorkflowPublished":
        published, is_new = await publish_workflow(desk, text)
        return WorkflowPublished.of_published(published, new=is_new)

    published = ask(work, lambda client: WorkflowPublished.model_validate(client.workflows.publish(document=text)))
    what = f"{published.name!r} version {published.version}"
    if output is Output.JSON:
        show_json(published)
    elif published.new:
        say(f"published {what}")
    else:
        say(f"{what} does the same already; nothing published")
        if published.archived_at:
            note(f"it is archived; restore it with: mainspring workflow restore {published.name!r}")


@app.command("list")
def list_workflows(
    archived: Annotated[bool, typer.Option("--archived", help="List archived workflows instead.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List workflows by name, with their newest version."""
    from mainspring.views.workflow import WorkflowView

    async def work(desk: "Desk") -> list["WorkflowView"]:
        found = await desk.stores.flows.workflows.versions(desk.tenant_id, None)
        return [WorkflowView.of(each) for each in found if (each.archived_at is not None) == archived]

    found = ask(work, lambda client: WorkflowView.read_all(client.workflows.list(archived=archived)["items"]))
    rows = [(each.name, str(each.version), str(each.step_count), each.description) for each in found]
    columns = (Column("NAME", can_cut=True), Column("VERSION"), Column("STEPS"), Column("DESCRIPTION", tail=True))
    nothing = "No workflows to start. Publish one: mainspring workflow publish FILE; --archived lists archived ones."
    show_list(found, output, columns, rows, "No archived workflows." if archived else nothing)


@app.command("show")
def show(name: Name, version: Version = None, output: OutputOption = Output.TABLE) -> None:
    """Show a version as written."""
    from mainspring.operations.workflows import find_workflow
    from mainspring.views.workflow import WorkflowDetailView

    async def work(desk: "Desk") -> "WorkflowDetailView":
        return WorkflowDetailView.of_published(await find_workflow(desk, name, version))

    found = ask(work, lambda client: remote_workflows.read_workflow(client, name, version))
    if output is Output.JSON:
        show_json(found)
        return
    show_fields(
        [
            ("name", found.name),
            ("version", str(found.version)),
            ("published", f"{found.created_at:{SECONDS}} by {found.actor}"),
            *([("archived", f"{found.archived_at:{SECONDS}}")] if found.archived_at else []),
        ]
    )
    print()
    for line in found.document.splitlines():
        say(line)


@app.command("versions")
def versions(name: Name, output: OutputOption = Output.TABLE) -> None:
    """List the versions of a workflow, newest first."""
    from mainspring.operations.workflows import find_workflow
    from mainspring.views.workflow import WorkflowView

    async def work(desk: "Desk") -> "list[Published]":
        await find_workflow(desk, name)
        return await desk.stores.flows.workflows.versions(desk.tenant_id, name)

    found = ask_for_all(WorkflowView, work, lambda client: client.workflows.list_versions(name)["items"])
    rows = [(str(each.version), f"{each.created_at:{SECONDS}}", each.actor) for each in found]
    show_list(found, output, (Column("VERSION"), Column("PUBLISHED"), Column("BY")), rows, "None.")


@app.command("diff")
def diff(
    name: Name,
    old: Annotated[
        int | None, typer.Option("--from", min=1, help="The older version; default: the previous one.")
    ] = None,
    new: Annotated[int | None, typer.Option("--to", min=1, help="The newer version; default: the newest.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show in words what changed between two versions."""
    from mainspring.operations.workflows import compare_versions
    from mainspring.views.workflow import WorkflowDiff

    async def work(desk: "Desk") -> "WorkflowDiff":
        before, after, said = await compare_versions(desk, name, old, new)
        return WorkflowDiff(old=before, new=after, differences=said)

    found = ask(work, lambda client: WorkflowDiff.model_validate(client.workflows.diff(name, old=old, new=new)))
    if output is Output.JSON:
        show_json(found)
        return
    for sentence in found.differences or [f"versions {found.old} and {found.new} of {name!r} do the same"]:
        say(sentence)


@app.command("start")
def start(
    name: Name,
    given: Input = "{}",
    version: Version = None,
    correlation: Annotated[
        str, typer.Option("--correlation", help="Correlation key that events can be sent to, such as order-7.")
    ] = "",
    key: Annotated[
        str | None, typer.Option("--key", help="Idempotency key: a second start with it returns the first execution.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="RFC3339", help="Start at this time instead of now.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Start an execution; a running ticker (serve or scheduler) advances it."""
    from mainspring.cli.arguments import read_instant
    from mainspring.operations.executions import clock_of
    from mainspring.operations.workflows import StartRequest, refuse_reentry, start_executions
    from mainspring.views.execution import ExecutionStarted

    when = read_instant(at, "at") if at is not None else None
    wish = StartRequest(read_data(given, "input"), correlation, key, when)

    async def work(desk: "Desk") -> "ExecutionStarted":
        (started,) = await start_executions(desk, name, [wish], version=version)
        refuse_reentry(started)
        return ExecutionStarted.of(started.execution, await clock_of(desk, started.execution), new=started.is_new)

    execution = ask(work, lambda client: remote_workflows.start(client, name, wish, version))
    if output is Output.JSON:
        show_json(execution)
    elif execution.new:
        say(f"started {execution.id} of {name!r} version {execution.version}")
    elif all(execution.input.get(field) == value for field, value in wish.input.items()):
        say(f"{execution.id} of {name!r} was already started under this key; nothing changed")
    else:
        say(
            f"{execution.id} of {name!r} was already started under this key, with another input; nothing changed: "
            "to start it with this one, give another key"
        )


@app.command("archive")
def archive(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Archive a workflow: it cannot be started, manually or by triggers; running executions continue."""
    from mainspring.operations.workflow_archive import archive_workflow

    found = _switched(name, archive_workflow, lambda client: client.workflows.archive(name))
    if output is Output.JSON:
        show_json(found)
        return
    say(f"archived {name!r}" if found.changed else f"{name!r} was archived before")
    if running := found.running:
        note(f"{running} of its executions {'is' if running == 1 else 'are'} not over: they continue")


@app.command("restore")
def restore(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Restore an archived workflow, so that it can be started again."""
    from mainspring.operations.workflow_archive import restore_workflow

    found = _switched(name, restore_workflow, lambda client: client.workflows.restore(name))
    answer(found, output, f"restored {name!r}" if found.changed else f"{name!r} is not archived; nothing changed")


@app.command("simulate")
def simulate(
    file: File,
    given: Input = "{}",
    event: Annotated[
        list[str] | None,
        typer.Option("--event", metavar="AFTER:TYPE[:JSON]", help='An event at a time: 4d:reply:{"rating": 1}.'),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            "--answer",
            metavar="STEP:OUTCOME[:JSON]",
            help="Result of an effect: escalate:failure:503; default: success.",
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Simulate an unpublished document with given events, without sending anything."""
    from mainspring.operations.replay import EPOCH, play
    from mainspring.settings import load_settings
    from mainspring.views.execution_log import Simulated
    from mainspring.workflow.document import parse_text
    from mainspring.workflow.model import LogicalClock

    text, happenings, start = read_document(file), read_happenings(event or []), read_data(given, "input")

    def here() -> "Simulated":
        workflow = parse_text(text, load_settings().allow_ports)
        answers = read_answers(answer or [], tuple(workflow.steps))
        return Simulated.of(play(workflow, start, happenings, answers), LogicalClock(0, EPOCH))

    played = decide(here, lambda client: remote_workflows.simulate(client, text, start, happenings, answer or []))
    if output is Output.JSON:
        show_json(played)
        return
    show_table(MOMENT_COLUMNS, moment_lines(played.timeline), "Nothing happened.")
    how = played.outcome or played.error or f"waits at {played.step!r}"
    after = span_in_words(played.timeline[-1].at - played.timeline[0].at)
    effects = len(played.effects)
    note(f"{played.status} ({how}) after {after}, with {effects} effect{'' if effects == 1 else 's'}")


def _switched(
    name: str, here: "Callable[[Desk, str], Awaitable[Archived]]", over: "Callable[[Client], object]"
) -> "WorkflowArchived":
    from mainspring.views.workflow import WorkflowArchived

    return ask_for(WorkflowArchived, lambda desk: here(desk, name), over)
