"""The turns of one tick: whoever asks for them in parts gets the same as who asks for all."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from msgspec.structs import replace

from mainspring.domain.instant import rfc3339
from mainspring.workflow.audit import GENESIS, verify
from mainspring.workflow.model import NEWEST_FORMAT, ExecutionPhase, ExecutionState, LogicalClock, Workflow
from mainspring.workflow.replay import replay
from mainspring.workflow.tick import ReadyExecution, TickRun
from tests.workflow.stage import EPOCH, SALT, a_workflow

WORKFLOW = a_workflow({"wait": "1s"}, {"end": "done"})


def the_turns(workflow_of: Callable[[str, str, int], Workflow] = lambda *_: WORKFLOW) -> TickRun:
    states = [ExecutionState(f"x{number}", SALT, WORKFLOW.name, 1, {}, wake_tick=0) for number in range(5)]
    ready = [
        ReadyExecution(each.id, "default", WORKFLOW.name, number, partial(replace, each))
        for number, each in enumerate(states)
    ]
    return TickRun(ready, workflow_of, LogicalClock(0, EPOCH), 0, 1, GENESIS, 1)


def test_turns_taken_in_parts_are_those_taken_at_once() -> None:
    parts = the_turns()
    taken = [*parts.take(2), *parts.take(1)]
    ticked = parts.close()

    assert ticked == the_turns().close()
    assert list(ticked.moved[:3]) == taken
    assert parts.take(1) == []


def test_fault_in_one_execution_stops_that_one_alone() -> None:
    def workflow_of(tenant_id: str, name: str, version: int) -> Workflow:
        if version == 3:
            raise KeyError("gone")
        return WORKFLOW

    moved = the_turns(workflow_of).close().moved

    assert [each.state.phase for each in moved] == [ExecutionPhase.TIME] * 3 + [ExecutionPhase.FAILED] + [
        ExecutionPhase.TIME
    ]
    assert moved[3].state.error == "KeyError: 'gone'"
    assert verify("x3", SALT, moved[3].entries).valid


def test_late_turn_counts_as_the_clock_did_before_it_was_repaired() -> None:
    workflow = a_workflow({"wait": {"until": rfc3339(EPOCH + timedelta(minutes=1))}}, {"end": "done"})
    day = timedelta(days=1)
    clock = LogicalClock(20, EPOCH - day, 1_000, ((0, EPOCH), (10, EPOCH - day)))
    state = ExecutionState("x1", SALT, workflow.name, 1, {}, wake_tick=5, format=NEWEST_FORMAT)
    ready = ReadyExecution("x1", "default", workflow.name, 1, lambda: state)

    (moved,) = TickRun([ready], lambda *_: workflow, clock, 0, 1, GENESIS, 1).close().moved

    assert (moved.entries[0].tick, moved.state.wake_tick) == (5, 60)
    assert replay(workflow, moved.entries, SALT, clock.epoch, 1_000, clock.zeros).identical
