"""`mainspring execution ...`: read executions, send commands and events, verify their logs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_workflows
from mainspring.cli.arguments import Force, Reason, one_of_two, read_choice
from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, fail_unless
from mainspring.cli.execution_output import MOMENT_COLUMNS, moment_lines, show_breach, verify_file
from mainspring.cli.output import Output, answer, note, now, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.table import Column, show_fields, show_list, show_table
from mainspring.cli.workflow import STATUSES, read_data, read_status
from mainspring.domain.errors import Conflict
from mainspring.views.sentences import when

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.operations.context import Desk
    from mainspring.views.execution import BulkCommandDryRun, ExecutionDetailView, ExecutionView
    from mainspring.views.execution_log import LogEntryView, TimelineEntryView
    from mainspring.workflow.model import LogEntry, LogicalClock

app = CommandApp("Executions: single runs through a workflow, with their logs.")

LOG_PAGE = 1_000  # the maximum of a server
Id = Annotated[str, typer.Argument(metavar="EXECUTION", help="Id of the execution.")]


@app.command("list")
def list_executions(
    workflow: Annotated[str | None, typer.Option("--workflow", help="Only executions of this workflow.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help=f"Only executions with this status: {STATUSES}.")
    ] = None,
    correlation: Annotated[
        str | None, typer.Option("--correlation", help="Only executions under this correlation key.")
    ] = None,
    step: Annotated[str | None, typer.Option("--step", help="Only executions at this step.")] = None,
    version: Annotated[int | None, typer.Option("--version", min=1, help="Only executions of this version.")] = None,
    attention: Annotated[bool, typer.Option("--attention", help="Only executions that wait for a person.")] = False,
    sort: Annotated[
        str, typer.Option("--sort", help="-created_at: newest first; created_at: oldest first.")
    ] = "-created_at",
    count: Annotated[int, typer.Option("-n", "--limit", min=1, max=1_000, help="Maximum number.")] = 50,
    output: OutputOption = Output.TABLE,
) -> None:
    """List executions, newest first by default."""
    from mainspring.ports.workflows import ExecutionFilter
    from mainspring.views.execution import load_execution_detail

    oldest_first = read_choice(sort, ("-created_at", "created_at"), "sort") == "created_at"
    one_of_two("attention" if attention else None, sort if oldest_first else None, "--attention and --sort", "sort")
    found_status = read_status(status)
    wanted = ExecutionFilter(
        workflow, found_status, correlation, None, count, version, step, in_need=attention, oldest_first=oldest_first
    )

    async def work(desk: "Desk") -> list["ExecutionView"]:
        found = await desk.stores.flows.workflows.executions(desk.tenant_id, wanted)
        return [await load_execution_detail(desk, each) for each in found]

    found = ask(work, lambda client: remote_workflows.executions(client, wanted, in_full=output is Output.JSON))
    rows = [(each.id, each.workflow, each.status, each.step, each.outcome or each.error) for each in found]
    columns = (
        Column("ID"),
        Column("WORKFLOW", can_cut=True),
        Column("STATUS"),
        Column("STEP"),
        Column("OUTCOME", tail=True),
    )
    nothing = {
        ExecutionFilter(limit=count): "No executions. Start one: mainspring workflow start WORKFLOW",
        ExecutionFilter(limit=count, in_need=True): "No execution waits for a person.",
    }
    show_list(found, output, columns, rows, nothing.get(wanted, "No executions match."))


@app.command("show")
def show(execution_id: Id, output: OutputOption = Output.TABLE) -> None:
    """Show the state of an execution, and the commands it allows."""
    from mainspring.operations.executions import find_execution
    from mainspring.views.execution import ExecutionDetailView, load_execution_detail

    async def work(desk: "Desk") -> "ExecutionDetailView":
        return await load_execution_detail(desk, await find_execution(desk, execution_id))

    found = ask(work, lambda client: ExecutionDetailView.model_validate(client.executions.read(execution_id)))
    if output is Output.JSON:
        show_json(found)
        return
    at = now()
    fields = [
        ("id", found.id),
        ("workflow", f"{found.workflow} version {found.version}"),
        ("status", found.status),
        ("step", found.step or "-"),
        ("waits", _awaited(found, at)),
        ("outcome", found.outcome or "-"),
        ("error", found.error or "-"),
        ("correlation", found.correlation or "-"),
        ("started", f"{when(at, found.created_at)} by {found.actor}"),
        ("last moved", when(at, found.moved_at)),
        ("log", f"{found.entries} entries, head {found.head[:16] or '-'}"),
        ("allows", ", ".join(found.allows) or "nothing more"),
    ]
    show_fields(fields)


@app.command("log")
def log(execution_id: Id, output: OutputOption = Output.TABLE) -> None:
    """Show everything that happened to an execution, in order."""
    from mainspring.operations.executions import clock_of, find_execution, read_log
    from mainspring.views.execution_log import LogEntryView, TimelineEntryView

    async def work(desk: "Desk") -> tuple[list["LogEntry"], "LogicalClock"]:
        found = await find_execution(desk, execution_id)
        return await read_log(desk, found), await clock_of(desk, found)

    async def entries(desk: "Desk") -> list["LogEntryView"]:
        log, clock = await work(desk)
        return [LogEntryView.of(each, clock) for each in log]

    async def timeline(desk: "Desk") -> list["TimelineEntryView"]:
        log, clock = await work(desk)
        return [TimelineEntryView.of(each, clock) for each in log]

    if output is Output.JSON:
        show_json(
            ask(
                entries,
                lambda client: LogEntryView.read_all(client.executions.iterate_log(execution_id, limit=LOG_PAGE)),
            )
        )
        return
    moments = ask(
        timeline,
        lambda client: TimelineEntryView.read_all(client.executions.iterate_timeline(execution_id, limit=LOG_PAGE)),
    )
    nothing = "Nothing happened yet; a ticker (serve or scheduler) moves executions."
    show_table(MOMENT_COLUMNS, moment_lines(moments), nothing)


@app.command("verify")
def verify(
    execution_id: Annotated[str, typer.Argument(metavar="EXECUTION", help="Its id, or a file of `execution export`.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Verify a log; exits with 1 if it was changed, and names the entry.

    A file is verified and replayed without any database or server.
    """
    from mainspring.operations.verification import verify_execution
    from mainspring.views.execution_log import VerdictView

    file = Path(execution_id)
    if file.suffix == ".json" or "/" in execution_id or file.is_file():
        verify_file(file, output)
        return

    with progress("verify"):
        found = ask_for(
            VerdictView,
            lambda desk: verify_execution(desk, execution_id),
            lambda client: client.executions.verify(execution_id),
        )
    if output is Output.JSON:
        show_json(found)
    elif found.breach is None:
        span = f"ticks {found.first_tick} to {found.last_tick}" if found.entries else "no tick yet"
        proof = f"{found.ticks} ticks, signed checkpoints: {found.checkpoints}"
        say(f"valid: {found.entries} entries, {span}; {proof}")
    else:
        show_breach(found.breach)
    fail_unless(found.valid)


