"""Runs: one attempt to execute one slot of an endpoint, with its request and response.

A slot is one time at which an endpoint was due; every attempt at it carries the same slot id.
"""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import Struct

from mainspring.domain.config_field import About
from mainspring.domain.instant import rfc3339, to_us
from mainspring.domain.kinds.expiry import FailDays, WarnDays
from mainspring.domain.name import NAME_LENGTH_MAX

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TIMEOUT_MS_MAX = 600_000  # beyond ten minutes a lease without renewal is held too long after a crash
TIMEOUT_MS_DEFAULT = 30_000
BODY_MAX = 1_000_000
BODY_CAP_DEFAULT = 100_000
BODY_CAP_MAX = 10_000_000
REDIRECTS_MAX = 5
CONTAINS_MAX = 1_000
PATTERN_MAX = 200
NO_CALLBACK = "no_callback"  # error code of a run that was accepted and not ended before its deadline
NOT_ALLOWED = "not_allowed"  # error code of a command that the operator's list refuses
TEMPLATE = "template"  # error code of a call whose templates cannot be filled in


class RunStatus(StrEnum):
    RUNNING = "running"
    SUCCESS = "success"
    FAILURE = "failure"
    TIMEOUT = "timeout"  # the deadline passed, or the janitor closed a run without a result
    BLOCKED = "blocked"  # not sent: forbidden address, no signing key, or a secret that cannot be decrypted
    ABANDONED = "abandoned"  # the worker was lost; another attempt at the slot follows
    RETRIED = "retried"  # failed, and not the last attempt at its slot, so the failure does not count
    SUPERSEDED = "superseded"  # finished after another attempt had taken over the slot
    UNKNOWN = "unknown"  # the worker was lost and the endpoint runs each slot at most once
    MISSED = "missed"  # slots that passed while nothing could run them, as one row; or no ping arrived in time


ENDED_BY_CALL = (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.BLOCKED)
# A result of the endpoint itself; `missed` only if no ping arrived, and not if no worker could run a slot.
WITH_RESULT = (*ENDED_BY_CALL, RunStatus.MISSED)
PINGED = "ping"  # the worker of runs that pings start and end
CALLBACK = "callback"  # the worker of runs that wait for a callback
COMPLETIONS = ("response", CALLBACK)
CALLBACK_TIMEOUT_MS_DEFAULT = 3_600_000
CALLBACK_TIMEOUT_MS_MAX = 30 * 86_400_000


class RunTrigger(StrEnum):
    SCHEDULE = "schedule"
    MANUAL = "manual"
    TEST = "test"
    CATCH_UP = "catch-up"
    RETRY = "retry"  # another attempt at a slot, which failed or was taken over from a lost worker


class Header(Struct, frozen=True):
    """One request header. A secret header holds its encrypted value, which is never shown."""

    name: str
    value: str
    secret: bool = False


# Fields that every kind of endpoint has.
Timeout = Annotated[int, About("Total deadline of one call.", least=1, most=TIMEOUT_MS_MAX)]
BodyCap = Annotated[int, About("How much of a response is kept.", most=BODY_CAP_MAX, unit="bytes")]
Condition = Annotated[
    str | None,
    About(
        "CEL over status_code, headers, body, tls and duration_ms that must be true for a success.",
        examples=("status_code == 200 && body.depth < 100",),
    ),
]


Literal = Annotated[bool, About("Whether texts are sent unchanged, without templates.")]


class Action(Struct, frozen=True):
    """What an endpoint does when it runs. Each kind of endpoint has its own struct; see `domain/kinds`."""

    if TYPE_CHECKING:

        @property
        def timeout_ms(self) -> int: ...

        @property
        def body_cap(self) -> int: ...

        @property
        def condition(self) -> str | None: ...

        @property
        def judged_after_ms(self) -> int: ...

        @property
        def callback_within_ms(self) -> int: ...

        @property
        def templated(self) -> bool: ...

    else:
        templated: ClassVar[bool] = False  # whether its texts contain templates, which are filled in for each call
        judged_after_ms: ClassVar[int] = 0  # how long after the expected time a ping is in time
        callback_within_ms: ClassVar[int] = 0  # how long an accepted run may go without a report; 0: 202 is a success

    is_expected: ClassVar[bool] = False  # whether the endpoint calls nothing and waits for pings


