"""`mainspring why` and `mainspring next`: the decision with its trail, in words, and what comes after it."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.arguments import EndpointName, read_assumption
from mainspring.cli.door import OutputOption, ask
from mainspring.cli.screen import Output, clock, relative, say, show_json, when
from mainspring.cli.sights import Sight, hints_in_words, see
from mainspring.cli.table import Column, show_table
from mainspring.domain.instant import FOREVER
from mainspring.shapes import decision_shape, instant, run_shape, state_of, step_shape

if TYPE_CHECKING:
    from mainspring.domain.governor import Decision, Step
    from mainspring.domain.run import Run
    from mainspring.operations.endpoints import Desk

RULES = {
    "baseline-cron": "The cron schedule",
    "baseline-interval": "The interval",
    "ai-interval": "The interval hint",
    "ai-oneshot": "The one-shot hint",
    "clamped-min": "The minimum interval",
    "clamped-max": "The maximum interval",
    "paused": "The pause",
    "retry-after": "The target's Retry-After",
    "overdue": "The rule for what is overdue",
    "faulty": "The rule for what cannot be planned",
}


def why(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Explain when an endpoint runs next, and why.

    Every candidate of the decision is named, with what it asked for and why it won or lost.
    """
    from mainspring.domain.governor import decode_trail
    from mainspring.operations.endpoints import find_endpoint

    async def work(desk: "Desk") -> tuple[Sight, "Run | None"]:
        sight = await see(desk, await find_endpoint(desk, name))
        endpoint = sight.endpoint
        return sight, await desk.stores.runs.run(desk.tenant_id, endpoint.run_id) if endpoint.is_running else None

    sight, running = ask(work)
    endpoint = sight.endpoint
    steps = decode_trail(endpoint.trail)
    sentences = [*_state(sight), *_running(sight, running), *_decided(sight, steps), *_more(sight)]
    if output is Output.TABLE:
        for sentence in sentences:
            say(sentence)
        return
    show_json(
        {
            "endpoint": endpoint.name,
            "status": state_of(endpoint, sight.now),
            "next_run_at": instant(endpoint.next_run_at),
            "source": endpoint.source,
            "trail": [step_shape(step) for step in steps],
            "running": None if running is None else run_shape(running, endpoint.name),
            "sentences": sentences,
        }
    )


