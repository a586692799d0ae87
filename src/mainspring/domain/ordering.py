"""Expressions as tokens, and loops over maps in one order. Pure.

CEL walks a map in an order that differs from process to process. So every loop is given its range through
`in_order_()`, which lists the keys of a map sorted: the same expression over the same values gives the same answer
everywhere, today and when it is replayed.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cel_expr_python import cel

LOOPS = frozenset({"all", "exists", "exists_one", "map", "filter"})
NO_RANGE = "loops over what is neither a list nor a map"

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
    """The kind, the text and the place of every token but comments."""
    found = TOKEN.finditer(text)
    return [(str(each.lastgroup), each.group(), each.start()) for each in found if each.lastgroup != "comment"]


def ordered(text: str) -> str:
    """`range.map(x, ...)` as `range.in_order_().map(x, ...)`, for every kind of loop."""
    tokens = tokens_of(text)
    parts: list[str] = []
    done = 0
    for (_, dot, place), (_, loop, _), (_, bracket, _) in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if dot == "." and loop in LOOPS and bracket == "(":
            parts += [text[done:place], ".in_order_()"]
            done = place
    return "".join([*parts, text[done:]])


def in_order() -> "cel.FunctionDecl":
    """The function that ordered texts call, for the environment they are compiled in."""
    from cel_expr_python import cel  # 40 ms; not before the first expression

    kinds = cel.Type
    some = kinds.List(kinds.DYN)
    overloads = [
        cel.Overload("in_order_map", some, [kinds.Map(kinds.DYN, kinds.DYN)], is_member=True, impl=_sorted_keys),
        cel.Overload("in_order_list", some, [some], is_member=True, impl=_as_it_is),
    ]
    return cel.FunctionDecl("in_order_", overloads)


def _sorted_keys(value: dict[object, object]) -> list[object]:
    return sorted(value, key=lambda key: (type(key).__name__, key))


def _as_it_is(value: list[object]) -> list[object]:
    return value
