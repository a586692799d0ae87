"""`Idempotency-Key`: a write repeated within 24 hours has no second effect and returns the stored response.

A key belongs to its sender. While the first request is in progress another one is refused with 409, and a different
request under the same key with 422. Only successful responses are stored: a refused request changed nothing, so the key
is free again. Responses are stored encrypted, because they may contain a key that is shown once.

1. `begin` runs when a route has authenticated the sender; it claims the key, or ends the request with the stored
   response.
2. `Repeater`, around the app, intercepts the response and stores it before it is sent.
"""

import json
from hashlib import sha256

import structlog
from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mainspring.api.problems import HttpProblem
from mainspring.domain.access.sealing import answer_place
from mainspring.domain.errors import StoreUnavailable
from mainspring.operations.context import Desk

HEADER = "idempotency-key"
WRITES = ("POST", "PUT", "PATCH", "DELETE")
KEY_MAX = 255
KEEP_MS = 24 * 3_600_000
WORK_MS = 120_000  # > the longest request: a run that is waited for, or a call of ten minutes that its client gave up
ANSWER_MAX = 1_000_000

log = structlog.get_logger()


class Claimed:
    """A key that this request holds until its response is stored or the key is released."""

    def __init__(self, desk: Desk, key: str, request: str) -> None:
        self._desk = desk
        self._place = (desk.tenant_id, desk.actor, key)
        self._request = request

    async def keep(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        answer = json.dumps({"status": status, "headers": headers, "body": body.decode("latin-1")})
        sealed = self._desk.vault.seal(answer, _context(self._desk, self._place[2]))
        await self._desk.stores.answers.keep(*self._place, self._request, sealed)

    async def release(self) -> None:
        await self._desk.stores.answers.release(*self._place, self._request)


class Repeated(Exception):
    """The request was done before; this is its response."""

    def __init__(self, response: Response) -> None:
        self.response = response


async def begin(request: Request, desk: Desk) -> None:
    key = request.headers.get(HEADER)
    if key is None or request.method not in WRITES:
        return
    if not 0 < len(key) <= KEY_MAX or not key.isprintable():
        raise HttpProblem(
            "malformed-request", f"an Idempotency-Key has 1 to {KEY_MAX} visible characters; send another"
        )
    asked = f"{request.method}\0{request.url.path}\0{request.url.query}\0".encode() + request.state.body
    context = _context(desk, key)
    sealed = desk.vault.seal(sha256(asked).hexdigest(), context)
    held = await desk.stores.answers.claim(desk.tenant_id, desk.actor, key, sealed, WORK_MS, KEEP_MS)
    if held is None:
        request.state.claimed = Claimed(desk, key, sealed)
        return
    first, answer = held
    if first and desk.vault.open(first, context) != sha256(asked).hexdigest():
        raise HttpProblem("invalid-input", "this Idempotency-Key was used for another request; send a new one")
    if answer is None:
        raise HttpProblem(
            "conflict", "the first request under this Idempotency-Key is still in progress; try again in a moment"
        )
    kept = json.loads(desk.vault.open(answer, context))
    response = Response(kept["body"].encode("latin-1"), kept["status"], dict(kept["headers"]))
    response.headers["Idempotency-Replayed"] = "true"
    raise Repeated(response)


def install(app: FastAPI) -> None:
    async def repeat(request: Request, fault: Exception) -> Response:
        assert isinstance(fault, Repeated)
        return fault.response

    app.add_exception_handler(Repeated, repeat)
    app.add_middleware(Repeater)


class Repeater:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in WRITES:
            await self._app(scope, receive, send)
            return
        started: Message = {}
        parts: list[bytes] = []

        async def catch(message: Message) -> None:
            claimed: Claimed | None = scope["state"].get("claimed")
            if claimed is None:
                await send(message)
                return
            if message["type"] == "http.response.start":
                started.update(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body", False):
                return
            body = b"".join(parts)
            del scope["state"]["claimed"]
            await _settle(claimed, started, body)
            await send(started)
            await send({"type": "http.response.body", "body": body})

        try:
            await self._app(scope, receive, catch)
        finally:
            if claimed := scope["state"].pop("claimed", None):  # it ended without a response
                await claimed.release()


async def _settle(claimed: Claimed, started: Message, body: bytes) -> None:
    """Stores a response. If that fails the response is sent anyway, because the work is done."""
    try:
        if 200 <= started["status"] < 300 and len(body) <= ANSWER_MAX:
            headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in started["headers"]]
            await claimed.keep(started["status"], headers, body)
        else:
            await claimed.release()
    except StoreUnavailable as fault:
        log.warning("response not stored", error=str(fault))


def _context(desk: Desk, key: str) -> str:
    return answer_place(desk.tenant_id, desk.actor, key)
