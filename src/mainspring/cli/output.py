"""Output for people and programs: sentences, JSON, errors. Tables are in `table`.

External text (names, reasons, errors, bodies) never acts on a terminal: control characters are escaped, and nothing is
read as markup. Output goes to standard output; notes and errors go to standard error, so that output stays clean.
"""

import json
import re
import sys
from datetime import datetime
from enum import StrEnum
from typing import Any

from mainspring.domain.errors import MainspringError, NotFound
from mainspring.domain.text import spelled_out

# The command that lists a kind, for an unknown name.
LISTS = {
    **{
        kind: f"{kind} list"
        for kind in (
            "endpoint",
            "job",
            "workflow",
            "execution",
            "webhook",
            "alert",
            "user",
            "tenant",
            "connection",
            "call",
        )
    },
    "maintenance window": "maintenance list",
    "calendar": "calendar list",
    "live API key": "apikey list",
    "signing key": "signing-key list",
    "member": "member list",
    "endpoint of this job": "endpoint list",
    "execution or correlation key of a running one": "execution list",
    "run": "runs",
    "session": "sessions list",
    "delivery": "webhook deliveries NAME",
    "rule": "rules list",
    "proposal": "proposals list",
    "scenario": "simulate",
}
_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n]")


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


def say(text: str) -> None:
    """One line for a person, written in one call: processes that share a log must not mix their lines."""
    print(f"{spelled_out(text)}\n", end="")


def note(text: str) -> None:
    """One note besides the output: advice or additional information."""
    print(f"note: {spelled_out(text)}\n", end="", file=sys.stderr)


def show_json(value: object) -> None:
    print(as_json(value))


def answer(value: object, output: Output, sentence: str) -> None:
    """The result of a command: JSON for programs, a sentence for people."""
    if output is Output.JSON:
        show_json(value)
    else:
        say(sentence)


def as_json(value: object, *, indent: int | None = 2) -> str:
    """JSON without control characters for a terminal; text of every script stays readable."""
    separators = None if indent else (",", ":")
    return harmless(json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, default=_view_as_json))


def _view_as_json(view: Any) -> object:
    return view.as_json()


def now() -> datetime:
    """The time that `5m ago` counts from: the clock of the reader."""
    from mainspring.wiring.clock import SystemClock

    return SystemClock().now()


def harmless(text: str) -> str:
    """JSON text with everything unprintable in its strings escaped; it means the same."""
    return _NOT_PLAIN.sub(lambda found: found[0] if found[0].isprintable() else _escaped(found[0]), text)


def show_error(fault: MainspringError, output: Output) -> None:
    """One line; for a document with several errors, one line for each before it."""
    faults = getattr(fault, "faults", ())
    if output is Output.JSON:
        field = getattr(fault, "field", None) or getattr(fault, "setting", None) or getattr(fault, "kind", None)
        error = {"code": fault.code, "message": str(fault), "field": field}
        if faults:
            error["faults"] = [{"path": each.path, "line": each.line, "detail": str(each)} for each in faults]
        print(as_json({"error": error}), file=sys.stderr)
    elif len(faults) > 1:
        for each in faults:
            print(spelled_out(str(each)), file=sys.stderr)
        print(f"error: {len(faults)} errors; nothing was changed", file=sys.stderr)
    else:
        kind = fault.kind if isinstance(fault, NotFound) and fault.suggestion is None else ""
        way_out = f"; `mainspring {LISTS[kind]}` lists all" if kind in LISTS else ""
        print(f"error: {spelled_out(str(fault))}{way_out}", file=sys.stderr)


def _escaped(character: str) -> str:
    point = ord(character)
    if point < 0x10000:
        return f"\\u{point:04x}"
    point -= 0x10000
    return f"\\u{0xD800 + (point >> 10):04x}\\u{0xDC00 + (point & 0x3FF):04x}"
