"""CEL over one execution: `input`, `vars`, `steps`, `events`, `event`, `tick`. Checked when written, bounded when used.

The same expression over the same values gives the same answer everywhere: loops walk maps in one order (`ordering`).
For the same reason the zone argument of `getHours` and its kin is refused: zone data differ from machine to machine.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from mainspring.domain.condition import (
    CACHE_MAX,
    CHARS_MAX,
    GROWTH_MAX,
    WORK_MAX,
    fault_text,
    shape_of,
    worst_work,
)
from mainspring.domain.errors import did_you_mean
from mainspring.domain.ordering import in_order, ordered, tokens_of
from mainspring.domain.text import clean_text

if TYPE_CHECKING:
    from cel_expr_python import cel

WITHIN: Final = ("input", "contact", "vars", "steps", "events", "tick")
ROOTS: Final = (*WITHIN, "event")  # one event alone is there where one is looked at: in `wait_for.where`, in a trigger
ZONED: Final = frozenset(
    "getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds "
    "getMilliseconds".split()
)
DEPTH_MAX: Final = 64


class Failure(NamedTuple):
    """Why an expression has no value."""

    text: str


class Names(NamedTuple):
    """What an expression may refer to: which variables, and what in them; None: anything."""

    steps: tuple[str, ...] | None = None
    vars: tuple[str, ...] | None = None
    input: tuple[str, ...] | None = None
    roots: tuple[str, ...] = ROOTS


def check_expression(text: str, names: Names, *, is_condition: bool) -> str:
    """What is wrong with `text`, with the way out, or "" where nothing is."""
    if not text.strip():
        return "is empty; write a CEL expression such as vars.count > 3"
    if len(text) > CHARS_MAX:
        return f"is {len(text)} characters long; at most {CHARS_MAX} are allowed; shorten it"
    if clean_text(text, CHARS_MAX) != text:
        return "contains NUL or half a character; leave it out"
    growth = shape_of(text).growth
    if growth > GROWTH_MAX:
        return f"could make its input {growth:.0f} times as large; nest fewer loops or use fewer + in them"
    try:
        returns = _environment(names.roots).compile(text).return_type().name()
    except RuntimeError as fault:
        words = fault_text(str(fault))
        root = words.partition("undeclared reference to '")[2].partition("'")[0]
        known = _suggestion(root.partition(".")[0], names)
        return f"does not compile{' at ' if words.startswith('line ') else ': '}{words}{known}"
    if is_condition and returns not in ("BOOL", "DYN"):
        return f"gives {returns.lower()}; it must be true or false; compare it with something"
    return _wrong_name(text, names)


def evaluate(text: str, data: Mapping[str, object], size: int) -> object:
    """The value as plain data, or a Failure. `size` is how many bytes the values in `data` take as JSON."""
    shape = shape_of(text)
    work = worst_work(shape, size + len(text), size if shape.loops else 0)
    if work > WORK_MAX:
        return Failure(f"may touch {work:.0f} bytes; at most {WORK_MAX} are allowed; nest fewer loops")
    try:
        answer = _compiled(text).eval(data=data)
        kind, plain = answer.type().name(), answer.plain_value()
    except (RuntimeError, OverflowError, ValueError, TypeError) as fault:  # a spent budget, or a number beyond 64 bits
        return Failure(fault_text(str(fault)))
    if kind == "ERROR":
        return Failure(fault_text(str(plain)))
    return _plain(plain, 0)


def judge(text: str, data: Mapping[str, object], size: int) -> bool | Failure:
    """The same for a condition: true, false, or why it could not be judged."""
    answer = evaluate(text, data, size)
    if isinstance(answer, bool | Failure):
        return answer
    return Failure(f"gives {type(answer).__name__}; it must be true or false")


def roots_of(text: str) -> frozenset[str]:
    """Which of our variables an expression reads: no others need be handed over."""
    return _compiled_roots(text)


def _plain(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else Failure("gives a number that is not finite; guard the division")
    if depth > DEPTH_MAX:
        return Failure(f"is nested more than {DEPTH_MAX} deep; flatten it")
    if isinstance(value, list):
        items = [_plain(item, depth + 1) for item in value]
        return next((item for item in items if isinstance(item, Failure)), items)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            return Failure("gives a map with keys that are not text; use string(key)")
        pairs = {key: _plain(value[key], depth + 1) for key in sorted(value)}
        return next((item for item in pairs.values() if isinstance(item, Failure)), pairs)
    return Failure(f"gives {type(value).__name__}; only text, numbers, true, false, null, lists and maps can be kept")


def _wrong_name(text: str, names: Names) -> str:
    tokens = tokens_of(text)
    for place, (kind, token, _) in enumerate(tokens):
        after = [each for _, each, _ in tokens[place + 1 : place + 3]]
        if kind == "name" and token in ZONED and after[:1] == ["("] and after[1:] != [")"]:
            return f"gives {token} a time zone, whose rules differ between machines; leave it out and use UTC"
        before = tokens[place - 1][1] if place else ""
        if kind != "name" or before == "." or after[:1] not in (["."], ["["]) or len(after) < 2:
            continue
        known = {"steps": names.steps, "vars": names.vars, "input": names.input, "contact": names.input}.get(token)
        name = after[1].strip("'\"") if after[0] == "[" and after[1][:1] in "'\"" else after[1]
        is_named = after[0] == "." or after[1][:1] in "'\""
        if known is not None and is_named and name not in known:
            what = {"steps": "step", "vars": "variable"}.get(token, "input")
            rule = {"steps": "steps", "vars": "`set` steps set"}.get(token, "`input` declares")
            return (
                f"refers to the unknown {what} {name!r}{did_you_mean(name, known) or ';'} "
                f"{rule} {', '.join(known[:10]) or 'none'}{', ...' if len(known) > 10 else ''}"
            )
    return ""


def _suggestion(root: str, names: Names) -> str:
    if not root:
        return ""
    if names.input and root in names.input:
        return f", did you mean 'input.{root}'?"
    if names.vars and root in names.vars:
        return f", did you mean 'vars.{root}'?"
    if root in ROOTS:
        return f"; here it may read {', '.join(names.roots)}"
    return did_you_mean(root, names.roots) or f"; there are {', '.join(names.roots)}"


@lru_cache
def _environment(roots: tuple[str, ...] = ROOTS) -> "cel.Env":
    from cel_expr_python import cel  # 40 ms; not before the first expression

    kinds = cel.Type
    variables = {root: kinds.INT if root == "tick" else kinds.DYN for root in roots}
    return cel.NewEnv(variables=variables, functions=[in_order()])


@lru_cache(maxsize=CACHE_MAX)
def _compiled(text: str) -> "cel.Expression":
    return _environment().compile(ordered(text))


@lru_cache(maxsize=CACHE_MAX)
def _compiled_roots(text: str) -> frozenset[str]:
    return frozenset(token for kind, token, _ in tokens_of(text) if kind == "name" and token in ROOTS)
