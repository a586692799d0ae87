"""What is asked for with `dry_run`: the same answer as in earnest, and a database that knows nothing of it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.harness.config import a_config
from tests.stores.world import FixedClock, told

from mainspring.domain.endpoint import Endpoint, Job, JobStatus
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.schedule.changes import Change
from mainspring.operations.bulk_endpoints import Verb as BulkVerb
from mainspring.operations.bulk_endpoints import act_of, act_on_some
from mainspring.operations.context import Desk
from mainspring.operations.dry_run import dry_run_desk
from mainspring.operations.endpoints import (
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
from mainspring.operations.jobs import add_job, edit_job, set_job_status
from mainspring.operations.tenants import find_tenant, set_quotas
from mainspring.ports.endpoints import EndpointFilter, EndpointStore

HEALTH = a_config("health", "https://example.com/health", interval_ms=60_000, spread=False)
OTHER = replace(HEALTH, name="other")

Verb = Callable[[Desk], Awaitable[object]]
VERBS: dict[str, Verb] = {
    "edit": lambda desk: edit_endpoint(desk, "health", lambda old: replace(old, interval_ms=5_000)),
    "rename": lambda desk: edit_endpoint(desk, "health", lambda old: replace(old, name="wealth")),
    "put interval hint": lambda desk: put_interval_hint(desk, "health", 5_000),
    "put one-shot hint": lambda desk: put_one_shot_hint(desk, "health", lambda now: now + timedelta(seconds=9)),
    "clear hints": lambda desk: clear_hints(desk, "health"),
    "pause": lambda desk: pause_endpoint(desk, "health", lambda now: None),
    "resume": lambda desk: resume_endpoint(desk, "health"),
    "run": lambda desk: run_endpoint(desk, "health"),
    "reset failures": lambda desk: reset_failures(desk, "health"),
    "archive": lambda desk: archive_endpoint(desk, "health"),
    "delete": lambda desk: delete_endpoint(desk, "health"),
    "pause job": lambda desk: set_job_status(desk, "default", JobStatus.PAUSED),
    "edit job": lambda desk: edit_job(desk, "default", "shop"),
    "set quotas": lambda desk: set_quotas(desk, lambda tenant: replace(tenant, endpoints_max=5)),
}


async def everything(desk: Desk) -> tuple[object, ...]:
    endpoints = await desk.stores.endpoints.endpoints("default", EndpointFilter())
    jobs = await desk.stores.endpoints.jobs("default")
    return endpoints, jobs, await find_tenant(desk), await told(desk.stores)


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
async def test_rehearsed_verb_answers_as_in_earnest_and_writes_nothing(desk: Desk, verb: Verb) -> None:
    await add_endpoint(desk, HEALTH)
    before = await everything(desk)

    rehearsed = await verb(dry_run_desk(desk))

    assert await everything(desk) == before
    assert rehearsed == await verb(desk)


async def test_rehearsed_addition_is_seen_at_its_own_desk_only(desk: Desk) -> None:
    before = await everything(desk)
    trial = dry_run_desk(desk)

    added = await add_endpoint(trial, replace(HEALTH, job="shop"))

    assert await find_endpoint(trial, "health") == await find_endpoint(trial, added.id) == added
    assert added.job == "shop"
    assert added.next_run_at is not None
    assert await everything(desk) == before


async def test_rehearsal_refuses_what_the_store_would(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    await add_endpoint(desk, OTHER)
    await add_job(desk, "shop")
    trial = dry_run_desk(desk)

    with pytest.raises(Conflict, match="another endpoint is named 'health' already"):
        await add_endpoint(trial, HEALTH)
    with pytest.raises(Conflict, match="another endpoint is named 'other' already"):
        await edit_endpoint(trial, "health", lambda old: replace(old, name="other"))
    with pytest.raises(Conflict, match="another job is named 'shop' already"):
        await add_job(trial, "shop")
    with pytest.raises(InvalidInput, match="cannot pause until"):
        await pause_endpoint(trial, "health", lambda now: now)


async def test_later_steps_at_the_desk_see_the_earlier_ones(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    await add_endpoint(desk, OTHER)
    trial = dry_run_desk(desk)

    await archive_endpoint(trial, "health")
    again = await add_endpoint(trial, HEALTH)
    await delete_endpoint(trial, again.id)
    await delete_endpoint(trial, "other")

    with pytest.raises(NotFound):
        await find_endpoint(trial, again.id)
    listed = await trial.stores.endpoints.endpoints("default", EndpointFilter())
    assert [(each.id, each.archived_at) for each in listed] == [(endpoint.id, clock.now())]


async def test_many_endpoints_are_read_at_once(desk: Desk) -> None:
    names = [f"health-{number}" for number in range(20)]
    ids = [(await add_endpoint(desk, replace(HEALTH, name=name))).id for name in names]
    reads = CountedReads(desk.stores.endpoints)
    trial = dry_run_desk(replace(desk, stores=replace(desk.stores, endpoints=reads)))

    for _ in range(2):
        tally = await act_on_some(trial, ids, act_of(desk, BulkVerb.PAUSE, lambda now: None, ""))

    assert (tally.matched, tally.changed) == (20, 0), "the second time they are paused already"
    assert reads.count == 1


class CountedReads:
    def __init__(self, real: EndpointStore) -> None:
        self._real = real
        self.count = 0

    def __getattr__(self, name: str) -> object:
        self.count += 1
        return getattr(self._real, name)


async def test_nothing_becomes_of_ids_that_do_not_exist(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    store = dry_run_desk(desk).stores.endpoints

    assert await store.change_endpoints("default", ["ep_none"], lambda old, now: Change(old)) == []
    assert await store.change_endpoints("other", ["health"], lambda old, now: Change(old)) == []
    assert not await store.delete_endpoint("default", "ep_none", (await told(desk.stores))[0])


async def test_rehearsed_values_are_the_domains_own(desk: Desk) -> None:
    trial = dry_run_desk(desk)

    job = await add_job(trial, "shop")
    tenant = await set_quotas(trial, lambda tenant: replace(tenant, runs_per_month=7))

    assert isinstance(job, Job)
    assert isinstance(await add_endpoint(trial, replace(HEALTH, job="shop")), Endpoint)
    assert await find_tenant(trial) == tenant
