"""Which part of the due endpoints a look reads: a bounded number, regardless of how many are due.

A look reads the oldest ones. If more are due than it reads, there is a backlog, and the oldest may all wait for one
full host or belong to one tenant. The next look then reads two more windows: one that advances through the backlog from
look to look, so that every due endpoint is read, and one with endpoints that became due since the last look, so that
these do not wait for the backlog.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from mainspring.stores.host_rates import earliest

WINDOW_MIN = 500  # endpoints; more than hanging hosts keep waiting in an ordinary installation
PAUSE = timedelta(milliseconds=20)  # between looks that read a part of the backlog and found no endpoint to start
LOT_MAX = (1 << 31) - 1


class Place(NamedTuple):
    """A place in the order of due times; `lot` orders endpoints that are due at the same time."""

    at: datetime
    lot: int


FIRST = Place(datetime.min.replace(tzinfo=UTC), 0)


class DueWindows:
    def __init__(self) -> None:
        self._cursor: Place | None = None
        self._looked_at: datetime | None = None

    @property
    def starts(self) -> list[Place]:
        """The places after which the next look reads."""
        if self._cursor is None or self._looked_at is None:
            return [FIRST]
        return [FIRST, self._cursor, Place(self._looked_at, LOT_MAX)]

    def looked(self, now: datetime, ends: dict[int, Place]) -> bool:
        """Record the ends of full windows, by their number from 0; return whether there is a backlog."""
        self._looked_at = now
        self._cursor = ends.get(1, ends.get(0)) if 0 in ends else None
        return 0 in ends


def window_size(limit: int) -> int:
    """The number of due endpoints in a window: enough to choose from."""
    return max(2 * limit, WINDOW_MIN)


def look_again_at(now: datetime, upcoming: datetime | None, *, goes_on: bool) -> datetime | None:
    """When to look again: when the next endpoint is due, or soon if the backlog was not read completely."""
    return earliest(upcoming, now + PAUSE) if goes_on else upcoming
