"""`mainspring webhook ...`: external receivers of events."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli import remote_values
from mainspring.cli.arguments import read_choice
from mainspring.cli.command import CommandApp, OutputOption, ask, current_settings, fail_unless, server_in_use
from mainspring.cli.endpoint_output import note_if_managed
from mainspring.cli.output import Output, note, say, show_json
from mainspring.cli.remote import PAGE
from mainspring.cli.table import Column, show_fields, show_table
from mainspring.views.sentences import clock, when
from mainspring.views.shapes import delivery_shape, outcome_shape, webhook_shape

if TYPE_CHECKING:
    from datetime import datetime

    from mainspring.client import Client
    from mainspring.domain.notify.delivery import Delivery, DeliveryStatus
    from mainspring.domain.notify.subscription import Subscription
    from mainspring.domain.run import Outcome
    from mainspring.operations.endpoints import Desk

app = CommandApp("Webhooks: external receivers of events.")

WebhookName = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Name or id of the webhook.")]
DeliveriesThatAre = Annotated[
    str | None,
    typer.Option(
        "--status", help="Only deliveries in this state: pending, delivered, failed, held, digested, dropped."
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="EVENT", help="An event, or a family such as run.*; repeatable. Default: all."),
]


@app.command("add")
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL that receives events.")],
    types: Types = None,
    name: Annotated[str, typer.Option("--name", help="Name of the webhook; default: the host.")] = "",
    description: Annotated[str, typer.Option("--description", help="Description.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Send events to a URL from now on, and show the signing secret once."""
    from mainspring.operations.webhooks import WebhookDraft, add_webhook
    from mainspring.wiring.desk import new_signing_secret
    from mainspring.wiring.outbound import judge_host

    async def work(desk: "Desk") -> tuple["Subscription", str]:
        secret = new_signing_secret()
        draft = WebhookDraft(url, name, tuple(types or ()), description, secret=secret)
        return await add_webhook(desk, draft), secret

    def remotely(client: "Client") -> tuple["Subscription", str]:
        made = client.webhooks.create(url=url, name=name, types=types or [], description=description)
        return remote_values.webhook_of(made), made["secret"] or ""

    webhook, secret = ask(work, remotely)
    if output is Output.JSON:
        show_json({**webhook_shape(webhook), "secret": secret})
        return
    say(f"added webhook {webhook.name!r}: {secret}")
    note("the secret is not shown again; give it to the receiver that verifies the webhook-signature header")
    host = str(webhook_shape(webhook)["url"]).split("/")[2].rpartition(":")[0] or str(webhook_shape(webhook)["url"])
    if not server_in_use() and (why := judge_host(current_settings(), host)):
        note(f"{why}, so it is not called unless `mainspring serve` was started with MAINSPRING_ALLOW_CIDRS for it")


@app.command("list")
def list_webhooks(output: OutputOption = Output.TABLE) -> None:
    """List the webhooks with their delivery statistics."""
    from mainspring.domain.notify.subscription import SubscriptionKind
    from mainspring.operations.subscriptions import list_subscriptions

    found = ask(
        lambda desk: list_subscriptions(desk, SubscriptionKind.WEBHOOK),
        lambda client: [remote_values.webhook_of(shape) for shape in client.webhooks.list()["items"]],
    )
    if output is Output.JSON:
        show_json([webhook_shape(webhook) for webhook in found])
        return
    rows = []
    for webhook in found:
        shape = webhook_shape(webhook)
        rows.append((webhook.name, state_of(webhook), ",".join(shape["types"]), str(shape["url"])))  # type: ignore[arg-type]  # of text
    columns = (
        Column("WEBHOOK", can_cut=True),
        Column("STATE"),
        Column("EVENTS", can_cut=True),
        Column("URL", tail=True),
    )
    show_table(columns, rows, "No webhooks yet. Add one: mainspring webhook add https://example.com/hook")


