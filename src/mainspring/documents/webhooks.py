"""The section `webhooks`: receivers of events, outside."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mainspring.documents.entries import DocumentEntry, WebhookEntry
from mainspring.documents.faults import SourcePlace
from mainspring.documents.plan import DocumentPlan, ExportedEntry, WantedEntry
from mainspring.documents.references import STORED, escaped, has_reference, resolved
from mainspring.documents.subscriptions import (
    first_good,
    is_wanted,
    minimal,
    plan_subscriptions,
    prune_subscriptions,
)
from mainspring.domain.access.signing import key_bytes
from mainspring.domain.errors import InvalidInput
from mainspring.domain.notify.subscription import Subscription, SubscriptionKind, Webhook, secret_place
from mainspring.operations.endpoints import Desk
from mainspring.operations.subscriptions import list_subscriptions
from mainspring.operations.webhooks import WebhookDraft, webhook_config

HARMLESS: dict[str, object] = {"url": "https://example.com/", "types": (), "description": ""}
DEFAULTS: dict[str, object] = {"types": [], "description": "", "enabled": True}


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
    draft = WebhookDraft(
        url or str(HARMLESS["url"]), wanted.name, tuple(entry.types), entry.description, entry.enabled, secret or ""
    )

    def make(mended: Mapping[str, object]) -> Webhook:
        return webhook_config(plan.desk, webhook_id, replace(draft, **mended), there)

    def place(field: str) -> SourcePlace:
        return wanted.at(field).masked() if field == "url" else wanted.at(field)

    made = first_good(plan, make, HARMLESS, place)
    assert made is None or isinstance(made, Webhook)
    return None if secret is None or url is None else made


def _url(plan: DocumentPlan, wanted: WantedEntry) -> str | None:
    """Where it goes, with what its references stand for; None where a fault was noted."""
    assert isinstance(wanted.entry, WebhookEntry)
    text = wanted.entry.url
    try:
        if has_reference(text.partition("?")[0]):
            raise ValueError("what stands before the `?` of a url is shown; put the reference behind it")
        return resolved(text, plan.options.resolve)
    except ValueError as fault:
        plan.fault(wanted.at("url").masked(), str(fault))
        return None


def _secret(plan: DocumentPlan, wanted: WantedEntry, webhook_id: str, there: Webhook | None) -> str | None:
    """The new secret, "" to keep the one there is, None where a fault was noted."""
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
    config = webhook.config
    assert isinstance(config, Webhook)
    entry: dict[str, object] = {
        "url": escaped(config.url),
        "types": list(config.types),
        "secret": STORED,
        "description": config.description,
        "enabled": is_wanted(webhook),
    }
    return minimal(entry, DEFAULTS)
