"""`mainspring webhook ...`: external receivers of events."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mainspring.cli.arguments import read_choice
from mainspring.cli.command import (
    CommandApp,
    OutputOption,
    ask,
    ask_for,
    ask_for_all,
    current_settings,
    fail_unless,
    server_in_use,
)
from mainspring.cli.endpoint_output import note_if_managed
from mainspring.cli.output import Output, answer, note, now, say, show_json
from mainspring.cli.remote import PAGE, read_deliveries
from mainspring.cli.setting_options import WebhookCommand, as_sent, read_settings
from mainspring.cli.table import Column, show_fields, show_list
from mainspring.views.sentences import clock, when

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.notify.delivery import DeliveryStatus
    from mainspring.domain.run import Outcome
    from mainspring.operations.context import Desk
    from mainspring.views.notification import DeliveryTest, DeliveryView, WebhookCreated, WebhookView

app = CommandApp("Webhooks: external receivers of events.")

WebhookName = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Name or id of the webhook.")]
DeliveriesThatAre = Annotated[
    str | None,
    typer.Option(
        "--status", help="Only deliveries in this state: pending, delivered, failed, held, digested, dropped."
    ),
]


@app.command("add", WebhookCommand)
def add(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="URL that receives events.")],
    name: Annotated[str, typer.Option("--name", help="Name of the webhook; default: the host.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Send events to a URL from now on, and show the signing secret once."""
    from msgspec.structs import replace

    from mainspring.domain.config_field import values_of
    from mainspring.domain.notify.subscription import WEBHOOK_FIELDS, WebhookDraft
    from mainspring.operations.webhooks import add_webhook
    from mainspring.views.notification import WebhookCreated
    from mainspring.wiring.desk import new_signing_secret
    from mainspring.wiring.outbound import judge_host

    given = read_settings(WEBHOOK_FIELDS, context.obj)
    values = values_of(WEBHOOK_FIELDS, given)

    async def work(desk: "Desk") -> "WebhookCreated":
        secret = new_signing_secret()
        draft = replace(WebhookDraft(url, name, secret=secret), **values)
        return WebhookCreated.of(await add_webhook(desk, draft), secret=secret)

    def remotely(client: "Client") -> "WebhookCreated":
        return WebhookCreated.model_validate(client.webhooks.create(url=url, name=name, **as_sent(given)))

    webhook = ask(work, remotely)
    if output is Output.JSON:
        show_json(webhook)
        return
    say(f"added webhook {webhook.name!r}: {webhook.secret}")
    note("the secret is not shown again; give it to the receiver, which verifies the webhook-signature header")
    host = webhook.url.split("/")[2].rpartition(":")[0] or webhook.url if "://" in webhook.url else ""
    if host and not server_in_use() and (why := judge_host(current_settings(), host)):
        note(f"{why}, so it is not called unless `mainspring serve` was started with MAINSPRING_ALLOW_CIDRS for it")


@app.command("list")
def list_webhooks(output: OutputOption = Output.TABLE) -> None:
    """List the webhooks with their delivery statistics."""
    from mainspring.domain.notify.subscription import SubscriptionKind
    from mainspring.operations.subscriptions import list_subscriptions
    from mainspring.views.notification import WebhookView

    found = ask_for_all(
        WebhookView,
        lambda desk: list_subscriptions(desk, SubscriptionKind.WEBHOOK),
        lambda client: client.webhooks.list()["items"],
    )
    rows = [(webhook.name, webhook.state, ",".join(webhook.types), webhook.url) for webhook in found]
    columns = (
        Column("WEBHOOK", can_cut=True),
        Column("STATE"),
        Column("EVENTS", can_cut=True),
        Column("URL", tail=True),
    )
    show_list(found, output, columns, rows, "No webhooks yet. Add one: mainspring webhook add https://example.com/hook")


@app.command("show")
def show(name: WebhookName, output: OutputOption = Output.TABLE) -> None:
    """Show one webhook."""
    from mainspring.operations.webhooks import find_webhook
    from mainspring.views.notification import WebhookView

    webhook = ask_for(WebhookView, lambda desk: find_webhook(desk, name), lambda client: client.webhooks.read(name))
    if output is Output.JSON:
        show_json(webhook)
    else:
        _show(webhook)