def next_runs(
    name: EndpointName,
    count: Annotated[int, typer.Option("-n", "--limit", min=1, max=10_000, help="How many runs.")] = 20,
    assumption: Annotated[
        str | None,
        typer.Option("--if", metavar="failures=N", help="As if N runs in a row had failed, and all that follow."),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the next runs of an endpoint, or what would be.

    Each run is taken to start on its slot and to succeed; with --if failures=N, to fail.
    """
    from mainspring.operations.endpoints import find_endpoint
    from mainspring.operations.preview import preview

    failures = read_assumption(assumption) if assumption is not None else None

    async def work(desk: "Desk") -> tuple[Sight, list["Decision"]]:
        sight = await see(desk, await find_endpoint(desk, name))
        return sight, preview(sight.endpoint, sight.now, count, desk.cron, failures)

    sight, decisions = ask(work)
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
            decision.source,
        )
        for decision in decisions
    ]
    columns = (Column("RUN"), Column("FROM NOW"), *([Column(zone)] if has_zone else []), Column("SOURCE"))
    show_table(columns, rows, _never(sight))


def step_sentence(step: "Step", steps: tuple["Step", ...]) -> str:
    """One candidate or rule of a decision, as a complete sentence."""
    who = RULES.get(step.rule, step.rule)
    at = clock(step.at) if step.at is not None else "no instant"
    if step.at is not None and step.at >= FOREVER:
        at = "no end"
    winner = next((each for each in steps if each.verdict == "won"), None)
    if step.verdict == "won":
        return f"{who} asked for {at} and won: {step.why}."
    if step.verdict == "lost" and winner is not None:
        rival = RULES.get(winner.rule, winner.rule)
        return f"{who} asked for {at} and lost to {rival[0].lower()}{rival[1:]}: {step.why}."
    if step.verdict == "ignored":
        return f"{who} was ignored: {step.why}."
    if step.verdict == "moved":
        return f"{who} moved the run to {at}: {step.why}."
    return f"{who} asked for {at} and {step.verdict}: {step.why}."


def _state(sight: Sight) -> list[str]:
    """What stops it, or when it runs and on whose word."""
    endpoint, now = sight.endpoint, sight.now
    name = f"{endpoint.name!r}"
    match state_of(endpoint, now):
        case "archived":
            return [f"{name} was archived {when(now, endpoint.archived_at)} and never runs again."]
        case "parked":
            return [
                f"{name} was parked {when(now, endpoint.parked_at)}: {endpoint.parked_reason}.",
                f"It does not run until it is resumed: mainspring endpoint resume {name}.",
            ]
        case "job-paused":
            return [f"{name} does not run because its job is not active: mainspring job resume {sight.job!r}."]
        case "paused":
            until = (
                "until it is resumed"
                if _is_forever(endpoint.paused_until)
                else f"until {when(now, endpoint.paused_until)}"
            )
            reason = f", because: {endpoint.pause_reason}" if endpoint.pause_reason else ""
            return [f"{name} is paused {until}{reason}."]
        case "deferred":
            return [
                f"{name} waits until {when(now, endpoint.deferred_until)} because its tenant used up its runs of the "
                "month: mainspring tenant set --runs-per-month raises the quota."
            ]
        case _:
            return _planned(sight)


def _planned(sight: Sight) -> list[str]:
    endpoint, now = sight.endpoint, sight.now
    if endpoint.next_run_at is None:
        return [f"{endpoint.name!r} has no next run."]
    source = RULES.get(endpoint.source, endpoint.source)
    by = f"{source[0].lower()}{source[1:]}"
    verb = "runs next" if endpoint.next_run_at > now else "was due"
    return [f"{endpoint.name!r} {verb} at {when(now, endpoint.next_run_at)}, set by {by} ({endpoint.source})."]


def _running(sight: Sight, run: "Run | None") -> list[str]:
    endpoint, now = sight.endpoint, sight.now
    sentences: list[str] = []
    if endpoint.is_running:
        since = f"since {when(now, run.started_at)} " if run is not None else ""
        sentences.append(
            f"It is running now, {since}by worker {endpoint.claimed_by} (attempt {endpoint.attempt}, "
            f"{endpoint.run_id}); unless it ends before {clock(endpoint.lease_until)}, another worker takes it over."
        )
        sentences.append("What follows is the plan as it was made before this run; its end makes the next one.")
    if endpoint.manual_at is not None:
        start = "starts when the present run has ended" if endpoint.is_running else "starts at once"
        sentences.append(f"A run was asked for {when(now, endpoint.manual_at)} and {start}.")
    if not sight.has_scheduler:
        sentences.append("No scheduler is alive, so nothing runs: start one with mainspring serve.")
    return sentences


def _decided(sight: Sight, steps: tuple["Step", ...]) -> list[str]:
    if not steps:
        return ["No decision has been made for it yet."]
    return ["How this was decided:", *(f"  {step_sentence(step, steps)}" for step in steps)]


def _more(sight: Sight) -> list[str]:
    """What counts at the next decision although it may not be in this one's trail."""
    endpoint = sight.endpoint
    sentences = [f"In force: {kind}, {words}." for kind, words in hints_in_words(endpoint, sight.now)]
    if endpoint.failure_count:
        many = "run" if endpoint.failure_count == 1 else f"{endpoint.failure_count} runs"
        sentences.append(f"The last {many} failed; a success ends the backoff, and so does mainspring endpoint reset.")
    return sentences


def _never(sight: Sight) -> str:
    return " ".join(_state(sight)) if state_of(sight.endpoint, sight.now) != "active" else "It does not run again."


def _local(at: datetime, zone: str) -> str:
    from zoneinfo import ZoneInfo

    return at.astimezone(ZoneInfo(zone)).isoformat(sep=" ", timespec="seconds")


def _is_forever(at: datetime | None) -> bool:
    return at is not None and at >= FOREVER
