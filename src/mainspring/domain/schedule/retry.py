"""Retry a slot after a failed attempt. Pure.

While an endpoint waits for its next attempt, it keeps its slot, its next run is the attempt, and the source of that run
is `retry`. The schedule comes first: an attempt that would not start before the next run of the schedule is not made.
Anything that ends the wait (a pause, a hint that asks for an earlier run, a requested run, an edit of the schedule, a
quota) ends the slot with the attempt that failed last.
"""

from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import after_ms
from mainspring.domain.retry import cause_of, read_confirm
from mainspring.domain.run import Outcome, RunStatus, RunTrigger
from mainspring.domain.schedule.governor import PAUSED, DecisionStep, decode_trail, encode_trail
from mainspring.domain.schedule.open_days import is_open_at

RETRY = "retry"


def wait_for_retry(
    before: Endpoint, ended: Endpoint, outcome: Outcome, slot_at: datetime, started_at: datetime, finished_at: datetime
) -> Endpoint | None:
    """The endpoint that waits for its next attempt; None if the failed one was the last of its slot.

    `before` is the endpoint during the run, `ended` is what it would be if its slot ended here. A manual run has one
    attempt: the person who asked for it sees the result. A run that was requested meanwhile replaces the next attempt.
    """
    if before.trigger is RunTrigger.MANUAL or before.manual_at is not None:
        return None
    if not before.can_run or before.is_paused(finished_at):
        return None
    step = next_attempt(before, outcome, started_at, finished_at)
    if step is None or step.at is None:
        return None
    if not is_open_at(before, step.at):
        return None
    if before.max_lateness_ms is not None and step.at > after_ms(slot_at, before.max_lateness_ms):
        return None
    is_catch_up = before.trigger is RunTrigger.CATCH_UP  # its slots run in order, each to its end
    if not is_catch_up and ended.next_run_at is not None and step.at >= ended.next_run_at:
        return None
    waiting = replace(
        ended,
        attempt=before.attempt,
        anchor_at=before.anchor_at if is_catch_up or before.failed_attempts else ended.anchor_at,
        last_status=RunStatus.RETRIED,
    )
    return _waiting(waiting, before.failure_count, slot_at, before.failed_attempts + 1, step)


def next_attempt(
    endpoint: Endpoint, outcome: Outcome, started_at: datetime, finished_at: datetime
) -> DecisionStep | None:
    """When a failed attempt is retried, and why; None: it was the last one.

    The target's Retry-After and the endpoint's minimum interval delay an attempt.
    """
    cause = cause_of(outcome)
    if cause is None:
        return None
    failed = endpoint.failed_attempts + 1
    confirm = None if endpoint.confirm is None else read_confirm(endpoint.confirm)
    if confirm is not None and failed < confirm.times:
        at = max(finished_at, after_ms(started_at, confirm.gap_ms))
        why = f"a failure counts after {confirm.times} attempts within {format_duration(confirm.within_ms)}"
        attempts = confirm.times
    else:
        retries = failed - (1 if confirm is None else confirm.times)  # made so far
        policy = endpoint.retry
        if policy is None or retries >= policy.attempts - 1 or cause not in policy.on:
            return None
        delay_ms = policy.delay_after(retries)
        at = after_ms(finished_at, delay_ms)
        why = f"the next attempt follows after {format_duration(delay_ms)}"
        attempts = failed - retries + policy.attempts - 1
    earliest = after_ms(started_at, endpoint.min_interval_ms or 0)
    asked = after_ms(finished_at, 1_000 * max(outcome.retry_after_s or 0, 0))
    why = f"attempt {failed} of {attempts} failed ({_in_words(outcome)}); {why}"
    return DecisionStep(RETRY, max(at, earliest, asked), "won", why)


def longest_wait_ms(endpoint: Endpoint) -> int:
    """The longest time that the endpoint's own settings let it wait for another attempt."""
    confirm_ms = 0 if endpoint.confirm is None else read_confirm(endpoint.confirm).gap_ms
    return max(confirm_ms, 0 if endpoint.retry is None else endpoint.retry.max_delay_ms)


def end_retries(endpoint: Endpoint) -> Endpoint:
    """Ends the wait: the slot ends with the attempt that failed last, which counts now."""
    return replace(endpoint, slot_at=None, failed_attempts=0, failure_count=endpoint.failure_count + 1)


def keep_retry(waiting: Endpoint, planned: Endpoint) -> Endpoint:
    """`planned` is the endpoint after a change as if it did not wait; the wait continues if the attempt comes first."""
    at = waiting.next_run_at
    if at is None or planned.next_run_at is None or planned.next_run_at <= at or planned.source == PAUSED:
        return planned
    steps = [step for step in decode_trail(waiting.trail) if step.rule == RETRY]
    step = steps[-1] if steps else DecisionStep(RETRY, at, "won", "the slot is retried")
    assert waiting.slot_at is not None
    return _waiting(planned, waiting.failure_count, waiting.slot_at, waiting.failed_attempts, replace(step, at=at))


def _waiting(
    planned: Endpoint, failure_count: int, slot_at: datetime, failed_attempts: int, step: DecisionStep
) -> Endpoint:
    lost = [replace(each, verdict="lost") if each.verdict == "won" else each for each in decode_trail(planned.trail)]
    return replace(
        planned,
        failure_count=failure_count,
        slot_at=slot_at,
        failed_attempts=failed_attempts,
        next_run_at=step.at,
        source=RETRY,
        trail=encode_trail((*lost, step)),
    )


def _in_words(outcome: Outcome) -> str:
    if outcome.status is RunStatus.TIMEOUT:
        return "timeout"
    return f"HTTP {outcome.status_code}" if outcome.error_code == "http_status" else outcome.error_code or "failure"
