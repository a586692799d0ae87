"""Success conditions: refused with the place of the fault when written, bounded when judged."""

import json
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis.strategies import binary, text

from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.condition import (
    ADDED_MAX,
    CHARS_MAX,
    NODES_MAX,
    WORK_MAX,
    check_condition,
    evaluate,
    parse_bounded,
    shape_of,
)

BODY = json.dumps(
    {"ok": True, "depth": 3, "max": 5, "items": [{"price": 1, "tags": ["a", "b"]}, {"price": 2}]}
).encode()
HEADERS = (("Content-Type", "application/json"), ("x-n", "1"), ("x-n", "2"))


def judge(condition: str, body: bytes = BODY) -> bool | str:
    return evaluate(condition, 200, HEADERS, body, 120)


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("true", True),
        ("body.ok", True),
        ("status_code == 200 && duration_ms < 1000", True),
        ("status_code == 200 && duration_ms < 100", False),
        ("body.depth < body.max", True),
        ("headers['content-type'].startsWith('application/')", True),
        ("headers['x-n'] == '1, 2'", True),
        ("body.items.all(i, i.price > 0)", True),
        ("body.items.exists(i, i.price > 1)", True),
        ("body.items.all(i, i.price <= body.max)", True),
        ("body.items.exists(i, has(i.tags) && i.tags.exists(t, t == 'b'))", True),
        ("size(body.items) == 2", True),
        ("has(body.missing)", False),
        ("'a' in body", False),
        ("body.items.map(i, i.price) == [1, 2]", True),
        ("body != null // a comment with + and body.all(x, x)", True),
        ("'body.all(x, x + x)' == ''", False),
        ("body.missing == 1", 'Key not found in map : "missing"'),
        ("body.depth / 0 == 1", "divide by zero"),
        ("body.ok + 1 == 2", "No matching overloads found : _+_(bool, int64)"),
        ("body", "returns map<dyn, dyn>; it must be true or false"),
    ],
)
def test_a_condition_is_true_false_or_an_error_in_words(condition: str, answer: bool | str) -> None:
    check_condition(condition)

    assert judge(condition) == answer


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("", "the condition does not compile at line 1, column 1: Syntax error: mismatched input '<EOF>'"),
        ("body.x ==", "the condition does not compile at line 1, column 10: Syntax error: mismatched input '<EOF>'"),
        (
            "status == 200",
            "the condition does not compile at line 1, column 1: "
            "undeclared reference to 'status', did you mean 'status_code'?",
        ),
        (
            "body.x = 1",
            "the condition does not compile at line 1, column 8: "
            "Syntax error: token recognition error at: '= '; equal is written ==",
        ),
        (
            "true &&\n  foo",
            "the condition does not compile at line 2, column 3: "
            "undeclared reference to 'foo'; known names are status_code, headers, body, duration_ms, tls",
        ),
        (
            "status_code + 'a' == 'b'",
            "the condition does not compile at line 1, column 13: "
            "found no matching overload for '_+_' applied to '(int, string)'",
        ),
        ("status_code", "the condition returns int; it must be true or false; compare it with something"),
        (
            "status_code" + " + 1" * 40 + " > 0",
            "the condition does not compile: Exceeded max recursion depth of 32 when parsing.",
        ),
        ("'a\0'", "the condition contains NUL or half a character; remove it"),
        ("'\ud800'", "the condition contains NUL or half a character; remove it"),
        (
            "true" + " " * CHARS_MAX,
            f"the condition is {CHARS_MAX + 4} characters long; at most 2000 are allowed; shorten it",
        ),
    ],
)
def test_a_bad_condition_is_refused_with_the_place_of_the_fault(condition: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_condition(condition)

    assert (refusal.value.field, str(refusal.value)) == ("condition", message)


@pytest.mark.parametrize(
    "condition",
    [
        "(" * 300 + "true" + ")" * 300,
        "[" * 900 + "]" * 900 + " == []",
        "!" * 1_990 + "true" + "(",
    ],
    ids=["parentheses", "lists", "negations"],
)
def test_a_condition_nested_too_deep_is_refused(condition: str) -> None:
    with pytest.raises(InvalidInput):
        check_condition(condition)


def test_loops_side_by_side_over_a_small_body_are_evaluated() -> None:
    text = "body.l.exists(x, x == body.k) && body.l.filter(y, y > body.k).size() > body.k"
    body = b'{"k": 2, "l": [' + b",".join(b"%d" % n for n in range(30)) + b"]}"

    assert evaluate(text, 200, (), body, 1) is True


def test_doubling_a_text_again_and_again_is_refused_when_written() -> None:
    with pytest.raises(InvalidInput, match="times as large; nest fewer loops"):
        check_condition("[body.s]" + ".map(x, x + x)" * 12 + "[0].size() > 0")


LARGE = json.dumps({"s": "a" * 80_000, "l": [1] * 5_000}).encode()


@pytest.mark.parametrize(
    "condition",
    [
        "body.l.all(a, !body.s.contains('ab'))",
        "body.l.all(a, body.l == body.l)",
        "[body].all(x, x.l.all(a, !x.s.contains('ab')))",
        "[body.s].map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x)[0].size() > 0",
        "body.s" + " + body.s" * 25 + " == ''",
    ],
)
def test_a_condition_too_costly_for_a_body_is_an_error_and_not_a_stall(condition: str) -> None:
    check_condition(condition)

    answer = judge(condition, LARGE)

    assert isinstance(answer, str)
    assert f"at most {WORK_MAX} are allowed" in answer or f"at most {ADDED_MAX} are allowed" in answer


@pytest.mark.parametrize(
    "condition", ["body.l.all(a, a == 1)", "body.s.contains('aa')", "body.l.filter(a, a > 1).size() == 0"]
)
def test_a_condition_whose_loops_look_at_their_own_element_takes_large_bodies(condition: str) -> None:
    assert judge(condition, LARGE) is True


def test_a_loop_over_everything_ends_at_its_budget() -> None:
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    condition = f"{ten}.all(a,{ten}.all(b,{ten}.all(c,{ten}.all(d,{ten}.all(e, true)))))"

    assert judge(condition) == "Iteration budget exceeded"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b'{"a": 1',
        b"\xff\xfe",
        b'"\\ud800"',
        b"NaN",
        b"[" * 65 + b"]" * 65,
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b"[" + b"1," * NODES_MAX + b"1]",
    ],
    ids=[
        "empty", "words", "cut", "not_utf8", "lone_surrogate", "nan", "65_levels", "100000_levels_open",
        "100000_levels", "10002_values",
    ],
)  # fmt: skip
def test_a_body_that_is_no_bounded_json_is_null(body: bytes) -> None:
    assert judge("body == null", body) is True


@pytest.mark.parametrize("body", [b"[" * 64 + b"]" * 64, b"[" + b"1," * (NODES_MAX - 2) + b"1]", b"0", b'"\\u0000"'])
def test_a_body_within_the_bounds_is_parsed(body: bytes) -> None:
    value, nodes = parse_bounded(body)

    assert value is not None
    assert nodes <= NODES_MAX


def test_a_number_beyond_64_bits_is_an_error() -> None:
    assert "out of range" in str(judge("body.n > 1", b'{"n": 123456789012345678901234567890}'))


@given(text(max_size=200))
def test_any_text_is_accepted_or_refused_and_its_shape_is_read(condition: str) -> None:
    shape_of(condition)
    with suppress(InvalidInput):
        check_condition(condition)


@given(binary(max_size=300))
def test_any_body_can_be_judged(body: bytes) -> None:
    assert judge("body == null || body != null", body) is True


def test_importing_the_module_does_not_import_cel() -> None:
    code = "import sys, mainspring.domain.expressions.condition; sys.exit('cel_expr_python' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
