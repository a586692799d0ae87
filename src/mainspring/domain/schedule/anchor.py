"""Choose the `now` that the governor is given: the anchor rules. Pure.

A decision is anchored at the slot if the run started within a small tolerance of it, so that 60 s means 60.000 s
without drift; otherwise at the actual start. A change between runs is planned again from the same anchor, so an edit
that does not concern the schedule moves nothing. If the new plan is overdue, the endpoint runs immediately.
"""

from datetime import datetime, timedelta
from hashlib import sha256

from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import FOREVER, after_ms, rfc3339
from mainspring.domain.run import PINGED
from mainspring.domain.schedule.governor import (
    BASELINE_CRON,
    CLAMPED_MAX,
    CLAMPED_MIN,
    PAUSED,
    CronReader,
    Decision,
    DecisionStep,
    decode_trail,
    encode_trail,
    plan_next_run,
)
from mainspring.domain.schedule.open_days import is_open_at, next_open_time, next_slot
from mainspring.domain.schedule.retry import end_retries, keep_retry

START_TOLERANCE = timedelta(seconds=1)
CRON_TOLERANCE = timedelta(seconds=5)  # a short delay; no owner's minimum is undercut by more than this
BY_CRON = (BASELINE_CRON, CLAMPED_MIN, CLAMPED_MAX)
FAULTY_DELAY = timedelta(
    minutes=5
)  # long enough not to busy-loop on a failing endpoint, short enough to recover without help


def plan_first(endpoint: Endpoint, now: datetime, cron: CronReader) -> Endpoint:
    """Plans the first run of a new schedule: cron at its next occurrence, an interval at the endpoint's phase of
    the interval, a single run at its time.
    """
    if endpoint.cron is not None:
        return replan(replace(endpoint, anchor_at=now), now, cron)
    if endpoint.once_at is not None:
        # Before the run, even if that is due now. A time in the past has passed: the endpoint is done.
        before = endpoint.once_at - timedelta(microseconds=1)
        return replan(replace(endpoint, anchor_at=min(now, before) if endpoint.once_at >= now else now), now, cron)
    assert endpoint.interval_ms is not None
    phase_ms = _phase_ms(endpoint.id, endpoint.interval_ms) if endpoint.spread else 0
    return replan(replace(endpoint, anchor_at=now + timedelta(milliseconds=phase_ms - endpoint.interval_ms)), now, cron)


def plan_after_run(
    endpoint: Endpoint, slot_at: datetime, started_at: datetime, finished_at: datetime, cron: CronReader
) -> Endpoint:
    """Plans from the slot or the start; a slow run whose next slot has already passed is planned from its end."""
    if endpoint.action.is_expected:
        pinged = endpoint.claimed_by == PINGED  # then it is anchored where its run began
        anchor_at = endpoint.anchor_at if pinged else slot_at - timedelta(milliseconds=endpoint.action.judged_after_ms)
        return plan_expected(endpoint, anchor_at, finished_at, cron)
    anchor_at = slot_at if slot_at <= started_at <= slot_at + START_TOLERANCE else started_at
    decision = plan_on_time(anchor_at, endpoint, cron)
    if _is_moved_cron(endpoint, decision) and slot_at <= started_at <= slot_at + CRON_TOLERANCE:
        # A minute cron with a minimum of a minute: a start some seconds late must not skip the next occurrence.
        anchor_at = slot_at
        decision = plan_on_time(anchor_at, endpoint, cron)
    if decision.next_run_at < finished_at:
        anchor_at = finished_at
        decision = plan_on_time(anchor_at, endpoint, cron)
    return _with(endpoint, anchor_at, decision, cron)


def plan_expected(endpoint: Endpoint, anchor_at: datetime, now: datetime, cron: CronReader) -> Endpoint:
    """Plans the next ping to expect; if its time has passed already, the one after now."""
    decision = plan_on_time(anchor_at, endpoint, cron)
    if decision.next_run_at < now:
        anchor_at = now
        decision = plan_on_time(anchor_at, endpoint, cron)
    return _with(endpoint, anchor_at, decision, cron)


