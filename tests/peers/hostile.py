"""An HTTP peer that misbehaves exactly as the path asks: the far end of every outbound test.

    async with HostilePeer() as peer:
        await caller.call(request_to(peer.url("/endless")))

or as a process: `python -m tests.peers.hostile --port 0` prints its port and serves until killed.
Every path is one behaviour; `/` lists them. What arrived is in `peer.seen`, in order.
"""

import argparse
import asyncio
import gzip
import json
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

HEAD_BYTES_MAX = 1_000_000
OK_BODY = b'{"ok": true, "queue_depth": 3}'


class Seen(NamedTuple):
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def arguments(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.path).query))


class Line(NamedTuple):
    """The open connection a behaviour answers on."""

    peer: "HostilePeer"
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    seen: Seen

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def wait_for_hang_up(self) -> None:
        """Return when the other end closes; what it still sends is thrown away."""
        while await self.reader.read(65_536):
            pass
        self.peer.hung_up.set()


Behaviour = Callable[[Line], Awaitable[None]]


def reply(status: str, body: bytes = b"", *headers: str) -> bytes:
    """A well-formed response that keeps the connection open."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


JSON = "Content-Type: application/json"

# Answers that are nothing but bytes. The connection is closed after those in CLOSING.
STATIC: dict[str, bytes] = {
    "/ok": reply("200 OK", OK_BODY, JSON),
    "/no-content": reply("204 No Content"),
    "/unavailable": reply("503 Service Unavailable", b"busy"),
    "/json/nul": reply("200 OK", b'{"a": "x\\u0000y", "b": "' + b"\0" + b'"}', JSON),
    "/json/surrogates": reply("200 OK", b'{"a": "\\ud800", "b": "\xed\xa0\x80"}', JSON),
    "/json/deep": reply("200 OK", b"[" * 40_000 + b"]" * 40_000, JSON),
    "/json/keys": reply("200 OK", b"{" + b",".join(b'"k%d":1' % n for n in range(12_000)) + b"}", JSON),
    "/json/duplicate-keys": reply("200 OK", b'{"a": 1, "a": 2}', JSON),
    "/json/proto": reply("200 OK", b'{"__proto__": {"x": 1}, "constructor": 1}', JSON),
    "/text/invalid-utf8": reply("200 OK", b"caf\xe9 \xff\xfe \xc0\x80", "Content-Type: text/plain"),
    "/text/ansi": reply("200 OK", "\x1b[31mred\x1b[0m \u202eevil\u2066 \u200b".encode(), "Content-Type: text/plain"),
    "/text/one-line": reply("200 OK", b"x" * 1_000_000, "Content-Type: text/plain"),
    "/gzip/lie": reply("200 OK", b"this is not gzip", "Content-Encoding: gzip", "Content-Type: text/plain"),
    "/gzip/bomb": reply("200 OK", gzip.compress(bytes(20_000_000)), "Content-Encoding: gzip"),
    "/length/negative": head("HTTP/1.1 200 OK", "Content-Length: -5") + b"hello",
    "/length/two": head("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 7") + b"hello",
    "/length/two-in-one": head("HTTP/1.1 200 OK", "Content-Length: 5, 7") + b"hello",
    "/length/same-twice": head("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 5") + b"hello",
    "/length/overflowing": head("HTTP/1.1 200 OK", "Content-Length: 99999999999999999999999") + b"hello",
    "/length/huge": head("HTTP/1.1 200 OK", "Content-Length: 9000000000000000000") + b"hello",
    "/length/words": head("HTTP/1.1 200 OK", "Content-Length: five") + b"hello",
    "/length/short": head("HTTP/1.1 200 OK", "Content-Length: 50") + b"hello",
    "/length/and-chunked": head("HTTP/1.1 200 OK", "Content-Length: 5", "Transfer-Encoding: chunked")
    + b"2\r\nhi\r\n0\r\n\r\n",
    "/chunk/words": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"zz\r\nhello\r\n",
    "/chunk/negative": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"-5\r\nhello\r\n",
    "/chunk/overflow": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"fffffffffffffffff\r\nhello\r\n",
    "/chunk/cut": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"5\r\nhel",
    "/status/101": head("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"),
    "/status/000": head("HTTP/1.1 000 Nothing", "Content-Length: 0"),
    "/status/099": head("HTTP/1.1 099 Low", "Content-Length: 0"),
    "/status/999": reply("999 Beyond", b"odd"),
    "/status/1000": head("HTTP/1.1 1000 Long", "Content-Length: 0"),
    "/status/none": head("HTTP/1.1 ", "Content-Length: 0"),
    "/status/words": head("HTTP/1.1 abc OK", "Content-Length: 0"),
    "/status/204-with-body": head("HTTP/1.1 204 No Content", "Content-Length: 5") + b"hello",
    "/status/304": head("HTTP/1.1 304 Not Modified", "Content-Length: 5"),
    "/http/0.9": b"just some text, no head\n",
    "/http/9.9": head("HTTP/9.9 200 OK", "Content-Length: 0"),
    "/http/1.0": head("HTTP/1.0 200 OK") + b"until the end",
    "/garbage": bytes(range(256)) * 8,
    "/empty": b"",
    "/header/latin-1": head("HTTP/1.1 200 OK", "Content-Length: 2", "X-Name: caf\xe9 \x80") + b"ok",
    "/header/escape": head("HTTP/1.1 200 OK", "Content-Length: 2", "X-Name: \x1b[31mred") + b"ok",
    "/header/bare-cr": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Name: a\rb\r\n\r\nok",
    "/header/nul": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Name: a\0b\r\n\r\nok",
    "/header/obs-fold": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Name: a\r\n folded\r\n\r\nok",
    "/header/no-colon": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nthis is no header\r\n\r\nok",
    "/header/bare-lf": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "/header/looks-like-status": head("HTTP/1.1 200 OK", "Content-Length: 2", "HTTP/1.1 500: x") + b"ok",
    "/header/cookies": reply("200 OK", OK_BODY, JSON, "Set-Cookie: session=1; Path=/", "WWW-Authenticate: Basic"),
    "/header/150": reply("200 OK", OK_BODY, JSON, *(f"X-{n}: {n}" for n in range(150))),
    "/header/trailer": head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + b"2\r\nok\r\n0\r\nX-Late: yes\r\n\r\n",
    "/early-hints": head("HTTP/1.1 103 Early Hints", "Link: </a>; rel=preload") + reply("200 OK", OK_BODY, JSON),
    "/redirect/loop": reply("302 Found", b"", "Location: /redirect/loop"),
    "/redirect/long": reply("302 Found", b"", "Location: /" + "x" * 2_000_000),
    "/redirect/long-enough": reply("302 Found", b"", "Location: /" + "x" * 30_000),
    "/redirect/nowhere": reply("302 Found"),
    "/redirect/two-places": reply("302 Found", b"", "Location: /ok", "Location: /unavailable"),
    "/redirect/not-modified": reply("304 Not Modified", b"", "Location: /ok"),
}
CLOSING = frozenset(
    path
    for path in STATIC
    if path.startswith(("/length/", "/chunk/", "/http/", "/garbage", "/empty", "/status/", "/header/"))
)
BEHAVIOURS: dict[str, Behaviour] = {}


class HostilePeer:
    """Serves on a free loopback port while the block lasts. `seen` is every request, `accepted` every connection."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.accepted = 0
        self.open_connections = 0
        self.tls_resumed = 0
        self.seen: list[Seen] = []
        self.arrived = asyncio.Event()  # set by every request
        self.deserted = asyncio.Event()  # set while no connection is open
        self.hung_up = asyncio.Event()  # set when the other end closed in the middle of an answer

    @property
    def port(self) -> int:
        return self._port

    def url(self, path: str) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, self._host, self._port, ssl=self._tls, limit=HEAD_BYTES_MAX, backlog=1_024
        )
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.accepted += 1
        self.open_connections += 1
        self.deserted.clear()
        if (tls := writer.get_extra_info("ssl_object")) is not None and tls.session_reused:
            self.tls_resumed += 1
        try:
            while (seen := await _read_request(reader)) is not None:
                self.seen.append(seen)
                self.arrived.set()
                if not await self._answer(Line(self, reader, writer, seen)):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            self.hung_up.set()
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            self.open_connections -= 1
            if not self.open_connections:
                self.deserted.set()

    async def _answer(self, line: Line) -> bool:
        """True when the connection may carry another request."""
        path = urlsplit(line.seen.path).path
        if path in STATIC:
            await line.send(STATIC[path])
            return path not in CLOSING
        for prefix, behaviour in BEHAVIOURS.items():
            if path.startswith(prefix):
                await behaviour(line)
                return not line.writer.is_closing()
        listing = "\n".join(sorted((*STATIC, *BEHAVIOURS))).encode()
        await line.send(reply("200 OK" if path == "/" else "404 Not Found", listing))
        return True


