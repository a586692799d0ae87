"""Logs of executions as commands show them."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.cli.command import fail_unless
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.table import Column

if TYPE_CHECKING:
    from mainspring.views.execution_log import BreachView, TimelineEntryView

MOMENT_COLUMNS = (
    Column("AT (UTC)"),
    Column("TICK", spare=True),
    Column("STEP"),
    Column("ACTION", spare=True),
    Column("WHAT", tail=True),
)


def moment_lines(moments: Iterable["TimelineEntryView"]) -> list[tuple[str, str, str, str, str]]:
    return [(f"{each.at:%Y-%m-%d %H:%M:%S}", str(each.tick), each.step, each.action, each.text) for each in moments]


def show_breach(breach: "BreachView") -> None:
    say(f"NOT VALID: {breach.execution_id}, entry {breach.number}, {breach.field}:")
    say(f"  expected {breach.expected}")
    say(f"  found    {breach.found}")


def verify_file(file: Path, output: Output) -> None:
    """Check a file of `execution export`, without a database."""
    from mainspring.views.execution_log import BundleVerdictView
    from mainspring.wiring.workflows import is_signed
    from mainspring.workflow.bundle import check_bundle, read_bundle

    with progress("verify"):
        bundle = read_bundle(file.read_bytes())
        found = check_bundle(bundle, is_signed)
        view = BundleVerdictView.of(bundle, found)
    if output is Output.JSON:
        show_json(view)
    elif view.breach is not None:
        show_breach(view.breach)
    elif found.replay is not None and not found.replay.identical:
        first = found.replay.differences[0]
        say(f"NOT VALID: run again, entry {first.number} differs in {first.field}:")
        say(f"  the log has {first.expected}")
        say(f"  it gives    {first.actual}")
    else:
        say(f"valid: {bundle.execution} of {bundle.workflow!r} version {bundle.version}, {len(bundle.log)} entries")
        say(f"  held by {found.ticks} ticks, signed by {found.signed_by or 'nobody'}")
        say(f"  run again from its log: {'identical' if found.replay else 'not possible, its values were erased'}")
    fail_unless(found.valid)
