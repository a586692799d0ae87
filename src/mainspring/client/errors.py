"""Errors of the API as exceptions; each carries the problem document that the server sent.

ApiError             any error                     (type, kind, title, status, detail, errors, request_id)
├── InvalidRequest   change what was sent
├── NotAuthenticated send a valid key
├── Forbidden        use a key that has the scope
├── NotFound         name something that exists
├── Conflict         change the state first
├── QuotaExceeded    ask for less, or for a higher quota
├── TooManyRequests  wait; all retries were refused as well  (retry_after_s)
├── ServerFailed     an internal error, or the server is busy: its log has the request_id
├── NotMainspring    the response is not from this API: correct the URL
└── Unreachable      no response
"""

import json
from dataclasses import dataclass, field
from typing import Any

SHOWN_BYTES = 120  # characters shown of a foreign response


@dataclass
class ApiError(Exception):
    """`detail` says what happened, the rule and the fix; `errors` says where, by JSON Pointer or by name.

    `subject` is the kind of thing that was not found or is in conflict, `suggestion` the name that was probably meant.
    """

    detail: str
    status: int = 0
    type: str = ""
    title: str = ""
    request_id: str = ""
    errors: list[dict[str, Any]] = field(default_factory=list)
    retry_after_s: float | None = None
    subject: str = ""
    suggestion: str | None = None

    def __str__(self) -> str:
        return self.detail

    @property
    def kind(self) -> str:
        """The last part of the type: `not-found`."""
        return self.type.rpartition("/")[2]

    @property
    def pointers(self) -> list[str]:
        return [str(error["pointer"]) for error in self.errors if "pointer" in error]


class InvalidRequest(ApiError):
    pass


class NotAuthenticatedError(ApiError):
    pass


class ForbiddenError(ApiError):
    pass


class NotFoundError(ApiError):
    pass


class ConflictError(ApiError):
    pass


class QuotaExceededError(ApiError):
    pass


class TooManyRequestsError(ApiError):
    pass


class ServerFailed(ApiError):
    pass


class NotMainspring(ApiError):
    pass


class Unreachable(ApiError):
    pass


BY_STATUS: dict[int, type[ApiError]] = {
    401: NotAuthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: ConflictError,
    429: TooManyRequestsError,
}


def error_of(status: int, content: bytes, request_id: str, retry_after_s: float | None) -> ApiError:
    """The exception for an error response. A proxy or another program responds without a problem document."""
    try:
        problem = json.loads(content)
    except (ValueError, RecursionError):
        problem = None
    kind = ServerFailed if status >= 500 else BY_STATUS.get(status, InvalidRequest)
    if not isinstance(problem, dict) or not isinstance(problem.get("type"), str):
        problem = {"detail": str(stranger(status, content))}
        kind = ServerFailed if status >= 500 else NotMainspring
    if str(problem.get("type", "")).endswith("/quota-exceeded"):
        kind = QuotaExceededError
    return kind(
        detail=str(problem.get("detail", "")),
        status=status,
        type=str(problem.get("type", "")),
        title=str(problem.get("title", "")),
        request_id=str(problem.get("request_id", request_id)),
        errors=[error for error in problem.get("errors", []) if isinstance(error, dict)],
        retry_after_s=retry_after_s,
        subject=str(problem.get("subject", "")),
        suggestion=problem.get("suggestion"),
    )


def stranger(status: int, content: bytes) -> NotMainspring:
    """The exception for a response that no Mainspring server sends."""
    text = " ".join(content[:SHOWN_BYTES].decode("utf-8", "replace").split())
    return NotMainspring(
        f"the response, HTTP {status}, is not from Mainspring's API: {text or 'it is empty'}; the URL must "
        "be that of a Mainspring server; correct the URL, or check the proxy in front of it",
        status,
    )
