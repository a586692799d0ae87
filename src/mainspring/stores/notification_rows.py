"""Map subscriptions, deliveries and alert states to rows, on both databases. See `rows` for the form of times."""

from collections.abc import Sequence
from typing import Any

import msgspec

from mainspring.domain.notify.alerting import AlertState
from mainspring.domain.notify.delivery import Delivery, DeliveryStatus
from mainspring.domain.notify.subscription import Alert, AlertKind, Subscription, Webhook
from mainspring.stores.rows import Codec, as_it_is

SUBSCRIPTION_COLUMNS = (
    "id", "tenant_id", "kind", "name", "config", "enabled", "version", "created_at", "updated_at", "active_since",
    "failing_since", "failure_count", "disabled_reason", "managed_by",
)  # fmt: skip
DELIVERY_COLUMNS = Delivery.__struct_fields__
STATE_COLUMNS = AlertState.__struct_fields__

SUBSCRIPTION_INSTANTS = (7, 8, 9, 10)
DELIVERY_INSTANTS = tuple(index for index, column in enumerate(DELIVERY_COLUMNS) if column.endswith("_at"))
STATE_INSTANTS = tuple(index for index, column in enumerate(STATE_COLUMNS) if column.endswith(("_at", "since")))

_CONFIG: msgspec.json.Decoder[Webhook | Alert] = msgspec.json.Decoder(Webhook | Alert)


def subscription_values(each: Subscription, t: Codec = as_it_is) -> tuple[object, ...]:
    return (
        each.id, each.tenant_id, each.kind, each.name, msgspec.json.encode(each.config).decode(), each.enabled,
        each.version, t(each.created_at), t(each.updated_at), t(each.active_since), t(each.failing_since),
        each.failure_count, each.disabled_reason, each.managed_by,
    )  # fmt: skip


def changed_values(each: Subscription) -> tuple[object, ...]:
    """In the order of the query `put_subscription`."""
    config = msgspec.json.encode(each.config).decode()
    return (
        each.name, config, each.enabled, each.version, each.updated_at, each.active_since, each.failing_since,
        each.failure_count, each.disabled_reason, each.managed_by, each.tenant_id, each.id,
    )  # fmt: skip


def subscription_from(row: Sequence[Any]) -> Subscription:
    """A Subscription from SUBSCRIPTION_COLUMNS, with times as datetimes."""
    parts = (*row[0:2], row[3], _CONFIG.decode(row[4]), bool(row[5]), *row[6:14])
    return Subscription(*parts)


def delivery_values(each: Delivery, t: Codec = as_it_is) -> tuple[object, ...]:
    return (
        each.id, each.tenant_id, each.subscription_id, each.channel, each.key, each.type, each.payload, each.status,
        each.attempt, t(each.next_attempt_at), t(each.created_at), t(each.happened_at), t(each.sent_at),
        each.status_code, each.error, each.snippet, each.duration_ms,
    )  # fmt: skip


def delivery_from(row: Sequence[Any]) -> Delivery:
    parts = (*row[0:7], DeliveryStatus(row[7]), *row[8:17])
    return Delivery(*parts)


def state_values(each: AlertState, t: Codec = as_it_is) -> tuple[object, ...]:
    return (
        each.subscription_id, each.tenant_id, each.trouble, each.subject_id, each.is_open, t(each.since),
        each.revision, t(each.notified_at), t(each.notify_at),
    )  # fmt: skip


def state_from(row: Sequence[Any]) -> AlertState:
    parts = (*row[0:2], AlertKind(row[2]), row[3], bool(row[4]), *row[5:9])
    return AlertState(*parts)


def outcome_values(each: Delivery) -> tuple[object, ...]:
    return (
        each.status, each.next_attempt_at, each.sent_at, each.status_code, each.error, each.snippet,
        each.duration_ms, each.id,
    )  # fmt: skip


def grouped(held: Sequence[Delivery]) -> list[list[Delivery]]:
    """Deliveries grouped by channel."""
    groups: dict[tuple[str, str], list[Delivery]] = {}
    for each in held:
        groups.setdefault((each.subscription_id, each.channel), []).append(each)
    return list(groups.values())
