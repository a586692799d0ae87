"""Timestamps: aware UTC datetimes, and their exact integer and text forms."""

from datetime import UTC, datetime, timedelta

from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FOREVER = datetime(9999, 12, 31, tzinfo=UTC)  # an endpoint paused until FOREVER sleeps until it is resumed
_MICROSECOND = timedelta(microseconds=1)


def to_us(instant: datetime) -> int:
    """Exact microseconds since 1970; a float would round."""
    return (instant - EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def after_ms(instant: datetime, ms: int) -> datetime:
    """`instant + ms`, at most FOREVER."""
    try:
        return min(instant + timedelta(milliseconds=ms), FOREVER)
    except OverflowError:
        return FOREVER


def rfc3339(instant: datetime) -> str:
    """`2025-01-01T00:00:00Z`, with as many fractional digits as the timestamp has."""
    text = instant.astimezone(UTC).isoformat()
    return text.removesuffix("+00:00") + "Z"


def parse_rfc3339(text: str, *, field: str) -> datetime:
    """A timestamp with its offset from UTC, such as `2030-01-31T08:00:00Z`; otherwise InvalidInput."""
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is not None and (at := at.astimezone(UTC)) <= FOREVER:
            return at
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(
        f"{field} '{shown(text)}' is not a timestamp; write it as 2030-01-31T08:00:00Z, with its offset from UTC",
        field=field,
        value=shown(text),
    )