async def _read_request(reader: asyncio.StreamReader) -> Seen | None:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = raw[:-4].decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = tuple((name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines))
    length = next((int(value) for name, value in headers if name == "content-length"), 0)
    return Seen(method, path, headers, await reader.readexactly(length))


def behaviour(prefix: str) -> Callable[[Behaviour], Behaviour]:
    def register(function: Behaviour) -> Behaviour:
        BEHAVIOURS[prefix] = function
        return function

    return register


@behaviour("/echo")
async def echo(line: Line) -> None:
    """Send back the method, path, headers and body that arrived, as JSON."""
    seen = line.seen
    text = json.dumps(
        {"method": seen.method, "path": seen.path, "headers": dict(seen.headers), "body": seen.body.decode("latin-1")}
    )
    await line.send(reply("200 OK", b"" if seen.method == "HEAD" else text.encode(), JSON))


@behaviour("/answer")
async def answer(line: Line) -> None:
    """`?status=503&header=Retry-After:+5&body=text`: the response the query describes."""
    arguments = line.seen.arguments
    headers = [arguments["header"]] if "header" in arguments else []
    body = b"" if line.seen.method == "HEAD" else arguments.get("body", "").encode()
    await line.send(reply(arguments.get("status", "200 OK"), body, *headers))


