"""Process every request before and after its route.

1. Assign an id, which the response, the problem and the log line carry.
2. Refuse an unknown host, a repeated header that must be unique, and a body that is too large, too slow, compressed or
   not strict JSON. The body is read here, bounded, so that no route ever sees a bad one.
3. Add the security headers and the remaining rate.
4. Turn an unexpected exception into a problem with status 500; the log has the traceback, the response never.
5. Log one line: method, path and status. Never the query string, which may contain secrets.
"""

import asyncio
import re
import time
from collections.abc import Iterable
from ipaddress import ip_address
from itertools import pairwise
from secrets import token_hex
from urllib.parse import unquote

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mainspring.api.problems import HttpProblem, problem, unforeseen_detail
from mainspring.api.strict_json import check_json
from mainspring.domain.name import shown
from mainspring.domain.text import spelled_out

BODY_MAX = 256_000
BODIES_MAX = {  # bodies of these paths may be larger, or have a lower limit
    "/api/v1/config/apply": 1_000_000,
    "/api/v1/calls": 1_000_000,  # the most calls at once, with 500 bytes each
    "/api/v1/workflows": 600_000,
    "/api/v1/executions": 600_000,
    "/api/v1/endpoints": 600_000,
    "/api/v1/simulations": 600_000,
    "/mcp": 600_000,  # its tools create endpoints and workflows too
    "/api/v1/auth/": 16_000,  # no authentication required
}
BODY_TIMEOUT_S = 30
ONCE = (b"authorization", b"host", b"content-type", b"content-length", b"content-encoding", b"idempotency-key")
QUIET = ("/healthz", "/readyz", "/metrics")  # requested all the time, by name or by address
API = "/api/v1/"
NAMED = (
    "endpoints",
    "jobs",
    "webhooks",
    "alerts",
    "maintenance",
    "calendars",
)  # resources whose names may contain a slash
CONTENT_SECURITY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STOPPING = "the server stopped before this request was done; send it again in a few seconds"
REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")

log = structlog.get_logger()


