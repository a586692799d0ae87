"""Cron expressions in a time zone: validation, next occurrence, description in words.

cronsim parses an expression and finds the days that match; the walk along the wall clock is our own. cronsim's
iteration
may return a time in the past when it starts in the repeated autumn hour, steps over matches after a change that is not
a whole hour (Lord Howe), fires at a midnight that does not exist (Cairo), and needs 200 us for a rare date.
tests/domain/test_cron_dst.py shows each case.

Daylight saving follows Debian cron. If an expression has 5 fields and neither minute nor hour starts with `*`, each
occurrence runs once: 02:30 in the spring gap runs when the gap ends, 02:30 in autumn runs the first time only. (AWS
skips the one in the gap.) Every other expression, and any with seconds, follows the wall clock: what the clock skips
does not run, what it repeats runs again.

The rule that must not break: `next_after` is strictly after `after`, for any expression, zone and time before FOREVER.
"""

import re
from calendar import monthrange
from datetime import MAXYEAR, UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from mainspring.domain.duration import format_duration
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.instant import FOREVER
from mainspring.domain.name import shown

EXPRESSION_LENGTH_MAX: Final = 200
NEVER_AFTER_YEARS: Final = 50  # the rarest date, 29 February on one weekday, recurs within 40 years
ALIASES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_SECOND: Final = timedelta(seconds=1)
_ANY_WALL: Final = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall clock has no zone
_PATTERNS_MAX: Final = 2_048  # at 7 to 10 kB; `H H * * *` has 1,440 variants
_DRAWN_MAX: Final = 16_384  # one per endpoint with an `H`; a miss costs 25 us
_ZONE_LENGTH_MAX: Final = 64  # twice the longest IANA name
# These load, but mean the machine's own zone or none: on another machine the endpoint would run at other times.
_ZONES_REFUSED: Final = frozenset({"localtime", "posixrules", "Factory"})


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    draw_high: int  # the last value that `H` may take: every month has a 28th, and Sunday is 0
    step_max: int  # a longer step fires once per cycle of the field, which is not what it says


_FIELDS: Final = (
    _Field("second", 0, 59, 59, 60),
    _Field("minute", 0, 59, 59, 60),
    _Field("hour", 0, 23, 23, 24),
    _Field("day-of-month", 1, 31, 28, 31),
    _Field("month", 1, 12, 12, 12),
    _Field("day-of-week", 0, 7, 6, 7),
)
_DRAW: Final = re.compile(r"H(?:\(([0-9]+)-([0-9]+)\))?(?:/([0-9]+))?", re.IGNORECASE)
_STEP: Final = re.compile(r"[^/]+/([0-9]+)")
_RANGE: Final = re.compile(r"([0-9]+)-([0-9]+)(?:/[0-9]+)?")
# The fields that cron-descriptor describes correctly: it misreads L, # and * in a list, and steps of a list or of L.
_VALUE: Final = r"(?:[0-9]+|[A-Z]{3})"
_PLAIN_FIELD: Final = re.compile(
    rf"\*(/[0-9]+)?|{_VALUE}(-{_VALUE})?(/[0-9]+)?|{_VALUE}(-{_VALUE})?(,{_VALUE}(-{_VALUE})?)+|L|LW|[0-9]L|{_VALUE}#[0-9]"
)


def check_cron(expression: object, timezone: object, *, endpoint_id: str = "", allow_seconds: bool = True) -> None:
    """Refuses expressions that `next_after` cannot handle, naming the field and the reason."""
    check_timezone(timezone)
    pattern = _pattern(_drawn(_text(expression), endpoint_id))
    if pattern.has_seconds and not allow_seconds:
        raise _refused(expression, "has 6 fields", "use 5 fields here: remove the first one, the seconds")


def check_timezone(name: object) -> None:
    """Accepts exactly the IANA names that this installation knows, such as `Europe/Berlin`."""
    if isinstance(name, str) and name in _known_zones():
        return
    raise InvalidInput(
        f"time zone '{shown(name)}' is unknown; use an IANA name such as 'Europe/Berlin' or 'UTC'"
        + (_near_zone(name) if isinstance(name, str) else ""),
        field="timezone",
        value=shown(name),
    )


