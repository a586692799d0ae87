"""Finishing: what is kept of a run, and what its end does to the schedule."""

from datetime import timedelta
from random import Random

import asyncpg
import msgspec
import pytest
from tests.actions import http_of
from tests.harness.postgres import as_superuser
from tests.stores.databases import is_sqlite
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    an_outcome,
    archived,
    change,
    claim,
    edited,
    finished,
    get,
    get_run,
    hinted,
    hinted_once,
    kinds,
    requested,
    run_slot,
    told,
)

from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import rfc3339
from mainspring.domain.run import ENDED_BY_CALL, Body, HttpAction, Outcome, Phases, Run, RunStatus, RunTrigger
from mainspring.domain.schedule.anchor import FAULTY_DELAY
from mainspring.domain.text import REPLACEMENT
from mainspring.ports.records import RunFilter
from mainspring.ports.schedule import FinishReport
from mainspring.ports.stores import Stores

BODIES = {
    "an empty body": Body(b"", "text/plain", False, 0),
    "a NUL": Body(b"a\x00b", "text/plain", False, 3),
    "every byte": Body(bytes(range(256)), "application/octet-stream", False, 256),
    "half a character": Body("é".encode()[:1], "text/plain; charset=utf-8", False, 1),
    "the longest body that SQLite takes in hexadecimal": Body(b"x" * 4_096, "text/plain", False, 4_096),
    "a body one byte longer": Body(b"x" * 4_097, "text/plain", False, 4_097),
    "100 kB of noise, cut": Body(Random(1).randbytes(100_000), "image/png", True, 5_000_000_000),
    "no content type": Body(b"plain", "", False, 5),
}
HOSTILE = {
    "a NUL": ("before\x00after", f"before{REPLACEMENT}after"),
    "a lone high surrogate": ("before\ud800after", f"before{REPLACEMENT}after"),
    "a lone low surrogate": ("before\udfffafter", f"before{REPLACEMENT}after"),
    "quotes and backslashes": ("'\"\\ -- ; DROP TABLE run", "'\"\\ -- ; DROP TABLE run"),
    "an emoji": ("\U0001f980", "\U0001f980"),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_body_is_stored_exactly(stores: Stores, body: Body) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims

    await stores.schedule.finish([finished(each, an_outcome(body=body))])

    assert await stores.runs.body("default", each.run_id) == body


@pytest.mark.parametrize("status", ENDED_BY_CALL)
async def test_body_is_kept_whichever_way_its_run_ended(stores: Stores, status: RunStatus) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims

    await stores.schedule.finish([finished(each, an_outcome(status, body=BODIES["every byte"]))])

    assert (await get_run(stores, each)).status is status
    assert await stores.runs.body("default", each.run_id) == BODIES["every byte"]


async def test_run_that_got_no_body_has_none(stores: Stores) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims

    await stores.schedule.finish([finished(each, an_outcome(RunStatus.TIMEOUT, body=None))])

    assert await stores.runs.body("default", each.run_id) is None


async def test_bodies_of_one_batch_are_not_mixed_up(stores: Stores) -> None:
    await add(stores, *[an_endpoint() for _ in BODIES])
    claims = (await claim(stores)).claims
    bodies = dict(zip([each.run_id for each in claims], BODIES.values(), strict=True))

    await stores.schedule.finish([finished(each, an_outcome(body=bodies[each.run_id])) for each in claims])

    assert {run_id: await stores.runs.body("default", run_id) for run_id in bodies} == bodies


async def test_result_is_stored_whole(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    outcome = Outcome(
        RunStatus.FAILURE, 1_234, 503, "status", "status 503 is not among those accepted",
        headers=(("content-type", "text/html"), ("x-odd", "é\x00\"")), phases=Phases(1, 2, 3, 4, 5),
        address="192.0.2.1",
    )  # fmt: skip
    clock.tick(seconds=2)

    await stores.schedule.finish([finished(each, outcome, started_at=START + timedelta(microseconds=7), took_ms=1_234)])

    detail = {"phases": [1, 2, 3, 4], "headers": outcome.headers, "address": "192.0.2.1"}
    assert await get_run(stores, each) == Run(
        each.run_id, "default", endpoint.id, START, 1, RunTrigger.SCHEDULE, "baseline-interval", RunStatus.FAILURE,
        started_at=START + timedelta(microseconds=7), claim_epoch=1, worker="worker-1",
        finished_at=START + timedelta(microseconds=7, milliseconds=1_234), duration_ms=1_234, status_code=503,
        error_code="status", error="status 503 is not among those accepted", trail=endpoint.trail,
        detail=msgspec.json.encode(detail).decode(),
    )  # fmt: skip


@pytest.mark.parametrize(("text", "kept"), HOSTILE.values(), ids=HOSTILE)
async def test_hostile_error_is_kept_as_far_as_it_is_text(stores: Stores, text: str, kept: str) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims

    await stores.schedule.finish([finished(each, an_outcome(RunStatus.FAILURE, error_code="tls", error=text))])

    assert (await get_run(stores, each)).error == kept


@pytest.mark.parametrize(("text", "kept"), HOSTILE.values(), ids=HOSTILE)
async def test_hostile_content_type_is_kept_as_far_as_it_is_text(stores: Stores, text: str, kept: str) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims

    await stores.schedule.finish([finished(each, an_outcome(body=Body(b"x", text, False, 1)))])

    assert await stores.runs.body("default", each.run_id) == Body(b"x", kept, False, 1)


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a\x00b", "a\x00b"), ("a\ud800b", f"a{REPLACEMENT}b")],
    ids=["a NUL, which JSON escapes", "a lone surrogate"],
)
async def test_hostile_response_header_is_kept_as_far_as_it_is_text(stores: Stores, text: str, kept: str) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims

    await stores.schedule.finish([finished(each, an_outcome(headers=(("x-odd", text),)))])

    detail = msgspec.json.decode((await get_run(stores, each)).detail)
    assert detail == {"phases": None, "headers": [["x-odd", kept]], "address": None}


async def test_more_headers_than_are_kept_leave_a_detail_that_can_be_read(stores: Stores) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims
    headers = tuple((f"x-{number}", "\\xff" * 600) for number in range(100))

    await stores.schedule.finish([finished(each, an_outcome(headers=headers, address="192.0.2.1"))])

    detail = msgspec.json.decode((await get_run(stores, each)).detail)
    kept = detail["headers"]
    assert kept
    assert detail == {"phases": None, "headers": [list(each) for each in headers[: len(kept)]], "address": "192.0.2.1"}


async def test_endless_error_is_cut(stores: Stores) -> None:
    await add(stores, an_endpoint())
    (each,) = (await claim(stores)).claims

    await stores.schedule.finish([finished(each, an_outcome(RunStatus.FAILURE, error="no " * 1_000_000))])

    error = (await get_run(stores, each)).error
    assert error is not None
    assert (len(error), error[-1]) == (2_000, "…")


async def test_failures_stretch_the_interval_and_the_first_success_brings_it_back(
    stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    gaps = []
    for status in [RunStatus.FAILURE] * 3 + [
        RunStatus.TIMEOUT,
        RunStatus.BLOCKED,
        RunStatus.FAILURE,
        RunStatus.SUCCESS,
    ]:
        slot_at = clock.now()
        await run_slot(stores, clock, an_outcome(status), took_ms=0)
        next_run_at = (await get(stores, endpoint)).next_run_at
        assert next_run_at is not None
        gaps.append((next_run_at - slot_at).total_seconds())
        clock.at = next_run_at

    assert gaps == [120, 240, 480, 960, 1920, 1920, 60]


async def test_run_of_20_s_every_15_s_is_followed_by_one_15_s_after_its_end(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(interval_ms=15_000)
    await add(stores, endpoint)

    await run_slot(stores, clock, took_ms=20_000)

    assert (await get(stores, endpoint)).next_run_at == START + timedelta(seconds=35)


async def test_failure_is_counted_with_the_status_and_the_start_of_its_run(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    clock.tick(milliseconds=3)

    await run_slot(stores, clock, an_outcome(RunStatus.TIMEOUT))

    stored = await get(stores, endpoint)
    assert (stored.failure_count, stored.last_status, stored.last_run_at) == (
        1,
        "timeout",
        START + timedelta(milliseconds=3),
    )


async def test_success_forgets_failures_and_lost_workers(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(failure_count=4, lost_count=3)
    await add(stores, endpoint)

    await run_slot(stores, clock)

    stored = await get(stores, endpoint)
    assert (stored.failure_count, stored.lost_count) == (0, 0)


async def test_target_that_asks_for_patience_is_not_called_before(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)

    await run_slot(stores, clock, an_outcome(RunStatus.FAILURE, retry_after_s=600), took_ms=0)

    stored = await get(stores, endpoint)
    assert (stored.not_before, stored.next_run_at) == (START + timedelta(minutes=10), START + timedelta(minutes=10))


async def test_interval_hint_written_during_a_run_counts_at_its_end(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    clock.tick(seconds=1)
    await change(stores, endpoint, hinted(5_000))

    clock.tick(seconds=1)
    await stores.schedule.finish([finished(each)])

    stored = await get(stores, endpoint)
    assert (stored.next_run_at, stored.source) == (START + timedelta(seconds=5), "ai-interval")


async def test_one_shot_written_during_a_run_is_still_there_after_it(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    clock.tick(seconds=1)
    await change(stores, endpoint, hinted_once(timedelta(seconds=10)))

    await stores.schedule.finish([finished(each)])

    stored = await get(stores, endpoint)
    assert (stored.next_run_at, stored.source) == (START + timedelta(seconds=11), "ai-oneshot")


async def test_hint_that_ran_out_during_a_run_is_gone_after_it(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await change(stores, endpoint, hinted(5_000, ttl=timedelta(seconds=8)))
    (each,) = (await claim(stores)).claims
    clock.tick(seconds=8)

    await stores.schedule.finish([finished(each, took_ms=8_000)])

    stored = await get(stores, endpoint)
    assert (stored.interval_hint, stored.next_run_at) == (None, START + timedelta(minutes=1))
    assert EventType.HINT_EXPIRED in kinds(await told(stores))


async def test_result_is_planned_by_what_somebody_else_wrote_meanwhile(stores: Stores, other_stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    await change(other_stores, endpoint, edited(interval_ms=120_000))

    await stores.schedule.finish([finished(each)])

    stored = await get(stores, endpoint)
    assert (stored.interval_ms, stored.next_run_at) == (120_000, START + timedelta(minutes=2))


async def test_next_claim_calls_what_somebody_else_wrote_meanwhile(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    await change(other_stores, endpoint, edited(action=HttpAction(url="http://127.0.0.1:10/"), host="127.0.0.1:10"))
    await stores.schedule.finish([finished(each)])
    clock.tick(minutes=1)

    (following,) = (await claim(stores)).claims

    assert (http_of(following.endpoint).url, following.endpoint.host) == ("http://127.0.0.1:10/", "127.0.0.1:10")


async def test_result_of_a_deleted_endpoint_comes_too_late(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    gone = Event(EventType.ENDPOINT_DELETED, START, "default", endpoint.id)
    await stores.endpoints.delete_endpoint("default", endpoint.id, gone)

    report = await stores.schedule.finish([finished(each)])

    assert report == FinishReport((), (each.run_id,), None)
    assert await stores.endpoints.endpoint("default", endpoint.id) is None
    assert await stores.runs.runs("default", RunFilter()) == []


async def test_result_of_an_archived_endpoint_is_recorded_and_plans_nothing(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    await change(stores, endpoint, archived())

    report = await stores.schedule.finish([finished(each)])

    assert report == FinishReport((each.run_id,), (), None)
    assert (await get_run(stores, each)).status is RunStatus.SUCCESS
    assert (await get(stores, endpoint)).next_run_at is None


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the late one first", "the late one last"])
async def test_of_two_results_of_one_endpoint_in_one_batch_the_newer_claim_counts(
    stores: Stores, clock: FixedClock, order: tuple[int, int]
) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (late,) = (await claim(stores)).claims
    clock.tick(seconds=60)
    (newer,) = (await claim(stores, worker="worker-2")).claims
    batch = (finished(late, an_outcome(RunStatus.FAILURE)), finished(newer))

    report = await stores.schedule.finish([batch[place] for place in order])

    assert (report.recorded, report.superseded) == ((newer.run_id,), (late.run_id,))
    assert (await get(stores, endpoint)).failure_count == 0
    assert [(await get_run(stores, each)).status for each in (late, newer)] == [
        RunStatus.SUPERSEDED,
        RunStatus.SUCCESS,
    ]


async def test_same_result_twice_in_one_batch_counts_once(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    result = finished(each, an_outcome(RunStatus.FAILURE))

    report = await stores.schedule.finish([result, result])

    assert report.recorded == (each.run_id, each.run_id)
    assert (await get(stores, endpoint)).failure_count == 1


async def test_superseded_result_keeps_what_it_brought(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    (late,) = (await claim(stores)).claims
    clock.tick(seconds=60)
    await claim(stores, worker="worker-2")

    await stores.schedule.finish([finished(late, an_outcome(body=BODIES["a body one byte longer"]))])

    run = await get_run(stores, late)
    assert (run.status, run.status_code) == (RunStatus.SUPERSEDED, 200)
    assert await stores.runs.body("default", late.run_id) == BODIES["a body one byte longer"]


async def test_superseded_result_that_comes_again_is_told_once(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint())
    (late,) = (await claim(stores)).claims
    clock.tick(seconds=60)
    await claim(stores, worker="worker-2")

    for _ in range(2):
        await stores.schedule.finish([finished(late)])

    assert kinds(await told(stores)).count("run.superseded") == 1


async def test_report_names_the_earliest_next_run_of_its_batch(stores: Stores) -> None:
    await add(stores, *[an_endpoint(interval_ms=interval_ms) for interval_ms in (60_000, 20_000, 40_000)])
    claims = (await claim(stores)).claims

    report = await stores.schedule.finish([finished(each) for each in claims])

    assert report == FinishReport(tuple(each.run_id for each in claims), (), START + timedelta(seconds=20))


async def test_report_names_a_requested_run_that_waited_for_this_one(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims
    clock.tick(seconds=1)
    await change(stores, endpoint, requested())

    report = await stores.schedule.finish([finished(each)])

    assert report.next_due_at == START + timedelta(seconds=1)


async def test_empty_batch_is_no_trouble(stores: Stores) -> None:
    assert await stores.schedule.finish([]) == FinishReport((), (), None)


async def test_result_of_an_endpoint_that_another_transaction_holds_waits_alone(stores: Stores, store_url: str) -> None:
    if is_sqlite(store_url):
        pytest.skip("SQLite has one writer and no row locks: nobody can hold a row during a finish")
    held, free = an_endpoint(), an_endpoint()
    await add(stores, held, free)
    batch = [finished(each) for each in (await claim(stores)).claims]
    run_ids = {each.claim.endpoint.id: each.claim.run_id for each in batch}
    connection = await asyncpg.connect(as_superuser(store_url))
    try:
        async with connection.transaction():
            await connection.execute("SELECT id FROM schedule WHERE id = $1 FOR UPDATE", held.id)
            first = await stores.schedule.finish(batch)
    finally:
        await connection.close()
    again = await stores.schedule.finish([each for each in batch if each.claim.run_id in first.waiting])

    assert (first.recorded, first.superseded, first.waiting) == ((run_ids[free.id],), (), (run_ids[held.id],))
    assert (again.recorded, again.superseded, again.waiting) == ((run_ids[held.id],), (), ())


async def test_endpoint_that_cannot_be_planned_is_pushed_ahead_and_its_neighbour_is_not(stores: Stores) -> None:
    poisoned, neighbour = an_endpoint(cron="not a cron"), an_endpoint()
    await add(stores, poisoned, neighbour)
    claims = (await claim(stores)).claims

    await stores.schedule.finish([finished(each) for each in claims])

    assert (await get(stores, poisoned)).next_run_at == START + FAULTY_DELAY
    assert (await get(stores, neighbour)).next_run_at == START + timedelta(minutes=1)
    faults = [event.endpoint_id for event in await told(stores) if event.type is EventType.ENDPOINT_FAULTY]
    assert faults == [poisoned.id]


async def test_end_of_a_run_is_told_with_its_next_run(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    (each,) = (await claim(stores)).claims

    await stores.schedule.finish([finished(each)])

    *_, last = await told(stores)
    data = {
        "status": "success", "status_code": 200, "duration_ms": 12, "source": "baseline-interval",
        "next_run_at": rfc3339(START + timedelta(minutes=1)),
    }  # fmt: skip
    assert last == Event(EventType.RUN_FINISHED, START, "default", endpoint.id, each.run_id, "worker-1", data)
