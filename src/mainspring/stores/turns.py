"""Take the turns of a tick where the event loop does not wait for them.

A tick moves hundreds of executions, and each may have thousands of steps to go. A thread takes turns for a moment at
a time: the loop has its turn in between, and a process that is told to end waits for one moment and not for the tick.
"""

import asyncio
import time
from typing import Final

from mainspring.workflow.tick import ExecutionMove, TickRun

MOMENT_S: Final = 0.05


async def take_aside(turns: TickRun, count: int) -> list[ExecutionMove]:
    """The next turns, at most `count` and as many as a moment holds; none where all were taken."""
    return await asyncio.to_thread(_take, turns, count)


def _take(turns: TickRun, count: int) -> list[ExecutionMove]:
    until_s = time.monotonic() + MOMENT_S
    taken: list[ExecutionMove] = []
    while len(taken) < count and (moved := turns.take(1)):
        taken += moved
        if time.monotonic() > until_s:
            break
    return taken