def next_after(expression: str, timezone: str, after: datetime, endpoint_id: str = "") -> datetime:
    """The first occurrence strictly after `after`, in UTC; FOREVER if the calendar ends before it."""
    assert after.tzinfo is not None, "a naive datetime would be read in the machine's zone"
    after = after.astimezone(UTC)
    pattern = _pattern(_drawn(_text(expression), endpoint_id) if _draws(expression) else expression)
    zone = zone_of(timezone)
    try:
        if zone is UTC:
            wall = after.replace(tzinfo=None, microsecond=0)
            return pattern.first_from(wall + _SECOND).replace(tzinfo=UTC)
        if pattern.runs_once:
            return _next_once(pattern, zone, after)
        return _next_on_wall(pattern, zone, after)
    except OverflowError:
        return FOREVER


def occurrences(
    expression: str, timezone: str, after: datetime, until: datetime, limit: int, *, endpoint_id: str = ""
) -> list[datetime]:
    """The first `limit` occurrences that are later than `after` and not later than `until`."""
    found: list[datetime] = []
    while len(found) < limit:
        after = next_after(expression, timezone, after, endpoint_id)
        if after > until or after == FOREVER:
            break
        found.append(after)
    return found


def every_day(expression: str, endpoint_id: str = "") -> str:
    """The expression with the same times on every day."""
    fields = _drawn(_text(expression), endpoint_id).split()
    return " ".join([*fields[:-3], "*", "*", "*"])


def matching_days(expression: str, first: int, count: int, endpoint_id: str = "") -> int:
    """The days (date.toordinal()) from the first one on that have an occurrence, as bits: bit n is day first + n."""
    return _day_bits(_drawn(_text(expression), endpoint_id), first, count)


@lru_cache(maxsize=_PATTERNS_MAX)
def _day_bits(expression: str, first: int, count: int) -> int:
    return _pattern(expression).day_bits(first, count)


class Cron:
    """Gives the governor the next occurrence; tests replace it."""

    def next_after(self, expression: str, timezone: str, after: datetime, endpoint_id: str = "") -> datetime:
        return next_after(expression, timezone, after, endpoint_id)


CRON: Final = Cron()


@lru_cache(maxsize=1_024)
def describe(expression: str, endpoint_id: str = "") -> str:
    """The expression in English with a 24-hour clock: `Every 15 minutes`, `At 02:30, Monday through Friday`."""
    text = _drawn(_text(expression), endpoint_id)
    _pattern(text)
    fields = text.upper().split()
    day, weekday = fields[-3], fields[-1]
    needs_both_days = "*" not in (day, weekday) and "*" in (day[0], weekday[0])
    steps_weekdays = "/" in weekday and weekday[0] != "*"
    if needs_both_days or steps_weekdays or not all(map(_PLAIN_FIELD.fullmatch, fields)):
        words = CronSim(text, _ANY_WALL).explain()
    else:
        from cron_descriptor import ExpressionDescriptor  # takes 30 ms, paid only by readers of descriptions

        # The locale is explicit; otherwise the machine would choose the language.
        descriptor = ExpressionDescriptor(" ".join(fields), use_24hour_time_format=True, locale_code="en_US")
        words = descriptor.get_description()
    return words + " (an example: H differs per endpoint)" if _draws(expression) and not endpoint_id else words


def describe_interval(interval_ms: int) -> str:
    return f"every {format_duration(interval_ms)}"


def _next_once(pattern: "_Pattern", zone: tzinfo, after: datetime) -> datetime:
    """Each occurrence on the calendar runs once: at its first instant, or when the gap around it ends."""
    wall = after.astimezone(zone).replace(tzinfo=None, microsecond=0, fold=0)
    while True:
        wall = pattern.first_from(wall + _SECOND)
        first, second = _offsets(wall, zone)
        instant = (wall - first).replace(tzinfo=UTC)
        if first < second:
            return _change_between((wall - second).replace(tzinfo=UTC), instant, zone)
        # In the second pass of a repeated hour the occurrences of the first pass are over.
        if instant > after:
            return instant


