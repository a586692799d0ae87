"""The eight tools of a model: descriptions, parsing of arguments, and the effect of a proposal. Pure.

Arguments are untrusted: anything that does not match the schema is refused with a message that the model can read.
These tools are everything a session can do: bounded hints and pauses, nothing else.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

from msgspec import Struct

from mainspring.domain.advice.authority import (
    advise_clear,
    advise_interval,
    advise_one_shot,
    advise_pause,
    advise_resume,
)
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import rfc3339
from mainspring.domain.name import shown
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.hint import (
    HINT_INTERVAL_MS_MAX,
    HINT_INTERVAL_MS_MIN,
    make_interval_hint,
    make_one_shot_hint,
)
from mainspring.domain.text import clean_text

PAUSE_MAX = timedelta(hours=24)
REASON_MAX = 500
TTL_MINUTES_MAX = 1_440
READING = ("get_latest_response", "get_response_history", "get_sibling_latest_responses")
PROPOSING = ("propose_interval", "propose_next_time", "pause_until", "clear_hints")
FINAL = "submit_analysis"


class ToolSpec(Struct, frozen=True):
    name: str
    description: str
    properties: dict[str, dict[str, object]]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, object]:
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }


class Proposal(Struct, frozen=True):
    """Parsed and bounded advice of a model for one endpoint."""

    tool: str
    reason: str
    target: str | None = None
    interval_ms: int = 0
    ttl: timedelta = timedelta(0)
    at: datetime | None = None  # propose_next_time: the time; pause_until: the end, None to resume


_REASON: dict[str, object] = {"type": "string", "description": "Why, in one or two sentences; people read it."}
_TARGET: dict[str, object] = {"type": "string", "description": "A sibling's name; leave it out for this endpoint."}


def _ttl(default: int) -> dict[str, object]:
    return {
        "type": "number",
        "description": f"How long it is valid, up to {TTL_MINUTES_MAX} minutes.",
        "default": default,
    }


TOOLS = (
    ToolSpec("get_latest_response", "The newest finished run of this endpoint, with its response body.", {}),
    ToolSpec(
        "get_response_history",
        "Earlier finished runs, newest first.",
        {
            "limit": {"type": "integer", "minimum": 1, "maximum": 10, "default": 5},
            "offset": {"type": "integer", "minimum": 0, "default": 0},
            "include_bodies": {"type": "boolean", "default": False},
        },
    ),
    ToolSpec(
        "get_sibling_latest_responses",
        "The newest run, schedule, hints and pause of every other endpoint of the job.",
        {"include_responses": {"type": "boolean", "default": False}},
    ),
    ToolSpec(
        "propose_interval",
        "Run at another interval for a while; a shorter one takes effect at once.",
        {
            "interval_ms": {"type": "integer", "minimum": HINT_INTERVAL_MS_MIN},
            "ttl_minutes": _ttl(60),
            "reason": _REASON,
            "target": _TARGET,
        },
        ("interval_ms", "reason"),
    ),
    ToolSpec(
        "propose_next_time",
        "Run once at a given time.",
        {
            "next_run_at": {"type": "string", "description": "ISO 8601 with a zone."},
            "ttl_minutes": _ttl(30),
            "reason": _REASON,
            "target": _TARGET,
        },
        ("next_run_at", "reason"),
    ),
    ToolSpec(
        "pause_until",
        "Pause until a time within 24 hours, or resume with null.",
        {
            "until": {"type": ["string", "null"], "description": "ISO 8601, or null."},
            "reason": _REASON,
            "target": _TARGET,
        },
        ("until", "reason"),
    ),
    ToolSpec("clear_hints", "Return to the owner's schedule.", {"reason": _REASON, "target": _TARGET}, ("reason",)),
    ToolSpec(
        FINAL,
        "End the analysis. Required, once, last.",
        {
            "reasoning": {"type": "string", "description": "What you saw and why you did what you did."},
            "actions_taken": {"type": "array", "items": {"type": "string"}},
            "confidence": {"type": "string", "enum": ["high", "medium", "low"]},
            "next_analysis_in_ms": {"type": "integer", "minimum": 300_000, "maximum": 86_400_000},
        },
        ("reasoning",),
    ),
)


def read_proposal(tool: str, given: Mapping[str, object], now: datetime) -> Proposal:
    reason = _text(given.get("reason"), "reason")
    target = given.get("target")
    if target is not None and not isinstance(target, str):
        raise _refused("target", target, "give the name of an endpoint of this job, or leave it out")
    match tool:
        case "propose_interval":
            interval_ms = _whole(given.get("interval_ms"), "interval_ms", HINT_INTERVAL_MS_MIN, HINT_INTERVAL_MS_MAX)
            return Proposal(tool, reason, target, interval_ms=interval_ms, ttl=_minutes(given.get("ttl_minutes"), 60))
        case "propose_next_time":
            at = _instant(given.get("next_run_at"), "next_run_at")
            return Proposal(tool, reason, target, ttl=_minutes(given.get("ttl_minutes"), 30), at=at)
        case "pause_until":
            until = None if given.get("until") is None else _instant(given.get("until"), "until")
            if until is not None and not now < until <= now + PAUSE_MAX:
                raise _refused("until", given.get("until"), "a pause ends in the future and within 24 hours")
            return Proposal(tool, reason, target, at=until)
        case "clear_hints":
            return Proposal(tool, reason, target)
        case _:
            raise _refused("tool", tool, f"there are {', '.join(PROPOSING)}")


def apply_proposal(
    proposal: Proposal, endpoint: Endpoint, now: datetime, author: str, floor_ms: int, cron: CronReader
) -> Change:
    """The endpoint after the proposal, applied with the same actions and bounds as for a user. `floor_ms` is the
    tenant's minimum.

    Raises AdviceRefused if a person or a rule decided otherwise.
    """
    match proposal.tool:
        case "propose_interval":
            interval_ms = max(proposal.interval_ms, floor_ms)
            hint = make_interval_hint(now, interval_ms, proposal.ttl, proposal.reason, author)
            return advise_interval(endpoint, hint, now, cron)
        case "propose_next_time":
            assert proposal.at is not None
            earliest = max(proposal.at, now + timedelta(milliseconds=floor_ms))
            once = make_one_shot_hint(now, earliest, proposal.ttl, proposal.reason, author)
            return advise_one_shot(endpoint, once, now, cron)
        case "pause_until" if proposal.at is None:
            return advise_resume(endpoint, now, author, cron)
        case "pause_until":
            assert proposal.at is not None
            return advise_pause(endpoint, proposal.at, proposal.reason, now, author, cron)
        case _:
            return advise_clear(endpoint, now, author, cron)


def misfits(spec: ToolSpec, given: Mapping[str, object]) -> dict[str, str]:
    """Maps the names of invalid arguments to the reason why they do not fit the tool's schema."""
    faults = {name: "is required" for name in spec.required if given.get(name) in (None, "", [])}
    for name, value in given.items():
        schema = spec.properties.get(name)
        if schema is None:
            faults[name] = "is not an argument of this tool"
        elif name not in faults and (why := _misfit(schema, value)):
            faults[name] = why
    return faults


