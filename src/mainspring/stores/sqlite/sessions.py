"""A model's sessions, on SQLite."""

from datetime import timedelta

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.domain.session import Session, TokenUsage
from mainspring.stores.batches import month_of
from mainspring.stores.firings import SHADOW_PAGE, fired_in_shadow
from mainspring.stores.rows import id_floor
from mainspring.stores.sessions import ANALYSIS_COLUMNS, HOUR, session_from, session_values
from mainspring.stores.sqlite.database import Connection, Database, instant
from mainspring.stores.sqlite.endpoints import add_events
from mainspring.stores.sqlite.schedule import encoded, endpoint_row

_INSTANTS = [index for index, column in enumerate(ANALYSIS_COLUMNS) if column.endswith("_at")]


class SqliteSessions:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim_analyses(
        self, worker: str, lease_ms: int, lookback_ms: int, limit: int, per_hour: int, endpoint_id: str | None = None
    ) -> list[str]:
        now = self._db.clock.now()
        since, hour = now - timedelta(milliseconds=lookback_ms), id_floor("ses", now - HOUR)
        rows = await self._db.read(lambda db: db.rows("analyses_due", endpoint_id, since, now, hour, per_hour, limit))
        if not rows:
            return []
        due = encoded([row[0] for row in rows])

        def lease(db: Connection) -> list[str]:
            at = self._db.clock.now()
            until = at + timedelta(milliseconds=lease_ms)
            leased = db.rows("lease_analyses", at, until, worker, due, endpoint_id is not None)
            return [str(row[0]) for row in leased]

        return await self._db.write(lease)

    async def record_session(self, session: Session, worker: str, event: Event) -> None:
        def work(db: Connection) -> None:
            db.run("add_planner_session", *session_values(session))
            db.run("end_analysis", session.next_analysis_at, session.failure_count, session.endpoint_id, worker)
            month = month_of(self._db.clock.now())
            spent = (session.tokens_in, session.tokens_out, session.cost_micros)
            db.run("count_tokens", session.tenant_id, month, *spent)
            add_events(db, [event])

        await self._db.write(work)

    async def sessions(
        self, tenant_id: str, endpoint_id: str | None = None, before_id: str | None = None, limit: int = 50
    ) -> list[Session]:
        rows = await self._db.read(lambda db: db.rows("planner_sessions", tenant_id, endpoint_id, before_id, limit))
        return [_session(row) for row in rows]

    async def session(self, tenant_id: str, session_id: str) -> Session | None:
        rows = await self._db.read(lambda db: db.rows("planner_session", tenant_id, session_id))
        return _session(rows[0]) if rows else None

    async def token_usage(self, tenant_id: str) -> TokenUsage:
        month = month_of(self._db.clock.now())
        rows = await self._db.read(lambda db: db.rows("token_usage", tenant_id, month))
        return TokenUsage(*rows[0]) if rows else TokenUsage(month)  # type: ignore[arg-type]  # columns

    async def shadow_firings(self, tenant_id: str, endpoint_id: str | None, limit: int) -> list[Event]:
        found: list[Event] = []
        before: object = None
        while len(found) < limit:
            place = before
            rows = await self._db.read(lambda db, place=place: db.rows("shadow_events", tenant_id, place, SHADOW_PAGE))  # type: ignore[misc]  # bound now
            found += fired_in_shadow((str(row[1]) for row in rows), endpoint_id)
            if len(rows) < SHADOW_PAGE:
                break
            before = rows[-1][0]
        return found[:limit]

    async def owner_of(self, endpoint_id: str) -> Endpoint | None:
        rows = await self._db.read(lambda db: db.rows("endpoints_by_id", encoded([endpoint_id])))
        return endpoint_row(rows[0]) if rows else None


def _session(row: tuple[object, ...]) -> Session:
    values = list(row)
    for index in _INSTANTS:
        values[index] = instant(values[index])
    return session_from(values)
