"""Apply a finished call to its endpoint. Pure.

If the endpoint still has the epoch and the run of the claim, the result is applied (failure count, expired hints), the
governor decides, and the lease ends. A failed attempt that is retried keeps its slot and does not count. An accepted
call is not a result: the run waits for its callback, and only the lease ends. Otherwise the run is recorded as
superseded and nothing else changes. The epoch alone is not enough: a database that lost its last writes in a failover
gives the same epoch to another run.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.endpoint import BackoffPolicy, Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import after_ms
from mainspring.domain.retry import THROWN
from mainspring.domain.run import CALLBACK, NO_CALLBACK, PINGED, Outcome, RunStatus, RunTrigger
from mainspring.domain.schedule.anchor import hold_off, plan_after_run, push_ahead, replan, without_expired_hints
from mainspring.domain.schedule.claim import Claim, wait_for_callback
from mainspring.domain.schedule.governor import BASELINE_INTERVAL, CronReader, plan_next_run
from mainspring.domain.schedule.maintenance import WindowSpan, open_during
from mainspring.domain.schedule.retry import wait_for_retry


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
    is_repeat: bool = False  # nothing to record: the same result again, after a commit whose response was lost
    maintenance: str = ""  # the name of the maintenance window that was open during the run


def settle(
    endpoint: Endpoint | None,
    finished: Finished,
    now: datetime,
    cron: CronReader,
    *,
    windows: Sequence[WindowSpan] = (),
    fenced: bool = True,
) -> Settlement:
    """`windows` are the tenant's maintenance windows since the run started: a failure in one of them is not counted.

    `fenced=False` exists for the negative control of the concurrency tests and is set nowhere else.
    """
    claim, outcome = finished.claim, finished.outcome
    refused = _fence(endpoint, finished, now) if fenced or endpoint is None else None
    if endpoint is None or refused is not None:
        assert refused is not None
        return refused
    if outcome.status is RunStatus.RUNNING:
        return _wait_for_callback(endpoint, finished, now)
    took_ms = outcome.duration_ms
    if endpoint.waiting is not None:
        took_ms = endpoint.last_duration_ms or 0  # of the call, which distinguishes slow endpoints from quick ones
        endpoint = replace(endpoint, waiting=None, claimed_by="", manual_at=endpoint.requested_at)
    failed = outcome.status is not RunStatus.SUCCESS
    window = _window(endpoint, finished, windows) if windows else None
    applied = replace(
        endpoint,
        failure_count=endpoint.failure_count + (window is None) if failed else 0,
        not_before=_not_before(finished),
        lease_until=None,
        slot_at=None,
        lost_count=0,
        last_run_at=finished.started_at,
        last_status=outcome.status,
        last_duration_ms=took_ms,
    )
    events: tuple[Event, ...] = ()
    if endpoint.trigger is not RunTrigger.MANUAL:  # a manual run plans nothing: the sweep clears hints and replans
        applied, events = without_expired_hints(applied, finished.finished_at)
    try:
        planned = _plan(applied, finished, cron)
        if endpoint.failed_attempts:
            planned = replace(planned, failed_attempts=0)
        if failed and (endpoint.retry is not None or endpoint.confirm is not None):
            times = claim.slot_at, finished.started_at, finished.finished_at
            waiting = wait_for_retry(endpoint, planned, outcome, *times)
            if waiting is not None:
                return Settlement(waiting, RunStatus.RETRIED, (*events, _retried(waiting, finished, now)))
    except Exception as fault:  # an error in planning one endpoint must affect only that endpoint
        planned = push_ahead(applied, now, f"{type(fault).__name__}: {fault}")
        events = (*events, _event(EventType.ENDPOINT_FAULTY, now, claim, {"fault": str(fault)}))
    if planned.claimed_by == PINGED:
        planned = replace(planned, claimed_by="", last_duration_ms=0)  # the duration of a job says nothing about a call
    if outcome.error_code in THROWN:
        planned = hold_off(planned, now, outcome.error or "")
        events = (*events, _event(EventType.ENDPOINT_FAULTY, now, claim, {"fault": outcome.error}))
    maintenance = "" if window is None else window.name
    ended = _ended(planned, finished, now, maintenance)
    return Settlement(planned, outcome.status, (*events, *ended), maintenance=maintenance)


def _fence(endpoint: Endpoint | None, finished: Finished, now: datetime) -> Settlement | None:
    """What happens to a result that does not count; None: it counts."""
    claim, outcome = finished.claim, finished.outcome
    is_accepted = outcome.status is RunStatus.RUNNING
    if endpoint is None or (endpoint.claim_epoch, endpoint.run_id) != (claim.epoch, claim.run_id):
        if is_accepted or claim.endpoint.waiting is not None:  # the run may continue: nothing is recorded about it
            return Settlement(None, RunStatus.SUPERSEDED, is_repeat=True)
        data: dict[str, object] = {"would_have_been": outcome.status, "worker": claim.endpoint.claimed_by}
        return Settlement(None, RunStatus.SUPERSEDED, (_event(EventType.RUN_SUPERSEDED, now, claim, data),))
    # A run that waits because its worker was taken for dead ends with the result of that worker.
    if not endpoint.is_running and (endpoint.waiting is None or is_accepted):
        return Settlement(None, outcome.status, is_repeat=True)
    return None


def _wait_for_callback(endpoint: Endpoint, finished: Finished, now: datetime) -> Settlement:
    """The target accepted the call: the run continues without a worker, and the schedule waits for its end."""
    claim, outcome = finished.claim, finished.outcome
    until_at = after_ms(finished.finished_at, claim.endpoint.action.callback_within_ms)
    waiting = wait_for_callback(endpoint, finished.started_at, until_at, "the target accepted the call")
    waiting = replace(waiting, lost_count=0, last_duration_ms=outcome.duration_ms)
    data: dict[str, object] = {"status_code": outcome.status_code, "until": until_at}
    return Settlement(waiting, RunStatus.RUNNING, (_event(EventType.RUN_WAITING, now, claim, data),))


def _window(endpoint: Endpoint, finished: Finished, windows: Sequence[WindowSpan]) -> WindowSpan | None:
    """The maintenance window that was open at any time during the run."""
    return open_during(windows, endpoint.id, endpoint.job_id, finished.started_at, finished.finished_at)


def _plan(endpoint: Endpoint, finished: Finished, cron: CronReader) -> Endpoint:
    claim, started_at = finished.claim, finished.started_at
    if endpoint.trigger is RunTrigger.MANUAL:
        # The schedule keeps its cadence; the deadline of a callback replaced its next run meanwhile.
        return replan(endpoint, finished.finished_at, cron) if endpoint.source == CALLBACK else endpoint
    if endpoint.trigger is RunTrigger.CATCH_UP and endpoint.can_run and not endpoint.is_paused(finished.finished_at):
        unhinted = replace(endpoint, interval_hint=None)
        following = plan_next_run(claim.slot_at, unhinted, cron).next_run_at
        if following <= endpoint.anchor_at:  # when the misfire was found: slots that fall due later are not caught up
            paced = after_ms(finished.started_at, endpoint.min_interval_ms or 0)
            return replace(endpoint, slot_at=following, attempt=0, next_run_at=max(paced, finished.finished_at))
    elif endpoint.failed_attempts:
        started_at = endpoint.anchor_at  # that the first attempt set: later ones move no schedule
    return plan_after_run(endpoint, claim.slot_at, started_at, finished.finished_at, cron)


def _not_before(finished: Finished) -> datetime | None:
    seconds = finished.outcome.retry_after_s
    return after_ms(finished.finished_at, seconds * 1_000) if seconds and seconds > 0 else None


def _ended(endpoint: Endpoint, finished: Finished, now: datetime, maintenance: str) -> tuple[Event, ...]:
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
    if maintenance:
        data["maintenance"] = maintenance
    events = [_event(EventType.RUN_FINISHED, now, claim, data)]
    if outcome.status is RunStatus.TIMEOUT:
        action = claim.endpoint.action
        timeout_ms = action.callback_within_ms if outcome.error_code == NO_CALLBACK else action.timeout_ms
        events.append(_event(EventType.RUN_TIMEOUT, now, claim, {"timeout_ms": timeout_ms}))
    planned = endpoint.trigger is not RunTrigger.MANUAL
    is_delayed = endpoint.failure_count and endpoint.backoff is not BackoffPolicy.NONE
    if planned and is_delayed and not maintenance and endpoint.source == BASELINE_INTERVAL:
        backoff: dict[str, object] = {"failures": endpoint.failure_count, "next_run_at": next_run_at}
        events.append(_event(EventType.BACKOFF_APPLIED, now, claim, backoff))
    return tuple(events)


def _retried(endpoint: Endpoint, finished: Finished, now: datetime) -> Event:
    outcome = finished.outcome
    data: dict[str, object] = {
        "status": outcome.status,
        "status_code": outcome.status_code,
        "error_code": outcome.error_code,
        "duration_ms": outcome.duration_ms,
        "attempt": finished.claim.attempt,
        "next_run_at": endpoint.next_run_at,
        "source": endpoint.source,
    }
    return _event(EventType.RUN_RETRIED, now, finished.claim, data)


def _event(kind: EventType, now: datetime, claim: Claim, data: dict[str, object]) -> Event:
    return Event(kind, now, claim.endpoint.tenant_id, claim.endpoint.id, claim.run_id, claim.endpoint.claimed_by, data)
