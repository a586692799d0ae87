"""The ledger, which judges the workers of the other fault tests, is no stricter than the schedule, and no milder."""

import dataclasses
from datetime import timedelta

from msgspec.structs import replace

from mainspring.domain.endpoint import LostWorkerPolicy
from mainspring.domain.run import RunStatus
from mainspring.ports.stores import Stores
from tests.faults.ledger import read_ledger
from tests.stores.world import FixedClock, add, an_endpoint, an_outcome, claim, get, run_slot


async def test_slot_after_a_lost_worker_is_looked_for_where_the_backoff_put_it(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint(on_lost_worker=LostWorkerPolicy.SKIP)
    await add(stores, endpoint)
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))
    clock.tick(minutes=2)
    await claim(stores, worker="lost")
    clock.tick(minutes=2)
    await claim(stores)  # the lease is over: the slot is given up
    given_up_at = await stores.schedule.now()
    planned = await get(stores, endpoint)
    ledger = await read_ledger(stores, ())
    moved = replace(planned, next_run_at=given_up_at + timedelta(minutes=1))

    assert planned.next_run_at == given_up_at + timedelta(minutes=2)
    assert ledger.count(RunStatus.UNKNOWN) == 1
    assert ledger.lost() == []
    assert len(dataclasses.replace(ledger, endpoints={endpoint.id: moved}).lost()) == 1
