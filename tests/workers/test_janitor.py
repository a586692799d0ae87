"""The janitor: runs nobody finished, history beyond its retention, and a watchdog that speaks once."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import asyncpg
import msgspec
import pytest
from prometheus_client import generate_latest
from structlog.testing import capture_logs

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import Event, EventType
from mainspring.domain.history import span_width
from mainspring.domain.instant import rfc3339
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.fairness import Caps
from mainspring.observe import Metrics
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import LIMITS, Backlog, Retention, Swept
from mainspring.workers import janitor
from mainspring.workers.janitor import Janitor, JanitorOptions
from tests.harness.postgres import as_superuser
from tests.harness.waiting import until
from tests.stores.databases import is_sqlite
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished, get_run, kinds, run_slot, told


def a_janitor(stores: Stores, metrics: Metrics | None = None, **options: object) -> Janitor:
    return Janitor(stores.upkeep, stores.runs, JanitorOptions(**options), metrics or Metrics())  # type: ignore[arg-type]  # by name


async def run_count(stores: Stores) -> int:
    return len(await stores.runs.runs("default", RunFilter(limit=10_000)))


async def fill_history(stores: Stores, clock: FixedClock, endpoints: int, slots: int) -> None:
    """`slots` runs of each endpoint, a minute apart; the clock ends at the last one."""
    await add(stores, *(an_endpoint() for _ in range(endpoints)))
    for _ in range(slots):
        await run_slot(stores, clock, took_ms=0)
        clock.tick(minutes=1)


@pytest.mark.parametrize(
    ("options", "threshold"),
    [
        pytest.param({}, timedelta(minutes=5), id="five minutes, unless told otherwise"),
        pytest.param({"zombie_after": timedelta(seconds=90)}, timedelta(seconds=90), id="as configured"),
    ],
)
async def test_a_run_nobody_finished_is_closed_as_a_timeout_after_its_threshold(
    stores: Stores, clock: FixedClock, options: dict[str, object], threshold: timedelta
) -> None:
    metrics = Metrics()
    keeper = a_janitor(stores, metrics, **options)
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims
    lease_s = 60
    clock.at += timedelta(seconds=lease_s) + threshold
    await keeper.run_once()
    assert (await get_run(stores, each)).status is RunStatus.RUNNING

    clock.tick(seconds=1)
    await keeper.run_once()

    run = await get_run(stores, each)
    assert (run.status, run.error_code) == (RunStatus.TIMEOUT, "zombie")
    assert metrics.zombies == 1


async def test_a_live_run_is_never_closed(stores: Stores, clock: FixedClock) -> None:
    keeper = a_janitor(stores, zombie_after=timedelta(milliseconds=1))
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims
    clock.tick(seconds=59)

    await keeper.run_once()

    assert (await get_run(stores, each)).status is RunStatus.RUNNING


async def test_the_slot_of_a_closed_run_is_still_taken_over(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    (first,) = (await claim(stores)).claims
    clock.tick(minutes=10)
    await a_janitor(stores).run_once()

    (second,) = (await claim(stores, worker="worker-2")).claims
    await stores.schedule.finish([finished(second)])

    assert second.slot_id == first.slot_id
    assert (await get_run(stores, second)).status is RunStatus.SUCCESS


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)  # PostgreSQL drops partitions: test_history.py
async def test_runs_older_than_wanted_are_removed_and_younger_ones_stay(stores: Stores, clock: FixedClock) -> None:
    metrics = Metrics()
    await fill_history(stores, clock, endpoints=2, slots=10)

    await a_janitor(stores, metrics, keep_runs=timedelta(minutes=4)).run_once()

    left = await stores.runs.runs("default", RunFilter(limit=100))
    assert {run.slot_at for run in left} == {START + timedelta(minutes=minute) for minute in range(6, 10)}
    assert metrics.swept >= 12


async def test_only_the_newest_runs_of_an_endpoint_are_kept(stores: Stores, clock: FixedClock) -> None:
    await fill_history(stores, clock, endpoints=2, slots=10)

    await a_janitor(stores, runs_per_endpoint_max=3).run_once()

    left = await stores.runs.runs("default", RunFilter(limit=100))
    assert sorted(run.slot_at for run in left) == [START + timedelta(minutes=minute) for minute in (7, 7, 8, 8, 9, 9)]


async def test_bodies_go_before_the_runs_they_belong_to(stores: Stores, clock: FixedClock) -> None:
    await fill_history(stores, clock, endpoints=1, slots=10)

    await a_janitor(stores, keep_bodies=timedelta(minutes=3)).run_once()

    runs = await stores.runs.runs("default", RunFilter(limit=100))
    bodies = [await stores.runs.body("default", run.id) for run in runs]
    assert [body is not None for body in bodies] == [True] * 3 + [False] * 7


async def test_events_older_than_wanted_are_removed(stores: Stores, store_url: str, clock: FixedClock) -> None:
    await fill_history(stores, clock, endpoints=1, slots=10)

    await a_janitor(stores, keep_events=timedelta(minutes=3)).run_once()

    left = [event.at for event in await told(stores, "default")]
    span = timedelta() if is_sqlite(store_url) else span_width(timedelta(minutes=3))
    assert left
    assert min(left) >= clock.now() - timedelta(minutes=3) - span


async def test_writer_that_holds_events_back_is_reported_once_and_so_is_its_end(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    if is_sqlite(store_url):
        pytest.skip("SQLite has one writer: what is committed can be read")
    metrics = Metrics()
    keeper = a_janitor(stores, metrics)
    lags: list[float] = []

    async def watch() -> None:
        await keeper.run_once(sweep=False)
        lags.append(metrics.event_lag)

    writer = await asyncpg.connect(as_superuser(store_url))
    pid = writer.get_server_pid()
    with capture_logs() as logs:
        await writer.execute("BEGIN; INSERT INTO event (tenant_id, at, events) VALUES ('default', '2026-01-01Z', '[]')")
        await stores.runs.add_events([Event(EventType.SCHEDULE_LATE, clock.now(), "default")])
        await watch()
        clock.tick(seconds=6)
        await watch()
        clock.tick(seconds=1)
        await watch()
        await writer.execute("COMMIT")
        await watch()
    await writer.close()

    assert lags == [0, 6, 7, 0]
    assert [each["event"] for each in logs] == ["events held back", "events released"]
    assert (logs[0]["lag_s"], logs[0]["writer_pid"]) == (6, pid)


async def test_a_sweep_removes_no_more_than_a_batch_at_a_time(stores: Stores, clock: FixedClock) -> None:
    await fill_history(stores, clock, endpoints=3, slots=10)
    keep = Retention(runs_before=START, bodies_before=START, events_before=START, runs_per_endpoint_max=2)
    counts = [await run_count(stores)]
    while not (swept := await stores.upkeep.sweep(keep, 5)).done:
        assert swept.removed <= 5
        counts.append(await run_count(stores))

    assert counts[-1] == 6
    assert max(before - after for before, after in pairwise(counts)) == 5


async def test_a_run_in_flight_is_never_swept(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims
    clock.tick(days=365)

    await a_janitor(stores, runs_per_endpoint_max=1, zombie_after=timedelta(days=3650)).run_once()

    assert (await get_run(stores, each)).status is RunStatus.RUNNING


async def test_the_watchdog_says_that_endpoints_are_late_once_and_that_they_are_on_time_again_once(
    stores: Stores, clock: FixedClock
) -> None:
    metrics = Metrics()
    keeper = a_janitor(stores, metrics, late_after=timedelta(seconds=5))
    await add(stores, an_endpoint(), an_endpoint())
    said: list[list[str]] = []
    for seconds in (4, 2, 10, 0):
        clock.tick(seconds=seconds)
        with capture_logs() as logs:
            await keeper.run_once()
        said.append([str(line["event"]) for line in logs])
        if seconds == 10:
            assert metrics.due == 2
            await run_slot(stores, clock, took_ms=0)

    assert said == [[], ["endpoints late", "endpoints waiting"], [], ["endpoints on time again"]]
    assert metrics.due == 0
    assert kinds(await told(stores)).count(EventType.SCHEDULE_LATE) == 1


async def test_every_tenant_whose_endpoints_are_late_is_told(stores: Stores, clock: FixedClock) -> None:
    keeper = a_janitor(stores, Metrics(), late_after=timedelta(seconds=5))
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await add(stores, an_endpoint(tenant_id="other", job_id="job_other"))
    clock.tick(seconds=6)
    await keeper.run_once()
    await add(stores, an_endpoint())
    for _ in range(2):
        await keeper.run_once()

    late = [event.tenant_id for event in await told(stores) if event.type is EventType.SCHEDULE_LATE]
    assert late == ["other", "default"]


async def test_what_late_endpoints_wait_for_is_counted_logged_and_told_to_each_tenant_once(
    stores: Stores, clock: FixedClock
) -> None:
    metrics = Metrics()
    keeper = a_janitor(stores, metrics, late_after=timedelta(seconds=5))
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    await stores.upkeep.put_installation(LIMITS, msgspec.json.encode(Caps(9, 2)).decode())
    await stores.presence.beat("worker-1", {"scheduler": 9})
    await add(stores, *(an_endpoint(host="gateway:80") for _ in range(5)))
    await claim(stores, caps=Caps(9, 2))
    await add(stores, an_endpoint(host="gateway:80", tenant_id="other", job_id="job_other"))
    clock.tick(seconds=6)
    with capture_logs() as logs:
        for _ in range(2):
            await keeper.run_once()

    (line,) = [line for line in logs if line["event"] == "endpoints waiting"]
    assert (line["cause"], line["name"], line["count"]) == ("host", "gateway:80", 4)
    assert metrics.waiting["host"] == 4
    waiting = {event.tenant_id: event.data for event in await told(stores) if event.type is EventType.SCHEDULE_WAITING}
    shared = {
        "cause": "host",
        "name": "gateway:80",
        "limit": "2",
        "in_flight": 2,
        "since": rfc3339(START),
        "waiting": 4,
        "setting": "MAINSPRING_CONCURRENCY_PER_HOST",
    }
    assert waiting == {"default": shared | {"count": 3}, "other": shared | {"count": 1}}
    assert b'mainspring_waiting{cause="host"} 4.0' in generate_latest(metrics.registry())


async def test_what_nobody_waits_for_any_more_is_told_again_when_it_comes_back(
    stores: Stores, clock: FixedClock
) -> None:
    keeper = a_janitor(stores, late_after=timedelta(seconds=5))
    for _ in range(2):
        await add(stores, an_endpoint(next_run_at=clock.at))
        clock.tick(seconds=6)
        await keeper.run_once()
        await run_slot(stores, clock, took_ms=0)
        await keeper.run_once()

    assert kinds(await told(stores)).count(EventType.SCHEDULE_WAITING) == 2


async def test_an_endpoint_in_flight_is_not_late(stores: Stores, clock: FixedClock) -> None:
    metrics = Metrics()
    await add(stores, an_endpoint())
    await claim(stores)
    clock.tick(seconds=30)

    await a_janitor(stores, metrics).run_once()

    assert metrics.due == 0


class BadRound:
    """An upkeep store of which every method fails in another way, twice; then all is well."""

    def __init__(self, stores: Stores) -> None:
        self._upkeep = stores.upkeep
        self._faults: list[Exception] = [StoreUnavailable("away"), ValueError("a row it cannot read")]
        self.rounds = 0

    async def close_zombies(self, lease_over_before_ms: int, limit: int) -> int:
        self.rounds += 1
        if self._faults:
            raise self._faults.pop()
        return await self._upkeep.close_zombies(lease_over_before_ms, limit)

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        return await self._upkeep.sweep(keep, batch)

    async def backlog(self, late_ms: int) -> Backlog:
        return await self._upkeep.backlog(late_ms)


async def test_a_round_that_raises_is_followed_by_another(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(janitor, "ROUND_S", 0.01)
    upkeep = BadRound(stores)
    keeper = Janitor(upkeep, stores.runs, JanitorOptions(), Metrics())  # type: ignore[arg-type]  # what it uses of it
    task = asyncio.create_task(keeper.run())

    await until(lambda: upkeep.rounds >= 4, "rounds go on")

    keeper.stop()
    await task
