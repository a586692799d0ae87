"""Strays: runs that the database takes for a worker's, and the worker does not have.

The answer to a claim is lost with its connection, or a standby took over that lacks what the old primary acknowledged.
"""

import pytest
from tests.stores.databases import query
from tests.stores.world import START, add, an_endpoint, claim, finished, get, get_run, kinds, told

from mainspring.domain.endpoint import LostWorkerPolicy
from mainspring.domain.event import EventType
from mainspring.domain.run import RunStatus
from mainspring.ports.stores import Stores
from mainspring.stores.postgres.schedule import PostgresSchedule

REWIND = "UPDATE schedule SET revision = 0, claim_epoch = 0, lease_until = NULL, slot_at = NULL, run_id = ''"


async def test_slot_of_a_stray_is_due_again_at_once(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (stray,) = (await claim(stores)).claims

    released = await stores.schedule.release_strays("worker-1", ())

    (again,) = (await claim(stores)).claims
    assert released == 1
    assert (again.slot_at, again.attempt) == (START, 2)
    assert (await get_run(stores, stray)).status is RunStatus.ABANDONED
    assert kinds(await told(stores)).count(EventType.RUN_ABANDONED) == 1


async def test_stray_that_may_run_once_is_unknown(stores: Stores) -> None:
    endpoint = an_endpoint(on_lost_worker=LostWorkerPolicy.SKIP)
    await add(stores, endpoint)
    (stray,) = (await claim(stores)).claims

    await stores.schedule.release_strays("worker-1", ())

    assert (await get_run(stores, stray)).status is RunStatus.UNKNOWN
    assert (await claim(stores)).claims == ()


async def test_runs_that_a_worker_has_and_runs_of_others_are_left_alone(stores: Stores) -> None:
    await add(stores, an_endpoint())
    (mine,) = (await claim(stores)).claims
    await add(stores, an_endpoint())
    (theirs,) = (await claim(stores, worker="worker-2")).claims

    assert await stores.schedule.release_strays("worker-1", {mine.run_id}) == 0
    report = await stores.schedule.finish([finished(mine), finished(theirs)])
    assert set(report.recorded) == {mine.run_id, theirs.run_id}


@pytest.mark.parametrize("store_url", ["postgres"], indirect=True)
async def test_server_that_forgot_a_claim_takes_no_result_of_it_for_the_next_one(
    store_url: str, stores: Stores, other_stores: Stores
) -> None:
    """The standby that took over has given the same epoch and the same revision to the claim of another worker."""
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (forgotten,) = (await claim(stores)).claims
    await query(store_url, REWIND)
    await query(store_url, "DELETE FROM run")
    (current,) = (await claim(other_stores, worker="worker-2")).claims
    assert current.epoch == forgotten.epoch
    assert isinstance(stores.schedule, PostgresSchedule)
    stores.schedule._db.note_server("the standby that took over")

    report = await stores.schedule.finish([finished(forgotten)])

    assert report.superseded == (forgotten.run_id,)
    assert (await get(stores, endpoint)).run_id == current.run_id
    assert (await get(stores, endpoint)).is_running
    assert (await other_stores.schedule.finish([finished(current)])).recorded == (current.run_id,)
