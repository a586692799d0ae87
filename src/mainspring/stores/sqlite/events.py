"""Events on SQLite: there is one writer, so the order of numbers is the order of commits."""

from mainspring.domain.event import StoredEvent
from mainspring.stores.rows import parse_cursor, stored_events
from mainspring.stores.session import Session


class SqliteEventReader:
    async def events_after(self, session: Session, cursor: str, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        seq, index = parse_cursor(cursor)
        if tenant_id is None:
            rows = await session.rows("events_after", seq, limit + 1)
        else:
            rows = await session.rows("events_of_tenant_after", tenant_id, seq, limit + 1)
        return stored_events(rows, (seq, index))[:limit]

    async def texts_after(self, session: Session, place: str, limit: int) -> list[tuple[str, str | None]]:
        rows = await session.rows("planner_events", int(place), limit)
        return [(str(seq), None if text is None else str(text)) for seq, text in rows]

    async def latest_events(self, session: Session, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        if tenant_id is None:
            rows = await session.rows("latest_events", limit)
        else:
            rows = await session.rows("latest_events_of_tenant", tenant_id, limit)
        return stored_events(rows[::-1])[-limit:]
