"""Retire a workflow, and bring it back. What runs goes on; what ended can still be shown, verified and replayed."""

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.event import Event, EventType
from mainspring.operations.endpoints import Desk
from mainspring.operations.workflows import find_workflow
from mainspring.ports.workflows import ExecutionFilter, Published
from mainspring.workflow.model import Status

UNDER_WAY = (Status.PENDING, Status.ACTIVE, Status.WAITING, Status.PAUSED, Status.FAILED)


class Archived(Struct, frozen=True):
    """`changed` False: it was so already. `running` are its executions that are not over; they go on either way."""

    published: Published
    changed: bool
    running: int


async def archive_workflow(desk: Desk, name: str, *, dry_run: bool = False) -> Archived:
    """From now on nobody and nothing starts it. The name stays its own; publishing a new version brings it back."""
    found = await find_workflow(desk, name)
    event = await _event(desk, EventType.WORKFLOW_ARCHIVED, name)
    changed = found.archived_at is None
    if changed and not dry_run:
        changed = await desk.stores.flows.archive.archive(desk.tenant_id, name, event)
    return Archived(replace(found, archived_at=found.archived_at or event.at), changed, await _running(desk, name))


async def restore_workflow(desk: Desk, name: str, *, dry_run: bool = False) -> Archived:
    """It may be started again, by hand and by its triggers."""
    found = await find_workflow(desk, name)
    changed = found.archived_at is not None
    if changed and not dry_run:
        event = await _event(desk, EventType.WORKFLOW_RESTORED, name)
        changed = await desk.stores.flows.archive.restore(desk.tenant_id, name, event)
    return Archived(replace(found, archived_at=None), changed, await _running(desk, name))


async def _event(desk: Desk, type_: EventType, name: str) -> Event:
    now = await desk.stores.flows.workflows.now()
    return Event(type_, now, desk.tenant_id, actor=desk.actor, data={"workflow": name})


async def _running(desk: Desk, name: str) -> int:
    count = desk.stores.flows.workflows.count
    return sum([await count(desk.tenant_id, ExecutionFilter(workflow=name, status=each)) for each in UNDER_WAY])
