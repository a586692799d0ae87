"""Instants: aware UTC datetimes, and the exact integer and text forms they travel in."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FOREVER = datetime(9999, 12, 31, tzinfo=UTC)  # "paused until FOREVER" is asleep
_MICROSECOND = timedelta(microseconds=1)


def to_us(instant: datetime) -> int:
    """Microseconds since 1970, exactly; a float would round."""
    return (instant - EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def after_ms(instant: datetime, ms: int) -> datetime:
    """`instant + ms`, or FOREVER where that would lie beyond it."""
    try:
        return min(instant + timedelta(milliseconds=ms), FOREVER)
    except OverflowError:
        return FOREVER


def rfc3339(instant: datetime) -> str:
    """`2025-01-01T00:00:00Z`, with as many fractional digits as the instant has."""
    text = instant.astimezone(UTC).isoformat()
    return text.removesuffix("+00:00") + "Z"
