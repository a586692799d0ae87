"""`mainspring backtest`: replay recorded runs with changed rules, limits or another baseline."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_planner
from mainspring.cli.command import OutputOption, ask, server_in_use
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.rules import MaybeEndpoint, OfJob, one_owner, read_documents
from mainspring.cli.table import Column, show_table
from mainspring.domain.errors import InvalidInput

if TYPE_CHECKING:
    from mainspring.operations.context import Desk
    from mainspring.views.backtest import Backtest

FIRINGS_SHOWN = 20


def backtest(
    endpoint: MaybeEndpoint = None,
    job: OfJob = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Rules to use instead of the stored ones: a YAML or JSON file; - is stdin."),
    ] = None,
    no_rules: Annotated[bool, typer.Option("--no-rules", help="Replay without rules.")] = False,
    every: Annotated[str | None, typer.Option("--every", metavar="DURATION", help="Another interval.")] = None,
    cron: Annotated[str | None, typer.Option("--cron", help="Another cron expression.")] = None,
    min_interval: Annotated[
        str | None, typer.Option("--min-interval", metavar="DURATION", help="Another minimum interval.")
    ] = None,
    max_interval: Annotated[
        str | None, typer.Option("--max-interval", metavar="DURATION", help="Another maximum interval.")
    ] = None,
    count: Annotated[
        int, typer.Option("-n", "--limit", min=1, max=50_000, help="Number of newest runs of each endpoint.")
    ] = 500,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML report.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Replay recorded runs with a changed policy: calls made and saved, failures seen, decisions that differ.

    Without a change it shows how the current policy would have done. Between two recorded runs the last response holds.
    """
    from mainspring.domain.duration import parse_duration_ms
    from mainspring.domain.endpoint import INTERVAL_MS_MIN, LIMIT_MS_MIN
    from mainspring.operations.backtest import BacktestRequest, run_backtest
    from mainspring.operations.rules import find_owner
    from mainspring.views.backtest import Backtest

    one_owner(endpoint, job)
    if file is not None and no_rules:
        raise InvalidInput("--file and --no-rules exclude each other; give one of them", field="file")

    def ms(text: str | None, field: str, least_ms: int) -> int | None:
        return None if text is None else parse_duration_ms(text, field=field, min_ms=least_ms)

    wish = BacktestRequest(
        [] if no_rules else None if file is None else read_documents(file),
        ms(every, "every", INTERVAL_MS_MIN),
        cron,
        ms(min_interval, "min_interval", LIMIT_MS_MIN),
        ms(max_interval, "max_interval", LIMIT_MS_MIN),
        count,
    )

    if report is not None and (server := server_in_use()):
        raise InvalidInput(
            f"--report works on the database host, not through the server {server!r}; remove it, or use -o json",
            field="report",
        )

    async def work(desk: "Desk") -> "Backtest":
        tested = await run_backtest(desk, await find_owner(desk, endpoint, job), wish)
        if report is not None:
            from mainspring.simulation.comparison import comparison

            report.write_text(comparison(tested), encoding="utf-8")
        return Backtest.of(tested)

    with progress("backtest"):
        tested = ask(work, lambda client: remote_planner.backtest(client, endpoint, job, wish))
    if output is Output.JSON:
        show_json(tested)
    else:
        show_backtest(tested)


def show_backtest(tested: "Backtest") -> None:
    from mainspring.views.sentences import clock

    rows = []
    for each in tested.endpoints:
        mine = [one.seen_after_s for one in tested.failures if one.endpoint == each.endpoint]
        calls = (str(each.recorded), str(each.present), str(each.changed), f"{each.saved:+d}")
        seen = (*_seen([one.present for one in mine]), *_seen([one.changed for one in mine]))
        rows.append((each.endpoint, *calls, *seen))
    columns = (
        Column("ENDPOINT", can_cut=True), Column("RECORDED"), Column("CURRENT"), Column("CHANGED"), Column("SAVED"),
        Column("FAILURES SEEN"), Column("LATEST AFTER"), Column("CHANGED: SEEN"), Column("CHANGED: LATEST"),
    )  # fmt: skip
    say(f"from {clock(tested.begin)} to {clock(tested.end)}")
    more = "; older runs are left out, --limit reads more" if tested.is_limited else ""
    say(f"the newest {tested.limit:,} runs of each endpoint{more}")
    show_table(columns, rows, "No endpoint.")
    if tested.is_cut:
        say("a replay was ended at 60,000 runs")
    totals, differs = tested.totals, tested.differs
    if totals.failures > totals.listed:
        say(f"failures are counted over the first {totals.listed:,} of {totals.failures:,}")
    for fault in tested.faults:
        say(f"could not be judged: {fault}")
    for words, fired, count in (
        ("only by the current policy", differs.only_present, totals.only_present),
        ("only by the changed one", differs.only_changed, totals.only_changed),
    ):
        if fired:
            say(f"{words}: {count:,} {'decision' if count == 1 else 'decisions'}")
            for one in fired[:FIRINGS_SHOWN]:
                say(f"  {clock(one.at)} {one.endpoint}: rule {one.rule!r}: {one.does}")


def _seen(failures: Sequence[float | None]) -> tuple[str, str]:
    """How many recorded failures a policy saw, and how long after the slowest of them."""
    delays = [after for after in failures if after is not None]
    seen = f"{len(delays)} of {len(failures)}" if failures else "-"
    return seen, f"{max(delays):.0f} s" if delays else "-"
