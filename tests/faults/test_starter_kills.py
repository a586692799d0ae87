"""Triggers through crashes: what happened starts an execution once and is told once, wherever the starter dies.

Real processes kill themselves before and after they act, and before and after they note how far they are; then two look
at once. Every finished run has started one execution, and is one event in the inbox of the execution that waits.
"""

import asyncio
from itertools import count

import pytest

from mainspring.domain.event import Event, EventType
from mainspring.failpoints import VARIABLE
from mainspring.operations.context import Desk
from mainspring.operations.workflows import publish_workflow, start_execution
from mainspring.ports.workflows import ExecutionFilter
from tests.faults.conftest import Figures
from tests.faults.stage import Stage
from tests.harness.waiting import until, until_true
from tests.stores.databases import query

POINTS = ("before_trigger_act", "after_trigger_act", "before_trigger_position", "after_trigger_position")
RUNS = 5  # before each crash
ASK_S = 0.1
STARTS = "name: starts\non:\n  - run: {status: failure}\nsteps: [{id: a, end: done}]\n"
TOLD = (
    "name: told\non:\n  - run: {status: failure}\n    send: {event: went, to: all}\n"
    "steps: [{id: a, wait_for: {event: never, timeout: 5d}}]\n"
)
_numbers = count(1)


async def finish_runs(desk: Desk) -> None:
    now = await desk.stores.flows.workflows.now()
    failed = {"status": "failure"}
    await desk.stores.runs.add_events(
        [
            Event(EventType.RUN_FINISHED, now, "default", run_id=f"run_{next(_numbers)}", data=dict(failed))
            for _ in range(RUNS)
        ]
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_no_start_is_lost_or_doubled_wherever_the_starter_dies(
    kind: str, request: pytest.FixtureRequest, long_run: bool, figures: Figures
) -> None:
    if kind == "postgres" and not long_run:
        pytest.skip("the long version: what differs between the databases is tested in tests/workers")
    stage: Stage = request.getfixturevalue(f"{kind}_stage")
    points = POINTS * (10 if long_run else 1)
    async with stage.desk() as desk:
        await desk.stores.flows.triggers.position("")
        for document in (STARTS, TOLD):
            await publish_workflow(desk, document)
        waiting = await start_execution(desk, "told", {}, correlation="all")
        with stage.nursery(tick_interval="50ms") as nursery:
            for point in points:
                await finish_runs(desk)
                worker = nursery.start({VARIABLE: f"{point}=kill"})
                await until(lambda worker=worker: not worker.is_running, f"it dies {point}", 60)  # type: ignore[misc]  # bound now
            await finish_runs(desk)
            nursery.start()
            nursery.start()
            wanted = RUNS * (len(points) + 1)

            async def all_started() -> bool:
                await asyncio.sleep(ASK_S)
                return await desk.stores.flows.workflows.count("default", ExecutionFilter(workflow="starts")) >= wanted

            async def all_noted() -> bool:
                await asyncio.sleep(ASK_S)
                position = await desk.stores.flows.triggers.position("")
                rest = await desk.stores.runs.events_after(position, None, 1_000)
                return not any(each.event.type is EventType.RUN_FINISHED for each in rest)

            await until_true(all_started, "every run has started an execution", 60)
            await until_true(all_noted, "the starters have noted that", 60)
        found = await desk.stores.flows.workflows.executions("default", ExecutionFilter("starts", limit=1_000))
    told = await query(stage.url, f"SELECT id FROM execution_arrival WHERE execution_id = '{waiting.id}'")

    figures(crashes=len(points), runs=wanted, executions=len(found), told=len(told))
    assert len(found) == len({each.idempotency_key for each in found}) == wanted
    assert len(told) == wanted
