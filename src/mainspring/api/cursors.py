"""Cursors of lists, encrypted: clients can neither forge nor read them, nor use them in another tenant."""

import json

from mainspring.api.problems import HttpProblem
from mainspring.domain.errors import Misconfigured
from mainspring.operations.context import Desk


def seal_cursor(desk: Desk, kind: str, *place: str) -> str:
    """`kind` names the list: a cursor of another list is refused."""
    return desk.vault.seal(json.dumps(place), _context(desk, kind))


def open_cursor(desk: Desk, kind: str, cursor: str | None) -> list[str] | None:
    """The encrypted position; None without a cursor. Raises HttpProblem for a cursor of another list."""
    if cursor is None:
        return None
    try:
        place: list[str] = json.loads(desk.vault.open(cursor, _context(desk, kind)))
    except (Misconfigured, UnicodeEncodeError):
        raise broken_cursor() from None
    return place


def broken_cursor() -> HttpProblem:
    detail = "this cursor does not belong to this list; omit it to start from the beginning"
    return HttpProblem("malformed-request", detail, errors=({"parameter": "cursor", "in": "query", "detail": detail},))


def _context(desk: Desk, kind: str) -> str:
    return f"{desk.tenant_id}|cursor:{kind}"
