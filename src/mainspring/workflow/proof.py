"""Check that an execution matches what its log commits to: its origin, and the state that the log leads to. Pure.

The first entry contains the name, the version and, since format 2, the hash of the document, the actor, the correlation
key, the partition and the clock. Status, outcome and the rest of a state follow from the log by replay, and since
format 3 so do repairs of the clock.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, cast

import msgspec
from msgspec import Struct

from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import rfc3339
from mainspring.workflow.audit import Breach, revive
from mainspring.workflow.log_records import logged_zeros
from mainspring.workflow.model import CLOCK_FORMAT, OLDEST_FORMAT, ExecutionState, LogEntry, LogicalClock, Origin

TEXT_MAX: Final = 200


class OriginClaims(Struct, frozen=True):
    """The origin of an execution according to a row or a file. `model` "": not stated.

    `zeros` has every time that the partition had counted from by the execution's first turn.
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
    if (origin := origin_of(first)) is not None:
        zeros = claims.zeros if format_of(first) >= CLOCK_FORMAT else claims.zeros[-2:]
        pairs += [
            ("document", origin.document, claims.document),
            ("model", origin.model, claims.model or origin.model),
            ("actor", origin.actor, claims.actor),
            ("correlation", origin.correlation, claims.correlation),
            ("partition", origin.partition, claims.partition),
            ("zero", origin.zero, _zero(origin.zero, zeros)),
            ("resolution_ms", origin.resolution_ms, claims.resolution_ms),
        ]
    return _first(first.execution_id, 1, pairs)


def _zero(committed: str, zeros: tuple[datetime, ...]) -> str:
    said = [rfc3339(zero) for zero in zeros]
    return committed if committed in said else said[-1]


def committed_clock(log: Sequence[LogEntry], clock: LogicalClock) -> LogicalClock:
    """The clock that a log commits to; `clock` where it commits to none: in earlier formats, and after erasure."""
    if not log or format_of(log[0]) < CLOCK_FORMAT or (origin := origin_of(log[0])) is None:
        return clock
    zeros = logged_zeros(origin, log)
    return LogicalClock(clock.tick, zeros[-1][1], origin.resolution_ms, zeros if len(zeros) > 1 else ())


def check_clock(log: Sequence[LogEntry], clock: LogicalClock) -> Breach | None:
    """What a file says of the clock and its log does not say."""
    committed = committed_clock(log, clock)
    zero = committed.zeros[-1][1] if committed.zeros else committed.epoch
    pairs = [("zeros", _in_words(committed), _in_words(clock)), ("zero", rfc3339(zero), rfc3339(clock.epoch))]
    return _first(log[0].execution_id, log[-1].number, pairs)


def _in_words(clock: LogicalClock) -> str:
    return ", ".join(f"{rfc3339(zero)} from tick {tick}" for tick, zero in clock.zeros) or "never repaired"


def origin_of(first: LogEntry) -> Origin | None:
    """What the first entry of a log commits to; None in format 1, in a simulation and after erasure."""
    given = cast("dict[str, object]", revive(first.input or b"{}"))
    try:
        return None if given.get("origin") is None else msgspec.convert(given["origin"], Origin)
    except msgspec.ValidationError as fault:
        raise InvalidInput(f"the log's first entry names no origin: {fault}; export it again", field="log") from None


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
