"""Which `now` the governor is given: the anchor rules. Pure.

A run's decision is anchored at its slot when it started within a small tolerance of it, so that 60 s means 60.000 s
without drift; else at the moment it really started. What is changed between runs is planned again from that same
anchor, so an edit that does not concern the schedule moves nothing; what is then overdue runs at once.
"""

from datetime import datetime, timedelta
from hashlib import sha256

from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.governor import BASELINE_CRON, PAUSED, CronReader, Decision, Step, encode_trail, plan_next_run

START_TOLERANCE = timedelta(seconds=1)
FAULTY_DELAY = timedelta(minutes=5)  # long enough not to spin on a poisoned endpoint, short enough to heal by itself


def plan_first(endpoint: Endpoint, now: datetime, cron: CronReader) -> Endpoint:
    """Give a new schedule its first run: cron at its next occurrence, an interval at its own phase of the interval."""
    if endpoint.cron is not None:
        return replan(replace(endpoint, anchor_at=now), now, cron)
    assert endpoint.interval_ms is not None
    phase_ms = _phase_ms(endpoint.id, endpoint.interval_ms) if endpoint.spread else 0
    return replan(replace(endpoint, anchor_at=now + timedelta(milliseconds=phase_ms - endpoint.interval_ms)), now, cron)


def plan_after_run(
    endpoint: Endpoint, slot_at: datetime, started_at: datetime, finished_at: datetime, cron: CronReader
) -> Endpoint:
    """Plan from the slot or the start; a slow run whose next slot is already past is planned from its end."""
    anchor_at = slot_at if slot_at <= started_at <= slot_at + START_TOLERANCE else started_at
    decision = plan_next_run(anchor_at, endpoint, cron)
    if decision.next_run_at < finished_at:
        anchor_at = finished_at
        decision = plan_next_run(anchor_at, endpoint, cron)
    return _with(endpoint, anchor_at, decision)


def replan(endpoint: Endpoint, now: datetime, cron: CronReader) -> Endpoint:
    """Plan again from the anchor, in either direction. An overdue interval runs at once, a cron at its next time."""
    decision = plan_next_run(endpoint.anchor_at, endpoint, cron)
    if decision.next_run_at >= now:
        return _with(endpoint, endpoint.anchor_at, decision)
    decision = plan_next_run(now, endpoint, cron)
    if decision.source in (BASELINE_CRON, PAUSED):
        return _with(endpoint, now, decision)
    overdue = Step("overdue", now, "moved", "its time by the present rules has passed, so it runs at once")
    return _with(endpoint, now, Decision(now, decision.source, (*decision.trail, overdue)))


def nudge(endpoint: Endpoint, now: datetime, cron: CronReader) -> Endpoint:
    """Move the next run to what the governor would say now, only if that is earlier. Paused: nothing."""
    if endpoint.is_paused(now) or endpoint.next_run_at is None or endpoint.deferred_until is not None:
        return endpoint
    decision = plan_next_run(now, endpoint, cron)
    return _with(endpoint, endpoint.anchor_at, decision) if decision.next_run_at < endpoint.next_run_at else endpoint


def push_ahead(endpoint: Endpoint, now: datetime, fault: str) -> Endpoint:
    """What cannot be planned is tried again after a fixed delay, with the fault in its trail."""
    later = now + FAULTY_DELAY
    step = Step("faulty", later, "won", f"planning failed and is tried again later: {fault}")
    return replace(endpoint, next_run_at=later, trail=encode_trail((step,)))


def _with(endpoint: Endpoint, anchor_at: datetime, decision: Decision) -> Endpoint:
    next_run_at: datetime | None = decision.next_run_at
    if not endpoint.can_run:
        next_run_at = None
    elif endpoint.deferred_until is not None:  # over quota: neither a hint nor an edit brings it back earlier
        next_run_at = max(decision.next_run_at, endpoint.deferred_until)
    return replace(
        endpoint,
        anchor_at=anchor_at,
        next_run_at=next_run_at,
        source=decision.source,
        trail=encode_trail(decision.trail),
    )


def _phase_ms(endpoint_id: str, interval_ms: int) -> int:
    return int.from_bytes(sha256(endpoint_id.encode()).digest()[:8], "big") % interval_ms
