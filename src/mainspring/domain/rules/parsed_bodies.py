"""Responses as the values that rules read, with the cost of judging them. Pure."""

import msgspec
from msgspec import Struct

from mainspring.domain.expressions.condition import parse_bounded
from mainspring.domain.rules.rule import Seen


class ParsedBodies:
    """Parses each body of a page once, including those of siblings that several rules read."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self.siblings: dict[tuple[tuple[str, ...], ...], tuple[Seen, bool]] = {}

    def of(self, run_id: str, body: bytes) -> Seen:
        if (seen := self._seen.get(run_id)) is None:
            seen = self._seen[run_id] = body_seen(body)
        return seen


def body_seen(body: bytes) -> Seen:
    value, nodes = parse_bounded(body)
    return Seen(value, nodes, len(body))


def headers_seen(detail: str) -> Seen:
    """Header names in lower case; several values of one name are joined."""
    pairs = _read(detail).headers
    joined: dict[str, str] = {}
    for name, text in pairs:
        key = name.lower()
        joined[key] = f"{joined[key]}, {text}" if key in joined else text
    return Seen(joined, len(joined) + 1, sum(len(each) for each in joined.values()) + 8)


def tls_seen(detail: str) -> Seen:
    """The certificate of the target; None if the run did not ask for it."""
    found = _read(detail).tls
    return Seen(found, 1 if found is None else len(found) + 1, sum(len(str(each)) for each in (found or {}).values()))


def all_seen(value: object, parts: list[Seen]) -> Seen:
    return Seen(value, sum(part.nodes for part in parts) + 1, sum(part.size for part in parts) + 8)


def _read(detail: str) -> "_Detail":
    try:
        return msgspec.json.decode(detail or "{}", type=_Detail)
    except msgspec.DecodeError:
        return _Detail()


class _Detail(Struct, frozen=True):
    headers: tuple[tuple[str, str], ...] = ()
    tls: dict[str, object] | None = None
