"""Further attempts at a slot that failed, on both databases: what is stored, and what a lost worker leaves."""

from datetime import timedelta

from msgspec.structs import replace
from tests.stores.world import (
    LEASE_MARGIN_MS,
    START,
    FixedClock,
    add,
    an_endpoint,
    an_outcome,
    change,
    claim,
    edited,
    finished,
    get,
    kinds,
    requested,
    run_slot,
    told,
)

from mainspring.domain.endpoint import BackoffPolicy, Endpoint, LostWorkerPolicy
from mainspring.domain.health import sum_up
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import RunStatus, RunTrigger
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores

DOWN = an_outcome(RunStatus.FAILURE, status_code=503, error_code="http_status", error="HTTP 503")
POLICY = RetryPolicy(attempts=3, delay_ms=5_000, factor=2, max_delay_ms=60_000, on=("5xx", "timeout"))


def hourly(**fields: object) -> Endpoint:
    settings: dict[str, object] = {"interval_ms": 3_600_000, "retry": POLICY}
    return an_endpoint("hourly", **settings | fields)


async def runs_of(stores: Stores, endpoint: Endpoint) -> list[tuple[int, str, str]]:
    """Attempt, trigger and status, oldest first."""
    found = await stores.runs.runs(endpoint.tenant_id, RunFilter(endpoint.id))
    return [(run.attempt, run.trigger.value, run.status.value) for run in reversed(found)]


async def test_settings_are_stored_and_read_back(stores: Stores) -> None:
    endpoint = hourly(confirm="2 within 10s", backoff=BackoffPolicy.NONE)
    await add(stores, endpoint)

    found = await get(stores, endpoint)

    assert (found.retry, found.confirm, found.backoff) == (POLICY, "2 within 10s", BackoffPolicy.NONE)
    plain = await change(stores, endpoint, edited(retry=None, confirm=None))
    assert (plain.retry, plain.confirm) == (None, None)
    assert (await get(stores, endpoint)).retry is None


async def test_attempts_are_runs_of_one_slot_and_the_failure_counts_once(stores: Stores, clock: FixedClock) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    slots = []
    for wait_s in (0, 5, 10):
        clock.tick(seconds=wait_s)
        (started,) = await run_slot(stores, clock, DOWN)
        slots.append(started.slot_id)
        early = await claim(stores)
        assert early.claims == (), "no attempt starts before its time"

    ended = await get(stores, endpoint)
    assert len(set(slots)) == 1
    assert await runs_of(stores, endpoint) == [
        (1, "schedule", "retried"),
        (2, "retry", "retried"),
        (3, "retry", "failure"),
    ]
    assert (ended.failure_count, ended.failed_attempts, ended.slot_at) == (1, 0, None)
    assert ended.next_run_at == START + timedelta(hours=2)
    events = kinds(await told(stores))
    assert (events.count("run.retried"), events.count("run.finished")) == (2, 1)


async def test_attempt_that_is_tried_again_keeps_its_error_and_does_not_touch_health(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    await run_slot(stores, clock, DOWN)
    clock.tick(seconds=5)
    await run_slot(stores, clock)

    retried, success = reversed(await stores.runs.runs("default", RunFilter(endpoint.id)))
    assert (retried.status, retried.status_code, retried.error) == (RunStatus.RETRIED, 503, "HTTP 503")
    assert success.status is RunStatus.SUCCESS
    hour = sum_up(await stores.look.results("default", endpoint.id, START), clock.now())[0]
    assert (hour.runs, hour.successes) == (1, 1)


async def test_lost_attempt_is_taken_over_and_uses_up_no_retry(stores: Stores, clock: FixedClock) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    await run_slot(stores, clock, DOWN)
    clock.tick(seconds=5)
    (lost,) = (await claim(stores, worker="doomed")).claims
    clock.tick(milliseconds=lost.endpoint.action.timeout_ms + LEASE_MARGIN_MS)

    (again,) = await run_slot(stores, clock, DOWN)

    assert (again.attempt, again.slot_id, again.trigger) == (3, lost.slot_id, RunTrigger.RETRY)
    waiting = await get(stores, endpoint)
    assert (waiting.failed_attempts, waiting.failure_count) == (2, 0)
    late = await stores.schedule.finish([finished(lost)])
    assert late.superseded == (lost.run_id,), "the result of the lost worker changes nothing"
    assert [status for _, _, status in await runs_of(stores, endpoint)] == ["retried", "superseded", "retried"]


async def test_lost_attempt_that_may_run_only_once_ends_the_slot(stores: Stores, clock: FixedClock) -> None:
    endpoint = hourly(on_lost_worker=LostWorkerPolicy.SKIP)
    await add(stores, endpoint)
    await run_slot(stores, clock, DOWN)
    clock.tick(seconds=5)
    (lost,) = (await claim(stores)).claims
    clock.tick(milliseconds=lost.endpoint.action.timeout_ms + LEASE_MARGIN_MS)

    assert (await claim(stores)).claims == ()

    left = await get(stores, endpoint)
    assert (lost.attempt, left.slot_at) == (2, None)
    assert [status for _, _, status in await runs_of(stores, endpoint)] == ["retried", "unknown"]


async def test_attempt_that_a_shutdown_gives_back_starts_again(stores: Stores, clock: FixedClock) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    await run_slot(stores, clock, DOWN)
    clock.tick(seconds=5)
    batch = await claim(stores)
    await stores.schedule.release(batch.claims)

    (again,) = (await claim(stores, worker="worker-2")).claims

    assert (again.attempt, again.endpoint.failed_attempts, again.slot_id) == (3, 1, batch.claims[0].slot_id)


async def test_requested_run_takes_the_place_of_the_next_attempt(stores: Stores, clock: FixedClock) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    await run_slot(stores, clock, DOWN)
    await change(stores, endpoint, requested())

    (manual,) = await run_slot(stores, clock)

    assert (manual.trigger, manual.attempt) == (RunTrigger.MANUAL, 1)
    clock.tick(seconds=10)
    assert (await claim(stores)).claims == ()


async def test_second_finish_of_a_retried_attempt_changes_nothing(stores: Stores, clock: FixedClock) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    (started,) = await run_slot(stores, clock, DOWN)
    waiting = await get(stores, endpoint)

    report = await stores.schedule.finish([finished(started, DOWN)])

    assert report.recorded == (started.run_id,)
    assert await get(stores, endpoint) == waiting
    assert replace(waiting, failed_attempts=0) != waiting
