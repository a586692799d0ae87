"""Calendars as all interfaces show them, and the days on which an endpoint does not run."""

from datetime import date, datetime
from typing import Self

from pydantic import Field

from mainspring.domain.calendar import Calendar, ExcludedDay
from mainspring.operations.calendars import CalendarDay, calendar_days
from mainspring.operations.context import Desk
from mainspring.views.view import MANAGED_BY, At, OrNull, View

UPCOMING_DAYS, UPCOMING_MAX = 366, 5
SPAN_DAYS_MAX = 3_660


class CalendarDayView(View):
    day: date
    label: str = Field(description="What the day is, such as `Christmas Day`; empty if nothing is known.")

    @classmethod
    def of(cls, value: CalendarDay) -> Self:
        return cls.from_value(value)


class CalendarView(View):
    id: str
    name: str
    dates: list[str]
    weekdays: list[str]
    holidays: OrNull
    ics_bytes: int = Field(description="Size of the iCalendar text; 0: it has none.")
    found_days: int = Field(description="Days of holidays and events that were found.")
    found_until: int = Field(description="The last year for which they were found; later years follow automatically.")
    description: str
    managed_by: OrNull = Field(description=MANAGED_BY)
    version: int
    created_at: At
    updated_at: At

    @classmethod
    def of(cls, calendar: Calendar, **others: object) -> Self:
        config = calendar.config
        return cls.from_value(
            calendar,
            dates=list(config.dates),
            weekdays=list(config.weekdays),
            holidays=config.holidays,
            ics_bytes=len(config.ics.encode()),
            found_days=len(calendar.found),
            description=config.description,
            **others,
        )


class CalendarDetailView(CalendarView):
    ics: OrNull = Field(description="The iCalendar text.")
    upcoming: list[CalendarDayView] = Field(description="Its next days, at most five of a year.")
    users: list[str] = Field(description="Names of the endpoints that use it.")


class ExcludedDayView(View):
    day: date
    calendar: str
    label: str
    text: str = Field(description="Why no run starts on that day.")

    @classmethod
    def of(cls, value: ExcludedDay) -> Self:
        return cls.from_value(value, text=f"no run on {value.day.isoformat()}: {value.words}")


async def load_calendar(desk: Desk, calendar: Calendar) -> CalendarDetailView:
    users = await desk.stores.calendars.users(desk.tenant_id, calendar.name)
    upcoming = await calendar_days(desk, calendar, None, UPCOMING_DAYS)
    days = [CalendarDayView.of(each) for each in upcoming[:UPCOMING_MAX]]
    return CalendarDetailView.of(calendar, ics=calendar.config.ics, upcoming=days, users=users)


def long_date(at: datetime) -> str:
    """`Monday 28 December 09:00`, in the zone of the time."""
    return f"{at:%A} {at.day} {at:%B %H:%M}"
