"""Proposals: what becomes of a new one beside those that are known, and of a person's decision."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from mainspring.domain.advice.proposal import (
    PENDING_MAX,
    VALID_MAX,
    ProposalState,
    StoredProposal,
    make_proposal,
    place,
)
from mainspring.domain.errors import Conflict
from mainspring.domain.event import EventType

NOW = datetime(2025, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_proposal(
    author: str = "rule:busy",
    interval_ms: int = 30_000,
    reason: str = "so",
    at: datetime = NOW,
    valid: timedelta = HOUR,
) -> StoredProposal:
    arguments: dict[str, object] = {"interval_ms": interval_ms, "reason": reason}
    does = f"every {interval_ms} ms"
    return make_proposal(("default", "ep_1"), author, "rule", arguments, does, reason, "run_1", at, valid)


def test_new_proposal_is_pending_and_told_once() -> None:
    new = a_proposal()

    writes, (event,) = place(new, [], NOW)

    assert writes == [new]
    assert (event.type, event.actor, event.endpoint_id, event.run_id) == (
        EventType.PROPOSAL_CREATED,
        "rule:busy",
        "ep_1",
        "run_1",
    )
    assert event.data == {
        "proposal": new.id,
        "does": "every 30000 ms",
        "reason": "so",
        "author": "rule:busy",
        "expires_at": "2025-01-01T01:00:00Z",
        "pending": 1,
    }


def test_proposal_is_valid_for_a_day_at_most() -> None:
    assert a_proposal(valid=timedelta(days=3)).expires_at == NOW + VALID_MAX


def test_same_proposal_again_moves_the_expiry_and_is_not_told_again() -> None:
    first = a_proposal()
    again = a_proposal(at=NOW + timedelta(minutes=1), reason="other words")

    assert place(again, [first], again.created_at) == (
        [replace(first, expires_at=again.expires_at, reason="other words")],
        [],
    )


def test_another_proposal_of_the_same_author_and_action_replaces_the_pending_one() -> None:
    first, other = a_proposal(), a_proposal("rule:night")
    new = a_proposal(interval_ms=10_000)

    (gone, kept), (event,) = place(new, [first, other], NOW)

    assert (gone.id, gone.state, gone.note) == (first.id, ProposalState.SUPERSEDED, f"{new.id} replaced it")
    assert kept == new
    assert (event.data["replaces"], event.data["pending"]) == (first.id, 2)


def test_rejection_holds_as_long_as_the_proposal_would_have_been_valid() -> None:
    rejected = replace(a_proposal(), state=ProposalState.REJECTED, decided_at=NOW, decided_by="user:ann")
    soon, later = a_proposal(at=NOW + HOUR / 2), a_proposal(at=NOW + HOUR)

    assert place(soon, [rejected], soon.created_at) == ([], [])
    assert place(later, [rejected], later.created_at)[0] == [later]
    assert place(a_proposal(interval_ms=5_000), [rejected], NOW)[0] != []


def test_oldest_is_withdrawn_where_too_many_are_pending() -> None:
    known = [a_proposal(f"execution:{each}", at=NOW + timedelta(seconds=each)) for each in range(PENDING_MAX)]
    new = a_proposal(at=NOW + timedelta(minutes=1))

    (dropped, kept), events = place(new, known, new.created_at)

    assert (dropped.id, dropped.state) == (known[0].id, ProposalState.WITHDRAWN)
    assert kept == new
    assert [event.type for event in events] == [EventType.PROPOSAL_WITHDRAWN, EventType.PROPOSAL_CREATED]
    assert events[-1].data["pending"] == PENDING_MAX


@pytest.mark.parametrize("known", [[], [a_proposal("rule:other")]], ids=["gone", "another one"])
def test_decision_about_what_is_not_pending_is_refused(known: list[StoredProposal]) -> None:
    decided = replace(a_proposal(), state=ProposalState.APPROVED, decided_at=NOW, decided_by="user:ann")

    with pytest.raises(Conflict, match="only a pending proposal can be approved or rejected: wait for a new one"):
        place(decided, known, NOW)


def test_decision_is_told_with_who_decided_and_how_many_are_left() -> None:
    known = [a_proposal(), a_proposal("rule:other")]
    decided = replace(known[0], state=ProposalState.REJECTED, decided_at=NOW, decided_by="user:ann", note="maintenance")

    writes, (event,) = place(decided, known, NOW)

    assert writes == [decided]
    assert (event.type, event.actor) == (EventType.PROPOSAL_REJECTED, "user:ann")
    assert (event.data["note"], event.data["pending"]) == ("maintenance", 1)


def test_proposal_whose_time_is_over_is_expired_before_anything_records_it() -> None:
    proposal = a_proposal()

    assert proposal.state_at(NOW) is ProposalState.PENDING
    assert proposal.state_at(NOW + HOUR) is ProposalState.EXPIRED
