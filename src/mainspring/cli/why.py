"""`mainspring why` and `mainspring next`: the decision with its trail, in words, and the upcoming runs."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote
from mainspring.cli.arguments import EndpointName, read_assumption
from mainspring.cli.command import OutputOption, ask
from mainspring.cli.endpoint_output import see
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.table import Column, show_table
from mainspring.views.sentences import EndpointSight, clock, relative, rule_in_words, state_sentences, why_shape
from mainspring.views.shapes import decision_shape, state_of

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.schedule.governor import Decision
    from mainspring.operations.endpoints import Desk


def why(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Explain when an endpoint runs next, and why.

    Every candidate of the decision is named, with what it asked for and why it won or lost. For a due endpoint that has
    not started: what it waits for, how many wait with it, and which setting to change.
    """
    from mainspring.operations.endpoints import find_endpoint
    from mainspring.operations.proposals import pending_of
    from mainspring.operations.runs import find_wait

    async def work(desk: "Desk") -> remote.Shape:
        endpoint = await find_endpoint(desk, name)
        proposals = await pending_of(desk, endpoint)
        sight = (await see(desk, endpoint))._replace(wait=await find_wait(desk, endpoint), proposals=proposals)
        run = await desk.stores.runs.run(desk.tenant_id, endpoint.run_id) if endpoint.is_running else None
        return why_shape(sight, run)

    reasons = ask(work, lambda client: client.endpoints.explain_decision(name))
    if output is Output.JSON:
        show_json(reasons)
        return
    for sentence in reasons["sentences"]:
        say(sentence)


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
    from mainspring.operations.preview import preview

    failures = read_assumption(assumption) if assumption is not None else None

    async def work(desk: "Desk") -> tuple[EndpointSight, list["Decision"]]:
        sight = await see(desk, await find_endpoint(desk, name))
        return sight, preview(sight.endpoint, sight.now, count, desk.cron, failures)

    def over(client: "Client") -> tuple[EndpointSight, list["Decision"]]:
        shapes = client.endpoints.preview(name, count=count, failures=failures)["runs"]
        return remote.sight_of(client.endpoints.read(name)), [remote.decision_of(shape) for shape in shapes]

    sight, decisions = ask(work, over)
    if output is Output.JSON:
        show_json([decision_shape(decision) for decision in decisions])
        return
    zone = sight.endpoint.timezone
    has_zone = sight.endpoint.cron is not None and zone != "UTC"
    rows = [
        (
            clock(decision.next_run_at),
            relative(sight.now, decision.next_run_at),
            *([_local(decision.next_run_at, zone)] if has_zone else []),
            rule_in_words(decision.source),
        )
        for decision in decisions
    ]
    columns = (Column("RUN"), Column("FROM NOW"), *([Column(zone)] if has_zone else []), Column("SET BY"))
    show_table(columns, rows, _never(sight))


def _never(sight: EndpointSight) -> str:
    return " ".join(state_sentences(sight)) if state_of(sight.endpoint, sight.now) != "active" else "No upcoming runs."


def _local(at: datetime, zone: str) -> str:
    from zoneinfo import ZoneInfo

    return at.astimezone(ZoneInfo(zone)).isoformat(sep=" ", timespec="seconds")