def _next_on_wall(pattern: "_Pattern", zone: tzinfo, after: datetime) -> datetime:
    """Runs whenever the wall clock shows a match, which a gap may prevent and a repeated hour may double.

    1. Take the next match on the calendar.
    2. If the current hour will be repeated, a match in the repetition comes before any later one.
    3. If the match falls into a gap, take the first one after the gap.
    """
    wall = after.astimezone(zone).replace(tzinfo=None, microsecond=0)
    found = pattern.first_from(wall.replace(fold=0) + _SECOND)
    first, second = _offsets(wall, zone)
    if wall.fold == 0 and first > second:
        start = after.replace(microsecond=0)
        change_at = _change_between(start, start + (first - second), zone)
        repeat_end = change_at.replace(tzinfo=None) + first
        if found >= repeat_end:
            repeated = pattern.first_from(change_at.replace(tzinfo=None) + second)
            if repeated < repeat_end:
                return (repeated - second).replace(tzinfo=UTC)
    while True:
        first, second = _offsets(found, zone)
        instant = (found - first).replace(tzinfo=UTC)
        if first >= second:
            return instant if instant > after else (found - second).replace(tzinfo=UTC)
        gap_end = _change_between((found - second).replace(tzinfo=UTC), instant, zone)
        found = pattern.first_from(gap_end.replace(tzinfo=None) + second)


def _offsets(wall: datetime, zone: tzinfo) -> tuple[timedelta, timedelta]:
    """The UTC offsets of both readings of `wall`: they rise in a gap, fall in a repeated hour, otherwise are equal."""
    local = wall.replace(tzinfo=zone, fold=0)
    first, second = local.utcoffset(), local.replace(fold=1).utcoffset()
    assert first is not None
    assert second is not None
    return first, second


def _change_between(low: datetime, high: datetime, zone: tzinfo) -> datetime:
    """The first second in (low, high] with another offset than `low`, given that `high` has another."""
    offset = low.astimezone(zone).utcoffset()
    while high - low > _SECOND:
        middle = low + (high - low) // 2 // _SECOND * _SECOND
        if middle.astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high


class _Pattern:
    """A parsed expression: which seconds of the wall clock match."""

    __slots__ = (
        "_days_by_shape",
        "_hour_from",
        "_minute_from",
        "_months",
        "_second_from",
        "_sim",
        "has_seconds",
        "runs_once",
    )

    def __init__(self, fields: list[str]) -> None:
        self._sim = CronSim(" ".join(fields), _ANY_WALL)
        self.has_seconds = len(fields) == 6
        self.runs_once = not self.has_seconds and fields[0][0] != "*" and fields[1][0] != "*"
        self._second_from = _values_from(self._sim.seconds, 60)
        self._minute_from = _values_from(self._sim.minutes, 60)
        self._hour_from = _values_from(self._sim.hours, 24)
        self._months = self._sim.months
        self._days_by_shape: dict[tuple[int, int], tuple[int, ...]] = {}

    def first_from(self, wall: datetime) -> datetime:
        """The first match at or after `wall`; OverflowError if the next 50 years, or the calendar, contain none."""
        year, month, day = wall.year, wall.month, wall.day
        hour, minute, second = self._hour_from[0], self._minute_from[0], self._second_from[0]
        if month in self._months and day in self._days(year, month):
            on_this_day = self._time_from(wall.hour, wall.minute, wall.second)
            if on_this_day is not None:
                hour, minute, second = on_this_day
                return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - a wall clock has no zone
        year, month, day = self._date_from(year, month, day + 1)
        return datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - a wall clock has no zone

    def day_bits(self, first: int, count: int) -> int:
        begin = date.fromordinal(first)
        year, month, bits = begin.year, begin.month, 0
        of_month: dict[tuple[int, ...], int] = {}
        while (start := date(year, month, 1).toordinal() - first) < count:
            if month in self._months:
                days = self._days(year, month)
                if days not in of_month:
                    of_month[days] = sum(1 << day - 1 for day in days)
                bits |= of_month[days] << start if start >= 0 else of_month[days] >> -start
            year, month = (year + 1, 1) if month == 12 else (year, month + 1)
        return bits & ((1 << count) - 1)

    def _time_from(self, hour: int, minute: int, second: int) -> tuple[int, int, int] | None:
        """The first matching time of a day at or after this one."""
        next_hour = self._hour_from[hour]
        if next_hour == hour:
            next_minute = self._minute_from[minute]
            if next_minute == minute:
                next_second = self._second_from[second]
                if next_second >= 0:
                    return hour, minute, next_second
                next_minute = self._minute_from[minute + 1]
            if next_minute >= 0:
                return hour, next_minute, self._second_from[0]
            next_hour = self._hour_from[hour + 1]
        return (next_hour, self._minute_from[0], self._second_from[0]) if next_hour >= 0 else None

    def _date_from(self, year: int, month: int, day: int) -> tuple[int, int, int]:
        year_max = min(year + NEVER_AFTER_YEARS, MAXYEAR)
        while year <= year_max:
            if month in self._months:
                for candidate in self._days(year, month):
                    if candidate >= day:
                        return year, month, candidate
            day = 1
            month += 1
            if month > 12:
                year, month = year + 1, 1
        raise OverflowError("no date matches")

    def _days(self, year: int, month: int) -> tuple[int, ...]:
        """The matching days of a month. They depend only on its first weekday and its length."""
        shape = monthrange(year, month)
        days = self._days_by_shape.get(shape)
        if days is None:
            matches = self._sim.match_day
            days = tuple(day for day in range(1, shape[1] + 1) if matches(date(year, month, day)))
            self._days_by_shape[shape] = days
        return days


