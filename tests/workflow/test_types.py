"""Types that can be known are checked when a document is written; a missing field is named when it is read."""

import pytest

from mainspring.workflow.document import InvalidWorkflow, parse_document
from mainspring.workflow.expression import Failure, Values, evaluate
from mainspring.workflow.model import Status
from tests.workflow.stage import Player, a_workflow

INPUT = {"n": "integer", "x": "number", "name": "text", "vip": "boolean", "many": "list"}


def document(when: str) -> dict[str, object]:
    step = {"id": "a", "branch": {"cases": [{"when": when, "goto": "b"}], "default": "end"}}
    return {"name": "typed", "input": INPUT, "steps": [step, {"id": "b", "end": "yes"}]}


@pytest.mark.parametrize(
    "when",
    [
        'input.n > "3"',
        "contact.n == 'x'",
        "input.name > 3",
        "input.vip > 1",
        "input.n + input.name == 'a'",
        "input.vip && input.n",
    ],
)
def test_condition_that_the_declared_types_rule_out_is_refused(when: str) -> None:
    with pytest.raises(InvalidWorkflow, match="declared types"):
        parse_document(document(when))


@pytest.mark.parametrize("when", ["input.x + 1 > 2", "2 * input.x > 3", "input.x % 2 == 1"])
def test_number_that_is_added_to_a_whole_one_is_refused_with_the_way_out(when: str) -> None:
    with pytest.raises(InvalidWorkflow, match=r"such as 1\.0"):
        parse_document(document(when))


@pytest.mark.parametrize(
    "when",
    [
        "input.n > 3", "has(input.n) && input.n > 3", "input.x > 3", "input.x * 1.5 > 3.0", "input.name == 'a'",
        "input.name.size() > 3", "input.many.exists(each, each == input.n)", "input.vip", "'n' in input",
        "string(input.n) == '3'", "double(input.n) * 1.5 > input.x",
    ],
)  # fmt: skip
def test_condition_that_fits_the_declared_types_is_accepted(when: str) -> None:
    parse_document(document(when))


@pytest.mark.parametrize(("x", "outcome"), [(3, "yes"), (3.5, "yes"), (1, "completed"), (1.25, "completed")])
def test_number_works_for_whole_and_fractional_values(x: float, outcome: str) -> None:
    workflow = parse_document(document("input.x * 1.5 > 3.0 && input.x > 2"))
    player = Player(workflow, {"n": 1, "x": x, "name": "a", "vip": True, "many": []}, format_=2)

    player.at(0)

    assert player.state.outcome == outcome


def test_whole_number_is_shown_as_it_was_given() -> None:
    step = {"id": "a", "call": {"url": "https://example.com/{{ input.x }}?half={{ input.x / 2.0 }}"}}
    player = Player(parse_document({"name": "n", "input": {"x": "number"}, "steps": [step]}), {"x": 3}, format_=2)

    (effect,) = player.at(0).effects

    assert effect.request["url"] == "https://example.com/3?half=1.5"


MISSING = {
    "input.order.total > 3": "input.order.total is missing; input.order has id; use has(input.order.total)",
    "input.order.id.first == 1": "input.order.id.first is missing, because input.order.id is a number",
    "has(input.none) || input.none > 1": "input.none is missing; input has order; use has(input.none)",
}


@pytest.mark.parametrize("text", MISSING)
def test_failure_names_the_field_that_is_missing(text: str) -> None:
    answer = evaluate(text, Values({"input": {"order": {"id": 7}}}, frozenset()), 100)

    assert isinstance(answer, Failure)
    assert answer.text.startswith(MISSING[text])


def test_execution_says_which_field_is_missing() -> None:
    cases = [{"when": "input.n > 5", "goto": "s0"}]
    player = Player(a_workflow({"branch": {"cases": cases, "default": "end"}}), format_=2)

    player.at(0)

    assert player.state.status is Status.FAILED
    assert player.state.error.startswith("branch.cases[0].when input.n is missing; input has no fields")
