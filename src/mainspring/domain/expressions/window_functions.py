"""Functions of rules over lists of numbers: sum, average, extremes, percentile, rate of change. Pure.

    avg(runs.map(r, r.duration_ms)) > 500
    percentile(runs.map(r, r.duration_ms), 95) > 2000
    rate(runs.map(r, r.body.depth), runs) > 0.5          per second, newest against oldest

Nulls are left out. A value that is not a number, or a list without numbers, is a fault of the rule.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mainspring.domain.expressions.borrowed_lists import lending

if TYPE_CHECKING:
    from cel_expr_python import cel

FUNCTIONS = ("sum", "avg", "min", "max", "percentile", "rate")


def window_functions() -> "list[cel.FunctionDecl]":
    from cel_expr_python import cel  # takes 40 ms; delayed until the first expression

    kinds = cel.Type
    some = kinds.List(kinds.DYN)

    def declared(name: str, act: Callable[..., float], *more: "list[cel.Type]") -> "cel.FunctionDecl":
        made = [
            cel.Overload(f"{name}_{place}", kinds.DOUBLE, [some, *rest], is_member=False, impl=lending(act))
            for place, rest in enumerate(more or ([],))
        ]
        return cel.FunctionDecl(name, made)

    return [
        declared("sum", lambda values: float(sum(_numbers(values, "sum", may_be_empty=True)))),
        declared("avg", _avg),
        declared("min", lambda values: float(min(_numbers(values, "min")))),
        declared("max", lambda values: float(max(_numbers(values, "max")))),
        declared("percentile", _percentile, [kinds.INT], [kinds.DOUBLE]),
        declared("rate", _rate, [some]),
    ]


def _avg(values: Sequence[object]) -> float:
    numbers = _numbers(values, "avg")
    return sum(numbers) / len(numbers)


def _percentile(values: Sequence[object], percent: float) -> float:
    """The smallest value that at least this percentage of all values does not exceed."""
    numbers = sorted(_numbers(values, "percentile"))
    if not 0 <= percent <= 100:
        raise ValueError(f"percentile {percent} is not from 0 to 100")
    rank = -int(-percent * len(numbers) / 100 // 1)
    return float(numbers[max(rank, 1) - 1])


def _rate(values: Sequence[object], runs: Sequence[object]) -> float:
    """The difference between the newest and the oldest value, per second between their runs."""
    ages = [run.get("age_s") if isinstance(run, dict) else None for run in runs]
    known = [(value, age) for value, age in zip(values, ages, strict=False) if value is not None and age is not None]
    numbers = _numbers([value for value, _ in known], "rate")
    seconds = float(known[-1][1]) - float(known[0][1])
    return (numbers[0] - numbers[-1]) / seconds if seconds > 0 else 0.0


def _numbers(values: Sequence[object], name: str, *, may_be_empty: bool = False) -> list[float]:
    numbers = [value for value in values if value is not None]
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in numbers):
        raise ValueError(f"{name}: the list contains a value that is not a number")
    if not numbers and not may_be_empty:
        raise ValueError(f"{name}: the list contains no number")
    return numbers  # type: ignore[return-value]  # checked above
