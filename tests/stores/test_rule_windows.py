"""Windows of time that rules ask about: what a store reads for them, and that it stays bounded."""

import re
from datetime import timedelta

from tests.stores.test_planner import plan, rule, saying
from tests.stores.test_runs import a_test_run
from tests.stores.world import START, FixedClock, add, an_endpoint, an_outcome, get, kinds, run_slot, told

from mainspring.domain.rules.run_window import BYTES_MAX, RUNS_MAX, RunWindow
from mainspring.ports.stores import Stores
from mainspring.stores.planner import SqlPlannerStore
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.queries import QUERIES as POSTGRES
from mainspring.stores.rows import id_floor
from mainspring.stores.sqlite.connection import QUERIES as SQLITE
from mainspring.stores.sqlite.connection import bound
from mainspring.stores.sqlite.database import SqliteDatabase


async def test_rule_asks_about_the_runs_of_a_span_of_time(stores: Stores, clock: FixedClock) -> None:
    """Eleven runs and more: a window is a time, not the last ten runs."""
    endpoint = an_endpoint("often", interval_ms=60_000)
    await add(stores, endpoint)
    await rule(
        stores, endpoint, interval="30s",
        when='size(window["30m"]) == 30 && size(window["20m"]) == 20 && sum(window["20m"].map(r, r.body.n)) == 490 '
             '&& max(window["30m"].map(r, r.body.n)) == 34 && avg(window["30m"].map(r, r.duration_ms)) >= 0 '
             '&& rate(window["30m"].map(r, r.body.n), window["30m"]) * 60 == 1',
    )  # fmt: skip
    fired = []
    for number in range(36):
        await run_slot(stores, clock, saying(f'{{"n": {number}}}'), took_ms=0)
        await plan(stores)
        if (await get(stores, endpoint)).interval_hint is not None:
            fired.append(number)
            break
        clock.tick(seconds=60)

    (known,) = await stores.planner.rules("default")
    assert known.states[endpoint.id].fault == ""
    assert fired == [34]


async def test_window_of_a_run_that_is_judged_late_ends_with_that_run(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint("behind", interval_ms=60_000)
    await add(stores, endpoint)
    await rule(
        stores, endpoint, when='size(window["24h"]) == 2 && window["24h"].map(r, r.body.n) == [1, 0]', interval="30s"
    )
    for number in range(5):
        await run_slot(stores, clock, saying(f'{{"n": {number}}}'), took_ms=0)
        clock.tick(seconds=60)

    await plan(stores)  # all five at once

    assert kinds(await told(stores)).count("rule.fired") == 1


async def test_window_is_bounded_by_runs_and_by_bytes_of_bodies(stores: Stores, clock: FixedClock) -> None:
    endpoint, other = an_endpoint("large", interval_ms=60_000), an_endpoint("other", interval_ms=60_000)
    await add(stores, endpoint, other)
    size = BYTES_MAX // 4
    for _ in range(6):
        await run_slot(stores, clock, saying('"' + "x" * (size - 2) + '"'), took_ms=0)
        clock.tick(seconds=60)
    since, until = clock.now() - timedelta(hours=1), clock.now()

    bare = await stores.planner.window(RunWindow(endpoint.id, since, until, bodies=False))
    full = await stores.planner.window(RunWindow(endpoint.id, since, until, bodies=True))
    recent = await stores.planner.window(RunWindow(endpoint.id, until - timedelta(minutes=2), until, bodies=True))
    before = await stores.planner.window(RunWindow(endpoint.id, since, START + timedelta(minutes=1), bodies=False))

    assert ([each.body for each in bare], [len(each.body) for each in full]) == ([b""] * 6, [size] * 4)
    assert [each.run_id for each in full] == [each.run_id for each in bare][:4]
    assert [each.finished_at for each in bare] == [START + timedelta(minutes=5 - number) for number in range(6)]
    assert [each.run_id for each in recent] == [each.run_id for each in bare][:1]
    assert [each.run_id for each in before] == [each.run_id for each in bare][4:]


async def test_window_ends_with_its_time_to_the_second_and_counts_no_test_run(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint("often", interval_ms=10_000)
    await add(stores, endpoint)
    for _ in range(4):
        await run_slot(stores, clock, took_ms=0)
        clock.tick(seconds=10)
    await stores.runs.add_test_run(a_test_run(endpoint), an_outcome(), [])
    since, tens = START - timedelta(hours=1), timedelta(seconds=10)

    for until in (START, START + tens, START + 3 * tens, START + timedelta(hours=1)):
        found = await stores.planner.window(RunWindow(endpoint.id, since, until, bodies=False))
        times = [START + number * tens for number in reversed(range(4))]
        assert [each.finished_at for each in found] == [at for at in times if at <= until]


async def test_window_is_read_by_the_index_of_an_endpoints_runs(stores: Stores) -> None:
    until = START + timedelta(hours=1)
    given = ("ep_1", id_floor("run", START), id_floor("run", until), START, until, RUNS_MAX)
    assert isinstance(stores.planner, SqlPlannerStore)
    database = stores.planner._db
    if isinstance(database, PostgresDatabase):
        async with database.statement() as session:
            await session.make_room(START)
            lines = await session._connection.fetch(f"EXPLAIN {POSTGRES['window_results']}", *given)
    else:
        assert isinstance(database, SqliteDatabase)
        explain = f"EXPLAIN QUERY PLAN {SQLITE['window_results']}"
        lines = await database.read(lambda db: list(db._db.execute(explain, bound(given))))

    assert re.search("run_by_endpoint|run_[0-9_]+_endpoint_id_id_idx", str(lines))  # a partition has its own
    assert "TEMP B-TREE" not in str(lines)
