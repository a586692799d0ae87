"""What a trigger makes of something that happened: nothing, an execution, an event, or a complaint."""

import pytest
from msgspec.structs import replace

from mainspring.workflow.expression import Failure
from mainspring.workflow.model import WorkflowTrigger
from mainspring.workflow.triggers import Occurrence, TriggerMatch, answer, may_match

RUN = Occurrence("run", "run_1", "billing", "", "failure", {"status": "failure", "body": {"depth": 12}})
TRIGGER = WorkflowTrigger("run", "billing", "", ("failure",))


@pytest.mark.parametrize(
    ("changed", "matches"),
    [
        pytest.param({}, True, id="all of it fits"),
        pytest.param({"source": "alert"}, False, id="another source"),
        pytest.param({"endpoint": "orders"}, False, id="another endpoint"),
        pytest.param({"endpoint": ""}, True, id="any endpoint"),
        pytest.param({"name": "depth"}, False, id="another rule"),
        pytest.param({"kinds": ("success",)}, False, id="another status"),
        pytest.param({"kinds": ()}, True, id="any status"),
    ],
)
def test_trigger_matches_what_it_names(changed: dict[str, object], matches: bool) -> None:
    assert may_match(replace(TRIGGER, **changed), RUN) is matches


def test_workflow_that_stopped_triggers_none() -> None:
    stopped = Occurrence("alert", "alert_1", "", "ops", "stopped")

    assert not may_match(WorkflowTrigger("alert", "", "", ()), stopped)
    assert may_match(WorkflowTrigger("alert", "", "", ()), replace(stopped, kind="quota"))


def test_trigger_starts_an_execution_with_what_the_event_says() -> None:
    trigger = replace(TRIGGER, where="event.body.depth > 10", input={"depth": "{{ event.body.depth }}"})

    assert answer(trigger, RUN) == TriggerMatch({"depth": 12}, "")


def test_trigger_sends_an_event_to_a_correlation_key() -> None:
    trigger = replace(TRIGGER, event="recovered", correlation="order-{{ event.body.depth }}")

    assert answer(trigger, RUN) == TriggerMatch({}, "order-12", "recovered")


def test_trigger_whose_condition_does_not_hold_asks_for_nothing() -> None:
    assert answer(replace(TRIGGER, where="event.body.depth > 100"), RUN) is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"where": "event.body.width > 1"}, "where "),
        ({"input": {"n": "{{ event.width }}"}}, "input "),
        ({"correlation": "{{ event.width }}"}, "correlation "),
        ({"event": "x", "input": {"n": "{{ event.width }}"}}, "send.data "),
        ({"event": "x", "correlation": "{{ event.width }}"}, "send.to "),
    ],
)
def test_trigger_that_cannot_be_judged_says_in_which_part(changed: dict[str, object], said: str) -> None:
    found = answer(replace(TRIGGER, **changed), RUN)

    assert isinstance(found, Failure)
    assert found.text.startswith(said)
