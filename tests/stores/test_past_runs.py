"""Earlier runs as templates read them: bounded, of earlier slots only, the same for every attempt."""

from datetime import timedelta

from tests.stores.world import START, FixedClock, add, an_endpoint, an_outcome, claim, finished, run_slot

from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import Body, RunStatus
from mainspring.domain.templates import PastRun
from mainspring.ports.stores import Stores

BOTH = ("previous", "last_success")


async def test_previous_run_and_last_success_are_told_apart(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    good = an_outcome(body=Body(b'{"n":1}', "application/json", False, 7), headers=(("ETag", "1"),))
    await run_slot(stores, clock, good)
    clock.at = START + timedelta(minutes=1)
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE, body=None))

    found = await stores.runs.past_runs("default", endpoint.id, START + timedelta(hours=1), BOTH)

    assert found == {
        "previous": PastRun("failure", START + timedelta(minutes=1), 500),
        "last_success": PastRun("success", START, 200, (("ETag", "1"),), b'{"n":1}'),
    }


async def test_first_run_has_no_earlier_one(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    assert await stores.runs.past_runs("default", endpoint.id, START + timedelta(hours=1), BOTH) == {}


async def test_every_attempt_at_a_slot_reads_the_same_earlier_run(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(retry=RetryPolicy(attempts=3, delay_ms=1_000))
    await add(stores, endpoint)
    await run_slot(stores, clock)
    clock.at = START + timedelta(minutes=1)
    seen = []
    for _ in range(2):
        (one,) = (await claim(stores)).claims
        seen.append(await stores.runs.past_runs("default", endpoint.id, one.slot_at, ("previous",)))
        await stores.schedule.finish([finished(one, an_outcome(RunStatus.FAILURE, error_code="http_status"))])
        clock.tick(seconds=2)
    assert seen[0] == seen[1] == {"previous": PastRun("success", START, 200, (), b'{"ok":true}')}


async def test_runs_of_another_tenant_are_not_read(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await run_slot(stores, clock)
    assert await stores.runs.past_runs("other", endpoint.id, START + timedelta(hours=1), BOTH) == {}
