"""JSON as two readers would both read it: no name twice, no NaN, no byte order mark, not deeper than anybody writes."""

import json
import re
from typing import NoReturn

from mainspring.api.problems import ApiError
from mainspring.domain.name import shown

DEPTH_MAX = 32  # our own documents have four levels
DIGITS_MAX = 400  # beyond it reading a number takes longer than anybody's number deserves
BOM = b"\xef\xbb\xbf"
_NOT_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\[\]{}"]+', re.DOTALL)


def check_json(body: bytes) -> None:
    """Raise ApiError unless this is one JSON value that every reader reads alike."""
    if body.startswith(BOM):
        raise _refused("begins with a byte order mark; leave it out")
    _check_depth(body)
    try:
        json.loads(
            body.decode("utf-8"), object_pairs_hook=_without_twins, parse_constant=_no_constant, parse_int=_bounded_int
        )
    except UnicodeDecodeError as fault:
        raise _refused(f"is not UTF-8 at byte {fault.start}; send it as UTF-8") from None
    except json.JSONDecodeError as fault:
        raise _refused(f"is not JSON: {fault.msg.lower()} at line {fault.lineno}, column {fault.colno}") from None


def _check_depth(body: bytes) -> None:
    """Before anything that recurses reads it."""
    depth = 0
    for byte in _NOT_NESTING.sub(b"", body):
        depth += 1 if byte in b"[{" else -1 if byte in b"]}" else 0
        if depth > DEPTH_MAX:
            raise _refused(f"is nested deeper than {DEPTH_MAX} levels; make it flatter")


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in found if names.count(name) > 1)
        raise _refused(f"has the name {shown(twin)!r} twice in one object; keep one of them")
    return found


def _no_constant(text: str) -> NoReturn:
    raise _refused(f"contains {text}, which is not JSON; give a number or null")


def _bounded_int(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise _refused(f"contains a number of {len(text)} digits; give a shorter one")
    return int(text)


def _refused(what: str) -> ApiError:
    return ApiError("malformed-request", f"the body {what}", errors=({"pointer": "", "detail": what},))
