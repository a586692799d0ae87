"""`mainspring alert ...`: notify people when something fails, recovers, is late or exceeds a quota."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, ask_for_all, current_settings, fail_unless
from mainspring.cli.endpoint_output import note_if_managed
from mainspring.cli.output import Output, answer, say, show_json
from mainspring.cli.remote import PAGE, read_deliveries
from mainspring.cli.setting_options import AlertCommand, as_sent, read_settings
from mainspring.cli.table import Column, show_fields, show_list
from mainspring.cli.webhook import DeliveriesThatAre, read_delivery_status, show_deliveries
from mainspring.domain.duration import format_duration

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.notify.subscription import Destination
    from mainspring.domain.run import Outcome
    from mainspring.operations.context import Desk
    from mainspring.views.notification import DeliveryView

app = CommandApp("Alerts: notify people of failures and recoveries.")

AlertName = Annotated[str, typer.Argument(metavar="ALERT", help="Name or id of the alert.")]


@app.command("add", AlertCommand)
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the alert.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Create an alert, which sends one message per change of state."""
    from msgspec.structs import replace

    from mainspring.domain.config_field import values_of
    from mainspring.domain.notify.subscription import ALERT_FIELDS, AlertDraft
    from mainspring.operations.alerts import add_alert
    from mainspring.views.notification import AlertView
    from mainspring.wiring.outbound import open_messengers

    given = read_settings(ALERT_FIELDS, context.obj)
    draft = replace(AlertDraft(name, ()), **values_of(ALERT_FIELDS, given))
    messengers = open_messengers(current_settings())
    alert = ask_for(
        AlertView,
        lambda desk: add_alert(desk, messengers, draft),
        lambda client: client.alerts.create(name=name, **as_sent({"to": (), **given})),
    )
    answer(alert, output, f"added alert {alert.name!r}; try it: mainspring alert test {alert.name!r}")


@app.command("list")
def list_alerts(output: OutputOption = Output.TABLE) -> None:
    """List the alerts."""
    from mainspring.domain.notify.subscription import SubscriptionKind
    from mainspring.operations.subscriptions import list_subscriptions
    from mainspring.views.notification import AlertView

    found = ask_for_all(
        AlertView,
        lambda desk: list_subscriptions(desk, SubscriptionKind.ALERT),
        lambda client: client.alerts.list()["items"],
    )
    rows = [(alert.name, alert.state, ", ".join(alert.kinds), ", ".join(alert.to)) for alert in found]
    columns = (Column("ALERT", can_cut=True), Column("STATE"), Column("KINDS", can_cut=True), Column("TO", tail=True))
    show_list(found, output, columns, rows, "No alerts yet. Add one: mainspring alert add ops --to ops@example.com")


@app.command("show")
def show(name: AlertName, output: OutputOption = Output.TABLE) -> None:
    """Show one alert."""
    from mainspring.operations.alerts import find_alert
    from mainspring.views.notification import AlertView

    alert = ask_for(AlertView, lambda desk: find_alert(desk, name), lambda client: client.alerts.read(name))
    if output is Output.JSON:
        show_json(alert)
        return
    pairs = [
        ("alert", alert.name),
        ("id", alert.id),
        ("state", alert.state),
        ("kinds", ", ".join(alert.kinds)),
        ("about", alert.endpoint_id or alert.job_id or "everything"),
        ("failing after", f"{alert.failures} failures in a row"),
        ("to", ", ".join(alert.to)),
        ("cooldown", format_duration(alert.cooldown_ms)),
    ]
    if alert.quiet:
        pairs.append(("quiet hours", f"{alert.quiet} {alert.timezone}, {alert.during_quiet}"))
    if alert.description:
        pairs.append(("description", alert.description))
    show_fields(pairs)


@app.command("edit", AlertCommand)
def edit(
    context: typer.Context,
    name: AlertName,
    rename: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change an alert; a destination given as `alert show` shows it stays unchanged."""
    from msgspec.structs import replace

    from mainspring.domain.config_field import values_of
    from mainspring.domain.notify.subscription import ALERT_FIELDS
    from mainspring.operations.alerts import edit_alert
    from mainspring.views.notification import AlertView
    from mainspring.wiring.outbound import open_messengers

    given = read_settings(ALERT_FIELDS, context.obj | {"name": rename})
    values = values_of(ALERT_FIELDS, given)
    messengers = open_messengers(current_settings())
    alert = ask_for(
        AlertView,
        lambda desk: edit_alert(desk, messengers, name, lambda draft: replace(draft, **values)),
        lambda client: client.alerts.update(name, **as_sent(given)),
    )
    answer(alert, output, f"changed alert {alert.name!r}")
    note_if_managed(alert.name, alert.managed_by)


@app.command("delete")
def delete(name: AlertName, output: OutputOption = Output.TABLE) -> None:
    """Delete an alert; pending messages are not sent any more."""
    from mainspring.domain.notify.subscription import SubscriptionKind
    from mainspring.operations.subscriptions import delete_subscription
    from mainspring.views.view import Deleted

    gone = ask_for(
        Deleted,
        lambda desk: delete_subscription(desk, SubscriptionKind.ALERT, name),
        lambda client: client.alerts.delete(name),
    )
    answer(gone, output, f"deleted alert {gone.name!r}")


@app.command("test")
def send_test(name: AlertName, output: OutputOption = Output.TABLE) -> None:
    """Send a test message to every destination now, and show the result of each."""
    from mainspring.operations.alerts import test_alert
    from mainspring.views.notification import AlertTest
    from mainspring.wiring.outbound import open_caller, open_messengers

    settings = current_settings()

    async def work(desk: "Desk") -> list[tuple["Destination", "Outcome"]]:
        caller = open_caller(settings, desk.vault, desk.stores)
        try:
            return await test_alert(desk, caller, open_messengers(settings), name)
        finally:
            await caller.aclose()

    tested = ask_for(AlertTest, work, lambda client: client.alerts.test(name))
    if output is Output.JSON:
        show_json(tested.ways)
    else:
        for way in tested.ways:
            say(f"{way.to}: {'delivered' if way.ok else f'not delivered: {way.error}'}")
    fail_unless(tested.ok)


@app.command("deliveries")
def deliveries(
    name: AlertName,
    status: DeliveriesThatAre = None,
    count: Annotated[
        int, typer.Option("-n", "--limit", min=1, max=1_000, help="Number of messages, newest first.")
    ] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """List an alert's messages, newest first, with the result of each."""
    from mainspring.operations.alerts import find_alert
    from mainspring.operations.subscriptions import list_deliveries
    from mainspring.ports.notifications import DeliveryFilter
    from mainspring.views.notification import DeliveryDetailView

    wanted = read_delivery_status(status)

    async def work(desk: "Desk") -> list["DeliveryView"]:
        chosen = DeliveryFilter((await find_alert(desk, name)).id, wanted, limit=count)
        return [DeliveryDetailView.of(each) for each in await list_deliveries(desk, chosen)]

    def remotely(client: "Client") -> list["DeliveryView"]:
        alerts: Any = client.alerts  # its types are the words of the API
        found = alerts.iterate_deliveries(name, status=wanted, limit=min(count, PAGE))
        return read_deliveries(client, found, count, in_full=output is Output.JSON)

    show_deliveries(ask(work, remotely), output)
