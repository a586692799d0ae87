"""What a user may ask for about jobs, signing keys and previews."""

from datetime import timedelta
from itertools import pairwise

import pytest
from msgspec.structs import replace
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, get

from mainspring.domain.endpoint import JobStatus
from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import BASELINE_INTERVAL
from mainspring.domain.schedule.hint import OneShotHint
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import run_endpoint
from mainspring.operations.jobs import add_job, edit_job, find_job, set_job_status
from mainspring.operations.preview import preview
from mainspring.operations.signing_keys import add_signing_key, list_signing_keys, revoke_signing_key


async def test_paused_job_runs_nothing_and_resumed_job_runs_what_is_overdue(desk: Desk, clock: FixedClock) -> None:
    endpoints = [an_endpoint() for _ in range(3)]
    await add(desk.stores, *endpoints)

    await set_job_status(desk, "job_default", JobStatus.PAUSED)
    assert (await claim(desk.stores)).claims == ()
    assert (await get(desk.stores, endpoints[0])).next_run_at is None

    await set_job_status(desk, "job_default", JobStatus.ACTIVE)
    assert len((await claim(desk.stores)).claims) == 3


async def test_run_now_of_an_endpoint_in_a_paused_job_is_refused_with_the_way_out(desk: Desk) -> None:
    await add(desk.stores, an_endpoint("health"))
    await set_job_status(desk, "job_default", JobStatus.PAUSED)

    with pytest.raises(Conflict, match="belongs to a job that is not active; resume the job first"):
        await run_endpoint(desk, "health")


async def test_archived_job_stays_archived(desk: Desk) -> None:
    await add_job(desk, "shop")
    await set_job_status(desk, "shop", JobStatus.ARCHIVED)

    with pytest.raises(Conflict, match="job 'shop' is archived, which cannot be undone"):
        await set_job_status(desk, "shop", JobStatus.ACTIVE)


async def test_job_is_renamed_and_found_by_its_new_name(desk: Desk) -> None:
    job = await add_job(desk, "shop", "everything that sells")

    await edit_job(desk, "shop", name="store")

    assert (await find_job(desk, "store")).id == job.id
    with pytest.raises(NotFound, match="no job 'shopp'"):
        await find_job(desk, "shopp")


async def test_signing_keys_are_listed_without_the_keys_and_end_when_revoked(desk: Desk, clock: FixedClock) -> None:
    old = await add_signing_key(desk, "whsec_old")
    clock.tick(seconds=1)
    new = await add_signing_key(desk, "whsec_new")
    tenant = await desk.stores.endpoints.tenant("default")
    assert tenant is not None
    opened = [desk.vault.open(key, "default|signing") for key in tenant.signing_keys]

    await revoke_signing_key(desk, old)

    assert opened == ["whsec_new", "whsec_old"]
    assert await list_signing_keys(desk) == [(new, START + timedelta(seconds=1))]
    with pytest.raises(NotFound, match="no signing key"):
        await revoke_signing_key(desk, old)


async def test_job_is_found_by_its_id_also_where_another_was_named_so_before_that_was_refused(desk: Desk) -> None:
    first = await add_job(desk, "shop")
    with pytest.raises(InvalidInput, match="has the form of an id"):
        await add_job(desk, first.id)
    event = Event(EventType.JOB_CREATED, START, desk.tenant_id)
    await desk.stores.endpoints.add_job(replace(first, id="job_old", name=first.id), event)

    assert await find_job(desk, first.id) == first


def test_preview_shows_the_next_runs_each_on_its_slot() -> None:
    decisions = preview(an_endpoint(), START, 3, CRON)

    assert [decision.next_run_at for decision in decisions] == [START + timedelta(minutes=n) for n in range(3)]


def test_preview_with_failures_backs_off_as_if_every_run_failed() -> None:
    decisions = preview(an_endpoint(anchor_at=START), START, 3, CRON, failures=1)

    gaps = [(b.next_run_at - a.next_run_at).total_seconds() for a, b in pairwise(decisions)]
    assert [decision.source for decision in decisions] == [BASELINE_INTERVAL] * 3
    assert gaps == [240, 480]


def test_preview_shows_a_one_shot_once() -> None:
    hint = OneShotHint(START + timedelta(seconds=30), START + timedelta(minutes=30))
    endpoint = replace(an_endpoint(next_run_at=START + timedelta(seconds=30)), one_shot_hint=hint, source="ai-oneshot")

    decisions = preview(endpoint, START, 3, CRON)

    assert [decision.source for decision in decisions] == ["ai-oneshot", BASELINE_INTERVAL, BASELINE_INTERVAL]
