"""The end of an audit trail: what its head says, and what was read."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from mainspring.domain.access.audit import AuditFault, AuditHead, AuditKeys, chained, check_end, follow
from mainspring.domain.event import Event, EventType

KEYS = AuditKeys("k1", {"k1": b"ours"})
EVENTS = [
    Event(EventType.JOB_PAUSED, datetime(2026, 5, 1, tzinfo=UTC), "t", actor="ada", data={"name": name})
    for name in ("one", "two")
]
ENTRIES = chained(AuditHead(), EVENTS, {}, "192.0.2.1", KEYS)
HEAD = AuditHead(2, ENTRIES[-1].seal)

ENDS = {
    "as it was written": (HEAD, None),
    "an older head, for more has come since": (AuditHead(1, ENTRIES[0].seal), None),
    "a tail that is missing": (replace(HEAD, seq=3), AuditFault(3, "the end is missing: the trail had 3 entries")),
    "a head that was changed": (
        replace(HEAD, seal="0" * 64),
        AuditFault(2, "the head of the trail was changed: its seal differs from that of the last entry"),
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_end_of_a_trail_is_compared_with_its_head(name: str) -> None:
    head, fault = ENDS[name]

    reached = follow(AuditHead(), ENTRIES, KEYS)

    assert isinstance(reached, AuditHead)
    assert check_end(reached, head) == fault
