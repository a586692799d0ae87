"""`mainspring execution ...`: read executions, send commands and events, verify their logs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_workflows
from mainspring.cli.arguments import Force, Reason, one_of_two, read_choice
from mainspring.cli.command import CommandApp, OutputOption, ask, fail_unless
from mainspring.cli.execution_output import MOMENT_COLUMNS, moment_lines, show_breach, tell_execution, verify_file
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.remote import Shape
from mainspring.cli.remote_values import at, now
from mainspring.cli.table import Column, show_fields, show_table
from mainspring.cli.workflow_arguments import STATUSES, read_data, read_status
from mainspring.domain.errors import Conflict
from mainspring.views.sentences import when

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.client import Client
    from mainspring.operations.endpoints import Desk

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

    oldest_first = read_choice(sort, ("-created_at", "created_at"), "sort") == "created_at"
    one_of_two("attention" if attention else None, sort if oldest_first else None, "--attention and --sort", "sort")
    found_status = read_status(status)
    wanted = ExecutionFilter(
        workflow, found_status, correlation, None, count, version, step, in_need=attention, oldest_first=oldest_first
    )

    async def work(desk: "Desk") -> list[Shape]:
        found = await desk.stores.flows.workflows.executions(desk.tenant_id, wanted)
        return [await tell_execution(desk, each) for each in found]

    found = ask(work, lambda client: remote_workflows.executions(client, wanted, in_full=output is Output.JSON))
    if output is Output.JSON:
        show_json(found)
        return
    rows = [
        (*(str(each[name]) for name in ("id", "workflow", "status", "step")), str(each["outcome"] or each["error"]))
        for each in found
    ]
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
    show_table(columns, rows, nothing.get(wanted, "No executions match."))


@app.command("show")
def show(execution_id: Id, output: OutputOption = Output.TABLE) -> None:
    """Show the state of an execution, and the commands it allows."""
    from mainspring.operations.executions import find_execution

    async def work(desk: "Desk") -> tuple[Shape, "datetime"]:
        found = await find_execution(desk, execution_id)
        return await tell_execution(desk, found), await desk.stores.flows.workflows.now()

    def remotely(client: "Client") -> tuple[Shape, "datetime"]:
        return client.executions.read(execution_id), now()

    shape, moment = ask(work, remotely)
    if output is Output.JSON:
        show_json(shape)
        return
    fields = [
        ("id", shape["id"]),
        ("workflow", f"{shape['workflow']} version {shape['version']}"),
        ("status", shape["status"]),
        ("step", shape["step"] or "-"),
        ("waits", _awaited(shape, moment)),
        ("outcome", shape["outcome"] or "-"),
        ("error", shape["error"] or "-"),
        ("correlation", shape["correlation"] or "-"),
        ("started", f"{when(moment, at(shape['created_at']))} by {shape['actor']}"),
        ("last moved", when(moment, at(shape["moved_at"]))),
        ("log", f"{shape['entries']} entries, head {shape['head'][:16] or '-'}"),
        ("allows", ", ".join(shape["allows"]) or "no commands"),
    ]
    show_fields(fields)


@app.command("log")
def log(execution_id: Id, output: OutputOption = Output.TABLE) -> None:
    """Show everything that happened to an execution, in order."""
    from mainspring.operations.executions import clock_of, find_execution, read_log
    from mainspring.views.workflow_shapes import entry_shape, moment_shape

    in_full = output is Output.JSON

    async def work(desk: "Desk") -> list[Shape]:
        found = await find_execution(desk, execution_id)
        clock = await clock_of(desk, found)
        return [(entry_shape if in_full else moment_shape)(each, clock) for each in await read_log(desk, found)]

    def remotely(client: "Client") -> list[Shape]:
        group = client.executions
        return list((group.iterate_log if in_full else group.iterate_timeline)(execution_id, limit=LOG_PAGE))

    entries = ask(work, remotely)
    if in_full:
        show_json(entries)
        return
    nothing = "Nothing happened yet; a ticker (serve or scheduler) advances executions."
    show_table(MOMENT_COLUMNS, moment_lines(entries), nothing)


@app.command("verify")
def verify(
    execution_id: Annotated[str, typer.Argument(metavar="EXECUTION", help="Its id, or a file of `execution export`.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Verify a log; exits with 1 if it was changed, and names the entry.

    A file is verified and replayed without any database or server.
    """
    from mainspring.operations.verification import verify_execution
    from mainspring.views.workflow_shapes import verified_shape

    file = Path(execution_id)
    if file.suffix == ".json" or "/" in execution_id or file.is_file():
        verify_file(file, output)
        return

    async def work(desk: "Desk") -> Shape:
        return verified_shape(await verify_execution(desk, execution_id))

    with progress("verify"):
        found: Shape = ask(work, lambda client: client.executions.verify(execution_id))
    if output is Output.JSON:
        show_json(found)
    elif found["breach"] is None:
        span = f"ticks {found['first_tick']} to {found['last_tick']}" if found["entries"] else "no tick yet"
        proof = f"{found['ticks']} ticks, signed checkpoints: {found['checkpoints']}"
        say(f"valid: {found['entries']} entries, {span}; {proof}")
    else:
        show_breach(found["breach"])
    fail_unless(found["valid"])


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
    from mainspring.views.workflow_shapes import replay_shape

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

    async def work(desk: "Desk") -> Shape:
        return replay_shape(await replay_execution(desk, execution_id, version))

    found: Shape = ask(work, lambda client: client.executions.replay(execution_id, version=version))
    if output is Output.JSON:
        show_json(found)
    elif found["identical"]:
        say(f"identical: {len(found['steps'])} entries")
    else:
        say(f"{len(found['diffs'])} differences")
        rows = [(str(d["number"]), d["step"], d["field"], d["expected"], d["actual"]) for d in found["diffs"]]
        columns = (
            Column("ENTRY"),
            Column("STEP"),
            Column("FIELD"),
            Column("LOG", can_cut=True),
            Column("REPLAY", tail=True),
        )
        show_table(columns, rows, "None.")
    fail_unless(found["identical"])


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

    wanted = ExecutionFilter(workflow, read_status(status), correlation, None, count, version, step)
    allowing(verb, wanted)
    check_reason(verb, reason)

    async def foresee(desk: "Desk") -> Shape:
        preview = await preview_orders(desk, verb, wanted)
        return {"count": preview.count, "sample": [await tell_execution(desk, each) for each in preview.sample]}

    async def do(desk: "Desk") -> Shape:
        return {"ordered": len(await order_executions(desk, verb, wanted, reason))}

    preview = ask(foresee, lambda client: remote_workflows.order_many(client, verb, wanted, reason, dry_run=True))
    found = int(preview["count"])
    if output is Output.TABLE:
        rows = [(each["id"], each["workflow"], each["status"], each["step"]) for each in preview["sample"]]
        columns = (Column("ID"), Column("WORKFLOW", can_cut=True), Column("STATUS"), Column("STEP"))
        show_table(columns, rows, f"No matching execution allows {verb}.")
        note(f"{found} in total" + (f", the newest {count} of them now" if found > count else ""))
    if dry_run or not found:
        if output is Output.JSON:
            show_json({"dry_run": dry_run, "verb": verb, "count": found})
        return
    if not yes:
        typer.confirm(f"Order {verb} of {min(found, count)} executions?", abort=True, err=True)
    done = ask(do, lambda client: remote_workflows.order_many(client, verb, wanted, reason, dry_run=False))
    ordered = int(done["ordered"])
    if output is Output.JSON:
        show_json({"verb": verb, "ordered": ordered, "more": found > ordered == count})
    else:
        say(f"sent {verb} to {ordered} execution{'' if ordered == 1 else 's'}; it takes effect in the next ticks")


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
    if output is Output.JSON:
        show_json({"id": execution_id, "entries": entries})
    else:
        say(f"erased the values of {entries} entries; their commitments stay")


def _awaited(shape: Shape, moment: "datetime") -> str:
    """What it waits for, and until when at most."""
    wake_at = shape["wake_at"]
    until = "" if wake_at is None else when(moment, at(wake_at))
    if shape["status"] in ("failed", "paused"):
        return "for a person"
    match shape["waits_for"]:
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

    async def work(desk: "Desk") -> Shape:
        return await tell_execution(desk, await order_execution(desk, execution_id, verb, reason))

    execution = ask(
        work, lambda client: remote_workflows.order(client, execution_id, verb, reason, in_full=output is Output.JSON)
    )
    if output is Output.JSON:
        show_json({"execution": execution, "ordered": verb, "reason": reason})
        return
    say(f"sent {verb} to {execution_id}, which is {execution['status']} at {execution['step'] or 'its start'!r}")
    note("it takes effect in the next tick of a running ticker, and is recorded in the log with its reason")
