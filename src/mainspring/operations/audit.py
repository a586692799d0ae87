"""The audit trail: read it, verify it, and record exports."""

from mainspring.domain.access.audit import AuditEntry, AuditFault, AuditHead
from mainspring.domain.event import Event, EventType
from mainspring.operations.context import Desk
from mainspring.operations.secret_rotation import remember_retired

PAGE_MAX = 1_000


async def audit_entries(desk: Desk, before_seq: int | None = None, limit: int = 50) -> list[AuditEntry]:
    """Newest first, of the desk's tenant; the desk of tenant "" has the installation's."""
    return await desk.stores.audit.audit_entries(desk.tenant_id, before_seq, min(limit, PAGE_MAX))


async def verify_audit(desk: Desk) -> AuditHead | AuditFault:
    await remember_retired(
        desk.stores, desk.vault.recall
    )  # another process may have changed the key since this one started
    return await desk.stores.audit.verify_audit(desk.tenant_id)


async def note_export(desk: Desk, what: str) -> None:
    """Records that `what` was exported. Reading changes nothing, so this is its only event."""
    now = await desk.stores.schedule.now()
    event = Event(EventType.DATA_EXPORTED, now, desk.tenant_id, actor=desk.actor, data={"subject": what})
    await desk.stores.runs.add_events([event])
