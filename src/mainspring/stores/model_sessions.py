"""Model sessions and their leases."""

import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.domain.model.session import ModelSession, SessionDetail, TokenUsage
from mainspring.stores.claim_batch import month_of
from mainspring.stores.events import add_events
from mainspring.stores.rows import ENDPOINT_INSTANTS, endpoint_from, id_floor
from mainspring.stores.rule_rows import SHADOW_PAGE, fired_in_shadow
from mainspring.stores.session import Database

HOUR = timedelta(hours=1)
ANALYSIS_COLUMNS = ModelSession.__struct_fields__
_DETAIL = msgspec.json.Decoder(SessionDetail)
_INSTANTS = [index for index, column in enumerate(ANALYSIS_COLUMNS) if column.endswith("_at")]


class SqlModelSessionStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim_analyses(
        self, worker: str, lease_ms: int, lookback_ms: int, limit: int, per_hour: int, endpoint_id: str | None = None
    ) -> list[str]:
        async with self._db.reading() as db:  # a long read must not delay the writers of SQLite
            now = await db.now()
            since, hour = now - timedelta(milliseconds=lookback_ms), id_floor("ses", now - HOUR)
            due = await db.rows("analyses_due", endpoint_id, since, now, hour, per_hour, limit)
        if not due:
            return []
        async with self._db.transaction() as db:
            at = await db.now()
            until = at + timedelta(milliseconds=lease_ms)
            leased = await db.rows(
                "lease_analyses", at, until, worker, [str(row[0]) for row in due], endpoint_id is not None
            )
        return [str(row[0]) for row in leased]

    async def record_session(self, session: ModelSession, worker: str, event: Event) -> None:
        async with self._db.transaction() as db:
            await db.run("add_planner_session", *session_values(session))
            ended = (session.next_analysis_at, session.failure_count, session.endpoint_id, worker)
            await db.run("end_analysis", *ended)
            month = month_of(await db.now())
            spent = (session.tokens_in, session.tokens_out, session.cost_micros)
            await db.run("count_tokens", session.tenant_id, month, *spent)
            await add_events(db, [event])

    async def sessions(
        self, tenant_id: str, endpoint_id: str | None = None, before_id: str | None = None, limit: int = 50
    ) -> list[ModelSession]:
        async with self._db.reading(tenant_id) as db:
            rows = await db.rows("planner_sessions", tenant_id, endpoint_id, before_id, limit)
        return [session_from(db.instants(row, _INSTANTS)) for row in rows]

    async def session(self, tenant_id: str, session_id: str) -> ModelSession | None:
        async with self._db.reading(tenant_id) as db:
            rows = await db.rows("planner_session", tenant_id, session_id)
        return session_from(db.instants(rows[0], _INSTANTS)) if rows else None

    async def token_usage(self, tenant_id: str) -> TokenUsage:
        month = month_of(await self._db.now())
        async with self._db.reading(tenant_id) as db:
            rows = await db.rows("token_usage", tenant_id, month)
        return TokenUsage(*rows[0]) if rows else TokenUsage(month)  # type: ignore[arg-type]  # columns

    async def shadow_firings(self, tenant_id: str, endpoint_id: str | None, limit: int) -> list[Event]:
        found: list[Event] = []
        before: object = sys.maxsize
        async with self._db.reading(tenant_id) as db:
            while len(found) < limit:
                rows = await db.rows("shadow_events", tenant_id, before, SHADOW_PAGE)
                found += fired_in_shadow((str(row[1]) for row in rows), endpoint_id)
                if len(rows) < SHADOW_PAGE:
                    break
                before = rows[-1][0]
        return found[:limit]

    async def owner_of(self, endpoint_id: str) -> Endpoint | None:
        async with self._db.reading() as db:
            rows = await db.rows("endpoints_by_id", [endpoint_id])
        return endpoint_from(db.instants(rows[0], ENDPOINT_INSTANTS)) if rows else None


def session_values(session: ModelSession) -> tuple[object, ...]:
    values = [getattr(session, name) for name in ANALYSIS_COLUMNS]
    return (*values[:-1], msgspec.json.encode(session.detail).decode())


def session_from(row: Sequence[Any]) -> ModelSession:
    return ModelSession(*row[:-1], _DETAIL.decode(row[-1]))  # type: ignore[call-arg]  # columns
