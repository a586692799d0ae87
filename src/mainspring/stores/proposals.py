"""Proposals: what advice proposed in mode `ask`, and the decisions."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from mainspring.domain.advice.proposal import ProposalState, StoredProposal, no_longer_pending, place, told
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.domain.schedule.changes import Change
from mainspring.ports.planner import ProposalFilter
from mainspring.stores.session import Database, Row, Session

PROPOSAL_COLUMNS = StoredProposal.__struct_fields__
PROPOSAL_FRAGMENTS = {
    "proposal_columns": ", ".join(PROPOSAL_COLUMNS),
    "proposal_parameters": ", ".join(f":{column}" for column in PROPOSAL_COLUMNS),
}
_INSTANTS = [index for index, column in enumerate(PROPOSAL_COLUMNS) if column.endswith("_at")]
_ARGUMENTS, _STATE = PROPOSAL_COLUMNS.index("arguments"), PROPOSAL_COLUMNS.index("state")
ARCHIVED = "the endpoint was archived"


class SqlProposalStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def proposals(self, tenant_id: str, wanted: ProposalFilter) -> list[StoredProposal]:
        at, before_id = wanted.before or (None, None)
        async with self._db.reading(tenant_id) as session:
            now = await session.now()
            values = (tenant_id, wanted.endpoint_id, wanted.state, now, before_id, at, wanted.limit)
            return [_proposal(session, row) for row in await session.rows("proposals", *values)]

    async def proposal(self, tenant_id: str, proposal_id: str) -> StoredProposal | None:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("proposal", tenant_id, proposal_id)
        return _proposal(session, rows[0]) if rows else None

    async def count_pending(self, tenant_id: str, endpoint_id: str | None = None) -> int:
        async with self._db.reading(tenant_id) as session:
            now = await session.now()
            return int(str(await session.value("count_pending_proposals", tenant_id, now, endpoint_id)))


async def place_proposals(session: Session, proposals: Iterable[StoredProposal], now: datetime) -> list[Event]:
    """Write proposals and decisions about them and return the events; the caller has locked the endpoints."""
    events: list[Event] = []
    for new in proposals:
        known = [_proposal(session, row) for row in await session.rows("open_proposals", new.endpoint_id, now)]
        writes, news = place(new, known, now)
        for each in writes:
            if not await session.run("put_proposal", *proposal_values(each)) and new.state is not ProposalState.PENDING:
                raise no_longer_pending(new.id)
        events += news
    return events


async def withdraw_proposals(session: Session, scope: str, actor: str, note: str, now: datetime) -> list[Event]:
    """End pending proposals in a scope, in the caller's transaction; return the events."""
    rows = await session.rows("withdraw_proposals", now, actor, note, scope)
    return [told(_proposal(session, row), now, 0) for row in rows]


async def expire_proposals(session: Session, limit: int) -> list[Event]:
    """End expired proposals, in the caller's transaction; return the events."""
    now = await session.now()
    expired = [_proposal(session, row) for row in await session.rows("expire_proposals", now, limit)]
    left = {
        each.endpoint_id: await session.value("count_pending_proposals", each.tenant_id, now, each.endpoint_id)
        for each in expired
    }
    return [told(each, now, int(str(left[each.endpoint_id]))) for each in expired]


def _proposal(session: Session, row: Row) -> StoredProposal:
    return proposal_from(session.instants(row, _INSTANTS))


def archived_scopes(before: Sequence[Endpoint], changes: Sequence[Change]) -> list[tuple[str, str]]:
    """The endpoints that a change archives, as scopes of proposals to withdraw, each with the user who archived it."""
    return [
        (f"endpoint:{old.id}", change.events[0].actor if change.events else "")
        for old, change in zip(before, changes, strict=True)
        if old.archived_at is None and change.endpoint.archived_at is not None
    ]


def proposal_values(proposal: StoredProposal) -> tuple[object, ...]:
    """In the order of the query `put_proposal`."""
    values = [getattr(proposal, name) for name in PROPOSAL_COLUMNS]
    values[_ARGUMENTS] = msgspec.json.encode(proposal.arguments).decode()
    return (*values,)


def proposal_from(row: Sequence[Any]) -> StoredProposal:
    values = list(row)
    values[_ARGUMENTS] = msgspec.json.decode(values[_ARGUMENTS])
    values[_STATE] = ProposalState(values[_STATE])
    return StoredProposal(*values)
