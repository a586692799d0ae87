"""A planner that was away judges every run by what was known when that run ended, however far it is behind."""

import re
from datetime import timedelta

from tests.stores.test_planner import plan, rule, saying
from tests.stores.world import START, FixedClock, add, an_endpoint, run_slot, told

from mainspring.domain.event import Event, EventType
from mainspring.domain.rules.judge import HealthWanted
from mainspring.domain.run import Outcome, RunStatus
from mainspring.ports.stores import Stores
from mainspring.stores.planner import SqlPlannerStore
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.queries import QUERIES as POSTGRES
from mainspring.stores.rule_rows import health_bounds
from mainspring.stores.sqlite.connection import QUERIES as SQLITE
from mainspring.stores.sqlite.connection import bound
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.workers.planner import PAGE_MAX

RUNS = 2 * PAGE_MAX + 5
ALL = list(range(RUNS))
SHADOW = Event(EventType.PLANNER_MODE_SET, START, "default")


def outcome_of(number: int) -> Outcome:
    """Every fifth run fails, every seventh takes 70 ms."""
    said = saying(f'{{"n": {number}}}', RunStatus.FAILURE if number % 5 == 4 else RunStatus.SUCCESS)
    return Outcome(said.status, 70 if number % 7 == 6 else 10, said.status_code, body=said.body)


async def test_run_is_judged_by_itself_and_by_what_came_before_it(stores: Stores, clock: FixedClock) -> None:
    one, two = an_endpoint("one"), an_endpoint("two")
    late = an_endpoint("late", next_run_at=START + timedelta(days=1))
    await add(stores, one, two, late)
    await stores.planner.set_mode("all", "shadow", SHADOW)  # every firing is recorded, and none changes the schedule
    expected = {
        "body.n == 3": [3],
        "!ok && status_code == 500 && failures == 1": [n for n in ALL if n % 5 == 4],
        "duration_ms == 70": [n for n in ALL if n % 7 == 6],
        "size(history) == 10 && history[9].n == body.n - 9": ALL[9:],
        "size(runs) > 1 && runs[1].body.n == body.n - 1 && (runs[1].ok || body.n % 5 == 0)": ALL[1:],
        'size(window["1h"]) == 6': ALL[5:],
        "health.h24.runs == body.n + 1 && (body.n < 24 || health.h4.runs == 25)": ALL,
        "body.n == 4 && health.h1.success_rate == 0.8 && health.h1.duration_ms == 10": [4],
        "ok && siblings.two.body.n == body.n": [n for n in ALL if n % 5 != 4],
        "body.n >= 0 && siblings.late.ok": [],
    }
    for place, when in enumerate(expected):
        await rule(stores, one, f"rule_{place}", when=when, pause="1h")
    ids: list[str] = []
    for number in ALL:
        claims = await run_slot(stores, clock, outcome_of(number), took_ms=0)
        ids += [claim.run_id for claim in claims if claim.endpoint.id == one.id]
        clock.tick(minutes=10)
    clock.tick(days=1)
    await run_slot(stores, clock, saying('{"n": -1}'), took_ms=0)  # newest of all, and judged last

    await plan(stores)

    fired: dict[str, list[int]] = {when: [] for when in expected}
    for event in await told(stores):
        if event.type is EventType.RULE_FIRED and event.run_id in ids:
            when = list(expected)[int(str(event.data["rule"]).removeprefix("rule_"))]
            fired[when].append(ids.index(event.run_id))
    assert {when: sorted(set(numbers)) for when, numbers in fired.items()} == expected


async def test_sibling_is_seen_as_it_was_when_a_run_of_another_ended(stores: Stores, clock: FixedClock) -> None:
    """The rule's own endpoint ran before and after the sibling's run: the later run is not known yet."""
    own = an_endpoint("own", interval_ms=3_600_000)
    other = an_endpoint("other", interval_ms=86_400_000, next_run_at=START + timedelta(minutes=30))
    await add(stores, own, other)
    await stores.planner.set_mode("all", "shadow", SHADOW)
    await rule(stores, own, when="body.n == 1 && siblings.other.body.n == 2", pause="1h")
    (first,) = await run_slot(stores, clock, saying('{"n": 1}'), took_ms=0)
    clock.tick(minutes=30)
    (second,) = await run_slot(stores, clock, saying('{"n": 2}'), took_ms=0)
    clock.tick(minutes=30)
    (third,) = await run_slot(stores, clock, saying('{"n": 3}'), took_ms=0)

    await plan(stores)

    fired = [event.run_id for event in await told(stores) if event.type is EventType.RULE_FIRED]
    assert fired == [second.run_id], (first.run_id, third.run_id)


async def test_health_is_counted_by_the_index_of_an_endpoints_runs(stores: Stores) -> None:
    given = health_bounds(HealthWanted("ep_1", START))
    assert isinstance(stores.planner, SqlPlannerStore)
    database = stores.planner._db
    if isinstance(database, PostgresDatabase):
        async with database.statement() as session:
            await session.make_room(START)
            lines = await session._connection.fetch(f"EXPLAIN {POSTGRES['health']}", *given)
    else:
        assert isinstance(database, SqliteDatabase)
        explain = f"EXPLAIN QUERY PLAN {SQLITE['health']}"
        lines = await database.read(lambda db: list(db._db.execute(explain, bound(given))))

    assert re.search("run_by_endpoint|run_[0-9_]+_endpoint_id_id_idx", str(lines))  # a partition has its own
