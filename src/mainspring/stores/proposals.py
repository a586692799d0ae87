"""How proposals lie in rows: the column list both databases share, and the way there and back."""

from collections.abc import Sequence
from typing import Any

import msgspec

from mainspring.domain.advice.proposal import ProposalState, StoredProposal
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.schedule.changes import Change

PROPOSAL_COLUMNS = StoredProposal.__struct_fields__
PROPOSAL_FRAGMENTS = {
    "proposal_columns": ", ".join(PROPOSAL_COLUMNS),
    "proposal_parameters": ", ".join(f":{column}" for column in PROPOSAL_COLUMNS),
}
_ARGUMENTS, _STATE = PROPOSAL_COLUMNS.index("arguments"), PROPOSAL_COLUMNS.index("state")


ARCHIVED = "the endpoint was archived"


def archived_scopes(before: Sequence[Endpoint], changes: Sequence[Change]) -> list[tuple[str, str]]:
    """The endpoints that a change archives, as scopes of proposals to withdraw, each with who archived it."""
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
