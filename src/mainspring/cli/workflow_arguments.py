"""Parse command-line values about workflows: documents, JSON, events and answers for a simulation."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.cli.arguments import read_text
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import shown

if TYPE_CHECKING:
    from mainspring.workflow.model import Status
    from mainspring.workflow.replay import SimulatedAnswer, SimulatedEvent

OUTCOMES = ("success", "failure", "unknown")

STATUSES = "pending, active, waiting, paused, completed, failed, cancelled"


def read_status(status: str | None) -> "Status | None":
    from mainspring.workflow.model import Status

    known = tuple(each.value for each in Status)
    if status is not None and status not in known:
        raise InvalidInput(
            f"unknown status {shown(status)!r}{did_you_mean(status, known) or ';'} choose one of {STATUSES}",
            field="status",
        )
    return Status(status) if status else None


def read_document(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8"
        raise InvalidInput(
            f"cannot read {shown(str(file))}: {why}; name a file, or - for standard input", field="file"
        ) from None


def read_data(text: str, field: str) -> dict[str, object]:
    """A JSON object, or `@FILE` that contains one."""
    try:
        value = json.loads(read_text(text, f"--{field}"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidInput(
            f"--{field} '{shown(text)}' is not a JSON object; write it as --{field} '{{\"order\": 7}}', or "
            f"name a file that contains one: --{field} @FILE",
            field=field,
        )
    return value


def read_happenings(texts: list[str]) -> list["SimulatedEvent"]:
    from mainspring.domain.duration import parse_duration_ms
    from mainspring.workflow.reader import is_event_type
    from mainspring.workflow.replay import SimulatedEvent

    found = []
    for text in texts:
        after, _, rest = text.partition(":")
        type_, _, data = rest.partition(":")
        if not is_event_type(type_):
            raise InvalidInput(
                f"--event '{shown(text)}' is not valid; write it as --event 4d:reply:'{{\"rating\": 1}}'",
                field="event",
            )
        found.append(SimulatedEvent(parse_duration_ms(after, field="event"), type_, read_data(data or "{}", "event")))
    return found


def read_answers(texts: list[str], steps: tuple[str, ...]) -> dict[str, list["SimulatedAnswer"]]:
    from mainspring.workflow.replay import SimulatedAnswer

    found: dict[str, list[SimulatedAnswer]] = {}
    for text in texts:
        step, _, rest = text.partition(":")
        outcome, _, data = rest.partition(":")
        if step not in steps or outcome not in OUTCOMES:
            near = did_you_mean(step, steps) if step not in steps else did_you_mean(outcome, OUTCOMES)
            raise InvalidInput(
                f"--answer '{shown(text)}' is not valid{near or ';'} write STEP:OUTCOME, where the outcome "
                f"is one of {', '.join(OUTCOMES)}",
                field="answer",
            )
        made = (
            SimulatedAnswer(outcome, read_data(data or "{}", "answer"))
            if outcome == "success"
            else SimulatedAnswer(outcome, None, data)
        )
        found.setdefault(step, []).append(made)
    return found
