"""Replay executions from their logs, with another version, or simulate a workflow that never ran.

Nothing here sends, writes or waits.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import shown
from mainspring.operations.context import Desk
from mainspring.operations.executions import clock_of, find_execution, read_log
from mainspring.operations.workflows import check_data, check_workflow, find_workflow
from mainspring.ports.workflows import Execution, ExecutionFilter
from mainspring.workflow.document import check_input
from mainspring.workflow.model import NEWEST_FORMAT, ExecutionState, LogEntry, LogicalClock, Workflow
from mainspring.workflow.reader import is_event_type
from mainspring.workflow.replay import (
    ExecutionReplay,
    SimulatedAnswer,
    SimulatedEvent,
    Simulation,
    frames,
    replay,
    simulate,
)

TURNS_MAX = 2_000  # five years of days; a longer simulation is cut and marked as cut
COMPARED_MAX = 200
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)  # of simulations: any value works, and the same one gives the same trace


class StepState(Struct, frozen=True):
    """An execution after its last turn at or before a tick, which `clock` shows."""

    execution: Execution
    state: ExecutionState
    clock: LogicalClock
    ticks: tuple[int, ...]  # of all its turns


async def state_at(desk: Desk, execution_id: str, tick: int | None) -> StepState:
    """The state at a tick, computed from the log; without a tick, the last state in the log."""
    execution = await find_execution(desk, execution_id)
    clock = await clock_of(desk, execution)
    log = await read_log(desk, execution)
    if execution.state.number == 0 or not log:
        return StepState(execution, execution.state, clock, ())
    workflow = (await find_workflow(desk, execution.state.workflow, execution.state.version)).workflow
    state, ticks = await desk.sandbox.call(
        desk.tenant_id, _play_until, workflow, log, execution.state.salt, clock, tick
    )
    return StepState(execution, state, replace(clock, tick=ticks[-1] if tick is None else tick), ticks)


def _play_until(
    workflow: Workflow, log: Sequence[LogEntry], salt: str, clock: LogicalClock, tick: int | None
) -> tuple[ExecutionState, tuple[int, ...]]:
    """The state after the last turn at or before a tick, and the ticks of all turns."""
    state: ExecutionState | None = None
    ticks: list[int] = []
    for each in frames(workflow, log, salt, clock.epoch, clock.resolution_ms, clock.zeros):
        ticks.append(each.tick)
        if tick is None or each.tick <= tick:
            state = each.after
        elif state is None:
            state = each.before
    assert state is not None, "an execution that has moved has a turn"
    return state, tuple(ticks)


class ExecutionComparison(Struct, frozen=True):
    """What a version would have made of one old execution. `trouble`: why it cannot be determined."""

    execution_id: str
    correlation: str
    version: int
    replay: ExecutionReplay | None
    trouble: str = ""


async def replay_with(desk: Desk, execution_id: str, document: str) -> ExecutionReplay:
    """Replays with an unpublished document, to see what it would change."""
    workflow = await check_workflow(desk, document)
    return await _replayed(desk, await find_execution(desk, execution_id), workflow)


async def compare_executions(
    desk: Desk, name: str, document: str | None, version: int | None, limit: int
) -> list[ExecutionComparison]:
    """Old executions of a workflow, newest first, under another version or an unpublished document."""
    found = (await find_workflow(desk, name, version)).workflow
    workflow = found if document is None else await check_workflow(desk, document)
    if workflow.name != name:
        raise InvalidInput(
            f"the document is of {workflow.name!r}, and the executions are of {name!r}; give a document with that name",
            field="document",
        )
    wanted = ExecutionFilter(workflow=name, limit=min(limit, COMPARED_MAX))
    compared = []
    for execution in await desk.stores.flows.workflows.executions(desk.tenant_id, wanted):
        made, why_not = None, ""
        try:
            made = await _replayed(desk, execution, workflow)
        except InvalidInput as trouble:
            why_not = str(trouble)
        compared.append(
            ExecutionComparison(execution.id, execution.correlation, execution.state.version, made, why_not)
        )
    return compared


async def _replayed(desk: Desk, execution: Execution, workflow: Workflow) -> ExecutionReplay:
    clock = await clock_of(desk, execution)
    log = await read_log(desk, execution)
    return await desk.sandbox.call(
        desk.tenant_id, replay, workflow, log, execution.state.salt, clock.epoch, clock.resolution_ms, clock.zeros
    )


def play(
    workflow: Workflow,
    given: Mapping[str, object],
    happenings: Sequence[SimulatedEvent] = (),
    answers: Mapping[str, Sequence[SimulatedAnswer]] | None = None,
) -> Simulation:
    """Simulates a workflow with given events and results of effects."""
    for happening in happenings:
        if not is_event_type(happening.type):
            raise InvalidInput(
                f"event type '{shown(happening.type)}' is not valid; use letters, digits and . _ : -, "
                "starting with a letter",
                field="events",
            )
        check_data(happening.data, "events")
    for step in answers or {}:
        if step not in workflow.steps:
            near = did_you_mean(step, tuple(workflow.steps)) or f"; steps are {', '.join(workflow.steps)}"
            raise InvalidInput(f"unknown step '{shown(step)}'{near}", field="answers")
    values = check_input(workflow, check_data(given, "input"))
    return simulate(workflow, values, happenings, answers, epoch=EPOCH, turns_max=TURNS_MAX, format_=NEWEST_FORMAT)
