"""An event loop on which time passes only when nothing is left to do: hours take milliseconds, deterministically.

Timers fire in order at exactly their time. Nothing here waits for the real clock, so an operation outside the process
must finish before it returns (see `world.RealTimeThread`).
"""

import asyncio
import selectors
from collections.abc import Mapping
from typing import Any


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_LeapingSelector(self))

    def time(self) -> float:
        return self._now_s

    def leap(self, seconds: float) -> None:
        self._now_s += seconds


class PlayedTime:
    """How much time passed, over all simulations so far; another thread may ask meanwhile."""

    def __init__(self) -> None:
        self._ended_s = 0.0
        self._loop: SimulatedLoop | None = None

    @property
    def seconds(self) -> int:
        return int(self._ended_s + (0.0 if self._loop is None else self._loop.time()))

    def new_loop(self) -> SimulatedLoop:
        """The loop of the next simulation."""
        if self._loop is not None:
            self._ended_s += self._loop.time()
        self._loop = SimulatedLoop()
        return self._loop


class _LeapingSelector(selectors.BaseSelector):
    """Advances the clock to the next timer where a real selector would sleep."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return []  # there is work left here; outside events such as Ctrl-C can wait for the next jump
        ready = self._real.select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("the simulation waits for something that will never happen")
            self._loop.leap(timeout)
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:  # as in the base class
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:  # as in the base class
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:  # as in the base class
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()
