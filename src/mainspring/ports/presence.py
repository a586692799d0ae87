"""The seam of presence: which processes are alive, and what becomes of the work of those that died.

A process holds something that the operating system takes away when the process dies, and beats once a second. It is
dead when that is gone and it has been silent for SILENT_MS; one alone proves nothing, because a database that restarts
takes every lock away, and a busy machine makes processes silent.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

BEAT_S = 1.0
SILENT_MS = 3_000  # two beats may be late
SILENT_MS_WITHOUT_LOCK = 15_000  # where nothing can be held (PgBouncer), silence alone has to say it
ALIVE_WITHIN_MS = 10_000  # a process that is listed as alive has beaten within this time


class WorkerRow(Struct, frozen=True):
    """One kind of work of one process; a process that does several has several rows with the same id."""

    id: str
    kind: str
    places: int
    started_at: datetime
    seen_at: datetime


class Freed(Struct, frozen=True):
    """What dead processes had in hand when their leases were ended."""

    workers: tuple[str, ...] = ()
    runs: int = 0
    partitions: int = 0
    effects: int = 0
    deliveries: int = 0
    sessions: int = 0


class PresenceStore(Protocol):
    """What a process needs to be seen alive, and to take over from those that are not."""

    async def appear(self, worker: str) -> None:
        """Hold what is taken away at our death, until the store is closed. Called once, before the first beat."""

    async def beat(self, worker: str, kinds: Mapping[str, int]) -> tuple[str, ...]:
        """Say that `worker` is alive, does these kinds of work, and has so many places for each.

        Returns the other workers that have been silent for too long: `free_lost` finds out whether they are dead.
        """

    async def free_lost(self, suspects: Sequence[str]) -> Freed:
        """End everything that those of the suspects hold that are dead, in one transaction, and wake the others.

        Runs, partitions, effects, deliveries and model sessions are free for others at once; runs that may be
        delivered only once end as unknown. Any number of processes may call it at the same time.
        """

    async def leave(self, worker: str) -> None:
        """The same for a process that shuts down, which counts against no endpoint."""

    async def alive(self) -> list[WorkerRow]:
        """What the processes do that are alive, oldest first."""
