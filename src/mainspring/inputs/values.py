"""Types of values in requests, tool calls and documents: text, durations, timestamps."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from mainspring.domain.duration import IN, parse_duration_ms, read_delay
from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import FOREVER, rfc3339
from mainspring.domain.name import shown

TEXT_MAX = 1_000_000  # shorter limits are the domain's, which has better messages


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("contains a NUL character; remove it")
    return text


def _duration(value: object) -> object:
    if value is None:
        return value
    try:
        return parse_duration_ms(value, field="", min_ms=0)  # the field is named before the message
    except InvalidInput as fault:
        raise ValueError(str(fault)) from None


def _instant(value: object) -> object:
    if value is None or isinstance(value, datetime):
        return value
    at = _read_instant(value)
    if at is None:
        raise ValueError(
            f"'{shown(value)}' is not a timestamp; write it as 2030-01-31T08:00:00Z, with its offset from UTC"
        )
    if at > FOREVER:
        raise ValueError(f"'{shown(value)}' is after {rfc3339(FOREVER)}; give an earlier timestamp")
    return at


def _instant_or_delay(value: object) -> object:
    """A timestamp, or `in 10m` as a timedelta, which an operation adds to the current time."""
    if isinstance(value, str) and value.strip().startswith(IN):
        try:
            return read_delay(value, field="")
        except InvalidInput as fault:
            raise ValueError(str(fault)) from None
    return _instant(value)


def _read_instant(value: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        return None if at is None or at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


DURATION_SCHEMA = {
    "description": "A duration: whole milliseconds, or text such as `30s`, `5m`, `1h30m`.",
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?(\d+ms)?$", "minLength": 2},
    ],
    "examples": ["30s", 30000],
}
INSTANT_SCHEMA = {"type": "string", "format": "date-time", "examples": ["2030-01-31T08:00:00Z"]}
INSTANT_OR_DELAY_SCHEMA = {
    "description": "A timestamp with its offset from UTC, or `in` and a duration.",
    "type": "string",
    "examples": ["2030-01-31T08:00:00Z", "in 10m"],
}

Text = Annotated[str, AfterValidator(_storable), Field(max_length=TEXT_MAX)]
Duration = Annotated[int, BeforeValidator(_duration), WithJsonSchema(DURATION_SCHEMA)]
InstantOrDelay = Annotated[
    datetime | timedelta, BeforeValidator(_instant_or_delay), WithJsonSchema(INSTANT_OR_DELAY_SCHEMA)
]
Instant = Annotated[datetime, BeforeValidator(_instant), WithJsonSchema(INSTANT_SCHEMA)]
