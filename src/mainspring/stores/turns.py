"""Take the turns of a tick without blocking the event loop.

A tick moves hundreds of executions, and each may have thousands of steps. A thread takes turns for a moment at a time:
the loop runs in between, and a process that is stopped waits for one moment and not for the tick.
"""

import asyncio
import time
from typing import Final

from mainspring.workflow.tick import ExecutionMove, TickRun

MOMENT_S: Final = 0.05


async def take_aside(turns: TickRun, count: int) -> list[ExecutionMove]:
    """The next turns, at most `count` and as many as fit into a moment; none once all were taken."""
    return await asyncio.to_thread(_take, turns, count)


def _take(turns: TickRun, count: int) -> list[ExecutionMove]:
    until_s = time.monotonic() + MOMENT_S
    taken: list[ExecutionMove] = []
    while len(taken) < count and (moved := turns.take(1)):
        taken += moved
        if time.monotonic() > until_s:
            break
    return taken