class HttpAction(Action, frozen=True, omit_defaults=True):
    """The request of an endpoint of kind `http`. `body` is sent as UTF-8; GET and HEAD send none.

    The described fields are part of an endpoint's configuration; see `EndpointConfig`. Stored without a mark of its
    kind: an action without one is of kind `http`.
    """

    url: Annotated[
        str,
        About(
            "URL to call: http:// or https://. The query string is encrypted at rest and never shown again.",
            template="url",
            examples=("https://example.com/health",),
        ),
    ]
    method: Annotated[str, About("Request method.", choices=METHODS)] = "GET"
    headers: Annotated[tuple[Header, ...], About("Request headers.", template="header")] = ()
    body: Annotated[
        str | None,
        About("Request body. GET and HEAD send none.", most=BODY_MAX, is_payload=True, template="body"),
    ] = None
    timeout_ms: Timeout = TIMEOUT_MS_DEFAULT
    body_cap: BodyCap = BODY_CAP_DEFAULT
    redirects_max: Annotated[int, About("How many redirects to follow, up to 5.", most=REDIRECTS_MAX)] = 0
    accept_codes: Annotated[
        tuple[int, ...],
        About("Status codes that are a success. Empty: any 2xx.", least=100, most=999, examples=(200, 404)),
    ] = ()
    condition: Condition = None
    connection: Annotated[
        str,
        About(
            "Connection whose credentials, TLS and proxy settings the call uses. The url may be a path, relative to "
            "its base URL.",
            most=NAME_LENGTH_MAX,
            examples=("billing",),
        ),
    ] = ""
    contains: Annotated[
        str | None,
        About("Text that the response must contain.", most=CONTAINS_MAX, is_payload=True, examples=("Welcome",)),
    ] = None
    matches: Annotated[
        str | None,
        About(
            "Regular expression (RE2) that must match a part of the response.",
            most=PATTERN_MAX,
            examples=(r"version: \d+\.\d+",),
        ),
    ] = None
    warn_days: WarnDays = 0
    fail_days: FailDays = 0
    completes: Annotated[
        str,
        About("What ends a run: the response, or a callback after the target answered 202.", choices=COMPLETIONS),
    ] = COMPLETIONS[0]
    callback_timeout_ms: Annotated[
        int,
        About(
            "With completes callback: how long a run may go without a report. A report of progress extends it.",
            least=1_000,
            most=CALLBACK_TIMEOUT_MS_MAX,
            examples=("6h",),
        ),
    ] = CALLBACK_TIMEOUT_MS_DEFAULT
    literal: Literal = False
    query: str = ""  # encrypted query string, which `url` shows as `?••••`; "": `url` is complete
    templated: bool = False

    @property
    def callback_within_ms(self) -> int:
        return self.callback_timeout_ms if self.completes == CALLBACK else 0


class Request(Struct, frozen=True):
    """One call to make: the request and the identity in its headers."""

    tenant_id: str
    endpoint_id: str
    slot_id: str
    slot_at: datetime
    attempt: int
    action: Action
    signing_keys: tuple[str, ...] = ()  # encrypted, newest first; if not empty, the call is signed or not sent
    signing_place: str = ""  # encryption context of those keys; "": the tenant's signing keys
    hidden: tuple[str, ...] = ()  # secret parts of the URL, redacted from the response like secret headers
    started_at: datetime | None = None  # of a run whose deadline has passed: when it began
    wants_certificate: bool = False  # whether the outcome describes the certificate, even if its action reads none
    run_id: str = ""  # the run that a callback ends; "": a test or a step of a workflow, which none does
    endpoint: str = ""  # its name, for templates
    job: str = ""


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


class Certificate(Struct, frozen=True):
    """The certificate that a target presented."""

    subject: str
    issuer: str
    expires_at: datetime | None
    days_left: int | None = None  # when it was read; negative if it has expired

    @property
    def facts(self) -> dict[str, object]:
        """As conditions and rules read it."""
        not_after = None if self.expires_at is None else rfc3339(self.expires_at)
        return {"days_left": self.days_left, "issuer": self.issuer, "subject": self.subject, "not_after": not_after}


class Outcome(Struct, frozen=True):
    """The result of a call. A failed call is a value, never an exception.

    The status `running` means that the target accepted the call and ends the run by a callback.
    """

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
    certificate: Certificate | None = None


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
    maintenance: str = ""  # the maintenance window that was open during the run: it does not count
    trail: str = "[]"  # JSON: the decision that planned this run
    detail: str = "{}"  # JSON: phases, response headers, address

    @property
    def has_result(self) -> bool:
        return self.status in WITH_RESULT and not self.missed_count


def slot_id(endpoint_id: str, slot_at: datetime) -> str:
    """The same for every attempt at a slot; contains no dot, as Standard Webhooks requires."""
    return f"{endpoint_id}_{to_us(slot_at)}"
