"""Judging a response leaves nothing of it behind: the blocks of memory of this process are counted."""

import gc
import json
import sys
from collections.abc import Callable

import pytest

from mainspring.domain.expressions.borrowed_lists import lending
from mainspring.domain.expressions.condition import evaluate
from mainspring.domain.rules.rule import Seen, judge
from mainspring.workflow import expression

ITEMS = [{"n": n, "text": "x" * 20} for n in range(400)]
BODY = json.dumps({"items": ITEMS}).encode()
EVALUATIONS = 20
BLOCKS_MAX = 100  # that one evaluation may leave behind; a copy of its data has 800 and more
SEEN = Seen({"items": ITEMS}, 1_201, len(BODY))
RUNS = Seen([{"duration_ms": n, "body": {"items": ITEMS[:50]}} for n in range(10)], 2_000, len(BODY))

JUDGED: dict[str, Callable[[], object]] = {
    "loop of a condition": lambda: evaluate("body.items.exists(x, x.n == -1)", 200, (), BODY, 1),
    "loops of a condition in pieces": lambda: evaluate(
        "body.l.map(x, [x]).filter(y, y[0] > 5).size() == 1",
        200,
        (),
        json.dumps({"l": list(range(3_000))}).encode(),
        1,
    ),
    "sum of lists": lambda: evaluate("(body.items + body.items).size() == 1", 200, (), BODY, 1),
    "rule": lambda: judge("body.items.exists(x, x.n == -1)", lambda _: SEEN),
    "rule over runs": lambda: judge("avg(runs.map(r, r.duration_ms)) > 500.0", lambda _: RUNS),
    "expression of a workflow": lambda: expression.evaluate("input.items.map(x, x)", {"input": SEEN.value}, len(BODY)),
}


def held() -> int:
    gc.collect()
    return sys.getallocatedblocks()


@pytest.mark.parametrize("which", JUDGED)
def test_evaluation_leaves_no_copy_of_its_data_behind(which: str) -> None:
    first = JUDGED[which]()
    before = held()
    answers = [JUDGED[which]() for _ in range(EVALUATIONS)]

    assert answers == [first] * EVALUATIONS
    del answers
    assert held() - before < EVALUATIONS * BLOCKS_MAX


def test_function_that_is_called_outside_of_an_evaluation_keeps_what_it_got() -> None:
    values = [1, 2]

    assert lending(sorted)(values) == [1, 2]
    assert values == [1, 2]
