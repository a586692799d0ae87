"""Partitions for runs: those that a process knows to exist.

The partition of an inserted run must exist. Before a process inserts, it compares the time of the run's id with the
known partitions. It asks the database only if they do not cover the time: at the first run, once per partition, and
after the clock was set. Partitions are created ahead, so an absent janitor causes no error for days.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from mainspring.domain.history import span_start

if TYPE_CHECKING:
    from mainspring.stores.postgres.session import PostgresSession

AHEAD = 3  # partitions after the present one
_NOWHERE = datetime.min.replace(tzinfo=UTC)


class RunPartitions:
    def __init__(self, width: timedelta) -> None:
        self.width = width
        self._known_from = self._known_until = _NOWHERE

    async def make_room(self, session: "PostgresSession", at: datetime) -> None:
        """Create the partition of this time and some after it, unless they are known to exist."""
        if self._known_from <= at < self._known_until:
            return
        await session.value("make_run_partitions", at, self.width, AHEAD + 1)
        self._known_from = span_start(at, self.width)
        self._known_until = self._known_from + AHEAD * self.width

    def forget(self) -> None:
        """Ask the database again: created partitions were rolled back, or removed."""
        self._known_from = self._known_until = _NOWHERE
