"""A target with many ports that counts how many calls are in flight: in all, and at each port.

The caps on concurrency are about hosts, and `host:port` is a host. It serves in the test's own loop, so what it counts
is exact at every instant.

    async with Harbour(ports=50, delay_s=0.02) as harbour:
        ... calls to harbour.url(17, "/x") ...
        harbour.most_in_flight, harbour.most_at_a_port
"""

import asyncio
import time
from types import TracebackType
from typing import NamedTuple, Self

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Arrival(NamedTuple):
    webhook_id: str
    slot: str
    path: str
    at: float


class Harbour:
    def __init__(self, ports: int, delay_s: float, closed_until: int = 0) -> None:
        """The first calls are answered once `closed_until` are in flight, however slowly they come."""
        self._delay_s = delay_s
        self._closed_until = closed_until
        self._open = asyncio.Event()
        self._count = ports
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._at_port = [0] * ports
        self.in_flight = 0
        self.most_in_flight = 0
        self.most_at_a_port = 0
        self.arrivals: list[Arrival] = []

    def url(self, number: int, path: str) -> str:
        server = self._servers[number % self._count]
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"

    async def __aenter__(self) -> Self:
        for number in range(self._count):
            self._servers.append(
                await asyncio.start_server(
                    lambda reader, writer, number=number: self._serve(number, reader, writer),  # type: ignore[misc]  # bound now
                    "127.0.0.1",
                    0,
                    backlog=256,
                )
            )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self._arrive(number, head)
                await self._open.wait()
                await asyncio.sleep(self._delay_s)
                self._at_port[number] -= 1
                self.in_flight -= 1
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the caller went, or the test is over
        finally:
            writer.close()

    def _arrive(self, number: int, head: str) -> None:
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.arrivals.append(
            Arrival(headers["webhook-id"], headers["mainspring-slot"], first.split(" ")[1], time.time())
        )
        self.in_flight += 1
        if self.in_flight >= self._closed_until:
            self._open.set()
        self._at_port[number] += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self.most_at_a_port = max(self.most_at_a_port, self._at_port[number])
