"""Windows of runs that a rule reads: which spans a text names in `window["1h"]`, and which runs they hold. Pure.

    avg(window["15m"].map(r, r.duration_ms)) > 2 * avg(window["24h"].map(r, r.duration_ms))

A window holds the endpoint's runs that finished within the span before the judged run ended, including that run, newest
first. It is bounded three times: a span of at most a day, its newest RUNS_MAX runs, and the newest of these whose
bodies total BYTES_MAX bytes. Bodies are read only for a text that mentions them.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.map_order import tokens_of

NAME = "window"
SPAN_MS_MIN = 1_000
SPAN_MS_MAX = 86_400_000
RUNS_MAX = 1_000  # judged in about ten milliseconds; four loops over them stay below the work limit of a condition
BYTES_MAX = 250_000  # total size of bodies, which are parsed again for every judged run
HEALTH_SPANS = (timedelta(hours=1), timedelta(hours=4), timedelta(hours=24))
USAGE = 'write window["1h"], with a duration from 1s to 24h'

TEXTS_KEPT = 16_384  # a text is asked about at every judged run, and changes once in a while
_LITERAL = re.compile(r"(['\"])([^'\"\\]*)\1")


class RunWindow(Struct, frozen=True):
    """Runs to read: those of an endpoint that finished after `since` and not after `until`."""

    endpoint_id: str
    since: datetime
    until: datetime
    bodies: bool
    runs_max: int = RUNS_MAX


@lru_cache(maxsize=TEXTS_KEPT)
def spans_of(text: str) -> Mapping[str, int]:
    """The spans in a text, as written and in milliseconds, without invalid ones."""
    spans = {}
    for written, _ in _uses(text):
        try:
            spans[written or ""] = span_ms(written or "")
        except InvalidInput:
            continue
    return spans


def misuse_of(text: str) -> tuple[int, str] | None:
    """Positions of invalid windows in a text, with the reason."""
    for written, offset in _uses(text):
        if written is None:
            return offset, f"'{NAME}' needs a span as literal text; {USAGE}"
        try:
            span_ms(written)
        except InvalidInput as fault:
            return offset, str(fault)
    return None


@lru_cache(maxsize=TEXTS_KEPT)
def reads_bodies(text: str) -> bool:
    """Whether any field `body` is read; may be true by mistake, never false by mistake."""
    tokens = tokens_of(text)
    return any(
        (token == "body" and before == ".") or (kind == "text" and "body" in token)
        for (_, before, _), (kind, token, _) in pairwise(tokens)
    )


def window_of(endpoint_id: str, spans: Mapping[str, int], until: datetime, bodies: bool) -> RunWindow:
    """The longest of the spans: the others are a part of it."""
    return RunWindow(endpoint_id, until - timedelta(milliseconds=max(spans.values())), until, bodies)


def fitting(sizes: Iterable[int], runs_max: int = RUNS_MAX) -> int:
    """How many runs, newest first, fit into a window given the sizes of their bodies; the newest always fits."""
    count = total = 0
    for size in sizes:
        total += size
        if count == runs_max or (count and total > BYTES_MAX):
            break
        count += 1
    return count


def span_ms(written: str) -> int:
    return parse_duration_ms(written, field=NAME, min_ms=SPAN_MS_MIN, max_ms=SPAN_MS_MAX)


def _uses(text: str) -> list[tuple[str | None, int]]:
    """Each use of the variable: the span that follows it, None for anything else, and its position."""
    tokens = tokens_of(text)
    found: list[tuple[str | None, int]] = []
    for place, (kind, token, offset) in enumerate(tokens):
        if kind != "name" or token != NAME or (place and tokens[place - 1][1] == "."):
            continue
        marks = [each[1] for each in tokens[place + 1 : place + 4]]
        literal = _LITERAL.fullmatch(marks[1]) if len(marks) == 3 and (marks[0], marks[2]) == ("[", "]") else None
        found.append((None if literal is None else literal[2], offset))
    return found
