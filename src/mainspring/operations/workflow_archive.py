"""Archive and restore a workflow. Running executions continue; ended ones can still be shown, verified and replayed."""

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.event import Event, EventType
from mainspring.operations.context import Desk
from mainspring.operations.workflows import find_workflow
from mainspring.ports.workflows import ExecutionFilter, Published
from mainspring.workflow.model import Status

UNDER_WAY = (Status.PENDING, Status.ACTIVE, Status.WAITING, Status.PAUSED, Status.FAILED)


class Archived(Struct, frozen=True):
    """`changed` False: it already was in this state. `running` are its unfinished executions, which continue."""

    published: Published
    changed: bool
    running: int


async def archive_workflow(desk: Desk, name: str, *, dry_run: bool = False) -> Archived:
    """Archives a workflow, so that it cannot be started. Its name stays taken; publishing a new version restores it."""
    found = await find_workflow(desk, name)
    event = await _event(desk, EventType.WORKFLOW_ARCHIVED, name)
    changed = found.archived_at is None
    if changed and not dry_run:
        changed = await desk.stores.flows.archive.archive(desk.tenant_id, name, event)
    return Archived(replace(found, archived_at=found.archived_at or event.at), changed, await _running(desk, name))


async def restore_workflow(desk: Desk, name: str, *, dry_run: bool = False) -> Archived:
    """Restores a workflow, so that users and triggers can start it again."""
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
