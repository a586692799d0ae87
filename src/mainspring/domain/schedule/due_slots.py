"""Which slots of an endpoint have come due: their number, and the newest of them. Pure."""

from datetime import datetime, timedelta

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import after_ms
from mainspring.domain.schedule.governor import (
    AI_INTERVAL,
    BASELINE_CRON,
    BASELINE_INTERVAL,
    CronReader,
    intended_interval_ms,
)
from mainspring.domain.schedule.open_days import next_open_time, next_slot

MISSED_COUNTED_MAX = 1_000  # counting cron slots costs some 20 us each inside the claim; more are "1,000 or more"


def count_due(endpoint: Endpoint, slot_at: datetime, now: datetime, cron: CronReader) -> int:
    """The number of slots from `slot_at` up to now; crons are counted up to MISSED_COUNTED_MAX."""
    if endpoint.source == BASELINE_CRON and endpoint.cron is not None:
        count, at = 1, slot_at
        while count < MISSED_COUNTED_MAX and (at := _following(endpoint, at, cron)) <= now:
            count += 1
        return count
    step = _step(endpoint, slot_at)
    if endpoint.days and step:
        return _count_open(endpoint, slot_at, now, step)
    return (now - slot_at) // step + 1 if step else 1


def _count_open(endpoint: Endpoint, slot_at: datetime, now: datetime, step: timedelta) -> int:
    """The slots of an interval with calendars, counted like those of a cron."""
    count, at, step_ms = 1, slot_at, step // timedelta(milliseconds=1)
    while count < MISSED_COUNTED_MAX and (at := next_open_time(endpoint, at + step, step_ms)) <= now:
        count += 1
    return count


def newest_slots(endpoint: Endpoint, slot_at: datetime, now: datetime, most: int, cron: CronReader) -> list[datetime]:
    """The newest slots from `slot_at` up to now, at most `most`, oldest first."""
    if endpoint.source == BASELINE_CRON and endpoint.cron is not None:
        back = timedelta(minutes=1)  # a window that grows backwards from now: thousands of slots may precede it
        while True:
            at = max(slot_at, now - back)
            slots = [slot_at] if at == slot_at else []
            while (at := _following(endpoint, at, cron)) <= now:
                slots.append(at)
            if len(slots) >= most or now - back <= slot_at:
                return slots[-most:]
            back *= 4
    step = _step(endpoint, slot_at)
    last = (now - slot_at) // step if step else 0
    return [slot_at + step * n for n in range(max(0, last - most + 1), last + 1)]


def _following(endpoint: Endpoint, at: datetime, cron: CronReader) -> datetime:
    grace_ms = endpoint.action.judged_after_ms
    return after_ms(next_slot(endpoint, after_ms(at, -grace_ms), cron), grace_ms)


def _step(endpoint: Endpoint, slot_at: datetime) -> timedelta:
    """The distance between slots of an interval endpoint; zero if the plan was a single time."""
    if endpoint.source == BASELINE_INTERVAL:
        return timedelta(milliseconds=intended_interval_ms(endpoint, slot_at)[0])
    if endpoint.source == AI_INTERVAL and endpoint.interval_ms is not None:
        return timedelta(milliseconds=endpoint.interval_ms)
    return timedelta(0)
