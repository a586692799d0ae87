"""A model's sessions, on PostgreSQL."""

from datetime import timedelta

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.domain.session import Session, TokenUsage
from mainspring.stores.batches import month_of
from mainspring.stores.firings import SHADOW_PAGE, fired_in_shadow
from mainspring.stores.postgres.database import Database
from mainspring.stores.postgres.endpoints import add_events
from mainspring.stores.rows import endpoint_from, id_floor
from mainspring.stores.sessions import HOUR, session_from, session_values


class PostgresSessions:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim_analyses(
        self, worker: str, lease_ms: int, lookback_ms: int, limit: int, per_hour: int, endpoint_id: str | None = None
    ) -> list[str]:
        async with self._db.transaction() as session:
            now = await self._db.now_in(session)
            until = now + timedelta(milliseconds=lease_ms)
            since = now - timedelta(milliseconds=lookback_ms)
            hour = id_floor("ses", now - HOUR)
            rows = await session.rows("lease_analyses", endpoint_id, since, now, until, worker, hour, per_hour, limit)
        return [str(row[0]) for row in rows]

    async def record_session(self, session: Session, worker: str, event: Event) -> None:
        async with self._db.transaction() as db:
            await db.run("add_planner_session", *session_values(session))
            ended = (session.next_analysis_at, session.failure_count, session.endpoint_id, worker)
            await db.run("end_analysis", *ended)
            month = month_of(await self._db.now_in(db))
            spent = (session.tokens_in, session.tokens_out, session.cost_micros)
            await db.run("count_tokens", session.tenant_id, month, *spent)
            await add_events(db, [event])

    async def sessions(
        self, tenant_id: str, endpoint_id: str | None = None, before_id: str | None = None, limit: int = 50
    ) -> list[Session]:
        async with self._db.statement(tenant_id) as db:
            rows = await db.rows("planner_sessions", tenant_id, endpoint_id, before_id, limit)
        return [session_from(row) for row in rows]

    async def session(self, tenant_id: str, session_id: str) -> Session | None:
        async with self._db.statement(tenant_id) as db:
            rows = await db.rows("planner_session", tenant_id, session_id)
        return session_from(rows[0]) if rows else None

    async def token_usage(self, tenant_id: str) -> TokenUsage:
        month = month_of(await self._db.now())
        async with self._db.statement(tenant_id) as db:
            rows = await db.rows("token_usage", tenant_id, month)
        return TokenUsage(*rows[0]) if rows else TokenUsage(month)  # type: ignore[arg-type]  # columns

    async def shadow_firings(self, tenant_id: str, endpoint_id: str | None, limit: int) -> list[Event]:
        found: list[Event] = []
        before: tuple[object, object] = (None, None)
        async with self._db.statement(tenant_id) as db:
            while len(found) < limit:
                rows = await db.rows("shadow_events", tenant_id, *before, SHADOW_PAGE)
                found += fired_in_shadow((str(row[2]) for row in rows), endpoint_id)
                if len(rows) < SHADOW_PAGE:
                    break
                before = (rows[-1][0], rows[-1][1])
        return found[:limit]

    async def owner_of(self, endpoint_id: str) -> Endpoint | None:
        async with self._db.statement() as db:
            rows = await db.rows("endpoints_by_id", [endpoint_id])
        return endpoint_from(rows[0]) if rows else None
