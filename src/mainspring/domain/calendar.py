"""Calendars: named sets of days of a tenant, and the days on which they let an endpoint run. Pure.

A calendar has the dates that its owner lists, weekdays, public holidays of a country, and the days of an iCalendar
text. Holidays and events are found once for several years (`calendar_days.py`) and stored, so that deciding needs no
package and no parser. The range of years moves with the present: FIRST_YEAR and LAST_YEAR count from it.

An endpoint names its calendars: `except`, `only`, or both. `open_days_of` returns the days that it stores.
"""

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.config_field import About, describe
from mainspring.domain.endpoint import Endpoint, EndpointConfig
from mainspring.domain.errors import Conflict, InvalidInput, did_you_mean
from mainspring.domain.instant import FOREVER
from mainspring.domain.name import check_name, shown
from mainspring.domain.schedule.open_days import OpenDays, decode_days, encode_days, local_date

KIND = "calendar"
CALENDARS_MAX = 100  # per tenant
CALENDAR_BYTES_MAX = 5_000_000  # of all calendars of a tenant: every list of them reads them all
DATES_MAX = 1_000  # entries
LISTED_DAYS_MAX = 5_000  # of all entries, so that a range of a century is refused
LABEL_MAX = 100
ICS_MAX = 200_000
FIRST_YEAR, LAST_YEAR = -1, 5  # from the present year
RUNNING_OUT_DAYS = 30  # a calendar of `only` with no day after this many is worth a warning
DESCRIPTION_MAX = 1_000
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class CalendarConfig(Struct, frozen=True):
    """The configuration of a calendar: the one place that lists its fields. Interfaces and reference pages follow."""

    dates: Annotated[
        tuple[str, ...],
        About(
            "Dates and ranges, each with a label after a space if it has one.",
            most=DATES_MAX,
            examples=("2026-12-24", "2026-12-27..2026-12-31 Works holidays"),
        ),
    ] = ()
    weekdays: Annotated[tuple[str, ...], About("Weekdays that belong to the calendar.", choices=WEEKDAYS)] = ()
    holidays: Annotated[
        str,
        About(
            "Public holidays of a country, or of a part of it. Needs the extra `holidays`.",
            most=20,
            examples=("DE", "DE-BY"),
        ),
    ] = ""
    ics: Annotated[
        str,
        About(
            "Text of an iCalendar file: the days of its events belong to the calendar. Needs the extra `ics`.",
            most=ICS_MAX,
            is_payload=True,
        ),
    ] = ""
    description: Annotated[str, About("What the calendar is for.", most=DESCRIPTION_MAX)] = ""


CALENDAR_FIELDS = describe(CalendarConfig)


class FoundDay(Struct, frozen=True, array_like=True):
    """A day of a holiday or an event."""

    day: date
    label: str = ""


class Calendar(Struct, frozen=True):
    id: str
    tenant_id: str
    name: str  # cannot be changed, because endpoints name it
    config: CalendarConfig
    found: tuple[FoundDay, ...]  # of holidays and events, up to the end of `found_until`
    found_until: int  # a year
    version: int
    created_at: datetime
    updated_at: datetime
    managed_by: str = ""  # the configuration source that describes it; "": people alone do


class SeenCalendars(Struct, frozen=True):
    """The calendars of all tenants, as they were when the janitor looked last."""

    year: int = 0
    versions: Mapping[str, tuple[str, int]] = {}  # by id: tenant and version


def check_calendar(given: CalendarConfig) -> CalendarConfig:
    """The normalised configuration, or InvalidInput that names the field."""
    fields = {field.name: field for field in CALENDAR_FIELDS}
    dates = tuple(" ".join(str(each).split()) for each in given.dates)
    if len(dates) > DATES_MAX:
        raise InvalidInput(
            f"{len(dates)} dates are more than {DATES_MAX}; use ranges or several calendars", field="dates"
        )
    listed = sum(len(range(first, last + 1)) for first, last, _ in map(read_entry, dates))
    if listed > LISTED_DAYS_MAX:
        raise InvalidInput(
            f"dates have {listed:,} days, more than {LISTED_DAYS_MAX:,}; shorten the ranges, or use weekdays",
            field="dates",
        )
    values = {name: field.checked(getattr(given, name)) for name, field in fields.items()}
    checked = CalendarConfig(**values | {"dates": dates, "holidays": given.holidays.strip().upper()})
    if checked == CalendarConfig(description=checked.description):
        raise InvalidInput("the calendar has no days; give dates, weekdays, holidays or ics", field="dates")
    return checked


