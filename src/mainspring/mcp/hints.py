"""Tools about the schedule: hints, the reason for the next run, and upcoming runs."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from mainspring.domain.access.scope import Scope
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput
from mainspring.domain.schedule.hint import HINT_INTERVAL_MS_MIN, INTERVAL_TTL_DEFAULT, ONE_SHOT_TTL_DEFAULT
from mainspring.mcp.arguments import (
    ChangeEndpoint,
    Duration,
    Instant,
    OneEndpoint,
    Reason,
    read_duration,
    read_instant,
)
from mainspring.mcp.endpoints import act
from mainspring.mcp.tool import Toolbox, ToolCaller
from mainspring.operations import endpoints as operations
from mainspring.operations.endpoints import find_endpoint
from mainspring.operations.preview import load_preview
from mainspring.views.run import PlannedRunView
from mainspring.views.view import JsonObject
from mainspring.views.why import load_decision

PREVIEW_MAX = 100

box = Toolbox()


class PutHint(ChangeEndpoint):
    every: Annotated[
        Duration | None,
        Field(description="Temporary interval; replaces an interval hint."),
    ] = None
    at: Annotated[Instant | None, Field(description="Run once at this time; replaces a one-shot hint.")] = None
    after: Annotated[Duration | None, Field(description="Run once after this duration; instead of at.")] = None
    clear: Annotated[bool, Field(description="true: remove its hints; its schedule applies again.")] = False
    ttl: Annotated[
        Duration | None,
        Field(description="How long the hint is valid, at most 24h; default 1h for an interval, 30m for a one-shot."),
    ] = None
    reason: Reason = ""


@box.tool(Scope.RUN, repeats=True)
async def put_hint(visit: ToolCaller, wanted: PutHint) -> JsonObject:
    """Change when an endpoint runs, for a while: at another interval, or once at a time unless it runs earlier.

    Give one of every, at, after and clear. A hint expires automatically; the limits and pauses of the endpoint take
    precedence.
    """
    given = [name for name in ("every", "at", "after", "clear") if getattr(wanted, name) not in (None, False)]
    if len(given) != 1:
        raise InvalidInput(
            f"a hint is one of every, at, after and clear, and {' and '.join(given) or 'none'} was given; "
            "give one, for example every=30s",
            field="every",
        )
    if wanted.clear:
        return await act(visit, wanted, lambda desk: operations.clear_hints(desk, wanted.endpoint))
    if wanted.every is not None:
        ms = parse_duration_ms(wanted.every, field="every", min_ms=HINT_INTERVAL_MS_MIN)
        ttl = INTERVAL_TTL_DEFAULT if wanted.ttl is None else read_duration(wanted.ttl, "ttl")
        return await act(
            visit, wanted, lambda desk: operations.put_interval_hint(desk, wanted.endpoint, ms, ttl, wanted.reason)
        )
    instant = None if wanted.at is None else read_instant(wanted.at, "at")
    span = None if wanted.after is None else read_duration(wanted.after, "after")
    ttl = ONE_SHOT_TTL_DEFAULT if wanted.ttl is None else read_duration(wanted.ttl, "ttl")
    return await act(
        visit,
        wanted,
        lambda desk: operations.put_one_shot_hint(
            desk, wanted.endpoint, lambda now: instant or now + (span or timedelta(0)), ttl, wanted.reason
        ),
    )


class Why(OneEndpoint):
    count: Annotated[int, Field(description="Also return this many upcoming runs.", ge=0, le=PREVIEW_MAX)] = 0
    failures: Annotated[
        int | None,
        Field(description="What if this many consecutive runs had failed, and all that follow?", ge=0, le=999_999),
    ] = None


@box.tool(Scope.READ, only_reads=True)
async def why(visit: ToolCaller, wanted: Why) -> JsonObject:
    """Explain when an endpoint runs next, and why: each rule of the decision, its time, and why it won or lost.

    With count, also the upcoming runs and the rule that sets each; with failures, what they would be after those.
    """
    desk = visit.desk
    endpoint = await find_endpoint(desk, wanted.endpoint)
    now = await desk.stores.schedule.now()
    decision = await load_decision(desk, endpoint)
    decisions = await load_preview(desk, endpoint, now, wanted.count, wanted.failures) if wanted.count else []
    runs = [PlannedRunView.of(each).model_dump(include={"next_run_at", "source"}) for each in decisions]
    return decision.as_json() | {"runs": runs}