def _values_from(values: set[int], size: int) -> list[int]:
    """For each number up to `size`, the first of `values` that is not below it, or -1."""
    return [min((value for value in values if value >= number), default=-1) for number in range(size + 1)]


@lru_cache(maxsize=_PATTERNS_MAX)
def _pattern(expression: str) -> _Pattern:
    fields = _text(expression).upper().split()
    if len(fields) not in (5, 6):
        raise _refused(
            expression,
            f"has {len(fields)} field{'' if len(fields) == 1 else 's'}",
            "write 5 (minute hour day-of-month month day-of-week) or 6 with the second first",
        )
    for field, text in zip(_FIELDS[-len(fields) :], fields, strict=True):
        _check_field(expression, field, text)
    try:
        pattern = _Pattern(fields)
        pattern.first_from(_ANY_WALL)
    except (CronSimError, OverflowError):
        day, month, weekday = fields[-3:]
        raise _refused(
            expression,
            "never fires",
            f"no date in {NEVER_AFTER_YEARS} years has day-of-month '{day}', month '{month}' and day-of-week "
            f"'{weekday}': change the day or the month",
        ) from None
    return pattern


def _check_field(expression: str, field: _Field, text: str) -> None:
    """Lets cronsim judge the field alone, so that an error can name it."""
    for term in text.split(","):
        step = _STEP.fullmatch(term)
        if step and int(step[1]) > field.step_max:
            reason = f"the step of '{shown(term)}' is above {field.step_max}, so it would not do what it says"
            raise _bad_field(expression, field, reason)
    alone = ["*"] * 6
    alone[_FIELDS.index(field)] = text
    try:
        CronSim(" ".join(alone), _ANY_WALL)
    except CronSimError:
        raise _bad_field(expression, field, _reason(field, text)) from None


def _reason(field: _Field, text: str) -> str:
    """Why cronsim refused the field, as precisely as possible."""
    for term in text.split(","):
        step = _STEP.fullmatch(term)
        if step and int(step[1]) == 0:
            return f"the step of '{shown(term)}' is 0"
        for number in re.findall(r"[0-9]+", term.partition("/")[0].partition("#")[0]):
            if not field.low <= int(number) <= field.high:
                return f"{number} is out of range"
        span = _RANGE.fullmatch(term)
        if span and int(span[1]) > int(span[2]):
            return f"the range '{shown(term)}' runs backwards"
    return f"'{shown(text)}' is not understood"