def plan_on_time(anchor_at: datetime, endpoint: Endpoint, cron: CronReader) -> Decision:
    """The governor's decision; a cron run moved by the minimum goes to the next occurrence, so it stays on its grid."""
    decision = plan_next_run(anchor_at, endpoint, cron)
    if not _is_moved_cron(endpoint, decision):
        return decision
    assert endpoint.cron is not None
    grace = timedelta(milliseconds=endpoint.action.judged_after_ms)
    before = decision.next_run_at - grace - timedelta(microseconds=1)
    at = next_slot(endpoint, before, cron)
    at = at if at >= FOREVER else at + grace
    if at == decision.next_run_at or (endpoint.max_interval_ms and at > after_ms(anchor_at, endpoint.max_interval_ms)):
        return decision
    step = DecisionStep(BASELINE_CRON, at, "moved", "the next time of the cron that keeps the minimum")
    return Decision(at, decision.source, (*decision.trail, step))


def _is_moved_cron(endpoint: Endpoint, decision: Decision) -> bool:
    """Whether the minimum moved a run of the cron itself and not of a hint."""
    if endpoint.cron is None or decision.source != CLAMPED_MIN:
        return False
    return any(step.rule == BASELINE_CRON and step.verdict == "won" for step in decision.trail)


def replan(endpoint: Endpoint, now: datetime, cron: CronReader) -> Endpoint:
    """Plans again from the anchor, in either direction. An overdue interval runs immediately, a cron at its next
    occurrence.

    If the endpoint is due and would be due at the same time again, it keeps its slot: it waits for a worker, not for a
    plan. If a one-shot hint also asks for this time, the run is attributed to the hint. While a run waits for its
    callback, its deadline is the next time of the endpoint, and its end plans again.
    """
    if endpoint.waiting is not None:
        return endpoint
    if endpoint.is_retrying:
        return keep_retry(endpoint, replan(end_retries(endpoint), now, cron))
    fresh = without_expired_hints(endpoint, now)[0]  # a hint valid at the anchor may have expired by now
    decision = plan_on_time(endpoint.anchor_at, fresh, cron)
    if decision.next_run_at >= now or decision.next_run_at == endpoint.next_run_at or endpoint.is_open:
        return _with(endpoint, endpoint.anchor_at, decision, cron)
    if endpoint.action.is_expected:  # nothing was expected meanwhile, so nothing is overdue
        return plan_expected(endpoint, now, now, cron)
    one_shot = fresh.one_shot_hint
    is_asked_for = one_shot is not None and one_shot.next_run_at <= now
    if is_asked_for or (endpoint.cron is not None and decision.source in (BASELINE_CRON, CLAMPED_MIN, PAUSED)):
        # Nothing ran at `now`, and the passed time was min_interval away from the last run: the minimum does not count
        # from here.
        decision = plan_next_run(now, replace(fresh, min_interval_ms=None), cron)
        return _with(endpoint, endpoint.anchor_at, decision, cron)
    overdue = DecisionStep("overdue", now, "moved", "its time by the present rules has passed, so it runs at once")
    return _with(endpoint, endpoint.anchor_at, Decision(now, decision.source, (*decision.trail, overdue)), cron)


def nudge(endpoint: Endpoint, now: datetime, cron: CronReader) -> Endpoint:
    """Moves the next run to what the governor would decide now, only if that is earlier. A paused endpoint stays
    unchanged.
    """
    if endpoint.is_paused(now) or endpoint.next_run_at is None or endpoint.deferred_until is not None:
        return endpoint
    if endpoint.waiting is not None:
        return endpoint
    ended = end_retries(endpoint) if endpoint.is_retrying else endpoint
    decision = plan_next_run(now, ended, cron)
    if decision.next_run_at >= endpoint.next_run_at:
        return endpoint
    return _with(ended, endpoint.anchor_at, decision, cron)


def push_ahead(endpoint: Endpoint, now: datetime, fault: str) -> Endpoint:
    """Postpones an endpoint that cannot be planned by a fixed delay, with the error in its trail."""
    later = now + FAULTY_DELAY
    step = DecisionStep("faulty", later, "won", f"planning failed and is retried later: {fault}")
    return replace(endpoint, next_run_at=later, trail=encode_trail((step,)))


def hold_off(endpoint: Endpoint, now: datetime, fault: str) -> Endpoint:
    """Postpones an endpoint that raised while it was called or stored by the same delay, unless its next run is
    later.
    """
    later = now + FAULTY_DELAY
    if endpoint.next_run_at is None or endpoint.next_run_at >= later:
        return endpoint
    step = DecisionStep("faulty", later, "moved", f"internal error; retried later: {fault}")
    return replace(endpoint, next_run_at=later, trail=encode_trail((*decode_trail(endpoint.trail), step)))


