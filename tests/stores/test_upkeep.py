"""Upkeep: zombies, retention in small batches, the backlog, workers, values of the installation."""

import asyncio
from datetime import timedelta

import pytest
from tests.harness.postgres import Cluster
from tests.harness.proxy import FaultProxy
from tests.stores.databases import file_of, literal, query
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    an_outcome,
    claim,
    finished,
    get_run,
    kinds,
    run_slot,
    told,
)

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import HttpAction, Run, RunStatus, RunTrigger
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import Backlog, Retention, Swept
from mainspring.stores.rows import id_floor
from mainspring.stores.upkeep import ENDPOINTS_PER_LOOK
from mainspring.wiring.stores import open_stores

NEVER = START - timedelta(days=3650)
FIVE_MINUTES_MS = 300_000


async def sweep_all(stores: Stores, keep: Retention, batch: int) -> list[int]:
    removed = []
    while True:
        swept = await stores.upkeep.sweep(keep, batch)
        removed.append(swept.removed)
        if swept.done:
            return removed


async def run_often(stores: Stores, clock: FixedClock, times: int) -> None:
    for _ in range(times):
        await run_slot(stores, clock)
        clock.tick(minutes=1)


async def statuses(stores: Stores) -> list[RunStatus]:
    return [run.status for run in await stores.runs.runs("default", RunFilter(limit=1000))]


async def test_run_nobody_finished_is_closed_as_timeout_only_long_after_its_lease(
    stores: Stores, clock: FixedClock
) -> None:
    await add(stores, an_endpoint())
    await claim(stores)  # its lease ends after a minute
    clock.tick(minutes=5, seconds=59)
    assert await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100) == 0

    clock.tick(seconds=2)

    assert await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100) == 1
    assert await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100) == 0
    assert await statuses(stores) == [RunStatus.TIMEOUT]
    assert kinds(await told(stores)).count(EventType.RUN_TIMEOUT) == 1


