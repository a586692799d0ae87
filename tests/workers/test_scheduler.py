"""The scheduler's rounds: what it claims, calls and records, and what becomes of results that are hard to record."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest
from structlog.testing import capture_logs

from mainspring.domain.endpoint import Endpoint, LostWorkerPolicy, Tenant
from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import EventType
from mainspring.domain.run import HttpAction, Run, RunStatus, RunTrigger, slot_id
from mainspring.domain.schedule.anchor import FAULTY_DELAY
from mainspring.domain.schedule.hint import IntervalHint
from mainspring.observe import Metrics
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.workers.scheduler import Scheduler, SchedulerOptions
from tests.harness.postgres import as_superuser
from tests.harness.waiting import holds_for, until, until_true
from tests.stores.databases import is_sqlite
from tests.stores.world import START, FixedClock, add, an_endpoint, an_outcome, change, get, kinds, requested, told
from tests.workers.fakes import FaultyStore, ScriptedCaller

MINUTE = timedelta(minutes=1)


class Bench:
    """A scheduler with everything it needs on the table."""

    def __init__(self, stores: Stores, monotonic_ns: Callable[[], int] = time.monotonic_ns, **options: object) -> None:
        self.stores = stores
        self.store = FaultyStore(stores.schedule)
        self.caller = ScriptedCaller()
        self.metrics = Metrics()
        given: dict[str, object] = {"worker": "worker-1", "per_host": 1_000, "grace_s": 5.0}
        made = SchedulerOptions(**given | options)  # type: ignore[arg-type]  # by name
        self.scheduler = Scheduler(self.store, self.caller, made, self.metrics, monotonic_ns)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The scheduler at work; drained in the end."""
        task = asyncio.create_task(self.scheduler.run())
        try:
            yield
        finally:
            self.scheduler.stop()
            await task

    async def runs(self, endpoint: Endpoint | None = None, **fields: object) -> list[Run]:
        """Oldest first."""
        wanted = RunFilter(endpoint_id=endpoint.id if endpoint else None, **fields)  # type: ignore[arg-type]  # by name
        return (await self.stores.runs.runs("default", wanted))[::-1]

    async def statuses(self, endpoint: Endpoint | None = None) -> list[RunStatus]:
        return [run.status for run in await self.runs(endpoint)]


async def test_a_round_claims_calls_and_records_what_is_due(stores: Stores) -> None:
    bench = Bench(stores)
    endpoint = an_endpoint()
    await add(stores, endpoint, an_endpoint(next_run_at=START + MINUTE))

    claimed = await bench.scheduler.run_once()

    (request,) = bench.caller.requests
    (run,) = await bench.runs()
    assert claimed == 1
    assert (request.endpoint_id, request.slot_id, request.attempt) == (endpoint.id, slot_id(endpoint.id, START), 1)
    assert (run.endpoint_id, run.status, run.slot_at, run.status_code) == (endpoint.id, RunStatus.SUCCESS, START, 200)
    assert (await get(stores, endpoint)).next_run_at == START + MINUTE


async def test_a_round_with_nothing_due_calls_nothing(stores: Stores) -> None:
    bench = Bench(stores)
    await add(stores, an_endpoint(next_run_at=START + timedelta(milliseconds=1)))

    assert await bench.scheduler.run_once() == 0
    assert bench.caller.requests == []


async def test_a_round_claims_no_more_than_there_are_places(stores: Stores) -> None:
    bench = Bench(stores, places=3)
    await add(stores, *(an_endpoint() for _ in range(5)))

    assert [await bench.scheduler.run_once() for _ in range(3)] == [3, 2, 0]


async def test_a_place_is_taken_until_its_result_is_recorded(stores: Stores) -> None:
    bench = Bench(stores, places=2)
    await add(stores, *(an_endpoint() for _ in range(3)))
    bench.caller.hold()
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 2, "two calls start")
        bench.store.is_away = True
        await bench.caller.let_go()
        await until(lambda: bench.metrics.database_up == 0, "the results cannot be recorded")

        assert bench.scheduler.in_flight == 2
        await holds_for(lambda: len(bench.caller.requests) == 2, "nothing new starts", 0.3)
        bench.store.is_away = False
        await until(lambda: len(bench.caller.requests) == 3, "the third one starts")


