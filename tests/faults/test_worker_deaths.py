"""A dead worker is replaced in seconds, at the settings that users have.

Workers are killed with calls, effects and messages in flight. What they held must be taken up within five seconds, long
before any lease ends. A worker that is asked to stop delays no run by more than two seconds.
"""

import asyncio
import time
from collections.abc import Collection
from datetime import datetime, timedelta

import pytest

from mainspring.domain.event import Event, EventType
from mainspring.domain.notify.subscription import WebhookDraft
from mainspring.domain.run import RunStatus
from mainspring.operations.webhooks import add_webhook
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.stores import Stores
from tests.faults.conftest import Figures
from tests.faults.ledger import Ledger, all_runs, read_ledger
from tests.faults.random_kills import drain, ready, start_workers
from tests.faults.stage import Stage, calling, fill, stand_still
from tests.faults.worker_forker import COMMAND, Nursery, Worker
from tests.harness.pace import Pace
from tests.harness.waiting import until, until_true
from tests.peers.journal import Entry, Journal
from tests.stores.databases import query
from tests.stores.flow_world import a_workflow, publish, start

STILL_S = 5.0
LATE_S = 2.0
LEASE_S = 60.0  # the timeout of a call, 30 s, and the default margin
TICKER_LEASE_S = 30.0
ENDPOINTS = 30
INTERVAL_MS = 1_000
CALL_MS = 100
ASK_S = 0.05  # every question is a new connection
WORKERS = {"sqlite": 2, "postgres": 4}


def workers_of(stage: Stage) -> int:
    return WORKERS["sqlite" if stage.is_sqlite else "postgres"]


async def load(stage: Stage, journal: Journal) -> set[str]:
    """Thirty endpoints on one host, every second, spread over it, whose calls take a moment."""
    async with stage.stores() as stores:
        from_at = await stores.schedule.now() + timedelta(seconds=2)
        endpoints = [
            calling(
                journal.url(f"/{number}?delay_ms={CALL_MS}"),
                from_at + timedelta(milliseconds=INTERVAL_MS * number / ENDPOINTS),
                INTERVAL_MS,
                timeout_ms=30_000,
            )
            for number in range(ENDPOINTS)
        ]
        await fill(stores, endpoints)
    paths = {f"/{number}?delay_ms={CALL_MS}" for number in range(ENDPOINTS)}
    await until_all_are_called(journal, paths, 0.0, 60)
    return paths


async def until_all_are_called(journal: Journal, paths: Collection[str], since: float, deadline_s: float) -> float:
    """How long after `since` the last of the endpoints was called."""

    def first_calls() -> dict[str, float]:
        calls: dict[str, float] = {}
        for entry in journal.entries():
            if entry.at > since:
                calls.setdefault(entry.path, entry.at)
        return calls

    await until(lambda: first_calls().keys() >= set(paths), "every endpoint is called again", deadline_s)
    return max(at for path, at in first_calls().items() if path in paths) - since


async def one_with_runs_in_flight(stores: Stores, nursery: Nursery) -> Worker:
    async def find() -> Worker | None:
        endpoints = await stores.endpoints.endpoints("default", EndpointFilter(limit=1_000))
        holders = [each.claimed_by for each in endpoints if each.is_running]
        found = [worker for worker in nursery.running if any(f"-{worker.pid}-" in each for each in holders)]
        return found[0] if found else None

    worker = await until_true(find, "a worker has runs in flight")
    assert worker is not None
    return worker


async def every_loss_is_made_good(stores: Stores) -> bool:
    """True if no endpoint is under suspicion. An endpoint that is alone in flight at five deaths in a row is parked.

    A kill right after the last retried call arrived would hit exactly that endpoint, again and again.
    """
    endpoints = await stores.endpoints.endpoints("default", EndpointFilter(limit=1_000))
    return all(each.lost_count == 0 for each in endpoints)


def assert_nothing_lost_and_nothing_twice(ledger: Ledger) -> None:
    assert ledger.lost() == []
    assert ledger.recorded_twice() == []
    assert ledger.moved_twice() == []
    assert ledger.early() == []
    assert ledger.count(RunStatus.RUNNING) == 0
    assert {each.parked_at for each in ledger.endpoints.values()} == {None}


