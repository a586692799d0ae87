"""Where a list goes on: sealed, so that a cursor is nobody's to make, to read or to use in another tenant's name."""

import json

from mainspring.api.problems import HttpProblem
from mainspring.domain.errors import Misconfigured
from mainspring.operations.endpoints import Desk


def seal_cursor(desk: Desk, kind: str, *place: str) -> str:
    """`kind` names the list: a cursor of another one does not open."""
    return desk.vault.seal(json.dumps(place), _context(desk, kind))


def open_cursor(desk: Desk, kind: str, cursor: str | None) -> list[str] | None:
    """The place that was sealed; None where none was given. Raises ApiError for a cursor that is not this list's."""
    if cursor is None:
        return None
    try:
        place: list[str] = json.loads(desk.vault.open(cursor, _context(desk, kind)))
    except (Misconfigured, UnicodeEncodeError):
        detail = "this cursor was not given out for this list; leave it out to begin again"
        raise HttpProblem(
            "malformed-request", detail, errors=({"parameter": "cursor", "in": "query", "detail": detail},)
        ) from None
    return place


def _context(desk: Desk, kind: str) -> str:
    return f"{desk.tenant_id}|cursor:{kind}"