@lru_cache(maxsize=_PATTERNS_MAX)
def _draws(expression: str) -> bool:
    return any(_DRAW.fullmatch(term) for field in expression.split() for term in field.split(","))


@lru_cache(maxsize=_DRAWN_MAX)
def _drawn(text: str, endpoint_id: str) -> str:
    """The expression with each `H` replaced by this endpoint's value, which never changes (Jenkins' `H`)."""
    fields = text.split()
    if len(fields) not in (5, 6) or not _draws(text):
        return text
    offset = len(_FIELDS) - len(fields)
    return " ".join(
        ",".join(_drawn_term(text, index + offset, term, endpoint_id) for term in field.split(","))
        for index, field in enumerate(fields)
    )


def _drawn_term(expression: str, index: int, term: str, endpoint_id: str) -> str:
    draw = _DRAW.fullmatch(term)
    if draw is None:
        return term
    field = _FIELDS[index]
    low = int(draw[1]) if draw[1] else field.low
    high = int(draw[2]) if draw[2] else field.draw_high
    if not field.low <= low <= high <= field.high:
        raise _bad_field(expression, field, f"the range of '{shown(term)}' is empty or out of range")
    digest = int.from_bytes(sha256(f"{endpoint_id}\0{index}".encode()).digest()[:8])
    if not draw[3]:
        return str(low + digest % (high - low + 1))
    step = int(draw[3])
    if not 1 <= step <= high - low + 1:
        raise _bad_field(expression, field, f"the step of '{shown(term)}' does not fit its range")
    first = low + digest % step
    if first + step > high:
        return str(first)
    return f"{first}/{step}" if high == field.high else f"{first}-{high}/{step}"


def _text(expression: object) -> str:
    """The trimmed expression with its alias expanded."""
    if not isinstance(expression, str):
        raise _refused(expression, "is not text", "write 5 fields, for example '*/15 * * * *'")
    text = expression.strip()
    if len(text) > EXPRESSION_LENGTH_MAX:
        raise _refused(
            expression, f"has {len(text)} characters", f"at most {EXPRESSION_LENGTH_MAX} are allowed: shorten it"
        )
    if not text:
        raise _refused(expression, "is empty", "write 5 fields, for example '*/15 * * * *'")
    odd = next((c for c in text if c != "\t" and not " " <= c <= "~"), None)
    if odd is not None:
        raise _refused(expression, f"contains U+{ord(odd):04X}", "only ASCII characters are allowed: retype it")
    return _unaliased(text) if text[0] == "@" else text


def _unaliased(text: str) -> str:
    name = text.lower()
    if name in ALIASES:
        return ALIASES[name]
    if name == "@reboot":
        raise _refused(
            text, "has no time", "endpoints are not tied to the start of a machine: run the endpoint manually instead"
        )
    if name.startswith("@every"):
        raise _refused(text, "is not cron", "give the endpoint an interval instead")
    raise _refused(text, "is unknown", f"the aliases are {', '.join(ALIASES)}{did_you_mean(name, tuple(ALIASES))}")


def _refused(expression: object, what: str, rule: str) -> InvalidInput:
    return InvalidInput(f"cron '{shown(expression)}' {what}; {rule}", field="cron", value=shown(expression))


def _bad_field(expression: str, field: _Field, reason: str) -> InvalidInput:
    return _refused(
        expression,
        f"has a bad {field.name} field: {reason}",
        f"it takes {field.low}-{field.high}, *, lists a,b, ranges a-b, steps */n and H",
    )


@lru_cache(maxsize=1)
def _known_zones() -> frozenset[str]:
    return frozenset(available_timezones()) - _ZONES_REFUSED


@lru_cache(maxsize=1_024)  # zoneinfo itself caches only eight, and reads a file for the ninth
def zone_of(name: str) -> tzinfo:
    check_timezone(name)
    return UTC if name in ("UTC", "Etc/UTC") else ZoneInfo(name)


def _near_zone(name: str) -> str:
    if len(name) > _ZONE_LENGTH_MAX:
        return ""
    known = _known_zones()
    spelled = {zone.lower(): zone for zone in known}.get(name.lower())
    return did_you_mean(spelled or name, tuple(sorted(known)))
