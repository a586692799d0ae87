"""`mainspring partition ...`: the state of workflow partitions, and verification of their content."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.arguments import Force
from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for_all, fail_unless
from mainspring.cli.execution_output import show_breach
from mainspring.cli.output import Output, note, now, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.table import Column, show_list
from mainspring.domain.errors import Conflict
from mainspring.views.sentences import when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.views.partition import PartitionStatus

app = CommandApp("Partitions of workflows: writers, waiting work, verification.")

Number = Annotated[
    int | None, typer.Argument(metavar="PARTITION", min=0, help="Number of the partition; default: all.")
]


@app.command("list")
def list_partitions(output: OutputOption = Output.TABLE) -> None:
    """List partitions with their writers and what waits in them."""
    from mainspring.views.partition import PartitionStatus

    async def work(desk: "Desk") -> list["PartitionStatus"]:
        moment = await desk.stores.flows.workflows.now()
        return [PartitionStatus.of(view, moment) for view in await desk.stores.flows.partitions.views(moment)]

    found = ask(work, lambda client: PartitionStatus.read_all(client.partitions.list()["items"]), for_all=True)
    at = now()
    rows = [
        (
            str(each.partition), str(each.ticks), each.writer or "none", str(each.overdue),
            when(at, each.waits_since),
        )
        for each in found
    ]  # fmt: skip
    columns = (
        Column("PARTITION"),
        Column("TICKS"),
        Column("WRITER"),
        Column("OVERDUE"),
        Column("NEXT WORK", tail=True),
    )
    show_list(found, output, columns, rows, "No partitions; the first execution creates one.")


@app.command("verify")
def verify(
    partition: Number = None,
    kept: Annotated[
        list[Path] | None,
        typer.Option("--checkpoints", metavar="FILE", help="Checkpoints kept elsewhere; repeatable."),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Verify partitions; exits with 1 if one was changed, and names what is wrong.

    Finds deleted executions and, with checkpoints kept elsewhere, removed ticks and deleted checkpoints.
    """
    import msgspec

    from mainspring.operations.partitions import read_kept, verify_partitions
    from mainspring.views.partition import PartitionVerified

    checkpoints = [each for file in kept or () for each in read_kept(file.read_bytes()).checkpoints]

    given = msgspec.to_builtins(checkpoints)
    with progress("verify"):
        found = ask_for_all(
            PartitionVerified,
            lambda desk: verify_partitions(desk, partition, checkpoints),
            lambda client: client.partitions.verify(partition=partition, checkpoints=given)["items"],
            for_all=True,
        )
    if output is Output.JSON:
        show_json(found)
    for each in found if output is Output.TABLE else ():
        if each.breach is not None:
            show_breach(each.breach)
            continue
        held = f"{each.checkpoints} stored and {each.kept} kept checkpoints"
        say(f"valid: partition {each.partition}, {each.executions} executions, {each.ticks} ticks; {held}")
        if each.unsigned:
            note(f"partition {each.partition}: no checkpoint was signed after its last {each.unsigned} ticks")
        if each.unreachable:
            note(f"{each.unreachable} kept checkpoints are of ticks that retention has removed")
    fail_unless(all(each.valid for each in found))


@app.command("checkpoints")
def checkpoints(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Output file; default: standard output.")] = None,
    force: Force = False,
) -> None:
    """Export the newest signed checkpoint of each partition, to keep outside of this database."""
    import msgspec

    from mainspring.operations.partitions import KeptCheckpoints, export_checkpoints

    if file is not None and file.is_file() and not force:
        raise Conflict(f"{file} exists; give another name, or overwrite it with --force", kind="file", name=str(file))

    def remotely(client: "Client") -> KeptCheckpoints:
        return msgspec.convert(client.partitions.export_checkpoints(), KeptCheckpoints)

    found = ask(export_checkpoints, remotely, for_all=True)
    text = msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
    if file is None:
        print(text.decode(), end="")
    else:
        file.write_bytes(text)
        say(f"wrote {len(found.checkpoints)} checkpoints to {file}")
    if not found.checkpoints:
        note("no checkpoint was signed yet; a running ticker signs one within a minute of its first tick")
