"""Receive pings: `/ping/TOKEN`, `/ping/TOKEN/start`, `/ping/TOKEN/fail` and `/ping/TOKEN/EXITCODE`, without a login.

1. GET, HEAD and POST mean the same. Only POST has a body, which is cut to its cap and never refused.
2. `?rid=` names the run, so that its start and its end are paired.
3. Every unknown URL gets the same response. No token is logged.

A job must not fail because its ping is unusual: everything valid after a valid token is recorded.
"""

import asyncio
from urllib.parse import parse_qs

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from mainspring.domain.access.account import is_ping_token
from mainspring.domain.errors import StoreUnavailable, TooManyRequests
from mainspring.domain.run import Body
from mainspring.domain.schedule.ping import CODE_MAX, Ping, PingMeaning
from mainspring.domain.text import clean_text
from mainspring.operations.pings import PING_PATH, PingIntake

BODY_KEPT = 100_000
BODY_READ_MAX = 10_000_000  # beyond this the connection is closed, and the ping still counts
BODY_TIMEOUT_S = 10.0
RUN_KEY_MAX = 100
METHODS = ("GET", "HEAD", "POST")

Answer = tuple[int, str, list[tuple[bytes, bytes]]]  # status, text, further headers

log = structlog.get_logger()


class PingDoor:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PING_PATH):
            await self._app(scope, receive, send)
            return
        await send_answer(scope, send, await _answer(scope, receive))


async def send_answer(scope: Scope, send: Send, answer: Answer) -> None:
    status, text, headers = answer
    content = f"{text}\n".encode()
    fields = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(content)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})


async def _answer(scope: Scope, receive: Receive) -> Answer:
    if scope["method"] not in METHODS:
        return 405, "send GET, HEAD or POST", [(b"allow", b", ".join(each.encode() for each in METHODS))]
    token, _, said = scope["path"].removeprefix(PING_PATH).partition("/")
    found = read_ping(said)
    if found is None:
        return 404, "not found", []
    kind, code = found
    if not is_ping_token(token):  # before the body of an unknown caller is read
        return 404, "not found", []
    run_key = clean_text(parse_qs(scope["query_string"].decode("latin-1")).get("rid", [""])[0], RUN_KEY_MAX)
    body = await read_body(scope, receive) if scope["method"] == "POST" else None
    intake: PingIntake = scope["app"].state.pings
    try:
        is_known = await intake.take(token, Ping(kind, code, run_key, body))
    except TooManyRequests as fault:
        return 429, str(fault), [(b"retry-after", str(fault.retry_after_s).encode())]
    except StoreUnavailable:
        return 503, "the database is not available; send the ping again in some seconds", [(b"retry-after", b"5")]
    except Exception:  # the outermost handler of a request, like a worker's outermost loop
        log.exception("request failed", path=PING_PATH)
        return 500, "internal error; send the ping again", []
    return (200, "OK", []) if is_known else (404, "not found", [])


def read_ping(said: str) -> tuple[PingMeaning, int | None] | None:
    """What follows the token: nothing, `start`, `fail` or an exit code; None for anything else."""
    match said.rstrip("/"):
        case "":
            return PingMeaning.SUCCESS, None
        case "start":
            return PingMeaning.START, None
        case "fail":
            return PingMeaning.FAIL, None
        case code if (exit_code := read_exit_code(code)) is not None:
            return PingMeaning.SUCCESS, exit_code
    return None


def read_exit_code(said: str) -> int | None:
    is_code = said.isascii() and said.isdigit() and len(said) <= 3 and int(said) <= CODE_MAX
    return int(said) if is_code else None


async def read_body(scope: Scope, receive: Receive) -> Body | None:
    """The first bytes of the body. The rest, if it is too slow or beyond the maximum, is left out."""
    kept = bytearray()
    seen, more = 0, True
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while more and seen <= BODY_READ_MAX:
                message = await receive()
                if message["type"] == "http.disconnect":
                    break
                part = message.get("body", b"")
                kept += part[: BODY_KEPT - len(kept)]
                seen += len(part)
                more = message.get("more_body", False)
    except TimeoutError:
        pass
    if not seen:
        return None
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    return Body(bytes(kept), kind.decode("latin-1"), seen > len(kept), seen)
