"""CEL over one execution: `input`, `vars`, `steps`, `events`, `event`, `tick`. Checked when written, bounded when used.

The rule that must not break: the same expression over the same values gives the same result everywhere. Loops walk maps
in one order (`map_order`), and the zone argument of `getHours` and its relatives is refused because zone data differ
between machines. Texts of failures at run time are written into logs and must not change.
"""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from mainspring.domain.errors import did_you_mean
from mainspring.domain.expressions.borrowed_lists import lists_returned
from mainspring.domain.expressions.condition import (
    CACHE_MAX,
    CHARS_MAX,
    GROWTH_MAX,
    WORK_MAX,
    fault_text,
    shape_of,
    worst_work,
)
from mainspring.domain.expressions.environment import new_environment
from mainspring.domain.expressions.map_order import PIECES_FROM, in_order, in_pieces, ordered, pieces, tokens_of
from mainspring.domain.expressions.matches_calls import has_search, too_long_search, values_in, wrong_search
from mainspring.domain.expressions.native_calls import compile_native
from mainspring.domain.text import clean_text

if TYPE_CHECKING:
    from cel_expr_python import cel

WITHIN: Final = ("input", "contact", "vars", "steps", "events", "tick")
ROOTS: Final = (
    *WITHIN,
    "event",
)  # a single event exists only where one is evaluated: in `wait_for.where`, in a trigger
ZONED: Final = frozenset(
    "getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds "
    "getMilliseconds".split()
)
DEPTH_MAX: Final = 64
PIECES_FROM_BYTES: Final = 2 * PIECES_FROM  # an element has two bytes of JSON at least
INPUTS: Final = ("input", "contact")
_KINDS: Final = {"text": "STRING", "integer": "INT", "number": "DOUBLE", "boolean": "BOOL"}
_BARE: Final = re.compile(r"(?:input|contact)\.\w+")
_MIXED: Final = re.compile(r"'_[-+*/%]_' applied to '\((?:double, int|int, double)\)'")
_NO_FIELDS: Final = "Applying SELECT to non-message type"  # CEL's words for a field of a value that is not a map


class Failure(NamedTuple):
    """Why an expression has no value."""

    text: str


class Names(NamedTuple):
    """What an expression may refer to: variables and their content; None: anything. `types` are the declared types
    of inputs, used to refuse wrong uses.
    """

    steps: tuple[str, ...] | None = None
    vars: tuple[str, ...] | None = None
    input: tuple[str, ...] | None = None
    roots: tuple[str, ...] = ROOTS
    types: tuple[tuple[str, str], ...] = ()


