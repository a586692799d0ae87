"""The event stream over real connections: cut in the middle, two hundred at once, stuck, revoked, shut down."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from itertools import count
from typing import NamedTuple

import asyncpg
import pytest
from fastapi import FastAPI, Request
from httpx2 import AsyncClient

from mainspring.api import event_stream
from mainspring.api.access import recognise
from mainspring.api.context import Context
from mainspring.api.routes.event_stream import STREAMS_OF_KEY_MAX, _is_welcome
from mainspring.api.server import WebServer
from mainspring.domain.access.scope import Principal, Role, Scope
from mainspring.domain.errors import NotAuthenticated, NotFound
from mainspring.domain.event import Event, EventType, place_of
from mainspring.ports.stores import Stores
from tests.api.app import client_of
from tests.api.people import Browser, a_user
from tests.harness.pace import Pace
from tests.harness.postgres import as_superuser
from tests.harness.waiting import until
from tests.stores.databases import is_sqlite
from tests.stores.world import START, add, an_endpoint, change, edited, told


class Message(NamedTuple):
    type: str
    id: str
    data: dict[str, object]


class Stream:
    """One open connection, read as a browser's EventSource would."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.last_id = ""
        self.comments = 0

    async def next(self) -> Message | None:
        """None at the end."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(60):
            while line := (await self.reader.readline()).decode():
                text = line.rstrip("\r\n")
                if text.startswith(":"):
                    self.comments += 1
                elif ": " in text:
                    name, _, value = text.partition(": ")
                    fields[name] = value
                elif not text and fields:
                    self.last_id = fields.get("id", self.last_id)
                    if "data" in fields:
                        return Message(fields["event"], self.last_id, json.loads(fields["data"]))
                    fields = {}
        return None

    async def take(self, count: int) -> list[Message]:
        found = [await self.next() for _ in range(count)]
        return [message for message in found if message is not None]

    def cut(self) -> None:
        self.writer.transport.abort()


class Server:
    def __init__(self, web: WebServer, app: FastAPI) -> None:
        self.web, self.app = web, app
        self.context: Context = app.state.context
        self._open: list[Stream] = []
        self._turns = count()

    async def open(self, query: str = "", last_id: str = "", room: int = 0, cookie: str = "") -> Stream:
        """`room` is how many bytes the client's system takes before the client reads them. Ten keys take turns."""
        host, port = self.web.url.removeprefix("http://").split(":")
        line = socket.socket()
        if room:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        line.setblocking(False)
        await asyncio.get_running_loop().sock_connect(line, (host, int(port)))
        reader, writer = await asyncio.open_connection(sock=line)
        actor = f"X-Actor: key:{next(self._turns) % 10}\r\n"
        extra = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        extra += f"Cookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n" if cookie else ""
        request = f"GET /api/v1/events/stream{query} HTTP/1.1\r\nHost: {host}\r\nX-Test: default read\r\n"
        writer.write((request + actor + extra + "\r\n").encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        opened = Stream(_Dechunked(reader), writer)  # type: ignore[arg-type]  # reads lines alike
        self._open.append(opened)
        return opened

    def close(self) -> None:
        for each in self._open:
            each.cut()


class _Dechunked:
    """Lines of a chunked body."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._rest = b""
        self._ended = False

    async def readline(self) -> bytes:
        while b"\n" not in self._rest and not self._ended:
            head = await self._reader.readline()
            if not head:  # cut between two chunks: a server that stops waits for last words only so long
                self._ended = True
                break
            size = int(head.strip(), 16)
            self._rest += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
            self._ended = size == 0
        line, newline, self._rest = self._rest.partition(b"\n")
        return line + newline


@pytest.fixture
async def server(app: FastAPI, stores: Stores) -> AsyncIterator[Server]:
    ready = asyncio.Event()
    feed = app.state.context.feed
    web = WebServer(app, "127.0.0.1", 0, lambda url: ready.set(), feed.stop)
    tasks = [asyncio.create_task(web.run()), asyncio.create_task(feed.run())]
    await ready.wait()
    running = Server(web, app)
    yield running
    running.close()
    web.stop()
    await asyncio.gather(*tasks)
    web.close()


def numbered(*numbers: int, tenant_id: str = "default", **fields: object) -> list[Event]:
    return [Event(EventType.HINT_WRITTEN, START, tenant_id, data={"number": n}, **fields) for n in numbers]  # type: ignore[arg-type]  # fields of an event


def numbers_of(messages: list[Message]) -> list[object]:
    return [message.data["data"]["number"] for message in messages]  # type: ignore[index]  # an object


async def test_stream_tells_what_happens_from_now_on(server: Server, stores: Stores) -> None:
    await stores.runs.add_events(numbered(0))
    await told(stores)
    opened = await server.open()
    await stores.runs.add_events(numbered(1, 2))
    messages = await opened.take(2)

    assert [(each.type, each.data["cursor"]) for each in messages] == [("hint.written", each.id) for each in messages]
    assert numbers_of(messages) == [1, 2]


async def test_client_cut_off_again_and_again_misses_nothing_and_sees_nothing_twice(
    server: Server, stores: Stores, other_stores: Stores
) -> None:
    opened = await server.open()

    async def write(into: Stores, first: int) -> None:
        for number in range(first, first + 40):
            await into.runs.add_events(numbered(number))

    writing = [asyncio.create_task(write(stores, 0)), asyncio.create_task(write(other_stores, 40))]
    seen: list[Message] = []
    cuts = 0
    while len(seen) < 80:
        message = await opened.next()
        assert message is not None
        seen.append(message)
        if len(seen) % 9 == 0:
            cuts += 1
            opened.cut()
            opened = await server.open(last_id=seen[-1].id)
    await asyncio.gather(*writing)

    assert cuts >= 8
    assert sorted(map(str, numbers_of(seen))) == sorted(map(str, range(80)))


async def test_client_cut_off_before_its_first_event_misses_nothing(server: Server, stores: Stores) -> None:
    await stores.runs.add_events(numbered(0))
    await told(stores)
    opened = await server.open("?types=job.*")
    reading = asyncio.create_task(opened.next())
    await until(lambda: opened.last_id, "the id to come back with")
    reading.cancel()
    opened.cut()
    await stores.runs.add_events(numbered(1))
    again = await server.open(last_id=opened.last_id)

    assert numbers_of(await again.take(1)) == [1]


async def test_filters_choose_types_endpoints_and_jobs(server: Server, stores: Stores) -> None:
    mine, other, moved = (
        an_endpoint("mine", job_id="job_a"),
        an_endpoint("other", job_id="job_b"),
        an_endpoint("moved", job_id="job_b"),
    )
    await add(stores, mine, other, moved)
    streams = [
        await server.open(f"?{query}")
        for query in ("types=hint", f"endpoint={mine.name}&types=hint.*", "job=job_a&types=hint")
    ]
    await change(stores, moved, edited(job_id="job_a"))
    for number, endpoint in enumerate((mine, other, moved)):
        await stores.runs.add_events(numbered(number, endpoint_id=endpoint.id))
    await stores.runs.add_events(numbered(9, endpoint_id=mine.id))
    seen = [numbers_of(await opened.take(count)) for opened, count in zip(streams, (4, 2, 3), strict=True)]

    assert seen == [[0, 1, 2, 9], [0, 9], [0, 2, 9]]


async def test_stream_tells_nothing_of_other_tenants(server: Server, stores: Stores) -> None:
    opened = await server.open()
    await stores.runs.add_events(numbered(1, tenant_id="other"))
    await stores.runs.add_events(numbered(2))

    assert numbers_of(await opened.take(1)) == [2]


async def test_two_hundred_streams_get_everything_and_end_at_once_on_shutdown(server: Server, stores: Stores) -> None:
    pace = Pace()
    streams = await asyncio.gather(*[server.open() for _ in range(200)])
    await until(lambda: server.context.feed.listeners == 200, "two hundred listeners")
    for number in range(10):
        await stores.runs.add_events(numbered(number))
    seen = await asyncio.gather(*[opened.take(10) for opened in streams])
    loop = asyncio.get_running_loop()
    before = loop.time()
    server.web.stop()
    ends = await asyncio.gather(*[opened.next() for opened in streams])
    took_s = loop.time() - before

    assert [numbers_of(messages) for messages in seen] == [list(range(10))] * 200
    assert ends == [None] * 200
    assert took_s < pace.fair(2)


async def test_client_that_does_not_read_is_dropped_and_does_not_delay_shutdown(
    server: Server, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "SEND_S", 0.3)
    stuck = await server.open(room=4_096)
    await until(lambda: server.context.feed.listeners == 1, "a listener")
    stuck.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a read transport
    big = [Event(EventType.HINT_WRITTEN, START, "default", data={"text": "x" * 200_000})]
    for _ in range(40):
        await stores.runs.add_events(big)
    await until(lambda: server.context.feed.listeners == 0, "the end of its stream")
    await told(stores)
    again = await server.open()
    await stores.runs.add_events(numbered(1))

    assert numbers_of(await again.take(1)) == [1]


async def test_revoked_key_ends_the_stream_within_seconds(
    server: Server, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "CHECK_S", 0.2)
    monkeypatch.setattr(event_stream, "STEP_S", 0.1)
    revoked = asyncio.Event()

    async def recognised(request: Request) -> Principal:
        if revoked.is_set():
            raise NotAuthenticated("the key was revoked; use another")
        return Principal("default", "key:test", frozenset({Scope.READ}))

    server.app.dependency_overrides[recognise] = recognised
    opened = await server.open()
    await stores.runs.add_events(numbered(1))
    first = await opened.take(1)
    revoked.set()

    assert numbers_of(first) == [1]
    assert await opened.next() is None


async def test_silent_stream_is_kept_open_by_comments(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(event_stream, "STEP_S", 0.05)
    opened = await server.open()
    reading = asyncio.create_task(opened.next())

    await until(lambda: opened.comments >= 2, "two heartbeats")
    reading.cancel()


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("types=run.finnished", 422, "event 'run.finnished' does not exist, did you mean 'run.finished'?"),
        ("cursor=1:x", 422, "cursor '1:x' is not a cursor of this database"),
        ("cursor=nonsense", 400, "this cursor does not belong to this list"),
        ("endpoint=none", 404, "no endpoint 'none'"),
        ("job=none", 404, "no job 'none'"),
        ("typ=run", 422, "unknown parameter 'typ'"),
    ],
)
async def test_what_cannot_be_streamed_is_refused_in_words(
    api: AsyncClient, query: str, status: int, words: str
) -> None:
    answer = await api.get(f"/api/v1/events/stream?{query}")

    assert answer.status_code == status
    assert words in answer.json()["detail"]


async def test_cursor_of_another_kind_is_refused_before_the_stream_begins(api: AsyncClient, stores: Stores) -> None:
    await stores.runs.add_events(numbered(1))
    await told(stores)
    answer = await api.get("/api/v1/events/stream", headers={"Last-Event-ID": "1.1:0"})

    assert answer.status_code == 422
    assert "cursor '1.1:0' is not a cursor of this database" in answer.json()["detail"]


async def test_cursor_from_before_a_restore_goes_on_with_what_happens_now(server: Server, stores: Stores) -> None:
    await stores.runs.add_events(numbered(1))
    await told(stores)
    opened = await server.open(last_id="999999999:0")
    await stores.runs.add_events(numbered(2))

    assert numbers_of(await opened.take(1)) == [2]


async def test_client_that_comes_back_while_events_are_held_back_gets_none_twice(
    server: Server, stores: Stores, store_url: str
) -> None:
    """A writer may mark itself a moment after others have committed and were read: their events are then not the newest
    that can be read, and still no place of another database."""
    if is_sqlite(store_url):
        pytest.skip("SQLite has one writer: what is committed can be read")
    await stores.runs.add_events(numbered(1, 2))
    last_id = (await stores.runs.latest_events("default", 1))[-1].cursor
    writer = await asyncpg.connect(as_superuser(store_url))
    earlier = place_of(last_id)[0] - 1
    await writer.execute(f"BEGIN; SELECT pg_advisory_xact_lock_shared('event'::regclass::int, {earlier})")
    opened = await server.open(last_id=last_id)
    await writer.close()
    await stores.runs.add_events(numbered(3))

    assert numbers_of(await opened.take(1)) == [3]


async def test_stream_goes_on_from_where_a_list_ended(server: Server, stores: Stores, api: AsyncClient) -> None:
    await stores.runs.add_events(numbered(1))
    await told(stores)
    page = (await api.get("/api/v1/events", params={"limit": 1})).json()
    await stores.runs.add_events(numbered(2))
    opened = await server.open(f"?cursor={page['next_cursor']}")

    assert numbers_of(await opened.take(1)) == [2]


async def test_one_key_and_one_tenant_leave_streams_to_the_others(app: FastAPI) -> None:
    streams = app.state.streams
    asked: list[tuple[str, str, int]] = []
    for owners, tenant, actor in (
        ({("default", "key:one"): STREAMS_OF_KEY_MAX}, "default", "key:one"),
        ({("default", f"key:{n}"): STREAMS_OF_KEY_MAX for n in range(6)}, "default", "key:new"),
    ):
        streams.clear()
        streams.update(owners)
        async with client_of(app, tenant, actor=actor) as client, asyncio.timeout(60):  # a stream never ends
            answer = await client.get("/api/v1/events/stream")
        asked.append((tenant, answer.headers["retry-after"], answer.status_code))
    streams.clear()

    assert asked == [("default", "60", 429)] * 2


async def test_stream_of_a_member_who_was_removed_ends_without_a_failure(app: FastAPI, stores: Stores) -> None:
    """Who is asked again whether the stream may go on: the tenant that it names is not theirs any more."""
    request = Request({"type": "http", "app": app, "headers": [], "query_string": b""})

    async def gone(_: Request) -> Principal:
        raise NotFound("tenant", "default")

    app.dependency_overrides[recognise] = gone

    assert not await _is_welcome(request, Principal("default", "user:bo", frozenset({Scope.READ})))


async def test_member_who_is_removed_during_a_stream_sees_its_end_and_nothing_fails(
    server: Server, stores: Stores, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(event_stream, "CHECK_S", 0.2)
    monkeypatch.setattr(event_stream, "STEP_S", 0.1)
    server.app.dependency_overrides.pop(recognise)
    await a_user(stores)
    removed = await a_user(stores, "bo@example.com", Role.VIEWER)
    async with Browser(server.app) as owner, Browser(server.app) as member:
        await owner.log_in()
        await member.log_in("bo@example.com")
        cookie = "; ".join(f"{name}={value}" for name, value in member.cookies.items())
        opened = await server.open("?tenant=default", cookie=cookie)
        await stores.runs.add_events(numbered(1))
        first = await opened.take(1)
        answer = await owner.delete(f"/api/v1/members/{removed.id}")

    assert numbers_of(first) == [1]
    assert answer.status_code == 200
    while (message := await opened.next()) is not None:  # that a member was removed may still be told
        assert message.type != EventType.HINT_WRITTEN
    assert "Traceback" not in "".join(capfd.readouterr())
