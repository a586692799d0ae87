"""A workflow that is retired: nothing starts it, what runs goes on, and it can come back."""

import pytest
from msgspec.structs import replace
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock, told

from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.event import EventType
from mainspring.operations.context import Desk
from mainspring.operations.executions import find_execution, send_event
from mainspring.operations.workflow_archive import archive_workflow, restore_workflow
from mainspring.operations.workflows import (
    StartRequest,
    dry_run_start,
    find_workflow,
    publish_workflow,
    start_execution,
    start_executions,
)
from mainspring.workflow.model import Status

WAITS = "name: waits\nsteps:\n  - {id: a, wait_for: {event: go, timeout: 5d}}\n  - {id: b, end: went}\n"
TRIGGERED = WAITS + "on: [run: {status: failure}]\n"


async def test_archived_workflow_starts_no_more_and_what_runs_goes_on(desk: Desk, clock: FixedClock) -> None:
    await publish_workflow(desk, WAITS)
    running = await start_execution(desk, "waits", {})
    ticker = a_ticker(desk.stores)
    await tick(ticker, clock)

    archived = await archive_workflow(desk, "waits")
    said = "workflow 'waits' was archived at .*, so it cannot be started; restore it with `mainspring workflow restore"
    with pytest.raises(Conflict, match=said):
        await start_execution(desk, "waits", {}, version=1)
    with pytest.raises(Conflict, match=said):
        await dry_run_start(desk, "waits", StartRequest())
    await send_event(desk, running.id, "go", {})
    await tick(ticker, clock, 2)

    assert (archived.changed, archived.running) == (True, 1)
    assert (await find_workflow(desk, "waits", 1)).archived_at == archived.published.archived_at
    assert (await find_execution(desk, running.id)).status is Status.COMPLETED


async def test_restored_workflow_starts_again_and_each_act_is_told_once(desk: Desk) -> None:
    await publish_workflow(desk, WAITS)

    acts = [
        await act(desk, "waits") for act in (archive_workflow, archive_workflow, restore_workflow, restore_workflow)
    ]

    assert [each.changed for each in acts] == [True, False, True, False]
    assert len(await start_executions(desk, "waits", [StartRequest()])) == 1
    events = [(each.type, each.actor, each.data) for each in await told(desk.stores)]
    assert [each for each in events if each[0] in (EventType.WORKFLOW_ARCHIVED, EventType.WORKFLOW_RESTORED)] == [
        (EventType.WORKFLOW_ARCHIVED, "ada", {"workflow": "waits"}),
        (EventType.WORKFLOW_RESTORED, "ada", {"workflow": "waits"}),
    ]


async def test_new_version_brings_an_archived_workflow_back_and_the_same_document_does_not(desk: Desk) -> None:
    await publish_workflow(desk, WAITS)
    await archive_workflow(desk, "waits")

    same, is_new = await publish_workflow(desk, WAITS)
    assert (is_new, same.archived_at is None) == (False, False)
    await publish_workflow(desk, WAITS.replace("5d", "6d"))
    assert (await find_workflow(desk, "waits")).archived_at is None


async def test_triggers_of_an_archived_workflow_rest(desk: Desk) -> None:
    await publish_workflow(desk, TRIGGERED)
    triggers = desk.stores.flows.triggers
    stamps = [await triggers.stamp()]

    await archive_workflow(desk, "waits")
    stamps.append(await triggers.stamp())
    assert await triggers.triggered() == []
    await restore_workflow(desk, "waits")
    stamps.append(await triggers.stamp())

    assert len(await triggers.triggered()) == 1
    assert stamps[0] != stamps[1] != stamps[2]


async def test_rehearsal_and_other_tenants_change_nothing(desk: Desk) -> None:
    await publish_workflow(desk, WAITS)

    assert (await archive_workflow(desk, "waits", dry_run=True)).changed
    with pytest.raises(NotFound):
        await archive_workflow(replace(desk, tenant_id="other"), "waits")

    assert (await find_workflow(desk, "waits")).archived_at is None