async def test_killed_worker_among_several_keeps_no_endpoint_still_for_five_seconds(
    stage: Stage, journal: Journal, long_run: bool, figures: Figures, pace: Pace
) -> None:
    kills = 50 if long_run else 3
    stage = stage.at_defaults()
    waits: list[float] = []
    with stage.nursery() as nursery:
        await start_workers(nursery, workers_of(stage))
        paths = await load(stage, journal)
        async with stage.stores() as stores:
            for _ in range(kills):
                await until_true(lambda: every_loss_is_made_good(stores), "every lost run has been made good")
                (await one_with_runs_in_flight(stores, nursery)).kill()
                killed_at = time.time()
                await ready([nursery.start()])
                waits.append(await until_all_are_called(journal, paths, killed_at, 60))
            await drain(nursery, stores)
            ledger = await read_ledger(stores, journal.entries())

    figures(kills=kills, longest_s=round(max(waits), 1), **ledger.figures())
    assert ledger.count(RunStatus.ABANDONED) > 0
    assert_nothing_lost_and_nothing_twice(ledger)
    assert max(waits) <= pace.fair(STILL_S)


async def test_without_presence_the_endpoints_of_a_killed_worker_wait_for_their_leases(
    sqlite_stage: Stage, journal: Journal, figures: Figures
) -> None:
    """The negative control: with the guard off, the test above must fail."""
    stage = sqlite_stage.at_defaults()
    with stage.nursery("no_takeover") as nursery:
        await start_workers(nursery, 2)
        paths = await load(stage, journal)
        async with stage.stores() as stores:
            (await one_with_runs_in_flight(stores, nursery)).kill()
            killed_at = time.time()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(2 * STILL_S):
                    await until_all_are_called(journal, paths, killed_at, 60)
            held = [each.lease_until for each in await stores.endpoints.endpoints("default", EndpointFilter(limit=100))]

    figures(still_leased=len([at for at in held if at is not None]))


async def test_killed_serve_that_is_started_again_keeps_no_endpoint_still_for_five_seconds(
    stage: Stage, journal: Journal, long_run: bool, figures: Figures, pace: Pace
) -> None:
    kills = 20 if long_run else 2
    stage = stage.at_defaults()
    waits: list[float] = []
    with stage.nursery(port=0) as nursery:
        serve = {COMMAND: "serve"}
        await ready([nursery.start(serve)])
        paths = await load(stage, journal)
        async with stage.stores() as stores:
            for _ in range(kills):
                await until_true(lambda: every_loss_is_made_good(stores), "every lost run has been made good")
                (await one_with_runs_in_flight(stores, nursery)).kill()
                await ready([nursery.start(serve)])
                waits.append(await until_all_are_called(journal, paths, time.time(), 60))
            await drain(nursery, stores)
            ledger = await read_ledger(stores, journal.entries())

    figures(kills=kills, longest_s=round(max(waits), 1), **ledger.figures())
    assert ledger.count(RunStatus.ABANDONED) > 0
    assert_nothing_lost_and_nothing_twice(ledger)
    assert max(waits) <= pace.fair(STILL_S)


async def test_worker_that_is_asked_to_stop_delays_no_run_by_two_seconds(
    stage: Stage, journal: Journal, long_run: bool, figures: Figures, pace: Pace
) -> None:
    rounds = 5 if long_run else 1
    stage = stage.at_defaults()
    with stage.nursery() as nursery:
        workers = await start_workers(nursery, workers_of(stage))
        await load(stage, journal)
        async with stage.stores() as stores:
            for _ in range(rounds):
                for worker in workers:
                    await ready([nursery.start()])
                    worker.terminate()
                    await until(lambda worker=worker: not worker.is_running, "a worker drains", 60)  # type: ignore[misc]  # bound now
                workers = nursery.running
            await drain(nursery, stores)
            ledger = await read_ledger(stores, journal.entries())

    late = [entry.at - datetime.fromisoformat(entry.slot).timestamp() for entry in journal.entries()]
    figures(restarts=rounds * len(workers), latest_s=round(max(late), 2), **ledger.figures())
    assert_nothing_lost_and_nothing_twice(ledger)
    assert max(late) <= pace.fair(LATE_S)


