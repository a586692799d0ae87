"""Divide history into spans of time that are removed as a whole.

A span is short compared to the retention, so that little is kept for longer than configured. It is long enough to keep
the number of spans in the dozens: PostgreSQL plans for each of them when a query does not name its span.
"""

from datetime import datetime, timedelta

from mainspring.domain.instant import EPOCH

_WIDTHS = tuple(
    timedelta(minutes=minutes) for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1_440, 10_080, 43_200)
)
SPANS = 30  # at least this many: thirty days are kept in days


def span_width(keep: timedelta) -> timedelta:
    """The longest of a few widths that divides a retention into at least thirty spans; the shortest is one minute."""
    return max((width for width in _WIDTHS if width * SPANS <= keep), default=_WIDTHS[0])


def span_start(at: datetime, width: timedelta) -> datetime:
    """When the span of a time began. Days begin at midnight UTC."""
    return EPOCH + (at - EPOCH) // width * width
