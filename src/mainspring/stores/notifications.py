"""Subscriptions, the outbox of deliveries, and the states of alerts."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from mainspring.domain.event import Event
from mainspring.domain.notify.alerting import AlertState, Late
from mainspring.domain.notify.delivery import Delivery, Merge, Settle
from mainspring.domain.notify.subscription import Subscription, SubscriptionKind, named_twice
from mainspring.ports.notifications import DeliveryFilter, Intake, Overdue
from mainspring.stores.events import EventReader, add_events
from mainspring.stores.notification_rows import (
    DELIVERY_INSTANTS,
    STATE_INSTANTS,
    SUBSCRIPTION_INSTANTS,
    changed_values,
    delivery_from,
    delivery_values,
    grouped,
    outcome_values,
    state_from,
    state_values,
    subscription_from,
    subscription_values,
)
from mainspring.stores.rows import id_floor
from mainspring.stores.session import Database, Row, Session, UniqueViolation

HELD_PER_ROUND = 1_000


class _CursorMoved(Exception):
    """Another notifier was first; the transaction is rolled back."""


async def erase_subscription(session: Session, tenant_id: str, subscription_id: str) -> bool:
    """With its deliveries and states. False: it did not exist."""
    if not await session.run("delete_subscription", tenant_id, subscription_id):
        return False
    await session.run("delete_deliveries", subscription_id)
    await session.run("delete_alert_states", subscription_id)
    return True


class SqlSubscriptionStore:
    def __init__(self, database: Database, events: EventReader) -> None:
        self._db = database
        self._events = events

    async def add_subscription(self, subscription: Subscription, event: Event) -> None:
        async with self._db.transaction() as session:
            await begin_outbox(session, self._events)
            await session.only(subscription.tenant_id)
            try:
                await session.run("add_subscription", *subscription_values(subscription))
            except UniqueViolation as fault:
                raise named_twice(subscription) from fault
            await add_events(session, [event])

    async def subscriptions(self, tenant_id: str | None, kind: SubscriptionKind | None) -> list[Subscription]:
        async with self._db.reading(tenant_id) as session:
            return [_subscription(session, row) for row in await session.rows("subscriptions", tenant_id, kind)]

    async def put_subscription(self, subscription: Subscription, event: Event) -> bool:
        async with self._db.transaction(subscription.tenant_id) as session:
            try:
                changed = await session.run("put_subscription", *changed_values(subscription))
            except UniqueViolation as fault:
                raise named_twice(subscription) from fault
            if changed:
                await add_events(session, [event])
            return bool(changed)

    async def delete_subscription(self, tenant_id: str, subscription_id: str, event: Event) -> bool:
        async def work(session: Session) -> bool:
            if not await erase_subscription(session, tenant_id, subscription_id):
                return False
            await add_events(session, [event])
            return True

        return await self._db.run_long(work, tenant_id)

    async def deliveries(self, tenant_id: str, wanted: DeliveryFilter) -> list[Delivery]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows(
                "deliveries", tenant_id, wanted.subscription_id, wanted.status, wanted.id, wanted.before_id,
                wanted.limit,
            )  # fmt: skip
        return [_delivery(session, row) for row in rows]

    async def redeliver(self, tenant_id: str, delivery_id: str) -> Delivery | None:
        async with self._db.transaction(tenant_id) as session:
            rows = await session.rows("redeliver", await session.now(), tenant_id, delivery_id)
        return _delivery(session, rows[0]) if rows else None

    async def alert_states(self, tenant_id: str | None) -> list[AlertState]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("alert_states", tenant_id)
        # As many rows as there are alerts times endpoints in trouble: not on the event loop.
        return await asyncio.to_thread(lambda: [state_from(session.instants(row, STATE_INSTANTS)) for row in rows])


class SqlOutboxStore:
    def __init__(self, database: Database, events: EventReader) -> None:
        self._db = database
        self._events = events

    async def position(self) -> str:
        async with self._db.reading() as session:
            found = await session.value("outbox_position")
        if found is None:
            async with self._db.transaction() as session:
                found = await begin_outbox(session, self._events)
        return str(found)

    async def take_in(self, intake: Intake) -> bool:
        async def work(session: Session) -> None:
            if intake.before is not None and not await session.run("move_outbox", intake.after, intake.before):
                raise _CursorMoved
            for state in intake.states:
                if not await session.run("put_alert_state", *state_values(state)):
                    raise _CursorMoved
            await session.insert("add_deliveries", [delivery_values(each) for each in intake.deliveries])
            await add_events(session, intake.events)

        try:
            await self._db.run_long(work)
        except _CursorMoved:
            return False
        return True

    async def late(self, late_ms: int, limit: int) -> list[Late]:
        async with self._db.reading() as session:
            before = await session.now() - timedelta(milliseconds=late_ms)
            rows = await session.rows("late_endpoints", before, limit)
        return [Late(*session.instants(row, (3,))) for row in rows]  # type: ignore[arg-type]  # columns

    async def overdue(self, late_ms: int, limit: int) -> list[Overdue]:
        async with self._db.reading() as session:
            before = await session.now() - timedelta(milliseconds=late_ms)
            rows = await session.rows("overdue_deliveries", before, limit)
        return [Overdue(*session.instants(row, (3,))) for row in rows]  # type: ignore[arg-type]  # columns

    async def claim_deliveries(
        self, worker: str, limit: int, per_receiver: int, lease_ms: int, busy: Sequence[str]
    ) -> list[Delivery]:
        if self._db.has_one_writer and not await self._is_any_due():  # so that a look costs no write
            return []

        async def work(session: Session) -> list[Delivery]:
            now = await session.now()
            until = now + timedelta(milliseconds=lease_ms)
            rows = await session.rows("claim_deliveries", now, per_receiver, list(busy), limit, until, worker)
            return [_delivery(session, row) for row in rows]

        return await self._db.run_long(work)

    async def _is_any_due(self) -> bool:
        async with self._db.reading() as session:
            due_at = session.instant(await session.value("next_attempt_at"))
            return due_at is not None and due_at <= await session.now()

    async def finish_delivery(self, delivery: Delivery, settle: Settle) -> Delivery | None:
        async with self._db.transaction() as session:
            # The subscription first: a process that deletes it, or ends another delivery of it, locks it first too.
            old = [_subscription(session, row) for row in await session.rows("subscription", delivery.subscription_id)]
            rows = await session.rows("delivery_begun", delivery.id, delivery.attempt)
            if not rows:
                return None
            settled = settle(_delivery(session, rows[0]), old[0] if old else None, await session.now())
            await session.run("put_delivery", *outcome_values(settled.delivery))
            new = settled.subscription
            if new is not None and new != old[0]:
                await session.run(
                    "put_subscription_health", new.enabled, new.updated_at, new.failing_since, new.failure_count,
                    new.disabled_reason, new.id,
                )  # fmt: skip
            await add_events(session, settled.events)
            return settled.delivery

    async def release_held(self, merge: Merge) -> int:
        async def work(session: Session) -> int:
            now = await session.now()
            held = [_delivery(session, row) for row in await session.rows("held_deliveries", now, HELD_PER_ROUND)]
            for group in grouped(held):
                merged = merge(group, now)
                if len(group) == 1:
                    await session.run("put_delivery", *outcome_values(merged))
                    continue
                await session.insert("add_deliveries", [delivery_values(merged)])
                for each in group:
                    await session.run("digest_delivery", each.id)
            return len(held)

        return await self._db.run_long(work)

    async def next_attempt_at(self) -> datetime | None:
        async with self._db.reading() as session:
            return session.instant(await session.value("next_attempt_at"))

    async def sweep_deliveries(self, before: datetime, batch: int) -> int:
        async def work(session: Session) -> int:
            await session.run("sweep_alert_states", before)
            return await session.run("sweep_deliveries", id_floor("msg", before), batch)

        return await self._db.run_long(work)


async def begin_outbox(session: Session, events: EventReader) -> str:
    """Return the position. It begins at the newest event: a new subscription receives events from now on."""
    newest = await events.latest_events(session, None, 1)
    await session.run("begin_outbox", newest[-1].cursor if newest else "")
    return str(await session.value("outbox_position"))


def _subscription(session: Session, row: Row) -> Subscription:
    return subscription_from(session.instants(row, SUBSCRIPTION_INSTANTS))


def _delivery(session: Session, row: Row) -> Delivery:
    return delivery_from(session.instants(row, DELIVERY_INSTANTS))
