"""Servers behind real doors: basic and digest, tokens, AWS signatures, client certificates; and two proxies."""

import asyncio
import base64
import hashlib
import hmac
import re
import ssl
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

import msgspec


class Call(msgspec.Struct, frozen=True):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Reply(msgspec.Struct, frozen=True):
    status: int = 200
    body: bytes = b'{"ok": true}'
    headers: tuple[str, ...] = ()


class Listener:
    """A server on loopback that ends every conversation when it is left."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._talks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.get_running_loop().create_task(self._talk(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                await self._serve(reader, writer)
        finally:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError


class Gateway(Listener):
    """An HTTP server whose answers a function decides. `seen` are the calls that arrived."""

    def __init__(self, answer: Callable[[Call], Reply], tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self._answer = answer
        self.seen: list[Call] = []

    def url(self, path: str = "/") -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while call := await read_call(reader):
            self.seen.append(call)
            reply = self._answer(call)
            extra = "".join(f"{line}\r\n" for line in reply.headers)
            writer.write(
                f"HTTP/1.1 {reply.status} X\r\nContent-Length: {len(reply.body)}\r\n"
                f"Content-Type: application/json\r\n{extra}\r\n".encode()
                + reply.body
            )
            await writer.drain()


async def read_call(reader: asyncio.StreamReader) -> Call | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Call(method, path, headers, body)


def needs_basic(username: str, password: str) -> Callable[[Call], Reply]:
    wanted = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()
    return lambda call: Reply() if call.headers.get("authorization") == wanted else Reply(401)


def needs_digest(username: str, password: str) -> Callable[[Call], Reply]:
    """RFC 7616 with MD5 and qop=auth; each nonce is good for one request."""
    nonces: set[str] = set()

    def answer(call: Call) -> Reply:
        given = dict(re.findall(r'(\w+)="?([^",]+)"?', call.headers.get("authorization", "")))
        if given.get("nonce") in nonces and given.get("response") == _digest(given, call, username, password):
            nonces.discard(given["nonce"])
            return Reply()
        nonce = f"n{len(nonces)}x{id(call)}"
        nonces.add(nonce)
        return Reply(401, b"", (f'WWW-Authenticate: Digest realm="r", qop="auth", nonce="{nonce}"',))

    return answer


def _digest(given: dict[str, str], call: Call, username: str, password: str) -> str:
    one = _md5(f"{username}:r:{password}")
    two = _md5(f"{call.method}:{call.path}")
    return _md5(f"{one}:{given['nonce']}:{given.get('nc')}:{given.get('cnonce')}:auth:{two}")


def _md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


class TokenServer:
    """Client credentials: tokens that live `life_s`, and a target that accepts those still valid.

    `now` is a clock that the test moves. `in_body` refuses credentials in the header, as some servers do.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.client, self.secret, self.life_s = "app", "s3cr+t/=", 100
        self.second_issued = asyncio.Event()
        self.issued: dict[str, float] = {}
        self.in_body = False
        self.is_down = False
        self.refused = 0

    def answer(self, call: Call) -> Reply:
        return self._token(call) if call.path == "/token" else self._target(call)

    def revoke_all(self) -> None:
        self.issued.clear()

    def _token(self, call: Call) -> Reply:
        if self.is_down:
            return Reply(503, b"down")
        form = {name: values[0] for name, values in parse_qs(call.body.decode()).items()}
        if self.in_body:
            given = (form.get("client_id"), form.get("client_secret"))
        else:
            text = base64.b64decode(call.headers.get("authorization", "").removeprefix("Basic ")).decode()
            given = tuple(unquote(part) for part in text.split(":", 1))  # type: ignore[assignment]  # two parts
        if given != (self.client, self.secret) or form.get("grant_type") != "client_credentials":
            return Reply(401, b'{"error": "invalid_client"}')
        token = f"token-{len(self.issued)}-{self.now():.0f}-{len(call.headers)}-abcdefghijk"
        while token in self.issued:
            token += "x"
        self.issued[token] = self.now() + self.life_s
        if len(self.issued) == 2:
            self.second_issued.set()
        made = {"access_token": token, "token_type": "Bearer", "expires_in": self.life_s, "scope": form.get("scope")}
        return Reply(200, msgspec.json.encode(made))

    def _target(self, call: Call) -> Reply:
        token = call.headers.get("authorization", "").removeprefix("Bearer ")
        if self.issued.get(token, 0) > self.now():
            return Reply(200, msgspec.json.encode({"echo": token}))
        self.refused += 1
        return Reply(401, b'{"error": "expired"}')


def is_signed_for_aws(call: Call, key_id: str, secret: str, region: str, service: str) -> bool:
    """Computes Signature Version 4 as AWS documents it, and compares."""
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?"
        r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})",
        call.headers.get("authorization", ""),
    )
    if found is None or (found[1], found[3], found[4]) != (key_id, region, service):
        return False
    parts = urlsplit(call.path)
    pairs = sorted(part.partition("=")[::2] for part in parts.query.split("&") if part)
    query = "&".join("=".join(quote(unquote(text), safe="-_.~") for text in pair) for pair in pairs)
    signed = "".join(f"{name}:{' '.join(call.headers[name].split())}\n" for name in found[5].split(";"))
    payload = call.headers.get("x-amz-content-sha256") or hashlib.sha256(call.body).hexdigest()
    request = "\n".join((call.method, quote(parts.path, safe="/-_.~"), query, signed, found[5], payload))
    scope = f"{found[2]}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join(("AWS4-HMAC-SHA256", call.headers["x-amz-date"], scope, digest))
    key = f"AWS4{secret}".encode()
    for part in (found[2], region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    is_body = payload == hashlib.sha256(call.body).hexdigest()
    return is_body and hmac.new(key, text.encode(), hashlib.sha256).hexdigest() == found[6]


class HttpProxy(Listener):
    """CONNECT only. `asked` are the places that it was asked to connect to; credentials are required if given."""

    def __init__(self, credentials: str = "") -> None:
        super().__init__()
        self.asked: list[str] = []
        self._wanted = "Basic " + base64.b64encode(credentials.encode()).decode() if credentials else ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = await read_call(reader)
        if call is None:
            return
        self.asked.append(f"{call.method} {call.path}")
        if self._wanted and call.headers.get("proxy-authorization") != self._wanted:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await reader.read()
            return
        host, _, port = call.path.rpartition(":")
        await _join(reader, writer, host, int(port), b"HTTP/1.1 200 OK\r\n\r\n")


class SocksProxy(Listener):
    """SOCKS5 without authentication. `asked` are the addresses or names that it was asked to connect to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        await reader.readexactly(count)
        writer.write(b"\x05\x00")
        _, _, _, kind = await reader.readexactly(4)
        if kind == 1:
            host = ".".join(str(part) for part in await reader.readexactly(4))
        else:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        (port,) = struct.unpack("!H", await reader.readexactly(2))
        self.asked.append(f"{host}:{port}")
        await _join(reader, writer, host, port, b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")


async def _join(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int, greeting: bytes
) -> None:
    there, back = await asyncio.open_connection(host, port)
    writer.write(greeting)

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while chunk := await source.read(65_536):
            sink.write(chunk)
            await sink.drain()

    ways = [asyncio.create_task(copy(reader, back)), asyncio.create_task(copy(there, writer))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        back.transport.abort()
