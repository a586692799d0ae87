"""Which part of the due endpoints a look reads: a bounded number, however many are due.

A look reads the oldest ones. If more are due than it reads, there is a backlog, and the oldest may all be waiting for
one full host or belong to one tenant. The next look then reads two more windows: one that moves on through the backlog
from look to look, so that every due endpoint is seen, and one with what fell due since the last look, so that nothing
new waits for the backlog.
"""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from mainspring.stores.host_rates import earliest

WINDOW_MIN = 500  # endpoints; beyond what hanging hosts keep waiting in an ordinary installation
PAUSE = timedelta(milliseconds=20)  # between looks that went through a part of the backlog and found nobody to start
LOT_MAX = (1 << 31) - 1


class Place(NamedTuple):
    """A place in the order of due times; `lot` orders those that are due at the same instant."""

    at: datetime
    lot: int


FIRST = Place(datetime.min.replace(tzinfo=UTC), 0)


class DueWindows:
    def __init__(self) -> None:
        self._cursor: Place | None = None
        self._looked_at: datetime | None = None

    @property
    def starts(self) -> list[Place]:
        """After which places the next look reads."""
        if self._cursor is None or self._looked_at is None:
            return [FIRST]
        return [FIRST, self._cursor, Place(self._looked_at, LOT_MAX)]

    def looked(self, now: datetime, ends: dict[int, Place]) -> bool:
        """Take note of where the windows ended that were full, by their number from 0; return if there is a backlog."""
        self._looked_at = now
        self._cursor = ends.get(1, ends.get(0)) if 0 in ends else None
        return 0 in ends


def window_size(limit: int) -> int:
    """How many due endpoints a window has: enough to choose from."""
    return max(2 * limit, WINDOW_MIN)


def look_again_at(now: datetime, upcoming: datetime | None, *, goes_on: bool) -> datetime | None:
    """When to look again: when the next endpoint is due, or soon if the backlog has more to see."""
    return earliest(upcoming, now + PAUSE) if goes_on else upcoming
