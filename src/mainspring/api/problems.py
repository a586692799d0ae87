"""Every error as an RFC 9457 problem: one table of kinds, and one place where errors become responses.

A problem states what happened, the rule and the fix in `detail`, names each error by a JSON Pointer in `errors`, and
carries the id of its request. `type` is the path of a page that explains the kind. The rule that must not break: no
response contains a traceback.
"""

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from mainspring.domain.errors import (
    CodeRequired,
    Conflict,
    InvalidInput,
    MainspringError,
    NotFound,
    QuotaExceeded,
    TooManyRequests,
    did_you_mean,
)
from mainspring.domain.validation_message import validation_message
from mainspring.workflow.document import InvalidWorkflow
from mainspring.workflow.yaml_lines import WorkflowFault as DocumentFault

MEDIA_TYPE = "application/problem+json"
BASE = "/problems/"
FAULTS_MAX = 50
STORE_RETRY_S = 5
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
QUOTA_RETRY_S = 3_600  # a quota does not grow quickly; clients need not ask all the time

log = structlog.get_logger()

Fault = Mapping[str, object]  # `detail` and where: `pointer` into the body, or `parameter` and `in`


class ProblemKind(Struct, frozen=True):
    status: int
    title: str
    meaning: str


PROBLEMS: dict[str, ProblemKind] = {
    "malformed-request": ProblemKind(
        400, "Malformed request", "The request cannot be parsed: its JSON, a header or a cursor is invalid."
    ),
    "not-authenticated": ProblemKind(401, "Not authenticated", "No API key or session was sent, or it is not valid."),
    "code-required": ProblemKind(401, "Second factor required", "The password is correct; send one of `factors`."),
    "forbidden": ProblemKind(403, "Forbidden", "The key or account does not have the required scope."),
    "not-found": ProblemKind(404, "Not found", "Not found in this tenant."),
    "method-not-allowed": ProblemKind(
        405, "Method not allowed", "The path exists, but not with this method; see `Allow`."
    ),
    "request-timeout": ProblemKind(408, "Request timeout", "The body did not arrive in time."),
    "conflict": ProblemKind(
        409, "Conflict", "The current state does not allow this: for example a name is taken or a job is archived."
    ),
    "outdated": ProblemKind(412, "Changed meanwhile", "`If-Match` names a version that is no longer current."),
    "too-large": ProblemKind(413, "Too large", "The body is larger than its route allows, or has too many values."),
    "unsupported-media-type": ProblemKind(415, "Unsupported media type", "The body is not JSON, or it is compressed."),
    "wrong-host": ProblemKind(421, "Wrong host", "The Host header names a host that this server does not accept."),
    "invalid-input": ProblemKind(
        422, "Invalid input", "A field or a parameter is not valid; `errors` says which and why."
    ),
    "too-many-requests": ProblemKind(
        429, "Too many requests", "The rate limit is exceeded; wait as long as `Retry-After` says."
    ),
    "quota-exceeded": ProblemKind(429, "Quota exceeded", "The tenant's quota does not allow it."),
    "misconfigured": ProblemKind(500, "Misconfigured", "The server needs a setting that only its operator can change."),
    "internal-error": ProblemKind(
        500, "Internal error", "An internal error; the server's log has it under the request id."
    ),
    "store-unavailable": ProblemKind(503, "Database unavailable", "The database does not respond; try again."),
    "stopping": ProblemKind(503, "Server stopping", "The server stopped before the request was done; try again."),
}
KIND_OF_STATUS = {kind.status: name for name, kind in reversed(PROBLEMS.items())}


