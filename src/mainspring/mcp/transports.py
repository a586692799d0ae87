"""Transports of the server: standard input and output as one fixed principal, or HTTP with a key per request.

Over HTTP every request is authenticated again, so a revoked key is refused at once. A session belongs to the key it was
opened with; for any other key it does not exist. The MCP package is imported at the first request, because the import
takes a second and many processes never need it.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from mainspring.domain.access.scope import Principal
from mainspring.domain.errors import Forbidden, MainspringError, NotAuthenticated, TooManyRequests
from mainspring.operations.context import Desk
from mainspring.ports.outbound import Caller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

SESSIONS_MAX = 1_000
STOPPING = "the server is stopping; send the request again in a few seconds"
SESSIONS_OF_KEY_MAX = 20
SESSIONS_OF_TENANT_MAX = 200
IDLE_S = 600.0  # a session without requests for this long ends
PRINCIPAL = "mainspring.principal"

Recognise = Callable[[Request], Awaitable[Principal]]
Desks = Callable[[str, str], Desk]


async def serve_stdio(principal: Principal, desk: Desks, caller: Caller) -> None:
    """Serves one client until it closes our standard input."""
    from mcp.server.stdio import stdio_server

    from mainspring.mcp.server import ServerDependencies, make_server

    server = make_server(ServerDependencies(lambda _: principal, desk, caller))
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class WebDoor:
    """An ASGI application and a worker: its sessions live as long as it runs, and until its last call is answered."""

    def __init__(self, recognise: Recognise, desk: Desks, caller: Caller) -> None:
        self._recognise = recognise
        self._desk = desk
        self._caller = caller
        self._asked = asyncio.Event()
        self._stopping = asyncio.Event()
        self._calls = 0  # in progress, without streams that clients hold open
        self._answered = asyncio.Event()
        self._answered.set()
        self._opening: Counter[tuple[str, str]] = (
            Counter()
        )  # requests in progress that may open a session, by its owner
        self._ready: asyncio.Future[StreamableHTTPSessionManager | None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        await _first(self._asked, self._stopping)
        if self._stopping.is_set():
            self._ready.set_result(None)
            return
        manager = await asyncio.to_thread(self._make_manager)
        async with manager.run():
            self._ready.set_result(manager)
            await self._stopping.wait()
            await self._answered.wait()  # the web server cancels them after its grace

    def stop(self) -> None:
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if self._stopping.is_set():
            await _refusal(MainspringError(STOPPING))(scope, receive, send)
            return
        is_call = request.method != "GET"
        answer = _Answer(send)
        self._calls += is_call
        if is_call:
            self._answered.clear()
        try:
            await self._serve(request, scope, receive, answer.send)
        except asyncio.CancelledError:  # the server stops
            if not answer.is_stream:
                raise
            await answer.end(_stopped(scope["state"]["body"]) if is_call else b"")
        finally:
            self._calls -= is_call
            if not self._calls:
                self._answered.set()

    async def _serve(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            _check_origin(request)
            principal = await self._principal(request)
        except MainspringError as fault:
            await _refusal(fault)(scope, receive, send)
            return
        self._asked.set()
        manager = await self._ready
        if manager is None or (self._stopping.is_set() and request.method == "GET"):
            await _refusal(MainspringError(STOPPING))(scope, receive, send)
            return
        scope[PRINCIPAL] = principal
        scope["user"] = _session_owner(principal)
        if not _may_open(request):
            await manager.handle_request(scope, receive, send)
            return
        owner = principal.tenant_id, principal.actor
        try:
            self._refuse_many(manager, owner)
        except TooManyRequests as fault:
            await _refusal(fault)(scope, receive, send)
            return
        self._opening[owner] += 1
        try:
            await manager.handle_request(scope, receive, send)
        finally:
            self._opening[owner] -= 1

    def _refuse_many(self, manager: "StreamableHTTPSessionManager", owner: tuple[str, str]) -> None:
        """One key or tenant must not take the places of all others."""
        open_now = [(each["subject"], each["client_id"]) for each in manager._session_owners.values()]
        of_key = open_now.count(owner) + self._opening[owner]
        of_tenant = sum(tenant == owner[0] for tenant, _ in open_now)
        of_tenant += sum(number for (tenant, _), number in self._opening.items() if tenant == owner[0])
        if of_key >= SESSIONS_OF_KEY_MAX or of_tenant >= SESSIONS_OF_TENANT_MAX:
            raise TooManyRequests(
                f"a key has at most {SESSIONS_OF_KEY_MAX} sessions and a tenant {SESSIONS_OF_TENANT_MAX}; end one with "
                f"DELETE, or wait: one that is idle for {IDLE_S / 60:g} minutes ends",
                retry_after_s=60,
            )

    async def _principal(self, request: Request) -> Principal:
        """Accepts keys only: a browser sends its session cookie for any page that asks."""
        if not request.headers.get("authorization", "").lower().startswith("bearer "):
            raise NotAuthenticated("no API key was sent; send `Authorization: Bearer <key>`")
        return await self._recognise(request)

    def _make_manager(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from mainspring.mcp.server import ServerDependencies, make_server

        server = make_server(ServerDependencies(_principal_of, self._desk, self._caller))
        # The middleware of the API has a lower limit for bodies than this package.
        return StreamableHTTPSessionManager(server, max_sessions=SESSIONS_MAX, session_idle_timeout=IDLE_S)


class _Answer:
    """Knows whether a response has begun as a stream, which can be ended with a message."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_stream = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_stream = dict(message["headers"]).get(b"content-type", b"").startswith(b"text/event-stream")
        await self._send(message)

    async def end(self, last: bytes) -> None:
        await self._send({"type": "http.response.body", "body": last})


def _stopped(body: bytes) -> bytes:
    """The result of a call that outlasts the stop, as an event."""
    asked = json.loads(body)
    number = asked.get("id") if isinstance(asked, dict) else None
    return f"event: message\r\ndata: {json.dumps(_error(STOPPING, number))}\r\n\r\n".encode()


def _may_open(request: Request) -> bool:
    """Whether a request may open a session: it names none, and uses a protocol version with sessions."""
    from mcp.server import streamable_http_manager as manager

    version = request.headers.get("mcp-protocol-version")
    with_sessions = manager.HANDSHAKE_PROTOCOL_VERSIONS  # type: ignore[attr-defined]  # the one that decides there
    return "mcp-session-id" not in request.headers and (version is None or version in with_sessions)


def _principal_of(context: Any) -> Principal:
    principal = context.request.scope[PRINCIPAL]
    assert isinstance(principal, Principal)
    return principal


def _session_owner(principal: Principal) -> object:
    """The owner of a session for the package, which answers 404 to any other."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    return AuthenticatedUser(AccessToken(token="", client_id=principal.actor, scopes=[], subject=principal.tenant_id))


def _check_origin(request: Request) -> None:
    """A page of another site must not reach a server in its reader's network. Programs send no Origin."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower():
        raise Forbidden(
            "the request comes from a page of another site; only pages of this server are allowed", scope=""
        )


def _refusal(fault: MainspringError) -> JSONResponse:
    status, headers = 503, {}
    match fault:
        case NotAuthenticated():
            status, headers = 401, {"WWW-Authenticate": 'Bearer realm="mainspring"'}
        case Forbidden():
            status = 403
        case TooManyRequests(retry_after_s=seconds):
            status, headers = 429, {"Retry-After": str(seconds)}
        case _:
            pass
    return JSONResponse(_error(str(fault)), status_code=status, headers=headers)


def _error(message: str, number: object = None) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": -32_600, "message": message}}


async def _first(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
