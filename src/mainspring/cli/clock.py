"""`mainspring clock ...`: steps of the database clock, and the repair of workflows stopped by one."""

from datetime import timedelta
from typing import TYPE_CHECKING

from mainspring.cli.command import CommandApp, OutputOption, complete, current_settings
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.table import Column, show_table
from mainspring.domain.duration import format_duration
from mainspring.domain.instant import rfc3339
from mainspring.views.sentences import clock

if TYPE_CHECKING:
    from mainspring.operations.partitions import ClockStatus
    from mainspring.ports.clock import RepairedPartition
    from mainspring.settings import Settings

app = CommandApp("The database clock: when it was set, and what that stopped.")
MEANING = {"step": "the clock was set", "skew": "a worker's clock differs", "repair": "a partition was repaired"}


@app.command("show")
def show(output: OutputOption = Output.TABLE) -> None:
    """Show when the clock was set, whose clock differs, and which workflow partitions are stopped.

    Shows the last 7 days.
    """
    status = complete(_status(current_settings()))
    if output is Output.JSON:
        reports = [
            {"at": rfc3339(each.at), "kind": each.kind, "ms": each.ms, "worker": each.worker, "changed": each.changed}
            for each in status.reports
        ]
        stopped = [{"partition": each.partition, "ahead_ms": _ms(each.ahead)} for each in status.stopped]
        show_json({"reports": reports, "stopped": stopped})
        return
    columns = (Column("AT"), Column("WHAT"), Column("DIFFERENCE"), Column("CHANGED"), Column("WORKER", can_cut=True))
    rows = [
        (clock(each.at), MEANING[each.kind], span_text(each.span), f"{each.changed:,}", each.worker)
        for each in status.reports
    ]
    show_table(columns, rows, "The clock was not set in the last 7 days.")
    for each in status.stopped:
        note(f"workflow partition {each.partition} is stopped: its clock is {span_text(each.ahead)}")
    if status.stopped:
        note("let them continue: mainspring clock repair")


@app.command("repair")
def repair(output: OutputOption = Output.TABLE) -> None:
    """Let workflow partitions continue that a clock in the future has stopped.

    Correct the clock first. A partition whose ticks are ahead of the clock waits until the clock has caught up; this
    command lets it continue from now. Waiting executions keep the time they wait for. Executions that moved while the
    clock was ahead keep what they did, so some of their waits may have ended early; the command counts them. Logs and
    their proofs stay valid. It is safe while others run.
    """
    repaired = complete(_repair(current_settings()))
    if output is Output.JSON:
        show_json(
            [
                {
                    "partition": each.partition,
                    "ahead_ms": _ms(each.ahead),
                    "waiting": each.waiting,
                    "moved": each.moved,
                }
                for each in repaired
            ]
        )
        return
    if not repaired:
        say("No workflow partition is stopped; nothing to repair.")
    for each in repaired:
        say(
            f"partition {each.partition} continues from now; it was {span_text(each.ahead)}. "
            f"Executions still waiting: {each.waiting:,}; moved while the clock was ahead: {each.moved:,}"
        )


async def _status(settings: "Settings") -> "ClockStatus":
    from mainspring.operations.partitions import clock_status
    from mainspring.wiring.stores import open_stores

    async with open_stores(settings.url, pool_size=2, behind_bouncer=settings.pgbouncer) as stores:
        return await clock_status(stores)


async def _repair(settings: "Settings") -> "list[RepairedPartition]":
    from mainspring.operations.partitions import repair_clock
    from mainspring.wiring.clock import TimeOrderedIds, worker_name
    from mainspring.wiring.stores import open_stores

    async with open_stores(settings.url, pool_size=2, behind_bouncer=settings.pgbouncer) as stores:
        return await repair_clock(stores, TimeOrderedIds(), worker_name())


def span_text(span: timedelta) -> str:
    """`1h ahead` or `1h back`."""
    return f"{format_duration(abs(_ms(span)))} {'ahead' if span > timedelta(0) else 'back'}"


def _ms(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)
