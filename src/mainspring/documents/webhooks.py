"""The section `webhooks`: external receivers of events."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mainspring.documents.entries import DocumentEntry, WebhookEntry
from mainspring.documents.faults import SourcePlace
from mainspring.documents.plan import DocumentPlan, ExportedEntry, WantedEntry
from mainspring.documents.references import STORED, escaped, has_reference, resolved
from mainspring.documents.subscriptions import (
    first_good,
    is_wanted,
    plan_subscriptions,
    prune_subscriptions,
    written_settings,
)
from mainspring.domain.access.signing import key_bytes
from mainspring.domain.config_field import values_of
from mainspring.domain.errors import InvalidInput
from mainspring.domain.notify.subscription import (
    WEBHOOK_FIELDS,
    Subscription,
    SubscriptionKind,
    Webhook,
    WebhookDraft,
    secret_place,
)
from mainspring.operations.context import Desk
from mainspring.operations.subscriptions import list_subscriptions
from mainspring.operations.webhooks import draft_of, webhook_config

HARMLESS: dict[str, object] = {"url": "https://example.com/", "types": (), "description": "", "connection": ""}


class WebhookSection:
    key = "webhooks"
    entry: type[DocumentEntry] = WebhookEntry

    async def plan(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        await plan_subscriptions(plan, SubscriptionKind.WEBHOOK, wanted, _configured, _written)

    async def prune(self, plan: DocumentPlan, wanted: Sequence[WantedEntry]) -> None:
        await prune_subscriptions(plan, SubscriptionKind.WEBHOOK, wanted)

    async def export(self, desk: Desk) -> list[ExportedEntry]:
        return [
            ExportedEntry(webhook.managed_by, webhook.name, _written(webhook))
            for webhook in await list_subscriptions(desk, SubscriptionKind.WEBHOOK)
        ]


def _configured(plan: DocumentPlan, wanted: WantedEntry, webhook_id: str, old: Subscription | None) -> Webhook | None:
    entry = wanted.entry
    assert isinstance(entry, WebhookEntry)
    there = old.config if old is not None and isinstance(old.config, Webhook) else None
    secret = _secret(plan, wanted, webhook_id, there)
    url = _url(plan, wanted)
    given = values_of(WEBHOOK_FIELDS, entry.sent() | {"url": url or HARMLESS["url"]})
    draft = replace(WebhookDraft("", wanted.name, secret=secret or ""), **given)

    def make(mended: Mapping[str, object]) -> Webhook:
        wanted_draft = replace(draft, **mended)
        return webhook_config(plan.desk, webhook_id, wanted_draft, there, plan.connection(wanted_draft.connection))

    def place(field: str) -> SourcePlace:
        return wanted.at(field).masked() if field == "url" else wanted.at(field)

    made = first_good(plan, make, HARMLESS, place)
    assert made is None or isinstance(made, Webhook)
    return None if secret is None or url is None else made


def _url(plan: DocumentPlan, wanted: WantedEntry) -> str | None:
    """The URL with resolved references; None if an error was recorded."""
    assert isinstance(wanted.entry, WebhookEntry)
    text = wanted.entry.url
    try:
        if has_reference(text.partition("?")[0]):
            raise ValueError("the part of a url before the `?` is shown; put the reference after it")
        return resolved(text, plan.options.resolve)
    except ValueError as fault:
        plan.fault(wanted.at("url").masked(), str(fault))
        return None


def _secret(plan: DocumentPlan, wanted: WantedEntry, webhook_id: str, there: Webhook | None) -> str | None:
    """The new secret; "" keeps the current one; None if an error was recorded."""
    assert isinstance(wanted.entry, WebhookEntry)
    text = wanted.entry.secret
    place = wanted.at("secret").masked()
    if text in ("", STORED):
        if there is not None:
            return ""
        plan.fault(
            place if text else wanted.place,
            f"webhook {wanted.name!r} has no secret yet; give it as ${{env:NAME}} or ${{file:/path}}: "
            "whsec_ and what `openssl rand -base64 32` prints",
        )
        return None
    if not has_reference(text):
        plan.fault(place, "a secret in a document is a reference; write ${env:NAME} or ${file:/path}")
        return None
    try:
        secret = resolved(text, plan.options.resolve)
        key_bytes(secret)
    except (ValueError, InvalidInput) as fault:
        plan.fault(place, str(fault))
        return None
    if there is not None and there.secrets:
        newest = plan.desk.vault.open(there.secrets[0], secret_place(plan.desk.tenant_id, webhook_id))
        return "" if newest == secret else secret
    return secret


def _written(webhook: Subscription) -> dict[str, object]:
    draft = draft_of(webhook)
    shown = replace(draft, url=escaped(draft.url), enabled=is_wanted(webhook))
    return written_settings(shown, WEBHOOK_FIELDS) | {"secret": STORED}
