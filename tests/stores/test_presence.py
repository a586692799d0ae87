"""Presence: a dead process is told from a silent one, and everything it held is free for others at once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from msgspec.structs import replace
from tests.harness.waiting import until_true
from tests.stores.databases import empty
from tests.stores.flow_world import a_ticker, a_workflow, publish, start, tick
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished, get, get_run

from mainspring.domain.endpoint import LOST_WORKERS_MAX, Endpoint, LostWorkerPolicy, Tenant
from mainspring.domain.event import Event, EventType
from mainspring.domain.notify.delivery import Delivery, DeliveryStatus, Settled
from mainspring.domain.notify.subscription import Subscription, Webhook
from mainspring.domain.run import RunStatus, RunTrigger
from mainspring.domain.schedule.fairness import Caps
from mainspring.ports.notifications import Intake
from mainspring.ports.presence import Freed, WorkerRow
from mainspring.ports.stores import Stores
from mainspring.wiring.stores import open_stores

DEAD = "host-1-dead"
ALIVE = "host-2-alive"


@asynccontextmanager
async def process(url: str, clock: FixedClock, worker: str = DEAD) -> AsyncIterator[Stores]:
    """Another process, until it dies where the block ends: it says nothing, its connections are closed."""
    async with open_stores(url, clock=clock) as stores:
        await stores.presence.appear(worker)
        await stores.presence.beat(worker, {"scheduler": 10})
        yield stores


async def free(stores: Stores, clock: FixedClock, worker: str = ALIVE) -> Freed:
    """What a survivor frees once the others are silent; a server that has just started is given its time."""
    clock.tick(seconds=3.5)
    suspects = await stores.presence.beat(worker, {"scheduler": 10})
    freed = Freed()

    async def is_freed() -> bool:
        nonlocal freed
        freed = await stores.presence.free_lost(suspects)
        return bool(freed.workers)

    await until_true(is_freed, "what the dead process held is freed")
    return freed


async def test_process_is_listed_with_every_kind_of_work_it_does(stores: Stores, clock: FixedClock) -> None:
    await stores.presence.appear(ALIVE)
    await stores.presence.beat(ALIVE, {"scheduler": 10, "notifier": 32})
    clock.tick(seconds=1)
    await stores.presence.beat(ALIVE, {"scheduler": 20, "notifier": 32})

    assert await stores.presence.alive() == [
        WorkerRow(ALIVE, "notifier", 32, START, clock.now()),
        WorkerRow(ALIVE, "scheduler", 20, START, clock.now()),
    ]


async def test_process_that_died_or_left_or_is_silent_is_not_listed(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    async with process(store_url, clock) as other:
        assert [row.id for row in await stores.presence.alive()] == [DEAD]
        clock.tick(seconds=11)
        assert await stores.presence.alive() == []
        await other.presence.beat(DEAD, {"scheduler": 10})

    async def is_gone() -> bool:
        return await stores.presence.alive() == []

    await until_true(is_gone, "the server has noticed")
    await stores.presence.appear(ALIVE)
    await stores.presence.beat(ALIVE, {"scheduler": 10})
    await stores.presence.leave(ALIVE)
    assert await stores.presence.alive() == []


async def test_slots_of_a_dead_worker_start_again_long_before_their_leases_end(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    scheduled, asked = an_endpoint(), an_endpoint(next_run_at=START + timedelta(hours=1), manual_at=START)
    await add(stores, scheduled, asked)
    async with process(store_url, clock) as other:
        first = {each.endpoint.id: each for each in (await claim(other, worker=DEAD)).claims}

    freed = await free(stores, clock)
    again = {each.endpoint.id: each for each in (await claim(stores, worker=ALIVE)).claims}

    assert freed == Freed((DEAD,), runs=2)
    assert {each.endpoint.id: (each.slot_id, each.attempt, each.trigger) for each in again.values()} == {
        each: (first[each].slot_id, 2, RunTrigger.RETRY) for each in (scheduled.id, asked.id)
    }
    lost = await get_run(stores, first[scheduled.id])
    assert (lost.status, lost.error_code, lost.finished_at) == (RunStatus.ABANDONED, "lost_worker", clock.now())
    assert lost.error == f"worker {DEAD} died before it recorded a result"
    assert (await get(stores, asked)).next_run_at == START + timedelta(hours=1)


async def test_late_result_of_a_worker_taken_for_dead_changes_nothing(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    async with process(store_url, clock) as other:
        (lost,) = (await claim(other, worker=DEAD)).claims
    await free(stores, clock)
    (taken,) = (await claim(stores, worker=ALIVE)).claims

    report = await stores.schedule.finish([finished(lost)])

    assert report.superseded == (lost.run_id,)
    assert (await get(stores, endpoint)).run_id == taken.run_id


async def test_slot_that_may_run_once_ends_as_unknown_at_once_and_takes_no_place(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    once, other_one = an_endpoint(on_lost_worker=LostWorkerPolicy.SKIP), an_endpoint(next_run_at=START)
    await add(stores, once, other_one)
    caps = Caps(per_tenant=1000, per_host=2)
    async with process(store_url, clock) as other:
        (lost,) = [each for each in (await claim(other, worker=DEAD, caps=caps)).claims if each.endpoint.id == once.id]
    assert (await claim(stores, worker=ALIVE, caps=caps)).claims == ()

    await free(stores, clock)

    ended = await get_run(stores, lost)
    left = await get(stores, once)
    assert (ended.status, left.is_running, left.slot_at) == (RunStatus.UNKNOWN, False, None)
    assert left.next_run_at is not None
    assert left.next_run_at > clock.now()
    assert [each.endpoint.id for each in (await claim(stores, worker=ALIVE, caps=caps)).claims] == [other_one.id]


async def test_silent_process_whose_lock_is_held_keeps_what_it_has(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    """A stopped process, or one on a busy machine: its lease decides."""
    await add(stores, an_endpoint())
    async with process(store_url, clock) as other:
        await claim(other, worker=DEAD)
        clock.tick(seconds=20)
        suspects = await stores.presence.beat(ALIVE, {"scheduler": 10})

        assert suspects == (DEAD,)
        assert await stores.presence.free_lost(suspects) == Freed()
        assert (await claim(stores, worker=ALIVE)).claims == ()


async def test_process_that_beats_without_its_lock_keeps_what_it_has(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    """The database restarted: every lock is gone, and the beats go on."""
    await add(stores, an_endpoint())
    await claim(stores, worker=DEAD)
    await stores.presence.beat(DEAD, {"scheduler": 10})
    clock.tick(seconds=2.9)

    assert await stores.presence.beat(ALIVE, {"scheduler": 10}) == ()
    assert await stores.presence.free_lost([DEAD]) == Freed()


async def test_behind_a_bouncer_silence_alone_says_that_a_process_is_dead(
    shared_postgres_url: str, clock: FixedClock
) -> None:
    """No lock can be held there, so a process has longer to beat."""
    await empty(shared_postgres_url)
    async with open_stores(shared_postgres_url, clock=clock, behind_bouncer=True) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        await add(stores, an_endpoint())
        await claim(stores, worker=DEAD)
        await stores.presence.appear(DEAD)
        await stores.presence.beat(DEAD, {"scheduler": 10})
        assert [row.id for row in await stores.presence.alive()] == [DEAD]
        clock.tick(seconds=14)
        assert await stores.presence.beat(ALIVE, {"scheduler": 10}) == ()
        clock.tick(seconds=2)

        freed = await free(stores, clock)

        assert freed == Freed((DEAD,), runs=1)


async def test_process_that_died_before_the_clock_was_set_back_is_found_dead(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await add(stores, an_endpoint())
    async with process(store_url, clock) as other:
        await claim(other, worker=DEAD)
    clock.tick(hours=-1)

    freed = await free(stores, clock)

    assert freed == Freed((DEAD,), runs=1)


async def test_two_survivors_free_a_dead_worker_once(
    stores: Stores, other_stores: Stores, store_url: str, clock: FixedClock
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    async with process(store_url, clock) as other:
        await claim(other, worker=DEAD)

    await free(stores, clock)

    assert await other_stores.presence.free_lost([DEAD]) == Freed()
    assert (await get(stores, endpoint)).lost_count == 1


async def test_partition_of_a_dead_ticker_is_led_by_another_at_once(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    async with process(store_url, clock) as other:
        await other.flows.workflows.clock(0, 1_000)
        assert await other.flows.ticks.lead(0, DEAD, 30_000) is not None
    assert await stores.flows.ticks.is_led(0)
    assert await stores.flows.ticks.lead(0, ALIVE, 30_000) is None

    freed = await free(stores, clock)

    assert freed == Freed((DEAD,), partitions=1)
    assert not await stores.flows.ticks.is_led(0)
    assert await stores.flows.ticks.lead(0, ALIVE, 30_000) is not None


async def test_effect_of_a_dead_dispatcher_is_sent_by_another_at_once(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    call = {"call": {"url": "http://127.0.0.1:9000/"}, "timeout": "30s"}
    workflow = await publish(stores, a_workflow(call, {"end": "done"}))
    await start(stores, workflow, "exec_1")
    await tick(a_ticker(stores), clock, 2)
    async with process(store_url, clock) as other:
        (sent,) = await other.flows.effects.claim_effects(DEAD, 10, 30_000)
    assert await stores.flows.effects.claim_effects(ALIVE, 10, 30_000) == []

    freed = await free(stores, clock)
    (again,) = await stores.flows.effects.claim_effects(ALIVE, 10, 30_000)

    assert freed == Freed((DEAD,), effects=1)
    assert (again.key, again.was_sent) == (sent.key, True)


async def test_delivery_of_a_dead_notifier_is_sent_by_another_at_once(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await deliver(stores)
    async with process(store_url, clock) as other:
        (begun,) = await other.outbox.claim_deliveries(DEAD, 10, 10, 60_000, [])
    assert await stores.outbox.claim_deliveries(ALIVE, 10, 10, 60_000, []) == []

    freed = await free(stores, clock)
    (again,) = await stores.outbox.claim_deliveries(ALIVE, 10, 10, 60_000, [])

    assert freed == Freed((DEAD,), deliveries=1)
    assert (again.id, again.attempt) == (begun.id, begun.attempt + 1)


async def test_delivery_that_a_dead_notifier_had_settled_waits_for_its_next_attempt(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await deliver(stores)
    later = START + timedelta(hours=1)
    async with process(store_url, clock) as other:
        (begun,) = await other.outbox.claim_deliveries(DEAD, 10, 10, 60_000, [])

        def settle(mine: Delivery, there: Subscription | None, now: object) -> Settled:
            return Settled(replace(mine, next_attempt_at=later), there)

        await other.outbox.finish_delivery(begun, settle)

    freed = await free(stores, clock)

    assert freed == Freed((DEAD,))
    assert await stores.outbox.next_attempt_at() == later


async def test_endpoint_that_a_dead_analyst_looked_at_is_looked_at_by_another(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    endpoint = an_endpoint(description="watch it", last_run_at=START)
    await add(stores, endpoint)
    async with process(store_url, clock) as other:
        assert await other.sessions.claim_analyses(DEAD, 600_000, 300_000, 10, 12) == [endpoint.id]
    assert await stores.sessions.claim_analyses(ALIVE, 600_000, 300_000, 10, 12) == []

    freed = await free(stores, clock)

    assert freed == Freed((DEAD,), sessions=1)
    assert await stores.sessions.claim_analyses(ALIVE, 600_000, 300_000, 10, 12) == [endpoint.id]


async def test_bystanders_of_five_crashes_are_not_parked_and_the_one_that_was_alone_is(
    stores: Stores, store_url: str, clock: FixedClock
) -> None:
    """Thirty runs that die together five times are no more suspicious than the weather; one that dies alone is."""
    bystanders = [an_endpoint() for _ in range(30)]
    await add(stores, *bystanders)
    for _ in range(LOST_WORKERS_MAX):
        await crash(stores, store_url, clock)
    assert {each.parked_at for each in [await get(stores, each) for each in bystanders]} == {None}

    for each in bystanders[1:]:
        await set_aside(stores, each)
    suspect = await get(stores, bystanders[0])
    while suspect.parked_at is None and suspect.lost_count < 2 * LOST_WORKERS_MAX:
        await crash(stores, store_url, clock)
        suspect = await get(stores, bystanders[0])

    assert suspect.lost_count == LOST_WORKERS_MAX + 1
    assert suspect.parked_reason == (
        "lost its worker 6 times in a row, and no other run explains it; find out why, then resume it"
    )


async def test_slots_of_a_worker_that_leaves_count_against_no_endpoint(stores: Stores, clock: FixedClock) -> None:
    again, once = an_endpoint(lost_count=4), an_endpoint(lost_count=4, on_lost_worker=LostWorkerPolicy.SKIP)
    await add(stores, again, once)
    claims = {each.endpoint.id: each for each in (await claim(stores, worker=ALIVE)).claims}
    await stores.presence.beat(ALIVE, {"scheduler": 10})

    await stores.presence.leave(ALIVE)

    given_back, left = await get(stores, again), await get(stores, once)
    assert [(each.lost_count, each.parked_at, each.is_running) for each in (given_back, left)] == [(4, None, False)] * 2
    assert (given_back.next_run_at, left.slot_at) == (clock.now(), None)
    statuses = [(await get_run(stores, claims[each.id])).status for each in (again, once)]
    assert statuses == [RunStatus.ABANDONED, RunStatus.UNKNOWN]


async def crash(stores: Stores, url: str, clock: FixedClock) -> None:
    """A process claims whatever is due, and dies."""
    async with process(url, clock) as other:
        await claim(other, worker=DEAD)
    await free(stores, clock)


async def set_aside(stores: Stores, endpoint: Endpoint) -> None:
    await stores.endpoints.delete_endpoint(
        endpoint.tenant_id, endpoint.id, Event(EventType.ENDPOINT_DELETED, START, endpoint.tenant_id, endpoint.id)
    )


async def deliver(stores: Stores) -> None:
    """One delivery that is due."""
    webhook = Subscription(
        "sub_1", "default", "hook", Webhook("http://127.0.0.1:9/", (), ()), True, 1, START, START, START
    )
    await stores.subscriptions.add_subscription(webhook, Event(EventType.WEBHOOK_CREATED, START, "default"))
    delivery = Delivery(
        "del_1", "default", "sub_1", "", "key", "run.finished", "{}", DeliveryStatus.PENDING, 0, START, START, START
    )
    assert await stores.outbox.take_in(Intake(deliveries=(delivery,)))