class RequestMiddleware:
    def __init__(self, app: ASGIApp, allowed_hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(name.lower() for name in allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        state = scope.setdefault("state", {})
        given = headers.get("x-request-id", "")
        state["request_id"] = given if REQUEST_ID.fullmatch(given) else f"req_{token_hex(10)}"
        answer = ResponseRecorder(scope, send)
        try:
            await self._respond(scope, headers, receive, answer)
        except asyncio.CancelledError:
            # The server is stopping, and this request did not end within its grace. A started response is cut off.
            if not answer.status:
                stopped = problem("stopping", STOPPING, state["request_id"], headers={**_CLOSE, "Retry-After": "5"})
                await stopped(scope, receive, answer.send)
        except Exception:
            # The outermost handler of a request, like a worker's outermost loop.
            log.exception("request failed", request_id=state["request_id"], path=spelled_out(scope["path"]))
            if answer.status:  # a partial response cannot be taken back: cut it, so that it is not taken for complete
                raise
            detail = unforeseen_detail(state["request_id"])
            await problem("internal-error", detail, state["request_id"])(scope, receive, answer.send)
        finally:
            answer.log()

    async def _respond(self, scope: Scope, headers: Headers, receive: Receive, answer: "ResponseRecorder") -> None:
        try:
            self._check_headers(scope, headers)
            body = await _read_body(headers, receive, _body_max(scope["path"]))
            if body and scope["method"] in ("GET", "HEAD"):
                raise HttpProblem(
                    "malformed-request", f"{scope['method']} requests have no body; remove it", headers=_CLOSE
                )
            if body and scope["path"].startswith(("/api/", "/mcp")):
                _check_body(headers, body)
        except HttpProblem as fault:
            request_id = scope["state"]["request_id"]
            refusal = problem(fault.kind, str(fault), request_id, errors=fault.errors, headers=fault.headers)
            await refusal(scope, receive, answer.send)
            return
        scope["state"]["body"] = body
        await self._app(scope, _replayed(body, receive), answer.send)

    def _check_headers(self, scope: Scope, headers: Headers) -> None:
        names = [name for name, _ in scope["headers"]]
        for name in ONCE:
            if names.count(name) > 1:
                raise HttpProblem(
                    "malformed-request", f"the header {name.decode()} was sent more than once; send it once"
                )
        if b"content-length" in names and b"transfer-encoding" in names:
            raise HttpProblem(
                "malformed-request",
                "both Content-Length and Transfer-Encoding were sent, so the end of the body is ambiguous; send one",
                headers=_CLOSE,
            )
        if "\x00" in scope["path"] or b"%00" in scope.get("query_string", b""):
            raise HttpProblem(
                "malformed-request", "the path or a parameter contains NUL, which is not allowed in text; remove it"
            )
        _refuse_slash(scope)
        if scope["path"] not in QUIET and not self._is_ours(headers.get("host", "")):
            raise HttpProblem(
                "wrong-host",
                "the Host header names a host that this server does not accept; the operator can allow it "
                "in MAINSPRING_ALLOWED_HOSTS",
            )

    def _is_ours(self, host: str) -> bool:
        """Addresses and names without a dot cannot be pointed here by foreign DNS; other names must be listed."""
        name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
        name = name.strip("[]").rstrip(".").lower()
        if "*" in self._hosts or name in self._hosts or name.endswith(".localhost"):
            return True
        if any(listed.startswith("*.") and name.endswith(listed[1:]) for listed in self._hosts):
            return True
        try:
            ip_address(name)
        except ValueError:
            return "." not in name
        return True


def _refuse_slash(scope: Scope) -> None:
    """Routes see the decoded path: `/endpoints/a%2Fhints` would be the hints of `a`, not the endpoint a/hints."""
    parts = scope.get("raw_path", b"").split(b"/")
    for before, part in pairwise(parts):
        if b"%2f" in part.lower() and scope["path"].startswith(API):
            name, among = unquote(part.decode("latin-1")), unquote(before.decode("latin-1"))
            listed = "the list of its kind shows"
            if among in NAMED:
                listed = f"{API}{among} shows, and `mainspring {among[:-1]} list -o json`"
            raise HttpProblem(
                "not-found",
                f"'{shown(name)}' contains '/', which is not possible in a path; use its id, which {listed}",
            )


class ResponseRecorder:
    """Adds the headers that every response has, and collects what the log line needs."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._started_s = time.perf_counter()
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            state = self._scope["state"]
            headers["X-Request-Id"] = state["request_id"]
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            if self._scope["path"].startswith("/api/"):
                headers.setdefault("Cache-Control", "no-store")
            for name, value in state.get("headers", {}).items():
                headers[name] = value
        await self._send(message)

    def log(self) -> None:
        path = self._scope["path"]
        write = log.debug if path in QUIET else log.info
        write(
            "request",
            method=spelled_out(self._scope["method"]),
            path=spelled_out(path),
            status=self.status,
            duration_ms=round((time.perf_counter() - self._started_s) * 1000, 1),
            request_id=self._scope["state"]["request_id"],
            actor=self._scope["state"].get("actor", ""),
        )


def _body_max(path: str) -> int:
    return next((most for prefix, most in BODIES_MAX.items() if path.startswith(prefix)), BODY_MAX)


async def _read_body(headers: Headers, receive: Receive, most: int) -> bytes:
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise HttpProblem("malformed-request", "the connection closed before the whole body had arrived")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise _too_large(most)
                more = message.get("more_body", False)
    except TimeoutError:
        raise HttpProblem(
            "request-timeout", f"the body did not arrive within {BODY_TIMEOUT_S} s; send it again", headers=_CLOSE
        ) from None
    return b"".join(parts)


def _check_body(headers: Headers, body: bytes) -> None:
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise HttpProblem("unsupported-media-type", "the body is compressed; send it without Content-Encoding")
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not re.fullmatch(r"application/([\w.-]+\+)?json", media_type):
        raise HttpProblem(
            "unsupported-media-type",
            f"the body is {spelled_out(media_type)[:80] or 'of no type'}; "
            "send JSON, and the header Content-Type: application/json with it",
        )
    check_json(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Passes the body on once; after it only the end of the connection can come."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


_CLOSE = {"Connection": "close"}


def _too_large(most: int) -> HttpProblem:
    return HttpProblem("too-large", f"the body is larger than {most:,} bytes; send less", headers=_CLOSE)
