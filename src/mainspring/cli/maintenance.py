"""`mainspring maintenance ...`: windows in which runs are skipped or not counted, and alerts are silent."""

from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask_for, ask_for_all
from mainspring.cli.endpoint_output import note_if_managed
from mainspring.cli.output import Output, answer, now, show_json
from mainspring.cli.setting_options import MaintenanceCommand, as_sent, read_settings
from mainspring.cli.table import Column, show_fields, show_list
from mainspring.domain.duration import format_duration
from mainspring.views.sentences import clock, when

if TYPE_CHECKING:
    from mainspring.views.maintenance import MaintenanceView

app = CommandApp("Maintenance windows: skip runs, or ignore failures.")

WindowName = Annotated[str, typer.Argument(metavar="WINDOW", help="Name or id of the maintenance window.")]


@app.command("add", MaintenanceCommand)
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the maintenance window.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a maintenance window: --cron with --duration, or --start with --end."""
    from msgspec.structs import replace

    from mainspring.domain.config_field import values_of
    from mainspring.domain.schedule.maintenance import MAINTENANCE_FIELDS, MaintenanceDraft
    from mainspring.operations.maintenance import add_window
    from mainspring.views.maintenance import MaintenanceView

    given = read_settings(MAINTENANCE_FIELDS, context.obj)
    draft = replace(MaintenanceDraft(name), **values_of(MAINTENANCE_FIELDS, given))
    window = ask_for(
        MaintenanceView,
        lambda desk: add_window(desk, draft),
        lambda client: client.maintenance.create(name=name, **as_sent(given)),
    )
    answer(window, output, f"added maintenance window {window.name!r}; {_when(window)}")


@app.command("list")
def list_windows(output: OutputOption = Output.TABLE) -> None:
    """List the maintenance windows, with the time that each is open or opens next."""
    from mainspring.operations.maintenance import list_windows
    from mainspring.views.maintenance import MaintenanceView

    found = ask_for_all(MaintenanceView, list_windows, lambda client: client.maintenance.list()["items"])
    rows = [
        (each.name, each.state, clock(each.opens_at), clock(each.closes_at), each.runs, _about(each)) for each in found
    ]
    columns = (
        Column("WINDOW", can_cut=True),
        Column("STATE"),
        Column("OPENS"),
        Column("CLOSES"),
        Column("RUNS"),
        Column("ABOUT", tail=True),
    )
    empty = "No maintenance windows yet. Add one: mainspring maintenance add NAME --cron '0 2 * * SUN' --duration 2h"
    show_list(found, output, columns, rows, empty)


@app.command("show")
def show(name: WindowName, output: OutputOption = Output.TABLE) -> None:
    """Show one maintenance window."""
    from mainspring.operations.maintenance import find_window
    from mainspring.views.maintenance import MaintenanceView

    window = ask_for(
        MaintenanceView, lambda desk: find_window(desk, name), lambda client: client.maintenance.read(name)
    )
    if output is Output.JSON:
        show_json(window)
        return
    at = now()
    pairs = [
        ("window", window.name),
        ("id", window.id),
        ("state", window.state),
        ("opens", when(at, window.opens_at)),
        ("closes", when(at, window.closes_at)),
        ("runs", window.runs),
        ("about", _about(window)),
    ]
    if window.cron and window.duration_ms is not None:
        pairs.append(("cron", f"{window.cron} in {window.timezone}, for {format_duration(window.duration_ms)}"))
    if window.description:
        pairs.append(("description", window.description))
    pairs.append(("managed by", window.managed_by or "-"))
    show_fields(pairs)


@app.command("edit", MaintenanceCommand)
def edit(
    context: typer.Context,
    name: WindowName,
    rename: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change a maintenance window. Runs that it moved are planned again."""
    from mainspring.domain.config_field import values_of
    from mainspring.domain.schedule.maintenance import MAINTENANCE_FIELDS
    from mainspring.operations.maintenance import edit_window
    from mainspring.views.maintenance import MaintenanceView

    given = read_settings(MAINTENANCE_FIELDS, context.obj | {"name": rename})
    values = values_of(MAINTENANCE_FIELDS, given)
    window = ask_for(
        MaintenanceView,
        lambda desk: edit_window(desk, name, values),
        lambda client: client.maintenance.update(name, **as_sent(given)),
    )
    answer(window, output, f"changed maintenance window {window.name!r}; {_when(window)}")
    note_if_managed(window.name, window.managed_by)


@app.command("delete")
def delete(name: WindowName, output: OutputOption = Output.TABLE) -> None:
    """Delete a maintenance window. Runs that it moved are planned again."""
    from mainspring.operations.maintenance import delete_window
    from mainspring.views.view import Deleted

    gone = ask_for(Deleted, lambda desk: delete_window(desk, name), lambda client: client.maintenance.delete(name))
    answer(gone, output, f"deleted maintenance window {gone.name!r}")


def _when(window: "MaintenanceView") -> str:
    if window.state == "over":
        return "it is over"
    return (
        f"it {'is open' if window.state == 'open' else 'opens'} {clock(window.opens_at)} to {clock(window.closes_at)}"
    )


def _about(window: "MaintenanceView") -> str:
    return window.endpoint_id or window.job_id or "everything"
