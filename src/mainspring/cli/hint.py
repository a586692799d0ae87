"""`mainspring hint ...`: temporary changes to when an endpoint runs."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.arguments import EndpointName, Reason, one_of_two, read_instant, read_span
from mainspring.cli.command import CommandApp, OutputOption, ask
from mainspring.cli.output import Output, now, say, show_json
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput
from mainspring.views.sentences import hints_in_words, source_in_words, when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.schedule.changes import Change
    from mainspring.operations.context import Desk
    from mainspring.views.endpoint import EndpointView

MILLISECOND = timedelta(milliseconds=1)

app = CommandApp("Hints: temporary changes to when an endpoint runs.")

Ttl = Annotated[str | None, typer.Option("--ttl", metavar="DURATION", help="How long the hint is valid, at most 24h.")]


@app.command("interval")
def interval(
    name: EndpointName,
    every: Annotated[str, typer.Argument(metavar="DURATION", help="Temporary interval: 30s.")],
    ttl: Ttl = None,
    reason: Reason = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Run at another interval for a while (1h, or --ttl)."""
    from mainspring.domain.schedule.hint import HINT_INTERVAL_MS_MAX, HINT_INTERVAL_MS_MIN, INTERVAL_TTL_DEFAULT
    from mainspring.operations.endpoints import put_interval_hint

    interval_ms = parse_duration_ms(every, field="every", min_ms=HINT_INTERVAL_MS_MIN, max_ms=HINT_INTERVAL_MS_MAX)
    good_for = _ttl(ttl, INTERVAL_TTL_DEFAULT)
    _act(
        lambda desk: put_interval_hint(desk, name, interval_ms, good_for, reason),
        lambda client: client.hints.put_interval(name, every=interval_ms, ttl=good_for // MILLISECOND, reason=reason),
        output,
    )


@app.command("oneshot")
def oneshot(
    name: EndpointName,
    at: Annotated[str | None, typer.Option("--at", metavar="RFC3339", help="Run at this time.")] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="DURATION", help="Run this long from now: 30s.")
    ] = None,
    ttl: Ttl = None,
    reason: Reason = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Run once at a time, unless the schedule is earlier.

    The hint is valid for 30m, or for --ttl; its time must be within that.
    """
    from mainspring.domain.schedule.hint import ONE_SHOT_TTL_DEFAULT
    from mainspring.operations.endpoints import put_one_shot_hint

    one_of_two(at, after, "--at and --after", "at")
    if at is None and after is None:
        raise InvalidInput("a one-shot hint needs a time; give --at 2025-01-31T08:30:00Z or --after 30s", field="at")
    instant = read_instant(at, "at") if at is not None else None
    from_now = read_span(after, "after") if after is not None else timedelta(0)
    good_for = _ttl(ttl, ONE_SHOT_TTL_DEFAULT)
    _act(
        lambda desk: put_one_shot_hint(desk, name, lambda at: instant or at + from_now, good_for, reason),
        lambda client: client.hints.put_one_shot(name, at=at, after=after, ttl=good_for // MILLISECOND, reason=reason),
        output,
    )


@app.command("clear")
def clear(name: EndpointName, output: OutputOption = Output.TABLE) -> None:
    """Remove both hints; the schedule applies again."""
    from mainspring.operations.endpoints import clear_hints

    _act(lambda desk: clear_hints(desk, name), lambda client: client.hints.clear(name), output)


def _ttl(text: str | None, default: timedelta) -> timedelta:
    from mainspring.domain.schedule.hint import HINT_TTL_MAX

    return default if text is None else read_span(text, "ttl", HINT_TTL_MAX)


def _act(act: Callable[["Desk"], Awaitable["Change"]], over: Callable[["Client"], object], output: Output) -> None:
    from mainspring.views.endpoint import EndpointView, load_endpoint

    async def work(desk: "Desk") -> "EndpointView":
        return await load_endpoint(desk, (await act(desk)).endpoint)

    endpoint = ask(work, lambda client: EndpointView.model_validate(over(client)))
    if output is Output.JSON:
        show_json(endpoint)
        return
    at = now()
    hints = hints_in_words(endpoint, at)
    for kind, words in hints:
        say(f"{endpoint.name!r} has the {kind} {words}")
    if not hints:
        say(f"{endpoint.name!r} has no hint")
    next_run = when(at, endpoint.next_run_at, none="never")
    say(f"next run {next_run}, set by {source_in_words(endpoint)}")
