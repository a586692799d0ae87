"""Executions played without doing anything: before their first turn, under other documents, with made-up events."""

import pytest
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock

from mainspring.domain.errors import InvalidInput
from mainspring.operations.context import Desk
from mainspring.operations.executions import find_execution
from mainspring.operations.replay import compare_executions, play, state_at
from mainspring.operations.workflows import check_workflow, publish_workflow, start_execution
from mainspring.workflow.replay import SimulatedEvent

WAITS = "name: waits\nsteps:\n  - {id: a, wait_for: {event: go, timeout: 5d}}\n  - {id: b, end: went}\n"


async def test_execution_that_has_not_moved_is_shown_as_it_was_started(desk: Desk, clock: FixedClock) -> None:
    await publish_workflow(desk, WAITS)
    execution = await start_execution(desk, "waits", {})

    before = await state_at(desk, execution.id, None)
    await tick(a_ticker(desk.stores), clock)
    after = await state_at(desk, execution.id, None)

    assert (before.state, before.ticks) == (execution.state, ())
    assert len(after.ticks) == 1
    assert after.state.status is (await find_execution(desk, execution.id)).status


async def test_executions_are_not_compared_under_a_document_of_another_name(desk: Desk) -> None:
    await publish_workflow(desk, WAITS)

    with pytest.raises(InvalidInput, match="the document is of 'other', and the executions are of 'waits'"):
        await compare_executions(desk, "waits", WAITS.replace("name: waits", "name: other"), None, 10)


async def test_simulation_refuses_what_is_no_type_of_an_event(desk: Desk) -> None:
    workflow = await check_workflow(desk, WAITS)

    with pytest.raises(InvalidInput, match="event type '7 go' is not valid; use letters, digits"):
        play(workflow, {}, [SimulatedEvent(0, "7 go", {})])
