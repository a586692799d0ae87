"""A server instead of a database: the same commands through the API, and what it answered as the values they show.

The API gives out the objects of `shapes`; here they are read back, so that a command prints the same words and the same
JSON wherever its answer came from. Refusals of the server become the errors they were.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from mainspring.domain.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    MainspringError,
    NotAuthenticated,
    NotFound,
    QuotaExceeded,
    StoreUnavailable,
    TooManyRequests,
)
from mainspring.domain.name import shown

if TYPE_CHECKING:
    from mainspring.client import ApiError, Client
    from mainspring.domain.endpoint import Endpoint, EndpointConfig, Job
    from mainspring.domain.run import Body, Outcome, Run
    from mainspring.domain.schedule.governor import Decision
    from mainspring.ports.filters import EndpointOrder
    from mainspring.views.sentences import EndpointSight

T = TypeVar("T")
Shape = Mapping[str, Any]  # as a server sent it
PAGE = 200
WAIT_S_MAX = 20.0  # of one request; the client gives up on an answer after 30
POLL_S = 0.5
NO_KEY = (
    "the server wants an API key and MAINSPRING_API_KEY is not set; make a key where the server runs, with "
    "`mainspring apikey create NAME --scope read --scope run --scope write`, and set MAINSPRING_API_KEY to it"
)


def ask_server(server: str, work: Callable[["Client"], T], tenant: str = "") -> T:
    """Let `work` use a client of that server; the key is MAINSPRING_API_KEY, and must be one of `tenant` if given."""
    from msgspec import ValidationError

    from mainspring.client import ApiError, Client

    if not _is_address(server):
        raise InvalidInput(
            f"server {server!r} is not an address; write scheme, host and port: --server http://127.0.0.1:8080",
            field="server",
        )
    try:
        with Client(server) as client:
            if tenant:
                _check_tenant(client, tenant)
            return work(client)
    except ApiError as refusal:
        error = error_of(refusal)
        if isinstance(error, NotAuthenticated) and not os.environ.get("MAINSPRING_API_KEY"):
            error.args = (NO_KEY,)
        raise error from None
    except ValidationError as fault:
        raise misunderstood(server, fault) from fault


def _check_tenant(client: "Client", tenant: str) -> None:
    """An API key belongs to one tenant: it cannot act in another one, and must not do so unnoticed."""
    acts_in = client.auth.read_session()["tenant"]
    if acts_in != tenant:
        raise InvalidInput(
            f"MAINSPRING_TENANT is '{shown(tenant)}', but the API key acts in the tenant {acts_in!r}; with --server "
            f"the key decides: use a key of '{shown(tenant)}', or unset MAINSPRING_TENANT",
            field="tenant",
        )


def _is_address(server: str) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not match, a port beyond 65535
        return False


def misunderstood(server: str, fault: Exception) -> InvalidInput:
    """For an answer of the server that a command could not read: commands take fields without looking first."""
    return InvalidInput(
        f"the server {server!r} gave an answer that this version of Mainspring does not understand "
        f"({type(fault).__name__}: {fault}); --server must be the address of a Mainspring server of the same version; "
        "correct the address, or update the older side",
        field="server",
    )


def error_of(refusal: "ApiError") -> MainspringError:
    """The error that the server met, with its words, so that the exit code is the same too."""
    named = re.match(r"(?:no |another )?([A-Za-z ]+?) (?:'|is named )", refusal.detail)
    places = (each.get("path") or each.get("pointer") or each.get("parameter") or "" for each in refusal.errors)
    field = str(next(places, "")).strip("/")
    by_kind: dict[str, MainspringError] = {
        "not-found": NotFound(named[1] if named else "", ""),
        "conflict": Conflict("", kind=named[1] if named else "", name=""),
        "quota-exceeded": QuotaExceeded("", quota="", limit=0),
        "not-authenticated": NotAuthenticated(),
        "forbidden": Forbidden("", scope=""),
        "too-many-requests": TooManyRequests("", retry_after_s=int(refusal.retry_after_s or 0)),
        "store-unavailable": StoreUnavailable(),
    }
    unknown = StoreUnavailable() if refusal.status >= 500 or not refusal.status else InvalidInput("", field=field)
    error = by_kind.get(refusal.kind, _faults_of(refusal) or unknown)
    error.args = (refusal.detail,)
    return error


def _faults_of(refusal: "ApiError") -> MainspringError | None:
    """The faults of a workflow's document, where it was refused for them."""
    from mainspring.workflow.document import InvalidWorkflow
    from mainspring.workflow.yaml_lines import WorkflowFault

    faults = []
    for each in refusal.errors:
        if each.get("pointer") == "/document" and "path" in each:
            bare = WorkflowFault(each["path"], "", each["line"])
            faults.append(WorkflowFault(bare.path, each["detail"].removeprefix(str(bare)), bare.line))
    return InvalidWorkflow(faults) if faults else None


def sight_of(shape: Shape, has_scheduler: bool = True) -> "EndpointSight":
    from mainspring.views.sentences import EndpointSight
    from mainspring.wiring.clock import SystemClock

    return EndpointSight(endpoint_of(shape), shape["job"], SystemClock().now(), has_scheduler)


