"""Each fault of the proxy is what its name says, and ends with resume()."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.harness.addresses import HOST
from tests.harness.proxy import FaultProxy

SILENCE_S = 0.15  # long enough to tell silence from an answer on loopback, short enough to wait for


@asynccontextmanager
async def proxied_echo() -> AsyncIterator[FaultProxy]:
    """A server that echoes lines, behind a fault proxy."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(echo, HOST, 0)
    try:
        async with FaultProxy(HOST, server.sockets[0].getsockname()[1]) as proxy:
            yield proxy
    finally:
        server.close()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, proxy: FaultProxy) -> "Client":
        return cls(*await asyncio.open_connection(proxy.host, proxy.port))

    async def ask(self, line: bytes, deadline_s: float = 60) -> bytes:
        self.writer.write(line + b"\n")
        async with asyncio.timeout(deadline_s):
            return (await self.reader.readline()).rstrip(b"\n")

    def close(self) -> None:
        self.writer.close()


async def test_without_a_fault_bytes_pass_both_ways() -> None:
    async with proxied_echo() as proxy:
        client = await Client.connect(proxy)

        assert await client.ask(b"hello") == b"hello"
        assert (proxy.accepted, proxy.bytes_forwarded) == (1, 12)
        client.close()


async def test_delay_holds_every_chunk_each_way() -> None:
    async with proxied_echo() as proxy:
        client = await Client.connect(proxy)
        proxy.delay(0.05)
        loop = asyncio.get_running_loop()
        before = loop.time()
        await client.ask(b"late")

        assert loop.time() - before >= 0.1
        client.close()


async def test_cut_resets_open_connections_and_takes_new_ones() -> None:
    async with proxied_echo() as proxy:
        client = await Client.connect(proxy)
        await client.ask(b"before")
        proxy.cut()

        with pytest.raises(ConnectionResetError):
            await client.ask(b"after")
        assert proxy.reset == 1
        again = await Client.connect(proxy)
        assert await again.ask(b"again") == b"again"
        again.close()


async def test_refuse_resets_and_refuses_until_resumed() -> None:
    async with proxied_echo() as proxy:
        client = await Client.connect(proxy)
        await client.ask(b"before")
        await proxy.refuse()

        with pytest.raises(ConnectionResetError):
            await client.ask(b"after")
        with pytest.raises(ConnectionRefusedError):
            await Client.connect(proxy)
        await proxy.resume()
        again = await Client.connect(proxy)
        assert await again.ask(b"again") == b"again"
        again.close()


async def test_half_open_accepts_and_never_answers() -> None:
    async with proxied_echo() as proxy:
        old = await Client.connect(proxy)
        await old.ask(b"before")
        await proxy.half_open()
        new = await Client.connect(proxy)

        for client in (old, new):
            with pytest.raises(TimeoutError):
                await client.ask(b"anyone?", deadline_s=SILENCE_S)
        assert proxy.held == 1
        old.close()
        new.close()


async def test_what_was_held_is_delivered_after_resume() -> None:
    async with proxied_echo() as proxy:
        await proxy.half_open()
        client = await Client.connect(proxy)
        with pytest.raises(TimeoutError):
            await client.ask(b"patience", deadline_s=SILENCE_S)
        await proxy.resume()

        async with asyncio.timeout(60):
            assert await client.reader.readline() == b"patience\n"
        client.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux drops a SYN when the accept queue is full")
async def test_black_hole_lets_nobody_connect_until_resumed() -> None:
    async with proxied_echo() as proxy:
        old = await Client.connect(proxy)
        await old.ask(b"before")
        await proxy.black_hole()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Client.connect(proxy), SILENCE_S)
        with pytest.raises(TimeoutError):
            await old.ask(b"anyone?", deadline_s=SILENCE_S)
        await proxy.resume()
        async with asyncio.timeout(60):
            assert await old.reader.readline() == b"anyone?\n"
        again = await Client.connect(proxy)
        assert await again.ask(b"again") == b"again"
        old.close()
        again.close()


async def test_end_of_the_proxy_leaves_no_connection() -> None:
    async with proxied_echo() as proxy:
        client = await Client.connect(proxy)
        await client.ask(b"before")

    assert proxy.open_connections == 0
    client.close()