@app.command("show")
def show(name: WebhookName, output: OutputOption = Output.TABLE) -> None:
    """Show one webhook."""
    from mainspring.operations.webhooks import find_webhook

    async def work(desk: "Desk") -> tuple["Subscription", "datetime"]:
        return await find_webhook(desk, name), await desk.stores.schedule.now()

    webhook, now = ask(work, lambda client: (remote_values.webhook_of(client.webhooks.read(name)), remote_values.now()))
    _show(webhook, output, now)


@app.command("edit")
def edit(
    name: WebhookName,
    url: Annotated[str | None, typer.Option("--url", help="URL that receives events.")] = None,
    types: Types = None,
    rename: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="Description.")] = None,
    enabled: Annotated[
        bool | None, typer.Option("--enable/--disable", help="Enable or disable; once enabled it receives new events.")
    ] = None,
    new_secret: Annotated[
        bool,
        typer.Option(
            "--new-secret", help="Replace the secret; the old one keeps signing as well until the next replacement."
        ),
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change a webhook."""
    from msgspec.structs import replace

    from mainspring.operations.webhooks import edit_webhook
    from mainspring.wiring.desk import new_signing_secret

    given: dict[str, object] = {"url": url, "name": rename, "description": description, "enabled": enabled}
    given["types"] = None if types is None else tuple(types)
    changes: dict[str, Any] = {field: value for field, value in given.items() if value is not None}

    async def work(desk: "Desk") -> tuple["Subscription", str]:
        secret = new_signing_secret() if new_secret else ""
        return await edit_webhook(desk, name, lambda draft: replace(draft, **changes, secret=secret)), secret

    def remotely(client: "Client") -> tuple["Subscription", str]:
        sent = changes if types is None else {**changes, "types": types}
        made = client.webhooks.update(name, **sent, new_secret=new_secret)
        return remote_values.webhook_of(made), made["secret"] or ""

    webhook, secret = ask(work, remotely)
    if output is Output.JSON:
        show_json(webhook_shape(webhook) | ({"secret": secret} if secret else {}))
        return
    say(f"changed webhook {webhook.name!r}{f': {secret}' if secret else ''}")
    note_if_managed(webhook.name, webhook.managed_by)


@app.command("delete")
def delete(name: WebhookName, output: OutputOption = Output.TABLE) -> None:
    """Delete a webhook; pending messages are not sent any more."""
    from mainspring.domain.notify.subscription import SubscriptionKind
    from mainspring.operations.subscriptions import delete_subscription

    async def work(desk: "Desk") -> tuple[str, str]:
        webhook = await delete_subscription(desk, SubscriptionKind.WEBHOOK, name)
        return webhook.id, webhook.name

    def remotely(client: "Client") -> tuple[str, str]:
        gone = client.webhooks.delete(name)
        return gone["id"], gone["name"]

    webhook_id, webhook_name = ask(work, remotely)
    if output is Output.JSON:
        show_json({"id": webhook_id, "name": webhook_name, "deleted": True})
    else:
        say(f"deleted webhook {webhook_name!r}")


@app.command("test")
def send_test(name: WebhookName, output: OutputOption = Output.TABLE) -> None:
    """Send a test message now, from this machine, and show the result."""
    from mainspring.operations.webhooks import test_webhook
    from mainspring.wiring.outbound import open_caller

    settings = current_settings()

    async def work(desk: "Desk") -> "Outcome":
        caller = open_caller(settings, desk.vault)
        try:
            return await test_webhook(desk, caller, name)
        finally:
            await caller.aclose()

    outcome = ask(work, lambda client: remote_values.tried_of(client.webhooks.test(name)))
    show_outcome(outcome, name, output)
    fail_unless(outcome.status == "success")


@app.command("deliveries")
def deliveries(
    name: Annotated[str | None, typer.Argument(metavar="WEBHOOK", help="Only of this webhook.")] = None,
    status: DeliveriesThatAre = None,
    count: Annotated[
        int, typer.Option("-n", "--limit", min=1, max=1_000, help="Number of messages, newest first.")
    ] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """List messages to webhooks, newest first, with the receiver's response; without a name, also those of alerts."""
    from mainspring.operations.subscriptions import list_deliveries
    from mainspring.operations.webhooks import find_webhook
    from mainspring.ports.notifications import DeliveryFilter

    wanted = read_delivery_status(status)

    async def work(desk: "Desk") -> list["Delivery"]:
        webhook = None if name is None else await find_webhook(desk, name)
        return await list_deliveries(desk, DeliveryFilter(webhook.id if webhook else None, wanted, limit=count))

    def remotely(client: "Client") -> list["Delivery"]:
        webhooks: Any = client.webhooks  # its types are the API's words
        given = {"status": wanted, "limit": min(count, PAGE)}
        found = webhooks.iterate_all_deliveries(**given) if name is None else webhooks.iterate_deliveries(name, **given)
        return remote_values.deliveries_of(client, found, count, in_full=output is Output.JSON)

    show_deliveries(ask(work, remotely), output)


@app.command("redeliver")
def redeliver(
    delivery_id: Annotated[str, typer.Argument(metavar="DELIVERY", help="Id, as `webhook deliveries` shows it.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Send a finished message again, with the same id."""
    from mainspring.operations.subscriptions import redeliver as send_again

    delivery = ask(
        lambda desk: send_again(desk, delivery_id),
        lambda client: remote_values.delivery_of(client.webhooks.redeliver_delivery(delivery_id)),
    )
    if output is Output.JSON:
        show_json(delivery_shape(delivery))
    else:
        say(f"{delivery.id} is sent again as soon as a notifier runs")


def read_delivery_status(text: str | None) -> "DeliveryStatus | None":
    from mainspring.domain.notify.delivery import DeliveryStatus

    found = read_choice(text, tuple(each.value for each in DeliveryStatus), "status")
    return None if found is None else DeliveryStatus(found)


def show_deliveries(found: list["Delivery"], output: Output) -> None:
    if output is Output.JSON:
        show_json([delivery_shape(each, with_payload=True) for each in found])
        return
    rows = [
        (each.id, each.type, each.status.value, str(each.attempt), clock(each.sent_at), each.error or each.snippet)
        for each in found
    ]
    columns = (
        Column("DELIVERY"),
        Column("EVENT"),
        Column("STATUS"),
        Column("TRIES"),
        Column("LAST ATTEMPT", spare=True),
        Column("ANSWER", tail=True),
    )
    show_table(columns, rows, "No messages yet.")


def show_outcome(outcome: "Outcome", name: str, output: Output) -> None:
    shape = outcome_shape(outcome)
    if output is Output.JSON:
        show_json(shape)
    elif shape["ok"]:
        code = f" ({outcome.status_code})" if outcome.status_code else ""
        say(f"{name}: delivered in {outcome.duration_ms} ms{code}")
    else:
        say(f"{name}: not delivered: {outcome.error}")


def state_of(subscription: "Subscription") -> str:
    if not subscription.enabled:
        return "disabled"
    return "failing" if subscription.failing_since else "enabled"


def _show(webhook: "Subscription", output: Output, now: "datetime") -> None:
    shape = webhook_shape(webhook)
    if output is Output.JSON:
        show_json(shape)
        return
    pairs = [
        ("webhook", webhook.name),
        ("id", webhook.id),
        ("state", f"{state_of(webhook)}{f': {webhook.disabled_reason}' if webhook.disabled_reason else ''}"),
        ("url", str(shape["url"])),
        ("events", ", ".join(shape["types"])),  # type: ignore[arg-type]  # of text
        ("created", when(now, webhook.created_at)),
    ]
    if webhook.failing_since is not None:
        pairs.append(
            ("failing since", f"{when(now, webhook.failing_since)}, {webhook.failure_count} consecutive attempts")
        )
    if shape["description"]:
        pairs.append(("description", str(shape["description"])))
    show_fields(pairs)
