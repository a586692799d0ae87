"""`mainspring calendar ...`: named sets of days on which endpoints run or do not run."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, ask_for_all
from mainspring.cli.endpoint_output import note_if_managed
from mainspring.cli.output import Output, answer, show_json
from mainspring.cli.setting_options import CalendarCommand, as_sent, read_settings
from mainspring.cli.table import Column, show_fields, show_list

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.calendar import Calendar
    from mainspring.operations.context import Desk
    from mainspring.views.calendar import CalendarDayView, CalendarDetailView, CalendarView

app = CommandApp("Calendars: days on which endpoints run or do not run.")

CalendarName = Annotated[str, typer.Argument(metavar="CALENDAR", help="Name or id of the calendar.")]


@app.command("add", CalendarCommand)
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new calendar, unique in the tenant.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a calendar from dates, weekdays, public holidays or an iCalendar file."""
    from mainspring.domain.calendar import CALENDAR_FIELDS, CalendarConfig, with_fields
    from mainspring.operations.calendars import add_calendar
    from mainspring.views.calendar import CalendarView

    given = read_settings(CALENDAR_FIELDS, context.obj)
    made = ask_for(
        CalendarView,
        lambda desk: add_calendar(desk, name, with_fields(CalendarConfig(), given)),
        lambda client: client.calendars.create(name=name, **as_sent(given)),
    )
    answer(made, output, f"added calendar {made.name!r}: use it with `endpoint edit ENDPOINT --except {made.name}`")


@app.command("list")
def list_calendars(output: OutputOption = Output.TABLE) -> None:
    """List calendars by name."""
    from mainspring.operations.calendars import list_calendars
    from mainspring.views.calendar import CalendarView

    found = ask_for_all(CalendarView, list_calendars, lambda client: client.calendars.list()["items"])
    columns = (Column("CALENDAR", can_cut=True), Column("DAYS"), Column("DESCRIPTION", tail=True))
    rows = [(each.name, _contents(each), each.description or "-") for each in found]
    way = "mainspring calendar add holidays --holidays DE"
    show_list(found, output, columns, rows, f"No calendars yet. Add one: {way}")


@app.command("show")
def show(name: CalendarName, output: OutputOption = Output.TABLE) -> None:
    """Show a calendar, with its next days and the endpoints that use it."""
    from mainspring.operations.calendars import find_calendar
    from mainspring.views.calendar import CalendarDetailView, load_calendar

    async def work(desk: "Desk") -> "CalendarDetailView":
        return await load_calendar(desk, await find_calendar(desk, name))

    calendar = ask(work, lambda client: CalendarDetailView.model_validate(client.calendars.read(name)))
    if output is Output.JSON:
        show_json(calendar)
        return
    pairs = [("calendar", calendar.name), ("id", calendar.id), ("days", _contents(calendar))]
    pairs += [("date", each) for each in calendar.dates]
    pairs += [("next", _in_words(each)) for each in calendar.upcoming]
    if calendar.description:
        pairs.append(("description", calendar.description))
    pairs += [("used by", ", ".join(calendar.users) or "-"), ("managed by", calendar.managed_by or "-")]
    show_fields(pairs)


@app.command("preview")
def preview(
    name: CalendarName,
    days: Annotated[int, typer.Option("--days", min=1, max=3_660, help="Length of the span in days.")] = 366,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the days of a calendar from today on."""
    from mainspring.operations.calendars import calendar_days, find_calendar
    from mainspring.views.calendar import CalendarDayView

    async def work(desk: "Desk") -> "list[CalendarDayView]":
        found = await calendar_days(desk, await find_calendar(desk, name), None, days)
        return [CalendarDayView.of(each) for each in found]

    def remotely(client: "Client") -> "list[CalendarDayView]":
        return CalendarDayView.read_all(client.calendars.preview(name, days=days)["items"])

    found = ask(work, remotely)
    rows = [(each.day.isoformat(), f"{each.day:%A}", each.label or "-") for each in found]
    columns = (Column("DAY"), Column("WEEKDAY"), Column("LABEL", tail=True))
    show_list(found, output, columns, rows, f"No day in the next {days} days.")


@app.command("edit", CalendarCommand)
def edit(context: typer.Context, name: CalendarName, output: OutputOption = Output.TABLE) -> None:
    """Change a calendar. Endpoints that use it are planned again. An empty text removes a setting."""
    from mainspring.domain.calendar import CALENDAR_FIELDS, with_fields
    from mainspring.operations.calendars import edit_calendar
    from mainspring.views.calendar import CalendarView

    given = read_settings(CALENDAR_FIELDS, context.obj)

    async def work(desk: "Desk") -> "Calendar":
        return await edit_calendar(desk, name, lambda config: with_fields(config, given))

    edited = ask_for(CalendarView, work, lambda client: client.calendars.update(name, **as_sent(given)))
    answer(edited, output, f"changed calendar {edited.name!r}")
    if output is not Output.JSON:
        note_if_managed(edited.name, edited.managed_by)


@app.command("delete")
def delete(name: CalendarName, output: OutputOption = Output.TABLE) -> None:
    """Delete a calendar. A calendar in use is not deleted; the error lists the endpoints that use it."""
    from mainspring.operations.calendars import delete_calendar
    from mainspring.views.view import Deleted

    gone = ask_for(Deleted, lambda desk: delete_calendar(desk, name), lambda client: client.calendars.delete(name))
    answer(gone, output, f"deleted calendar {gone.name!r}")


def _contents(calendar: "CalendarView") -> str:
    """`holidays of DE; sat, sun; 3 dates`"""
    parts = [
        f"holidays of {calendar.holidays}" if calendar.holidays else "",
        ", ".join(calendar.weekdays),
        f"{len(calendar.dates)} date{'' if len(calendar.dates) == 1 else 's'}" if calendar.dates else "",
        "iCalendar" if calendar.ics_bytes else "",
    ]
    return "; ".join(part for part in parts if part)


def _in_words(each: "CalendarDayView") -> str:
    return f"{each.day:%A} {each.day.isoformat()}" + (f", {each.label}" if each.label else "")
