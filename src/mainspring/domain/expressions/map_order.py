"""Split expressions into tokens, loop over maps in one order, and run long loops in pieces. Pure.

CEL walks a map in an order that differs between processes. So the range of every loop passes through `in_order_()`,
which lists the keys of a map sorted. The rule that must not break: the same expression over the same values gives the
same result in every process and in every replay.

CEL copies the list that `map` and `filter` build with every element it adds: 9,000 elements took 1.6 s. So conditions
and rules over large values walk their range in pieces (`in_pieces`): 9,000 elements take 25 ms. Workflows do not: their
recordings must replay with the same count of rounds.
"""

import re
from math import isqrt
from typing import TYPE_CHECKING

from mainspring.domain.expressions.borrowed_lists import lending

if TYPE_CHECKING:
    from cel_expr_python import cel

LOOPS = frozenset({"all", "exists", "exists_one", "map", "filter"})
BUILDERS = frozenset({"map", "filter"})  # the loops that build a list
SPENT = "Iteration budget exceeded"  # CEL's words, after the work
TOO_LONG = "loops over"
NO_RANGE = "loops over what is neither a list nor a map"
PIECE = "piece__"
PIECES_FROM = 300  # elements; up to here copying costs less than 3 ms, and pieces would cost more
# Python joins the pieces and cannot return values of these types.
NOT_JOINED = frozenset({"uint", "type", "timestamp", "duration", "now", PIECE})
UNCUT_MAX = 1_500  # elements of a list that is built in one piece: 45 ms
ROUNDS_MAX = 10_000  # where CEL itself stops a loop

TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*)
  | (?P<text>[bBrR]{0,2}(?:'{3}(?:\\.|[^\\])*?'{3}|"{3}(?:\\.|[^\\])*?"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
  | (?P<number>\d[\w.]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<mark>[^\s])
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens_of(text: str) -> list[tuple[str, str, int]]:
    """The kind, text and position of every token except comments."""
    found = TOKEN.finditer(text)
    return [(str(each.lastgroup), each.group(), each.start()) for each in found if each.lastgroup != "comment"]


def ordered(text: str, lists: frozenset[str] = frozenset()) -> str:
    """Rewrites `range.map(x, ...)` as `range.in_order_().map(x, ...)`, for every kind of loop.

    Variables in `lists` are lists, or maps of lists: loops over them are already in order and stay unchanged.
    """
    tokens = tokens_of(text)
    parts: list[str] = []
    done = 0
    texts = [token for _, token, _ in tokens]
    shadowed = {texts[at + 3] for at in range(len(texts) - 3) if _is_loop(texts, at)}
    for at, (_, _, place) in enumerate(tokens):
        if _is_loop(texts, at) and not _is_list(texts[:at], lists - shadowed):
            parts += [text[done:place], ".in_order_()"]
            done = place
    return "".join([*parts, text[done:]])


def in_pieces(text: str) -> str:
    """Rewrites `range.map(x, ...)` as `range.in_pieces_().map(piece__, piece__.map(x, ...)).joined_()`; `filter` too.

    If a loop may build a list of values that Python cannot return, its range is `range.in_one_()` instead, which
    refuses long ones.
    """
    tokens = tokens_of(text)
    texts = [token for _, token, _ in tokens]
    is_cut = _may_be_cut(tokens)
    closed_at = closings(texts)
    before: dict[int, str] = {}  # text to insert before a token
    after: dict[int, str] = {}
    for at in range(len(texts)):
        if _is_loop(texts, at) and texts[at + 1] in BUILDERS:
            before[at] = f".in_pieces_().map({PIECE}, {PIECE}" if is_cut else ".in_one_()"
            closed = closed_at[at + 2]
            after[closed] = after.get(closed, "") + (").joined_()" if is_cut else "")
    parts: list[str] = []
    done = 0
    for at, (_, token, place) in enumerate(tokens):
        parts += [text[done:place], before.get(at, ""), token, after.get(at, "")]
        done = place + len(token)
    return "".join([*parts, text[done:]])


def _may_be_cut(tokens: list[tuple[str, str, int]]) -> bool:
    """Whether no `map`, list or map holds a value of another type; what a `filter` or `all` reads is not kept."""
    texts = [token for _, token, _ in tokens]
    kept: list[bool | None] = []  # for each open bracket: whether its content is kept; None: as outside
    for at, (kind, token, _) in enumerate(tokens):
        if kind == "mark" and token in "([{":
            is_loop = at > 1 and _is_loop(texts, at - 2)
            kept.append(texts[at - 1] == "map" if is_loop else token != "(" or None)
        elif kind == "mark" and token in ")]}":
            kept[-1:] = []
        is_other = (kind == "name" and token in NOT_JOINED) or (kind == "number" and token[-1] in "uU")
        if is_other and next((each for each in reversed(kept) if each is not None), False):
            return False
    return True


def closings(texts: list[str]) -> dict[int, int]:
    """The position of the closing bracket for each opening one; the last token if it is missing, which CEL refuses."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for at, token in enumerate(texts):
        if token in ("(", "[", "{"):
            opened.append(at)
            found[at] = len(texts) - 1
        elif token in (")", "]", "}") and opened:
            found[opened.pop()] = at
    return found


def _is_loop(texts: list[str], at: int) -> bool:
    return len(texts) > at + 2 and texts[at] == "." and texts[at + 1] in LOOPS and texts[at + 2] == "("


def _is_list(texts: list[str], lists: frozenset[str]) -> bool:
    """Whether the expression that ends here is one of `lists`, an element of one by a literal name, or a filter of one.

    For example `runs`, `window["1h"]` and `runs.filter(r, r.ok)`.
    """
    if not lists or not texts:
        return False
    if texts[-1] == ")":
        opened = len(texts) - 1
        depth = 1
        while depth and opened:
            opened -= 1
            depth += (texts[opened] == ")") - (texts[opened] == "(")
        return texts[opened - 2 : opened] == [".", "filter"] and _is_list(texts[: opened - 2], lists)
    if len(texts) > 3 and texts[-1] == "]" and texts[-2][:1] in ("'", '"') and texts[-3] == "[":
        texts = texts[:-3]
    return texts[-1] in lists and (len(texts) == 1 or texts[-2] != ".")


def in_order() -> "cel.FunctionDecl":
    """The function that ordered texts call, for the environment they are compiled in."""
    from cel_expr_python import cel  # takes 40 ms; delayed until the first expression

    kinds = cel.Type
    some = kinds.List(kinds.DYN)
    overloads = [
        cel.Overload(
            "in_order_map", some, [kinds.Map(kinds.DYN, kinds.DYN)], is_member=True, impl=lending(_sorted_keys)
        ),
        cel.Overload("in_order_list", some, [some], is_member=True, impl=lending(_as_it_is)),
    ]
    return cel.FunctionDecl("in_order_", overloads)


def pieces() -> "list[cel.FunctionDecl]":
    """The functions that texts in pieces call."""
    from cel_expr_python import cel  # takes 40 ms; delayed until the first expression

    kinds = cel.Type
    some = kinds.List(kinds.DYN)
    return [
        cel.FunctionDecl(name, [cel.Overload(f"{name}list", some, [some], is_member=True, impl=lending(act))])
        for name, act in (("in_pieces_", _cut), ("joined_", _joined), ("in_one_", _in_one))
    ]


def _cut(values: list[object]) -> list[list[object]]:
    """As many pieces as each has elements, which minimises copying."""
    if len(values) > ROUNDS_MAX:
        raise RuntimeError(SPENT)
    size = len(values) if len(values) <= PIECES_FROM else isqrt(len(values)) + 1
    return [values[at : at + size] for at in range(0, len(values), size or 1)]


def _in_one(values: list[object]) -> list[object]:
    if len(values) > UNCUT_MAX:
        raise ValueError(f"{TOO_LONG} {len(values)} elements; at most {UNCUT_MAX} where it builds instants or `uint`")
    return values


def _joined(parts: list[list[object]]) -> list[object]:
    return [value for part in parts for value in part]


def _sorted_keys(value: dict[object, object]) -> list[object]:
    return sorted(value, key=lambda key: (type(key).__name__, key))


def _as_it_is(value: list[object]) -> list[object]:
    return value
