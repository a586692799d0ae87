"""A peer on a TCP port that behaves as it was told: it answers, hangs, floods, drips, closes or resets."""

import asyncio
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET
from types import TracebackType
from typing import Self

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Talker:
    """Serves each connection with `talk`; remembers what it was sent, and waits for nobody when it ends."""

    def __init__(self, talk: Talk, tls: ssl.SSLContext | None = None) -> None:
        self._talk = talk
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.closed = asyncio.Event()  # set when a client has hung up

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, ssl.SSLError):
                await self._talk(reader, writer)
        finally:
            self.closed.set()
            writer.transport.abort()
            self._tasks.discard(task)


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
    await writer.wait_closed()


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))


async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"\x00\xffnoise " * 8_192)
        await writer.drain()


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.02)  # the pace is the behaviour under test


async def pong(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers like Valkey, and says hello first, like SSH."""
    writer.write(b"HELLO 1.0\r\n")
    while line := await reader.readline():
        writer.write(b"+PONG\r\n" if line == b"PING\r\n" else b"-ERR\r\n")
        await writer.drain()
