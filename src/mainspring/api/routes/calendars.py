"""Calendars: named sets of days on which endpoints run or do not run."""

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from mainspring.api.access import Reading, Writing
from mainspring.api.etags import IfMatch, refuse_other
from mainspring.api.models.fields import DryRun
from mainspring.api.models.requests import CalendarNew, CalendarPatch
from mainspring.domain.calendar import KIND, Calendar, CalendarConfig, with_fields
from mainspring.operations import calendars
from mainspring.views.calendar import (
    SPAN_DAYS_MAX,
    CalendarDayView,
    CalendarDetailView,
    CalendarView,
    load_calendar,
)
from mainspring.views.view import Deleted, DryRunOf, ListOf, PageOf

router = APIRouter(prefix="/calendars", tags=["calendars"])
CalendarRef = Annotated[str, Path(alias="calendar", max_length=1_000, description="Id or name of a calendar.")]


@router.get("")
async def list_calendars(desk: Reading) -> PageOf[CalendarView]:
    """All calendars, by name."""
    found = await calendars.list_calendars(desk)
    return PageOf(items=[CalendarView.of(each) for each in found], next_cursor=None)


@router.post("", status_code=201, responses={200: {"model": DryRunOf[CalendarView]}})
async def create_calendar(
    desk: Writing, wish: CalendarNew, response: Response, dry_run: DryRun = False
) -> CalendarView | DryRunOf[CalendarView]:
    """Create a calendar. Its holidays and events are found now, and later years follow automatically."""
    there = calendars.dry_run_of(desk) if dry_run else desk
    made = await calendars.add_calendar(there, wish.name, with_fields(CalendarConfig(), wish.sent()))
    if dry_run:
        response.status_code = 200
        return DryRunOf[CalendarView].of(None, CalendarView.of(made))
    response.headers["ETag"] = _etag(made)
    response.headers["Location"] = f"/api/v1/calendars/{made.id}"
    return CalendarView.of(made)


@router.get("/{calendar}")
async def read_calendar(desk: Reading, calendar: CalendarRef, response: Response) -> CalendarDetailView:
    """One calendar, with its next days and the endpoints that use it."""
    found = await calendars.find_calendar(desk, calendar)
    response.headers["ETag"] = _etag(found)
    return await load_calendar(desk, found)


@router.get("/{calendar}/days")
async def preview_calendar(
    desk: Reading,
    calendar: CalendarRef,
    since: Annotated[date | None, Query(description="First day. Default: today.")] = None,
    days: Annotated[int, Query(ge=1, le=SPAN_DAYS_MAX, description="Length of the span in days.")] = 366,
) -> ListOf[CalendarDayView]:
    """The days of a calendar in a span of days."""
    found = await calendars.find_calendar(desk, calendar)
    return ListOf(items=[CalendarDayView.of(each) for each in await calendars.calendar_days(desk, found, since, days)])


@router.patch("/{calendar}")
async def update_calendar(
    desk: Writing,
    calendar: CalendarRef,
    wish: CalendarPatch,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> CalendarView | DryRunOf[CalendarView]:
    """Change a calendar. Endpoints that use it are planned again.

    A JSON merge patch: missing fields stay unchanged, null restores the default.
    """
    found = await calendars.find_calendar(desk, calendar)
    refuse_other(if_match, _etag(found), KIND, found.name)
    there = calendars.dry_run_of(desk) if dry_run else desk
    edited = await calendars.edit_calendar(there, found.id, lambda config: with_fields(config, wish.sent()))
    if dry_run:
        return DryRunOf[CalendarView].of(CalendarView.of(found), CalendarView.of(edited))
    response.headers["ETag"] = _etag(edited)
    return CalendarView.of(edited)


@router.delete("/{calendar}")
async def delete_calendar(
    desk: Writing, calendar: CalendarRef, dry_run: DryRun = False
) -> Deleted | DryRunOf[CalendarView]:
    """Delete a calendar. A calendar in use is not deleted; the error lists the endpoints that use it."""
    there = calendars.dry_run_of(desk) if dry_run else desk
    found = await calendars.delete_calendar(there, calendar)
    if dry_run:
        return DryRunOf[CalendarView].of(CalendarView.of(found), None)
    return Deleted.of(found)


def _etag(calendar: Calendar) -> str:
    return f'"v{calendar.version}"'