def with_fields(config: CalendarConfig, given: Mapping[str, object]) -> CalendarConfig:
    """The configuration with inputs by key; None restores the default."""
    values: dict[str, object] = {}
    for field in CALENDAR_FIELDS:
        if field.key in given:
            value = given[field.key]
            values[field.name] = field.default if value is None else tuple(value) if isinstance(value, list) else value
    return replace(config, **values)


def read_entry(text: str) -> tuple[int, int, str]:
    """First and last day of an entry of `dates`, and its label."""
    span, _, label = text.partition(" ")
    first, dots, last = span.partition("..")
    try:
        begin = date.fromisoformat(first).toordinal()
        end = date.fromisoformat(last).toordinal() if dots else begin
    except ValueError:
        raise InvalidInput(
            f"date '{shown(text)}' is not understood; write 2026-12-24 or 2026-12-24..2027-01-02, and a label after it",
            field="dates",
            value=shown(text),
        ) from None
    if end < begin:
        raise InvalidInput(f"range {span} ends before it begins; swap its dates", field="dates", value=span)
    if len(label) > LABEL_MAX:
        raise InvalidInput(f"the label of {span} has more than {LABEL_MAX} characters; shorten it", field="dates")
    return begin, end, label


def check_calendar_name(name: str) -> str:
    return check_name(name, field="name", kind=KIND)


def years_of(now: datetime) -> tuple[int, int]:
    """The years that calendars are resolved for."""
    return now.year + FIRST_YEAR, now.year + LAST_YEAR


def days_between(calendar: Calendar, first: date, last: date) -> dict[int, str]:
    """The days of a calendar between two dates, both included, with their labels. A listed label comes first."""
    begin, end = first.toordinal(), last.toordinal()
    days: dict[int, str] = {}
    weekdays = {WEEKDAYS.index(each) for each in calendar.config.weekdays}
    if weekdays:
        days |= {day: "" for day in range(begin, end + 1) if (day - 1) % 7 in weekdays}
    for found in calendar.found:
        if begin <= found.day.toordinal() <= end:
            days[found.day.toordinal()] = found.label
    for low, high, label in map(read_entry, calendar.config.dates):
        for day in range(max(low, begin), min(high, end) + 1):
            days[day] = label or days.get(day, "")
    return dict(sorted(days.items()))


def size_of(calendar: Calendar) -> int:
    """About how many bytes a calendar takes where it is stored."""
    listed = sum(len(each) for each in calendar.config.dates)
    return len(calendar.config.ics) + listed + sum(17 + len(each.label) for each in calendar.found)


def day_bits(calendar: Calendar, now: datetime) -> int:
    """The days of a calendar as bits: bit n is the n-th day of its years. Takes some milliseconds."""
    first, last = _span(now)
    begin = first.toordinal()
    marks = bytearray(last.toordinal() - begin + 1)
    for day in days_between(calendar, first, last):
        marks[day - begin] = 1
    return int("0" + marks[::-1].translate(_DIGITS).decode(), 2)


def open_days_of(config: EndpointConfig, calendars: Mapping[str, Calendar], now: datetime) -> str:
    """The days on which an endpoint may run, as it carries them. Raises InvalidInput for a calendar that is missing."""
    named = {name for name in (config.except_calendar, config.only_calendar) if name}
    bits = {name: day_bits(calendars[name], now) if name in named else 0 for name in calendars}
    return open_days_from(config, bits, now)


