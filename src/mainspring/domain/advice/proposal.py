"""Proposals: advice in mode `ask`, stored until a person decides. Pure.

A proposal changes nothing on its own. `place` merges a new proposal with the known ones:

    1 the same proposal was rejected and would still be valid: dropped, the rejection holds
    2 the same proposal is pending: its expiry moves, and no event is emitted
    3 another proposal of the same author and action is pending: the new one supersedes it
    4 the endpoint has the maximum number of pending proposals: the oldest is withdrawn

Decisions pass through the same function: if two people decide at once, one gets Conflict.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339, to_us

PENDING_MAX = 20  # per endpoint: more than a person reads
VALID_MAX = timedelta(hours=24)  # as long as the longest hint


class ProposalState(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"  # the same author proposed something else
    WITHDRAWN = "withdrawn"  # the mode was set to shadow or off, the endpoint was archived, or too many were pending


ADVISED_BY = "advised_by"

_EVENTS = {
    ProposalState.PENDING: EventType.PROPOSAL_CREATED,
    ProposalState.APPROVED: EventType.PROPOSAL_APPROVED,
    ProposalState.REJECTED: EventType.PROPOSAL_REJECTED,
    ProposalState.EXPIRED: EventType.PROPOSAL_EXPIRED,
    ProposalState.SUPERSEDED: EventType.PROPOSAL_WITHDRAWN,
    ProposalState.WITHDRAWN: EventType.PROPOSAL_WITHDRAWN,
}


class StoredProposal(Struct, frozen=True):
    """A proposed change. `action` is `rule`, `hint` (a workflow step) or a tool of the model, with its `arguments`.

    If advice about another endpoint proposed it, `arguments` also name that endpoint: `advised_by`.
    """

    id: str
    tenant_id: str
    endpoint_id: str  # the endpoint to change
    author: str  # rule:NAME, model:NAME, execution:ID
    action: str
    arguments: dict[str, object]
    does: str  # as text for people
    reason: str
    cause: str  # the run that a rule answers, the model session, or the execution
    created_at: datetime
    expires_at: datetime
    state: ProposalState = ProposalState.PENDING
    decided_at: datetime | None = None
    decided_by: str = ""
    note: str = ""  # reason of the rejection or withdrawal

    @property
    def subject_id(self) -> str:
        """The endpoint whose rule or session proposed to change a sibling; "" if the proposal is about itself."""
        return str(self.arguments.get(ADVISED_BY, ""))

    def state_at(self, now: datetime) -> ProposalState:
        """Whether the proposal has expired, recorded by the janitor or not."""
        is_over = self.state is ProposalState.PENDING and self.expires_at <= now
        return ProposalState.EXPIRED if is_over else self.state


def advised_by(subject_id: str, arguments: dict[str, object]) -> dict[str, object]:
    return {**arguments, ADVISED_BY: subject_id} if subject_id else arguments


def make_proposal(
    whom: tuple[str, str],
    author: str,
    action: str,
    arguments: dict[str, object],
    does: str,
    reason: str,
    cause: str,
    now: datetime,
    valid: timedelta,
) -> StoredProposal:
    """`whom` is the tenant and the endpoint. The id is derived from the change, so a replay gives the same id."""
    seed = msgspec.json.encode((*whom, author, action, arguments, cause, to_us(now)), order="deterministic")
    new_id = f"prop_{sha256(seed).hexdigest()[:24]}"
    expires_at = now + min(valid, VALID_MAX)
    return StoredProposal(new_id, *whom, author, action, arguments, does, reason, cause, now, expires_at)


def place(
    new: StoredProposal, known: Sequence[StoredProposal], now: datetime
) -> tuple[list[StoredProposal], list[Event]]:
    """Returns the proposals to write and their events. `known`: pending ones of the endpoint, and rejected ones still
    valid.

    Raises Conflict for a decision about a proposal that is no longer pending.
    """
    pending = [each for each in known if each.state_at(now) is ProposalState.PENDING]
    if new.state is not ProposalState.PENDING:
        if all(each.id != new.id for each in pending):
            raise no_longer_pending(new.id)
        return [new], [told(new, now, len(pending) - 1)]
    alike = [each for each in known if (each.author, each.action) == (new.author, new.action)]
    same = [each for each in alike if _asks_for(each) == _asks_for(new)]
    if any(each.state is ProposalState.REJECTED and each.expires_at > now for each in same):
        return [], []
    if waiting := [each for each in same if each in pending]:
        expires_at = max(new.expires_at, waiting[0].expires_at)
        return [replace(waiting[0], expires_at=expires_at, reason=new.reason, cause=new.cause)], []
    gone = [
        _ended(each, ProposalState.SUPERSEDED, now, f"{new.id} replaced it")
        for each in pending
        if (each.author, each.action) == (new.author, new.action)
    ]
    others = sorted((each for each in pending if each not in alike), key=lambda each: each.created_at)
    surplus = others[: max(0, len(others) + 1 - PENDING_MAX)]
    dropped = [
        _ended(each, ProposalState.WITHDRAWN, now, f"more than {PENDING_MAX} proposals were pending")
        for each in surplus
    ]
    left = len(others) - len(surplus) + 1
    replaced = {"replaces": gone[0].id} if gone else {}
    events = [told(each, now, left) for each in dropped]
    return [*gone, *dropped, new], [*events, told(new, now, left, **replaced)]


def told(proposal: StoredProposal, now: datetime, pending: int, **more: object) -> Event:
    """The event for the current state of a proposal; `pending` is the endpoint's number of pending proposals."""
    data: dict[str, object] = {
        "proposal": proposal.id,
        "does": proposal.does,
        "reason": proposal.reason,
        "author": proposal.author,
        "expires_at": rfc3339(proposal.expires_at),
        "pending": pending,
        **more,
    }
    if proposal.note:
        data["note"] = proposal.note
    is_new = proposal.state is ProposalState.PENDING
    actor = proposal.author if is_new else proposal.decided_by or "system"
    run_id = proposal.cause if proposal.action == "rule" else ""
    whom = (proposal.tenant_id, proposal.endpoint_id, run_id)
    return Event(_EVENTS[proposal.state], now, *whom, actor, data)


def no_longer_pending(proposal_id: str, state: str = "not pending") -> Conflict:
    return Conflict(
        f"proposal {proposal_id!r} is {state}; only a pending proposal can be approved or rejected: "
        "wait for a new one, or change the endpoint yourself",
        kind="proposal",
        name=proposal_id,
    )


def _asks_for(proposal: StoredProposal) -> dict[str, object]:
    """Identifies the proposed change without its reason: a model words the same change differently each time."""
    return {name: value for name, value in proposal.arguments.items() if name != "reason"}


def _ended(proposal: StoredProposal, state: ProposalState, now: datetime, note: str) -> StoredProposal:
    return replace(proposal, state=state, decided_at=now, decided_by="system", note=note)
