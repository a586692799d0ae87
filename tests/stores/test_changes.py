"""Changes between runs: atomic, within one tenant, and seen by the next claim of whichever process."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import asyncpg
import pytest
from msgspec.structs import replace
from tests.harness.waiting import until_true
from tests.stores.databases import is_sqlite, query
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    archived,
    change,
    claim,
    edited,
    finished,
    get,
    hinted,
    hinted_once,
    kinds,
    requested,
    run_slot,
    told,
)

from mainspring.domain.endpoint import BackoffPolicy, Endpoint, LostWorkerPolicy, MisfirePolicy, Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import Header, HttpAction, RunTrigger
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Act, Change
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.fairness import Caps
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.lasting_connection import CHANNEL
from mainspring.wiring.stores import open_stores

SECOND = timedelta(seconds=1)
LISTENERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'"


def paused_until(until: datetime | None) -> Act:
    return lambda old, now: changes.pause(old, until, "maintenance", now, "tester", CRON)


def resumed() -> Act:
    return lambda old, now: changes.resume(old, now, "tester", CRON)


async def test_act_that_raises_writes_nothing_of_the_whole_batch(stores: Stores) -> None:
    endpoints = [an_endpoint() for _ in range(3)]
    await add(stores, *endpoints)
    before = await told(stores)
    seen: list[str] = []

    def act(old: Endpoint, now: datetime) -> Change:
        if len(seen) == 2:
            raise LookupError("the third one")
        seen.append(old.id)
        return paused_until(None)(old, now)

    with pytest.raises(LookupError):
        await stores.endpoints.change_endpoints("default", [endpoint.id for endpoint in endpoints], act)
    assert [await get(stores, endpoint) for endpoint in endpoints] == endpoints
    assert await told(stores) == before


async def test_store_goes_on_after_an_act_that_raised(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    def act(old: Endpoint, now: datetime) -> Change:
        raise LookupError

    with pytest.raises(LookupError):
        await change(stores, endpoint, act)
    assert (await change(stores, endpoint, paused_until(None))).is_paused(START)


async def test_ids_of_another_tenant_are_ignored(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    mine, theirs = an_endpoint(), an_endpoint(tenant_id="other", job_id="job_other")
    await add(stores, mine, theirs)

    changed = await stores.endpoints.change_endpoints("default", [theirs.id, mine.id], archived())

    assert [each.endpoint.id for each in changed] == [mine.id]
    assert await get(stores, theirs) == theirs


async def test_unknown_ids_are_left_out_of_the_answer(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    changed = await stores.endpoints.change_endpoints("default", ["ep_nobody", endpoint.id], archived())

    assert [each.endpoint.id for each in changed] == [endpoint.id]


async def test_id_that_is_given_twice_is_changed_once(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    changed = await stores.endpoints.change_endpoints(
        "default",
        [endpoint.id, endpoint.id],
        lambda old, now: Change(replace(old, failure_count=old.failure_count + 1)),
    )

    assert [each.endpoint.failure_count for each in changed] == [1]


async def test_act_is_given_the_clock_of_the_store(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    clock.tick(seconds=42)

    changed = await change(stores, endpoint, archived())

    assert changed.archived_at == START + 42 * SECOND


async def test_every_field_of_a_changed_endpoint_is_written(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default"))
    endpoint, other_job = an_endpoint(), an_endpoint(job_id="job_second")
    await add(stores, endpoint, other_job)
    later = START + timedelta(days=400, microseconds=1)
    wanted = replace(
        endpoint, job_id="job_second", job="job_second", name="renamed", description="é\n\t☃", host="example.com:443",
        action=HttpAction(
            "https://example.com/", "POST", (Header("X-Key", "sealed", True),), body="0", timeout_ms=1, body_cap=0,
            redirects_max=5, accept_codes=(204, 404), condition="status_code == 204",
        ),
        cron="*/5 * * * *", interval_ms=None, timezone="Europe/Zurich", min_interval_ms=1_000, max_interval_ms=2_000,
        backoff=BackoffPolicy.MONITOR, jitter_ms=7, spread=True, misfire=MisfirePolicy.CATCH_UP, catch_up_max=3,
        max_lateness_ms=0, on_lost_worker=LostWorkerPolicy.SKIP, updated_at=later, version=2, archived_at=later,
        job_active=False, parked_at=later, parked_reason="parked", paused_until=later, pause_reason="paused",
        deferred_until=later, failure_count=9, not_before=later, anchor_at=later, next_run_at=later, source="paused",
        trail='[{"é":1}]', manual_at=later, slot_at=later, trigger=RunTrigger.CATCH_UP, attempt=4, claim_epoch=2**40,
        lease_until=later, claimed_by="worker-1", run_id="run_1", lost_count=2, last_run_at=later,
        last_status="failure",
    )  # fmt: skip
    wanted = (hinted_once(SECOND)(hinted(5_000)(wanted, later).endpoint, later)).endpoint

    await change(stores, endpoint, lambda old, now: Change(wanted))

    assert await get(stores, endpoint) == wanted


async def test_cap_on_a_host_follows_an_edit_of_the_host(stores: Stores) -> None:
    moved, there = an_endpoint(host="old:80"), an_endpoint(host="new:80", next_run_at=START + SECOND)
    await add(stores, moved, there)
    await change(stores, moved, edited(host="new:80", action=HttpAction("http://new/")))

    batch = await claim(stores, caps=Caps(per_tenant=100, per_host=1))

    assert [each.endpoint.id for each in batch.claims] == [moved.id]


async def test_name_that_is_taken_is_a_conflict_and_nothing_is_written(stores: Stores) -> None:
    taken, endpoint = an_endpoint("taken"), an_endpoint("mine")
    await add(stores, taken, endpoint)
    before = await told(stores)

    with pytest.raises(Conflict) as refused:
        await change(stores, endpoint, edited(name="taken", interval_ms=5_000))
    assert (refused.value.kind, refused.value.name) == ("endpoint", "taken")
    assert "'taken'" in str(refused.value)
    assert await get(stores, endpoint) == endpoint
    assert await told(stores) == before


async def test_change_and_its_events_are_one_transaction(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    await change(stores, endpoint, paused_until(START + 60 * SECOND))

    *_, last, moved = await told(stores)
    data: dict[str, object] = {"until": "2025-01-01T00:01:00Z", "reason": "maintenance"}
    assert last == Event(EventType.ENDPOINT_PAUSED, START, "default", endpoint.id, "", "tester", data)
    assert moved.type is EventType.SCHEDULE_UPDATED


async def test_changes_of_many_at_once_lose_none(stores: Stores, other_stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    def one_more(old: Endpoint, now: datetime) -> Change:
        return Change(replace(old, failure_count=old.failure_count + 1))

    await asyncio.gather(*[change(each, endpoint, one_more) for each in [stores, other_stores] * 10])

    assert (await get(stores, endpoint)).failure_count == 20


async def test_one_shot_is_claimed_by_another_process_at_its_instant(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(stores, endpoint)
    await change(stores, endpoint, hinted_once(5 * SECOND))
    clock.tick(seconds=5)

    (each,) = (await claim(other_stores)).claims

    assert each.slot_at == START + 5 * SECOND


async def test_pause_is_seen_by_the_next_claim_of_another_process(stores: Stores, other_stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await change(stores, endpoint, paused_until(START + 60 * SECOND))

    batch = await claim(other_stores)

    assert (batch.claims, batch.next_due_at) == ((), START + 60 * SECOND)


async def test_resume_is_seen_by_the_next_claim_of_another_process(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await change(stores, endpoint, paused_until(None))
    clock.tick(seconds=5)
    await change(stores, endpoint, resumed())

    assert len((await claim(other_stores)).claims) == 1


async def test_requested_run_is_claimed_at_once_and_the_cadence_is_kept(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await run_slot(stores, clock)
    clock.tick(seconds=10)
    await change(stores, endpoint, requested())

    (each,) = await run_slot(stores, clock)

    assert each.trigger is RunTrigger.MANUAL
    assert (await get(stores, endpoint)).next_run_at == START + 60 * SECOND


async def test_pause_during_a_run_holds_when_the_run_ends(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    await change(stores, endpoint, paused_until(START + timedelta(hours=6)))

    await stores.schedule.finish([finished(each)])

    stored = await get(stores, endpoint)
    assert (stored.next_run_at, stored.source) == (START + timedelta(hours=6), "paused")


async def test_change_of_nothing_leaves_the_endpoint_and_tells_nothing(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    before = kinds(await told(stores))

    await change(stores, endpoint, resumed())

    assert await get(stores, endpoint) == endpoint
    assert kinds(await told(stores)) == before


async def quiet(stores: Stores, url: str) -> None:
    """Wait until this store listens for changes and no change wakes it any more; listening begins with a wake-up."""
    await stores.schedule.wait_for_change(0.1)
    await until_listening(url)
    for _ in range(10):
        if not await stores.schedule.wait_for_change(0.1):
            return
    pytest.fail("woken again and again although nothing changes")


async def until_listening(url: str) -> None:
    if not is_sqlite(url):
        await until_true(lambda: query(url, LISTENERS), "the store listens")


async def test_wait_ends_at_a_change_by_another_process(stores: Stores, other_stores: Stores, store_url: str) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await quiet(stores, store_url)
    waiting = asyncio.ensure_future(stores.schedule.wait_for_change(30))

    await change(other_stores, endpoint, hinted_once(timedelta(0)))

    async with asyncio.timeout(20):
        assert await waiting


async def test_wait_ends_at_a_change_of_the_same_process(stores: Stores, store_url: str) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await quiet(stores, store_url)
    waiting = asyncio.ensure_future(stores.schedule.wait_for_change(30))

    await change(stores, endpoint, hinted_once(timedelta(0)))

    async with asyncio.timeout(20):
        assert await waiting


async def test_wait_for_nothing_ends_false_after_its_timeout(stores: Stores, store_url: str) -> None:
    await quiet(stores, store_url)
    loop = asyncio.get_running_loop()
    before = loop.time()

    assert not await stores.schedule.wait_for_change(0.3)
    assert loop.time() - before >= 0.29


async def test_change_between_a_look_and_the_wait_after_it_is_not_slept_through(
    stores: Stores, other_stores: Stores, store_url: str
) -> None:
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(stores, endpoint)
    await quiet(stores, store_url)
    await claim(stores)
    await change(other_stores, endpoint, hinted_once(SECOND))

    async with asyncio.timeout(20):
        assert await stores.schedule.wait_for_change(30)


async def test_first_wait_of_a_process_sleeps_through_no_change_since_its_first_look(
    postgres_url: str, clock: FixedClock
) -> None:
    """A process listens as soon as it shows that it is alive, before it waits for the first time."""
    heard = asyncio.Event()
    witness = await asyncpg.connect(postgres_url)
    async with open_stores(postgres_url, clock=clock) as stores:
        await stores.presence.appear("host-1-first")
        await until_listening(postgres_url)
        await claim(stores)
        await witness.add_listener(CHANNEL, lambda *_: heard.set())
        await witness.execute("SELECT pg_notify($1, 'another ')", CHANNEL)
        await heard.wait()

        async with asyncio.timeout(20):
            assert await stores.schedule.wait_for_change(30)
    await witness.close()


async def moved_by_an_endpoint(stores: Stores) -> None:
    await add(stores, an_endpoint())


async def moved_by_a_quota(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("default", "default", runs_per_month=5))


async def moved_by_a_release(stores: Stores) -> None:
    await stores.schedule.release((await claim(stores)).claims)


MOVES = {"a new endpoint": moved_by_an_endpoint, "a quota": moved_by_a_quota, "a slot given back": moved_by_a_release}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("is_own", [True, False], ids=["of its own process", "of another process"])
async def test_wait_ends_for(
    stores: Stores, other_stores: Stores, store_url: str, move: Callable[[Stores], Awaitable[None]], is_own: bool
) -> None:
    await add(stores, an_endpoint())
    await quiet(stores, store_url)
    waiting = asyncio.ensure_future(stores.schedule.wait_for_change(30))
    await asyncio.sleep(0)

    await move(stores if is_own else other_stores)

    async with asyncio.timeout(20):
        assert await waiting
