"""What a user may ask for about endpoints, through the whole way down to the database."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config, edited
from tests.stores.databases import file_of, is_sqlite, query
from tests.stores.world import START, FixedClock, claim, finished, get

from mainspring.domain.definition import config_of
from mainspring.domain.endpoint import EndpointConfig, Tenant
from mainspring.domain.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from mainspring.domain.event import EventType
from mainspring.domain.run import Header
from mainspring.domain.schedule.changes import Change
from mainspring.operations.context import Desk
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
from mainspring.ports.records import RunFilter

HEALTH = a_config("health", "https://example.com/health", interval_ms=60_000, spread=False)
CANARY = "canary-Zq81-in-a-header"


async def event_types(desk: Desk) -> list[EventType]:
    return [stored.event.type for stored in await desk.stores.runs.events_after("", "default", 1000)]


async def test_added_endpoint_is_due_at_once_and_its_job_is_made(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, replace(HEALTH, job="shop"))

    assert endpoint.next_run_at == START
    assert [job.name for job in await desk.stores.endpoints.jobs("default")] == ["shop"]
    assert await get(desk.stores, endpoint) == endpoint
    assert await event_types(desk) == [EventType.JOB_CREATED, EventType.ENDPOINT_CREATED]


async def test_second_endpoint_of_the_same_name_is_a_conflict_until_the_first_is_archived(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    with pytest.raises(Conflict, match="another endpoint is named 'health' already"):
        await add_endpoint(desk, HEALTH)

    await archive_endpoint(desk, "health")
    again = await add_endpoint(desk, HEALTH)

    assert (await find_endpoint(desk, "health")).id == again.id


async def test_unknown_endpoint_suggests_the_nearest_name(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)

    with pytest.raises(NotFound, match="no endpoint 'helth', did you mean 'health'"):
        await find_endpoint(desk, "helth")


async def test_secret_header_is_nowhere_in_the_database(desk: Desk, store_url: str) -> None:
    headers = (Header("Authorization", f"Bearer {CANARY}"), Header("X-Plain", "seen"))
    endpoint = await add_endpoint(desk, edited(HEALTH, headers=headers))

    if is_sqlite(store_url):
        files = [file_of(store_url), file_of(store_url).with_name("mainspring.db-wal")]
        at_rest = b"".join(file.read_bytes() for file in files if file.exists())
        assert CANARY.encode() not in at_rest
        assert b"X-Plain" in at_rest
    else:
        rows = await query(store_url, "SELECT row_to_json(endpoint)::text FROM endpoint")
        events = await query(store_url, "SELECT events FROM event")
        assert all(CANARY not in str(row) for row in (*rows, *events))
    sealed = http_of(endpoint).headers[0]
    opened = desk.vault.open(sealed.value, f"default|{endpoint.id}|header:authorization")
    assert opened == f"Bearer {CANARY}"


async def test_edit_keeps_secrets_it_does_not_touch(desk: Desk) -> None:
    headers = (Header("Authorization", f"Bearer {CANARY}"),)
    before = await add_endpoint(desk, edited(HEALTH, headers=headers))

    change = await edit_endpoint(desk, "health", lambda old: replace(old, description="the shop's pulse"))

    assert http_of(change.endpoint).headers == http_of(before).headers
    assert change.endpoint.version == 2


async def test_edit_may_not_bring_more_headers_than_an_endpoint_may_have(desk: Desk) -> None:
    first, second = ([Header(f"x-{half}-{n}", "1") for n in range(30)] for half in ("a", "b"))
    await add_endpoint(desk, edited(HEALTH, headers=tuple(first)))

    with pytest.raises(InvalidInput, match="headers"):
        await edit_endpoint(desk, "health", lambda old: edited(old, headers=(*http_of(old).headers, *second)))


async def test_edited_interval_counts_from_the_last_run(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    (each,) = (await claim(desk.stores)).claims
    await desk.stores.schedule.finish([finished(each)])
    clock.tick(seconds=20)

    await edit_endpoint(desk, "health", lambda old: replace(old, interval_ms=30_000))

    assert (await get(desk.stores, endpoint)).next_run_at == START + timedelta(seconds=30)


async def test_edit_that_does_not_concern_the_schedule_moves_nothing(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    (each,) = (await claim(desk.stores)).claims
    await desk.stores.schedule.finish([finished(each)])
    clock.tick(seconds=20)

    await edit_endpoint(desk, "health", lambda old: replace(old, description="quiet"))

    assert (await get(desk.stores, endpoint)).next_run_at == START + timedelta(seconds=60)


async def test_edit_during_a_run_counts_when_the_run_ends(desk: Desk, clock: FixedClock) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    (each,) = (await claim(desk.stores)).claims
    await edit_endpoint(desk, "health", lambda old: replace(old, interval_ms=300_000))
    clock.tick(seconds=1)

    await desk.stores.schedule.finish([finished(each)])

    assert (await get(desk.stores, endpoint)).next_run_at == START + timedelta(minutes=5)


async def test_tightening_hint_moves_the_next_run_and_clearing_it_brings_the_baseline_back(
    desk: Desk, clock: FixedClock
) -> None:
    await add_endpoint(desk, replace(HEALTH, interval_ms=3_600_000))
    (each,) = (await claim(desk.stores)).claims
    await desk.stores.schedule.finish([finished(each)])
    clock.tick(seconds=10)

    hinted = await put_interval_hint(desk, "health", 30_000, reason="queue grows")
    cleared = await clear_hints(desk, "health")

    assert hinted.endpoint.next_run_at == START + timedelta(seconds=40)
    assert cleared.endpoint.next_run_at == START + timedelta(hours=1)


async def test_one_shot_is_counted_by_the_stores_clock(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, replace(HEALTH, interval_ms=3_600_000))
    (each,) = (await claim(desk.stores)).claims
    await desk.stores.schedule.finish([finished(each)])
    clock.tick(seconds=10)

    hinted = await put_one_shot_hint(desk, "health", lambda now: now + timedelta(seconds=30))

    assert hinted.endpoint.next_run_at == START + timedelta(seconds=40)


async def test_one_shot_that_is_long_past_is_refused_with_the_way_to_run_it_now(desk: Desk) -> None:
    before = await add_endpoint(desk, HEALTH)

    with pytest.raises(InvalidInput) as refusal:
        await put_one_shot_hint(desk, "health", lambda now: now - timedelta(seconds=61))

    assert str(refusal.value) == (
        "one-shot at 2024-12-31T23:58:59Z is in the past, the current time is 2025-01-01T00:00:00Z; "
        "give a later time; to run the endpoint now, request a run"
    )
    assert (await find_endpoint(desk, "health")) == before


async def test_one_shot_that_is_just_past_runs_at_once(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)

    hinted = await put_one_shot_hint(desk, "health", lambda now: now - timedelta(minutes=1))

    assert hinted.endpoint.next_run_at == START


async def test_pause_stops_and_resume_starts_what_is_overdue(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, HEALTH)
    await pause_endpoint(desk, "health", lambda now: None, "maintenance")
    clock.tick(hours=2)
    assert (await claim(desk.stores)).claims == ()

    await resume_endpoint(desk, "health")

    assert len((await claim(desk.stores)).claims) == 1


async def test_run_now_while_running_is_queued_once_however_often_it_is_asked(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, HEALTH)
    (each,) = (await claim(desk.stores)).claims
    for _ in range(5):
        await run_endpoint(desk, "health")
    clock.tick(seconds=1)
    await desk.stores.schedule.finish([finished(each)])

    (manual,) = (await claim(desk.stores)).claims
    await desk.stores.schedule.finish([finished(manual)])

    assert manual.trigger == "manual"
    assert (await claim(desk.stores)).claims == ()
    assert (await find_endpoint(desk, "health")).next_run_at == START + timedelta(seconds=60)


async def test_reset_failures_ends_the_backoff_at_once(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, HEALTH)
    await desk.stores.endpoints.change_endpoints(
        "default",
        [(await find_endpoint(desk, "health")).id],
        lambda endpoint, now: Change(replace(endpoint, failure_count=5, next_run_at=now + timedelta(minutes=32))),
    )
    clock.tick(minutes=2)

    change = await reset_failures(desk, "health")

    assert change.endpoint.failure_count == 0
    assert change.endpoint.next_run_at == clock.now()


async def test_deleted_endpoint_leaves_no_rows_and_its_run_in_flight_writes_nothing(desk: Desk) -> None:
    endpoint = await add_endpoint(desk, HEALTH)
    (each,) = (await claim(desk.stores)).claims

    await delete_endpoint(desk, "health")
    report = await desk.stores.schedule.finish([finished(each)])

    assert report.superseded == (each.run_id,)
    assert await desk.stores.endpoints.endpoint("default", endpoint.id) is None
    assert await desk.stores.runs.runs("default", RunFilter()) == []


async def test_described_endpoint_is_what_was_defined(desk: Desk) -> None:
    wanted = edited(HEALTH, job="shop", min_interval_ms=5_000, accept_codes=(200, 204), timeout_ms=7_000)
    endpoint = await add_endpoint(desk, wanted)

    assert config_of(endpoint) == wanted


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        pytest.param(lambda d: replace(d, interval_ms=0), "every", id="interval zero"),
        pytest.param(lambda d: replace(d, interval_ms=-1), "every", id="interval negative"),
        pytest.param(lambda d: replace(d, cron="* * * * *"), "every", id="both schedules"),
        pytest.param(lambda d: replace(d, interval_ms=None), "every", id="neither schedule"),
        pytest.param(lambda d: edited(d, url="ftp://example.com/"), "url", id="another protocol"),
        pytest.param(lambda d: replace(d, timezone="Mars/Olympus"), "timezone", id="unknown zone"),
        pytest.param(lambda d: replace(d, name="a\x00b"), "name", id="control character in the name"),
    ],
)
async def test_bad_definition_is_refused_and_nothing_is_written(
    desk: Desk, broken: Callable[[EndpointConfig], EndpointConfig], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await add_endpoint(desk, broken(HEALTH))

    assert refused.value.field == field
    assert await event_types(desk) == []


async def test_quota_of_endpoints_and_of_intervals_is_kept(desk: Desk) -> None:
    await desk.stores.endpoints.put_tenant(Tenant("default", "default", endpoints_max=1, interval_ms_min=30_000))
    with pytest.raises(QuotaExceeded, match="below the tenant's minimum 30s"):
        await add_endpoint(desk, replace(HEALTH, interval_ms=10_000))
    await add_endpoint(desk, HEALTH)

    with pytest.raises(QuotaExceeded, match="the maximum of its quota endpoints_max"):
        await add_endpoint(desk, replace(HEALTH, name="second"))
