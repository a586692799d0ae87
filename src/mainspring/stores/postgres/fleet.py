"""The schedulers of one database, and which endpoints each of them reads.

Hosts are divided into lanes. Every live scheduler has separate lanes, by its position among their names, so that
schedulers read and claim in parallel. Nothing is assigned: each reads who is alive with every look. If two disagree for
a moment, the locks of lanes keep the limits. Endpoints that stay unclaimed, because the scheduler of their lanes is
full, stopped or dead, are claimed by others once they are late.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from mainspring.stores.postgres.queries import LANES

LATE_MS = 200  # a few claims of an ordinary scheduler: one that has not claimed by then cannot
HELP_EVERY = timedelta(milliseconds=250)  # a scheduler looks this often for what others leave
GIVE_WAY = timedelta(milliseconds=2)  # about as long as a claim takes
LOST_MAX = 3
# Claims of a scheduler are this far apart while something is always due, because the cost of a run is mostly that of
# its statements. Each of several schedulers has fewer slots to share a statement, so the time grows with their number.
PACE_S, PACE_S_MAX = 0.005, 0.02
_ALONE = 1 << 40  # shares of an unknown worker: it takes tenants for itself


class Fleet(Struct, frozen=True):
    """All places, the number of schedulers including dead ones, and the names of the live ones."""

    places: int = 0
    workers: int = 0
    alive: Sequence[str] = ()

    @property
    def pace_s(self) -> float:
        """How far apart the claims of each of them should be."""
        return min(PACE_S * max(1, len(self.alive)), PACE_S_MAX)

    def is_known(self, worker: str) -> bool:
        """Whether this worker, which has begun to beat, is visible to the others."""
        return worker in self.alive

    def lanes_of(self, worker: str) -> list[int] | None:
        """Return the lanes of a worker; None: all."""
        if len(self.alive) < 2 or not self.is_known(worker):
            return None
        return list(range(self.alive.index(worker), LANES, len(self.alive)))

    def cap_to_count(self, worker: str, per_tenant: int) -> int | None:
        """Return the limit of a tenant; None if there are no places to exceed it."""
        return None if self.is_known(worker) and self.places <= per_tenant else per_tenant

    def shares(self, worker: str) -> int:
        """Return the number of workers that share the room of a tenant."""
        return self.workers if self.is_known(worker) else _ALONE


class HelpTurns:
    """When a scheduler looks into the lanes of others: periodically, and at once again while that finds something."""

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
        """Under the claim lock no other claim can interfere."""
        self._again_at = None

    def won(self, now: datetime, *, helped: bool) -> None:
        self._lost = 0
        if not helped and self.may_help(now):
            self._again_at = now + HELP_EVERY

    def lost(self, now: datetime) -> None:
        self._lost += 1
        self._again_at = now + HELP_EVERY
