"""The seams of notification: who is told of what, what is on its way to them, and how it gets there."""

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
    """Webhooks and alerts, for operations. Everything but what `None` asks for is within one tenant."""

    async def add_subscription(self, subscription: Subscription, event: Event) -> None:
        """Raises Conflict where the tenant has one of this kind and name. Events from now on are taken in for it."""

    async def subscriptions(self, tenant_id: str | None, kind: SubscriptionKind | None) -> list[Subscription]:
        """Ordered by name; of all tenants where `tenant_id` is None."""

    async def put_subscription(self, subscription: Subscription, event: Event) -> bool:
        """Write it where the stored version is one less than this one's; False: it was changed or deleted meanwhile.

        How its delivery went lately stays as it is, unless it is disabled or enabled by this. Raises Conflict.
        """

    async def delete_subscription(self, tenant_id: str, subscription_id: str, event: Event) -> bool:
        """With its deliveries and states. False: was not there."""

    async def deliveries(self, tenant_id: str, wanted: DeliveryFilter) -> list[Delivery]:
        """Newest first."""

    async def redeliver(self, tenant_id: str, delivery_id: str) -> Delivery | None:
        """Due again at once, with all its attempts before it; None: not there, or still on its way."""

    async def alert_states(self, tenant_id: str | None) -> list[AlertState]: ...


class Intake(Struct, frozen=True):
    """What a notifier made of some events: all of it becomes so, or none. `before` None: it was not events."""

    deliveries: tuple[Delivery, ...] = ()
    states: tuple[AlertState, ...] = ()
    before: str | None = None
    after: str = ""
    events: tuple[Event, ...] = ()


class Overdue(Struct, frozen=True):
    """Deliveries of one webhook or alert that were due and have not been sent."""

    subscription_id: str
    name: str
    count: int
    oldest_at: datetime


class OutboxStore(Protocol):
    """What the notifier needs. Any number of notifiers may use it at once, and be killed between any two calls."""

    async def position(self) -> str:
        """The cursor of the last event taken in; set to the newest event where nothing was ever taken in."""

    async def take_in(self, intake: Intake) -> bool:
        """Write deliveries, states and events and move the position, in one transaction.

        False, and nothing written, where the position is not `before` any more or a state was moved by another.
        """

    async def late(self, late_ms: int, limit: int) -> list[Late]:
        """Endpoints that are due for longer than `late_ms` and not leased, the most overdue first."""

    async def overdue(self, late_ms: int, limit: int) -> list[Overdue]:
        """Enabled receivers with deliveries that are due for longer than `late_ms`, those with the most first."""

    async def claim_deliveries(
        self, worker: str, limit: int, per_receiver: int, lease_ms: int, busy: Sequence[str]
    ) -> list[Delivery]:
        """Due deliveries of enabled subscriptions, oldest first, each begun once more and left to `worker` alone.

        It has them until `next_attempt_at`, or until it is found dead; then they are due again. At most `per_receiver`
        of one subscription, none of the `busy` ones.
        """

    async def finish_delivery(self, delivery: Delivery, settle: Settle) -> Delivery | None:
        """Lock the row, apply `settle` to it and its subscription with the store's now, write what it returned.

        None where the attempt is not the caller's any more.
        """

    async def release_held(self, merge: Merge) -> int:
        """Those whose quiet hours are over: `merge` makes one message of all for one channel; how many there were."""

    async def next_attempt_at(self) -> datetime | None:
        """When the earliest delivery that is on its way, or held, is due."""

    async def sweep_deliveries(self, before: datetime, batch: int) -> int:
        """Remove at most `batch` that ended before then; how many."""


class Messenger(Protocol):
    def check(self, to: str) -> None:
        """Raises InvalidInput for an address that nothing could ever be sent to."""

    async def send(self, to: str, title: str, text: str, message_id: str) -> Outcome:
        """Send a message to a person or a service. Never raises for what happens there: a failure is an Outcome."""
