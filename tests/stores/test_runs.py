"""The record of runs: what is listed, in which order, and that looking at an endpoint by a test run moves nothing."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    an_outcome,
    change,
    claim,
    finished,
    get,
    hinted_once,
    requested,
    run_slot,
    told,
)

from mainspring.domain.endpoint import Endpoint, MisfirePolicy, Tenant
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import Body, Outcome, Run, RunStatus, RunTrigger
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.governor import decode_trail
from mainspring.domain.text import REPLACEMENT
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.wiring.clock import TimeOrderedIds

IDS = TimeOrderedIds()


async def some_runs(stores: Stores, clock: FixedClock, *endpoints: Endpoint, rounds: int = 5) -> list[Claim]:
    """Runs of these endpoints, oldest first; every second round fails."""
    await add(stores, *endpoints)
    claims: list[Claim] = []
    for number in range(rounds):
        clock.at = (await get(stores, endpoints[0])).next_run_at or START
        status = RunStatus.FAILURE if number % 2 else RunStatus.SUCCESS
        claims += sorted(await run_slot(stores, clock, an_outcome(status)), key=lambda each: each.run_id)
    return claims


async def listed(stores: Stores, wanted: RunFilter, tenant_id: str = "default") -> list[str]:
    return [run.id for run in await stores.runs.runs(tenant_id, wanted)]


def a_test_run(endpoint: Endpoint, **fields: object) -> Run:
    given: dict[str, object] = {
        "id": IDS.new("run", START), "tenant_id": "default", "endpoint_id": endpoint.id, "slot_at": START, "attempt": 1,
        "trigger": RunTrigger.TEST, "source": "", "status": RunStatus.SUCCESS, "started_at": START, "worker": "ada",
        "finished_at": START + timedelta(milliseconds=12), "duration_ms": 12, "status_code": 200,
    }  # fmt: skip
    make: Callable[..., Run] = Run
    return make(**given | fields)


async def test_runs_are_listed_newest_first(stores: Stores, clock: FixedClock) -> None:
    claims = await some_runs(stores, clock, an_endpoint(), an_endpoint())

    assert await listed(stores, RunFilter()) == [each.run_id for each in reversed(claims)]


@pytest.mark.parametrize("limit", [1, 2, 3, 1_000])
async def test_runs_are_listed_in_pages_that_lose_and_repeat_none(
    stores: Stores, clock: FixedClock, limit: int
) -> None:
    claims = await some_runs(stores, clock, an_endpoint(), an_endpoint())
    seen: list[str] = []
    while page := await listed(stores, RunFilter(before_id=seen[-1] if seen else None, limit=limit)):
        seen += page

    assert seen == [each.run_id for each in reversed(claims)]


async def test_runs_of_one_endpoint_are_listed_in_pages(stores: Stores, clock: FixedClock) -> None:
    wanted, other = an_endpoint(), an_endpoint()
    claims = await some_runs(stores, clock, wanted, other)
    mine = [each.run_id for each in reversed(claims) if each.endpoint.id == wanted.id]

    first = await listed(stores, RunFilter(endpoint_id=wanted.id, limit=3))
    rest = await listed(stores, RunFilter(endpoint_id=wanted.id, before_id=first[-1]))

    assert (first, rest) == (mine[:3], mine[3:])


async def test_runs_are_listed_by_status(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    claims = await some_runs(stores, clock, endpoint)
    failed = [each.run_id for each in reversed(claims[1::2])]

    assert await listed(stores, RunFilter(status="failure")) == failed
    assert await listed(stores, RunFilter(endpoint_id=endpoint.id, status="failure")) == failed
    assert await listed(stores, RunFilter(status="failed")) == failed
    assert await listed(stores, RunFilter(endpoint_id=endpoint.id, status="failed")) == failed
    assert await listed(stores, RunFilter(status="blocked")) == []


async def test_runs_of_another_tenant_are_neither_listed_nor_found(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    (each,) = await some_runs(stores, clock, endpoint, rounds=1)
    await stores.endpoints.put_tenant(Tenant("other", "other"))

    assert await listed(stores, RunFilter(), tenant_id="other") == []
    assert await listed(stores, RunFilter(endpoint_id=endpoint.id), tenant_id="other") == []
    assert await stores.runs.run("other", each.run_id) is None
    assert await stores.runs.body("other", each.run_id) is None


async def test_unknown_run_is_none(stores: Stores) -> None:
    assert await stores.runs.run("default", "run_nobody") is None
    assert await stores.runs.body("default", "run_nobody") is None


async def test_run_is_seen_while_it_is_running(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims

    assert await stores.runs.runs("default", RunFilter(status="running")) == [
        Run(
            each.run_id, "default", endpoint.id, START, 1, RunTrigger.SCHEDULE, "baseline-interval", RunStatus.RUNNING,
            START, claim_epoch=1, worker="worker-1", trail=endpoint.trail,
        )
    ]  # fmt: skip


async def test_retried_run_says_so(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    await claim(stores)
    clock.tick(seconds=60)
    await claim(stores, worker="worker-2")

    retried, lost = await stores.runs.runs("default", RunFilter())

    assert (retried.trigger, retried.attempt, retried.status) == (RunTrigger.RETRY, 2, RunStatus.RUNNING)
    assert (lost.trigger, lost.attempt, lost.status) == (RunTrigger.SCHEDULE, 1, RunStatus.ABANDONED)


async def test_run_keeps_the_decision_that_planned_it(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(stores, endpoint)
    await change(stores, endpoint, hinted_once(timedelta(seconds=20)))
    decided = await get(stores, endpoint)
    clock.tick(seconds=20)
    await run_slot(stores, clock)

    (run,) = await stores.runs.runs("default", RunFilter())

    assert (run.trigger, run.source, run.trail) == (RunTrigger.SCHEDULE, "ai-oneshot", decided.trail)
    assert [(step.rule, step.verdict) for step in decode_trail(run.trail)] == [
        ("baseline-interval", "lost"),
        ("ai-oneshot", "won"),
    ]


async def test_requested_run_says_so(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(next_run_at=START + timedelta(hours=1))
    await add(stores, endpoint)
    await change(stores, endpoint, requested())
    await run_slot(stores, clock)

    (run,) = await stores.runs.runs("default", RunFilter())

    assert (run.trigger, run.slot_at, run.status) == (RunTrigger.MANUAL, START, RunStatus.SUCCESS)


async def test_missed_slots_are_one_row(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(misfire=MisfirePolicy.SKIP)
    await add(stores, endpoint)
    clock.tick(minutes=10, seconds=45)

    assert (await claim(stores)).claims == ()
    (missed,) = await stores.runs.runs("default", RunFilter())
    assert (missed.status, missed.missed_count, missed.slot_at) == (RunStatus.MISSED, 11, START)


async def test_test_run_is_recorded_with_its_body(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    run = a_test_run(endpoint)
    body = Body(b"\x00\xff", "application/octet-stream", True, 9_000_000_000)

    await stores.runs.add_test_run(run, an_outcome(body=body), [])

    assert await stores.runs.run("default", run.id) == run
    assert await stores.runs.body("default", run.id) == body


async def test_test_run_changes_no_schedule_state(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(failure_count=3)
    await add(stores, endpoint)
    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE))
    before = await get(stores, endpoint)

    await stores.runs.add_test_run(a_test_run(endpoint), an_outcome(), [])

    assert await get(stores, endpoint) == before


async def test_test_run_beside_a_live_run_leaves_it_alone(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims

    await stores.runs.add_test_run(a_test_run(endpoint), an_outcome(), [])

    assert (await stores.schedule.finish([finished(each)])).recorded == (each.run_id,)


async def test_test_run_is_told_in_its_own_transaction(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    run = a_test_run(endpoint)
    event = Event(EventType.RUN_FINISHED, START, "default", endpoint.id, run.id, "ada", {"trigger": "test"})

    await stores.runs.add_test_run(run, an_outcome(), [event])

    assert (await told(stores))[-1] == event


@pytest.mark.parametrize("hostile", ["\x00", "\ud800"], ids=["a NUL", "a lone surrogate"])
async def test_hostile_text_in_a_test_run_is_kept_as_far_as_it_is_text(stores: Stores, hostile: str) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    run = a_test_run(endpoint, status=RunStatus.FAILURE, error=f"odd {hostile}")
    outcome = Outcome(RunStatus.FAILURE, 12, body=Body(b"x", f"text/{hostile}", False, 1))

    await stores.runs.add_test_run(run, outcome, [])

    stored = await stores.runs.run("default", run.id)
    assert stored is not None
    assert stored.error == f"odd {REPLACEMENT}"
    assert await stores.runs.body("default", run.id) == Body(b"x", f"text/{REPLACEMENT}", False, 1)
