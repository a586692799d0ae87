"""Proposals on PostgreSQL."""

from collections.abc import Iterable
from datetime import datetime

from mainspring.domain.advice.proposal import ProposalState, StoredProposal, no_longer_pending, place, told
from mainspring.domain.event import Event
from mainspring.ports.planner import ProposalFilter
from mainspring.stores.postgres.database import PostgresDatabase, PostgresSession
from mainspring.stores.proposals import proposal_from, proposal_values


class PostgresProposals:
    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def proposals(self, tenant_id: str, wanted: ProposalFilter) -> list[StoredProposal]:
        at, before_id = wanted.before or (None, None)
        async with self._db.statement(tenant_id) as session:
            now = await self._db.now_in(session)
            values = (tenant_id, wanted.endpoint_id, wanted.state, now, before_id, at, wanted.limit)
            return [proposal_from(row) for row in await session.rows("proposals", *values)]

    async def proposal(self, tenant_id: str, proposal_id: str) -> StoredProposal | None:
        async with self._db.statement(tenant_id) as session:
            rows = await session.rows("proposal", tenant_id, proposal_id)
        return proposal_from(rows[0]) if rows else None

    async def count_pending(self, tenant_id: str, endpoint_id: str | None = None) -> int:
        async with self._db.statement(tenant_id) as session:
            now = await self._db.now_in(session)
            return int(str(await session.value("count_pending_proposals", tenant_id, now, endpoint_id)))


async def place_proposals(session: PostgresSession, proposals: Iterable[StoredProposal], now: datetime) -> list[Event]:
    """Write proposals and decisions about them, in the transaction that has locked their endpoints; what to tell."""
    events: list[Event] = []
    for new in proposals:
        known = [proposal_from(row) for row in await session.rows("open_proposals", new.endpoint_id, now)]
        writes, news = place(new, known, now)
        for each in writes:
            if not await session.run("put_proposal", *proposal_values(each)) and new.state is not ProposalState.PENDING:
                raise no_longer_pending(new.id)
        events += news
    return events


async def withdraw_proposals(session: PostgresSession, scope: str, actor: str, note: str, now: datetime) -> list[Event]:
    """End what is pending in a scope, in the caller's transaction; what to tell."""
    rows = await session.rows("withdraw_proposals", now, actor, note, scope)
    return [told(proposal_from(row), now, 0) for row in rows]