@pytest.mark.parametrize("fault", [StoreUnavailable("away"), ValueError("a bug")], ids=["away", "a bug"])
async def test_what_was_claimed_is_called_although_hints_cannot_be_expired(stores: Stores, fault: Exception) -> None:
    bench = Bench(stores)
    over = IntervalHint(1_000, START - MINUTE, "was busy", "ada")
    await add(stores, an_endpoint(), an_endpoint(next_run_at=START + MINUTE, interval_hint=over))
    bench.store.expire_fault = fault

    claimed = await bench.scheduler.run_once()

    assert claimed == 1
    assert await bench.statuses() == [RunStatus.SUCCESS]
    assert bench.scheduler.in_flight == 0


async def test_a_call_that_raises_is_a_failure_of_its_own_endpoint(stores: Stores) -> None:
    bench = Bench(stores)
    bad, good = an_endpoint(), an_endpoint()
    await add(stores, bad, good)
    bench.caller.answers[bad.id] = RuntimeError("a bug in calling")

    await bench.scheduler.run_once()

    (failed,) = await bench.runs(bad)
    assert (failed.status, failed.error_code) == (RunStatus.FAILURE, "internal")
    assert failed.error == "the call raised RuntimeError: a bug in calling"
    assert await bench.statuses(good) == [RunStatus.SUCCESS]


async def test_an_endpoint_that_throws_when_called_or_stored_is_pushed_ahead_and_no_other_is(stores: Stores) -> None:
    bench = Bench(stores, monotonic_ns=lambda: 0)  # a neighbour that starts late keeps another cadence
    await stores.endpoints.put_tenant(Tenant("other", "other"))
    called, stored, neighbour = an_endpoint(), an_endpoint(), an_endpoint()
    stranger = an_endpoint(tenant_id="other", job_id="job_other")
    await add(stores, called, stored, neighbour, stranger)
    bench.caller.answers |= {called.id: RuntimeError("a bug in calling"), stored.id: an_outcome()}
    bench.store.refuses = lambda finished: finished.outcome.body is not None

    await bench.scheduler.run_once()

    planned = [(await get(stores, each)).next_run_at for each in (called, stored, neighbour, stranger)]
    assert planned == [START + FAULTY_DELAY] * 2 + [START + MINUTE] * 2
    faulty = {event.endpoint_id for event in await told(stores) if event.type is EventType.ENDPOINT_FAULTY}
    assert faulty == {called.id, stored.id}


async def test_results_that_end_together_are_recorded_in_one_transaction(stores: Stores) -> None:
    bench = Bench(stores)
    await add(stores, *(an_endpoint() for _ in range(5)))

    await bench.scheduler.run_once()

    assert (await bench.statuses(), bench.store.finishes) == ([RunStatus.SUCCESS] * 5, 1)


async def test_a_hanging_target_takes_only_its_own_places(stores: Stores) -> None:
    bench = Bench(stores, places=4, per_host=2)
    hanging, quick = ([an_endpoint(host=f"{host}:80") for _ in range(6)] for host in ("hanging", "quick"))
    await add(stores, *hanging, *quick)
    for each in hanging:
        bench.caller.hold(each.id)
    async with bench.running():
        await until(lambda: bench.metrics.finished[RunStatus.SUCCESS] == 6, "the others run, one after the other")

        assert {each.endpoint_id for each in bench.caller.requests} >= {each.id for each in quick}
        assert bench.scheduler.in_flight == 2
        for each in hanging:
            await bench.caller.let_go(each.id)


async def test_a_manual_run_of_an_idle_endpoint_starts_now_and_keeps_the_cadence(
    stores: Stores, clock: FixedClock
) -> None:
    bench = Bench(stores)
    endpoint = an_endpoint(next_run_at=START + MINUTE)
    await add(stores, endpoint)
    clock.tick(seconds=10)
    await change(stores, endpoint, requested())

    assert await bench.scheduler.run_once() == 1

    (run,) = await bench.runs()
    assert (run.trigger, run.slot_at, run.status) == (RunTrigger.MANUAL, clock.now(), RunStatus.SUCCESS)
    assert (await get(stores, endpoint)).next_run_at == START + MINUTE


