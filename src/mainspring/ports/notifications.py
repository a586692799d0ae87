"""Ports of notifications: subscriptions, deliveries, and how messages are sent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.domain.event import Event
from mainspring.domain.notify.alerting import AlertState, Late
from mainspring.domain.notify.delivery import Delivery, DeliveryStatus, Merge, Settle
from mainspring.domain.notify.subscription import Subscription, SubscriptionKind
from mainspring.domain.run import Outcome


class DeliveryFilter(Struct, frozen=True):
    subscription_id: str | None = None
    status: DeliveryStatus | None = None
    id: str | None = None
    before_id: str | None = None
    limit: int = 50


class SubscriptionStore(Protocol):
    """Webhooks and alerts, for operations. Every query is within one tenant, unless the tenant is None."""

    async def add_subscription(self, subscription: Subscription, event: Event) -> None:
        """Raises Conflict if the tenant has one of this kind and name. It receives events from now on."""

    async def subscriptions(self, tenant_id: str | None, kind: SubscriptionKind | None) -> list[Subscription]:
        """Ordered by name; of all tenants if `tenant_id` is None."""

    async def put_subscription(self, subscription: Subscription, event: Event) -> bool:
        """Writes it if the stored version is one less than this one's; False if it was changed or deleted meanwhile.

        Its delivery statistics stay unchanged, unless this disables or enables it. Raises Conflict.
        """

    async def delete_subscription(self, tenant_id: str, subscription_id: str, event: Event) -> bool:
        """Deletes it with its deliveries and states. False if it did not exist."""

    async def deliveries(self, tenant_id: str, wanted: DeliveryFilter) -> list[Delivery]:
        """Newest first."""

    async def redeliver(self, tenant_id: str, delivery_id: str) -> Delivery | None:
        """Makes a delivery due again, keeping its attempts; None if it does not exist or is still in progress."""

    async def alert_states(self, tenant_id: str | None) -> list[AlertState]: ...


class Intake(Struct, frozen=True):
    """The results of some events: all are written, or none. `before` None: not caused by events."""

    deliveries: tuple[Delivery, ...] = ()
    states: tuple[AlertState, ...] = ()
    before: str | None = None
    after: str = ""
    events: tuple[Event, ...] = ()


class Overdue(Struct, frozen=True):
    """Overdue deliveries of one webhook or alert."""

    subscription_id: str
    name: str
    count: int
    oldest_at: datetime


class OutboxStore(Protocol):
    """What the notifier needs. Several notifiers may use it at once, and be killed between any two calls."""

    async def position(self) -> str:
        """The cursor of the last event taken in; set to the newest event at first."""

    async def take_in(self, intake: Intake) -> bool:
        """Writes deliveries, states and events and moves the position, in one transaction.

        Returns False, having written nothing, if the position is not `before` any more or another notifier changed a
        state.
        """

    async def late(self, late_ms: int, limit: int) -> list[Late]:
        """Endpoints overdue by more than `late_ms` and not leased, the most overdue first."""

    async def overdue(self, late_ms: int, limit: int) -> list[Overdue]:
        """Enabled receivers with deliveries overdue by more than `late_ms`, those with the most first."""

    async def claim_deliveries(
        self, worker: str, limit: int, per_receiver: int, lease_ms: int, busy: Sequence[str]
    ) -> list[Delivery]:
        """Leases due deliveries of enabled subscriptions to `worker`, oldest first, and counts an attempt.

        The lease lasts until `next_attempt_at`, or until the worker is found dead; then they are due again. At most
        `per_receiver` of one subscription, none of the `busy` ones.
        """

    async def finish_delivery(self, delivery: Delivery, settle: Settle) -> Delivery | None:
        """Locks the row, applies `settle` to it and its subscription with the store's now, writes the result.

        None if the attempt does not belong to the caller any more.
        """

    async def release_held(self, merge: Merge) -> int:
        """Releases messages whose quiet hours are over: `merge` combines all of one destination; returns how many
        there were.
        """

    async def next_attempt_at(self) -> datetime | None:
        """When the earliest pending or held delivery is due."""

    async def sweep_deliveries(self, before: datetime, batch: int) -> int:
        """Removes at most `batch` that ended before then; returns how many."""


class Messenger(Protocol):
    def check(self, to: str) -> None:
        """Raises InvalidInput for an address that can never be sent to."""

    async def send(self, to: str, title: str, text: str, message_id: str) -> Outcome:
        """Sends a message to a person or a service. Never raises for what happens there: a failure is an Outcome."""
