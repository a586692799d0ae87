"""`mainspring simulate`: run a scenario on a simulated clock, and check its promises."""

from pathlib import Path
from typing import Annotated

import typer

from mainspring.cli.command import OutputOption, fail_unless
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.progress import progress
from mainspring.cli.table import Column, show_table


def simulate(
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="SCENARIO", help="A built-in scenario by name, or a YAML file; default: list them."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of randomness; the same seed gives the same trace.")] = 1,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=10_000, help="Run this many seeds, starting with --seed.")
    ] = 1,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML report of the last one.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Write every run and decision as lines of text.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a scenario: the real scheduler, planner and governor, on a simulated clock with scripted targets.

    Hours pass in a moment. Exits with 1 if a check of the scenario fails; the failed seed is named.
    """
    from mainspring.simulation.checks import check_trace
    from mainspring.simulation.loop import PlayedTime
    from mainspring.simulation.report import report as write_report
    from mainspring.simulation.scenario import load_scenario, shipped
    from mainspring.simulation.world import play

    if scenario is None:
        rows = [(name, load_scenario(name).description) for name in shipped()]
        if output is Output.JSON:
            show_json([{"name": name, "description": description} for name, description in rows])
            return
        show_table((Column("SCENARIO"), Column("WHAT HAPPENS", tail=True)), rows, "No scenarios.")
        return
    loaded = load_scenario(scenario)
    failed: dict[int, list[tuple[str, str]]] = {}
    runs = checks = 0
    time = PlayedTime()
    with progress("simulate", int(seeds * loaded.minutes * 60), lambda: time.seconds):
        for each in range(seed, seed + seeds):
            played = play(loaded, each, played=time)
            verdicts = check_trace(played)
            runs, checks = runs + len(played.runs), len(verdicts)
            if faults := [(verdict.check, verdict.detail) for verdict in verdicts if not verdict.ok]:
                failed[each] = faults
            if each == seed + seeds - 1:
                if report is not None:
                    report.write_text(write_report(played, verdicts), encoding="utf-8")
                if trace is not None:
                    trace.write_text(played.text, encoding="utf-8")
    if output is Output.JSON:
        show_json({"scenario": loaded.name, "seeds": seeds, "runs": runs, "checks": checks, "failed": failed})
    else:
        for number, faults in failed.items():
            for check, detail in faults:
                say(f"seed {number}: {check}: {detail}")
        good = "all checks hold" if checks else "it has no checks"
        say(
            f"{loaded.name}: {loaded.minutes:g} minutes, {seeds} {'seed' if seeds == 1 else 'seeds'}, {runs} runs, "
            f"{good if not failed else f'checks fail for {len(failed)} of {seeds}'}"
        )
    fail_unless(not failed)