def expire_hints(endpoint: Endpoint, now: datetime, cron: CronReader) -> tuple[Endpoint, tuple[Event, ...]]:
    """Clears expired hints and plans from that time: the baseline applies again, and a downtime is a misfire."""
    cleared, events = without_expired_hints(endpoint, now)
    if not events:
        return endpoint, ()
    hints = (endpoint.interval_hint, endpoint.one_shot_hint)
    expired_at = max(hint.expires_at for hint in hints if hint is not None and not hint.is_fresh(now))
    planned = replan(cleared, expired_at, cron)
    return planned, (*events, *moved(endpoint, planned, now, "system"))


def without_expired_hints(endpoint: Endpoint, now: datetime) -> tuple[Endpoint, tuple[Event, ...]]:
    """Clears expired hints; the caller plans again, so that the baseline applies again."""
    interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
    if interval is None and one_shot is None:
        return endpoint, ()
    events: list[Event] = []
    for kind, hint in (("interval", interval), ("one_shot", one_shot)):
        if hint is not None and not hint.is_fresh(now):
            data: dict[str, object] = {"kind": kind, "expired_at": rfc3339(hint.expires_at), "author": hint.author}
            events.append(Event(EventType.HINT_EXPIRED, now, endpoint.tenant_id, endpoint.id, "", "system", data))
    if not events:
        return endpoint, ()
    return replace(
        endpoint,
        interval_hint=interval if interval is not None and interval.is_fresh(now) else None,
        one_shot_hint=one_shot if one_shot is not None and one_shot.is_fresh(now) else None,
    ), tuple(events)


def moved(old: Endpoint, new: Endpoint, now: datetime, actor: str) -> tuple[Event, ...]:
    """The events to emit if the next run changed."""
    if old.next_run_at == new.next_run_at:
        return ()
    data: dict[str, object] = {
        "from": rfc3339(old.next_run_at) if old.next_run_at else None,
        "next_run_at": rfc3339(new.next_run_at) if new.next_run_at else None,
        "source": new.source,
    }
    return (Event(EventType.SCHEDULE_UPDATED, now, old.tenant_id, old.id, "", actor, data),)


def _with(endpoint: Endpoint, anchor_at: datetime, decision: Decision, cron: CronReader) -> Endpoint:
    if endpoint.has_run(decision.next_run_at) and decision.source in BY_CRON:
        decision = _after_ran(endpoint, decision, cron)
    next_run_at: datetime | None = decision.next_run_at
    is_over = endpoint.once_at is not None and anchor_at >= endpoint.once_at  # its single run
    if is_over or not endpoint.can_run:
        next_run_at = None
    elif endpoint.is_open and decision.source != PAUSED:  # the run that a ping started is judged first
        next_run_at = endpoint.open_until
    elif endpoint.deferred_until is not None:  # over quota: neither a hint nor an edit moves the next run forward
        next_run_at = max(decision.next_run_at, endpoint.deferred_until)
    if endpoint.days and next_run_at is not None:
        next_run_at = _on_open_day(endpoint, next_run_at, decision.source, cron)
    return replace(
        endpoint,
        anchor_at=anchor_at,
        next_run_at=next_run_at,
        source=decision.source,
        trail=encode_trail(decision.trail),
    )


def _on_open_day(endpoint: Endpoint, at: datetime, source: str, cron: CronReader) -> datetime | None:
    """An overdue or deferred run must not be on an excluded day either. None: no allowed day is left.

    A ping is judged on any day: it was expected on an allowed one.
    """
    if not endpoint.action.is_expected and not is_open_at(endpoint, at):
        has_slots = endpoint.cron is not None
        at = next_slot(endpoint, at, cron) if has_slots else next_open_time(endpoint, at, endpoint.interval_ms)
    return None if at >= FOREVER and source != PAUSED else at


def _after_ran(endpoint: Endpoint, decision: Decision, cron: CronReader) -> Decision:
    """The first slot after those that ran while the clock was ahead."""
    assert endpoint.ran_until_at is not None
    later = plan_next_run(endpoint.ran_until_at, replace(endpoint, min_interval_ms=None), cron)
    why = f"the slots up to {rfc3339(endpoint.ran_until_at)} ran while the clock was ahead"
    step = DecisionStep("clock", later.next_run_at, "moved", why)
    return Decision(later.next_run_at, later.source, (*decision.trail, step))


def _phase_ms(endpoint_id: str, interval_ms: int) -> int:
    return int.from_bytes(sha256(endpoint_id.encode()).digest()[:8], "big") % interval_ms
