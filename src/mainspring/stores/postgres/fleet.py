"""The schedulers of one database, and which of them looks where.

Hosts are divided into lanes. Every scheduler that is alive has lanes of its own, by its place among their names, so
that they look and claim side by side. Nothing is assigned: each reads who is alive with every look. Where two disagree
for a moment, the locks of lanes keep the caps; what stays unclaimed in the lanes of a scheduler that is full, stopped
or dead is claimed by others once it is late.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from mainspring.stores.postgres.queries import LANES

LATE_MS = 200  # some claims of an ordinary scheduler: who has not claimed by then cannot
HELP_EVERY = timedelta(milliseconds=250)  # a scheduler looks this often for what others leave
GIVE_WAY = timedelta(milliseconds=2)  # about as long as a claim takes
LOST_MAX = 3
# Claims of a scheduler are that far apart while there is always something due, because the cost of a run is mostly that
# of its statements. Of several schedulers each has fewer slots to share a statement, so the time grows with them.
PACE_S, PACE_S_MAX = 0.005, 0.02
_ALONE = 1 << 40  # shares of whoever is not known: it takes tenants for itself


class Fleet(Struct, frozen=True):
    """All places, how many schedulers there are, dead ones included, and the names of those that are alive."""

    places: int = 0
    workers: int = 0
    alive: Sequence[str] = ()

    @property
    def pace_s(self) -> float:
        """How far apart claims of each of them should be."""
        return min(PACE_S * max(1, len(self.alive)), PACE_S_MAX)

    def is_known(self, worker: str) -> bool:
        """Whether the others know of this worker, which has begun to beat."""
        return worker in self.alive

    def lanes_of(self, worker: str) -> list[int] | None:
        """Return the lanes of a worker; None: all."""
        if len(self.alive) < 2 or not self.is_known(worker):
            return None
        return list(range(self.alive.index(worker), LANES, len(self.alive)))

    def cap_to_count(self, worker: str, per_tenant: int) -> int | None:
        """Return the cap of a tenant; None if there are no places to exceed it."""
        return None if self.is_known(worker) and self.places <= per_tenant else per_tenant

    def shares(self, worker: str) -> int:
        """Return among how many workers the room of a tenant is shared."""
        return self.workers if self.is_known(worker) else _ALONE


class HelpTurns:
    """When a scheduler looks into the lanes of others: now and then, and on as long as it is of use."""

    def __init__(self) -> None:
        self._again_at: datetime | None = None
        self._lost = 0

    @property
    def is_stuck(self) -> bool:
        """Whether claims without the lock have failed several times in a row."""
        return self._lost >= LOST_MAX

    def may_help(self, now: datetime) -> bool:
        return self._again_at is None or now >= self._again_at

    def locked(self) -> None:
        """Under the claim lock no other claim is in the way."""
        self._again_at = None

    def won(self, now: datetime, *, helped: bool) -> None:
        self._lost = 0
        if not helped and self.may_help(now):
            self._again_at = now + HELP_EVERY

    def lost(self, now: datetime) -> None:
        self._lost += 1
        self._again_at = now + HELP_EVERY
