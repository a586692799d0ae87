"""The supervisor: runs the workers of one process together, from start to drained stop.

The first SIGTERM or SIGINT stops every worker, which drain; a second one ends the process at once, leases and all.
If one worker ends by itself, or raises, the others are stopped too: half a process is worse than none, because
whoever watches it believes it is whole.
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

BLOCKED_S = 1.0  # a loop that was kept from its turn for this long makes runs late, and somebody should know

log = structlog.get_logger()


class Worker(Protocol):
    async def run(self) -> None:
        """Work until stopped; return once everything in hand is settled."""

    def stop(self) -> None:
        """Ask for the end; may be called more than once."""


async def supervise(workers: Sequence[Worker], last_act: Callable[[], None] = lambda: None) -> None:
    """Run until a signal comes or a worker ends, then stop all and wait for them; raises what a worker raised.

    `last_act` is done before a second signal ends the process: nothing else is, once it came.
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
    """Settings of the interpreter that suit a process which makes many values, hardly any cycles, and few threads.

    What start-up made is kept out of garbage collection, which comes less often. A thread that has just been to the
    disk gets the interpreter back within half a millisecond, not five: every commit waits for that.
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
