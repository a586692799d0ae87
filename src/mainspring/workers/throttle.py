"""Limit how much of a machine a background worker takes: one operation at a time, and a pause after each.

A model that responds within milliseconds would make its sessions write all the time, and an SQLite file has one writer.
It would also keep the event loop busy, which a scheduler may share. The pause is a multiple of the duration of the
operation, including waits for others: so the share is the same on a fast disk and on a slow one, and a worker that has
to wait for the scheduler pauses longer. It is never shorter than the gap, which covers the work between two operations:
reading an answer and asking again. A model that thinks for a second is not slowed down.
"""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

RESTS = 9  # seconds per second: a tenth of the writer's time at most
GAP_S = 0.1  # a request to a model and its answer take some 20 ms of CPU time


class Throttle:
    """`async with pace:` around each operation."""

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic, gap_s: float = GAP_S) -> None:
        self._monotonic_s = monotonic_s
        self._gap_s = gap_s
        self._turn = asyncio.Lock()
        self._began_s = 0.0
        self._rested_s = 0.0

    async def __aenter__(self) -> None:
        await self._turn.acquire()
        try:
            await asyncio.sleep(max(0.0, self._rested_s - self._monotonic_s()))
        except BaseException:
            self._turn.release()
            raise
        self._began_s = self._monotonic_s()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        now_s = self._monotonic_s()
        self._rested_s = now_s + max(self._gap_s, RESTS * (now_s - self._began_s))
        self._turn.release()
