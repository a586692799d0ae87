"""Write calls of our functions in CEL itself where it can do the same. Pure.

The library keeps about 130 bytes for every call of a Python function, and copies lists to Python and back. So an
expression is evaluated with these forms, and with the calls only if CEL refuses the longer text:

    add_(a, b)           whole and fractional numbers mix; sub_, mul_ and mod_ alike
    div_(a, b)           the quotient of whole numbers is a fraction
    lt_(a, b) ...        dyn(a) < dyn(b)
    range.in_order_()    the range, if it is a list; a map is still sorted by Python

Types are checked on the text with calls, because these forms hide them. Texts must not use `cel.bind` themselves: the
bounds on cost do not count it.
"""

from typing import TYPE_CHECKING

from mainspring.domain.expressions.map_order import closings, tokens_of

if TYPE_CHECKING:
    from cel_expr_python import cel

NAMES = ("left__", "right__", "range__")
_LEFT, _RIGHT, _RANGE = NAMES
_FRACTION = f"type({_LEFT}) == double && type({_RIGHT}) == int"
_MIXED = "{0} ? {1} {3} double({2}) : {4} ? double({1}) {3} {2} : {1} {3} {2}"
_NUMBERS = f"type({_LEFT}) in [int, double] && type({_RIGHT}) in [int, double]"
_FORMS = {
    **{
        name: _MIXED.format(_FRACTION, _LEFT, _RIGHT, mark, f"type({_LEFT}) == int && type({_RIGHT}) == double")
        for name, mark in (("add_", "+"), ("sub_", "-"), ("mul_", "*"))
    },
    "mod_": f"type({_LEFT}) == int && type({_RIGHT}) == int ? dyn({_LEFT} % {_RIGHT}) : dyn(mod_({_LEFT}, {_RIGHT}))",
    # A double divided by zero is infinite, a whole number is an error, as in `div_`.
    "div_": f"{_NUMBERS} ? ({_RIGHT} == 0 ? dyn(1 / 0) : dyn(double({_LEFT}) / double({_RIGHT}))) "
    f": dyn(div_({_LEFT}, {_RIGHT}))",
}
_COMPARISONS = {"lt_": "<", "le_": "<=", "gt_": ">", "ge_": ">="}
_ORDERED = f"type({_RANGE}) == list ? {_RANGE} : dyn({_RANGE}.in_order_())"


def compile_native(environment: "cel.Env", text: str) -> "cel.Expression":
    """`environment` knows our functions and `cel.bind`. CEL limits the depth of a text, which these forms increase."""
    try:
        return environment.compile(native(text))
    except RuntimeError:
        return environment.compile(text)


def native(text: str) -> str:
    if any(name in text for name in NAMES):
        return text
    return _Expansion(text).between(0, None)


class _Expansion:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._texts = [token for _, token, _ in self._tokens]
        self._closings = closings(self._texts)
        self._openings = {closed: opened for opened, closed in self._closings.items()}

    def between(self, first: int, end: int | None) -> str:
        """The tokens from `first` to before `end`, with calls replaced."""
        texts, end = self._texts, len(self._texts) if end is None else end
        parts: list[str] = []
        places: dict[int, int] = {}  # of tokens in `parts`
        at = first
        while at < end:
            places[at] = len(parts)
            token = texts[at]
            if token in _FORMS or token in _COMPARISONS:
                closed = self._closings[at + 1]
                comma = self._comma(at + 2, closed)
                parts.append(_called(token, self.between(at + 2, comma), self.between(comma + 1, closed)))
                at = closed + 1
            elif token == "." and texts[at + 1 : at + 2] == ["in_order_"]:
                begin = places[self._start_of(at)]
                parts[begin:] = [f"cel.bind({_RANGE}, dyn({''.join(parts[begin:])}), {_ORDERED})"]
                at += 4
            else:
                place = self._tokens[at][2]
                after = self._tokens[at + 1][2] if at + 1 < len(texts) else place + len(token)
                between = self._text[place + len(token) : after]
                parts.append(token + (between if not between.strip() else "\n"))  # a comment ends with its line
                at += 1
        return "".join(parts)

    def _comma(self, first: int, closed: int) -> int:
        at = first
        while self._texts[at] != ",":
            at = self._closings.get(at, at) + 1
        assert at < closed, "the functions have two arguments"
        return at

    def _start_of(self, end: int) -> int:
        """Where the operand that ends before `end` starts: names, calls and indexes joined by dots."""
        at = end - 1
        while True:
            opened = self._openings.get(at)
            if opened is not None:
                is_index = self._texts[opened] == "[" and opened > 0 and self._ends_operand(opened - 1)
                is_call = self._texts[opened] == "(" and opened > 0 and self._tokens[opened - 1][0] == "name"
                at = opened
                if is_index or (is_call and self._texts[opened - 1] != "in"):
                    at -= 1
                    continue
            if at > 0 and self._texts[at - 1] == ".":
                at -= 2
                continue
            return at

    def _ends_operand(self, at: int) -> bool:
        kind, token, _ = self._tokens[at]
        return token in (")", "]", "}") or (kind in ("name", "text", "number") and token != "in")


def _called(name: str, left: str, right: str) -> str:
    if name in _COMPARISONS:
        return f"(dyn({left}) {_COMPARISONS[name]} dyn({right}))"
    return f"cel.bind({_LEFT}, dyn({left}), cel.bind({_RIGHT}, dyn({right}), {_FORMS[name]}))"
