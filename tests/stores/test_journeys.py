"""How often PostgreSQL is asked: a finish once, a claim twice; again only where somebody was in the way."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest
from tests.harness.postgres import as_superuser
from tests.stores.world import FixedClock, add, an_endpoint, change, claim, finished, hinted

from mainspring.ports.stores import Stores
from mainspring.stores.postgres.queries import CLAIM_LOCK, QUERIES
from mainspring.stores.postgres.schedule import PostgresSchedule

pytestmark = pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
BEGIN_CLAIM, COMMIT = "begin_claim", "COMMIT"


@pytest.fixture
def journeys(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that are sent, in their order."""
    names = {sql: name for name, sql in QUERIES.items()}
    sent: list[str] = []

    def noting(method: str) -> None:
        ask = getattr(asyncpg.Connection, method)

        async def noted(connection: object, sql: str, *values: object, **options: object) -> object:
            sent.append(names.get(sql, sql))
            return await ask(connection, sql, *values, **options)

        monkeypatch.setattr(asyncpg.Connection, method, noted)

    for method in ("execute", "fetch", "fetchval"):
        noting(method)
    return sent


@asynccontextmanager
async def holding_the_turn(store_url: str) -> AsyncIterator[None]:
    """As a worker that stands still in the middle of its claim."""
    connection = await asyncpg.connect(as_superuser(store_url))
    try:
        async with connection.transaction():
            assert await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", CLAIM_LOCK)
            yield
    finally:
        await connection.close()


async def test_claim_of_what_is_known_takes_two(stores: Stores, clock: FixedClock, journeys: list[str]) -> None:
    await add(stores, an_endpoint(), an_endpoint())
    await stores.schedule.finish([finished(each) for each in (await claim(stores)).claims])
    clock.tick(seconds=60)
    journeys.clear()

    batch = await claim(stores)

    assert len(batch.claims) == 2
    assert journeys == ["due_and_read_clock", "write_claims_and_read_clock"]


async def test_look_that_finds_nothing_due_takes_one(stores: Stores, journeys: list[str]) -> None:
    await add(stores, an_endpoint())
    await claim(stores)
    journeys.clear()

    assert (await claim(stores)).claims == ()
    assert journeys == ["due_and_read_clock"]


async def test_claim_that_takes_over_a_slot_is_made_in_turn_with_locks(
    stores: Stores, clock: FixedClock, journeys: list[str]
) -> None:
    await add(stores, an_endpoint())
    await claim(stores)
    clock.tick(minutes=10)  # its lease is over
    journeys.clear()

    (taken_over,) = (await claim(stores)).claims

    assert taken_over.attempt == 2
    assert journeys[:3] == ["due_and_read_clock", BEGIN_CLAIM, "due_and_read_clock"]
    assert journeys[-1] == COMMIT


async def test_claim_that_sums_up_missed_slots_is_made_in_turn_with_locks(
    stores: Stores, clock: FixedClock, journeys: list[str]
) -> None:
    await add(stores, an_endpoint())
    clock.tick(minutes=10)
    journeys.clear()

    assert len((await claim(stores)).claims) == 1
    assert {BEGIN_CLAIM, "lock_due", "add_runs"} <= set(journeys)


async def test_after_somebody_was_faster_claims_stand_in_line_for_a_while(
    stores: Stores, clock: FixedClock, store_url: str, journeys: list[str]
) -> None:
    await add(stores, an_endpoint())
    await stores.schedule.finish([finished(each) for each in (await claim(stores)).claims])
    clock.tick(seconds=60)
    async with holding_the_turn(store_url):
        journeys.clear()
        assert len((await claim(stores)).claims) == 1  # whoever stands still in his turn stops nobody
    assert journeys[:3] == ["due_and_read_clock", "write_claims_and_read_clock", BEGIN_CLAIM]
    clock.tick(minutes=10)
    journeys.clear()
    await claim(stores)
    assert journeys[0] == BEGIN_CLAIM
    assert isinstance(stores.schedule, PostgresSchedule)
    stores.schedule._crowded_until_s = 0.0  # as after that while
    journeys.clear()
    await claim(stores)
    assert journeys == ["due_and_read_clock"]


async def test_finish_of_what_nobody_changed_takes_one(stores: Stores, journeys: list[str]) -> None:
    await add(stores, an_endpoint(), an_endpoint())
    batch = await claim(stores)
    journeys.clear()

    await stores.schedule.finish([finished(each) for each in batch.claims])

    assert journeys == ["write_results"]


async def test_finish_of_what_was_changed_meanwhile_is_done_again_with_locks(
    stores: Stores, journeys: list[str]
) -> None:
    changed, unchanged = an_endpoint(), an_endpoint()
    await add(stores, changed, unchanged)
    batch = await claim(stores)
    await change(stores, changed, hinted(5_000))
    journeys.clear()

    report = await stores.schedule.finish([finished(each) for each in batch.claims])

    assert [name for name in journeys if name != "endpoints_by_id"] == [
        "write_results", "begin", "lock_free_and_read_clock", "write_results", COMMIT,
    ]  # fmt: skip
    assert len(report.recorded) == 2


async def test_claim_leaves_out_what_another_transaction_holds(
    stores: Stores, store_url: str, journeys: list[str]
) -> None:
    held, free = an_endpoint(), an_endpoint()
    await add(stores, held, free)
    connection = await asyncpg.connect(as_superuser(store_url))
    try:
        async with connection.transaction():
            await connection.execute("SELECT id FROM schedule WHERE id = $1 FOR UPDATE", held.id)
            journeys.clear()
            batch = await claim(stores)
    finally:
        await connection.close()

    assert [each.endpoint.id for each in batch.claims] == [free.id]
    assert journeys.count("write_claims_and_read_clock") == 2
    assert [each.endpoint.id for each in (await claim(stores)).claims] == [held.id]
