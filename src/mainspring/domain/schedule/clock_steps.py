"""Detect that a clock was set, and replan what a clock that was ahead has planned. Pure.

A step is a change of the clock that the passage of time does not explain. After a step back, runs planned under the
earlier clock are too far away: `bring_back` moves them by the step, but never beyond what their schedule allows from
now. A cron slot that ran while the clock was ahead does not run again when its time comes.
"""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import after_ms, rfc3339
from mainspring.domain.schedule.anchor import FAULTY_DELAY, moved, replan
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.governor import CronReader, DecisionStep, decode_trail, encode_trail, plan_next_run
from mainspring.domain.schedule.hint import HINT_TTL_MAX
from mainspring.domain.schedule.retry import longest_wait_ms

STEP_MIN = timedelta(seconds=2)  # NTP slews smaller differences; a blocked loop explains some of them
AHEAD_MIN = timedelta(seconds=2)  # a stored time this far in the future was written under another clock
SKEW_MAX = timedelta(seconds=30)
_MICROSECOND = timedelta(microseconds=1)


class Reading(Struct, frozen=True):
    """A reading of a clock between two readings of the monotonic clock."""

    at: datetime
    before_ns: int
    after_ns: int


class ClockReport(Struct, frozen=True):
    """`ms` is how far the clock was set ahead (positive) or back, or how far a worker's clock is ahead of the
    database's. `changed` counts the endpoints that were planned again, or the partitions that were repaired.
    """

    id: str
    at: datetime
    kind: str  # step | skew | repair
    ms: int
    worker: str
    changed: int = 0

    @property
    def span(self) -> timedelta:
        return timedelta(milliseconds=self.ms)


def step_between(old: Reading, new: Reading) -> timedelta:
    """How far the clock was set between two readings; zero if the elapsed time explains the difference."""
    earliest = old.at + _span(new.before_ns - old.after_ns)
    latest = old.at + _span(new.after_ns - old.before_ns)
    if new.at < earliest - STEP_MIN:
        return new.at - earliest
    if new.at > latest + STEP_MIN:
        return new.at - latest
    return timedelta(0)


def bring_back(
    endpoint: Endpoint,
    now: datetime,
    back: timedelta,
    ran: tuple[datetime, datetime] | None,
    lease_margin_ms: int,
    cron: CronReader,
) -> Change:
    """The endpoint after a step of `back`; unchanged if nothing of it is in the future.

    `ran` are the first and the last slot after `now` that have already run.
    """
    if endpoint.lease_until is not None:
        latest = after_ms(now, endpoint.action.timeout_ms + lease_margin_ms)
        is_long = endpoint.lease_until > latest + AHEAD_MIN
        return Change(replace(endpoint, lease_until=latest) if is_long else endpoint)
    if endpoint.waiting is not None or not is_ahead(endpoint, now, cron):
        return Change(endpoint)
    freed = _without_future(endpoint, now, back)
    if ran is not None:
        freed = replace(freed, ran_from_at=ran[0], ran_until_at=ran[1])
    planned = replan(freed, now, cron)
    if planned.slot_at is not None:  # an owed slot: it was due when it was released
        planned = replace(planned, next_run_at=now)
    was = f"; this run was planned for {rfc3339(endpoint.next_run_at)}" if endpoint.next_run_at else ""
    why = f"the clock was set back by {back.total_seconds():,.0f} s{was}"
    step = DecisionStep("clock", planned.next_run_at, "moved", why)
    planned = replace(planned, trail=encode_trail((*decode_trail(planned.trail), step)))
    return Change(planned, moved(endpoint, planned, now, "system"))


def is_ahead(endpoint: Endpoint, now: datetime, cron: CronReader) -> bool:
    """Whether an idle endpoint waits for a time that its schedule cannot ask for at `now`."""
    soon = now + AHEAD_MIN
    if endpoint.anchor_at > soon or (endpoint.manual_at is not None and endpoint.manual_at > soon):
        return True
    at = endpoint.next_run_at
    if at is None or at <= soon or endpoint.is_paused(now):
        return False
    if endpoint.slot_at is not None:
        waits_ms = longest_wait_ms(endpoint) if endpoint.is_retrying else 0
        return at > after_ms(soon, max(waits_ms, endpoint.min_interval_ms or 0))
    if endpoint.deferred_until is not None:
        return False  # until the next month: the quota, not the schedule
    allowed = plan_next_run(max(now, endpoint.ran_until_at or now), endpoint, cron).next_run_at
    return at > max(allowed, now + FAULTY_DELAY) + AHEAD_MIN


def step_event(report: ClockReport, tenant_id: str) -> Event:
    kind = {"step": EventType.CLOCK_STEPPED, "skew": EventType.CLOCK_DIFFERS, "repair": EventType.CLOCK_REPAIRED}
    data: dict[str, object] = {"ms": report.ms, "worker": report.worker, "changed": report.changed}
    return Event(kind[report.kind], report.at, tenant_id, actor="system", data=data)


def _without_future(endpoint: Endpoint, now: datetime, back: timedelta) -> Endpoint:
    """Moves everything the earlier clock wrote by the step, or drops it if the current clock could not have written
    it.
    """
    is_planned_ahead = endpoint.anchor_at > now + AHEAD_MIN
    anchor_at = min(endpoint.anchor_at - back, now) if is_planned_ahead else endpoint.anchor_at
    if is_planned_ahead and endpoint.interval_ms and back % timedelta(milliseconds=endpoint.interval_ms) == _NOTHING:
        # The slots of the earlier clock are on the same grid, and some of them have run.
        anchor_at -= timedelta(milliseconds=1)
    interval, one_shot, not_before = endpoint.interval_hint, endpoint.one_shot_hint, endpoint.not_before
    latest_expiry = now + HINT_TTL_MAX
    return replace(
        endpoint,
        anchor_at=anchor_at,
        manual_at=min(endpoint.manual_at, now) if endpoint.manual_at is not None else None,
        not_before=not_before - back if not_before is not None and is_planned_ahead else not_before,
        interval_hint=interval if interval is None or interval.expires_at <= latest_expiry else None,
        one_shot_hint=one_shot if one_shot is None or one_shot.expires_at <= latest_expiry else None,
        deferred_until=None if is_planned_ahead else endpoint.deferred_until,
    )


_NOTHING = timedelta(0)


def _span(ns: int) -> timedelta:
    return (ns // 1000) * _MICROSECOND
