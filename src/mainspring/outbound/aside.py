"""An event loop in a thread of its own, for libraries that think for long between two waits.

What a language model's library does for one request keeps an event loop for tens of milliseconds, and for a fifth of a
second when a session begins. Aside, it shares the interpreter with whoever else needs it, every few milliseconds: a
scheduler in the same process is not late for it.
"""

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Aside:
    """Its thread starts with the first work, and ends when nobody holds the object any more."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it there, and wait for it here; who is cancelled here cancels it there."""
        if self._loop is None:
            self._loop, stop = _start(self._name)
            weakref.finalize(self, self._loop.call_soon_threadsafe, stop.set)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


async def run_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """From aside: do something in the loop that we came from."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def _start(name: str) -> tuple[asyncio.AbstractEventLoop, asyncio.Event]:
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def live() -> None:
        stop = asyncio.Event()
        ready.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()

    threading.Thread(target=lambda: asyncio.run(live()), name=name, daemon=True).start()
    return ready.result()
