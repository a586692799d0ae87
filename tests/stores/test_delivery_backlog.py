"""A long history and a long backlog of deliveries: what the notifier asks for stays short, on both databases."""

import re
from datetime import timedelta

import pytest
from tests.stores.databases import is_sqlite, literal, query
from tests.stores.world import START, FixedClock

from mainspring.domain.event import Event, EventType
from mainspring.domain.notify.subscription import Subscription, Webhook
from mainspring.ports.stores import Stores
from mainspring.stores.notifications import SqlOutboxStore
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.queries import QUERIES as POSTGRES_QUERIES
from mainspring.stores.sqlite import connection as sqlite
from mainspring.stores.sqlite.database import SqliteDatabase

HOUR = timedelta(hours=1)


async def subscribe(stores: Stores, number: int) -> str:
    config = Webhook("https://example.com/hook", ("*",), ("sealed",))
    subscription = Subscription(f"sub_{number}", "default", f"hook {number}", config, True, 1, START, START, START)
    await stores.subscriptions.add_subscription(subscription, Event(EventType.WEBHOOK_CREATED, START, "default"))
    return subscription.id


async def deliveries(url: str, subscription_id: str, status: str, count: int) -> None:
    """Rows past the store: thousands of them in one statement."""
    at = literal(url, START - HOUR)
    series = f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {count})"
    row = (
        f"'msg_{subscription_id}_{status}_' || n, 'default', '{subscription_id}', '', '{status}' || n, 'run.finished', "
        f"'{{}}', '{status}', 0, {at}, {at}, {at}, ''"
    )
    columns = (
        "id, tenant_id, subscription_id, channel, key, type, payload, status, attempt, next_attempt_at, created_at, "
        "happened_at, snippet"
    )
    await query(url, f"{series} INSERT INTO delivery ({columns}) SELECT {row} FROM series")


VALUES = {
    "next_attempt_at": (),
    "held_deliveries": (START, 10),
    "claim_deliveries": {"sqlite": (START, 4, "[]", 32, START, "w"), "postgres": (START, 4, [], 32, START, "w")},
}


@pytest.mark.parametrize("name", VALUES)
async def test_what_is_asked_for_often_walks_the_index_of_waiting_deliveries(
    stores: Stores, store_url: str, name: str
) -> None:
    for number in range(3):
        each = await subscribe(stores, number)
        await deliveries(store_url, each, "delivered", 3_000)
        await deliveries(store_url, each, "pending", 3_000)
    await query(store_url, "ANALYZE")

    plan = await plan_of(stores, store_url, name)

    assert "delivery_next" in plan, plan
    assert not re.search(r"SCAN (delivery|due)|Seq Scan on delivery|delivery_by_|USE TEMP B-TREE FOR GROUP", plan), plan


async def plan_of(stores: Stores, url: str, name: str) -> str:
    found = VALUES[name]
    assert isinstance(stores.outbox, SqlOutboxStore)
    database = stores.outbox._db
    if isinstance(database, SqliteDatabase):
        values = sqlite.bound(found["sqlite"] if isinstance(found, dict) else found)
        explain = "EXPLAIN QUERY PLAN " + sqlite.QUERIES[name]
        lines = await database.write(lambda db: list(db._db.execute(explain, values)))
        return "\n".join(str(line[3]) for line in lines)
    assert isinstance(database, PostgresDatabase)
    given = found["postgres"] if isinstance(found, dict) else found
    async with database.transaction() as session:
        lines = await session._connection.fetch("EXPLAIN " + POSTGRES_QUERIES[name], *given)
    return "\n".join(str(line[0]) for line in lines)


async def test_each_receiver_gets_its_oldest_deliveries_however_many_wait_for_others(
    stores: Stores, store_url: str
) -> None:
    crowded, quiet = await subscribe(stores, 1), await subscribe(stores, 2)
    await deliveries(store_url, crowded, "pending", 1_000)
    await deliveries(store_url, quiet, "pending", 2)

    claimed = await stores.outbox.claim_deliveries("worker-1", 32, 4, 60_000, [])
    others = await stores.outbox.claim_deliveries("worker-1", 32, 4, 60_000, [crowded])

    receivers = [each.subscription_id for each in claimed]
    assert (receivers.count(crowded), receivers.count(quiet)) == (4, 2)
    assert others == []


async def test_backlog_of_deliveries_is_counted_by_receiver(stores: Stores, store_url: str, clock: FixedClock) -> None:
    first, second = await subscribe(stores, 1), await subscribe(stores, 2)
    await deliveries(store_url, first, "pending", 5)
    await deliveries(store_url, first, "delivered", 50)
    await deliveries(store_url, second, "pending", 7)

    found = await stores.outbox.overdue(60_000, 10)

    assert [(each.name, each.count, each.oldest_at) for each in found] == [
        ("hook 2", 7, START - HOUR),
        ("hook 1", 5, START - HOUR),
    ]
    assert await stores.outbox.overdue(2 * 3_600_000, 10) == []


@pytest.mark.parametrize(("status", "count"), [("delivered", 30_000), ("pending", 20_000)])
async def test_work_of_a_claim_does_not_grow_with_history_or_backlog(
    stores: Stores, store_url: str, status: str, count: int
) -> None:
    """Steps of SQLite's machine, which another load of the computer does not change."""
    if not is_sqlite(store_url):
        pytest.skip("PostgreSQL counts no steps; its plans are compared above")
    receiver = await subscribe(stores, 1)
    await deliveries(store_url, receiver, "pending", 10)
    before = await steps_of_a_claim(stores)
    await deliveries(store_url, await subscribe(stores, 2), status, count)
    after = await steps_of_a_claim(stores)

    assert after < 4 * before


async def steps_of_a_claim(stores: Stores) -> int:
    assert isinstance(stores.outbox, SqlOutboxStore)
    assert isinstance(stores.outbox._db, SqliteDatabase)
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    def work(db: sqlite.SqliteConnection) -> int:
        db._db.set_progress_handler(count, 10)
        try:
            db.rows("next_attempt_at")
            db.rows("held_deliveries", START, 1)
            db.rows("claim_deliveries", START, 4, "[]", 32, START, "w")
        finally:
            db._db.set_progress_handler(None)
        return steps

    return await stores.outbox._db.write_much(work)