@behaviour("/slow")
async def slow(line: Line) -> None:
    """`?ms=100`: a good answer, late."""
    await asyncio.sleep(int(line.seen.arguments.get("ms", "100")) / 1_000)
    await line.send(STATIC["/ok"])


@behaviour("/drip")
async def drip(line: Line) -> None:
    """`?every_ms=20`: a body that never ends, one byte at a time."""
    await line.send(head("HTTP/1.1 200 OK", "Content-Length: 1000000"))
    while not line.writer.is_closing():
        await line.send(b"x")
        await asyncio.sleep(int(line.seen.arguments.get("every_ms", "20")) / 1_000)


@behaviour("/drip-head")
async def drip_head(line: Line) -> None:
    """`?every_ms=20`: a head that never ends, one byte at a time."""
    await line.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not line.writer.is_closing():
        await line.send(b"x")
        await asyncio.sleep(int(line.seen.arguments.get("every_ms", "20")) / 1_000)


@behaviour("/endless")
async def endless(line: Line) -> None:
    """Chunks of 16 kB until the other end hangs up; `/endless/small` chunks of two bytes."""
    await line.send(head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Content-Type: text/plain"))
    chunk = (
        b"2\r\nab\r\n" * 500 if line.seen.path.startswith("/endless/small") else b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    )
    while True:
        await line.send(chunk)
        await asyncio.sleep(0)


@behaviour("/huge")
async def huge(line: Line) -> None:
    """`?mb=150`: a well-formed body of that size."""
    megabytes = int(line.seen.arguments.get("mb", "150"))
    await line.send(head("HTTP/1.1 200 OK", f"Content-Length: {megabytes * 1_000_000}"))
    for _ in range(megabytes * 10):
        await line.send(b"x" * 100_000)


@behaviour("/hang")
async def hang(line: Line) -> None:
    """Accept, read, never answer."""
    await line.wait_for_hang_up()


@behaviour("/hang-after-head")
async def hang_after_head(line: Line) -> None:
    await line.send(head("HTTP/1.1 200 OK", "Content-Length: 100"))
    await line.wait_for_hang_up()


@behaviour("/reset")
async def reset(line: Line) -> None:
    """Answer with a TCP reset."""
    line.writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    line.writer.transport.abort()


@behaviour("/continue/endless")
async def endless_continue(line: Line) -> None:
    """`?every_ms=1`: 100 Continue for ever."""
    while not line.writer.is_closing():
        await line.send(head("HTTP/1.1 100 Continue"))
        await asyncio.sleep(int(line.seen.arguments.get("every_ms", "0")) / 1_000)


@behaviour("/header/huge")
async def huge_header(line: Line) -> None:
    """`?kb=5000`: one header of that size."""
    await line.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Big: ")
    for _ in range(int(line.seen.arguments.get("kb", "5000"))):
        await line.send(b"x" * 1_000)
    await line.send(b"\r\n\r\nok")


@behaviour("/header/many")
async def many_headers(line: Line) -> None:
    """`?count=10000`: that many headers."""
    count = int(line.seen.arguments.get("count", "10000"))
    await line.send(head("HTTP/1.1 200 OK", "Content-Length: 2", *(f"X-{n}: some value" for n in range(count))) + b"ok")


@behaviour("/redirect/chain/")
async def chain(line: Line) -> None:
    """`/redirect/chain/6` leads through 5, 4, ... to 0, which is good."""
    left = int(urlsplit(line.seen.path).path.rsplit("/", 1)[1])
    await line.send(reply("302 Found", b"", f"Location: {left - 1}") if left else STATIC["/ok"])


@behaviour("/redirect/to")
async def redirect_to(line: Line) -> None:
    """`?code=307&to=http://...`: a redirect to wherever it says; `to` comes last."""
    place = unquote_to_bytes(line.seen.path.partition("to=")[2])  # bytes: a Location may hold anything
    code = line.seen.arguments.get("code", "302")
    await line.send(head(f"HTTP/1.1 {code} Found", "Content-Length: 5")[:-2] + b"Location: " + place + b"\r\n\r\nmoved")


async def _main() -> None:
    parser = argparse.ArgumentParser(description="Serve hostile behaviours; prints the port.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    arguments = parser.parse_args()
    async with HostilePeer(arguments.port, arguments.host) as peer:
        print(peer.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main())
