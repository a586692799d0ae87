"""R8: slow targets hold no database connection. Hundreds of calls in flight over a pool of two: claims go on."""

from datetime import timedelta

import asyncpg

from tests.faults.conftest import Figures
from tests.faults.ledger import percentile, read_ledger
from tests.faults.random_kills import Tail, start_workers
from tests.faults.stage import Stage, calling, fill
from tests.harness.pace import Pace
from tests.harness.waiting import until, until_true
from tests.peers.journal import Journal

SLOW = 300
QUICK = 20
IDLE_IN_TRANSACTION = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'idle in transaction' AND now() - state_change > interval '1 second'
"""
CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mainspring'
"""


async def test_slow_targets_do_not_exhaust_the_pool(
    postgres_stage: Stage, journal: Journal, long_run: bool, figures: Figures, pace: Pace
) -> None:
    seconds = 20 if long_run else 5
    idle, connections = 0, 0
    watcher = await asyncpg.connect(postgres_stage.url)
    async with postgres_stage.stores() as stores:
        due_at = await stores.schedule.now() + timedelta(seconds=3)
        slow_ms = (seconds + 60) * 1_000
        slow = journal.url(f"/slow?delay_ms={slow_ms}")
        await fill(stores, [calling(slow, due_at, 3_600_000, timeout_ms=2 * slow_ms) for _ in range(SLOW)])
    with postgres_stage.nursery(database_pool=2, concurrency=400, lease_margin="60s") as nursery:
        await start_workers(nursery, 1)
        tail = Tail(journal)
        await until(lambda: tail.grown() >= SLOW, "all slow calls are in flight")
        async with postgres_stage.stores() as stores:
            due_at = await stores.schedule.now() + timedelta(seconds=1)
            quick = [calling(journal.url(f"/quick/{n}"), due_at, 1_000) for n in range(QUICK)]
            await fill(stores, quick)

        async def quick_ones_go_on() -> bool:
            nonlocal idle, connections
            idle = max(idle, int(await watcher.fetchval(IDLE_IN_TRANSACTION)))
            connections = max(connections, int(await watcher.fetchval(CONNECTIONS)))
            return tail.grown() >= SLOW + QUICK * seconds

        await until_true(quick_ones_go_on, "claims go on", 3 * seconds + 60)
        in_flight = journal.entries()[-1].in_flight
        for worker in nursery.running:
            worker.kill()
    await watcher.close()
    async with postgres_stage.stores() as stores:
        ledger = await read_ledger(stores, [entry for entry in journal.entries() if entry.path.startswith("/quick/")])

    figures(in_flight=in_flight, connections=connections, idle_in_transaction=idle, **ledger.figures())
    assert in_flight >= SLOW
    assert connections <= 2 + 1  # and the one that listens
    assert idle == 0
    assert percentile(ledger.lateness_s(), 0.99) <= pace.fair(1.0)
    assert ledger.early() == []
