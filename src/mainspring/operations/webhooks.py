"""Operations on webhooks: external receivers of events.

A webhook's secret is shown once, when it is created or replaced. While it is being replaced, messages also carry a
signature by the old one. The query string of its URL may hold a token, so it is encrypted and never shown again:
`?••••` replaces it, also in an edit.
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from mainspring.domain.access.signing import key_bytes
from mainspring.domain.connection import Connection, full_url, relative_url
from mainspring.domain.errors import Forbidden, InvalidInput
from mainspring.domain.event import EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.name import NAME_LENGTH_MAX, check_name, shown
from mainspring.domain.notify.delivery import webhook_request
from mainspring.domain.notify.event_filter import check_types, names_confidential
from mainspring.domain.notify.subscription import (
    DESCRIPTION_MAX,
    MASK,
    SECRETS_MAX,
    Subscription,
    SubscriptionKind,
    Webhook,
    WebhookDraft,
    secret_place,
    target_place,
)
from mainspring.domain.run import Outcome
from mainspring.domain.target import check_url
from mainspring.domain.text import check_text
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import connection_of
from mainspring.operations.subscriptions import (
    SUBSCRIPTIONS_MAX,
    check_room,
    find_subscription,
    put_subscription,
    switched,
    told,
)
from mainspring.ports.outbound import Caller


async def add_webhook(desk: Desk, draft: WebhookDraft) -> Subscription:
    """Creates a webhook, which receives events from now on. `draft.secret` is required: a `whsec_` secret."""
    there = await check_room(desk, SubscriptionKind.WEBHOOK)
    now = await desk.stores.schedule.now()
    webhook_id = desk.ids.new("whk", now)
    connection = await connection_of(desk, draft.connection)
    config = webhook_config(desk, webhook_id, draft, None, connection)
    host = connection.name if connection is not None else check_url(config.url, desk.allow_ports).host
    name = draft.name or _free_name(host, {each.name for each in there})
    name = check_name(name, field="name", kind="webhook")
    webhook = Subscription(webhook_id, desk.tenant_id, name, config, draft.enabled, 1, now, now, now)
    await desk.stores.subscriptions.add_subscription(webhook, told(desk, EventType.WEBHOOK_CREATED, now, webhook))
    return webhook


async def find_webhook(desk: Desk, name_or_id: str) -> Subscription:
    return await find_subscription(desk, SubscriptionKind.WEBHOOK, name_or_id)


async def edit_webhook(desk: Desk, name_or_id: str, edit: Callable[[WebhookDraft], WebhookDraft]) -> Subscription:
    """Applies `edit`; enabling it again resets failures, and past events are not delivered."""
    found = await find_webhook(desk, name_or_id)
    wanted = edit(draft_of(found))
    now = await desk.stores.schedule.now()
    edited = replace(
        found,
        name=check_name(wanted.name, field="name", kind="webhook"),
        config=webhook_config(desk, found.id, wanted, _config(found), await connection_of(desk, wanted.connection)),
    )
    edited = switched(edited, wanted.enabled, now)
    return await put_subscription(desk, edited, told(desk, EventType.WEBHOOK_UPDATED, now, edited), now)


async def test_webhook(desk: Desk, caller: Caller, name_or_id: str) -> Outcome:
    """Sends a `webhook.test` message now, once, even if it is disabled; nothing is recorded."""
    found = await find_webhook(desk, name_or_id)
    now = await desk.stores.schedule.now()
    payload = {
        "type": "webhook.test",
        "timestamp": rfc3339(now),
        "data": {"webhook": found.id, "name": found.name, "text": "This is a test. Nothing happened."},
    }
    message_id = desk.ids.new("msg", now)
    text = msgspec.json.encode(payload).decode()
    return await caller.call(webhook_request(found, desk.vault.open, message_id, text, now, 1))


async def seal_addresses(desk: Desk) -> int:
    """Encrypts URLs of webhooks of all tenants that an earlier version stored readable; returns how many.

    Migrations do not have the key. Concurrent edits win, and any number of processes may do this at once.
    """
    now, count = await desk.stores.schedule.now(), 0
    for each in await desk.stores.subscriptions.subscriptions(None, SubscriptionKind.WEBHOOK):
        config = _config(each)
        if config.target or "?" not in config.url:
            continue
        shown_as, target = _sealed(replace(desk, tenant_id=each.tenant_id), each.id, config.url)
        sealed = replace(
            each, config=replace(config, url=shown_as, target=target), version=each.version + 1, updated_at=now
        )
        event = told(replace(desk, tenant_id=each.tenant_id), EventType.WEBHOOK_UPDATED, now, sealed)
        count += await desk.stores.subscriptions.put_subscription(sealed, event)
    return count


def webhook_config(
    desk: Desk, webhook_id: str, draft: WebhookDraft, there: Webhook | None, connection: Connection | None
) -> Webhook:
    """The webhook of a draft; a new secret goes before existing ones, an unchanged URL stays encrypted."""
    types = check_types(draft.types)
    if names_confidential(types) and not desk.may_administer:
        raise Forbidden(
            f"events about logins, users, members and keys are for owners, and {desk.actor} does not have "
            "the scope admin; remove such types, or ask an owner",
            scope="admin",
        )
    shown_as, target = _address(desk, webhook_id, draft.url, there, connection)
    secrets = there.secrets if there is not None else ()
    if draft.secret:
        key_bytes(draft.secret)
        new = desk.vault.seal(draft.secret, secret_place(desk.tenant_id, webhook_id))
        secrets = (new, *secrets)[:SECRETS_MAX]
    description = check_text(draft.description, "description", DESCRIPTION_MAX)
    return Webhook(shown_as, types, secrets, description, target, connection.name if connection else "")


def draft_of(webhook: Subscription) -> WebhookDraft:
    config = _config(webhook)
    return WebhookDraft(config.url, webhook.name, config.types, config.description, webhook.enabled, config.connection)


def _address(
    desk: Desk, webhook_id: str, url: str, there: Webhook | None, connection: Connection | None
) -> tuple[str, str]:
    """The shown form of a URL, and the encrypted whole; "" if everything is shown. Below the base URL of a connection
    it is stored as a path, which follows the base URL.
    """
    is_same = there is not None and there.connection == (connection.name if connection is not None else "")
    if there is not None and is_same and url == there.url and (there.target or "?" not in url):
        return there.url, there.target
    if MASK in url:
        raise InvalidInput(
            f"url '{shown(url)}' is the shown form of a URL that this webhook does not have; give it in full",
            field="url",
        )
    target = check_url(full_url(url, connection, desk.allow_ports) if connection else url, desk.allow_ports)
    given = relative_url(target.url, connection.config.base_url) if connection else target.url
    path, mark, _ = given.partition("?")
    if why := desk.never_called(target.host):
        raise InvalidInput(f"url {path[:100]!r} is never called: {why}; choose another receiver", field="url")
    if not mark:
        return path, ""
    place = target_place(desk.tenant_id, webhook_id)
    if there is not None and there.target and desk.vault.open(there.target, place) == given:
        return f"{path}?{MASK}", there.target
    return _sealed(desk, webhook_id, given)


def _sealed(desk: Desk, webhook_id: str, url: str) -> tuple[str, str]:
    return f"{url.partition('?')[0]}?{MASK}", desk.vault.seal(url, target_place(desk.tenant_id, webhook_id))


def _free_name(host: str, taken: set[str]) -> str:
    """The host, with a number if another webhook has that name."""
    short = host[: NAME_LENGTH_MAX - 5]
    names = (short, *(f"{short} {count}" for count in range(2, SUBSCRIPTIONS_MAX + 2)))
    return next(name for name in names if name not in taken)


def _config(webhook: Subscription) -> Webhook:
    assert isinstance(webhook.config, Webhook)
    return webhook.config
