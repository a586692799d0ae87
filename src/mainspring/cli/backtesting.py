"""`mainspring backtest`: recorded runs through changed rules, limits or another baseline."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.door import OutputOption, ask
from mainspring.cli.rules import MaybeEndpoint, OfJob, one_owner, read_documents
from mainspring.cli.screen import Output, say, show_json
from mainspring.cli.table import Column, show_table
from mainspring.domain.errors import InvalidInput

if TYPE_CHECKING:
    from mainspring.domain.backtest import BackTest, Fired
    from mainspring.operations.endpoints import Desk

FIRINGS_SHOWN = 20


def backtest(
    endpoint: MaybeEndpoint = None,
    job: OfJob = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Rules in place of its own: a YAML or JSON file; - is stdin.")
    ] = None,
    no_rules: Annotated[bool, typer.Option("--no-rules", help="Without its rules.")] = False,
    every: Annotated[str | None, typer.Option("--every", metavar="DURATION", help="Another interval.")] = None,
    cron: Annotated[str | None, typer.Option("--cron", help="Another cron expression.")] = None,
    least: Annotated[str | None, typer.Option("--min", metavar="DURATION", help="Another minimum interval.")] = None,
    most: Annotated[str | None, typer.Option("--max", metavar="DURATION", help="Another maximum interval.")] = None,
    count: Annotated[
        int, typer.Option("-n", "--limit", min=1, max=5000, help="The newest so many runs of each endpoint.")
    ] = 500,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page about it.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Replay recorded runs through a changed policy: calls made and saved, failures seen, decisions that differ.

    Without a change it tells how the present policy would have done. Between two recorded runs the last response holds.
    """
    from mainspring.domain.duration import parse_duration_ms
    from mainspring.operations.backtesting import Wish, run_backtest
    from mainspring.operations.rules import find_owner
    from mainspring.planner_shapes import backtest_shape

    one_owner(endpoint, job)
    if file is not None and no_rules:
        raise InvalidInput("--file and --no-rules exclude each other; give one of them", field="file")

    def ms(text: str | None, field: str) -> int | None:
        return None if text is None else parse_duration_ms(text, field=field)

    wish = Wish(
        [] if no_rules else None if file is None else read_documents(file),
        ms(every, "every"),
        cron,
        ms(least, "min"),
        ms(most, "max"),
        count,
    )

    async def work(desk: "Desk") -> "BackTest":
        return await run_backtest(desk, await find_owner(desk, endpoint, job), wish)

    tested = ask(work)
    if report is not None:
        from mainspring.simulation.comparison import comparison

        report.write_text(comparison(tested), encoding="utf-8")
    if output is Output.JSON:
        show_json(backtest_shape(tested))
    else:
        show_backtest(tested)


def show_backtest(tested: "BackTest") -> None:
    from mainspring.words import clock

    def count(runs: object, endpoint_id: str) -> int:
        return sum(run.endpoint_id == endpoint_id for run in runs)  # type: ignore[attr-defined]  # replayed runs

    rows = []
    for endpoint_id, name in sorted(tested.names.items(), key=lambda pair: pair[1]):
        recorded = len(tested.recorded.get(endpoint_id, ()))
        present, changed = count(tested.present.runs, endpoint_id), count(tested.changed.runs, endpoint_id)
        seen = [each for each in tested.detections if each.endpoint_id == endpoint_id]
        failures = f"{sum(each.changed_s is not None for each in seen)} of {len(seen)}" if seen else "-"
        delays = [each.changed_s for each in seen if each.changed_s is not None]
        slowest = f"{max(delays):.0f} s" if delays else "-"
        rows.append((name, str(recorded), str(present), str(changed), f"{present - changed:+d}", failures, slowest))
    columns = (
        Column("ENDPOINT", can_cut=True), Column("RECORDED"), Column("PRESENT"), Column("CHANGED"), Column("SAVED"),
        Column("FAILURES SEEN"), Column("AT THE LATEST AFTER"),
    )  # fmt: skip
    say(f"from {clock(tested.begin)} to {clock(tested.end)}")
    show_table(columns, rows, "No endpoint.")
    if tested.present.is_cut or tested.changed.is_cut:
        say("a replay was ended at 20,000 runs")
    for fault in tested.changed.faults:
        say(f"could not be judged: {fault}")
    differing = {"only by the present policy": tested.only_present, "only by the changed one": tested.only_changed}
    for words, fired in differing.items():
        if fired:
            say(f"{words}: {len(fired)} {'decision' if len(fired) == 1 else 'decisions'}")
            for each in fired[:FIRINGS_SHOWN]:
                say(f"  {clock(each.at)} {tested.names[each.endpoint_id]}: {_words(each)}")


def _words(fired: "Fired") -> str:
    return f"rule {fired.rule!r}: {fired.does}"
