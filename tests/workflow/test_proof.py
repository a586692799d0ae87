"""What the first entry of a log commits to, claim by claim."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import rfc3339
from mainspring.workflow.audit import seal
from mainspring.workflow.log_records import start_of
from mainspring.workflow.model import NEWEST_FORMAT, EntryDraft, ExecutionState, LogEntry, LogicalClock, Origin
from mainspring.workflow.proof import OriginClaims, check_clock, check_origin

ZERO = datetime(2025, 1, 1, tzinfo=UTC)
ORIGIN = Origin("d", "m", "ann", "order-7", 2, rfc3339(ZERO), 1_000)
CLAIMS = OriginClaims("waits", 3, "d", "m", "ann", "order-7", 2, (ZERO,), 1_000)


def a_log(*drafts: EntryDraft, origin: Origin = ORIGIN) -> list[LogEntry]:
    state = ExecutionState("exe_1", "salt", "waits", 3, {}, wake_tick=5, format=NEWEST_FORMAT, origin=origin)
    return seal("exe_1", "salt", 0, "", [EntryDraft(5, "a", "start", start_of(state), None, ""), *drafts])


def repair(tick: int, zero: datetime) -> EntryDraft:
    return EntryDraft(tick, "a", "clock", None, {"repairs": [[tick, rfc3339(zero)]]}, "")


def test_claims_that_the_log_commits_to_are_no_breach() -> None:
    assert check_origin(a_log()[0], CLAIMS) is None


@pytest.mark.parametrize(
    ("field", "forged"),
    [
        ("workflow", {"workflow": "other"}),
        ("version", {"version": 2}),
        ("document", {"document": "e"}),
        ("model", {"model": "n"}),
        ("actor", {"actor": "eve"}),
        ("correlation", {"correlation": "order-8"}),
        ("partition", {"partition": 3}),
        ("zero", {"zeros": (ZERO - timedelta(hours=1),)}),
        ("resolution_ms", {"resolution_ms": 500}),
    ],
)
def test_each_claim_that_the_log_does_not_commit_to_is_named(field: str, forged: dict[str, object]) -> None:
    breach = check_origin(a_log()[0], replace(CLAIMS, **forged))

    assert breach is not None
    assert breach.field == field


def test_clock_of_a_file_is_the_one_that_its_log_names() -> None:
    earlier, before_that = ZERO - timedelta(days=1), ZERO - timedelta(days=2)
    log = a_log(repair(9, earlier), repair(20, before_that))
    zeros = ((0, ZERO), (9, earlier), (20, before_that))

    assert check_clock(a_log(), LogicalClock(0, ZERO)) is None
    assert check_clock(log, LogicalClock(0, before_that, 1_000, zeros)) is None
    for field, forged in (
        ("zeros", LogicalClock(0, before_that, 1_000, zeros[:2])),
        ("zeros", LogicalClock(0, ZERO)),
        ("zero", LogicalClock(0, ZERO, 1_000, zeros)),
    ):
        breach = check_clock(log, forged)
        assert (breach and breach.field) == field


@pytest.mark.parametrize(
    "log",
    [
        a_log(EntryDraft(9, "a", "clock", None, {"repairs": [[9, "noon"]]}, "")),
        a_log(EntryDraft(9, "a", "clock", None, {"repairs": "none"}, "")),
        a_log(EntryDraft(9, "a", "clock", None, {}, "")),
        a_log(origin=replace(ORIGIN, zero="noon")),
    ],
    ids=["no instant", "no list", "no repairs", "no zero"],
)
def test_log_whose_clock_cannot_be_read_is_refused_in_words(log: list[LogEntry]) -> None:
    with pytest.raises(InvalidInput, match="the log names a clock that cannot be"):
        check_clock(log, LogicalClock(0, ZERO))


def test_log_whose_origin_cannot_be_read_is_refused_in_words() -> None:
    first = a_log()[0]
    assert first.input is not None
    forged = replace(first, input=first.input.replace(b'"partition":2', b'"partition":"two"'))

    with pytest.raises(InvalidInput, match="the log's first entry names no origin"):
        check_origin(forged, CLAIMS)
