"""The supervisor: runs the workers of one process together, from start to drained stop.

The first SIGTERM or SIGINT stops every worker, and each drains; a second one ends the process at once, with leases
still
held. If one worker ends or raises, the others are stopped too: half a process is worse than none, because monitoring
believes it is whole.
"""

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from mainspring.workers.tasks import end_tasks

BLOCKED_S = 1.0  # an event loop blocked for this long makes runs late and should be reported

log = structlog.get_logger()


class Worker(Protocol):
    async def run(self) -> None:
        """Works until stopped; returns once all work in progress is finished."""

    def stop(self) -> None:
        """Requests the stop; may be called more than once."""


async def supervise(workers: Sequence[Worker], last_act: Callable[[], None] = lambda: None) -> None:
    """Runs until a signal arrives or a worker ends, then stops all and waits for them. Raises what a worker raised.

    `last_act` runs before a second signal ends the process; nothing else runs after that signal.
    """
    tune_interpreter()
    loop = asyncio.get_running_loop()
    signals = 0

    def on_signal() -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            last_act()
            os._exit(1)
        for worker in workers:
            worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    watch = asyncio.create_task(_watch_loop(), name="loop-watch")
    tasks = [asyncio.create_task(worker.run(), name=type(worker).__name__) for worker in workers]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for worker in workers:
            worker.stop()
        await asyncio.gather(*tasks)
    finally:
        await end_tasks(watch, *tasks)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def tune_interpreter() -> None:
    """Tunes the interpreter for a process with many values, hardly any cycles, and few threads.

    Values created at startup are excluded from garbage collection, which runs less often. A thread that returns from
    the disk gets the interpreter back within half a millisecond instead of five: every commit waits for that.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    sys.setswitchinterval(0.0005)


async def _watch_loop() -> None:
    while True:
        before = time.monotonic()
        await asyncio.sleep(0.5)
        blocked_s = time.monotonic() - before - 0.5
        if blocked_s > BLOCKED_S:
            log.warning("loop blocked", seconds=round(blocked_s, 1))
