"""What a server refused or could not do, as exceptions; each carries the problem that the server sent.

ApiError             anything but success          (type, kind, title, status, detail, errors, request_id)
├── InvalidRequest   change what was sent
├── NotAuthenticated send a valid key
├── Forbidden        use a key that has the scope
├── NotFound         name something that exists
├── Conflict         change the state first
├── QuotaExceeded    ask for less, or for a higher quota
├── TooManyRequests  wait; it was tried again and was still too many  (retry_after_s)
├── ServerFailed     a mistake of the server, or it is busy: its log has the request_id
├── NotMainspring    the answer is not one of this API: correct the address
└── Unreachable      no answer came at all
"""

import json
from dataclasses import dataclass, field
from typing import Any

SHOWN_BYTES = 120  # of an answer that is not ours


@dataclass
class ApiError(Exception):
    """`detail` says what happened, the rule and the way out; `errors` says where, by JSON Pointer or by name.

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
        """The last word of the type: `not-found`."""
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
    """The exception for a refusal. A proxy, or another program at this address, answers without a problem document."""
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
    """The exception for an answer that no Mainspring server gives."""
    text = " ".join(content[:SHOWN_BYTES].decode("utf-8", "replace").split())
    return NotMainspring(
        f"the answer, HTTP {status}, is not one of Mainspring's API: {text or 'it is empty'}; the address must be that "
        "of a Mainspring server; correct the address, or look at the proxy in front of it",
        status,
    )
