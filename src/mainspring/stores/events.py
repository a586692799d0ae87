"""Write events, and the audit entries that belong to them. Reading differs by database: see `*/events.py`."""

from collections.abc import Sequence
from typing import Protocol

from mainspring.domain.access.audit import FIRST_SEAL, chained
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, StoredEvent
from mainspring.ports.accounts import ORIGIN
from mainspring.stores.account_rows import audited_by_tenant, digests, head_from, struct_values
from mainspring.stores.rows import event_rows
from mainspring.stores.session import Session


class EventReader(Protocol):
    """Reads events in one order, none skipped, inside a session."""

    async def events_after(
        self, session: Session, cursor: str, tenant_id: str | None, limit: int
    ) -> list[StoredEvent]: ...

    async def texts_after(self, session: Session, place: str, limit: int) -> list[tuple[str, str | None]]:
        """Return the positions and texts of rows of events after a position; no text for tenants without rules."""

    async def latest_events(self, session: Session, tenant_id: str | None, limit: int) -> list[StoredEvent]: ...


async def add_events(
    session: Session, events: Sequence[Event], before: Sequence[Endpoint] = (), after: Sequence[Endpoint] = ()
) -> None:
    """Write events, and audit those that must be audited; `before` and `after` are the endpoints that they changed."""
    await session.insert("insert_events", event_rows(events))
    for tenant_id, audited in audited_by_tenant(events):
        await session.run("add_audit_head", tenant_id, FIRST_SEAL)
        head = head_from(await session.rows("lock_audit_head", tenant_id))
        entries = chained(head, audited, digests(before, after), ORIGIN.get(), session.audit_keys)
        await session.insert("add_audit_entries", [struct_values(entry) for entry in entries])
        await session.run("put_audit_head", entries[-1].seq, entries[-1].seal, tenant_id)