async def leader_of(stage: Stage, nursery: Nursery) -> Worker:
    """The process that writes the one partition, once that is one that runs."""

    async def find() -> Worker | None:
        await asyncio.sleep(ASK_S)
        rows = await query(stage.url, "SELECT worker FROM workflow_partition WHERE lease_until_us > 0")
        found = [each for each in nursery.running if any(f"-{each.pid}-" in str(name) for (name,) in rows)]
        return found[0] if found else None

    worker = await until_true(find, "a running process leads the partition", 120)
    assert worker is not None
    return worker


async def test_partition_of_a_killed_ticker_is_written_by_another_within_five_seconds(
    stage: Stage, journal: Journal, long_run: bool, figures: Figures, pace: Pace
) -> None:
    kills = 20 if long_run else 2
    stage = stage.at_defaults()
    paths = {f"/x{number}" for number in range(6)}
    waits: list[float] = []
    async with stage.stores() as stores:
        loop = a_workflow(
            {"call": {"url": journal.url("/{{ input.name }}")}, "visits": 9_999},
            {"wait": "1s", "next": "s0", "visits": 9_999},
        )
        workflow = await publish(stores, loop)
        for number in range(6):
            await start(stores, workflow, f"x{number}", {"name": f"x{number}"})
        with stage.nursery() as nursery:
            await start_workers(nursery, 2)
            await until_all_are_called(journal, paths, 0.0, 60)
            for _ in range(kills):
                (await leader_of(stage, nursery)).kill()
                killed_at = time.time()
                nursery.start()
                await leader_of(stage, nursery)
                waits.append(time.time() - killed_at)
                await until_all_are_called(journal, paths, time.time(), 60)

    figures(kills=kills, longest_s=round(max(waits), 1), calls=len(journal.entries()))
    assert max(waits) <= pace.fair(STILL_S)


async def test_worker_that_stands_still_keeps_its_slots_for_its_lease_and_no_longer(
    long_only: None, stage: Stage, journal: Journal, figures: Figures, pace: Pace
) -> None:
    """Its lock is held, so nothing says that it is dead: the timeout of a run and the lease margin have to pass.

    The short version is test_takeover.py, with short leases; of the next one it is test_tickers.py.
    """
    stage = stage.at_defaults()
    with stage.nursery() as nursery:
        await start_workers(nursery, 2)
        paths = await load(stage, journal)
        async with stage.stores() as stores:
            victim = await stop_one_with_runs_in_flight(stage, stores, nursery)
            stopped_at = time.time()
            wait_s = await until_all_are_called(journal, paths, stopped_at, 180)
            victim.thaw()
            await until_true(lambda: has_brought_late_results(stores), "its results come too late")
            await drain(nursery, stores)
            ledger = await read_ledger(stores, journal.entries())

    figures(longest_s=round(wait_s, 1), **ledger.figures())
    assert_nothing_lost_and_nothing_twice(ledger)
    assert STILL_S < wait_s <= pace.fair(LEASE_S + STILL_S)


async def test_partition_of_a_ticker_that_stands_still_is_written_by_another_once_its_lease_ends(
    long_only: None, stage: Stage, journal: Journal, figures: Figures, pace: Pace
) -> None:
    stage = stage.at_defaults()
    async with stage.stores() as stores:
        loop = a_workflow(
            {"call": {"url": journal.url("/x")}, "visits": 9_999}, {"wait": "1s", "next": "s0", "visits": 9_999}
        )
        await start(stores, await publish(stores, loop), "x")
        with stage.nursery() as nursery:
            await start_workers(nursery, 2)
            await until_all_are_called(journal, {"/x"}, 0.0, 90)
            leader = await leader_of(stage, nursery)
            await stand_still(stage, leader)
            stopped_at = time.time()
            while (await leader_of(stage, nursery)).pid == leader.pid:
                assert time.time() < stopped_at + 180, "the partition is led by a ticker that stands still"
            wait_s = time.time() - stopped_at
            await until_all_are_called(journal, {"/x"}, time.time(), 60)
            leader.thaw()
            await until_all_are_called(journal, {"/x"}, time.time(), 60)

    figures(longest_s=round(wait_s, 1), calls=len(journal.entries()))
    assert STILL_S < wait_s <= pace.fair(TICKER_LEASE_S + STILL_S)


