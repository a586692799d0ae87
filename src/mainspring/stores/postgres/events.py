"""Events on PostgreSQL: read in one order by every reader, none skipped.

Sequence numbers are not assigned in commit order. So a reader first asks for the horizon, up to which no writer of
events is still open, and then reads up to it: two statements, in this order. One statement would see what was committed
before it looked for writers, and skip events that were committed in between.
"""

from mainspring.domain.event import StoredEvent
from mainspring.stores.rows import parse_cursor, stored_events
from mainspring.stores.session import Session


async def horizon(session: Session) -> int:
    """The number up to which events can be read by the next statement of a session."""
    return int(str(await session.value("event_horizon")))


class PostgresEventReader:
    async def events_after(self, session: Session, cursor: str, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        seq, index = parse_cursor(cursor)
        upto = await horizon(session)
        if tenant_id is None:
            rows = await session.rows("events_after", seq, upto, limit + 1)
        else:
            rows = await session.rows("events_of_tenant_after", tenant_id, seq, upto, limit + 1)
        return stored_events(rows, (seq, index))[:limit]

    async def texts_after(self, session: Session, place: str, limit: int) -> list[tuple[str, str | None]]:
        rows = await session.rows("planner_events", int(place), await horizon(session), limit)
        return [(str(seq), None if text is None else str(text)) for seq, text in rows]

    async def latest_events(self, session: Session, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        upto = await horizon(session)
        if tenant_id is None:
            rows = await session.rows("latest_events", upto, limit)
        else:
            rows = await session.rows("latest_events_of_tenant", tenant_id, upto, limit)
        return stored_events(rows[::-1])[-limit:]
