"""Expressions in CEL's own operators answer as those that call Python, and leave nothing behind."""

import gc
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions import condition
from mainspring.domain.expressions.arithmetic import rewritten
from mainspring.domain.expressions.condition import check_condition, evaluate, fault_text
from mainspring.domain.expressions.map_order import ordered
from mainspring.domain.expressions.native_calls import native
from mainspring.domain.rules.rule import Seen, judge
from mainspring.workflow import expression

EVALUATIONS = 500
BODY = {"a": 7, "b": 2.5, "l": [1, 2, 3], "m": {"k": 1}}

NUMBERS = st.one_of(
    st.integers(-(2**40), 2**40), st.sampled_from([0, 1, -1, 2**63 - 1]), st.floats(-1e9, 1e9, width=32)
)
VALUES = st.one_of(NUMBERS, NUMBERS, st.sampled_from([None, True, "a", [1], {"k": 1}]))
INNER = st.sampled_from(["+", "-", "*", "/", "%"])
OUTER = st.sampled_from(["+", "-", "*", "/", "%", "< 0.5 +", ">= 1.5 *", "== 2.0 *", "!= 1.0 +"])


def answered(text: str, body: object) -> tuple[str, str]:
    """Type and value, or the failure."""
    found = (
        condition._environment(binds=True)
        .compile(text)
        .eval(data={"status_code": 200, "headers": {}, "body": body, "duration_ms": 1})
    )
    kind = found.type().name()
    return kind, fault_text(rewritten("").fault(str(found.value()))) if kind == "ERROR" else repr(found.plain_value())


@given(VALUES, OUTER, VALUES, INNER, VALUES)
def test_native_text_answers_as_the_calls_do(a: object, first: str, b: object, second: str, c: object) -> None:
    calls = ordered(rewritten(f"body.a {first} (body.b {second} body.c)").text)

    assert answered(native(calls), {"a": a, "b": b, "c": c}) == answered(calls, {"a": a, "b": b, "c": c})


@pytest.mark.parametrize(
    "text",
    [
        "body.l.map(x, x * 2) == [2, 4, 6]",
        "1 in body.l.filter(x, x < 2)",
        "body.m.exists(k, k == 'k')",
        "[[1], [2]][0].all(x, x == 1) && ([1] + body.l).size() == 4 // a comment",
        "body.l.map(x, [x]).map(y, y[0] / 2) == [0.5, 1.0, 1.5]",
        "{'z': 1, 'a': 2}.map(k, k) == ['a', 'z'] && !body.l.exists(x, -x > 0.5)",
        "body.l.map(left__, 1 + left__) == [2, 3, 4]",
        "body.l.all(range__, range__ > 0)",
        " + ".join(["1"] * 25) + " == 25",
    ],
)
def test_expression_is_true_in_conditions_and_rules(text: str) -> None:
    check_condition(text)

    assert evaluate(text, 200, (), msgspec.json.encode(BODY), 1) is True
    assert judge(text, lambda _: Seen(BODY, 10, 100)) is True


@pytest.mark.parametrize(
    "text", ["body.a * 2 + body.b * 3 > 5 && body.a / 2 >= 3.5", "body.l.all(x, x % 2 < 5) && body.l.exists(x, x > 2)"]
)
def test_arithmetic_and_loops_over_lists_leave_nothing_behind(text: str) -> None:
    body = msgspec.json.encode(BODY)
    assert evaluate(text, 200, (), body, 1) is True
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(EVALUATIONS):
        evaluate(text, 200, (), body, 1)
    gc.collect()

    assert sys.getallocatedblocks() - before < EVALUATIONS / 5


def test_loop_of_a_workflow_leaves_nothing_behind() -> None:
    data = {"input": {"l": [1, 2, 3]}}
    assert expression.evaluate("input.l.map(x, x + 1)", data, 100) == [2, 3, 4]
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(EVALUATIONS):
        expression.evaluate("input.l.map(x, x + 1)", data, 100)
    gc.collect()

    assert sys.getallocatedblocks() - before < EVALUATIONS / 5


def test_bind_is_refused_in_what_users_write() -> None:
    text = "cel.bind(x, body.s + body.s, x == '')"

    with pytest.raises(InvalidInput, match="undeclared reference to"):
        check_condition(text)
    assert "undeclared reference to" in expression.check_expression(
        text.replace("body", "input"), expression.Names(), is_condition=True
    )
