"""Check fields of known shape in a rule: `health.h24.runs`, `siblings.NAME.ok`, `runs[0].at`. Pure.

A misspelt field would be an error at every evaluation, so it is refused when the rule is written. A field compared with
another type would be false at every evaluation, so its type is declared when a rule is checked.
"""

from msgspec import Struct

from mainspring.domain.errors import did_you_mean
from mainspring.domain.expressions.map_order import LOOPS, tokens_of

RUN_FIELDS = ("body", "ok", "status", "status_code", "duration_ms", "at", "age_s")
SIBLING_FIELDS = ("body", "ok", "at", "age_s", "paused", "status", "status_code", "duration_ms", "failures")
SCHEDULE_FIELDS = ("interval_ms", "hint_ms", "cron", "paused")
TLS_FIELDS = ("days_left", "issuer", "subject", "not_after")
HEALTH_SPANS = ("h1", "h4", "h24")
HEALTH_FIELDS = ("runs", "success_rate", "duration_ms")

_RUN_TYPES = {"ok": "b", "status": "s", "status_code": "n", "duration_ms": "n", "at": "s", "age_s": "n"}
_TYPES = {
    "health": dict.fromkeys(HEALTH_FIELDS, "n"),
    "schedule": {"interval_ms": "n", "hint_ms": "n", "cron": "s", "paused": "b"},
    "tls": {"days_left": "n", "issuer": "s", "subject": "s", "not_after": "s"},
    "siblings": {**_RUN_TYPES, "paused": "b", "failures": "n"},
    "runs": _RUN_TYPES,
    "window": _RUN_TYPES,
}
_NULL_BEFORE = (["null", "=", "="], ["null", "!", "="])
_NULL_AFTER = (["=", "=", "null"], ["!", "=", "null"])

Token = tuple[str, str, int]  # kind, text, offset

_SHAPES: dict[str, tuple[tuple[int, tuple[str, ...]], ...]] = {
    "health": ((0, HEALTH_SPANS), (1, HEALTH_FIELDS)),
    "schedule": ((0, SCHEDULE_FIELDS),),
    "tls": ((0, TLS_FIELDS),),
    "siblings": ((1, SIBLING_FIELDS),),
    "runs": ((1, RUN_FIELDS),),
    "window": ((2, RUN_FIELDS),),
}
_ELEMENT = ((0, RUN_FIELDS),)
_LISTS = {"runs": 0, "window": 1}  # lists of runs, and the number of indexes that lead to one


class _Loop(Struct, frozen=True):
    """A loop: its variable, the tokens in which it is known, and whose run it is ("": not a run)."""

    variable: str
    begin: int
    end: int
    whose: str


def unknown_field(text: str) -> tuple[int, str] | None:
    """The position of the first unknown field, and what is wrong with it."""
    tokens = tokens_of(text)
    loops = _loops(tokens)
    for place, (kind, token, _) in enumerate(tokens):
        if kind != "name" or (place and tokens[place - 1][1] == "."):
            continue
        inside = [loop for loop in loops if loop.variable == token and loop.begin < place < loop.end]
        whose = max(inside, key=lambda loop: loop.begin).whose if inside else token
        path, _ = _path(tokens, place + 1)
        for depth, known in _ELEMENT if inside and whose else () if inside else _SHAPES.get(token, ()):
            if depth < len(path) and path[depth][0] and path[depth][0] not in known:
                name, offset = path[depth]
                way_out = did_you_mean(name, known) or f"; fields are {', '.join(known)}"
                return offset, f"unknown field {name!r} of {whose}{way_out}"
    return None