async def test_manual_runs_asked_for_during_a_run_are_queued_once_and_start_when_it_settles(stores: Stores) -> None:
    bench = Bench(stores)
    endpoint = an_endpoint()
    await add(stores, endpoint)
    bench.caller.hold()
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 1, "the run starts")
        for _ in range(3):
            await change(stores, endpoint, requested())
        await holds_for(lambda: len(bench.caller.requests) == 1, "one run at a time", 0.2)
        await bench.caller.let_go()
        await until(lambda: len(bench.caller.requests) == 2, "the queued one starts")
        await holds_for(lambda: len(bench.caller.requests) == 2, "exactly one was queued", 0.2)

    assert [run.trigger for run in await bench.runs()] == [RunTrigger.SCHEDULE, RunTrigger.MANUAL]
    assert (await get(stores, endpoint)).next_run_at == START + MINUTE


async def test_a_manual_run_that_was_given_back_keeps_the_cadence(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(next_run_at=START + MINUTE)
    await add(stores, endpoint)
    await change(stores, endpoint, requested())
    (claim,) = (await stores.schedule.claim_due("worker-0", 1, 30_000, Bench(stores).scheduler._caps)).claims
    await stores.schedule.release([claim])
    clock.tick(seconds=1)

    assert await Bench(stores).scheduler.run_once() == 1

    triggers = [(run.attempt, run.status) for run in await Bench(stores).runs()]
    assert triggers == [(1, RunStatus.ABANDONED), (2, RunStatus.SUCCESS)]
    assert (await get(stores, endpoint)).next_run_at == START + MINUTE
    assert await Bench(stores).scheduler.run_once() == 0


async def test_a_result_the_database_refuses_is_found_and_recorded_without_its_body(stores: Stores) -> None:
    bench = Bench(stores)
    endpoints = [an_endpoint() for _ in range(7)]
    poison = endpoints[4]
    await add(stores, *endpoints)
    bench.caller.answers[poison.id] = an_outcome()
    bench.store.refuses = lambda finished: finished.outcome.body is not None

    with capture_logs() as logs:
        await bench.scheduler.run_once()

    (refused,) = await bench.runs(poison)
    others = [status for each in endpoints if each is not poison for status in await bench.statuses(each)]
    assert (refused.status, refused.error_code, refused.status_code) == (RunStatus.FAILURE, "unstorable", 200)
    assert refused.error == "the result could not be stored: ValueError"
    assert others == [RunStatus.SUCCESS] * 6
    assert [line["endpoint_id"] for line in logs if line["event"] == "result unstorable"] == [poison.id]
    assert bench.scheduler.in_flight == 0


async def test_a_result_that_cannot_be_recorded_at_all_does_not_keep_the_others_from_being_recorded(
    stores: Stores,
) -> None:
    bench = Bench(stores, places=4)
    endpoints = [an_endpoint(), an_endpoint()]
    poison = endpoints[0]
    await add(stores, *endpoints)
    bench.store.refuses = lambda finished: finished.claim.endpoint.id == poison.id
    async with bench.running():

        async def is_recorded() -> bool:
            return await bench.statuses(endpoints[1]) == [RunStatus.SUCCESS]

        await until_true(is_recorded, "the neighbour is recorded")
        late = an_endpoint()
        await add(stores, late)
        await until(lambda: len(bench.caller.requests) == 3, "new work is called")

        async def late_is_recorded() -> bool:
            return await bench.statuses(late) == [RunStatus.SUCCESS]

        await until_true(late_is_recorded, "and recorded")


async def test_a_claim_that_raises_is_tried_again(stores: Stores) -> None:
    bench = Bench(stores)
    bench.store.claim_fault = ValueError("a row the database cannot read")
    await add(stores, an_endpoint())
    async with bench.running():
        await until(lambda: bench.store.claims >= 1, "the first claim raises")
        bench.store.claim_fault = None
        await until(lambda: len(bench.caller.requests) == 1, "a later one does not")


async def test_results_are_kept_while_the_store_is_away_and_recorded_when_it_is_back(stores: Stores) -> None:
    bench = Bench(stores)
    endpoint = an_endpoint()
    await add(stores, endpoint)
    bench.caller.hold()
    with capture_logs() as logs:
        async with bench.running():
            await until(lambda: len(bench.caller.requests) == 1, "the call starts")
            bench.store.is_away = True
            await bench.caller.let_go()
            await until(lambda: bench.store.finishes >= 2, "it is tried and tried again")
            assert not bench.scheduler.is_connected
            bench.store.is_away = False
            await until(lambda: bench.scheduler.in_flight == 0, "the result is recorded")

    assert await bench.statuses() == [RunStatus.SUCCESS]
    assert bench.metrics.dropped == 0
    said = [line["event"] for line in logs if str(line["event"]).startswith("database")]
    # A claim in progress may succeed in between.
    assert said == ["database unavailable", "database available"] * (len(said) // 2)


async def test_a_result_whose_endpoint_somebody_holds_keeps_no_other_waiting(stores: Stores, store_url: str) -> None:
    if is_sqlite(store_url):
        pytest.skip("SQLite has one writer and no row locks")
    bench = Bench(stores)
    held, free = an_endpoint(), an_endpoint()
    await add(stores, held, free)
    bench.caller.hold()
    connection = await asyncpg.connect(as_superuser(store_url))
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 2, "both are called")
        async with connection.transaction():
            await connection.execute("SELECT id FROM schedule WHERE id = $1 FOR UPDATE", held.id)
            await bench.caller.let_go()

            async def other_is_recorded() -> bool:
                return await bench.statuses(free) == [RunStatus.SUCCESS]

            await until_true(other_is_recorded, "the other result is recorded")
            assert await bench.statuses(held) == [RunStatus.RUNNING]

        async def both_are_recorded() -> bool:
            return set(await bench.statuses()) == {RunStatus.SUCCESS}

        await until_true(both_are_recorded, "the one that had to wait is recorded, too")
    await connection.close()

    assert bench.metrics.finished[RunStatus.SUCCESS] == 2
    assert bench.scheduler.in_flight == 0


async def test_a_result_whose_acknowledgement_was_lost_is_recorded_once(stores: Stores) -> None:
    bench = Bench(stores)
    endpoint = an_endpoint()
    await add(stores, endpoint)
    bench.caller.hold()
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 1, "the call starts")
        bench.store.loses_answer_to = "finish"
        await bench.caller.let_go()
        await until(lambda: bench.scheduler.in_flight == 0, "the result is recorded")

    assert bench.store.finishes == 2
    assert await bench.statuses() == [RunStatus.SUCCESS]
    assert kinds(await told(stores)).count(EventType.RUN_FINISHED) == 1
    assert (await get(stores, endpoint)).next_run_at == START + MINUTE


