"""Make arithmetic in conditions work as people expect: whole and fractional numbers mix, and 95 / 100 is 0.95. Pure.

CEL has no operator for an integer and a double, and divides integers to integers. Numbers in a body may be either, so
without this `body.used / body.total > 0.9` would never be true. A condition is therefore rewritten before it is
compiled:

    a + b, a - b, a * b, a / b, a % b     add_(a, b) ... with an overload for each pair of types
    a < b, ... where a side may be double   lt_(a, b) ...; a == b as dyn(a) == dyn(b)
    has(body.x)                           (has(body.x) && body.x != null): a null field counts as missing

Text that this module cannot parse stays unchanged, for CEL to refuse. Errors are reported at the position in the text
as written. Workflows must not use this: their logs must replay as recorded.
"""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from mainspring.domain.expressions.borrowed_lists import lending
from mainspring.domain.expressions.window_functions import FUNCTIONS

if TYPE_CHECKING:
    from cel_expr_python import cel

DEPTH_MAX = 60  # brackets; CEL allows some more, and then the text stays unchanged
INT_MAX = 2**63
BEYOND = "the number is beyond 64 bits"

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<text>[bBrR]{0,2}(?:'{3}(?:\\.|[^\\])*?'{3}|"{3}(?:\\.|[^\\])*?"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<number>0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<mark>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_LEVELS = {
    "||": 1,
    "&&": 2,
    "<": 3,
    "<=": 3,
    ">": 3,
    ">=": 3,
    "==": 3,
    "!=": 3,
    "in": 3,
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
    "%": 5,
}
_ARITHMETIC = {"+": "add_", "-": "sub_", "*": "mul_", "/": "div_", "%": "mod_"}
_ORDER = {"<": "lt_", "<=": "le_", ">": "gt_", ">=": "ge_"}
_OPERATORS = {name: f"_{mark}_" for mark, name in (_ARITHMETIC | _ORDER).items()}
_CALLED = re.compile(r"\b(add_|sub_|mul_|div_|mod_|lt_|le_|gt_|ge_)")
_DOUBLES = frozenset({"double", *FUNCTIONS})  # what they return
_AT = re.compile(r"<input>:(\d+):(\d+): ")


class Piece(Struct, frozen=True):
    text: str
    origin: int  # position in the text as written


class ExpressionNode(Struct, frozen=True):
    pieces: tuple[Piece, ...]
    may_be_double: bool = False  # by its form: CEL would refuse to compare it with an integer


class Rewritten(Struct, frozen=True):
    """A condition as it is compiled, and the origin of each part."""

    text: str
    source: str
    pieces: tuple[Piece, ...]

    def fault(self, message: str) -> str:
        """Translates CEL's message about this text to positions in the text as written."""

        def moved(found: re.Match[str]) -> str:
            origin = self._origin(int(found[1]), int(found[2]))
            line = self.source.count("\n", 0, origin) + 1
            return f"<input>:{line}:{origin - self.source.rfind(chr(10), 0, origin)}: "

        named = _CALLED.sub(lambda name: _OPERATORS[name[1]], _AT.sub(moved, message))
        return named.replace("integer overflow", BEYOND)

    def _origin(self, line: int, column: int) -> int:
        lines = self.text.split("\n")
        offset = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
        for piece in self.pieces:
            if offset < len(piece.text):
                return piece.origin + (offset if self.source.startswith(piece.text, piece.origin) else 0)
            offset -= len(piece.text)
        return len(self.source)


@lru_cache(maxsize=1_024)
def rewritten(text: str) -> Rewritten:
    try:
        pieces = _Reader(text).whole().pieces
    except _Unreadable:
        pieces = (Piece(text, 0),)
    return Rewritten("".join(piece.text for piece in pieces), text, pieces)


def compile_rewritten(environment: "cel.Env", text: str) -> "cel.Expression":
    """Raises RuntimeError, as CEL does, about the text as written."""
    try:
        return environment.compile(rewritten(text).text)
    except RuntimeError as fault:
        if "recursion" in str(fault):
            environment.compile(text)  # CEL's message about the text as written is better
        raise RuntimeError(rewritten(text).fault(str(fault))) from None


def arithmetic() -> "list[cel.FunctionDecl]":
    """The functions that rewritten texts call, for the environment they are compiled in."""
    from cel_expr_python import cel  # takes 40 ms; delayed until the first expression

    kinds = cel.Type
    whole, double = kinds.INT, kinds.DOUBLE
    span, instant, some = kinds.DURATION, kinds.TIMESTAMP, kinds.List(kinds.DYN)
    mixed = [(double, double), (whole, double), (double, whole)]

    def declared(name: str, act: Callable[..., object], *overloads: "tuple[cel.Type, ...]") -> "cel.FunctionDecl":
        made = [
            cel.Overload(f"{name}{place}", returns, [left, right], is_member=False, impl=lending(act))
            for place, (left, right, returns) in enumerate(overloads)
        ]
        return cel.FunctionDecl(name, made)

    def numeric(name: str, act: Callable[..., object], *more: "tuple[cel.Type, ...]") -> "cel.FunctionDecl":
        return declared(name, act, (whole, whole, whole), *((*pair, double) for pair in mixed), *more)

    ordered = [(kind, kind) for kind in (whole, kinds.STRING, kinds.BOOL, kinds.BYTES, span, instant)] + mixed
    joined = [(kind, kind, kind) for kind in (kinds.STRING, kinds.BYTES, span, some)]
    return [
        numeric("add_", _add, *joined, (instant, span, instant), (span, instant, instant)),
        numeric("sub_", _sub, (span, span, span), (instant, span, instant), (instant, instant, span)),
        numeric("mul_", _mul),
        numeric("mod_", _mod),
        declared("div_", _div, (whole, whole, double), *((*pair, double) for pair in mixed)),
        *(
            declared(name, act, *((*pair, kinds.BOOL) for pair in ordered))
            for name, act in (("lt_", _lt), ("le_", _le), ("gt_", _gt), ("ge_", _ge))
        ),
    ]


def _add(left: "float", right: "float") -> object:
    return _bounded(left + right)


def _sub(left: "float", right: "float") -> object:
    return _bounded(left - right)


def _mul(left: "float", right: "float") -> object:
    return _bounded(left * right)


def _div(left: "float", right: "float") -> float:
    if right == 0:
        raise ValueError("divide by zero")
    return left / right


def _mod(left: "float", right: "float") -> object:
    """The remainder has the sign of the dividend, as in CEL."""
    if right == 0:
        raise ValueError("modulus by zero")
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return rest if left >= 0 else -rest
    return math.fmod(left, right)


def _lt(left: "float", right: "float") -> bool:
    return left < right


def _le(left: "float", right: "float") -> bool:
    return left <= right


def _gt(left: "float", right: "float") -> bool:
    return left > right


def _ge(left: "float", right: "float") -> bool:
    return left >= right


def _bounded(value: object) -> object:
    if isinstance(value, int) and not -INT_MAX <= value < INT_MAX:
        raise ValueError(BEYOND)
    return value


class _Unreadable(Exception):
    """The text is not an expression that this parser knows; CEL reports what is wrong with it."""


class _Reader:
    """Reads an expression once, from left to right, and returns it with operators replaced by calls."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str, int]] = []
        self._at = 0
        self._depth = 0
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise _Unreadable
            if found.lastgroup != "space":
                self._tokens.append((str(found.lastgroup), found.group(), place))
            place = found.end()
        self._tokens.append(("end", "", len(text)))

    def whole(self) -> ExpressionNode:
        node = self._choice()
        if self._tokens[self._at][0] != "end":
            raise _Unreadable
        return node

    def _choice(self) -> ExpressionNode:
        """`condition ? this : that`, or a plain expression."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise _Unreadable
        node = self._binary(1)
        if self._is_next("?"):
            asked, first = self._take("?"), self._binary(1)
            otherwise, last = self._take(":"), self._choice()
            parts = (*node.pieces, asked, *first.pieces, otherwise, *last.pieces)
            node = ExpressionNode(parts, first.may_be_double or last.may_be_double)
        self._depth -= 1
        return node

    def _binary(self, level: int) -> ExpressionNode:
        left = self._unary()
        while _LEVELS.get(self._tokens[self._at][1], 0) >= level and self._tokens[self._at][0] in ("mark", "name"):
            _, mark, place = self._tokens[self._at]
            self._at += 1
            left = _joined(left, mark, place, self._binary(_LEVELS[mark] + 1))
        return left

    def _unary(self) -> ExpressionNode:
        signs: list[Piece] = []
        while self._is_next("!") or self._is_next("-"):
            signs.append(self._take(self._tokens[self._at][1]))
        node = self._member()
        return ExpressionNode((*signs, *node.pieces), node.may_be_double)

    def _member(self) -> ExpressionNode:
        node = self._primary()
        while True:
            if self._is_next("."):
                node = self._selected(node)
            elif self._is_next("["):
                node = ExpressionNode((*node.pieces, self._take("["), *self._choice().pieces, self._take("]")))
            else:
                return node

    def _selected(self, node: ExpressionNode) -> ExpressionNode:
        dot, name = self._take("."), self._take_kind("name")
        if not self._is_next("("):
            return ExpressionNode((*node.pieces, dot, name))
        return ExpressionNode((*node.pieces, dot, name, *self._arguments("(", ")")))

    def _primary(self) -> ExpressionNode:
        kind, token, _ = self._tokens[self._at]
        if kind in ("text", "number", "float"):
            return ExpressionNode((self._take_kind(kind),), kind == "float")
        if kind == "name" and token != "in":
            name = self._take_kind("name")
            return self._called(name) if self._is_next("(") else ExpressionNode((name,))
        if token == "(":
            opened, inner = self._take("("), self._choice()
            return ExpressionNode((opened, *inner.pieces, self._take(")")), inner.may_be_double)
        if token == "[":
            return ExpressionNode(self._arguments("[", "]"))
        if token == "{":
            return ExpressionNode(self._arguments("{", "}"))
        raise _Unreadable

    def _called(self, name: Piece) -> ExpressionNode:
        given = self._arguments("(", ")")
        if name.text != "has":
            return ExpressionNode((name, *given), name.text in _DOUBLES)
        inner = given[1:-1]
        at = name.origin
        return ExpressionNode((Piece("(", at), name, *given, Piece(" && ", at), *inner, Piece(" != null)", at)))

    def _arguments(self, opening: str, closing: str) -> tuple[Piece, ...]:
        """Expressions between brackets, with commas, and in a map with colons."""
        pieces = [self._take(opening)]
        while not self._is_next(closing):
            pieces += self._choice().pieces
            for mark in (",", ":"):
                if self._is_next(mark):
                    pieces.append(self._take(mark))
                    break
            else:
                break
        return (*pieces, self._take(closing))

    def _is_next(self, mark: str) -> bool:
        kind, token, _ = self._tokens[self._at]
        return kind == "mark" and token == mark

    def _take(self, mark: str) -> Piece:
        if not self._is_next(mark):
            raise _Unreadable
        return self._take_kind("mark")

    def _take_kind(self, kind: str) -> Piece:
        found, token, place = self._tokens[self._at]
        if found != kind:
            raise _Unreadable
        self._at += 1
        return Piece(token, place)


def _joined(left: ExpressionNode, mark: str, place: int, right: ExpressionNode) -> ExpressionNode:
    def between(name: str) -> tuple[Piece, ...]:
        return (Piece(f"{name}(", place), *left.pieces, Piece(", ", place), *right.pieces, Piece(")", place))

    is_mixed = left.may_be_double or right.may_be_double
    if mark in _ARITHMETIC:
        return ExpressionNode(between(_ARITHMETIC[mark]), may_be_double=True)
    if mark in _ORDER and is_mixed:
        return ExpressionNode(between(_ORDER[mark]))
    if mark in ("==", "!=") and is_mixed:
        sides = (
            (Piece("dyn(", place), *left.pieces, Piece(")", place)),
            (Piece("dyn(", place), *right.pieces, Piece(")", place)),
        )
        return ExpressionNode((*sides[0], Piece(f" {mark} ", place), *sides[1]))
    return ExpressionNode((*left.pieces, Piece(f" {mark} ", place), *right.pieces))
