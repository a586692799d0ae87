"""The kinds of value that requests are made of: text, durations, instants, as strict as the domain wants them."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import FOREVER, rfc3339
from mainspring.domain.name import shown

TEXT_MAX = 1_000_000  # what is shorter, the domain says with better words


class RequestModel(BaseModel):
    """A request body: a field that is not known is refused, a number in quotes is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("contains a NUL, which is no text; leave it out")
    return text


def _duration(value: object) -> object:
    if value is None:
        return value
    try:
        return parse_duration_ms(value, field="duration", min_ms=0)
    except InvalidInput as fault:
        raise ValueError(str(fault).removeprefix("duration ")) from None  # the place is told before it


def _instant(value: object) -> object:
    if value is None or isinstance(value, datetime):
        return value
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
        if at is not None and at.tzinfo is not None:
            at = at.astimezone(UTC)
            if at <= FOREVER:
                return at
            raise ValueError(f"'{shown(value)}' lies beyond {rfc3339(FOREVER)}; give an earlier instant")
    except (ValueError, OverflowError) as fault:
        if "lies beyond" in str(fault):
            raise
    raise ValueError(f"'{shown(value)}' is no instant; write it as 2030-01-31T08:00:00Z, with its offset from UTC")


DURATION_SCHEMA = {
    "description": "A duration: whole milliseconds, or text such as `30s`, `5m`, `1h30m`.",
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": r"^(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?(\d+ms)?$", "minLength": 2},
    ],
    "examples": ["30s", 30000],
}
INSTANT_SCHEMA = {"type": "string", "format": "date-time", "examples": ["2030-01-31T08:00:00Z"]}

Text = Annotated[str, AfterValidator(_storable), Field(max_length=TEXT_MAX)]
Duration = Annotated[int, BeforeValidator(_duration), WithJsonSchema(DURATION_SCHEMA)]
Instant = Annotated[datetime, BeforeValidator(_instant), WithJsonSchema(INSTANT_SCHEMA)]

EndpointRef = Annotated[
    str,
    Path(
        alias="endpoint",
        description="Id or name of an endpoint. A name with a slash in it cannot be written in a path; use the id.",
        max_length=1_000,
        examples=["billing"],
    ),
]
JobRef = Annotated[
    str,
    Path(
        alias="job",
        description="Id or name of a job; the id where the name has a slash.",
        max_length=1_000,
        examples=["default"],
    ),
]
RunRef = Annotated[str, Path(alias="run", description="Id of a run.", max_length=200, examples=["run_0197..."])]
DryRun = Annotated[bool, Query(description="Answer with what would change, and change nothing.")]
WithTotal = Annotated[bool, Query(description="Also count what matches, on all pages, up to 10,000.")]
NewestOrOldest = Annotated[
    Literal["-started_at", "started_at"], Query(description="Newest first, or without the minus oldest first.")
]
Limit = Annotated[int, Query(ge=1, le=200, description="At most this many on a page.")]
Cursor = Annotated[
    str | None, Query(max_length=2_000, description="`next_cursor` of the page before; none is the first page.")
]
