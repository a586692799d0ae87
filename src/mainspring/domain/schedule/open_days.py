"""Which days an endpoint may run on by its calendars, and the slots that follow from them. Pure.

An endpoint stores its days as short text: one bit for each local day of several years. So a claim and a finish read no
calendar, and an endpoint without calendars has an empty text. Days after the last bit are allowed, unless the endpoint
runs only on days of a calendar.

    cron, skip                      times on excluded days do not exist
    cron, next_business_day         a day of the cron that is excluded moves to the next open day, at the same local
                                    times; several that move to one day are one
    cron, previous_business_day     the same, to the open day before it
    interval                        continues with its first slot on the next open day

The rule that must not break: no time that these functions return is on an excluded day.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.instant import FOREVER
from mainspring.domain.schedule.cron import every_day, matching_days, zone_of

if TYPE_CHECKING:
    from mainspring.domain.endpoint import Endpoint

DAY_MS = 86_400_000
_TICK = timedelta(microseconds=1)
_LAST_DAY = FOREVER.toordinal() - 2


class Shift(StrEnum):
    SKIP = "skip"
    NEXT = "next_business_day"
    PREVIOUS = "previous_business_day"


class CronTimes(Protocol):
    def next_after(self, expression: str, timezone: str, after: datetime, endpoint_id: str) -> datetime: ...


class OpenDays(Struct, frozen=True):
    """Days are numbers: date.toordinal()."""

    first: int
    count: int
    bits: int  # bit n: day first + n is open
    is_open_later: bool  # whether days after the last bit are open

    def is_open(self, day: int) -> bool:
        if day >= self.first + self.count:
            return self.is_open_later
        return day >= self.first and bool(self.bits >> (day - self.first) & 1)

    def next_open(self, day: int) -> int | None:
        """The first open day from this one on; None if no such day exists."""
        end = self.first + self.count
        if day < end:
            left = self.bits >> max(0, day - self.first)
            if left:
                return max(day, self.first) + (left & -left).bit_length() - 1
        later = max(day, end)
        return later if self.is_open_later and later <= _LAST_DAY else None

    def previous_open(self, day: int) -> int | None:
        """The last open day up to this one; None if no such day exists."""
        if day >= self.first + self.count and self.is_open_later:
            return day
        left = self.bits & ((1 << max(0, day - self.first + 1)) - 1)
        return self.first + left.bit_length() - 1 if left else None


def encode_days(days: OpenDays) -> str:
    data = b64encode(days.bits.to_bytes((days.count + 7) // 8, "little")).decode()
    return f"{date.fromordinal(days.first).isoformat()} {days.count} {int(days.is_open_later)} {data}"


@lru_cache(maxsize=4_096)
def decode_days(text: str) -> OpenDays:
    first, count, later, data = text.split(" ")
    bits = int.from_bytes(b64decode(data), "little")
    return OpenDays(date.fromisoformat(first).toordinal(), int(count), bits, later == "1")


def is_open_at(endpoint: "Endpoint", at: datetime) -> bool:
    """Whether the calendars of an endpoint allow a run at a time."""
    return not endpoint.days or at >= FOREVER or decode_days(endpoint.days).is_open(_local_day(endpoint, at))


def next_slot(endpoint: "Endpoint", after: datetime, cron: CronTimes) -> datetime:
    """The next time of the cron that the calendars allow, strictly after `after`; FOREVER if no such day exists."""
    assert endpoint.cron is not None
    if not endpoint.days:
        return cron.next_after(endpoint.cron, endpoint.timezone, after, endpoint.id)
    days = decode_days(endpoint.days)
    if endpoint.shift is Shift.SKIP:
        return _next_unshifted(endpoint, after, cron, days)
    return _next_shifted(endpoint, after, cron, days)


def next_open_time(endpoint: "Endpoint", at: datetime, every_ms: int | None = None) -> datetime:
    """The time itself if its day is open, otherwise the first slot on the next open day; FOREVER if no such day exists.

    Slots are `every_ms` apart, or a day if that is less, so that the load of endpoints stays spread. Without slots, and
    if the day has none, it is the beginning of the day.
    """
    if is_open_at(endpoint, at):
        return at
    day = decode_days(endpoint.days).next_open(_local_day(endpoint, at) + 1)
    if day is None:
        return FOREVER
    begin = _begin(endpoint, day)
    if not every_ms:
        return begin
    step = timedelta(milliseconds=min(every_ms, DAY_MS))
    slot = at + step * -((at - begin) // step)
    return slot if _local_day(endpoint, slot) == day else begin


def excluded_words(endpoint: "Endpoint", at: datetime) -> str:
    """Why no run is at a time whose day is excluded."""
    except_, only = endpoint.except_calendar, endpoint.only_calendar
    if except_ and only:
        by = f"calendars {except_!r} and {only!r} exclude it"
    else:
        by = f"calendar {except_!r} excludes it" if except_ else f"calendar {only!r} does not include it"
    return f"no run on {local_date(endpoint, at).isoformat()}: {by}"


def local_date(endpoint: "Endpoint", at: datetime) -> date:
    return at.astimezone(zone_of(endpoint.timezone)).date()


def _next_unshifted(endpoint: "Endpoint", after: datetime, cron: CronTimes, days: OpenDays) -> datetime:
    assert endpoint.cron is not None
    while True:
        at = cron.next_after(endpoint.cron, endpoint.timezone, after, endpoint.id)
        if at >= FOREVER or days.is_open(_local_day(endpoint, at)):
            return at
        day = _next_match(endpoint, _local_day(endpoint, at) + 1, days)
        if day is None:
            return FOREVER
        after = _begin(endpoint, day) - _TICK


def _next_match(endpoint: "Endpoint", day: int, days: OpenDays) -> int | None:
    """The first open day from this one on that has a time of the cron. Walking there would take a step for each time on
    an excluded day.
    """
    assert endpoint.cron is not None
    matching = matching_days(endpoint.cron, days.first, days.count, endpoint.id)
    both = replace(days, bits=days.bits & matching)
    return both.next_open(day)


def _next_shifted(endpoint: "Endpoint", after: datetime, cron: CronTimes, days: OpenDays) -> datetime:
    """Walks from day to day of the cron. Its times are the same on each day, so a moved day adds no times that its new
    day would not have.
    """
    assert endpoint.cron is not None
    today, is_next = _local_day(endpoint, after), endpoint.shift is Shift.NEXT
    move: Callable[[int], int | None] = days.next_open if is_next else days.previous_open
    times = every_day(endpoint.cron, endpoint.id)
    # Excluded days before today may move to today, and those after it may have moved to it.
    since: int | None = (days.previous_open(today - 1) or days.first - 1) + 1 if is_next else today
    while since is not None:
        at = cron.next_after(endpoint.cron, endpoint.timezone, _begin(endpoint, since) - _TICK, endpoint.id)
        if at >= FOREVER:
            break
        day = _local_day(endpoint, at)
        moved = move(day)
        if moved is None and is_next:
            break
        if moved is not None and moved >= today:
            first = max(after, _begin(endpoint, moved) - _TICK)
            slot = cron.next_after(times, endpoint.timezone, first, endpoint.id)
            if _local_day(endpoint, slot) == moved:
                return slot
        since = moved + 1 if is_next and moved is not None else days.next_open(day + 1)
    return FOREVER


def _local_day(endpoint: "Endpoint", at: datetime) -> int:
    return at.astimezone(zone_of(endpoint.timezone)).toordinal()


def _begin(endpoint: "Endpoint", day: int) -> datetime:
    """The first instant of a local day. If its midnight does not exist, that is the end of the gap."""
    return datetime.combine(date.fromordinal(day), datetime.min.time(), zone_of(endpoint.timezone)).astimezone(UTC)
