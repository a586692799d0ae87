"""`python -m tests.harness.contained serve ...`: the real program, kept on this machine, with its event loop watched.

Whatever a test makes endpoints of, names are not looked up and only loopback addresses are called. With LOOP_WATCH set
to the path of a socket, the longest turn of the event loop can be asked for there; see `LoopProbe`.

A turn is measured in processor time of the loop's own thread: what other processes and threads take from this machine
does not count, so a busy machine makes no test fail.
"""

import asyncio
import gc
import json
import os
import socket
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Coroutine
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeVar

TURN_S = 0.005
SAMPLE_S = 0.01
SAMPLED_S = 0.05  # turns that are shorter need no explanation
WATCH = "LOOP_WATCH"

T = TypeVar("T")


class LoopWatch:
    """Measures every turn of the loop that it runs on, and answers at a socket: the longest since it was last asked."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._longest_s = 0.0
        self._where = ""
        self._samples: deque[tuple[float, str]] = deque(maxlen=3_000)
        self._thread_id = threading.get_ident()

    async def run(self) -> None:
        server = await asyncio.start_unix_server(self._answer, self._path)
        threading.Thread(target=self._sample, daemon=True).start()
        async with server:
            while True:
                before, began = time.thread_time(), time.monotonic()
                await asyncio.sleep(TURN_S)
                took_s = time.thread_time() - before
                if took_s > self._longest_s:
                    self._longest_s = took_s
                    self._where = self._explain(began) if took_s > SAMPLED_S else ""

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match (await reader.readline()).split():
            case [b"clear"]:
                gc.collect()  # what earlier requests left behind is not this one's
            case [b"hold", seconds]:
                _hold(float(seconds))
            case _:
                pass
        await asyncio.sleep(2 * TURN_S)  # the turn that is under way is counted too
        writer.write(json.dumps([self._longest_s, self._where]).encode())
        self._longest_s, self._where = 0.0, ""
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    def _sample(self) -> None:
        while True:
            time.sleep(SAMPLE_S)
            frame = sys._current_frames().get(self._thread_id)
            names = [f"{each.name}:{each.lineno}" for each in traceback.extract_stack(frame)[-14:]]
            self._samples.append((time.monotonic(), " > ".join(names)))

    def _explain(self, began: float) -> str:
        seen = Counter(place for at, place in self._samples.copy() if at >= began)
        return "\n".join(f"{times} x {place}" for place, times in seen.most_common(8))


class LoopProbe:
    """The test's end of a LoopWatch."""

    def __init__(self, path: str) -> None:
        self._path = path

    def longest(self) -> tuple[float, str]:
        """The longest turn since the last time this was asked, in seconds, and what it was spent on."""
        return self._ask(b"longest\n")

    def clear(self) -> None:
        """Begin anew, without garbage."""
        self._ask(b"clear\n")

    def hold(self, seconds: float) -> tuple[float, str]:
        """Let the loop itself work for so long; what the watch made of it."""
        return self._ask(b"hold %f\n" % seconds)

    def _ask(self, verb: bytes) -> tuple[float, str]:
        with socket.socket(socket.AF_UNIX) as place:
            place.settimeout(60)
            place.connect(self._path)
            place.sendall(verb)
            parts = []
            while part := place.recv(65_536):
                parts.append(part)
        seconds, where = json.loads(b"".join(parts))
        return float(seconds), str(where)


def _hold(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def stay_here() -> None:
    """Look up no name, and call loopback addresses alone."""
    from mainspring.outbound import guard, resolver
    from mainspring.outbound.http import HttpCaller

    look_up = resolver.system_lookup

    class Homely(guard.AddressGuard):
        def verdict(self, address: str | IPv4Address | IPv6Address, port: int = 0) -> str | None:
            with suppress(ValueError):
                if not ip_address(str(address)).is_loopback:
                    return f"{address} is not on this machine"
            return super().verdict(address, port)

    def look_up_here(name: str) -> tuple[str, ...]:
        with suppress(ValueError):
            ip_address(name)
            return look_up(name)
        if name == "localhost":
            return look_up(name)
        raise OSError(f"{name!r} is not on this machine")

    guard.AddressGuard = Homely  # type: ignore[misc]  # before anything is wired
    defaults = HttpCaller.__init__.__kwdefaults__
    assert defaults is not None
    defaults["lookup"] = look_up_here


def watch_loop(path: str) -> None:
    """Let the commands that serve run with a LoopWatch beside them, and read every document: no budget is spent."""
    from mainspring.cli import serve
    from mainspring.cli.command import complete
    from mainspring.outbound import sandbox

    vars(sandbox)["BUDGET_S"] = 1e6

    async def watched(work: Coroutine[Any, Any, T]) -> T:
        watching = asyncio.create_task(LoopWatch(path).run())
        try:
            return await work
        finally:
            watching.cancel()

    vars(serve)["complete"] = lambda work: complete(watched(work))


if __name__ == "__main__":
    from mainspring.cli.main import main

    stay_here()
    if WATCH in os.environ:
        watch_loop(os.environ[WATCH])
    main()
