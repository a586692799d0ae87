"""The CEL library gives the results that logs and rules were written with.

Rules and workflow logs depend on every result, so the library is pinned exactly. Before a new version is accepted, it
has to reproduce the golden vectors, and to agree with a second implementation (cel-python) on random expressions.
"""

import json
import sys
from pathlib import Path

import celpy
import pytest
from celpy.adapter import CELJSONEncoder, json_to_cel
from celpy.evaluation import CELEvalError
from hypothesis import assume, given
from hypothesis import strategies as st

from mainspring.domain.expressions.condition import WORK_MAX, shape_of, worst_work
from mainspring.workflow.expression import Failure, evaluate

VECTORS = json.loads((Path(__file__).parent / "cel_vectors.json").read_text())
DATA = {"input": {"count": 7, "zero": 0, "name": "Ωmega", "items": [3, -1, 4], "tags": ["a", "b"], "on": True}}
FAILED = "failed"

_recursion_limit = sys.getrecursionlimit()
SECOND = celpy.Environment()  # raises the limit of the whole process
sys.setrecursionlimit(_recursion_limit)

NUMBERS = ["input.count", "input.zero", "size(input.name)", "size(input.items)", "0", "1", "-3", "9223372036854775807"]
TEXTS = ["input.name", "input.tags[0]", "''", "'a'", "'Ω'", "string(input.count)"]
TRUTHS = ["input.on", "true", "false", "has(input.name)", "has(input.missing)", "input.missing"]
LISTS = ["input.items", "[]", "[1, 2]", "input.items.filter(x, x > 0)", "input.items.map(x, x * 2)"]


def either(numbers: st.SearchStrategy[str], truths: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Larger expressions that are true or false, from smaller ones of fitting types."""
    texts, lists = st.sampled_from(TEXTS), st.sampled_from(LISTS)
    return st.one_of(
        st.builds("({} {} {})".format, numbers, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers),
        st.builds("({} {} {})".format, texts, st.sampled_from(["<", ">", "==", "!="]), texts),
        st.builds("({} {} {})".format, truths, st.sampled_from(["&&", "||", "==", "!="]), truths),
        st.builds("!{}".format, truths),
        st.builds("({} ? {} : {})".format, truths, truths, truths),
        st.builds("({} in {})".format, numbers, lists),
        st.builds("{}.{}({})".format, texts, st.sampled_from(["startsWith", "endsWith", "contains"]), texts),
        st.builds("{}.{}(x, x {} {})".format, lists, st.sampled_from(["all", "exists", "exists_one"]),
                  st.sampled_from(["<", "=="]), numbers),
    )  # fmt: skip


def numeric(numbers: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("({} {} {})".format, numbers, st.sampled_from(["+", "-", "*", "/", "%"]), numbers)


number = st.recursive(st.sampled_from(NUMBERS), numeric, max_leaves=4)
truth = st.recursive(st.sampled_from(TRUTHS), lambda smaller: either(number, smaller), max_leaves=6)


def ours(text: str) -> object:
    answer = evaluate(text, DATA, 0)
    return FAILED if isinstance(answer, Failure) else answer


def theirs(text: str) -> object:
    variables = {name: json_to_cel(value) for name, value in DATA.items()}
    try:
        answer = SECOND.program(SECOND.compile(text)).evaluate(variables)
    except CELEvalError:
        return FAILED
    return json.loads(json.dumps(answer, cls=CELJSONEncoder))


@pytest.mark.parametrize("text", VECTORS)
def test_result_is_that_of_the_golden_vectors(text: str) -> None:
    assert ours(text) == VECTORS[text]


@given(truth | number)
def test_random_expression_has_the_same_result_in_a_second_implementation(text: str) -> None:
    assume(worst_work(shape_of(text), len(text), 0) <= WORK_MAX)  # a bound of ours, not of CEL

    assert ours(text) == theirs(text)