class Values(dict[str, object]):
    """The variables of an execution of format 2: failures name the missing field, and inputs declared as `number`
    (`numbers`) are fractions in every expression that does more than read them. From format 3 on, loops that build
    lists are evaluated in pieces, and only nested loops multiply their cost.
    """

    __slots__ = ("in_pieces", "numbers")

    def __init__(self, values: Mapping[str, object], numbers: frozenset[str], *, in_pieces: bool = False) -> None:
        super().__init__(values)
        self.numbers = numbers
        self.in_pieces = in_pieces

    def seen_by(self, text: str) -> Mapping[str, object]:
        if not self.numbers or _BARE.fullmatch(text.strip()):
            return self
        return {name: self._with_fractions(value) if name in INPUTS else value for name, value in self.items()}

    def _with_fractions(self, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {key: float(item) if key in self.numbers and _is_whole(item) else item for key, item in value.items()}


def check_expression(text: str, names: Names, *, is_condition: bool) -> str:
    """What is wrong with `text`, with the fix, or "" if it is valid."""
    if not text.strip():
        return "is empty; write a CEL expression such as vars.count > 3"
    if len(text) > CHARS_MAX:
        return f"is {len(text)} characters long; at most {CHARS_MAX} are allowed; shorten it"
    if clean_text(text, CHARS_MAX) != text:
        return "contains NUL or half a character; remove it"
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
        return f"returns {returns.lower()}; it must be true or false; compare it with something"
    return wrong_search(text) or _wrong_name(text, names) or _wrong_type(text, names)


def evaluate(text: str, data: Mapping[str, object], size: int) -> object:
    """The value as plain data, or a Failure. `size` is the size of the values in `data` as JSON, in bytes."""
    if not isinstance(data, Values):
        return _evaluate(text, data, size, in_pieces=False)
    answer = _evaluate(text, data.seen_by(text), size, in_pieces=data.in_pieces)
    return Failure(_missing(text, data, answer.text)) if isinstance(answer, Failure) else answer


def _evaluate(text: str, data: Mapping[str, object], size: int, *, in_pieces: bool) -> object:
    shape = shape_of(text)
    # Up to format 2, executions failed where loops that are not nested read much; their logs must replay.
    work = worst_work(shape, size + len(text), size if shape.loops else 0, all_nested=not in_pieces)
    if work > WORK_MAX:
        return Failure(f"may touch {work:.0f} bytes; at most {WORK_MAX} are allowed; nest fewer loops")
    if has_search(text):
        nodes = values_in(dict(data)) if shape.loops else 0
        if refused := too_long_search(text, worst_work(shape, size + len(text), nodes), nodes, shape.depth):
            return Failure(refused)
    try:
        with lists_returned():
            answer = _compiled(text, in_pieces and size > PIECES_FROM_BYTES).eval(data=data)
            kind, plain = answer.type().name(), answer.plain_value()
    except (
        RuntimeError,
        OverflowError,
        ValueError,
        TypeError,
    ) as fault:  # a used-up budget, or a number beyond 64 bits
        return Failure(fault_text(str(fault)))
    if kind == "ERROR":
        return Failure(fault_text(str(plain)))
    return _plain(plain, 0)


def judge(text: str, data: Mapping[str, object], size: int) -> bool | Failure:
    """The result of a condition: true, false, or why it could not be evaluated."""
    answer = evaluate(text, data, size)
    if isinstance(answer, bool | Failure):
        return answer
    return Failure(f"gives {type(answer).__name__}; it must be true or false")


def roots_of(text: str) -> frozenset[str]:
    """The variables that an expression reads, so that no others need to be passed."""
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


def _wrong_type(text: str, names: Names) -> str:
    """Wrong uses of the declared types of inputs; `has(input.x)` and deeper fields are not checked."""
    types = {name: kind for name, kind in names.types if kind in _KINDS}
    used = [each for each in _paths(text) if len(each.names) == 1 and each.root in INPUTS and each.names[0] in types]
    if not used:
        return ""
    parts, done = [], 0
    for each in used:
        parts += [text[done : each.first], f"input_{each.names[0]}"]
        done = each.end
    try:
        _environment(names.roots, tuple(sorted((each.names[0], types[each.names[0]]) for each in used))).compile(
            "".join([*parts, text[done:]])
        )
    except RuntimeError as fault:
        declared = ", ".join(dict.fromkeys(f"input.{each.names[0]} is {types[each.names[0]]}" for each in used))
        if "number" in {types[each.names[0]] for each in used}:
            return _wrong_arithmetic(str(fault), declared)
        return (
            f"does not fit the declared types: {_without_place(fault_text(str(fault)))}, where {declared}; change one"
        )
    return ""


def _wrong_arithmetic(fault: str, declared: str) -> str:
    """A fraction may be compared with a whole number, but not added to one."""
    if _MIXED.search(fault):
        return f"mixes a number with a whole one, where {declared}; write whole ones with a point, such as 1.0"
    return ""


def _without_place(words: str) -> str:
    """Removes positions, which refer to a text that the author did not write."""
    return words.partition(": ")[2] if words.startswith("line ") else words


class _Path(NamedTuple):
    """`root.name.name` in a text, outside of has(), without a method at the end."""

    root: str
    names: tuple[str, ...]
    first: int
    end: int


def _paths(text: str) -> list[_Path]:
    tokens = tokens_of(text)
    found = []
    for place, (kind, root, first) in enumerate(tokens):
        before = [each for _, each, _ in tokens[max(0, place - 2) : place]]
        if kind != "name" or root not in ROOTS or before[-1:] == ["."] or before == ["has", "("]:
            continue
        names, at, end = [], place + 1, first + len(root)
        while at + 1 < len(tokens) and tokens[at][1] == "." and tokens[at + 1][0] == "name":
            if at + 2 < len(tokens) and tokens[at + 2][1] == "(":
                break
            names.append(tokens[at + 1][1])
            end = tokens[at + 1][2] + len(tokens[at + 1][1])
            at += 2
        found.append(_Path(root, tuple(names), first, end))
    return found


def _missing(text: str, data: Mapping[str, object], said: str) -> str:
    """The failure with the full path of the missing field, if that is the cause."""
    for path in _paths(text):
        value, way = data.get(path.root), path.root
        for name in path.names:
            if not isinstance(value, dict):
                if _NO_FIELDS in said:
                    return f"{way}.{name} is missing, because {way} is {_kind_of(value)} and has no fields"
                break
            if name not in value:
                if f'"{name}"' in said:
                    known = ", ".join(sorted(map(str, value))[:10]) or "no fields"
                    return f"{way}.{name} is missing; {way} has {known}; use has({way}.{name}) where it may be"
                break
            value, way = value[name], f"{way}.{name}"
    return said


def _kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case _:
            return "a list"


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


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


@lru_cache(maxsize=1_000)
def _environment(
    roots: tuple[str, ...] = ROOTS,
    types: tuple[tuple[str, str], ...] = (),
    *,
    in_pieces: bool = False,
    binds: bool = False,
) -> "cel.Env":
    from cel_expr_python import cel  # takes 40 ms; delayed until the first expression

    kinds = cel.Type
    variables = {root: kinds.INT if root == "tick" else kinds.DYN for root in roots}
    variables |= {f"input_{name}": getattr(kinds, _KINDS[kind]) for name, kind in types}
    return new_environment(variables, [in_order(), *(pieces() if in_pieces else ())], binds=binds)


@lru_cache(maxsize=CACHE_MAX)
def _compiled(text: str, is_large: bool) -> "cel.Expression":
    walked = in_pieces(ordered(text)) if is_large else ordered(text)
    return compile_native(_environment(in_pieces=is_large, binds=True), walked)


@lru_cache(maxsize=CACHE_MAX)
def _compiled_roots(text: str) -> frozenset[str]:
    return frozenset(token for kind, token, _ in tokens_of(text) if kind == "name" and token in ROOTS)
