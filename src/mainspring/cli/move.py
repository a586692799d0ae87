"""`mainspring move`: the whole installation to another database, while it runs."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.arguments import read_span
from mainspring.cli.command import OutputOption, complete, current_settings, fail_unless
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.settings import masked
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput

if TYPE_CHECKING:
    from mainspring.wiring.move import Moved


def move(
    to: Annotated[str, typer.Option("--to", metavar="URL", help="The database to move to: empty, or of this move.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check both databases; write nothing.")] = False,
    drain: Annotated[
        str, typer.Option("--drain", metavar="TIME", help="How long runs in flight may take to finish.")
    ] = "10s",
    pause_max: Annotated[
        str, typer.Option("--pause-max", metavar="TIME", help="Longest switch-over; a longer one is aborted.")
    ] = "60s",
    abort: Annotated[bool, typer.Option("--abort", help="Abort an unfinished move.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Move the installation to another database while it runs.

    Copies everything from SQLite to PostgreSQL, or back, compares both, and switches over. If killed, run it again to
    continue. Afterwards set MAINSPRING_DATABASE_URL to the new database and start the processes again.
    """
    if abort and dry_run:
        raise InvalidInput("--abort and --dry-run exclude each other; give one of them", field="abort")
    drain_ms = parse_duration_ms(drain, field="drain", min_ms=0)
    pause = read_span(pause_max, "pause-max")
    if abort:
        complete(_abort(to))
        say("the unfinished move was aborted; the source is in service, and the target can be deleted")
    elif dry_run:
        _show_plan(complete(_plan(to)), to, output)
    else:
        moved = complete(_move(to, timedelta(milliseconds=drain_ms), pause))
        _show_moved(moved, to, output)
        fail_unless(all(each.valid for each in moved.partitions))


async def _plan(to: str) -> dict[str, int]:
    from mainspring.wiring.move import open_move

    async with open_move(current_settings(), to, note, creates=False) as moving:
        return await moving.plan()


async def _abort(to: str) -> None:
    from mainspring.wiring.move import open_move

    async with open_move(current_settings(), to, note, creates=False) as moving:
        await moving.abort()


async def _move(to: str, drain: timedelta, pause_max: timedelta) -> "Moved":
    from mainspring.wiring.move import open_move

    async with open_move(current_settings(), to, note, creates=True) as moving:
        with progress("move", moving.reads(await moving.plan()), lambda: moving.done):
            return await moving.run(drain, pause_max)


def _show_plan(counts: dict[str, int], to: str, output: Output) -> None:
    if output is Output.JSON:
        show_json({"to": masked(to), "tables": counts})
        return
    say(f"{masked(current_settings().url)} can be moved to {masked(to)}: {sum(counts.values()):,} rows")
    for name, rows in sorted(counts.items()):
        if rows:
            say(f"  {name}: {rows:,}")


def _show_moved(moved: "Moved", to: str, output: Output) -> None:
    executions = sum(each.executions for each in moved.partitions)
    broken = [each.partition for each in moved.partitions if not each.valid]
    if output is Output.JSON:
        show_json(
            {
                "to": masked(to),
                "rows_read": moved.rows,
                "paused_s": round(moved.paused_s, 3),
                "executions": executions,
                "broken_partitions": broken,
            }
        )
        return
    if moved.was_left:
        say(f"opened {masked(to)}, to which the installation had moved before")
    else:
        say(f"moved to {masked(to)}: {moved.rows:,} rows read, paused for {moved.paused_s:.1f} s")
    if broken:
        say(f"partitions {broken} do not verify; they were copied unchanged: see `mainspring partition verify`")
    else:
        say(f"verified the logs of {executions:,} executions")
    note(f"set MAINSPRING_DATABASE_URL to {masked(to)} and start the processes again; the old database refuses writes")