async def has_brought_late_results(stores: Stores) -> bool:
    return any(run.status is RunStatus.SUPERSEDED for run in await all_runs(stores))


async def stop_one_with_runs_in_flight(stage: Stage, stores: Stores, nursery: Nursery) -> Worker:
    """Stop a worker between its commits; one that had nothing in flight by then goes on, and another try is made."""
    while True:
        worker = await one_with_runs_in_flight(stores, nursery)
        await stand_still(stage, worker)
        endpoints = await stores.endpoints.endpoints("default", EndpointFilter(limit=1_000))
        if any(each.is_running and f"-{worker.pid}-" in each.claimed_by for each in endpoints):
            return worker
        worker.thaw()


async def sender(stage: Stage, nursery: Nursery, what: str) -> Worker:
    """Who has the one effect or delivery that is on its way."""
    sending = {
        "effect": "SELECT worker FROM execution_effect WHERE status = 'sending' ORDER BY due_us DESC LIMIT 1",
        "delivery": "SELECT worker FROM delivery WHERE worker <> '' ORDER BY next_attempt_at DESC LIMIT 1",
    }[what]
    ((name,),) = await query(stage.url, sending)
    (found,) = [worker for worker in nursery.running if f"-{worker.pid}-" in str(name)]
    return found


@pytest.mark.parametrize("what", ["effect", "delivery"])
async def test_what_a_killed_worker_was_sending_is_sent_again_within_five_seconds(
    stage: Stage, journal: Journal, what: str, long_run: bool, figures: Figures, pace: Pace
) -> None:
    """The receiver takes longer to answer than the sender has to live; every attempt has the same id."""
    kills = 20 if long_run else 1
    stage = stage.at_defaults()
    slow = journal.url("/slow?first_delay_ms=60000" if what == "effect" else "/slow?delay_ms=6000")
    waits: list[float] = []
    command = {COMMAND: "scheduler" if what == "effect" else "notifier"}
    started = "dispatcher started" if what == "effect" else "notifier started"
    async with stage.stores() as stores, stage.desk() as desk:
        if what == "effect":
            step = {"call": {"url": slow}, "timeout": "60s"}
            workflow = await publish(stores, a_workflow(step, {"end": "done"}))
            # A ticker that finds nothing newer than a day waits a minute before it trusts its clock.
            now = await stores.schedule.now()
            await stores.runs.add_events([Event(EventType.JOB_UPDATED, now, "default")])
        else:
            await add_webhook(desk, WebhookDraft(slow, types=("job.updated",)))
        with stage.nursery() as nursery:
            for _ in range(2):
                await asyncio.to_thread(nursery.start(command).wait_for, started)
            for number in range(kills):
                known = {entry.webhook_id for entry in journal.entries()}
                if what == "effect":
                    await start(stores, workflow, f"x{number}")
                else:
                    now = await stores.schedule.now()
                    await stores.runs.add_events([Event(EventType.JOB_UPDATED, now, "default")])

                def arrived(known: set[str] = known) -> list[Entry]:
                    return [entry for entry in journal.entries() if entry.webhook_id not in known]

                await until(lambda: len(arrived()) == 1, "it is sent")
                victim = await sender(stage, nursery, what)
                victim.kill()
                killed_at = time.time()
                await until(lambda: len(arrived()) == 2, "it is sent again", 120)
                first, again = arrived()
                assert again.webhook_id == first.webhook_id
                waits.append(again.at - killed_at)
                await asyncio.to_thread(nursery.start(command).wait_for, started)

    figures(kills=kills, longest_s=round(max(waits), 1))
    assert max(waits) <= pace.fair(STILL_S)
