"""A notifier with real parts around it: a caller that may reach loopback, a mailbox that is a list."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network

from mainspring.domain.notify.subscription import DestinationKind, Subscription, WebhookDraft
from mainspring.domain.run import Outcome, RunStatus
from mainspring.domain.schedule.cron import CRON
from mainspring.event_feed import Feed
from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.webhooks import add_webhook
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.signing import generate_secret
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.notifications import DeliveryFilter
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.workers.alerts import AlertWriter
from mainspring.workers.delivery import DeliverySender
from mainspring.workers.notifier import Notifier, NotifierOptions
from tests.stores.world import FixedClock

LOOPBACK = AddressGuard((ip_network("127.0.0.1/32"),))


class Mailbox:
    """A messenger that keeps what it is given; `fault` makes it fail."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str, str]] = []
        self.fault = ""

    def check(self, to: str) -> None:
        """Everything is an address here."""

    async def send(self, to: str, title: str, text: str, message_id: str) -> Outcome:
        if self.fault:
            return Outcome(RunStatus.FAILURE, 1, None, "mail", self.fault)
        self.received.append((to, title, text))
        return Outcome(RunStatus.SUCCESS, 1)

    @property
    def titles(self) -> list[str]:
        return [title for _, title, _ in self.received]


class Newsroom:
    """One tenant's desk, and notifiers that share its database."""

    def __init__(self, stores: Stores, clock: FixedClock, caller: HttpCaller, vault: AesVault) -> None:
        self.stores = stores
        self.clock = clock
        self.mailbox = Mailbox()
        self.desk = Desk(stores, "default", "ada", TimeOrderedIds(), vault, CRON)
        self._caller, self._vault = caller, vault
        self.caller = caller
        self.notifier = self.new_notifier()

    def new_notifier(self, name: str = "notifier-1", stores: Stores | None = None) -> Notifier:
        used = stores or self.stores
        ids = TimeOrderedIds()
        courier = DeliverySender(used.endpoints, self._caller, {DestinationKind.MAIL: self.mailbox}, self._vault, ids)
        alerter = AlertWriter(used, ids, late_ms=5_000, public_url="https://mainspring.example/")
        return Notifier(used, Feed(used.runs), courier, alerter, NotifierOptions(name), Metrics())

    async def round(self) -> int:
        random.seed(1)
        return await self.notifier.run_once(self.clock.now())

    async def webhook(self, url: str, **fields: object) -> Subscription:
        return await add_webhook(self.desk, WebhookDraft(url, secret=generate_secret(), **fields))  # type: ignore[arg-type]  # fields of the draft

    async def deliveries(self, **wanted: object) -> list[tuple[str, str, int]]:
        """Type, status and attempts, oldest first."""
        found = await self.stores.subscriptions.deliveries("default", DeliveryFilter(limit=1_000, **wanted))  # type: ignore[arg-type]  # fields of the filter
        return [(each.type, each.status.value, each.attempt) for each in reversed(found)]


@asynccontextmanager
async def open_newsroom(stores: Stores, clock: FixedClock) -> AsyncIterator[Newsroom]:
    vault = AesVault(KeyRing(bytes(32)))
    caller = HttpCaller(LOOPBACK, vault, clock=clock.now)
    try:
        yield Newsroom(stores, clock, caller, vault)
    finally:
        await caller.aclose()