@app.command("export")
def export(
    execution_id: Id,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Output file; default: standard output.")] = None,
    force: Force = False,
) -> None:
    """Export an execution with everything that proves it: document, log, ticks, a signed checkpoint."""
    import msgspec

    from mainspring.operations.execution_export import export_execution

    if file is not None and file.is_file() and not force:
        raise Conflict(f"{file} exists; give another name, or overwrite it with --force", kind="file", name=str(file))
    bundle = ask(
        lambda desk: export_execution(desk, execution_id, as_operator=True),
        lambda client: remote_workflows.export(client, execution_id),
    )
    text = msgspec.json.format(msgspec.json.encode(bundle), indent=1) + b"\n"
    if file is None:
        print(text.decode(), end="")
    else:
        file.write_bytes(text)
        say(f"wrote {execution_id} with {len(bundle.log)} entries and {len(bundle.ticks)} ticks to {file}")
    if bundle.note:
        note(bundle.note)


@app.command("replay")
def replay(
    execution_id: Id,
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="Replay with this version, to see what it would change.")
    ] = None,
    turns: Annotated[bool, typer.Option("--turns", help="Step through it turn by turn.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Replay an execution from its log, without calls or clock; exits with 1 if anything differs."""
    from mainspring.operations.executions import replay_execution, step_through
    from mainspring.views.execution_log import Replayed

    if turns:
        found_turns = ask(
            lambda desk: step_through(desk, execution_id),
            lambda client: remote_workflows.step_through(client, execution_id),
        )
        for frame in found_turns:
            state = frame.after
            arrived = ", ".join(f"{each.kind.value} {each.type}" for each in frame.arrivals) or "no arrivals"
            say(f"tick {frame.tick}: {arrived}; then {state.status.value} at {state.step!r}, vars {state.vars}")
        return

    found = ask_for(
        Replayed,
        lambda desk: replay_execution(desk, execution_id, version),
        lambda client: client.executions.replay(execution_id, version=version),
    )
    if output is Output.JSON:
        show_json(found)
    elif found.identical:
        say(f"identical: {len(found.steps)} entries")
    else:
        say(f"{len(found.diffs)} differences")
        rows = [(str(each.number), each.step, each.field, each.expected, each.actual) for each in found.diffs]
        columns = (
            Column("ENTRY"),
            Column("STEP"),
            Column("FIELD"),
            Column("LOG", can_cut=True),
            Column("REPLAY", tail=True),
        )
        show_table(columns, rows, "None.")
    fail_unless(found.identical)


@app.command("pause")
def pause(execution_id: Id, reason: Reason = "", output: OutputOption = Output.TABLE) -> None:
    """Pause an execution before its next step, until it is resumed."""
    _order(execution_id, "pause", reason, output)


@app.command("resume")
def resume(execution_id: Id, reason: Reason = "", output: OutputOption = Output.TABLE) -> None:
    """Resume a paused execution."""
    _order(execution_id, "resume", reason, output)


@app.command("cancel")
def cancel(execution_id: Id, reason: Reason = "", output: OutputOption = Output.TABLE) -> None:
    """Cancel an execution for good; effects that were not sent yet are withdrawn."""
    _order(execution_id, "cancel", reason, output)


@app.command("retry")
def retry(execution_id: Id, reason: Reason = "", output: OutputOption = Output.TABLE) -> None:
    """Run the failed step again; an effect keeps its idempotency key."""
    _order(execution_id, "retry", reason, output)


@app.command("skip")
def skip(execution_id: Id, reason: Reason = "", output: OutputOption = Output.TABLE) -> None:
    """Continue after the step that failed or waits, with the reason as its result."""
    _order(execution_id, "skip", reason, output)


@app.command("order")
def order(
    verb: Annotated[str, typer.Argument(metavar="VERB", help="pause, resume, cancel, retry or skip.")],
    workflow: Annotated[str | None, typer.Option("--workflow", help="Executions of this workflow.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="Executions with this status; default: all that allow the command.")
    ] = None,
    step: Annotated[str | None, typer.Option("--step", help="Executions at this step.")] = None,
    version: Annotated[int | None, typer.Option("--version", min=1, help="Executions of this version.")] = None,
    correlation: Annotated[
        str | None, typer.Option("--correlation", help="Executions under this correlation key.")
    ] = None,
    reason: Reason = "",
    count: Annotated[int, typer.Option("-n", "--limit", min=1, max=10_000, help="Maximum number.")] = 1_000,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count them, and show a sample.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Send a command to many executions, after showing how many match."""
    from mainspring.operations.bulk_executions import allowing, order_executions, preview_orders
    from mainspring.operations.executions import check_reason
    from mainspring.ports.workflows import ExecutionFilter
    from mainspring.views.execution import BulkCommandDryRun, load_execution

    wanted = ExecutionFilter(workflow, read_status(status), correlation, None, count, version, step)
    allowing(verb, wanted)
    check_reason(verb, reason)

    async def foresee(desk: "Desk") -> "BulkCommandDryRun":
        preview = await preview_orders(desk, verb, wanted)
        sample = [await load_execution(desk, each) for each in preview.sample]
        return BulkCommandDryRun(verb=verb, count=preview.count, sample=sample)

    async def do(desk: "Desk") -> int:
        return len(await order_executions(desk, verb, wanted, reason))

    preview = ask(
        foresee,
        lambda client: BulkCommandDryRun.model_validate(
            remote_workflows.order_many(client, verb, wanted, reason, dry_run=True)
        ),
    )
    found = preview.count
    if output is Output.TABLE:
        rows = [(each.id, each.workflow, each.status, each.step) for each in preview.sample]
        columns = (Column("ID"), Column("WORKFLOW", can_cut=True), Column("STATUS"), Column("STEP"))
        show_table(columns, rows, f"No matching execution allows {verb}.")
        note(f"{found} in total" + (f", the newest {count} of them now" if found > count else ""))
    if dry_run or not found:
        if output is Output.JSON:
            show_json({"dry_run": dry_run, "verb": verb, "count": found})
        return
    if not yes:
        typer.confirm(f"Order {verb} of {min(found, count)} executions?", abort=True, err=True)
    ordered = ask(
        do, lambda client: int(remote_workflows.order_many(client, verb, wanted, reason, dry_run=False)["ordered"])
    )
    answer(
        {"verb": verb, "ordered": ordered, "more": found > ordered == count},
        output,
        f"sent {verb} to {ordered} execution{'' if ordered == 1 else 's'}; it takes effect in the next ticks",
    )


@app.command("send")
def send(
    to: Annotated[str, typer.Argument(metavar="TO", help="An execution's id, or the correlation key of running ones.")],
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="Type of the event, such as reply.")],
    data: Annotated[str, typer.Option("--data", metavar="JSON", help="Data of the event, or @FILE.")] = "{}",
    event_id: Annotated[str, typer.Option("--id", help="Its id; a second event with the same id is ignored.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Send an event; it is processed in the next tick."""
    from mainspring.operations.executions import send_event

    given = read_data(data, "data")
    ids, new = ask(
        lambda desk: send_event(desk, to, type_, given, event_id=event_id),
        lambda client: remote_workflows.send(client, to, type_, given, event_id),
    )
    if output is Output.JSON:
        show_json({"executions": ids, "new": new})
    elif new:
        say(f"sent {type_!r} to {new} execution{'s' if new > 1 else ''}")
    else:
        say(f"an event with the id {event_id!r} was already sent; nothing changed")


@app.command("erase")
def erase(execution_id: Id, reason: Reason = "", output: OutputOption = Output.TABLE) -> None:
    """Erase the data of a finished execution; its log still verifies, but cannot be replayed."""
    from mainspring.operations.executions import erase_execution

    entries = ask(
        lambda desk: erase_execution(desk, execution_id, reason),
        lambda client: client.executions.erase(execution_id, reason=reason)["entries"],
    )
    answer(
        {"id": execution_id, "entries": entries},
        output,
        f"erased the values of {entries} entries; their commitments stay",
    )


def _awaited(execution: "ExecutionView", at: "datetime") -> str:
    """What the execution waits for, and its deadline."""
    until = when(at, execution.wake_at, none="")
    if execution.status in ("failed", "paused"):
        return "for a person"
    match execution.waits_for:
        case "time":
            return f"until {until}"
        case "event":
            return f"for an event until {until}"
        case "retry":
            return f"to retry at {until}"
        case "effect":
            return "for the result of its effect"
        case _:
            return "-"


def _order(execution_id: str, verb: str, reason: str, output: Output) -> None:
    from mainspring.operations.executions import order_execution
    from mainspring.views.execution import load_execution_detail

    async def work(desk: "Desk") -> "ExecutionView":
        return await load_execution_detail(desk, await order_execution(desk, execution_id, verb, reason))

    execution = ask(
        work, lambda client: remote_workflows.order(client, execution_id, verb, reason, in_full=output is Output.JSON)
    )
    if output is Output.JSON:
        show_json({"execution": execution, "ordered": verb, "reason": reason})
        return
    say(f"ordered {verb} of {execution_id}, which is {execution.status} at {execution.step or 'its start'!r}")
    note("it takes effect in the next tick of a running ticker and is recorded in the log with its reason")
