"""`mainspring why` and `mainspring next`: the decision with its trail, in words, and the upcoming runs."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.arguments import EndpointName, read_assumption
from mainspring.cli.command import OutputOption, ask
from mainspring.cli.output import Output, now, say, show_json
from mainspring.cli.table import Column, show_list
from mainspring.views.sentences import clock, relative, rule_in_words

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.views.endpoint import EndpointView
    from mainspring.views.run import PlannedRunView
    from mainspring.views.why import DecisionView

    # The endpoint, its next runs, and why there are none.
    UpcomingRuns = tuple[EndpointView, list[PlannedRunView], DecisionView | None]


def why(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Explain when an endpoint runs next, and why.

    Every candidate of the decision is named, with its time and why it won or lost. For a due endpoint that has not
    started: what it waits for, how many wait with it, and which setting to change.
    """
    from mainspring.domain.config_field import DEFAULT_KIND
    from mainspring.operations.endpoints import find_endpoint
    from mainspring.views.why import DecisionView, load_decision

    async def work(desk: "Desk") -> "DecisionView":
        return await load_decision(desk, await find_endpoint(desk, name))

    decision = ask(work, lambda client: DecisionView.model_validate(client.endpoints.explain_decision(name)))
    if output is Output.JSON:
        show_json(decision)
        return
    for sentence in decision.sentences:
        say(sentence)
    if decision.kind not in (DEFAULT_KIND, "heartbeat"):  # a heartbeat calls nothing
        say(f"The target is {decision.target}.")


def next_runs(
    name: EndpointName,
    count: Annotated[int, typer.Option("-n", "--limit", min=1, max=10_000, help="Number of runs.")] = 20,
    assumption: Annotated[
        str | None,
        typer.Option("--if", metavar="failures=N", help="As if N consecutive runs had failed, and all that follow."),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the upcoming runs of an endpoint, or a what-if.

    Each run is assumed to start on its slot and to succeed; with --if failures=N, to fail.
    """
    from mainspring.operations.endpoints import find_endpoint
    from mainspring.operations.preview import load_preview
    from mainspring.views.endpoint import EndpointView, load_endpoint
    from mainspring.views.run import PlannedRunView
    from mainspring.views.why import DecisionView, load_decision

    failures = read_assumption(assumption) if assumption is not None else None

    async def work(desk: "Desk") -> "UpcomingRuns":
        endpoint = await find_endpoint(desk, name)
        at = await desk.stores.schedule.now()
        runs = [PlannedRunView.of(each) for each in await load_preview(desk, endpoint, at, count, failures)]
        return await load_endpoint(desk, endpoint), runs, None if runs else await load_decision(desk, endpoint)

    def over(client: "Client") -> "UpcomingRuns":
        runs = PlannedRunView.read_all(client.endpoints.preview(name, count=count, failures=failures)["runs"])
        endpoint = EndpointView.model_validate(client.endpoints.read(name))
        return endpoint, runs, None if runs else DecisionView.model_validate(client.endpoints.explain_decision(name))

    endpoint, runs, decision = ask(work, over)
    at, zone = now(), endpoint.timezone
    has_zone = endpoint.cron is not None and zone != "UTC"
    rows = [
        (
            clock(run.next_run_at),
            relative(at, run.next_run_at),
            *([_local(run.next_run_at, zone)] if has_zone else []),
            _set_by(run),
        )
        for run in runs
    ]
    columns = (Column("RUN"), Column("FROM NOW"), *([Column(zone)] if has_zone else []), Column("SET BY"))
    show_list(runs, output, columns, rows, _never(decision))


def _set_by(run: "PlannedRunView") -> str:
    """What set the run, and what moved it: `the interval; the maintenance window 'patch-night' skips runs until ...`"""
    words = rule_in_words(run.source)
    return "; ".join((words, *(step.why for step in run.trail if step.rule in ("maintenance", "calendar"))))


def _never(decision: "DecisionView | None") -> str:
    if decision is None or decision.status == "active":
        return "It does not run again."
    return " ".join(each.sentence for each in decision.reasons if each.part == "state")


def _local(at: datetime, zone: str) -> str:
    from zoneinfo import ZoneInfo

    return at.astimezone(ZoneInfo(zone)).isoformat(sep=" ", timespec="seconds")
