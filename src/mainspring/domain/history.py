"""How history is divided into spans of time that are removed as a whole.

A span is short against the retention, so that little is kept longer than wanted, and long enough that there are some
dozens of spans, not thousands: PostgreSQL looks at each of them when a query does not say which it wants.
"""

from datetime import datetime, timedelta

from mainspring.domain.instant import EPOCH

_WIDTHS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1_440, 10_080, 43_200)
)
SPANS = 30  # so many at least: thirty days are kept in days


def span_width(keep: timedelta) -> timedelta:
    """The longest of a few widths that divides a retention into at least thirty spans; one minute is the shortest."""
    return max((width for width in _WIDTHS if width * SPANS <= keep), default=_WIDTHS[0])


def span_start(at: datetime, width: timedelta) -> datetime:
    """When the span began that an instant is in. Days begin at midnight UTC."""
    return EPOCH + (at - EPOCH) // width * width
