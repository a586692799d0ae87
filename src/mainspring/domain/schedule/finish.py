"""Apply a finished call to its endpoint. Pure.

If the epoch is still that of the claim, the result is applied (failure count, expired hints), the governor decides, and
the lease ends. If the epoch has increased, the run is recorded as superseded and nothing else changes.
"""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import after_ms
from mainspring.domain.run import Outcome, RunStatus, RunTrigger
from mainspring.domain.schedule.anchor import hold_off, plan_after_run, push_ahead, without_expired_hints
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.governor import BASELINE_INTERVAL, CronReader, plan_next_run

THROWN = frozenset({"internal", "unstorable"})  # Mainspring itself failed while calling or storing


class Finished(Struct, frozen=True):
    """A claim and the outcome of its call, on the clock of the store."""

    claim: Claim
    outcome: Outcome
    started_at: datetime
    finished_at: datetime


class Settlement(Struct, frozen=True):
    """The effect of a result. `endpoint` is None if the result came too late to count, or was already recorded."""

    endpoint: Endpoint | None
    status: RunStatus
    events: tuple[Event, ...] = ()
    is_repeat: bool = False  # the same result again, after a commit whose answer was lost


def settle(
    endpoint: Endpoint | None, finished: Finished, now: datetime, cron: CronReader, *, fenced: bool = True
) -> Settlement:
    """`fenced=False` exists for the negative control of the concurrency tests and is set nowhere else."""
    claim, outcome = finished.claim, finished.outcome
    if endpoint is not None and endpoint.claim_epoch == claim.epoch and not endpoint.is_running and fenced:
        return Settlement(None, outcome.status, is_repeat=True)
    if endpoint is None or (endpoint.claim_epoch != claim.epoch and fenced):
        data: dict[str, object] = {"would_have_been": outcome.status, "worker": claim.endpoint.claimed_by}
        return Settlement(None, RunStatus.SUPERSEDED, (_event(EventType.RUN_SUPERSEDED, now, claim, data),))
    failed = outcome.status is not RunStatus.SUCCESS
    applied = replace(
        endpoint,
        failure_count=endpoint.failure_count + 1 if failed else 0,
        not_before=_not_before(finished),
        lease_until=None,
        slot_at=None,
        lost_count=0,
        last_run_at=finished.started_at,
        last_status=outcome.status,
        last_duration_ms=outcome.duration_ms,
    )
    events: tuple[Event, ...] = ()
    if endpoint.trigger is not RunTrigger.MANUAL:  # a manual run plans nothing: the sweep clears hints and replans
        applied, events = without_expired_hints(applied, finished.finished_at)
    try:
        planned = _plan(applied, finished, cron)
    except Exception as fault:  # an error in planning one endpoint must affect only that endpoint
        planned = push_ahead(applied, now, f"{type(fault).__name__}: {fault}")
        events = (*events, _event(EventType.ENDPOINT_FAULTY, now, claim, {"fault": str(fault)}))
    if outcome.error_code in THROWN:
        planned = hold_off(planned, now, outcome.error or "")
        events = (*events, _event(EventType.ENDPOINT_FAULTY, now, claim, {"fault": outcome.error}))
    return Settlement(planned, outcome.status, (*events, *_ended(planned, finished, now)))


def _plan(endpoint: Endpoint, finished: Finished, cron: CronReader) -> Endpoint:
    claim = finished.claim
    if endpoint.trigger is RunTrigger.MANUAL:
        return endpoint  # the schedule keeps its cadence
    if endpoint.trigger is RunTrigger.CATCH_UP and endpoint.can_run and not endpoint.is_paused(finished.finished_at):
        unhinted = replace(endpoint, interval_hint=None)
        following = plan_next_run(claim.slot_at, unhinted, cron).next_run_at
        if following <= endpoint.anchor_at:  # when the misfire was found: slots that fall due later are not caught up
            paced = after_ms(finished.started_at, endpoint.min_interval_ms or 0)
            return replace(endpoint, slot_at=following, attempt=0, next_run_at=max(paced, finished.finished_at))
    return plan_after_run(endpoint, claim.slot_at, finished.started_at, finished.finished_at, cron)


def _not_before(finished: Finished) -> datetime | None:
    seconds = finished.outcome.retry_after_s
    return after_ms(finished.finished_at, seconds * 1_000) if seconds and seconds > 0 else None


def _ended(endpoint: Endpoint, finished: Finished, now: datetime) -> tuple[Event, ...]:
    claim, outcome = finished.claim, finished.outcome
    next_run_at = endpoint.next_run_at
    data: dict[str, object] = {
        "status": outcome.status,
        "status_code": outcome.status_code,
        "duration_ms": outcome.duration_ms,
        "next_run_at": next_run_at,
        "source": endpoint.source,
    }
    if endpoint.failure_count:
        data["failures"] = endpoint.failure_count
    if outcome.error_code is not None:
        data["error_code"] = outcome.error_code
    if endpoint.failure_count:
        data["failure_count"] = endpoint.failure_count
    events = [_event(EventType.RUN_FINISHED, now, claim, data)]
    if outcome.status is RunStatus.TIMEOUT:
        events.append(_event(EventType.RUN_TIMEOUT, now, claim, {"timeout_ms": claim.endpoint.action.timeout_ms}))
    planned = endpoint.trigger is not RunTrigger.MANUAL
    if planned and endpoint.failure_count and endpoint.source == BASELINE_INTERVAL:
        backoff: dict[str, object] = {"failures": endpoint.failure_count, "next_run_at": next_run_at}
        events.append(_event(EventType.BACKOFF_APPLIED, now, claim, backoff))
    return tuple(events)


def _event(kind: EventType, now: datetime, claim: Claim, data: dict[str, object]) -> Event:
    return Event(kind, now, claim.endpoint.tenant_id, claim.endpoint.id, claim.run_id, claim.endpoint.claimed_by, data)
