"""The notifier: turns events into deliveries and sends them. Several may share a database and be killed at any time.

    1 take in   events after the stored position -> deliveries and alert states, with the new position: one transaction
    2 watch     changes by time only: late endpoints, cooldowns and quiet hours that ended
    3 send      due deliveries, each by one notifier at a time, signed, a few at once per receiver
    4 record    delivered, or when to retry, or given up; a webhook that fails for days is disabled

The rule that must not break: one delivery row per event and subscription. A message may arrive twice, with the same id,
if a notifier was lost between sending and recording it.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import structlog
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import EventType, StoredEvent
from mainspring.domain.notify.delivery import Delivery, Settled, settle_attempt
from mainspring.domain.notify.event_filter import is_sent
from mainspring.domain.notify.message import event_payload
from mainspring.domain.notify.subscription import Subscription, Webhook
from mainspring.domain.run import Outcome, RunStatus
from mainspring.event_feed import CutOff, Feed, Listener
from mainspring.failpoints import failpoint
from mainspring.observe import Metrics
from mainspring.ports.notifications import Intake
from mainspring.ports.stores import Stores
from mainspring.workers.alerts import AlertWriter, pending
from mainspring.workers.delivery import DeliverySender
from mainspring.workers.tasks import end_tasks

BATCH = 500
DELIVERIES_PER_INTAKE = 1_000  # approximately; written in one transaction
NAMES_MAX = 10_000
TICK_S = 5.0  # the longest sleep
WATCH_EVERY = timedelta(seconds=5)
KEEP_UP_EVERY = timedelta(minutes=1)
POSITION_EVERY = timedelta(seconds=5)  # how often the position is written while no subscription wants the events
SWEEP_EVERY = timedelta(hours=1)
SWEEP_BATCH = 1_000
OVERDUE_MS = 60_000  # a delivery that waits longer waits for a slow receiver, or there are too many
RECEIVERS_COUNTED = 1_000
LEASE_MS = 60_000  # > the timeout of an attempt; a hanging notifier delays its messages by this
LOOK_S = 0.5  # maximum delay of a delivery that became due elsewhere: its notifier died, or its time was changed
AWAY_S = 1.0
RECORD_TRIES = 10
GRACE_S = 2.0

log = structlog.get_logger()


class NotifierOptions(Struct, frozen=True):
    """`places` is the maximum number of messages in flight, `per_receiver` that of one subscription."""

    worker: str
    places: int = 32
    per_receiver: int = 4
    keep: timedelta = timedelta(days=30)


class Notifier:
    def __init__(
        self,
        stores: Stores,
        feed: Feed,
        courier: DeliverySender,
        alerter: AlertWriter,
        options: NotifierOptions,
        metrics: Metrics,
    ) -> None:
        self._stores = stores
        self._feed = feed
        self._courier = courier
        self._alerter = alerter
        self._options = options
        self._metrics = metrics
        self._stopping = asyncio.Event()
        self._made = asyncio.Event()  # a delivery was created or ended: there may be something to send
        self._in_flight: Counter[str] = Counter()
        self._sending: set[asyncio.Task[None]] = set()
        self._names: dict[str, str | None] = {}
        self._stored = ""  # the position in the database
        self._reached: str | None = None  # how far events were read; those in between concern no subscription
        self._moved_at: datetime | None = None
        self._watched_at: datetime | None = None
        self._swept_at: datetime | None = None

    async def run_once(self, now: datetime) -> int:
        """One complete round: takes in all events, sends all due deliveries. Returns the number of attempts."""
        while await self.take_in(now):
            pass
        await self._watch(now)
        attempts = 0
        while claimed := await self._claim():
            attempts += len(claimed)
            await asyncio.gather(*[self._deliver(delivery, subscription) for delivery, subscription in claimed])
        return attempts

    async def run(self) -> None:
        log.info("notifier started", worker=self._options.worker)
        taking = asyncio.create_task(self._keep_taking_in(), name="notifier-intake")
        sending = asyncio.create_task(self._keep_sending(), name="notifier-sending")
        await self._stopping.wait()
        await end_tasks(taking, sending)
        if self._sending:
            await asyncio.wait(self._sending, timeout=GRACE_S)
            await end_tasks(*self._sending)
        log.info("notifier stopped", worker=self._options.worker)

    def stop(self) -> None:
        self._stopping.set()

    async def take_in(self, now: datetime) -> bool:
        """Creates deliveries for the next events. True: there may be more.

        Subscriptions are read after the events, so those that existed when an event was committed are among them.
        """
        if not await self._subscriptions():
            await self._keep_up(now)
            return False
        if self._reached is None:
            self._stored = self._reached = await self._stores.outbox.position()
        events = await self._stores.runs.events_after(self._reached, None, BATCH)
        if not events:
            return False
        intake, taken = await self._made_of(events, await self._subscriptions(), now)
        reached = events[taken - 1].cursor
        is_time = self._moved_at is None or now - self._moved_at >= POSITION_EVERY
        if intake.deliveries or intake.states or is_time:
            if not await self._stores.outbox.take_in(replace(intake, before=self._stored, after=reached)):
                self._reached = None  # another notifier was first; start again from its position
                return True
            failpoint("after_intake")
            self._stored, self._moved_at = reached, now
            if intake.deliveries:
                self._made.set()
        self._reached = reached
        return len(events) == BATCH or taken < len(events)

    async def _made_of(
        self, events: Sequence[StoredEvent], subscriptions: Sequence[Subscription], now: datetime
    ) -> tuple[Intake, int]:
        """The rows to write, and the number of events they cover: many webhooks make many rows of a few events."""
        deliveries: list[Delivery] = []
        webhooks: dict[str, list[tuple[Subscription, Webhook]]] = {}
        for each in subscriptions:
            if isinstance(each.config, Webhook):
                webhooks.setdefault(each.tenant_id, []).append((each, each.config))
        taken = 0
        while taken < len(events) and len(deliveries) < DELIVERIES_PER_INTAKE:
            stored = events[taken]
            taken += 1
            if stored.event.type in (EventType.ENDPOINT_UPDATED, EventType.ENDPOINT_CREATED):
                self._names.pop(stored.event.endpoint_id, None)
            if receivers := webhooks.get(stored.event.tenant_id):
                await asyncio.sleep(0)  # a hundred receivers take some milliseconds: other tasks run in between
                deliveries += await self._sent_to(receivers, stored, now)
        alerts = [each for each in subscriptions if not isinstance(each.config, Webhook)]
        told = await self._alerter.judge(events[:taken], alerts, now) if alerts else Intake()
        return replace(told, deliveries=(*deliveries, *told.deliveries)), taken

    async def _sent_to(
        self, webhooks: Sequence[tuple[Subscription, Webhook]], stored: StoredEvent, now: datetime
    ) -> list[Delivery]:
        event = stored.event
        wanted = [
            webhook
            for webhook, config in webhooks
            if event.at >= webhook.active_since
            and is_sent(event.type.value, config.types)
            and event.data.get("webhook") != webhook.id
        ]
        if not wanted:
            return []
        payload = event_payload(stored, await self._name(event.tenant_id, event.endpoint_id))
        return [
            pending(self._courier.new_id(now), webhook, "", stored.cursor, event.type.value, payload, event.at, now)
            for webhook in wanted
        ]

    async def _watch(self, now: datetime) -> None:
        """Changes that no event reports: lateness, the end of a cooldown, the end of quiet hours."""
        self._watched_at = now
        alerts = [each for each in await self._subscriptions() if not isinstance(each.config, Webhook)]
        if alerts:
            intake = await self._alerter.watch(alerts, now)
            if intake.states and await self._stores.outbox.take_in(intake):
                self._made.set()
        if await self._stores.outbox.release_held(self._alerter.merge):
            self._made.set()
        overdue = await self._stores.outbox.overdue(OVERDUE_MS, RECEIVERS_COUNTED)
        self._metrics.deliveries_overdue = sum(each.count for each in overdue)
        if self._swept_at is None or now - self._swept_at >= SWEEP_EVERY:
            self._swept_at = now
            await self._sweep(now - self._options.keep)

    async def _sweep(self, before: datetime) -> None:
        removed = SWEEP_BATCH
        while removed == SWEEP_BATCH:
            removed = await self._stores.outbox.sweep_deliveries(before, SWEEP_BATCH)

    async def _keep_up(self, now: datetime) -> None:
        """Without subscriptions, moves the position now and then, so that the next one need not read the whole
        history.
        """
        if self._moved_at is not None and now - self._moved_at < KEEP_UP_EVERY:
            return
        self._moved_at, self._reached = now, None
        newest = await self._stores.runs.latest_events(None, 1)
        position = await self._stores.outbox.position()
        if newest and newest[-1].cursor != position and not await self._subscriptions():
            await self._stores.outbox.take_in(Intake(before=position, after=newest[-1].cursor))

    async def _claim(self) -> list[tuple[Delivery, Subscription | None]]:
        options = self._options
        free = options.places - len(self._sending)
        busy = [each for each, count in self._in_flight.items() if count >= options.per_receiver]
        if not free:
            return []
        claimed = await self._stores.outbox.claim_deliveries(options.worker, free, options.per_receiver, LEASE_MS, busy)
        if not claimed:
            return []
        failpoint("after_delivery_claim")
        subscriptions = {each.id: each for each in await self._stores.subscriptions.subscriptions(None, None)}
        return [(delivery, subscriptions.get(delivery.subscription_id)) for delivery in claimed]

    async def _deliver(self, delivery: Delivery, subscription: Subscription | None) -> None:
        try:
            outcome = await self._courier.send(delivery, subscription)
        except Exception as fault:  # a bug in sending one message must not affect others
            log.exception("call raised", delivery_id=delivery.id)
            outcome = Outcome(RunStatus.FAILURE, 0, None, "internal", f"sending raised {type(fault).__name__}: {fault}")
        failpoint("after_delivery")
        chance = random.random()

        def settle(mine: Delivery, there: Subscription | None, now: datetime) -> Settled:
            return settle_attempt(mine, there, outcome, now, chance)

        for _ in range(RECORD_TRIES):
            try:
                settled = await self._stores.outbox.finish_delivery(delivery, settle)
            except StoreUnavailable:
                await asyncio.sleep(AWAY_S)
                continue
            if settled is not None:
                self._metrics.deliveries[settled.status] += 1
            return

    def _start(self, delivery: Delivery, subscription: Subscription | None) -> None:
        receiver = delivery.subscription_id
        self._in_flight[receiver] += 1
        task = asyncio.create_task(self._deliver(delivery, subscription))
        self._sending.add(task)

        def ended(done: asyncio.Task[None]) -> None:
            self._sending.discard(done)
            self._in_flight[receiver] -= 1
            if not self._in_flight[receiver]:
                del self._in_flight[receiver]
            if not done.cancelled() and done.exception() is not None:
                log.error("worker failed", worker="notifier", fault=str(done.exception()))
            self._made.set()

        task.add_done_callback(ended)

    async def _keep_taking_in(self) -> None:
        while True:
            try:
                async with self._feed.listen(None) as listener:
                    await self._take_in_while_heard(listener)
            except (CutOff, StoreUnavailable):
                await asyncio.sleep(AWAY_S)  # the scheduler reports that the database is unavailable
            except Exception:  # outermost loop of a worker: one failed round must not end it
                log.exception("worker failed", worker="notifier")
                await asyncio.sleep(AWAY_S)

    async def _take_in_while_heard(self, listener: Listener) -> None:
        while True:
            now = await self._stores.schedule.now()
            while await self.take_in(now):
                pass
            if self._watched_at is None or now - self._watched_at >= WATCH_EVERY:
                await self._watch(now)
            await listener.next(TICK_S)

    async def _keep_sending(self) -> None:
        while True:
            self._made.clear()
            try:
                claimed = await self._claim()
                for delivery, subscription in claimed:
                    self._start(delivery, subscription)
                wait_s = 0.0 if claimed else await self._until_due()
            except StoreUnavailable:
                wait_s = AWAY_S
            except Exception:  # outermost loop of a worker: one failed round must not end it
                log.exception("worker failed", worker="notifier")
                wait_s = AWAY_S
            if wait_s:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._made.wait()

    async def _until_due(self) -> float:
        """How long to sleep: until the next delivery is due, at most until the next check."""
        due_at = await self._stores.outbox.next_attempt_at()
        if due_at is None or self._in_flight:
            return LOOK_S
        now = await self._stores.schedule.now()
        return min(LOOK_S, max((due_at - now).total_seconds(), 0.05))

    async def _subscriptions(self) -> list[Subscription]:
        return [each for each in await self._stores.subscriptions.subscriptions(None, None) if each.enabled]

    async def _name(self, tenant_id: str, endpoint_id: str) -> str | None:
        if not endpoint_id:
            return None
        if endpoint_id not in self._names:
            if len(self._names) >= NAMES_MAX:
                self._names.clear()
            found = await self._stores.endpoints.endpoint(tenant_id, endpoint_id)
            self._names[endpoint_id] = None if found is None else found.name
        return self._names[endpoint_id]
