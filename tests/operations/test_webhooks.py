"""Addresses of webhooks that were stored before there was a seal for them."""

from msgspec.structs import replace
from tests.stores.databases import query

from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import Event, EventType
from mainspring.domain.notify.delivery import webhook_url
from mainspring.domain.notify.subscription import Subscription, SubscriptionKind, Webhook, WebhookDraft
from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.webhooks import add_webhook, edit_webhook, find_webhook, seal_addresses
from mainspring.outbound.signing import generate_secret
from mainspring.settings import Settings
from mainspring.wiring.workers import open_notification_workers

ADDRESS = "https://example.com/hook?token=canary-Zq81"


async def as_before_the_seal(desk: Desk, name: str, address: str = ADDRESS) -> Subscription:
    made = await add_webhook(desk, WebhookDraft("https://example.com/", name, secret=generate_secret()))
    assert isinstance(made.config, Webhook)
    old = replace(made, config=replace(made.config, url=address), version=made.version + 1)
    assert await desk.stores.subscriptions.put_subscription(old, await an_event(desk))
    return old


async def an_event(desk: Desk) -> Event:
    return Event(EventType.WEBHOOK_UPDATED, await desk.stores.schedule.now(), desk.tenant_id)


async def test_addresses_from_before_the_seal_are_sealed_for_every_tenant(desk: Desk, store_url: str) -> None:
    other = replace(desk, tenant_id="other")
    await desk.stores.endpoints.put_tenant(Tenant("other", "other"))
    for each in (desk, other):
        await as_before_the_seal(each, "token")
        await as_before_the_seal(each, "bare", "https://example.com/hook")

    assert await seal_addresses(desk) == 2
    assert await seal_addresses(desk) == 0
    for each in (desk, other):
        found = await find_webhook(each, "token")
        assert isinstance(found.config, Webhook)
        assert found.config.url == "https://example.com/hook?••••"
        assert webhook_url(found, each.vault.open) == ADDRESS
    assert "canary-Zq81" not in repr(await query(store_url, "SELECT * FROM subscription"))


async def test_address_that_somebody_edits_meanwhile_is_left_to_the_editor(desk: Desk) -> None:
    await as_before_the_seal(desk, "token")

    class Editing:
        """Between reading and writing, somebody else writes."""

        def __getattr__(self, name: str) -> object:
            return getattr(desk.stores.subscriptions, name)

        async def subscriptions(self, tenant_id: str | None, kind: SubscriptionKind | None) -> list[Subscription]:
            read = await desk.stores.subscriptions.subscriptions(tenant_id, kind)
            await edit_webhook(desk, "token", lambda draft: replace(draft, url="https://example.com/?new=one"))
            return read

    raced = replace(desk, stores=replace(desk.stores, subscriptions=Editing()))

    assert await seal_addresses(raced) == 0
    assert webhook_url(await find_webhook(desk, "token"), desk.vault.open) == "https://example.com/?new=one"


async def test_any_edit_seals_the_address_that_is_there(desk: Desk) -> None:
    await as_before_the_seal(desk, "token")

    edited = await edit_webhook(desk, "token", lambda draft: replace(draft, description="changed"))

    assert isinstance(edited.config, Webhook)
    assert edited.config.url == "https://example.com/hook?••••"
    assert webhook_url(edited, desk.vault.open) == ADDRESS


async def test_notifier_seals_them_when_it_starts(desk: Desk) -> None:
    await as_before_the_seal(desk, "token")

    async with open_notification_workers(Settings(), desk, Metrics()):
        found = await find_webhook(desk, "token")

    assert isinstance(found.config, Webhook)
    assert found.config.url == "https://example.com/hook?••••"