def wait_for_run(client: "Client", endpoint_id: str, timeout_s: float) -> tuple[Shape, Shape | None]:
    """Request a run and wait until it has ended; None instead of the run when the time is over."""
    import time

    deadline = time.monotonic() + timeout_s
    asked = client.endpoints.run(endpoint_id, wait=f"{int(min(timeout_s, WAIT_S_MAX) * 1_000)}ms")
    slot_at = asked["endpoint"]["run_requested_at"]
    while asked["run"] is None and time.monotonic() < deadline:
        time.sleep(min(POLL_S, max(0.0, deadline - time.monotonic())))
        for run in client.runs.list(endpoint=endpoint_id)["items"]:
            if run["slot_at"] == slot_at and run["status"] not in ("running", "abandoned"):
                return asked["endpoint"], run
    return asked["endpoint"], asked["run"]


def is_served(client: "Client") -> bool:
    return any(worker["kind"] == "scheduler" for worker in client.system.list_workers()["items"])


def endpoints_of(
    client: "Client",
    job: str | None,
    count: int | None,
    *,
    state: str | None = None,
    text: str | None = None,
    order: "EndpointOrder" = "name",
) -> list["EndpointSight"]:
    from itertools import islice

    group: Any = client.endpoints  # its types are the API's words
    found = group.iterate(job=job, state=state, text=text, sort=order, limit=min(count or PAGE, PAGE))
    return [sight_of(shape) for shape in islice(found, count)]


def change(
    client: "Client", name: str, verb: Callable[["Client", str, "Endpoint", str], Shape | None]
) -> tuple["EndpointSight", bool]:
    """The endpoint after `verb`, which is told the client, its id, what it was and its job; None: nothing to do."""
    before = client.endpoints.read(name)
    after = verb(client, before["id"], endpoint_of(before), before["job"])
    return sight_of(after or before), after is not None and after != before


def fields_of(config: "EndpointConfig", before: "EndpointConfig") -> dict[str, Any]:
    """What is different from before, as the API takes it; a secret that stays is named by its mask."""
    from msgspec import to_builtins

    from mainspring.domain.endpoint import CONFIG_FIELDS, config_value

    pairs = [(field.key, config_value(before, field), config_value(config, field)) for field in CONFIG_FIELDS]
    return {key: to_builtins(new) for key, old, new in pairs if new != old}


def endpoint_of(shape: Shape) -> "Endpoint":
    from msgspec import convert

    from mainspring.domain.endpoint import Endpoint
    from mainspring.domain.run import HttpAction

    running = shape["running"] or {}
    known = {name: shape[name] for name in Endpoint.__struct_fields__ if name in shape}
    unsaid = {
        "action": {name: shape[name] for name in HttpAction.__struct_fields__ if name in shape},
        "job_active": shape["status"] != "job-paused",
        "anchor_at": shape["created_at"],
        "manual_at": shape["run_requested_at"],
        "slot_at": running.get("slot_at"),
        "trigger": running.get("trigger", "schedule"),
        "attempt": running.get("attempt", 0),
        "lease_until": running.get("lease_until"),
        "claimed_by": running.get("worker", ""),
        "run_id": running.get("run_id", ""),
        "last_status": shape["last_status"] or "",
        "managed_by": shape["managed_by"] or "",
    }
    return convert(known | unsaid, Endpoint)


def job_of(shape: Shape) -> "Job":
    from msgspec import convert

    from mainspring.domain.endpoint import Job

    return convert({**shape, "tenant_id": "", "managed_by": shape["managed_by"] or ""}, Job)


def decision_of(shape: Shape) -> "Decision":
    from msgspec import convert

    from mainspring.domain.schedule.governor import Decision

    return convert(shape, Decision)


def run_of(shape: Shape) -> "Run":
    """A run of a list, or one in full."""
    from msgspec import convert, json

    from mainspring.domain.run import Run

    known = {name: shape[name] for name in Run.__struct_fields__ if name in shape}
    unsaid = {
        "tenant_id": "",
        "trail": json.encode(shape.get("trail", [])).decode(),
        "detail": json.encode(
            {
                "phases": _phases(shape),
                "headers": shape.get("headers", []),
                "address": shape.get("address"),
            }
        ).decode(),
    }
    return convert(known | unsaid, Run)


def body_of(client: "Client", shape: Shape) -> "Body | None":
    from mainspring.domain.run import Body

    kept = shape["body"]
    if kept is None:
        return None
    return Body(client.runs.download_body(shape["id"]), kept["content_type"], kept["truncated"], kept["bytes_seen"])


def outcome_of(shape: Shape, body: "Body | None") -> "Outcome":
    from mainspring.domain.run import Outcome, Phases, RunStatus

    phases = _phases(shape)
    return Outcome(
        RunStatus(shape["status"]),
        shape["duration_ms"] or 0,
        shape["status_code"],
        shape["error_code"],
        shape["error"],
        body,
        tuple((name, value) for name, value in shape["headers"]),
        None if phases is None else Phases(*phases),
        None,
        shape["address"],
    )


def _phases(shape: Shape) -> list[int] | None:
    phases = shape.get("phases")
    return None if phases is None else [us for us in phases.values() if us is not None]