async def test_result_of_a_run_that_was_closed_as_a_zombie_still_counts_while_nobody_took_it_over(
    stores: Stores, clock: FixedClock
) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims
    clock.tick(minutes=10)
    await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100)

    await stores.schedule.finish([finished(each)])

    assert await statuses(stores) == [RunStatus.SUCCESS]


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)  # PostgreSQL drops partitions: test_history.py
async def test_runs_older_than_wanted_go_in_batches_and_newer_ones_stay(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await run_often(stores, clock, 5)
    keep = Retention(START + timedelta(minutes=3), NEVER, NEVER, 10_000)

    removed = await sweep_all(stores, keep, batch=2)

    assert [count for count in removed if count] == [2, 1]
    assert len(await statuses(stores)) == 2


async def test_runs_beyond_the_wanted_number_go_oldest_first(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint(), an_endpoint(interval_ms=120_000))
    await run_often(stores, clock, 6)
    newest = {run.id for run in await stores.runs.runs("default", RunFilter(limit=4))}

    await sweep_all(stores, Retention(NEVER, NEVER, NEVER, 2), batch=100)

    runs = await stores.runs.runs("default", RunFilter(limit=1000))
    per_endpoint = [sum(run.endpoint_id == each for run in runs) for each in {run.endpoint_id for run in runs}]
    assert per_endpoint == [2, 2]
    assert newest & {run.id for run in runs}


async def test_bodies_go_before_their_runs(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await run_often(stores, clock, 2)
    new, old = await stores.runs.runs("default", RunFilter())

    await sweep_all(stores, Retention(NEVER, START + timedelta(minutes=1), NEVER, 10_000), batch=100)

    assert await stores.runs.body("default", old.id) is None
    assert await stores.runs.body("default", new.id) is not None
    assert len(await statuses(stores)) == 2


async def test_running_runs_are_never_swept(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await claim(stores)
    clock.tick(days=400)

    await sweep_all(stores, Retention(clock.now(), clock.now(), clock.now(), 1), batch=100)

    assert await statuses(stores) == [RunStatus.RUNNING]


async def test_old_events_go(stores: Stores, clock: FixedClock) -> None:
    await stores.runs.add_events([Event(EventType.RUN_MISSED, START, "default")])
    later = START + timedelta(days=1)
    await stores.runs.add_events([Event(EventType.RUN_MISSED, later, "default")])

    await sweep_all(stores, Retention(NEVER, NEVER, later, 10_000, events_span=timedelta()), batch=100)

    assert [each.event.at for each in await stores.runs.events_after("", None, 10)] == [later]


async def test_backlog_counts_what_is_late_and_not_what_runs(stores: Stores, clock: FixedClock) -> None:
    await add(stores, *(an_endpoint() for _ in range(3)))
    await claim(stores, limit=1)
    clock.tick(seconds=6)

    backlog = await stores.upkeep.backlog(5_000)

    assert (backlog.due, backlog.oldest_due_at, backlog.running) == (2, START, 1)
    assert (await stores.upkeep.backlog(7_000)).due == 0


async def test_value_of_the_installation_is_set_once_by_whoever_comes_first(
    stores: Stores, other_stores: Stores
) -> None:
    values = await asyncio.gather(
        stores.upkeep.installation("key", "one"), other_stores.upkeep.installation("key", "two")
    )

    assert len(set(values)) == 1
    assert await stores.upkeep.installation("key", "three") == values[0]


async def test_live_run_is_never_closed_beside_a_zombie(stores: Stores, clock: FixedClock) -> None:
    slow = HttpAction("http://127.0.0.1:9/", timeout_ms=600_000)
    await add(stores, an_endpoint("dead"), an_endpoint("live", action=slow))
    claims = {each.endpoint.name: each for each in (await claim(stores)).claims}
    clock.tick(minutes=10)

    assert await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100) == 1
    assert (await get_run(stores, claims["dead"])).status is RunStatus.TIMEOUT
    assert (await get_run(stores, claims["live"])).status is RunStatus.RUNNING


async def test_zombies_are_closed_a_few_at_a_time_until_there_are_none(stores: Stores, clock: FixedClock) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await add(stores, *[an_endpoint() for _ in range(3)], an_endpoint(tenant_id="other", job_id="job_other"))
    await claim(stores)
    clock.tick(minutes=10)

    closed = 0
    for _ in range(4):
        closed += await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 1)

    assert closed == 4
    assert await statuses(stores) == [RunStatus.TIMEOUT] * 3


async def test_zombie_says_why_it_was_closed(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims
    clock.tick(minutes=10)
    await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100)

    run = await get_run(stores, each)

    assert (run.error_code, run.finished_at) == ("zombie", clock.now())
    assert run.error == "no result came before the lease ended, nor for long after it"


async def test_zombies_slot_is_still_retried(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    (dead,) = (await claim(stores)).claims
    clock.tick(minutes=10)
    await stores.upkeep.close_zombies(FIVE_MINUTES_MS, 100)

    (retried,) = (await claim(stores, worker="worker-2")).claims

    assert retried.slot_id == dead.slot_id
    assert (await get_run(stores, dead)).status is RunStatus.TIMEOUT


async def test_surplus_of_many_endpoints_is_found_page_by_page(stores: Stores, clock: FixedClock) -> None:
    await add(stores, *[an_endpoint() for _ in range(ENDPOINTS_PER_LOOK + 2)])
    await run_often(stores, clock, 2)

    await sweep_all(stores, Retention(NEVER, NEVER, NEVER, 1), batch=1_000)

    assert len(await statuses(stores)) == ENDPOINTS_PER_LOOK + 2


async def test_sweep_is_done_only_when_every_endpoint_was_looked_at(stores: Stores) -> None:
    await add(stores, *[an_endpoint() for _ in range(ENDPOINTS_PER_LOOK + 1)])
    keep = Retention(NEVER, NEVER, NEVER, 1)

    assert [await stores.upkeep.sweep(keep, 10) for _ in range(2)] == [Swept(0, done=False), Swept(0, done=True)]


async def test_surplus_never_takes_the_run_that_is_running(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (live,) = (await claim(stores)).claims
    clock.tick(seconds=1)
    now = clock.now()
    run_id = id_floor("run", now)
    test_run = Run(run_id, "default", endpoint.id, START, 1, RunTrigger.TEST, "", RunStatus.SUCCESS, now)
    await stores.runs.add_test_run(test_run, an_outcome(), [])

    await sweep_all(stores, Retention(NEVER, NEVER, NEVER, 1), batch=10)

    assert [run.id for run in await stores.runs.runs("default", RunFilter())] == [test_run.id, live.run_id]


async def test_nothing_to_sweep_is_done_at_once(stores: Stores) -> None:
    await add(stores, an_endpoint())

    assert await stores.upkeep.sweep(Retention(NEVER, NEVER, NEVER, 10_000), 100) == Swept(0, done=True)


async def test_usage_of_months_long_past_is_forgotten(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await run_slot(stores, clock)
    clock.tick(days=390)
    await sweep_all(stores, Retention(NEVER, NEVER, NEVER, 10), 10)
    clock.at = START
    kept = await stores.endpoints.tenant("default")
    clock.tick(days=450)
    await sweep_all(stores, Retention(NEVER, NEVER, NEVER, 10), 10)
    clock.at = START
    forgotten = await stores.endpoints.tenant("default")

    assert (kept and kept.runs_this_month, forgotten and forgotten.runs_this_month) == (1, 0)


async def test_quiet_schedule_has_no_backlog(stores: Stores) -> None:
    await add(stores, an_endpoint(next_run_at=START + timedelta(seconds=1)), an_endpoint(next_run_at=None))

    assert await stores.upkeep.backlog(0) == Backlog(START, 0, None, 0)


async def test_backlog_counts_every_tenant(stores: Stores, clock: FixedClock) -> None:
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    earlier = START - timedelta(seconds=5)
    await add(stores, an_endpoint(), an_endpoint(tenant_id="other", job_id="job_other", next_run_at=earlier))

    assert await stores.upkeep.backlog(0) == Backlog(START, 2, earlier, 0, {"default": 1, "other": 1})


async def test_worker_that_was_not_seen_for_a_day_is_forgotten(stores: Stores, clock: FixedClock) -> None:
    await stores.presence.beat("old", {"scheduler": 10})
    clock.tick(days=1, seconds=1)
    assert await stores.presence.beat("new", {"scheduler": 10}) == ("old",)
    await stores.upkeep.sweep(Retention(NEVER, NEVER, NEVER, 10_000), 100)

    assert await stores.presence.beat("new", {"scheduler": 10}) == ()


async def test_database_that_answers_is_not_missed(stores: Stores) -> None:
    await stores.upkeep.probe()

    assert await stores.upkeep.newer_schema() is None


async def test_database_that_does_not_answer_is_unavailable(
    postgres_cluster: Cluster, shared_postgres_url: str
) -> None:
    name = shared_postgres_url.rpartition("/")[2]
    async with (
        FaultProxy(postgres_cluster.host, postgres_cluster.port) as proxy,
        open_stores(postgres_cluster.url(name, port=proxy.port)) as stores,
    ):
        await proxy.refuse()

        with pytest.raises(StoreUnavailable, match="the database does not answer"):
            await stores.upkeep.probe()


async def test_newer_schema_is_told_and_an_older_one_is_unavailable(stores: Stores, store_url: str) -> None:
    newest = (await stores.upkeep.facts()).schema
    at = literal(store_url, START)
    await query(store_url, f"INSERT INTO schema_migration VALUES ({newest + 1}, 'later', {at})")
    newer = await stores.upkeep.newer_schema()
    await stores.upkeep.probe()
    await query(store_url, f"DELETE FROM schema_migration WHERE number = {newest + 1}")

    assert newer == (
        f"the database has schema {newest + 1}, and this program knows {newest}; "
        "restart this process with the new version"
    )


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
async def test_file_gives_back_the_space_of_what_was_removed(
    stores: Stores, store_url: str, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.stores.sqlite.upkeep.FREE_PAGES", 100)
    await add(stores, an_endpoint())
    await run_often(stores, clock, 5)
    await query(store_url, "UPDATE run SET body = zeroblob(2000000)")
    await query(store_url, "PRAGMA wal_checkpoint(TRUNCATE)")
    before = file_of(store_url).stat().st_size

    steps = await sweep_all(stores, Retention(clock.now(), NEVER, NEVER, 10_000), batch=2)
    await query(store_url, "PRAGMA wal_checkpoint(TRUNCATE)")

    assert len(steps) > 5  # a claim can come between any two
    assert file_of(store_url).stat().st_size < before / 5


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
async def test_free_pages_that_are_soon_written_again_stay_in_the_file(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await add(stores, an_endpoint())
    await run_often(stores, clock, 3)
    await query(store_url, "UPDATE run SET body = zeroblob(1000000)")

    await sweep_all(stores, Retention(clock.now(), NEVER, NEVER, 10_000), batch=100)

    ((free,),) = await query(store_url, "PRAGMA freelist_count")
    assert int(str(free)) > 700
