"""Arguments that tools share, each with its meaning and an example: an assistant has no other documentation."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field

from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown
from mainspring.mcp.tool import Arguments
from mainspring.mcp.untrusted import MAX_BYTES_DEFAULT, MAX_BYTES_MAX

LIST_DEFAULT, LIST_MAX = 20, 100
WORDS_MAX = 10_000

EndpointName = Annotated[
    str, Field(description="Name or id of the endpoint.", examples=["health", "ep_0197"], max_length=WORDS_MAX)
]
Duration = Annotated[
    str | int,
    Field(description="A duration: 30s, 5m, 1h30m, 1d, or milliseconds as a number.", examples=["30s", "5m"]),
]
Instant = Annotated[
    str, Field(description="A timestamp in RFC 3339, with its zone.", examples=["2026-01-31T08:30:00Z"], max_length=100)
]
Reason = Annotated[
    str, Field(description="Reason, in a few words; shown to anyone who looks later.", max_length=WORDS_MAX)
]
DryRun = Annotated[bool, Field(description="true: return what would change, and change nothing.")]
Limit = Annotated[int, Field(description="Maximum number.", ge=1, le=LIST_MAX)]
MaxBytes = Annotated[int, Field(description="Maximum bytes of the response body to return.", ge=0, le=MAX_BYTES_MAX)]


class OneEndpoint(Arguments):
    endpoint: EndpointName


class ChangeEndpoint(OneEndpoint):
    dry_run: DryRun = False


class RemoveEndpoint(ChangeEndpoint):
    confirm: Annotated[
        str,
        Field(
            description="The endpoint's name again: required to remove it. Not needed with dry_run.",
            max_length=WORDS_MAX,
        ),
    ] = ""


class CallArguments(Arguments):
    max_bytes: MaxBytes = MAX_BYTES_DEFAULT


class CallEndpoint(OneEndpoint, CallArguments):
    pass


def read_duration(value: str | int, field: str) -> timedelta:
    return timedelta(milliseconds=parse_duration_ms(value, field=field))


def read_instant(text: str, field: str) -> datetime:
    try:
        at = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace("z", "+00:00"))
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(
        f"{field} {shown(text)!r} is not a timestamp; write it as RFC 3339 with a zone: 2026-01-31T08:30:00Z",
        field=field,
        value=shown(text),
    )


def refuse_both(first: object, second: object, names: str, field: str) -> None:
    if first is not None and second is not None:
        raise InvalidInput(f"{names} exclude each other; give one of them", field=field)
