"""`mainspring alert ...`: notify people when something fails, recovers, is late or exceeds a quota."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli.command import CommandApp, OutputOption, ask, ask_for, ask_for_all, current_settings, fail_unless
from mainspring.cli.endpoint_output import note_if_managed
from mainspring.cli.output import Output, say, show_json
from mainspring.cli.remote import PAGE, read_deliveries
from mainspring.cli.table import Column, show_fields, show_table
from mainspring.cli.webhook import DeliveriesThatAre, read_delivery_status, show_deliveries
from mainspring.domain.duration import format_duration, parse_duration_ms

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.notify.subscription import Destination
    from mainspring.domain.run import Outcome
    from mainspring.operations.endpoints import Desk
    from mainspring.views.notification import AlertView, DeliveryView

app = CommandApp("Alerts: notify people of failures and recoveries.")

AlertName = Annotated[str, typer.Argument(metavar="ALERT", help="Name or id of the alert.")]
To = Annotated[
    list[str] | None,
    typer.Option("--to", metavar="WAY", help="Email address, http(s) URL, or apprise URL; repeatable."),
]
On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="KIND",
        help="failing, recovered, parked, late, quota, webhook_disabled, stopped, advice_paused, "
        "model_failing, overdue, proposal_waiting; repeatable. Default: the first three.",
    ),
]
Failures = Annotated[
    int | None, typer.Option("--failures", help="Consecutive failures until an endpoint counts as failing.")
]
OfEndpoint = Annotated[str | None, typer.Option("--endpoint", help="Only this endpoint; '' for all.")]
OfJob = Annotated[str | None, typer.Option("--job", help="Only the endpoints of this job; '' for all.")]
Cooldown = Annotated[
    str | None,
    typer.Option("--cooldown", metavar="DURATION", help="Minimum time between two messages about one subject."),
]
QuietHours = Annotated[
    str | None, typer.Option("--quiet", metavar="HH:MM-HH:MM", help="Quiet hours, without messages.")
]
Zone = Annotated[str | None, typer.Option("--timezone", help="Time zone of the quiet hours; default UTC.")]
During = Annotated[
    str | None,
    typer.Option("--during-quiet", metavar="digest|drop", help="Send one digest afterwards, or drop the messages."),
]
Description = Annotated[str | None, typer.Option("--description", help="Description.")]


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the alert.")],
    to: To = None,
    on: On = None,
    failures: Failures = None,
    endpoint: OfEndpoint = None,
    job: OfJob = None,
    cooldown: Cooldown = None,
    quiet: QuietHours = None,
    timezone: Zone = None,
    during_quiet: During = None,
    description: Description = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create an alert, which sends one message per change of state."""
    from mainspring.operations.alerts import AlertDraft, add_alert
    from mainspring.views.notification import AlertView
    from mainspring.wiring.outbound import open_messengers

    given = _given(to, on, failures, endpoint, job, cooldown, quiet, timezone, during_quiet, description)
    draft = AlertDraft(**{"name": name, "to": (), **given})  # type: ignore[arg-type]  # fields of the draft
    messengers = open_messengers(current_settings())
    alert = ask_for(
        AlertView,
        lambda desk: add_alert(desk, messengers, draft),
        lambda client: client.alerts.create(**_plain({"name": name, "to": (), **given})),
    )
    _said(alert, output, f"added alert {alert.name!r}; try it: mainspring alert test {alert.name!r}")


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
    if output is Output.JSON:
        show_json(found)
        return
    rows = [(alert.name, alert.state, ", ".join(alert.kinds), ", ".join(alert.to)) for alert in found]
    columns = (Column("ALERT", can_cut=True), Column("STATE"), Column("TELLS", can_cut=True), Column("TO", tail=True))
    show_table(columns, rows, "No alerts yet. Add one: mainspring alert add ops --to ops@example.com")


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
        ("tells", ", ".join(alert.kinds)),
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


@app.command("edit")
def edit(
    name: AlertName,
    to: To = None,
    on: On = None,
    failures: Failures = None,
    endpoint: OfEndpoint = None,
    job: OfJob = None,
    cooldown: Cooldown = None,
    quiet: QuietHours = None,
    timezone: Zone = None,
    during_quiet: During = None,
    description: Description = None,
    rename: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Enable or disable the alert.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change an alert; a destination given as `alert show` shows it stays unchanged."""
    from msgspec.structs import replace

    from mainspring.operations.alerts import edit_alert
    from mainspring.views.notification import AlertView
    from mainspring.wiring.outbound import open_messengers

    given = _given(to, on, failures, endpoint, job, cooldown, quiet, timezone, during_quiet, description)
    if rename is not None:
        given["name"] = rename
    if enabled is not None:
        given["enabled"] = enabled
    messengers = open_messengers(current_settings())
    alert = ask_for(
        AlertView,
        lambda desk: edit_alert(desk, messengers, name, lambda draft: replace(draft, **given)),
        lambda client: client.alerts.update(name, **_plain(given)),
    )
    _said(alert, output, f"changed alert {alert.name!r}")
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
    if output is Output.JSON:
        show_json(gone)
    else:
        say(f"deleted alert {gone.name!r}")


@app.command("test")
def send_test(name: AlertName, output: OutputOption = Output.TABLE) -> None:
    """Send a test message to every destination now, and show the result of each."""
    from mainspring.operations.alerts import test_alert
    from mainspring.views.notification import AlertTest
    from mainspring.wiring.outbound import open_caller, open_messengers

    settings = current_settings()

    async def work(desk: "Desk") -> list[tuple["Destination", "Outcome"]]:
        caller = open_caller(settings, desk.vault)
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
        alerts: Any = client.alerts  # its types are the API's words
        found = alerts.iterate_deliveries(name, status=wanted, limit=min(count, PAGE))
        return read_deliveries(client, found, count, in_full=output is Output.JSON)

    show_deliveries(ask(work, remotely), output)


def _given(
    to: list[str] | None,
    on: list[str] | None,
    failures: int | None,
    endpoint: str | None,
    job: str | None,
    cooldown: str | None,
    quiet: str | None,
    timezone: str | None,
    during_quiet: str | None,
    description: str | None,
) -> dict[str, object]:
    values: dict[str, object] = {
        "to": None if to is None else tuple(to),
        "kinds": None if on is None else tuple(part.strip() for text in on for part in text.split(",")),
        "failures": failures,
        "endpoint": endpoint,
        "job": job,
        "cooldown": None if cooldown is None else parse_duration_ms(cooldown, field="cooldown", min_ms=0),
        "quiet": quiet,
        "timezone": timezone,
        "during_quiet": during_quiet,
        "description": description,
    }
    return {name: value for name, value in values.items() if value is not None}


def _plain(given: dict[str, object]) -> dict[str, Any]:
    """In the form of the API."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def _said(alert: "AlertView", output: Output, sentence: str) -> None:
    if output is Output.JSON:
        show_json(alert)
    else:
        say(sentence)