def with_types(text: str) -> tuple[str, dict[str, str]]:
    """The text with each field of known type as a variable, and the types: `b` boolean, `s` string, `n` number.

    Fractional numbers become whole ones. A variable has as many characters as the field, so positions do not move. Only
    for a check: arguments of `has` and fields compared with null stay unchanged.
    """
    tokens = tokens_of(text)
    loops = _loops(tokens)
    types: dict[str, str] = {}
    parts: list[str] = []
    done = 0
    for place, (kind, token, offset) in enumerate(tokens):
        if kind == "number" and offset >= done and not token.isdigit():
            parts += [text[done:offset], "1".ljust(len(token), "0")]  # a fraction is of any type, so that numbers mix
            done = offset + len(token)
        if kind != "name" or offset < done or (place and tokens[place - 1][1] == "."):
            continue
        inside = [loop for loop in loops if loop.variable == token and loop.begin < place < loop.end]
        whose = max(inside, key=lambda loop: loop.begin).whose if inside else token
        path, behind = _path(tokens, place + 1)
        depth = 0 if inside else _SHAPES[whose][-1][0] if whose in _TYPES else 0
        if whose not in _TYPES or len(path) != depth + 1 or (found := _TYPES[whose].get(path[-1][0])) is None:
            continue
        if _is_asked_for(tokens, place, behind):
            continue
        end = tokens[behind - 1][2] + len(tokens[behind - 1][1])
        name = f"_{found}".ljust(end - offset, "_")
        types[name] = found
        parts += [text[done:offset], name]
        done = end
    return "".join([*parts, text[done:]]), types


def _is_asked_for(tokens: list[Token], start: int, behind: int) -> bool:
    """Whether the tokens from `start` to `behind` are the argument of `has`, or are compared with null."""
    before = [token for _, token, _ in tokens[max(0, start - 3) : start]]
    after = [token for _, token, _ in tokens[behind : behind + 3]]
    return before[-2:] == ["has", "("] or before in _NULL_BEFORE or after in _NULL_AFTER


def _loops(tokens: list[Token]) -> list[_Loop]:
    runs = _loops_over_runs(tokens)
    return [
        _Loop(tokens[place + 3][1], place + 4, _closing(tokens, place + 2), runs.get(place, ""))
        for place in range(len(tokens))
        if _is_loop(tokens, place)
    ]


def _loops_over_runs(tokens: list[Token]) -> dict[int, str]:
    """Where loops over lists of runs start, and whose runs they are."""
    found: dict[int, str] = {}
    for start, (kind, token, _) in enumerate(tokens):
        if kind != "name" or token not in _LISTS or (start and tokens[start - 1][1] == "."):
            continue
        path, place = _path(tokens, start + 1)
        if len(path) != _LISTS[token]:
            continue
        while _is_loop(tokens, place):  # `.filter(r, ...)` returns runs; the result of `.map(r, ...)` is unknown
            found[place] = token
            if tokens[place + 1][1] != "filter":
                break
            place = _closing(tokens, place + 2) + 1
    return found


def _is_loop(tokens: list[Token], place: int) -> bool:
    texts = [token for _, token, _ in tokens[place : place + 5]]
    return len(texts) == 5 and texts[0] == "." and texts[1] in LOOPS and texts[2] == "(" and texts[4] == ","


def _closing(tokens: list[Token], place: int) -> int:
    """The token after the bracket that matches `place`, or after the last token without a match."""
    depth = 0
    for end in range(place, len(tokens)):
        kind, token, _ = tokens[end]
        if kind == "mark":
            depth += (token in "([{") - (token in ")]}")
        if depth == 0:
            return end
    return len(tokens)


def _path(tokens: list[Token], place: int) -> tuple[list[tuple[str, int]], int]:
    """The selection from a variable: names with their positions, "" for an index; and the next token."""
    found: list[tuple[str, int]] = []
    while place + 1 < len(tokens):
        if tokens[place][1] == "." and tokens[place + 1][0] == "name":
            if place + 2 < len(tokens) and tokens[place + 2][1] == "(":
                break
            found.append((tokens[place + 1][1], tokens[place + 1][2]))
            place += 2
        elif tokens[place][1] == "[" and place + 2 < len(tokens) and tokens[place + 2][1] == "]":
            found.append(("", tokens[place][2]))
            place += 3
        else:
            break
    return found, place
