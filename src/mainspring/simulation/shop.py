"""The shop of the demo: a real HTTP server on loopback whose numbers follow a scenario's curve, repeatedly.

GET /NAME           the response of the scenario's endpoint of that name at this minute of the day, as slow as scripted
POST /orders/...    called by the order follow-up; responds immediately
POST /pager         receives the messages of alerts and keeps the last of them

A day is compressed: at speed 15 a minute of the shop takes four seconds, and so does everything that takes time. It
binds a separate loopback address if the system has one, so that an endpoint that may call the shop can call nothing
else on this machine.
"""

import asyncio
import json
import socket
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from random import Random

from msgspec import Struct

from mainspring.ports.outbound import Clock
from mainspring.simulation.scenario import Scenario, ScenarioTarget
from mainspring.simulation.targets import answer_at

OWN_ADDRESS, ANY_ADDRESS = "127.83.72.79", "127.0.0.1"  # not every system has more than one loopback address
HEAD_MAX, BODY_MAX = 16_384, 1_000_000
MESSAGES_MAX = 50
REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed"}


class Received(Struct, frozen=True):
    """A message of an alert, as received."""

    at: datetime
    type: str
    title: str
    text: str


class Shop:
    """A worker, once it is open; `minute` is the time of its day."""

    def __init__(self, scenario: Scenario, speed: float, clock: Clock, *, begins_at: float = 0.0) -> None:
        self.scenario = scenario
        self.speed = speed
        self.received: deque[Received] = deque(maxlen=MESSAGES_MAX)
        self._clock = clock
        self._begins_at = begins_at
        self._chance = Random(1)
        self._stopped = asyncio.Event()
        self._opened_s = asyncio.get_running_loop().time()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.since = ""  # the cursor of the last event before this day, kept by the watcher of the day
        self.address = ""
        self.url = ""

    async def open(self) -> None:
        bound = _bind()
        self.address, port = bound.getsockname()
        self.url = f"http://{self.address}:{port}"
        self._server = await asyncio.start_server(self._answer, sock=bound, limit=HEAD_MAX)
        self.restart()

    def restart(self) -> None:
        self._opened_s = asyncio.get_running_loop().time()

    @property
    def elapsed_minutes(self) -> float:
        """Of all days so far, the first of which may have started after its minute 0."""
        return self._begins_at + (asyncio.get_running_loop().time() - self._opened_s) * self.speed / 60

    @property
    def day(self) -> int:
        return int(self.elapsed_minutes // self.scenario.minutes) + 1

    @property
    def minute(self) -> float:
        return self.elapsed_minutes % self.scenario.minutes

    @property
    def phase(self) -> dict[str, object]:
        return self.scenario.phase_at(self.minute)

    async def run(self) -> None:
        await self._stopped.wait()

    def stop(self) -> None:
        self._stopped.set()

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in tuple(self._open):
                writer.close()
            await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, path, _ = head.partition("\r\n")[0].split(" ", 2)
                body = await reader.readexactly(min(_length(head), BODY_MAX))
                status, said = await self._respond(method, path.partition("?")[0], body)
                content = json.dumps(said).encode()
                writer.write(
                    f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {len(content)}\r\n\r\n".encode()
                    + (b"" if method == "HEAD" else content)
                )
                await writer.drain()
        self._open.discard(writer)
        writer.close()

    async def _respond(self, method: str, path: str, body: bytes) -> tuple[int, Mapping[str, object]]:
        if path == "/pager" and method == "POST":
            self.received.append(_received(self._clock.now(), body))
            return 200, {"received": True}
        if path.startswith("/orders/") and method == "POST":
            return 200, {"done": path.removeprefix("/orders/")}
        target = self.scenario.endpoints.get(path.removeprefix("/"))
        if target is None:
            return 404, {"error": f"the shop has no path {path}"}
        return await self._measure(target)

    async def _measure(self, target: ScenarioTarget) -> tuple[int, Mapping[str, object]]:
        answer = answer_at(self.scenario, target, self.minute, self._chance)
        await asyncio.sleep(answer.takes_ms / 1000 / self.speed)
        return answer.status, answer.said


def _bind() -> socket.socket:
    try:
        return socket.create_server((OWN_ADDRESS, 0))
    except OSError:
        return socket.create_server((ANY_ADDRESS, 0))


def _length(head: str) -> int:
    for line in head.split("\r\n")[1:]:
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-length":
            return int(value)
    return 0


def _received(now: datetime, body: bytes) -> Received:
    try:
        found = json.loads(body)
    except ValueError:
        found = {}
    data = found.get("data", {}) if isinstance(found, dict) else {}
    said = {**found, **data} if isinstance(data, dict) and isinstance(found, dict) else {}
    return Received(now, str(said.get("type", "")), str(said.get("title", "")), str(said.get("text", "")))