def open_days_from(config: EndpointConfig, bits: Mapping[str, int], now: datetime) -> str:
    """The same from the days of each calendar as bits, so that many endpoints cost little."""
    except_, only = (
        _named(bits, name, key) for name, key in ((config.except_calendar, "except"), (config.only_calendar, "only"))
    )
    if except_ is None and only is None:
        return ""
    first, last = _span(now)
    count = (last - first).days + 1
    every = (1 << count) - 1
    is_open = (every if only is None else only) & ~(except_ or 0)
    return encode_days(OpenDays(first.toordinal(), count, is_open, only is None))


def _span(now: datetime) -> tuple[date, date]:
    first_year, last_year = years_of(now)
    return date(first_year, 1, 1), date(last_year, 12, 31)


_DIGITS = bytes([48, 49]) + bytes(range(2, 256))  # 0 and 1 as they are written


def _named(bits: Mapping[str, int], name: str, key: str) -> int | None:
    if not name:
        return None
    if name not in bits:
        raise InvalidInput(
            f"calendar '{shown(name)}' does not exist{did_you_mean(name, tuple(bits))}; create it, or choose another",
            field=key,
            value=shown(name),
        )
    return bits[name]


def last_open_day(endpoint: Endpoint) -> date | None:
    """The last day on which an endpoint of `only` may run; None if no end is known."""
    if not endpoint.days:
        return None
    days = decode_days(endpoint.days)
    if days.is_open_later:
        return None
    last = days.previous_open(days.first + days.count)
    return date.min if last is None else date.fromordinal(last)


def is_running_out(endpoint: Endpoint, now: datetime) -> bool:
    """Whether an endpoint of `only` has no day to run on, or soon will have none."""
    last = last_open_day(endpoint)
    return last is not None and last.toordinal() < local_date(endpoint, now).toordinal() + RUNNING_OUT_DAYS


def excluded_days(
    endpoint: Endpoint, calendars: Mapping[str, Calendar], since: date, until: date
) -> Iterator["ExcludedDay"]:
    """The days between two dates on which the endpoint does not run, with the calendar that decides and its label."""
    for calendar in (calendars.get(endpoint.except_calendar),):
        if calendar is not None:
            for day, label in days_between(calendar, since, until).items():
                yield ExcludedDay(date.fromordinal(day), calendar.name, label)
    only = calendars.get(endpoint.only_calendar)
    if only is not None:
        included = days_between(only, since, until)
        for day in range(since.toordinal(), until.toordinal() + 1):
            if day not in included:
                yield ExcludedDay(date.fromordinal(day), only.name, "", is_left_out=True)


class ExcludedDay(Struct, frozen=True):
    day: date
    calendar: str
    label: str = ""
    is_left_out: bool = False  # a calendar of `only` does not include it

    @property
    def words(self) -> str:
        if self.is_left_out:
            return f"calendar {self.calendar!r} does not include it"
        return f"calendar {self.calendar!r}" + (f" ({self.label})" if self.label else "")


def named_twice(calendar: Calendar) -> Conflict:
    return Conflict(
        f"another {KIND} is named {calendar.name!r} already; names are unique, choose another",
        kind=KIND,
        name=calendar.name,
    )


def refuse_delete(name: str, users: list[str]) -> None:
    """Raises Conflict, with the endpoints that use it, if a calendar is in use."""
    if users:
        shown_users = ", ".join(repr(each) for each in users[:10]) + (", ..." if len(users) > 10 else "")
        raise Conflict(
            f"calendar {name!r} is used by {len(users)} endpoint{'' if len(users) == 1 else 's'}: {shown_users}; "
            "remove it from them first",
            kind=KIND,
            name=name,
        )


def renewed(calendar: Calendar, found: tuple[FoundDay, ...], until: int, now: datetime) -> Calendar:
    """The calendar with the days of another span of years."""
    return replace(calendar, found=found, found_until=until, version=calendar.version + 1, updated_at=now)


def has_no_run(endpoint: Endpoint) -> bool:
    """Whether no run follows because its calendars have no day left."""
    return bool(endpoint.days) and (endpoint.next_run_at is None or endpoint.next_run_at >= FOREVER)
