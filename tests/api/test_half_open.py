"""Connections that ask for nothing, or never finish asking: they go, and never take what the schedule needs."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI

from mainspring.api import server as module
from mainspring.api.middleware import BODIES_MAX, BODY_MAX
from mainspring.api.server import WebServer
from tests.harness.waiting import until_true

WHOLE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALVES = {
    "nothing": (b"",),
    "half a head": (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ",),
    "half a body": (b"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",),
    "half a head after an answer": (WHOLE, b"GET /healthz HTTP/1.1\r\n"),
}


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, request: bytes = WHOLE) -> bytes:
        self.writer.write(request)
        async with asyncio.timeout(30):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def is_cut(self) -> bool:
        try:
            async with asyncio.timeout(30):
                while await self.reader.read(1_000):
                    pass
        except ConnectionError:
            pass
        return True


class Served:
    def __init__(self, web: WebServer) -> None:
        self.web = web
        self.host, _, port = web.url.removeprefix("http://").partition(":")
        self.port = int(port)
        self.clients: list[Client] = []

    async def is_busy(self) -> bool:
        return bool(self.web._server.server_state.tasks)

    async def connect(self) -> Client:
        self.clients.append(Client(*await asyncio.open_connection(self.host, self.port)))
        return self.clients[-1]


@pytest.fixture
async def served(app: FastAPI) -> AsyncIterator[Served]:
    @app.get("/slow")
    async def slow() -> str:
        await asyncio.sleep(3 * module.ARRIVAL_S)
        return "slow"

    app.router.routes.insert(0, app.router.routes.pop())  # before the pages, which take what is nobody else's
    ready = asyncio.Event()
    web = WebServer(app, "127.0.0.1", 0, lambda url: ready.set())
    running = asyncio.create_task(web.run())
    await ready.wait()
    found = Served(web)
    yield found
    for client in found.clients:
        client.writer.transport.abort()
    web.stop()
    await running
    web.close()


@pytest.mark.parametrize("sent", HALVES.values(), ids=HALVES)
async def test_request_that_does_not_arrive_is_not_waited_for(
    served: Served, monkeypatch: pytest.MonkeyPatch, sent: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(module, "ARRIVAL_S", 0.2)
    client = await served.connect()
    for whole in sent[:-1]:
        await client.ask(whole)
    client.writer.write(sent[-1])

    assert await client.is_cut()


async def test_answer_that_takes_long_is_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ARRIVAL_S", 0.2)
    client = await served.connect()

    assert (await client.ask(WHOLE.replace(b"/healthz", b"/slow"))).startswith(b"HTTP/1.1 200")


async def test_strangers_who_hold_connections_leave_room_for_everything_else(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control is the last of those that fit: it is served, as all would be without the bound."""
    monkeypatch.setattr(module, "CONNECTIONS_MAX", 5)
    held = [await served.connect() for _ in range(5)]
    assert (await held[-1].ask()).startswith(b"HTTP/1.1 200")
    beyond = await served.connect()

    assert await beyond.is_cut()
    held[0].writer.transport.abort()

    async def is_served() -> bool:
        try:
            return (await (await served.connect()).ask()).startswith(b"HTTP/1.1 200")
        except (ConnectionError, asyncio.IncompleteReadError):
            return False

    await until_true(is_served, "the place of who went")


async def test_two_ways_to_tell_where_a_body_ends_are_refused_on_the_wire(served: Served) -> None:
    """A proxy in front may believe the other one, and take the rest for the next request."""
    client = await served.connect()
    head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    answer = await client.ask(head + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400")
    assert await client.is_cut()


async def test_request_that_outlasts_a_stop_is_told_so(
    served: Served, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An answer in words, and no traceback: nothing went wrong."""
    monkeypatch.setattr(module, "ARRIVAL_S", 100)
    monkeypatch.setattr(served.web._server.config, "timeout_graceful_shutdown", 0.1)
    client = await served.connect()
    asking = asyncio.create_task(client.ask(WHOLE.replace(b"/healthz", b"/slow")))
    await until_true(served.is_busy, "the request is being answered")
    served.web.stop()
    answer = await asking

    assert answer.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 5" in answer.lower()
    assert "Traceback" not in "".join(capfd.readouterr())


async def test_connection_made_before_a_stop_may_still_ask(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASKING_S", 100)
    client = await served.connect()
    other = await served.connect()
    assert (await other.ask()).startswith(b"HTTP/1.1 200")
    served.web.stop()
    assert await other.is_cut()  # it is between two requests: the stop has begun

    assert (await client.ask()).startswith(b"HTTP/1.1 200")
    assert await client.is_cut()


async def test_connection_that_asks_for_nothing_does_not_delay_a_stop(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ASKING_S", 0.1)
    monkeypatch.setattr(served.web._server.config, "timeout_graceful_shutdown", 100)
    client = await served.connect()
    served.web.stop()

    assert await client.is_cut()


@pytest.mark.parametrize("path", ["/api/v1/jobs", *BODIES_MAX])
async def test_body_that_says_it_is_too_large_is_refused_before_any_of_it_is_read(
    served: Served, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Nothing of the body is ever sent: a server that waits for it answers 408."""
    monkeypatch.setattr("mainspring.api.middleware.BODY_TIMEOUT_S", 1)
    client = await served.connect()
    length = BODIES_MAX.get(path, BODY_MAX) + 1
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {length}"
    answer = await client.ask(f"{head}\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 413")
    assert await client.is_cut()
