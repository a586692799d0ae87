"""Loops over maps go by the sorted keys, in conditions and in rules, whatever the process."""

import json

import pytest

from mainspring.domain.expressions.condition import check_condition, evaluate
from mainspring.domain.expressions.map_order import NO_RANGE, ordered
from mainspring.domain.rules.rule import Seen, judge

BODY = {f"k{number:03}": number for number in (7, 3, 99, 1, 42, 13)}
SORTED = "body.map(k, k) == ['k001', 'k003', 'k007', 'k013', 'k042', 'k099']"


def test_condition_and_rule_walk_a_map_by_its_sorted_keys() -> None:
    check_condition(SORTED)

    assert evaluate(SORTED, 200, (), json.dumps(BODY).encode(), 1) is True
    assert judge(SORTED, lambda name: Seen(BODY, 7, 60)) is True


def test_lists_keep_their_order_and_nested_loops_are_ordered_too() -> None:
    text = "body.rows.map(r, r.map(k, k)[0]) == ['a', 'b']"
    body = json.dumps({"rows": [{"z": 1, "a": 2}, {"y": 1, "b": 2}]}).encode()

    assert evaluate(text, 200, (), body, 1) is True


def test_headers_are_walked_too() -> None:
    text = "headers.filter(h, h.startsWith('x-')).map(h, headers[h]) == ['1', '2']"
    check_condition(text)

    assert evaluate(text, 200, (("X-B", "2"), ("X-A", "1"), ("Date", "now")), b"", 1) is True


def test_loop_over_neither_says_so() -> None:
    assert evaluate("body.depth.exists(x, x > 1)", 200, (), b'{"depth": 3}', 1) == NO_RANGE


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a.all(x, x.map(y, y) == [])", "a.in_order_().all(x, x.in_order_().map(y, y) == [])"),
        ("'a.map(x, x)' == b", "'a.map(x, x)' == b"),
        ("a.map == 1", "a.map == 1"),
    ],
)
def test_only_loops_are_rewritten(text: str, wanted: str) -> None:
    assert ordered(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("runs.all(x, x.map(y, y) == [])", "runs.all(x, x.in_order_().map(y, y) == [])"),
        ('window["1h"].filter(r, r.ok).map(r, r.n)', 'window["1h"].filter(r, r.ok).map(r, r.n)'),
        ("runs.filter(r, (r.a) == 1).all(r, r.ok)", "runs.filter(r, (r.a) == 1).all(r, r.ok)"),
        ("body.runs.map(x, x)", "body.runs.in_order_().map(x, x)"),
        ("body.filter(x, x > 1).map(x, x)", "body.in_order_().filter(x, x > 1).in_order_().map(x, x)"),
        ("body.map(runs, runs.map(x, x))", "body.in_order_().map(runs, runs.in_order_().map(x, x))"),
        ("f(runs).map(x, x)", "f(runs).in_order_().map(x, x)"),
        ("runs[0].map(x, x)", "runs[0].in_order_().map(x, x)"),
        (".map(x, x)", ".in_order_().map(x, x)"),
    ],
)
def test_loops_over_what_is_known_to_be_a_list_are_left_alone(text: str, wanted: str) -> None:
    assert ordered(text, frozenset({"runs", "window"})) == wanted
