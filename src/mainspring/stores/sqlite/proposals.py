"""Proposals on SQLite."""

from collections.abc import Iterable
from datetime import datetime

from mainspring.domain.advice.proposal import ProposalState, StoredProposal, no_longer_pending, place, told
from mainspring.domain.event import Event
from mainspring.ports.planner import ProposalFilter
from mainspring.stores.proposals import PROPOSAL_COLUMNS, proposal_from, proposal_values
from mainspring.stores.sqlite.connection import SqliteConnection, instant
from mainspring.stores.sqlite.database import SqliteDatabase

_INSTANTS = [index for index, column in enumerate(PROPOSAL_COLUMNS) if column.endswith("_at")]


class SqliteProposals:
    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def proposals(self, tenant_id: str, wanted: ProposalFilter) -> list[StoredProposal]:
        at, before_id = wanted.before or (None, None)
        values = (tenant_id, wanted.endpoint_id, wanted.state, self._db.clock.now(), before_id, at, wanted.limit)
        return [proposal_row(row) for row in await self._db.read(lambda db: db.rows("proposals", *values))]

    async def proposal(self, tenant_id: str, proposal_id: str) -> StoredProposal | None:
        rows = await self._db.read(lambda db: db.rows("proposal", tenant_id, proposal_id))
        return proposal_row(rows[0]) if rows else None

    async def count_pending(self, tenant_id: str, endpoint_id: str | None = None) -> int:
        values = (tenant_id, self._db.clock.now(), endpoint_id)
        return int(str(await self._db.read(lambda db: db.value("count_pending_proposals", *values))))


def place_proposals(db: SqliteConnection, proposals: Iterable[StoredProposal], now: datetime) -> list[Event]:
    """Write proposals and decisions about them, in the caller's transaction; what to tell."""
    events: list[Event] = []
    for new in proposals:
        known = [proposal_row(row) for row in db.rows("open_proposals", new.endpoint_id, now)]
        writes, news = place(new, known, now)
        for each in writes:
            if not db.run("put_proposal", *proposal_values(each)) and new.state is not ProposalState.PENDING:
                raise no_longer_pending(new.id)
        events += news
    return events


def withdraw_proposals(db: SqliteConnection, scope: str, actor: str, note: str, now: datetime) -> list[Event]:
    """End what is pending in a scope, in the caller's transaction; what to tell."""
    return [told(proposal_row(row), now, 0) for row in db.rows("withdraw_proposals", now, actor, note, scope)]


def proposal_row(row: tuple[object, ...]) -> StoredProposal:
    values = list(row)
    for index in _INSTANTS:
        values[index] = instant(values[index])
    return proposal_from(values)
