"""The logic of a call without I/O: what to send, when to retry, how to read the response.

Each function is a generator that yields what it needs (send this, wait this long) and is sent the result, so one source
serves the blocking and the awaiting client. Rules for retries:

1. 429 and 503 were not executed: wait as long as Retry-After says, or an increasing time, and retry.
2. Without a response, retry what never arrived, and what may arrive twice: reads, replacements, and operations with an
   idempotency key, which is the same for every attempt.
3. After `tries` attempts, raise.
"""

import json
import random
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from mainspring.client.errors import Unreachable, error_of, stranger
from mainspring.client.operation import ClientRequest, Operation

TRIES = 4
REST_S, REST_MAX_S = 0.25, 60.0
WAIT_MS_MAX = 60_000  # the longest time that a server keeps a request open for the end of a run
POLL_S = 0.5
BUSY = (429, 503)
HARMLESS_TWICE = ("GET", "PUT", "DELETE")
IDEMPOTENCY_KEY = "idempotency_key"
ONGOING = ("running", "abandoned")


@dataclass(frozen=True)
class Rest:
    seconds: float


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    content: bytes


@dataclass(frozen=True)
class Silence:
    """No response was received. `was_sent`: the server may have received the request."""

    reason: str
    was_sent: bool


Wanted = ClientRequest | Rest
Given = Reply | Silence | None
Exchange = Generator[Wanted, Given, Any]


def exchange(operation: Operation, request: ClientRequest, tries: int = TRIES) -> Exchange:
    if IDEMPOTENCY_KEY in operation.headers:
        request = replace(request, headers={"idempotency-key": str(uuid4()), **request.headers})
    may_repeat = operation.method in HARMLESS_TWICE or IDEMPOTENCY_KEY in operation.headers
    attempt = 1
    while True:
        reply = yield request
        assert reply is not None
        again = attempt < tries
        if isinstance(reply, Silence):
            if not again or (reply.was_sent and not may_repeat):
                raise Unreachable(
                    f"no response from the server: {reply.reason}; a Mainspring server must be running at "
                    "this URL; start it, or correct the URL"
                )
            yield Rest(_rest_s(attempt))
        elif reply.status in BUSY and again:
            yield Rest(min(_retry_after_s(reply) or _rest_s(attempt), REST_MAX_S))
        elif reply.status >= 400:
            raise error_of(reply.status, reply.content, reply.headers.get("x-request-id", ""), _retry_after_s(reply))
        else:
            return _read(operation, reply)
        attempt += 1


def run_and_wait(run: Operation, list_runs: Operation, request: ClientRequest, tries: int = TRIES) -> Exchange:
    """Requests a run and waits for its end, longer than one request can: every attempt asks for the same slot."""
    request = replace(request, query={**request.query, "wait": f"{WAIT_MS_MAX}ms"}, timeout_s=WAIT_MS_MAX / 1_000 + 30)
    answer = yield from exchange(run, request, tries)
    endpoint, slot_at = answer["endpoint"], answer["endpoint"]["run_requested_at"]
    while answer["run"] is None:
        yield Rest(POLL_S)
        page = yield from exchange(list_runs, list_runs.request((), {"endpoint": endpoint["id"]}), tries)
        ended = [run for run in page["items"] if run["slot_at"] == slot_at and run["status"] not in ONGOING]
        answer["run"] = ended[0] if ended else None
    return answer


def _read(operation: Operation, reply: Reply) -> object:
    if not 200 <= reply.status < 300:
        raise stranger(reply.status, reply.content)
    if operation.answer == "bytes":
        return reply.content
    if not reply.content and operation.answer == "nothing":
        return None
    try:
        found = json.loads(reply.content)
    except (ValueError, RecursionError):
        raise stranger(reply.status, reply.content) from None
    if operation.is_paged and not (isinstance(found, dict) and {"items", "next_cursor"} <= found.keys()):
        raise stranger(reply.status, reply.content)
    return found


def _rest_s(attempt: int) -> float:
    """Doubles each time, with jitter so that clients do not retry in step."""
    return float(REST_S * 2 ** (attempt - 1) * (0.5 + random.random()))


def _retry_after_s(reply: Reply) -> float | None:
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isdigit() else None
