"""Play an endpoint through the pure functions as a store would: claim it, end its run, lose its worker."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace
from tests.stores.world import an_outcome

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event
from mainspring.domain.run import Outcome, RunStatus, RunTrigger
from mainspring.domain.schedule.claim import Claim, Claimant, Transition, admit
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.finish import Finished, Settlement, settle
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint

DAY = datetime(2025, 1, 1, tzinfo=UTC)
LEASE_MARGIN_MS = 30_000


class FaultyCron:
    """A cron reader that cannot read: what a zone that was removed from the machine does to one endpoint."""

    def next_after(self, expression: str, timezone: str, after: datetime, endpoint_id: str) -> datetime:
        raise ValueError(f"cannot read {expression}")


def at(clock: str, *, day: int = 1) -> datetime:
    """`at("12:00:35")` is that time on 1 January 2025, UTC."""
    time = datetime.fromisoformat(f"2025-01-01T{clock}+00:00")
    return time + timedelta(days=day - 1)


def every(seconds: float, until: datetime, reason: str = "", author: str = "user") -> IntervalHint:
    return IntervalHint(round(seconds * 1_000), until, reason, author)


def once(when: datetime, until: datetime, reason: str = "", author: str = "user") -> OneShotHint:
    return OneShotHint(when, until, reason, author)


def claimant(run_id: str = "run_1", *, worker: str = "worker-1", over_quota: bool = False) -> Claimant:
    return Claimant(worker, LEASE_MARGIN_MS, run_id, ("sealed key",), over_quota)


def reach(endpoint: Endpoint, now: datetime, *, over_quota: bool = False, run_id: str = "run_1") -> Transition:
    """What becomes of the endpoint when a worker reaches for it."""
    return admit(endpoint, now, claimant(run_id, over_quota=over_quota), CRON)


def start(endpoint: Endpoint, now: datetime) -> Claim:
    claim = reach(endpoint, now).claim
    assert claim is not None, "nothing started"
    return claim


def end(
    endpoint: Endpoint | None,
    claim: Claim,
    outcome: Outcome | RunStatus = RunStatus.SUCCESS,
    *,
    started_at: datetime | None = None,
    took: float = 0.01,
) -> Settlement:
    """Settle a run that took so many seconds; `endpoint` is the row as it is by then."""
    started = started_at or claim.claimed_at
    ended = started + timedelta(seconds=took)
    result = an_outcome(outcome) if isinstance(outcome, RunStatus) else outcome
    return settle(endpoint, Finished(claim, result, started, ended), ended, CRON)


def after(settlement: Settlement) -> Endpoint:
    assert settlement.endpoint is not None, "the result did not count"
    return settlement.endpoint


def run(
    endpoint: Endpoint, now: datetime, outcome: Outcome | RunStatus = RunStatus.SUCCESS, *, took: float = 0.01
) -> Endpoint:
    """One whole run: the endpoint as it is when its result is settled."""
    claim = start(endpoint, now)
    return after(end(claim.endpoint, claim, outcome, took=took))


def released(claim: Claim, now: datetime) -> Endpoint:
    """As a store gives a slot back when its worker shuts down."""
    freed = replace(claim.endpoint, lease_until=None, claim_epoch=claim.epoch + 1)
    manual = freed.trigger is RunTrigger.MANUAL
    return replace(freed, manual_at=now) if manual else replace(freed, next_run_at=now)


def types(events: tuple[Event, ...]) -> list[str]:
    return [event.type.value for event in events]


def due(endpoint: Endpoint) -> datetime:
    assert endpoint.next_run_at is not None, "nothing is planned"
    return endpoint.next_run_at


def lease_end(endpoint: Endpoint) -> datetime:
    assert endpoint.lease_until is not None, "nothing runs"
    return endpoint.lease_until