@app.command("edit", WebhookCommand)
def edit(
    context: typer.Context,
    name: WebhookName,
    url: Annotated[str | None, typer.Option("--url", help="URL that receives events.")] = None,
    rename: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
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

    from mainspring.domain.config_field import values_of
    from mainspring.domain.notify.subscription import WEBHOOK_FIELDS
    from mainspring.operations.webhooks import edit_webhook
    from mainspring.views.notification import WebhookCreated
    from mainspring.wiring.desk import new_signing_secret

    given = read_settings(WEBHOOK_FIELDS, context.obj | {"url": url, "name": rename})
    changes = values_of(WEBHOOK_FIELDS, given)

    async def work(desk: "Desk") -> "WebhookCreated":
        secret = new_signing_secret() if new_secret else ""
        edited = await edit_webhook(desk, name, lambda draft: replace(draft, **changes, secret=secret))
        return WebhookCreated.of(edited, secret=secret or None)

    def remotely(client: "Client") -> "WebhookCreated":
        changed = client.webhooks.update(name, **as_sent(given), new_secret=new_secret)
        return WebhookCreated.model_validate(changed)

    webhook = ask(work, remotely)
    if output is Output.JSON:
        show_json(webhook)
        return
    say(f"changed webhook {webhook.name!r}{f': {webhook.secret}' if webhook.secret else ''}")
    note_if_managed(webhook.name, webhook.managed_by)


@app.command("delete")
def delete(name: WebhookName, output: OutputOption = Output.TABLE) -> None:
    """Delete a webhook; pending messages are not sent any more."""
    from mainspring.domain.notify.subscription import SubscriptionKind
    from mainspring.operations.subscriptions import delete_subscription
    from mainspring.views.view import Deleted

    gone = ask_for(
        Deleted,
        lambda desk: delete_subscription(desk, SubscriptionKind.WEBHOOK, name),
        lambda client: client.webhooks.delete(name),
    )
    answer(gone, output, f"deleted webhook {gone.name!r}")


@app.command("test")
def send_test(name: WebhookName, output: OutputOption = Output.TABLE) -> None:
    """Send a test message now, from this machine, and show the result."""
    from mainspring.operations.webhooks import test_webhook
    from mainspring.views.notification import DeliveryTest
    from mainspring.wiring.outbound import open_caller

    settings = current_settings()

    async def work(desk: "Desk") -> "Outcome":
        caller = open_caller(settings, desk.vault, desk.stores)
        try:
            return await test_webhook(desk, caller, name)
        finally:
            await caller.aclose()

    tested = ask_for(DeliveryTest, work, lambda client: client.webhooks.test(name))
    _show_test(tested, name, output)
    fail_unless(tested.ok)


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
    from mainspring.views.notification import DeliveryDetailView

    wanted = read_delivery_status(status)

    async def work(desk: "Desk") -> list["DeliveryView"]:
        webhook = None if name is None else await find_webhook(desk, name)
        found = await list_deliveries(desk, DeliveryFilter(webhook.id if webhook else None, wanted, limit=count))
        return [DeliveryDetailView.of(each) for each in found]

    def remotely(client: "Client") -> list["DeliveryView"]:
        webhooks: Any = client.webhooks  # its types are the words of the API
        given = {"status": wanted, "limit": min(count, PAGE)}
        found = webhooks.iterate_all_deliveries(**given) if name is None else webhooks.iterate_deliveries(name, **given)
        return read_deliveries(client, found, count, in_full=output is Output.JSON)

    show_deliveries(ask(work, remotely), output)


@app.command("redeliver")
def redeliver(
    delivery_id: Annotated[str, typer.Argument(metavar="DELIVERY", help="Id, as `webhook deliveries` shows it.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Send a finished message again, with the same id."""
    from mainspring.operations.subscriptions import redeliver as send_again
    from mainspring.views.notification import DeliveryView

    delivery = ask_for(
        DeliveryView,
        lambda desk: send_again(desk, delivery_id),
        lambda client: client.webhooks.redeliver_delivery(delivery_id),
    )
    answer(delivery, output, f"{delivery.id} is sent again as soon as a notifier runs")


def read_delivery_status(text: str | None) -> "DeliveryStatus | None":
    from mainspring.domain.notify.delivery import DeliveryStatus

    found = read_choice(text, tuple(each.value for each in DeliveryStatus), "status")
    return None if found is None else DeliveryStatus(found)


def show_deliveries(found: Sequence["DeliveryView"], output: Output) -> None:
    rows = [
        (each.id, each.type, each.status, str(each.attempts), clock(each.sent_at), each.error or each.response or "")
        for each in found
    ]
    columns = (
        Column("DELIVERY"),
        Column("EVENT"),
        Column("STATUS"),
        Column("ATTEMPTS"),
        Column("LAST ATTEMPT", spare=True),
        Column("RESPONSE", tail=True),
    )
    show_list(found, output, columns, rows, "No messages yet.")


def _show_test(tested: "DeliveryTest", name: str, output: Output) -> None:
    if output is Output.JSON:
        show_json(tested)
    elif tested.ok:
        code = f" ({tested.status_code})" if tested.status_code else ""
        say(f"{name}: delivered in {tested.duration_ms} ms{code}")
    else:
        say(f"{name}: not delivered: {tested.error}")


def _show(webhook: "WebhookView") -> None:
    at = now()
    pairs = [
        ("webhook", webhook.name),
        ("id", webhook.id),
        ("state", f"{webhook.state}{f': {webhook.disabled_reason}' if webhook.disabled_reason else ''}"),
        ("url", webhook.url),
        *([("connection", webhook.connection)] if webhook.connection else []),
        ("events", ", ".join(webhook.types)),
        ("created", when(at, webhook.created_at)),
    ]
    if webhook.failing_since is not None:
        pairs.append(("failing since", f"{when(at, webhook.failing_since)}, {webhook.failure_count} attempts in a row"))
    if webhook.description:
        pairs.append(("description", webhook.description))
    show_fields(pairs)
