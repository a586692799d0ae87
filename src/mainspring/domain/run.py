"""Runs: one attempt to execute one slot of an endpoint, with its request and response.

A slot is one time at which an endpoint was due; every attempt at it carries the same slot id.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from mainspring.domain.config_field import About
from mainspring.domain.instant import to_us

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TIMEOUT_MS_MAX = 600_000  # beyond ten minutes a lease without renewal is held too long after a crash
BODY_MAX = 1_000_000
BODY_CAP_MAX = 10_000_000
REDIRECTS_MAX = 5


class RunStatus(StrEnum):
    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    TIMEOUT = "timeout"  # the deadline passed, or the janitor closed a run without a result
    BLOCKED = "blocked"  # not sent: forbidden address, no signing key, or a secret that cannot be decrypted
    ABANDONED = "abandoned"  # the worker was lost; another attempt at the slot follows
    SUPERSEDED = "superseded"  # finished after another attempt had taken over the slot
    UNKNOWN = "unknown"  # the worker was lost and the endpoint runs each slot at most once
    MISSED = "missed"  # slots that passed while nothing could run them, as one row


ENDED_BY_CALL = (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.BLOCKED)


class RunTrigger(StrEnum):
    SCHEDULE = "schedule"
    MANUAL = "manual"
    TEST = "test"
    CATCH_UP = "catch-up"
    RETRY = "retry"  # a slot taken over from a lost worker


class Header(Struct, frozen=True):
    """One request header. A secret header holds its encrypted value, which is never shown."""

    name: str
    value: str
    secret: bool = False


class HttpAction(Struct, frozen=True, omit_defaults=True):
    """The request of an endpoint. `body` is sent as UTF-8; GET and HEAD send none.

    The described fields are part of an endpoint's configuration; see `EndpointConfig`.
    """

    url: Annotated[
        str,
        About(
            "URL to call: http:// or https://. The query string is encrypted at rest and never shown again.",
            examples=("https://example.com/health",),
        ),
    ]
    method: Annotated[str, About("Request method.", choices=METHODS)] = "GET"
    headers: Annotated[tuple[Header, ...], About("Request headers.")] = ()
    body: Annotated[
        str | None, About("Request body, sent as it is. GET and HEAD send none.", most=BODY_MAX, is_payload=True)
    ] = None
    timeout_ms: Annotated[int, About("Total deadline of one call.", least=1, most=TIMEOUT_MS_MAX)] = 30_000
    body_cap: Annotated[int, About("How much of a response is kept.", most=BODY_CAP_MAX, unit="bytes")] = 100_000
    redirects_max: Annotated[int, About("How many redirects to follow, up to 5.", most=REDIRECTS_MAX)] = 0
    accept_codes: Annotated[
        tuple[int, ...],
        About("Status codes that are a success. Empty: any 2xx.", least=100, most=999, examples=(200, 404)),
    ] = ()
    condition: Annotated[
        str | None,
        About(
            "CEL over status_code, headers, body and duration_ms that must be true for a success.",
            examples=("status_code == 200 && body.depth < 100",),
        ),
    ] = None
    query: str = ""  # encrypted query string, which `url` shows as `?••••`; "": `url` is complete


class Request(Struct, frozen=True):
    """One call to make: the request and the identity in its headers."""

    tenant_id: str
    endpoint_id: str
    slot_id: str
    slot_at: datetime
    attempt: int
    action: HttpAction
    signing_keys: tuple[str, ...] = ()  # encrypted, newest first; if not empty, the call is signed or not sent
    signing_place: str = ""  # encryption context of those keys; "": the tenant's signing keys
    hidden: tuple[str, ...] = ()  # secret parts of the URL, redacted from the response like secret headers


class Body(Struct, frozen=True):
    """A response body as raw bytes, cut to the cap."""

    data: bytes
    content_type: str = ""
    truncated: bool = False
    bytes_seen: int = 0  # bytes received before reading stopped


class Phases(Struct, frozen=True):
    """Duration of the phases of a call, in microseconds since its start (cumulative, as libcurl reports them)."""

    dns_us: int = 0
    connect_us: int = 0
    tls_us: int = 0
    first_byte_us: int = 0
    total_us: int = 0


class Outcome(Struct, frozen=True):
    """The result of a call. A failed call is a value, never an exception."""

    status: RunStatus
    duration_ms: int
    status_code: int | None = None
    error_code: str | None = None  # stable, for programs: deadline, blocked_address, dns, connect, tls, protocol, ...
    error: str | None = None  # for people
    body: Body | None = None
    headers: tuple[tuple[str, str], ...] = ()
    phases: Phases | None = None
    retry_after_s: int | None = None
    address: str | None = None


class Run(Struct, frozen=True):
    id: str
    tenant_id: str
    endpoint_id: str
    slot_at: datetime
    attempt: int
    trigger: RunTrigger
    source: str
    status: RunStatus
    started_at: datetime
    claim_epoch: int | None = None
    worker: str = ""
    finished_at: datetime | None = None
    duration_ms: int | None = None
    status_code: int | None = None
    error_code: str | None = None
    error: str | None = None
    missed_count: int = 0
    trail: str = "[]"  # JSON: the decision that planned this run
    detail: str = "{}"  # JSON: phases, response headers, address


def slot_id(endpoint_id: str, slot_at: datetime) -> str:
    """The same for every attempt at a slot; contains no dot, as Standard Webhooks requires."""
    return f"{endpoint_id}_{to_us(slot_at)}"