class HttpProblem(Exception):
    """An error that only this interface has: `kind` is one of PROBLEMS."""

    def __init__(
        self, kind: str, detail: str, *, errors: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.errors = tuple(errors)
        self.headers = headers


def problem(
    kind: str,
    detail: str,
    request_id: str,
    *,
    errors: Sequence[Fault] = (),
    headers: Mapping[str, str] | None = None,
    status: int | None = None,
    allowed: Sequence[str] | None = None,
    more: Mapping[str, object] | None = None,
) -> Response:
    known = PROBLEMS[kind]
    body: dict[str, object] = {
        "type": BASE + kind,
        "title": known.title,
        "status": status or known.status,
        "detail": detail,
        "request_id": request_id,
    }
    if errors:
        body["errors"] = list(errors)
    if allowed is not None:
        body["allowed"] = list(allowed)
    body |= more or {}
    # Escaped to ASCII: half a surrogate pair in the input is returned unchanged and must not fail.
    return Response(json.dumps(body), status or known.status, headers, MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Turns every error of the app into a problem; unexpected exceptions are handled by the middleware."""
    app.add_exception_handler(MainspringError, _of_domain)
    app.add_exception_handler(HttpProblem, _of_api)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_router)


def of_error(fault: MainspringError, request_id: str) -> Response:
    headers: dict[str, str] = {}
    errors: list[Fault] = []
    allowed: tuple[str, ...] | None = None
    more: dict[str, object] = {}
    detail = str(fault)
    match fault:
        case InvalidWorkflow():
            errors = [_in_document(each) for each in fault.faults[:FAULTS_MAX]]
        case NotFound():
            more = {"subject": fault.kind, "suggestion": fault.suggestion}
        case Conflict():
            allowed = fault.allowed if fault.kind == "execution" else None
            more = {"subject": fault.kind}
        case InvalidInput():
            errors = [{"pointer": pointer_of(fault.field), "detail": detail}]
        case CodeRequired():
            more = {"factors": list(fault.factors), "passkey": fault.passkey}
        case TooManyRequests():
            headers["Retry-After"] = str(fault.retry_after_s)
        case QuotaExceeded():
            headers["Retry-After"] = str(QUOTA_RETRY_S)
    kind = fault.code if fault.code in PROBLEMS else "internal-error"
    if kind == "not-authenticated":
        headers["WWW-Authenticate"] = 'Bearer realm="mainspring"'
    elif kind == "store-unavailable":
        headers["Retry-After"] = str(STORE_RETRY_S)
        detail = "the database does not respond; try again in a few seconds"
    elif PROBLEMS[kind].status == 500:
        log.error("request failed", request_id=request_id, error=str(fault))
        detail = unforeseen_detail(request_id)
    return problem(kind, detail, request_id, errors=errors, headers=headers, allowed=allowed, more=more)


def pointer_of(field: str) -> str:
    """The JSON Pointer of a field, or of a path such as `executions[3].input.order`; "" is the whole body."""
    parts = re.sub(r"\[(\d+)\]", r".\1", field).split(".")
    return "".join(f"/{_escaped(part)}" for part in parts) if field else ""


def _in_document(fault: DocumentFault) -> Fault:
    place = {"pointer": "/document", "path": fault.path, "line": fault.line}
    return {**place, "message": fault.message, "detail": str(fault)}


def unforeseen_detail(request_id: str) -> str:
    return f"internal error; report the request id {request_id} to the operator, who finds the details in the log"


async def _of_domain(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, MainspringError)
    return of_error(fault, request.state.request_id)


async def _of_api(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HttpProblem)
    return problem(fault.kind, str(fault), request.state.request_id, errors=fault.errors, headers=fault.headers)


async def _of_router(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    kind = KIND_OF_STATUS.get(fault.status_code, "internal-error" if fault.status_code >= 500 else "malformed-request")
    detail = str(fault.detail)
    headers = dict(fault.headers or {})
    if fault.status_code == 404 and detail == HTTPStatus.NOT_FOUND.phrase:
        detail = "nothing is served at this path; /api/v1/openapi.json lists all paths"
    elif fault.status_code == 405:
        headers["Allow"] = ", ".join(_served(request))
        detail = f"{request.method} is not possible here; the header Allow lists the methods that are"
    return problem(kind, detail, request.state.request_id, headers=headers, status=fault.status_code)


def _served(request: Request) -> list[str]:
    """The methods of all routes at this path; the router itself names only those of the first one."""
    place = {name: request.scope[name] for name in ("type", "path", "root_path") if name in request.scope}
    routes = request.app.router.routes
    return [
        method
        for method in METHODS
        if any(route.matches({**place, "method": method})[0] is Match.FULL for route in routes)
    ]


async def _of_validation(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, RequestValidationError)
    found = fault.errors()
    errors = [_fault(error, request) for error in found[:FAULTS_MAX]]
    first = errors[0]
    place = first.get("pointer") or first.get("parameter") or "the body"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return problem("invalid-input", f"{place}: {first['detail']}{more}", request.state.request_id, errors=errors)


def _fault(error: Mapping[str, object], request: Request) -> Fault:
    location = error["loc"]
    assert isinstance(location, tuple)
    where, path = location[0], location[1:]
    detail = _words(error, path, request)
    if where == "body":
        return {"pointer": "".join(f"/{_escaped(str(part))}" for part in path), "detail": detail}
    return {"parameter": str(path[0]) if path else "", "in": str(where), "detail": detail}


def _words(error: Mapping[str, object], path: Sequence[object], request: Request) -> str:
    match error["type"]:
        case "extra_forbidden":
            near = did_you_mean(str(path[-1]), _known_fields(request)) if len(path) == 1 else ""
            return f"unknown field {path[-1]!r}{near or '; remove it'}"
        case "missing":
            return "is required; give it"
        case "model_attributes_type" | "dict_type":
            return "is not a JSON object; send {...}"
    context = error.get("ctx") or {}
    assert isinstance(context, Mapping)
    return validation_message(str(error["type"]), str(error["msg"]), context, error.get("input"))


def _known_fields(request: Request) -> tuple[str, ...]:
    field = getattr(request.scope.get("route"), "body_field", None)
    model = getattr(getattr(field, "field_info", None), "annotation", None)
    return tuple(getattr(model, "model_fields", {}))


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
