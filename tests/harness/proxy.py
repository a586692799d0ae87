"""A TCP proxy that misbehaves on request, to put between a worker and PostgreSQL (or any target).

    async with FaultProxy(cluster.host, cluster.port) as proxy:
        url = cluster.url("demo", port=proxy.port)
        proxy.delay(0.05)           every chunk arrives 50 ms late, each way
        await proxy.half_open()     connecting works, then silence: the peer's process hangs
        await proxy.black_hole()    connecting hangs too: the network is gone (Linux only)
        proxy.cut()                 open connections are reset; new ones work
        await proxy.refuse()        open connections are reset, new ones refused: the server is down
        await proxy.resume()        all is well; what was held back is delivered late, as after a network stall

The port stays the same through all of it. To lose for good what was held, `cut()` before `resume()`.
Counters say that a fault really happened: a fault test without one proves nothing.
"""

import asyncio
import contextlib
import socket
import struct
import sys
from types import TracebackType
from typing import Self

from tests.harness.addresses import HOST, free_port

CHUNK_BYTES = 64 * 1024
# Close with a reset instead of an orderly goodbye: linger on, zero seconds.
LINGER_RESET = struct.pack("ii", 1, 0)
# A listener with backlog 0 holds one connection; a few more make sure, and their own SYNs are dropped like all others.
QUEUE_FILLERS = 4


class FaultProxy:
    def __init__(self, target_host: str, target_port: int) -> None:
        self.host = HOST
        self.port = free_port()
        self.accepted = 0  # connections taken since the start
        self.held = 0  # connections taken while half open
        self.reset = 0  # connections reset by cut() or refuse()
        self.bytes_forwarded = 0
        self._target = (target_host, target_port)
        self._delay_s = 0.0
        self._flowing = asyncio.Event()
        self._listener: asyncio.Server | None = None
        self._full_queue: list[socket.socket] = []
        self._connections: dict[asyncio.Task[None], list[asyncio.StreamWriter]] = {}

    async def __aenter__(self) -> Self:
        self._flowing.set()
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop_listening()
        self._reset_all()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def delay(self, seconds: float) -> None:
        self._delay_s = seconds

    def cut(self) -> None:
        self.reset += self._reset_all()

    async def refuse(self) -> None:
        await self._stop_listening()
        self.cut()

    async def half_open(self) -> None:
        self._flowing.clear()
        await self._listen()

    async def black_hole(self) -> None:
        assert sys.platform == "linux", "only Linux drops a SYN when the accept queue is full"
        self._flowing.clear()
        await self._stop_listening()
        self._fill_queue()

    async def resume(self) -> None:
        self._delay_s = 0.0
        await self._listen()
        self._flowing.set()

    async def _listen(self) -> None:
        self._empty_queue()
        if self._listener is None:
            self._listener = await asyncio.start_server(self._accept, self.host, self.port)

    async def _stop_listening(self) -> None:
        self._empty_queue()
        if self._listener is not None:
            # Not wait_closed(): since Python 3.12 it waits for the open connections, which outlive the listener here.
            self._listener.close()
            self._listener = None
            await asyncio.sleep(0)  # the transport of the listening socket is closed in the loop's next turn

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self.held += not self._flowing.is_set()
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections[task] = [writer]
        task.add_done_callback(lambda done: self._connections.pop(done, None))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry both directions until either side ends or cut() ends them."""
        task = asyncio.current_task()
        assert task is not None
        try:
            await self._flowing.wait()
            target_reader, target_writer = await asyncio.open_connection(*self._target)
            self._connections[task].append(target_writer)
            forth = asyncio.ensure_future(self._carry(reader, target_writer))
            back = asyncio.ensure_future(self._carry(target_reader, writer))
            try:
                await asyncio.wait({forth, back}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for direction in (forth, back):
                    direction.cancel()
                await asyncio.gather(forth, back, return_exceptions=True)
        except OSError:
            pass  # the target refused; our client sees its connection closed, as it would without the proxy
        except asyncio.CancelledError:
            pass  # cut()
        finally:
            for end in self._connections.get(task, [writer]):
                end.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while chunk := await reader.read(CHUNK_BYTES):
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                await self._flowing.wait()
                writer.write(chunk)
                self.bytes_forwarded += len(chunk)
                await writer.drain()

    def _reset_all(self) -> int:
        connections = dict(self._connections)
        for task, ends in connections.items():
            for end in ends:
                with contextlib.suppress(OSError):
                    end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
                end.transport.abort()
            task.cancel()
            self._connections.pop(task, None)
        return len(connections)

    def _fill_queue(self) -> None:
        """Hold the port with a listener that never accepts and has no room: the kernel ignores whoever connects."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._full_queue.append(listener)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self.host, self.port))
        listener.listen(0)
        for _ in range(QUEUE_FILLERS):
            filler = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            filler.setblocking(False)
            filler.connect_ex((self.host, self.port))
            self._full_queue.append(filler)

    def _empty_queue(self) -> None:
        for held in self._full_queue:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
            held.close()
        self._full_queue.clear()
