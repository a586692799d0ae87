"""Convert arrivals and effects to log records and back."""

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct, convert, to_builtins

from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import rfc3339
from mainspring.workflow.audit import revive
from mainspring.workflow.model import (
    OLDEST_FORMAT,
    Arrival,
    Call,
    Email,
    ExecutionState,
    Hint,
    LogEntry,
    LogicalClock,
    Origin,
    Zeros,
)
from mainspring.workflow.step_secrets import uses_of


class Repairs(Struct, frozen=True):
    """The output of an entry `clock`: from which tick on the partition counts from which instant."""

    repairs: tuple[tuple[int, str], ...]


def start_of(state: ExecutionState) -> dict[str, object]:
    """What an execution starts with, as its first entry commits to it."""
    first = {"workflow": state.workflow, "version": state.version, "input": state.input, "tick": state.wake_tick}
    if state.format > OLDEST_FORMAT:
        first |= {"format": state.format, "origin": state.origin and to_builtins(state.origin)}
    return first


def given_of(arrival: Arrival) -> dict[str, object]:
    return {
        "kind": arrival.kind.value,
        "id": arrival.id,
        "type": arrival.type,
        "data": arrival.data,
        "actor": arrival.actor,
        "occurred_at": arrival.occurred_at,
    }


def request_of(step: Call | Email | Hint) -> tuple[str, dict[str, object]]:
    """The kind of an effect, and its request before templates are filled in."""
    if isinstance(step, Email):
        return "email", {
            "channel": step.channel, "to": step.to, "subject": step.subject, "body": step.body, "from": step.sender,
        }  # fmt: skip
    if isinstance(step, Hint):
        return "hint", {
            "endpoint": step.endpoint, "interval_ms": step.interval_ms, "after_ms": step.after_ms, "clear": step.clear,
            "ttl_ms": step.ttl_ms, "reason": step.reason,
        }  # fmt: skip
    if step.endpoint:
        return "endpoint", {"endpoint": step.endpoint}
    request: dict[str, object] = {
        "url": step.url, "method": step.method, "headers": step.headers, "body": step.body,
        "accept_codes": list(step.accept_codes),
    }  # fmt: skip
    # Only what a step has, so that logs without it do not change.
    others = {"connection": step.connection, "secrets": step.secrets, "opens": list(uses_of(request))}
    return "call", request | {name: value for name, value in others.items() if value}


def repairs_of(state: ExecutionState, clock: LogicalClock) -> list[tuple[int, str]]:
    """Repairs of the clock that the log does not name yet: from which tick on it counts from which instant."""
    new = [(tick, rfc3339(zero)) for tick, zero in clock.zeros if state.last_tick < tick <= clock.tick]
    if state.number:
        return new
    if state.origin is None:
        return []
    known = [place for place, (_, zero) in enumerate(new) if zero == state.origin.zero]
    return new[known[-1] + 1 :] if known else new


def logged_zeros(origin: Origin, log: Iterable[LogEntry]) -> Zeros:
    """From which tick on a log of format 3 or later counts from which instant: at its start, and after each repair."""
    zeros = [(0, origin.zero)]
    try:
        for entry in log:
            if entry.action == "clock" and entry.output is not None:
                zeros += convert(revive(entry.output), Repairs).repairs
        return tuple((tick, datetime.fromisoformat(zero)) for tick, zero in zeros)
    except ValueError as fault:
        raise InvalidInput(f"the log names a clock that cannot be: {fault}; export it again", field="log") from None
