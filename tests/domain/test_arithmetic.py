"""Numbers in conditions and rules: whole and fractional ones mix, as people expect of JSON."""

import json

import pytest

from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.arithmetic import rewritten
from mainspring.domain.expressions.condition import check_condition, evaluate
from mainspring.domain.rules.rule import Seen, check_rule, judge, read_rule

VALUES: dict[str, object] = {
    "body": {"used": 95, "total": 100, "depth": 500, "load": 0.5, "x": None, "n": 7, "zero": 0, "s": "a", "l": [2]},
    "duration_ms": 120,
    "status_code": 200,
    "failures": 2,
    "ok": True,
    "health": {"h24": {"duration_ms": 50.5, "runs": 3, "success_rate": 1.0}},
}


def judged(when: str) -> bool | str:
    check_rule(read_rule({"when": when, "clear_hints": True}, "x"), "one", ("one",))
    return judge(when, lambda name: Seen(VALUES[name]))


@pytest.mark.parametrize(
    ("when", "answer"),
    [
        ("body.used / body.total > 0.9", True),
        ("body.used / body.total", "returns double; it must be true or false"),
        ("duration_ms > 3 * health.h24.duration_ms", False),
        ("3 * health.h24.duration_ms > duration_ms", True),
        ("body.depth * 1.2 > 500", True),
        ("duration_ms * 1.5 > 100", True),
        ("duration_ms > 119.5 && failures < 2.5", True),
        ("body.load + 1 == 1.5", True),
        ("body.total / 4 == 25", True),
        ("body.n % 2 == 1 && -7 % 4 == -3", True),
        ("body.n - 0.5 >= 6.5 ? body.n > 6 : false", True),
        ("has(body.x) && body.x > 3", False),
        ("!has(body.x) || body.x > 3", True),
        ("has(body.n) && body.n > 3", True),
        ("body.x == null", True),
        ("body.s + 'b' == 'ab' && body.l + [1] == [2, 1]", True),
        ("[1, 2.5].all(x, x * 2 >= 2)", True),
        ("body.n / body.zero > 1", "divide by zero"),
        ("body.s * 2 > 1", "No matching overloads found : _*_(string, int64)"),
        ("body.depth * 9223372036854775807 > 1", "the number is beyond 64 bits"),
    ],
)
def test_rule_reckons_with_whole_and_fractional_numbers(when: str, answer: bool | str) -> None:
    if when == "body.used / body.total":
        with pytest.raises(InvalidInput, match="returns double"):
            judged(when)
    else:
        assert judged(when) == answer


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("body.used / body.total > 0.9", True),
        ("body.depth * 1.2 > 500", True),
        ("has(body.x) && body.x > 3", False),
        ("duration_ms / 1000 < 0.5", True),
    ],
)
def test_success_condition_reckons_alike(condition: str, answer: bool) -> None:
    check_condition(condition)

    assert evaluate(condition, 200, (), json.dumps(VALUES["body"]).encode(), 120) is answer


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("duration_ms * 'a' > 3", "line 1, column 13: found no matching overload for '_*_' applied to '(int, string)'"),
        ("ok &&\n  failures / 2 > 'a'", "line 2, column 16: found no matching overload for '_>_'"),
        ("ok &&\n  failures * nothing > 1", "line 2, column 14: undeclared reference to 'nothing'"),
        ("failures + + 1 > 2", "line 1, column 12: Syntax error"),
    ],
)
def test_faults_are_told_at_their_place_in_the_text_as_written(when: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        judged(when)

    assert words in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "a.b.c(1, 'x')[2] in {'k': [1, 2u]}", "// only a comment", "(" * 70 + "1" + ")" * 70, "a ? b : c"]
)
def test_what_has_no_arithmetic_means_the_same(text: str) -> None:
    kept = rewritten(text).text

    assert "".join(kept.split()) in ("".join(text.split()), "")
