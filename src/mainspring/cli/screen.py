"""What a person or a program gets to see: sentences, times, JSON, errors. Tables are in `table`.

Text from outside (names, reasons, errors, bodies) never acts on a terminal: what would is spelled out, and nothing is
read as markup. Output goes to standard output; notes and errors go to standard error, so that output stays output.
"""

import json
import re
import sys
from datetime import datetime, timedelta
from enum import StrEnum

from mainspring.domain.duration import format_duration
from mainspring.domain.errors import MainspringError
from mainspring.domain.instant import FOREVER
from mainspring.domain.text import spelled_out

_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n]")


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


def say(text: str) -> None:
    """One line for a person."""
    print(spelled_out(text))


def note(text: str) -> None:
    """One line beside the answer: advice, or what a person might want to know."""
    print(f"note: {spelled_out(text)}", file=sys.stderr)


def show_json(value: object) -> None:
    print(as_json(value))


def as_json(value: object, *, indent: int | None = 2) -> str:
    """JSON in which nothing acts on a terminal; letters of every script stay readable."""
    separators = None if indent else (",", ":")
    return harmless(json.dumps(value, ensure_ascii=False, indent=indent, separators=separators))


def harmless(text: str) -> str:
    """JSON text with everything unprintable in its strings escaped; it means the same."""
    return _NOT_PLAIN.sub(lambda found: found[0] if found[0].isprintable() else _escaped(found[0]), text)


def show_error(fault: MainspringError, output: Output) -> None:
    if output is Output.JSON:
        field = getattr(fault, "field", None) or getattr(fault, "setting", None) or getattr(fault, "kind", None)
        error = {"code": fault.code, "message": str(fault), "field": field}
        print(as_json({"error": error}), file=sys.stderr)
    else:
        print(f"error: {spelled_out(str(fault))}", file=sys.stderr)


def clock(at: datetime | None, none: str = "-") -> str:
    """`2025-01-01 12:00:00 UTC`, with milliseconds where there are any."""
    if at is None:
        return none
    if at >= FOREVER:
        return "never"
    text = at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00").removesuffix(".000")
    return f"{text} UTC"


def relative(now: datetime, at: datetime | None, none: str = "-") -> str:
    """`in 23s`, `5m10s ago`: coarse, for reading; the exact instant stands elsewhere."""
    if at is None:
        return none
    if at >= FOREVER:
        return "never"
    distance = at - now
    span = span_in_words(abs(distance))
    if span == "0s":
        return "now"
    return f"in {span}" if distance > timedelta(0) else f"{span} ago"


def when(now: datetime, at: datetime | None, none: str = "-") -> str:
    """Both: `2025-01-01 12:00:00 UTC (in 23s)`."""
    if at is None or at >= FOREVER:
        return clock(at, none)
    return f"{clock(at)} ({relative(now, at)})"


def span_in_words(span: timedelta) -> str:
    """At most two units: `850ms`, `23s`, `5m10s`, `3d4h`."""
    ms = span // timedelta(milliseconds=1)
    for unit_ms, below_ms in ((1_000, 3_600_000), (60_000, 86_400_000), (3_600_000, 1 << 62)):
        if ms < 1_000:
            return format_duration(ms)
        if ms < below_ms:
            return format_duration(ms // unit_ms * unit_ms)
    raise AssertionError("the last bound is beyond every timedelta")


def took(ms: int | None) -> str:
    return "-" if ms is None else format_duration(ms) if ms else "<1ms"


def _escaped(character: str) -> str:
    point = ord(character)
    if point < 0x10000:
        return f"\\u{point:04x}"
    point -= 0x10000
    return f"\\u{0xD800 + (point >> 10):04x}\\u{0xDC00 + (point & 0x3FF):04x}"
