"""Check that an execution matches what its log commits to: its origin, and the state that the log leads to. Pure.

The first entry contains the name, the version and, since format 2, the hash of the document, the actor, the correlation
key, the partition and the clock. Status, outcome and the rest of a state follow from the log by replay.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, cast

import msgspec
from msgspec import Struct

from mainspring.domain.instant import rfc3339
from mainspring.workflow.audit import Breach, revive
from mainspring.workflow.model import OLDEST_FORMAT, ExecutionState, LogEntry, Origin

TEXT_MAX: Final = 200


class OriginClaims(Struct, frozen=True):
    """The origin of an execution according to a row or a file. `model` "": not stated.

    `zeros` has two times if the clock of the partition was repaired before the execution had its first turn.
    """

    workflow: str
    version: int
    document: str
    model: str
    actor: str
    correlation: str
    partition: int
    zeros: tuple[datetime, ...]
    resolution_ms: int


def check_origin(first: LogEntry, claims: OriginClaims) -> Breach | None:
    """The first claim that differs from the first log entry; None if the values of the entry were erased."""
    if first.input is None or first.action != "start":
        return None
    given = cast("dict[str, object]", revive(first.input))
    pairs: list[tuple[str, object, object]] = [
        ("workflow", given.get("workflow"), claims.workflow),
        ("version", given.get("version"), claims.version),
    ]
    if given.get("origin") is not None:
        origin = msgspec.convert(given["origin"], Origin)
        pairs += [
            ("document", origin.document, claims.document),
            ("model", origin.model, claims.model or origin.model),
            ("actor", origin.actor, claims.actor),
            ("correlation", origin.correlation, claims.correlation),
            ("partition", origin.partition, claims.partition),
            ("zero", origin.zero, _zero(origin.zero, claims.zeros)),
            ("resolution_ms", origin.resolution_ms, claims.resolution_ms),
        ]
    return _first(first.execution_id, 1, pairs)


def _zero(committed: str, zeros: tuple[datetime, ...]) -> str:
    said = [rfc3339(zero) for zero in zeros]
    return committed if committed in said else said[-1]


def format_of(first: LogEntry) -> int:
    """The format that the first entry of a log names."""
    given = cast("dict[str, int]", revive(first.input or b"{}"))
    return given.get("format", OLDEST_FORMAT)


def check_state(replayed: ExecutionState, said: ExecutionState) -> Breach | None:
    """The first field of a stored state that differs from what the log leads to."""
    fields = ((field, getattr(replayed, field), getattr(said, field)) for field in ExecutionState.__struct_fields__)
    return _first(replayed.id, replayed.number, ((f"state.{field}", *values) for field, *values in fields))


def check_end(replayed: ExecutionState, status: str, outcome: str, error: str) -> Breach | None:
    """Like `state_breach`, for a file, which contains only this part of the state."""
    pairs = [
        ("status", replayed.status.value, status),
        ("outcome", replayed.outcome, outcome),
        ("error", replayed.error, error),
    ]
    return _first(replayed.id, replayed.number, pairs)


def _first(execution_id: str, number: int, pairs: Iterable[tuple[str, object, object]]) -> Breach | None:
    for field, expected, found in pairs:
        if expected != found:
            return Breach(execution_id, number, field, str(expected)[:TEXT_MAX], str(found)[:TEXT_MAX])
    return None
