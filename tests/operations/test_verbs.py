"""The verbs of an endpoint where they refuse, where they repeat themselves, and what they tell."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.harness.config import a_config
from tests.stores.world import START, FixedClock, an_outcome, claim, finished, get, told

from mainspring.domain.endpoint import JobStatus, Tenant
from mainspring.domain.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from mainspring.domain.event import EventType
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.changes import Change
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import (
    REASON_MAX,
    add_endpoint,
    archive_endpoint,
    clear_hints,
    delete_endpoint,
    edit_endpoint,
    find_endpoint,
    pause_endpoint,
    put_interval_hint,
    put_one_shot_hint,
    reset_failures,
    resume_endpoint,
    run_endpoint,
)
from mainspring.operations.jobs import add_job, edit_job, find_job, set_job_status
from mainspring.views.why import DecisionView, EndpointFacts

HEALTH = a_config("health", "https://example.com/health", interval_ms=60_000, spread=False)
SECOND = timedelta(seconds=1)
VERBS: dict[str, Callable[[Desk, str], Awaitable[object]]] = {
    "edit": lambda desk, name: edit_endpoint(desk, name, lambda old: old),
    "put interval hint": lambda desk, name: put_interval_hint(desk, name, 5_000),
    "put one-shot hint": lambda desk, name: put_one_shot_hint(desk, name, lambda now: now),
    "clear hints": clear_hints,
    "pause": lambda desk, name: pause_endpoint(desk, name, lambda now: None),
    "resume": resume_endpoint,
    "run": run_endpoint,
    "reset failures": reset_failures,
    "archive": archive_endpoint,
    "delete": delete_endpoint,
}


async def kinds_since(desk: Desk, count: int) -> list[str]:
    return [event.type.value for event in (await told(desk.stores))[count:]]


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
async def test_unknown_endpoint_is_not_found_and_the_nearest_is_suggested_by(
    desk: Desk, verb: Callable[[Desk, str], Awaitable[object]]
) -> None:
    await add_endpoint(desk, HEALTH)

    with pytest.raises(NotFound, match=r"no endpoint 'healht', did you mean 'health'\?"):
        await verb(desk, "healht")


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
async def test_endpoint_of_another_tenant_is_out_of_reach_of(
    desk: Desk, verb: Callable[[Desk, str], Awaitable[object]]
) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    await desk.stores.endpoints.put_tenant(Tenant("other", "other"))
    stranger = replace(desk, tenant_id="other")

    for name in ("health", endpoint.id):
        with pytest.raises(NotFound, match=r"^no endpoint '[^']*'$"):
            await verb(stranger, name)
    assert await get(desk.stores, endpoint) == endpoint


async def test_tenant_that_is_not_there_has_no_endpoints(desk: Desk) -> None:
    with pytest.raises(NotFound, match="no tenant 'nobody'"):
        await add_endpoint(replace(desk, tenant_id="nobody"), HEALTH)


async def test_acts_are_told_with_who_did_them(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    await pause_endpoint(desk, "health", lambda now: now + 60 * SECOND, "maintenance")

    event = next(event for event in await told(desk.stores) if event.type is EventType.ENDPOINT_PAUSED)

    assert (event.actor, event.endpoint_id) == ("ada", endpoint.id)
    assert event.data == {"until": "2025-01-01T00:01:00Z", "reason": "maintenance"}


async def test_hint_carries_its_author_and_its_reason(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)

    change = await put_interval_hint(desk, "health", 5_000, timedelta(minutes=5), "the queue grows")

    hint = change.endpoint.interval_hint
    assert hint is not None
    assert (hint.interval_ms, hint.expires_at, hint.reason, hint.author) == (
        5_000,
        START + timedelta(minutes=5),
        "the queue grows",
        "ada",
    )


REFUSALS: dict[str, tuple[Callable[[Desk], Awaitable[Change]], str]] = {
    "an interval hint below a second": (lambda desk: put_interval_hint(desk, "health", 999), "every"),
    "a hint that outlives a day": (lambda desk: put_interval_hint(desk, "health", 5_000, timedelta(hours=25)), "ttl"),
    "a hint without a life": (lambda desk: put_interval_hint(desk, "health", 5_000, timedelta(0)), "ttl"),
    "a one-shot beyond its life": (
        lambda desk: put_one_shot_hint(desk, "health", lambda now: now + timedelta(hours=1)),
        "at",
    ),
    "a pause that has ended": (lambda desk: pause_endpoint(desk, "health", lambda now: now), "until"),
    "a reason that is a novel": (
        lambda desk: pause_endpoint(desk, "health", lambda now: None, "x" * (REASON_MAX + 1)),
        "reason",
    ),
    "a reason with a NUL": (lambda desk: put_interval_hint(desk, "health", 5_000, reason="\x00"), "reason"),
    "an edit to no schedule": (
        lambda desk: edit_endpoint(desk, "health", lambda old: replace(old, interval_ms=None)),
        "every",
    ),
}


@pytest.mark.parametrize(("ask", "field"), REFUSALS.values(), ids=REFUSALS)
async def test_refused_and_nothing_written_is(desk: Desk, ask: Callable[[Desk], Awaitable[Change]], field: str) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    before = await told(desk.stores)

    with pytest.raises(InvalidInput) as refused:
        await ask(desk)
    assert refused.value.field == field
    assert await get(desk.stores, endpoint) == endpoint
    assert await told(desk.stores) == before


async def test_edit_that_changes_nothing_is_no_new_version(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)

    change = await edit_endpoint(desk, "health", lambda old: old)

    assert (change.endpoint, change.events) == (endpoint, ())


async def test_edit_to_a_name_that_is_taken_is_a_conflict(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    second = await add_endpoint(desk, replace(HEALTH, name="second"))

    with pytest.raises(Conflict, match="'health'"):
        await edit_endpoint(desk, "second", lambda old: replace(old, name="health"))
    assert await get(desk.stores, second) == second


async def test_edit_moves_an_endpoint_to_a_job_that_is_made_for_it(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)

    change = await edit_endpoint(desk, "health", lambda old: replace(old, job="shop"))

    assert change.endpoint.job_id == (await find_job(desk, "shop")).id


async def test_edit_to_a_paused_job_stops_the_endpoint_and_back_starts_it(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    await add_job(desk, "shop")
    await set_job_status(desk, "shop", JobStatus.PAUSED)

    stopped = await edit_endpoint(desk, "health", lambda old: replace(old, job="shop"))
    started = await edit_endpoint(desk, "health", lambda old: replace(old, job="default"))

    assert (stopped.endpoint.next_run_at, started.endpoint.next_run_at) == (None, START)


async def test_archived_job_takes_no_endpoint(desk: Desk) -> None:
    await add_job(desk, "shop")
    await set_job_status(desk, "shop", JobStatus.ARCHIVED)

    with pytest.raises(Conflict, match="job 'shop' is archived; choose another job"):
        await add_endpoint(desk, replace(HEALTH, job="shop"))


async def test_endpoint_of_a_paused_job_is_added_and_waits(desk: Desk) -> None:
    await add_job(desk, "shop")
    await set_job_status(desk, "shop", JobStatus.PAUSED)

    endpoint = await add_endpoint(desk, replace(HEALTH, job="shop"))

    assert endpoint.next_run_at is None


async def test_edited_interval_is_held_to_the_quota_of_the_tenant(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    await desk.stores.endpoints.put_tenant(Tenant("default", "default", interval_ms_min=60_000))

    with pytest.raises(QuotaExceeded, match="interval 30s is below the tenant's minimum 1m"):
        await edit_endpoint(desk, "health", lambda old: replace(old, interval_ms=30_000))


async def test_hint_is_held_to_the_tenants_minimum_interval(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    await desk.stores.endpoints.put_tenant(Tenant("default", "default", interval_ms_min=30_000))

    with pytest.raises(QuotaExceeded, match=r"interval 29\.999s is below the tenant's minimum 30s; raise it"):
        await put_interval_hint(desk, "health", 29_999)
    assert await get(desk.stores, endpoint) == endpoint
    assert (await put_interval_hint(desk, "health", 30_000)).endpoint.interval_hint is not None


async def test_archived_endpoint_makes_room_in_the_quota(desk: Desk) -> None:
    await desk.stores.endpoints.put_tenant(Tenant("default", "default", endpoints_max=1))
    await add_endpoint(desk, HEALTH)
    await archive_endpoint(desk, "health")

    await add_endpoint(desk, replace(HEALTH, name="second"))

    assert (await find_endpoint(desk, "second")).archived_at is None


async def test_archived_endpoint_is_found_by_its_id_only(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    await archive_endpoint(desk, "health")

    assert (await find_endpoint(desk, endpoint.id)).archived_at == START
    with pytest.raises(NotFound):
        await find_endpoint(desk, "health")


async def test_archive_of_an_archived_endpoint_tells_nothing_new(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    await archive_endpoint(desk, "health")
    before = len(await told(desk.stores))

    await archive_endpoint(desk, endpoint.id)

    assert await kinds_since(desk, before) == []


async def test_run_of_an_archived_endpoint_is_refused_with_the_way_out(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    await archive_endpoint(desk, "health")

    with pytest.raises(Conflict, match="is archived; an archived endpoint never runs again; create a new one"):
        await run_endpoint(desk, endpoint.id)


async def test_parked_endpoint_is_refused_a_run_and_comes_back_with_resume(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, HEALTH)
    for _ in range(6):
        await claim(desk.stores)
        clock.tick(seconds=60)

    with pytest.raises(Conflict, match=r"is parked \(lost its worker 5 times in a row.*; resume it first"):
        await run_endpoint(desk, "health")
    await resume_endpoint(desk, "health")
    assert len((await claim(desk.stores)).claims) == 1


async def test_run_resets_the_backoff_of_an_idle_endpoint(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, HEALTH)
    (each,) = (await claim(desk.stores)).claims
    await desk.stores.schedule.finish([finished(each, an_outcome(RunStatus.FAILURE))])
    clock.tick(seconds=10)

    change = await run_endpoint(desk, "health")

    assert (change.endpoint.failure_count, change.endpoint.manual_at) == (0, START + 10 * SECOND)


async def test_first_run_of_a_spread_endpoint_lies_within_its_interval(desk: Desk) -> None:
    starts = [
        (await add_endpoint(desk, replace(HEALTH, name=f"spread {number}", spread=True))).next_run_at
        for number in range(8)
    ]

    assert all(at is not None and START <= at < START + 60 * SECOND for at in starts)
    assert len(set(starts)) > 1


async def test_job_that_is_renamed_to_a_taken_name_is_a_conflict(desk: Desk) -> None:
    await add_job(desk, "one")
    await add_job(desk, "two", "the second")

    with pytest.raises(Conflict, match="'one'"):
        await edit_job(desk, "two", name="one")
    assert (await find_job(desk, "two")).description == "the second"


async def test_job_keeps_what_an_edit_does_not_name(desk: Desk, clock: FixedClock) -> None:
    job = await add_job(desk, "shop", "sells")
    clock.tick(seconds=1)

    edited = await edit_job(desk, job.id, description="sells more")

    assert edited == replace(job, description="sells more", updated_at=START + SECOND)
    assert await find_job(desk, "shop") == edited


async def test_unknown_job_suggests_the_nearest(desk: Desk) -> None:
    await add_job(desk, "billing")

    with pytest.raises(NotFound, match=r"no job 'biling', did you mean 'billing'\?"):
        await set_job_status(desk, "biling", JobStatus.PAUSED)


async def test_words_about_failures_are_true_where_runs_by_hand_failed(desk: Desk, clock: FixedClock) -> None:
    """Two of them in a row, of which the second ended the backoff of the first."""
    endpoint = await add_endpoint(desk, HEALTH)
    for _ in range(2):
        await run_endpoint(desk, "health")
        (only,) = (await claim(desk.stores)).claims
        await desk.stores.schedule.finish([finished(only, an_outcome(RunStatus.FAILURE))])
        clock.tick(seconds=1)
    failing = await get(desk.stores, endpoint)

    sentences = DecisionView.of(EndpointFacts(failing, clock.now()), None).sentences
    assert failing.failure_count == 1
    assert not [each for each in sentences if "in a row" in each]
    assert sentences[-1] == (
        "The last run failed. A success, a manual run or a reset of the failures ends the backoff: "
        "mainspring endpoint reset 'health'."
    )
