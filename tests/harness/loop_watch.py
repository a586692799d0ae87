"""Measure how long the event loop of a test is held."""

import asyncio
import time


class LoopWatch:
    """The longest turn of the loop, in processor time of its thread."""

    longest_s = 0.0

    async def __aenter__(self) -> "LoopWatch":
        self._task = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(0.006)  # the last turn is measured too
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.005)
            self.longest_s = max(self.longest_s, time.thread_time() - before)