def _misfit(schema: Mapping[str, object], value: object) -> str:
    kind = schema.get("type")
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    fits = {"string": isinstance(value, str), "array": isinstance(value, list), "integer": is_whole}
    if not fits.get(str(kind), True):
        return f"must be of type {kind}"
    if "enum" in schema and value not in cast("list[object]", schema["enum"]):
        return f"must be one of {', '.join(map(str, cast('list[object]', schema['enum'])))}"
    least, most = (cast("int | None", schema.get(key)) for key in ("minimum", "maximum"))
    if is_whole and not (least or 0) <= cast(int, value) <= (most if most is not None else cast(int, value)):
        return f"must be from {least} to {most}"
    return ""


def proposal_in_words(proposal: Proposal) -> str:
    """`every 20s for 10m`, `pause until ...`: the effect of a proposal without its reason."""
    match proposal.tool:
        case "propose_interval":
            ttl_ms = proposal.ttl // timedelta(milliseconds=1)
            return f"every {format_duration(proposal.interval_ms)} for {format_duration(ttl_ms)}"
        case "propose_next_time":
            assert proposal.at is not None
            return f"run at {rfc3339(proposal.at)}"
        case "pause_until":
            return "wake" if proposal.at is None else f"pause until {rfc3339(proposal.at)}"
        case _:
            return "clear hints"


def _text(value: object, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refused(field, value, "say why, in a sentence")
    return clean_text(value.strip(), REASON_MAX)


def _whole(value: object, field: str, least: int, most: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _refused(field, value, f"give a whole number from {least} to {most}")
    return value


def _minutes(value: object, default: int) -> timedelta:
    value = default if value is None else value
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= TTL_MINUTES_MAX:
        raise _refused("ttl_minutes", value, f"give more than 0 and at most {TTL_MINUTES_MAX}")
    return timedelta(minutes=value)


def _instant(value: object, field: str) -> datetime:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        if at is not None and at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise _refused(field, value, "write it as ISO 8601 with a zone: 2025-01-31T08:30:00Z")


def _refused(field: str, value: object, way_out: str) -> InvalidInput:
    return InvalidInput(f"{field} '{shown(value)}' is refused; {way_out}", field=field, value=shown(value))