async def test_a_claim_whose_acknowledgement_was_lost_is_called_at_once(stores: Stores) -> None:
    bench = Bench(stores)
    held, endpoint = an_endpoint(), an_endpoint(next_run_at=START + MINUTE)
    await add(stores, held, endpoint)
    bench.caller.hold(held.id)
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 1, "the first call starts")
        bench.store.loses_answer_to = "claim"
        await change(stores, endpoint, requested())
        await until(lambda: len(bench.caller.requests) == 2, "the slot is called")
        await bench.caller.let_go(held.id)

    assert await bench.statuses(endpoint) == [RunStatus.ABANDONED, RunStatus.SUCCESS]
    assert await bench.statuses(held) == [RunStatus.SUCCESS]


async def test_a_result_is_dropped_when_its_lease_is_over_before_the_store_is_back(
    stores: Stores, clock: FixedClock
) -> None:
    bench = Bench(stores, lease_margin_ms=100)
    endpoint = an_endpoint(action=HttpAction(url="http://127.0.0.1:9/", timeout_ms=100))
    await add(stores, endpoint)
    bench.caller.hold()
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 1, "the call starts")
        bench.store.is_away = True
        await bench.caller.let_go()
        await until(lambda: bench.metrics.dropped == 1, "the result is dropped")
        assert bench.scheduler.in_flight == 0
        clock.tick(seconds=1)
        bench.store.is_away = False
        await until(lambda: len(bench.caller.requests) == 2, "the slot runs again")

    first, second = bench.caller.requests
    assert (second.slot_id, second.attempt) == (first.slot_id, 2)
    assert await bench.statuses() == [RunStatus.ABANDONED, RunStatus.SUCCESS]


async def test_a_result_whose_lease_is_over_outlasts_a_short_failure_of_the_store(stores: Stores) -> None:
    bench = Bench(stores, lease_margin_ms=100)
    await add(stores, an_endpoint(action=HttpAction(url="http://127.0.0.1:9/", timeout_ms=100)))
    bench.caller.hold()
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 1, "the call starts")
        bench.store.is_away = True
        await bench.caller.let_go()
        await until(lambda: bench.store.finishes == 2, "it is tried again, after its lease")
        bench.store.is_away = False
        await until(lambda: bench.scheduler.in_flight == 0, "the result is written")

    assert bench.metrics.dropped == 0
    assert await bench.statuses() == [RunStatus.SUCCESS]


