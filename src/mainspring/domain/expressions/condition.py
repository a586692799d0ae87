"""Success conditions: CEL over one response, checked when written, compiled once, bounded when evaluated. Pure.

    status_code == 200 && body.queue_depth < 100 && duration_ms < 2000

`status_code` and `duration_ms` are integers, `headers` maps lower-case names to text, `body` is the parsed JSON, or
null if the body is not JSON or exceeds 64 levels or 10,000 values, `tls` is the certificate, or null without one. The
result is true, false, or the text of an error.

CEL stops loops after 10,000 rounds but does not bound the cost of a round: `[body.s].map(x, x+x)` twelve times over
took 640 MB in 154 characters. It holds the interpreter lock meanwhile, so no timeout and no thread helps. Therefore
each expression gets a worst case from its text, and a body whose size times that worst case exceeds WORK_MAX is an
error. Accepted expressions take at most about 50 ms; `tests/domain/test_condition_cost.py` measures it.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.expressions.arithmetic import arithmetic, compile_rewritten, rewritten
from mainspring.domain.expressions.borrowed_lists import lists_returned
from mainspring.domain.expressions.environment import new_environment
from mainspring.domain.expressions.map_order import (
    LOOPS,
    NO_RANGE,
    PIECES_FROM,
    ROUNDS_MAX,
    SPENT,
    in_order,
    in_pieces,
    ordered,
    pieces,
    tokens_of,
)
from mainspring.domain.expressions.matches_calls import too_long_search, wrong_search
from mainspring.domain.expressions.native_calls import compile_native
from mainspring.domain.text import clean_text

if TYPE_CHECKING:
    from cel_expr_python import cel

CHARS_MAX = 2_000
DEPTH_MAX = 64
NODES_MAX = 10_000
WORK_MAX = 20_000_000  # bytes read by loops, at 1 ns; 10 ns and 4 million at most if lists are built
ADDED_MAX = 6_000_000  # bytes read by additions of texts and lists, at 6 ns
GROWTH_MAX = 10_000  # beyond it even a body of 2 kB could not be evaluated
DECODED_BYTES_MAX = 64_000  # decoded within a millisecond, regardless of its content
DIGITS_MAX = 400  # of one number in a larger body: reading it takes longer the longer it is, squared
RUNS_MAX = 3 * NODES_MAX  # of digits: before the point, after it, and in the exponent
NODE_WORK = 20  # bytes' worth of work to pass one value to Python and back
CACHE_MAX = 1_024

VARIABLES = ("status_code", "headers", "body", "duration_ms", "tls")
SCALARS = frozenset({"status_code", "duration_ms", "ok", "failures", "endpoint", "now", "tls"})  # never large
WORDS = frozenset({"true", "false", "null", "in"})

_ONLY_DIGITS = bytes(each if each in b"0123456789" else 0x20 for each in range(256))
_PLACE = re.compile(r"<input>:(-?\d+):(-?\d+): ([^\n]+)")
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")


class Shape(msgspec.Struct, frozen=True):
    """The cost of an expression, as far as its text determines it."""

    reads_body: bool
    reads_headers: bool
    loops: int
    depth: int  # of loops within loops
    growth: float  # how many times its input the largest value may become
    added: float  # how many times its input all additions together may copy
    is_linear: bool  # every loop reads only its own element, so rounds add up and do not multiply
    names: frozenset[str]  # what it reads


def check_condition(text: str) -> None:
    """Raises InvalidInput(field="condition"), with line and column, unless `text` is a bounded boolean expression."""
    if len(text) > CHARS_MAX:
        raise _refused(f"is {len(text)} characters long; at most {CHARS_MAX} are allowed; shorten it")
    if clean_text(text, CHARS_MAX) != text:
        raise _refused("contains NUL or half a character; remove it")
    growth = shape_of(text).growth
    if growth > GROWTH_MAX:
        raise _refused(f"could make its input {growth:.0f} times as large; nest fewer loops or use fewer + in them")
    try:
        expression = compile_rewritten(_environment(), text)
    except RuntimeError as fault:
        words = fault_text(str(fault))
        place = " at " if words.startswith("line ") else ": "
        raise _refused(f"does not compile{place}{words}{way_out_of(words, VARIABLES)}") from None
    if wrong := wrong_search(text):
        raise _refused(wrong)
    returns = expression.return_type().name()
    if returns not in ("BOOL", "DYN"):
        raise _refused(f"returns {returns.lower()}; it must be true or false; compare it with something")


def evaluate(
    text: str,
    status_code: int,
    headers: tuple[tuple[str, str], ...],
    body: bytes,
    duration_ms: int,
    tls: Mapping[str, object] | None = None,
) -> bool | str:
    """True or false, or why the condition could not be evaluated."""
    shape = shape_of(text)
    value, nodes, size = None, 0, len(text)
    named: dict[str, str] = {}
    if shape.reads_body:
        value, nodes = parse_bounded(body)
        size += len(body)
    if shape.reads_headers:
        named = _joined(headers)
        size += sum(map(len, named.values()))
    if refused := too_much_work(shape, size, nodes):
        return f"the condition {refused}; let each loop read only its own element, or nest fewer loops"
    if refused := too_long_search(text, worst_work(shape, size, nodes), nodes, shape.depth):
        return f"the condition {refused}"
    data = {"status_code": status_code, "headers": named, "body": value, "duration_ms": duration_ms, "tls": tls}
    try:
        with lists_returned():
            answer = _compiled(text, is_large=nodes > PIECES_FROM).eval(data=data)
            kind, plain = answer.type().name(), answer.value()
    except RuntimeError as fault:  # what CEL raises for everything, including a used-up budget
        return fault_text(rewritten(text).fault(str(fault)))
    if kind == "ERROR":
        return fault_text(rewritten(text).fault(str(plain)))
    return plain if isinstance(plain, bool) else f"returns {kind.lower()}; it must be true or false"


def parse_bounded(data: bytes) -> tuple[object, int]:
    """The JSON value and the number of values in it; (None, 0) if it is not JSON, too deep or too large."""
    if len(data) > DECODED_BYTES_MAX and _is_beyond(data):
        return None, 0
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None, 0
    nodes = 0
    level: list[object] = [value]
    for _ in range(DEPTH_MAX):
        nodes += len(level)
        if nodes > NODES_MAX:
            return None, 0
        level = [child for parent in level if isinstance(parent, (dict, list)) for child in _children(parent)]
        if not level:
            return value, nodes
    return None, 0


def _is_beyond(data: bytes) -> bool:
    """Whether JSON surely has more than NODES_MAX values, or a number that takes long to read; nothing is built for it.

    A comma outside of texts parts two values, a bracket opens one, and a text is a value or the name of one. Texts are
    left out only if the data with them has too much of these: that takes longer than to read what is not.
    """
    if not _has_too_much(data):
        return False
    plain = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    if plain.count(b'"') > 4 * NODES_MAX:
        return True
    return _has_too_much(b"".join(plain.split(b'"')[::2]))


def _has_too_much(data: bytes) -> bool:
    if data.count(b",") >= NODES_MAX or data.count(b"[") + data.count(b"{") > NODES_MAX:
        return True
    runs = data.translate(_ONLY_DIGITS).split(None, RUNS_MAX)
    return len(runs) > RUNS_MAX or any(len(run) > DIGITS_MAX for run in runs)


@lru_cache(maxsize=CACHE_MAX)
def shape_of(text: str) -> Shape:
    """Reads the tokens once and counts loops, uses of large values, additions, and what loops read."""
    tokens = [(kind, token) for kind, token, _ in tokens_of(text)]
    loops = depth = mentions = additions = 0
    is_linear, names = True, set()
    scopes: list[str | None] = []  # for each open bracket: the loop variable it introduced, if it is a loop
    for place, (kind, token) in enumerate(tokens):
        before = tokens[place - 1][1] if place else ""
        after = tokens[place + 1][1] if place + 1 < len(tokens) else ""
        if token in "([{" and kind == "mark":
            is_loop = token == "(" and before in LOOPS and place > 1 and tokens[place - 2][1] == "."
            loops += is_loop
            scopes.append(after if is_loop else None)
            depth = max(depth, sum(variable is not None for variable in scopes))
        elif token in ")]}" and kind == "mark":
            if scopes:
                scopes.pop()
        elif token == "+" and kind == "mark":
            additions += 1
        elif kind == "name" and before != "." and after != "(" and token not in WORDS:
            if before == "(" and scopes[-1] == token and after == ",":
                continue  # where the loop variable is introduced
            names.add(token)
            if token in SCALARS:
                continue
            mentions += 1
            own = next((variable for variable in reversed(scopes) if variable is not None), token)
            is_linear = is_linear and token == own
    repeated = (mentions / loops + 1) ** loops if loops else 1
    added = 1 + additions * (additions + 1) / 2
    growth = max(repeated, added)
    return Shape("body" in names, "headers" in names, loops, depth, growth, added, is_linear, frozenset(names))


def worst_work(shape: Shape, size: int, nodes: int, *, all_nested: bool = False) -> float:
    """Rounds of nested loops multiply, those of other loops add up; with `all_nested` all multiply."""
    most = float(nodes + CHARS_MAX // 2)
    rounds = most**shape.loops if all_nested else shape.loops * most**shape.depth
    return size * shape.growth * (1 if shape.is_linear else min(ROUNDS_MAX, rounds))


def rewritten_work(shape: Shape, size: int, nodes: int) -> float:
    """The cost with our arithmetic functions: added lists go to Python and back, node by node."""
    return worst_work(shape, size, nodes) + (NODE_WORK * nodes * shape.growth if shape.growth > 1 else 0)


def too_much_work(shape: Shape, size: int, nodes: int) -> str:
    """Why an expression is not evaluated over values of this size; empty if it is."""
    if (work := rewritten_work(shape, size, nodes)) > WORK_MAX:
        return f"may touch {work:.0f} bytes for responses of {size}; at most {WORK_MAX} are allowed"
    if shape.added > 1 and (work := shape.added * (size + NODE_WORK * nodes)) > ADDED_MAX:
        return f"may add up {work:.0f} bytes for responses of {size}; at most {ADDED_MAX} are allowed"
    return ""


def _children(parent: dict[str, object] | list[object]) -> list[object]:
    return parent if isinstance(parent, list) else list(parent.values())


def _joined(headers: tuple[tuple[str, str], ...]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        joined[key] = f"{joined[key]}, {value}" if key in joined else value
    return joined


@lru_cache(maxsize=2)
def _environment(*, binds: bool = False) -> "cel.Env":
    from cel_expr_python import cel  # takes 40 ms; delayed until the first condition

    kinds = cel.Type
    headers = kinds.Map(kinds.STRING, kinds.STRING)
    return new_environment(
        {"status_code": kinds.INT, "headers": headers, "body": kinds.DYN, "duration_ms": kinds.INT, "tls": kinds.DYN},
        [in_order(), *pieces(), *arithmetic()],
        binds=binds,
    )


@lru_cache(maxsize=CACHE_MAX)
def _compiled(text: str, is_large: bool) -> "cel.Expression":
    walked = ordered(rewritten(text).text)
    return compile_native(_environment(binds=True), in_pieces(walked) if is_large else walked)


def fault_text(message: str) -> str:
    """CEL's message without its codes and drawing: `line 1, column 3: undeclared reference to 'foo'`."""
    if found := _PLACE.search(message):
        fault = found[3].partition(" expecting {")[0].removesuffix(" (in container '')")
        place = f"line {found[1]}, column {found[2]}: " if found[1] != "-1" else ""
        return clean_text(place + fault.removesuffix(" [INVALID_ARGUMENT]"), 300)
    if "in_order_" in message:
        return NO_RANGE
    if SPENT in message:
        return SPENT
    return clean_text(_STATUS.sub("", message.split("\n", 1)[0]), 300)


def way_out_of(words: str, known: tuple[str, ...]) -> str:
    """The fix for a common mistake, an unknown name or `=` for `==`; otherwise empty."""
    if "token recognition error at: '=" in words:
        return "; equal is written =="
    name = words.partition("undeclared reference to '")[2].partition("'")[0].partition(".")[0]
    return (did_you_mean(name, known) or f"; known names are {', '.join(known)}") if name else ""


def _refused(what: str) -> InvalidInput:
    return InvalidInput(f"the condition {what}", field="condition")
