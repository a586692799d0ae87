"""Find the days of public holidays and of the events of an iCalendar text. Pure, and called in a sandbox.

Both need optional packages: `holidays`, and `recurring-ical-events` with `icalendar`, which know time zones,
recurrences, exceptions and moved events. An event that lasts several days has all of them; one with a time of day has
the days that it touches, in its own time zone. Work and results are bounded; the sandbox bounds time and memory.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

from mainspring.domain.calendar import LABEL_MAX, FoundDay
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.name import shown

FOUND_MAX = 5_000  # days; ten a week in seven years
SUBDAILY = {"SECONDLY", "MINUTELY", "HOURLY"}


def find_days(holidays: str, ics: str, first_year: int, last_year: int) -> tuple[FoundDay, ...]:
    """The days of both between two years, both included, one each, in order. Raises InvalidInput with the field."""
    found: dict[date, str] = {}
    for day, label in (*_events(ics, first_year, last_year), *_holidays(holidays, first_year, last_year)):
        found[day] = " ".join(label.split())[:LABEL_MAX]
        if len(found) > FOUND_MAX:
            raise InvalidInput(
                f"the events have more than {FOUND_MAX:,} days from {first_year} to {last_year}; use fewer",
                field="ics",
            )
    return tuple(FoundDay(day, label) for day, label in sorted(found.items()))


def _holidays(place: str, first_year: int, last_year: int) -> Iterator[tuple[date, str]]:
    if not place:
        return
    try:
        import holidays
    except ImportError:
        raise _not_installed("holidays", "holidays") from None
    country, _, part = place.partition("-")
    supported = holidays.list_supported_countries(include_aliases=False)
    if country not in supported:
        raise InvalidInput(
            f"holidays '{shown(place)}': no such country{did_you_mean(country, tuple(supported))}; "
            "give a code of ISO 3166 such as DE, US or DE-BY",
            field="holidays",
            value=shown(place),
        )
    if part and part not in supported[country]:
        known = ", ".join(supported[country][:20]) or "none"
        raise InvalidInput(
            f"holidays '{shown(place)}': {country} has no part {shown(part)!r}; its parts are {known}",
            field="holidays",
            value=shown(place),
        )
    of: Any = holidays.country_holidays(
        country, subdiv=part or None, years=range(first_year, last_year + 1), language="en_US"
    )
    yield from of.items()


def _events(text: str, first_year: int, last_year: int) -> Iterator[tuple[date, str]]:
    if not text.strip():
        return
    try:
        import recurring_ical_events
        from icalendar import Calendar as Icalendar
    except ImportError:
        raise _not_installed("ics", "ics") from None
    try:
        parsed = Icalendar.from_ical(text)
        _refuse_subdaily(parsed)
        query = recurring_ical_events.of(parsed, components=["VEVENT"])
        for event in query.between(date(first_year, 1, 1), date(last_year + 1, 1, 1)):
            yield from _days_of(event, first_year, last_year)
    except InvalidInput:
        raise
    except Exception as fault:  # the parser may raise anything for untrusted text
        what = shown(f"{type(fault).__name__}: {fault}")
        raise InvalidInput(f"ics is not an iCalendar text ({what}); export it again", field="ics") from None


def _refuse_subdaily(parsed: Any) -> None:
    """A rule for every second has millions of occurrences, but the same days as a daily one."""
    for event in parsed.walk("VEVENT"):
        rules = event.get("RRULE", [])
        for rule in rules if isinstance(rules, list) else [rules]:
            if set(map(str, rule.get("FREQ", []))) & SUBDAILY:
                raise InvalidInput("ics has a rule that recurs within a day; use FREQ=DAILY or rarer", field="ics")


def _days_of(event: Any, first_year: int, last_year: int) -> Iterator[tuple[date, str]]:
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    begin, end = event["DTSTART"].dt, event["DTEND"].dt  # an occurrence always has both
    first = begin.date() if isinstance(begin, datetime) else begin
    # An end is excluded: at midnight it does not touch its day.
    last = (end - timedelta(microseconds=1)).date() if isinstance(end, datetime) else end - timedelta(days=1)
    first, last = max(first, date(first_year, 1, 1)), max(first, min(last, date(last_year, 12, 31)))
    label = str(event.get("SUMMARY", ""))
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number), label


def _not_installed(extra: str, field: str) -> InvalidInput:
    return InvalidInput(
        f"{field} needs a package that this server does not have; install mainspring[{extra}], or list the dates",
        field=field,
    )