async def test_a_result_that_comes_after_a_takeover_is_superseded_and_moves_nothing(
    stores: Stores, clock: FixedClock
) -> None:
    bench, other = Bench(stores, places=1), Bench(stores, worker="worker-2")  # no place to take its own slot over
    endpoint = an_endpoint()
    await add(stores, endpoint)
    bench.caller.hold()
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 1, "the call starts")
        clock.tick(seconds=61)
        await other.scheduler.run_once()
        moved_to = (await get(stores, endpoint)).next_run_at
        await bench.caller.let_go()
        await until(lambda: bench.metrics.superseded == 1, "the late result is superseded")

    assert await bench.statuses() == [RunStatus.SUPERSEDED, RunStatus.SUCCESS]
    assert (await get(stores, endpoint)).next_run_at == moved_to


async def test_stopping_waits_for_calls_in_flight_and_records_them(stores: Stores) -> None:
    bench = Bench(stores)
    await add(stores, *(an_endpoint() for _ in range(3)))
    bench.caller.hold()
    task = asyncio.create_task(bench.scheduler.run())
    await until(lambda: len(bench.caller.requests) == 3, "the calls start")
    bench.scheduler.stop()
    await add(stores, an_endpoint())
    await bench.caller.let_go()
    await task

    assert await bench.statuses() == [RunStatus.SUCCESS] * 3
    assert len(bench.caller.requests) == 3


async def test_what_does_not_end_within_the_grace_is_given_back_unless_it_may_run_once_only(stores: Stores) -> None:
    bench = Bench(stores, grace_s=0.1)
    again, once = an_endpoint(), an_endpoint(on_lost_worker=LostWorkerPolicy.SKIP)
    await add(stores, again, once)
    bench.caller.hold()
    task = asyncio.create_task(bench.scheduler.run())
    await until(lambda: len(bench.caller.requests) == 2, "the calls start")
    bench.scheduler.stop()
    await task

    other = Bench(stores, worker="worker-2")
    assert await other.scheduler.run_once() == 1
    (request,) = other.caller.requests
    assert (request.endpoint_id, request.slot_id, request.attempt) == (again.id, slot_id(again.id, START), 2)
    assert await bench.statuses(once) == [RunStatus.UNKNOWN]


async def test_what_ended_just_within_the_grace_is_recorded_although_that_takes_a_moment_longer(stores: Stores) -> None:
    bench = Bench(stores, grace_s=1.0)
    quick, slow = an_endpoint(), an_endpoint()
    await add(stores, quick, slow)
    bench.caller.hold(slow.id)
    bench.caller.hold(quick.id)
    task = asyncio.create_task(bench.scheduler.run())
    await until(lambda: len(bench.caller.requests) == 2, "the calls start")
    bench.store.finishes_after_release = True
    bench.scheduler.stop()
    await bench.caller.let_go(quick.id)
    await task

    assert await bench.statuses(quick) == [RunStatus.SUCCESS]
    assert await bench.statuses(slow) == [RunStatus.ABANDONED]


async def test_a_store_that_is_away_does_not_keep_a_stopping_scheduler(stores: Stores) -> None:
    bench = Bench(stores, grace_s=0.2)
    await add(stores, an_endpoint())
    bench.store.is_away = True
    task = asyncio.create_task(bench.scheduler.run())
    await until(lambda: bench.store.claims >= 4, "it waits ever longer for the store")
    bench.scheduler.stop()

    async with asyncio.timeout(20):
        await task


async def test_a_full_tenant_does_not_make_the_scheduler_spin(stores: Stores) -> None:
    bench = Bench(stores, per_tenant=1)
    await add(stores, an_endpoint(), an_endpoint())
    bench.caller.hold()
    async with bench.running():
        await until(lambda: len(bench.caller.requests) == 1, "one call starts")
        before = bench.store.claims
        await holds_for(lambda: bench.store.claims - before < 20, "it waits for a place", 0.5)
        assert len(bench.caller.requests) == 1
        await bench.caller.let_go()
        await until(lambda: len(bench.caller.requests) == 2, "the other one has its turn")
