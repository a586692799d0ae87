"""Subscriptions, the outbox and the states of alerts, on SQLite."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import apsw

from mainspring.domain.alerting import AlertState, Late
from mainspring.domain.delivery import Delivery, Merge, Settle
from mainspring.domain.event import Event
from mainspring.domain.subscription import Subscription, SubscriptionKind, named_twice
from mainspring.ports.mail import DeliveryFilter, Intake, Overdue
from mainspring.stores.notices import (
    DELIVERY_COLUMNS,
    STATE_COLUMNS,
    SUBSCRIPTION_COLUMNS,
    changed_values,
    delivery_from,
    delivery_values,
    grouped,
    is_instant,
    outcome_values,
    state_from,
    state_values,
    subscription_from,
    subscription_values,
)
from mainspring.stores.rows import id_floor, stored_events
from mainspring.stores.sqlite.database import Connection, Database, instant, microseconds
from mainspring.stores.sqlite.endpoints import add_events
from mainspring.stores.sqlite.schedule import encoded

HELD_PER_ROUND = 1_000


class _MovedMeanwhile(Exception):
    """Another notifier was first; nothing of this transaction stays."""


def insert_subscription(db: Connection, subscription: Subscription) -> None:
    """It gets what happens from now on, also where it is the first of all."""
    _begin(db)
    db.run("add_subscription", *subscription_values(subscription))


def erase_subscription(db: Connection, tenant_id: str, subscription_id: str) -> bool:
    """With its deliveries and states. False: was not there."""
    if not db.run("delete_subscription", tenant_id, subscription_id):
        return False
    db.run("delete_deliveries", subscription_id)
    db.run("delete_alert_states", subscription_id)
    return True


class SqliteSubscriptions:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add_subscription(self, subscription: Subscription, event: Event) -> None:
        def work(db: Connection) -> None:
            try:
                insert_subscription(db, subscription)
            except apsw.ConstraintError as fault:
                raise _taken(subscription, fault) from fault
            add_events(db, [event])

        await self._db.write(work)

    async def subscriptions(self, tenant_id: str | None, kind: SubscriptionKind | None) -> list[Subscription]:
        rows = await self._db.read(lambda db: db.rows("subscriptions", tenant_id, kind))
        return [_subscription(row) for row in rows]

    async def put_subscription(self, subscription: Subscription, event: Event) -> bool:
        def work(db: Connection) -> bool:
            try:
                changed = db.run("put_subscription", *changed_values(subscription))
            except apsw.ConstraintError as fault:
                raise _taken(subscription, fault) from fault
            if changed:
                add_events(db, [event])
            return bool(changed)

        return await self._db.write(work)

    async def delete_subscription(self, tenant_id: str, subscription_id: str, event: Event) -> bool:
        def work(db: Connection) -> bool:
            if not erase_subscription(db, tenant_id, subscription_id):
                return False
            add_events(db, [event])
            return True

        return await self._db.write_much(work)

    async def deliveries(self, tenant_id: str, wanted: DeliveryFilter) -> list[Delivery]:
        w = wanted
        values = (tenant_id, w.subscription_id, w.status, w.id, w.before_id, w.limit)
        rows = await self._db.read(lambda db: db.rows("deliveries", *values))
        return [_delivery(row) for row in rows]

    async def redeliver(self, tenant_id: str, delivery_id: str) -> Delivery | None:
        rows = await self._db.write(lambda db: db.rows("redeliver", self._db.clock.now(), tenant_id, delivery_id))
        return _delivery(rows[0]) if rows else None

    async def alert_states(self, tenant_id: str | None) -> list[AlertState]:
        rows = await self._db.read(lambda db: db.rows("alert_states", tenant_id))
        return [state_from(_with_instants(row, STATE_COLUMNS)) for row in rows]


class SqliteOutbox:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def position(self) -> str:
        found = self._db.look(lambda db: db.value("outbox_position"))
        return str(await self._db.write(_begin) if found is None else found)

    async def take_in(self, intake: Intake) -> bool:
        def work(db: Connection) -> None:
            if intake.before is not None and not db.run("move_outbox", intake.after, intake.before):
                raise _MovedMeanwhile
            for state in intake.states:
                if not db.run("put_alert_state", *state_values(state)):
                    raise _MovedMeanwhile
            db.run_many("add_delivery", [delivery_values(each, microseconds) for each in intake.deliveries])
            add_events(db, intake.events)

        try:
            await self._db.write_much(work)
        except _MovedMeanwhile:
            return False
        return True

    async def late(self, late_ms: int, limit: int) -> list[Late]:
        before = self._db.clock.now() - timedelta(milliseconds=late_ms)
        rows = await self._db.read(lambda db: db.rows("late_endpoints", before, limit))
        return [Late(*row[:3], instant(row[3])) for row in rows]  # type: ignore[arg-type, call-arg]  # columns

    async def overdue(self, late_ms: int, limit: int) -> list[Overdue]:
        before = self._db.clock.now() - timedelta(milliseconds=late_ms)
        rows = await self._db.read(lambda db: db.rows("overdue_deliveries", before, limit))
        return [Overdue(*row[:3], instant(row[3])) for row in rows]  # type: ignore[arg-type, call-arg]  # columns

    async def claim_deliveries(
        self, worker: str, limit: int, per_receiver: int, lease_ms: int, busy: Sequence[str]
    ) -> list[Delivery]:
        now = self._db.clock.now()
        due_at = await self.next_attempt_at()
        if due_at is None or due_at > now:  # so that looking costs no write
            return []
        until = now + timedelta(milliseconds=lease_ms)
        rows = await self._db.write_much(
            lambda db: db.rows("claim_deliveries", until, worker, now, per_receiver, encoded(busy), limit)
        )
        return [_delivery(row) for row in rows]

    async def finish_delivery(self, delivery: Delivery, settle: Settle) -> Delivery | None:
        def work(db: Connection) -> Delivery | None:
            rows = db.rows("delivery_begun", delivery.id, delivery.attempt)
            if not rows:
                return None
            old = [_subscription(row) for row in db.rows("subscription", delivery.subscription_id)]
            settled = settle(_delivery(rows[0]), old[0] if old else None, self._db.clock.now())
            db.run("put_delivery", *outcome_values(settled.delivery))
            new = settled.subscription
            if new is not None and new != old[0]:
                db.run(
                    "put_subscription_health", new.enabled, new.updated_at, new.failing_since, new.failure_count,
                    new.disabled_reason, new.id,
                )  # fmt: skip
            add_events(db, settled.events)
            return settled.delivery

        return await self._db.write(work)

    async def release_held(self, merge: Merge) -> int:
        def work(db: Connection) -> int:
            now = self._db.clock.now()
            held = [_delivery(row) for row in db.rows("held_deliveries", now, HELD_PER_ROUND)]
            for group in grouped(held):
                merged = merge(group, now)
                if len(group) == 1:
                    db.run("put_delivery", *outcome_values(merged))
                    continue
                db.run("add_delivery", *delivery_values(merged))
                for each in group:
                    db.run("digest_delivery", each.id)
            return len(held)

        now = self._db.clock.now()
        if not await self._db.read(lambda db: db.rows("held_deliveries", now, 1)):
            return 0
        return await self._db.write_much(work)

    async def next_attempt_at(self) -> datetime | None:
        """In the reader's thread: a look at every receiver, of which there may be thousands."""
        return instant(await self._db.read(lambda db: db.value("next_attempt_at")))

    async def sweep_deliveries(self, before: datetime, batch: int) -> int:
        def work(db: Connection) -> int:
            db.run("sweep_alert_states", before)
            return db.run("sweep_deliveries", id_floor("msg", before), batch)

        return await self._db.write_much(work)


def _begin(db: Connection) -> str:
    """The position; the newest event's where there was none. Read before whoever subscribes now is there."""
    newest = stored_events([(str(row[0]), str(row[1])) for row in db.rows("latest_events", 1)])
    db.run("begin_outbox", newest[-1].cursor if newest else "")
    return str(db.value("outbox_position"))


def _with_instants(row: Sequence[object], columns: Sequence[str]) -> list[object]:
    return [instant(value) if is_instant(column) else value for value, column in zip(row, columns, strict=True)]


def _subscription(row: Sequence[object]) -> Subscription:
    return subscription_from(_with_instants(row, SUBSCRIPTION_COLUMNS))


def _delivery(row: Sequence[object]) -> Delivery:
    return delivery_from(_with_instants(row, DELIVERY_COLUMNS))


def _taken(subscription: Subscription, fault: apsw.ConstraintError) -> Exception:
    """A unique index said no; any other constraint is our own mistake and stays one."""
    is_unique = fault.extendedresult == apsw.SQLITE_CONSTRAINT_UNIQUE  # type: ignore[attr-defined]  # in apsw, not in its stubs
    return named_twice(subscription) if is_unique else fault
