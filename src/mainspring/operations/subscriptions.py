"""Operations that webhooks and alerts share: find, write, delete, check."""

import re
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.errors import Conflict, NotFound, QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import as_stored
from mainspring.domain.notify.delivery import Delivery, DeliveryStatus
from mainspring.domain.notify.subscription import Subscription, SubscriptionKind, named_twice
from mainspring.operations.context import Desk
from mainspring.ports.notifications import DeliveryFilter, SubscriptionStore

SUBSCRIPTIONS_MAX = 100  # per tenant and kind: every event is checked for each of them
_DELIVERY_ID = re.compile(r"msg_[0-9a-z]{1,64}")
_DELETED = {
    SubscriptionKind.WEBHOOK: EventType.WEBHOOK_DELETED,
    SubscriptionKind.ALERT: EventType.ALERT_DELETED,
}


async def list_subscriptions(desk: Desk, kind: SubscriptionKind) -> list[Subscription]:
    return await desk.stores.subscriptions.subscriptions(desk.tenant_id, kind)


async def find_subscription(desk: Desk, kind: SubscriptionKind, name_or_id: str) -> Subscription:
    there = await list_subscriptions(desk, kind)
    for each in there:
        if as_stored(name_or_id) in (each.id, each.name):
            return each
    raise NotFound(kind, name_or_id, tuple(each.name for each in there))


async def check_room(desk: Desk, kind: SubscriptionKind) -> list[Subscription]:
    """The existing ones, if one more is allowed."""
    there = await list_subscriptions(desk, kind)
    if len(there) >= SUBSCRIPTIONS_MAX:
        raise QuotaExceeded(
            f"tenant {desk.tenant_id!r} has {len(there)} {kind}s, which is the maximum; delete one",
            quota=f"{kind}s",
            limit=SUBSCRIPTIONS_MAX,
        )
    return there


async def put_subscription(desk: Desk, edited: Subscription, event: Event, now: datetime) -> Subscription:
    written = replace(edited, version=edited.version + 1, updated_at=now)
    if not await desk.stores.subscriptions.put_subscription(written, event):
        raise Conflict(
            f"{written.kind} {written.name!r} was changed concurrently; read it again and retry",
            kind=written.kind,
            name=written.name,
        )
    return written


async def delete_subscription(desk: Desk, kind: SubscriptionKind, name_or_id: str) -> Subscription:
    """Deletes it with its deliveries: pending ones are not sent any more."""
    found = await find_subscription(desk, kind, name_or_id)
    now = await desk.stores.schedule.now()
    event = told(desk, _DELETED[kind], now, found)
    if not await desk.stores.subscriptions.delete_subscription(desk.tenant_id, found.id, event):
        raise NotFound(kind, name_or_id)
    return found


async def list_deliveries(desk: Desk, wanted: DeliveryFilter) -> list[Delivery]:
    return await desk.stores.subscriptions.deliveries(desk.tenant_id, wanted)


async def find_delivery(desk: Desk, delivery_id: str) -> Delivery:
    if _DELIVERY_ID.fullmatch(delivery_id):  # an id in another format cannot exist
        for found in await desk.stores.subscriptions.deliveries(desk.tenant_id, DeliveryFilter(id=delivery_id)):
            return found
    raise NotFound("delivery", delivery_id)


async def redeliver(desk: Desk, delivery_id: str) -> Delivery:
    """Sends a finished delivery again, with the same id, starting from the first attempt."""
    found = await find_delivery(desk, delivery_id)
    again = await desk.stores.subscriptions.redeliver(desk.tenant_id, found.id)
    if again is None:
        raise Conflict(
            f"delivery {found.id!r} is still in progress; wait until it has ended", kind="delivery", name=found.id
        )
    return again


def switched(subscription: Subscription, enabled: bool, now: datetime) -> Subscription:
    """Enabling resets failures; events that occurred meanwhile are not delivered."""
    if enabled == subscription.enabled:
        return subscription
    if not enabled:
        return replace(subscription, enabled=False)
    return replace(
        subscription, enabled=True, active_since=now, failing_since=None, failure_count=0, disabled_reason=""
    )


def told(desk: Desk, kind: EventType, now: datetime, subscription: Subscription) -> Event:
    data: dict[str, object] = {
        str(subscription.kind): subscription.id,
        "name": subscription.name,
        "enabled": subscription.enabled,
    }
    return Event(kind, now, desk.tenant_id, actor=desk.actor, data=data)


def dry_run_of(desk: Desk) -> Desk:
    """A desk at which webhooks and alerts are checked as usual, and nothing is written."""
    return replace(desk, stores=replace(desk.stores, subscriptions=_DryRunSubscriptions(desk.stores.subscriptions)))


class _DryRunSubscriptions:
    """A SubscriptionStore that reads from a real one and writes nothing."""

    def __init__(self, real: SubscriptionStore) -> None:
        self._real = real
        self.deliveries, self.alert_states = real.deliveries, real.alert_states

    async def subscriptions(self, tenant_id: str | None, kind: SubscriptionKind | None) -> list[Subscription]:
        return await self._real.subscriptions(tenant_id, kind)

    async def add_subscription(self, subscription: Subscription, event: Event) -> None:
        await self._refuse_taken(subscription)

    async def put_subscription(self, subscription: Subscription, event: Event) -> bool:
        await self._refuse_taken(subscription)
        return True

    async def delete_subscription(self, tenant_id: str, subscription_id: str, event: Event) -> bool:
        return True

    async def redeliver(self, tenant_id: str, delivery_id: str) -> Delivery | None:
        (found,) = await self._real.deliveries(tenant_id, DeliveryFilter(id=delivery_id))
        is_over = found.status not in (DeliveryStatus.PENDING, DeliveryStatus.HELD)
        return replace(found, status=DeliveryStatus.PENDING, attempt=0) if is_over else None

    async def _refuse_taken(self, subscription: Subscription) -> None:
        for each in await self._real.subscriptions(subscription.tenant_id, subscription.kind):
            if each.name == subscription.name and each.id != subscription.id:
                raise named_twice(subscription)
