"""Port of presence: which processes are alive, and what happens to the work of dead ones.

A process holds a lock that the operating system releases when the process dies, and sends a heartbeat once a second. It
is dead if the lock is free and it has been silent for SILENT_MS. One sign alone proves nothing: a restarting database
releases every lock, and a busy machine makes processes silent.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

BEAT_S = 1.0
SILENT_MS = 3_000  # two heartbeats may be late
SILENT_MS_WITHOUT_LOCK = 15_000  # without locks (PgBouncer), silence alone must decide
ALIVE_WITHIN_MS = 10_000  # a process listed as alive has sent a heartbeat within this time


class WorkerRow(Struct, frozen=True):
    """One kind of work of one process; a process with several kinds has several rows with the same id."""

    id: str
    kind: str
    places: int
    started_at: datetime
    seen_at: datetime


class Freed(Struct, frozen=True):
    """What dead processes held when their leases were ended."""

    workers: tuple[str, ...] = ()
    runs: int = 0
    partitions: int = 0
    effects: int = 0
    deliveries: int = 0
    sessions: int = 0


class PresenceStore(Protocol):
    """What a process needs to show that it is alive, and to take over from dead ones."""

    async def appear(self, worker: str) -> None:
        """Takes the lock that is released when this process dies or closes the store. Called once, before the first
        heartbeat.
        """

    async def beat(self, worker: str, kinds: Mapping[str, int]) -> tuple[str, ...]:
        """Shows that `worker` is alive, with its kinds of work and its places for each.

        Returns the other workers that have been silent for too long: `free_lost` finds out whether they are dead.
        """

    async def free_lost(self, suspects: Sequence[str]) -> Freed:
        """Releases everything that dead suspects hold, in one transaction, and wakes the others.

        Runs, partitions, effects, deliveries and model sessions are free for others immediately; at-most-once runs end
        as unknown. Any number of processes may call it at the same time.
        """

    async def leave(self, worker: str) -> None:
        """Releases the work of a process that shuts down, which counts against no endpoint."""

    async def alive(self) -> list[WorkerRow]:
        """The work of live processes, oldest first."""
