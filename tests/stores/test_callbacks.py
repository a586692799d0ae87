"""Callbacks: a run that its target accepted waits without a lease, and ends once, whatever happens to its worker."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.world import (
    START,
    FixedClock,
    add,
    an_endpoint,
    archived,
    change,
    claim,
    edited,
    finished,
    get,
    get_run,
    kinds,
    requested,
    told,
)

from mainspring.domain.endpoint import Endpoint, LostWorkerPolicy
from mainspring.domain.event import Event, EventType
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import Body, HttpAction, Outcome, Run, RunStatus
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.callback import CallbackReport, Receipt, ReportMeaning, judge_overdue
from mainspring.domain.schedule.callback_wait import CALLBACK_TOTAL, CallbackWait
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.maintenance import DuringMaintenance, MaintenanceWindow
from mainspring.ports.filters import EndpointListFilter
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores

HOUR = timedelta(hours=1)
ACTION = HttpAction(url="http://127.0.0.1:9/", method="POST", completes="callback", callback_timeout_ms=7_200_000)
DONE, FAILED = CallbackReport(ReportMeaning.SUCCESS), CallbackReport(ReportMeaning.FAIL)
ACCEPTED = Outcome(RunStatus.RUNNING, 12, 202, body=Body(b'{"job": 7}', "application/json", False, 10))


async def an_accepted_run(stores: Stores, clock: FixedClock, **fields: object) -> Claim:
    """The run of START, whose target answered 202; its deadline is two hours after the answer."""
    await add(stores, an_endpoint("", **{"action": ACTION, **fields}))
    (held,) = (await claim(stores)).claims
    clock.tick(milliseconds=12)
    report = await stores.schedule.finish([finished(held, ACCEPTED)])
    assert report.recorded == (held.run_id,)
    return held


async def report(stores: Stores, held: Claim, what: CallbackReport) -> Receipt:
    got = await stores.callbacks.receive(held.endpoint.tenant_id, held.endpoint.id, held.run_id, what)
    assert got is not None
    return got


async def runs_of(stores: Stores, endpoint: Endpoint) -> list[Run]:
    found = await stores.runs.runs(endpoint.tenant_id, RunFilter(endpoint_id=endpoint.id))
    return sorted(found, key=lambda run: run.id)


def overdue(held: Claim, clock: FixedClock) -> Finished:
    started_at = held.request.started_at
    assert started_at is not None
    return Finished(held, judge_overdue(started_at, clock.now()), started_at, clock.now())


async def test_accepted_run_stays_open_and_holds_no_lease(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)

    waiting = await get(stores, held.endpoint)
    run = await get_run(stores, held)
    deadline = clock.now() + 2 * HOUR
    assert (waiting.lease_until, waiting.next_run_at, waiting.source) == (None, deadline, "callback")
    assert waiting.waiting == CallbackWait(START, deadline)
    assert (run.status, run.finished_at, run.duration_ms, run.status_code) == (RunStatus.RUNNING, None, None, 202)
    clock.tick(hours=1, minutes=59)
    assert (await claim(stores)).claims == ()
    assert kinds(await told(stores))[-1] == "run.waiting"


async def test_callback_ends_the_run_like_a_result_of_a_call(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    clock.tick(minutes=90)
    body = Body(b'{"rows": 5}', "application/json", False, 11)

    got = await report(stores, held, replace(DONE, body=body))

    after, run = await get(stores, held.endpoint), await get_run(stores, held)
    assert got.refusal == ""
    assert (run.status, run.duration_ms, run.finished_at) == (RunStatus.SUCCESS, 5_400_012, clock.now())
    assert await stores.runs.body(run.tenant_id, run.id) == body
    assert (after.waiting, after.slot_at, after.claimed_by, after.failure_count) == (None, None, "", 0)
    assert (after.last_status, after.last_duration_ms) == (RunStatus.SUCCESS, 12)
    assert after.next_run_at == clock.now() + timedelta(minutes=1)
    assert kinds(await told(stores))[-1] == "run.finished"


async def test_failed_callback_counts_as_a_failure_and_backs_off(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    clock.tick(minutes=5)

    await report(stores, held, replace(DONE, exit_code=3))

    after, run = await get(stores, held.endpoint), await get_run(stores, held)
    assert (run.status, run.error_code, run.error) == (
        RunStatus.FAILURE, "exit_code", "the callback reported exit code 3",
    )  # fmt: skip
    assert (after.failure_count, after.next_run_at) == (1, clock.now() + timedelta(minutes=2))


async def test_second_end_is_refused_and_changes_nothing(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    await report(stores, held, DONE)
    before = await get(stores, held.endpoint)

    got = await report(stores, held, FAILED)

    assert got.refusal == "the run has already ended (success); a callback URL ends its run once"
    assert await get(stores, held.endpoint) == before
    assert (await get_run(stores, held)).status is RunStatus.SUCCESS
    event = (await told(stores))[-1]
    assert (event.type, event.run_id, event.data["report"]) == (EventType.CALLBACK_REFUSED, held.run_id, "fail")


async def test_of_ends_at_the_same_time_one_counts(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)

    got = await asyncio.gather(*(report(stores, held, DONE) for _ in range(8)))

    assert sorted(bool(each.refusal) for each in got) == [False] + [True] * 7
    assert kinds(await told(stores)).count("run.finished") == 1


async def test_progress_extends_the_deadline_and_keeps_what_it_leaves_out(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    clock.tick(minutes=90)
    await report(stores, held, CallbackReport(ReportMeaning.PROGRESS, percent=40, text="copying"))
    clock.tick(minutes=90)

    await report(stores, held, CallbackReport(ReportMeaning.PROGRESS, percent=80))

    endpoint = await get(stores, held.endpoint)
    now = clock.now()
    assert endpoint.waiting == CallbackWait(START, now + 2 * HOUR, 80, "copying", now)
    assert endpoint.next_run_at == now + 2 * HOUR
    assert (await claim(stores)).claims == ()


async def test_no_progress_extends_a_run_beyond_the_total(stores: Stores, clock: FixedClock) -> None:
    total_ms = CALLBACK_TOTAL // timedelta(milliseconds=1)
    await add(stores, an_endpoint(action=replace(ACTION, callback_timeout_ms=2 * total_ms // 3)))
    (held,) = (await claim(stores)).claims
    await stores.schedule.finish([finished(held, ACCEPTED)])
    clock.tick(milliseconds=total_ms // 2)

    await report(stores, held, CallbackReport(ReportMeaning.PROGRESS))

    endpoint = await get(stores, held.endpoint)
    assert endpoint.waiting is not None
    assert endpoint.waiting.until_at == START + CALLBACK_TOTAL


async def test_deadline_without_a_callback_is_a_timeout_of_its_own(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    clock.tick(hours=2, seconds=1)
    (judged,) = (await claim(stores)).claims

    await stores.schedule.finish([overdue(judged, clock)])

    after, run = await get(stores, held.endpoint), await get_run(stores, held)
    assert judged.run_id == held.run_id
    assert (run.status, run.error_code) == (RunStatus.TIMEOUT, "no_callback")
    assert (after.waiting, after.failure_count, after.slot_at) == (None, 1, None)
    assert len(await runs_of(stores, held.endpoint)) == 1


async def test_callback_after_the_deadline_is_refused_also_before_it_is_judged(
    stores: Stores, clock: FixedClock
) -> None:
    held = await an_accepted_run(stores, clock)
    clock.tick(hours=2, seconds=30)
    early = await report(stores, held, DONE)
    (judged,) = (await claim(stores)).claims
    during = await report(stores, held, DONE)
    await stores.schedule.finish([overdue(judged, clock)])

    late = await report(stores, held, DONE)

    assert early.refusal == during.refusal
    assert "the deadline was 2025-01-01T02:00:00.012" in early.refusal
    assert late.refusal == "the run has already ended (timeout); a callback URL ends its run once"
    assert kinds(await told(stores)).count("callback.refused") == 3


async def test_judgement_whose_worker_died_is_made_again(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    clock.tick(hours=2, seconds=1)
    (first,) = (await claim(stores, worker="dies")).claims
    clock.tick(minutes=2)

    (second,) = (await claim(stores, worker="lives")).claims
    await stores.schedule.finish([overdue(first, clock), overdue(second, clock)])

    assert (first.run_id, second.run_id) == (held.run_id, held.run_id)
    assert (await get_run(stores, held)).status is RunStatus.TIMEOUT
    assert kinds(await told(stores)).count("run.finished") == 1


async def test_callback_before_the_answer_is_recorded_ends_the_run(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint(action=ACTION))
    (held,) = (await claim(stores)).claims
    clock.tick(seconds=1)

    got = await report(stores, held, DONE)
    answer = await stores.schedule.finish([finished(held, ACCEPTED)])

    after = await get(stores, held.endpoint)
    assert got.refusal == ""
    assert answer.recorded == (held.run_id,)
    assert (await get_run(stores, held)).status is RunStatus.SUCCESS
    assert (after.waiting, after.lease_until, after.slot_at) == (None, None, None)
    assert kinds(await told(stores)).count("run.finished") == 1


async def test_progress_before_the_answer_is_recorded_is_taken(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint(action=ACTION))
    (held,) = (await claim(stores)).claims

    assert (await report(stores, held, CallbackReport(ReportMeaning.PROGRESS, percent=1))).refusal == ""
    await stores.schedule.finish([finished(held, ACCEPTED)])

    assert (await report(stores, held, DONE)).refusal == ""


async def test_callback_for_a_lost_worker_ends_the_slot_before_it_is_called_again(
    stores: Stores, clock: FixedClock
) -> None:
    await add(stores, an_endpoint(action=ACTION))
    (lost,) = (await claim(stores, worker="dies")).claims
    await stores.schedule.release([lost])
    assert (await get_run(stores, lost)).status is RunStatus.ABANDONED

    got = await report(stores, lost, DONE)

    after = await get(stores, lost.endpoint)
    assert got.refusal == ""
    assert (await get_run(stores, lost)).status is RunStatus.SUCCESS
    assert (after.slot_at, after.next_run_at) == (None, START + timedelta(minutes=1))


async def test_callback_of_a_lost_attempt_ends_the_attempt_that_followed(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint(action=ACTION, retry=RetryPolicy(on=("other",))))
    (lost,) = (await claim(stores, worker="dies")).claims
    clock.tick(minutes=2)
    (again,) = (await claim(stores, worker="lives")).claims
    await stores.schedule.finish([finished(again, ACCEPTED)])

    first = await report(stores, lost, DONE)
    second = await report(stores, again, DONE)
    third = await report(stores, lost, DONE)

    assert (again.attempt, again.slot_id) == (2, lost.slot_id)
    assert (first.refusal, bool(second.refusal), bool(third.refusal)) == ("", True, True)
    statuses = [(await get_run(stores, each)).status for each in (lost, again)]
    assert statuses == [RunStatus.SUPERSEDED, RunStatus.SUCCESS]


async def test_at_most_once_waits_for_the_callback_when_its_worker_is_lost(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint(action=ACTION, on_lost_worker=LostWorkerPolicy.SKIP))
    (lost,) = (await claim(stores, worker="dies")).claims
    clock.tick(minutes=2)
    assert (await claim(stores, worker="lives")).claims == ()

    waiting = await get(stores, lost.endpoint)
    clock.tick(minutes=100)
    got = await report(stores, lost, DONE)

    assert waiting.waiting is not None
    assert got.refusal == ""
    assert [run.status for run in await runs_of(stores, lost.endpoint)] == [RunStatus.SUCCESS]
    assert "run.abandoned" not in kinds(await told(stores))


async def test_result_of_a_worker_that_was_taken_for_dead_still_counts_at_most_once(
    stores: Stores, clock: FixedClock
) -> None:
    await add(stores, an_endpoint(action=ACTION, on_lost_worker=LostWorkerPolicy.SKIP))
    (slow,) = (await claim(stores, worker="slow")).claims
    clock.tick(minutes=2)
    await claim(stores, worker="lives")

    accepted = await stores.schedule.finish([finished(slow, ACCEPTED)])
    waits = (await get(stores, slow.endpoint)).waiting is not None
    refused = await stores.schedule.finish([finished(slow, Outcome(RunStatus.FAILURE, 9, 500, "http_status", "no"))])

    assert (accepted.recorded, waits, refused.recorded) == ((slow.run_id,), True, (slow.run_id,))
    assert (await get_run(stores, slow)).status is RunStatus.FAILURE
    assert (await get(stores, slow.endpoint)).waiting is None


async def test_failed_callback_is_retried_with_a_url_of_its_own(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock, cron="0 0 * * *", retry=RetryPolicy(on=("other",), delay_ms=60_000))
    clock.tick(minutes=5)
    await report(stores, held, FAILED)
    clock.tick(minutes=1)
    (again,) = (await claim(stores)).claims
    await stores.schedule.finish([finished(again, ACCEPTED)])

    late = await report(stores, held, DONE)
    got = await report(stores, again, DONE)

    statuses = [(await get_run(stores, each)).status for each in (held, again)]
    after = await get(stores, held.endpoint)
    assert (again.attempt, late.refusal[:28], got.refusal) == (2, "the run has already ended (r", "")
    assert statuses == [RunStatus.RETRIED, RunStatus.SUCCESS]
    assert (after.failed_attempts, after.failure_count, after.next_run_at) == (0, 0, START + timedelta(days=1))


async def test_requested_run_starts_after_the_callback(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    clock.tick(minutes=1)
    asked_at = clock.now()
    queued = await change(stores, held.endpoint, requested())
    assert (queued.manual_at, queued.requested_at) == (None, asked_at)
    assert (await claim(stores)).claims == ()

    await report(stores, held, DONE)

    (started,) = (await claim(stores)).claims
    assert (started.trigger, started.slot_at) == ("manual", asked_at)


async def test_run_requested_during_the_call_starts_after_the_callback(stores: Stores, clock: FixedClock) -> None:
    await add(stores, an_endpoint(action=ACTION))
    (held,) = (await claim(stores)).claims
    await change(stores, held.endpoint, requested())
    await stores.schedule.finish([finished(held, ACCEPTED)])
    assert (await claim(stores)).claims == ()

    await report(stores, held, DONE)

    assert [each.trigger for each in (await claim(stores)).claims] == ["manual"]


async def test_requested_run_that_waited_leaves_the_schedule_its_cadence(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint(action=ACTION, interval_ms=36_000_000, next_run_at=START + 10 * HOUR, anchor_at=START)
    await add(stores, endpoint)
    await change(stores, endpoint, requested())
    (held,) = (await claim(stores)).claims
    await stores.schedule.finish([finished(held, ACCEPTED)])
    clock.tick(hours=1)

    await report(stores, held, DONE)

    after = await get(stores, endpoint)
    assert (held.trigger, after.next_run_at, after.source) == ("manual", START + 10 * HOUR, "baseline-interval")


async def test_pause_and_edit_leave_the_open_run_and_its_deadline(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    before = await get(stores, held.endpoint)
    paused = await change(
        stores, held.endpoint, lambda old, now: changes.pause(old, None, "", now, "user:ann@example.com", CRON)
    )
    changed = await change(stores, held.endpoint, edited(interval_ms=30_000))
    assert (paused.next_run_at, changed.next_run_at) == (before.next_run_at, before.next_run_at)

    got = await report(stores, held, DONE)

    after = await get(stores, held.endpoint)
    assert got.refusal == ""
    assert (after.last_status, after.source) == (RunStatus.SUCCESS, "paused")


async def test_deadline_of_a_paused_endpoint_is_judged(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    await change(stores, held.endpoint, lambda old, now: changes.pause(old, None, "", now, "cli", CRON))
    clock.tick(hours=3)

    (judged,) = (await claim(stores)).claims

    assert judged.run_id == held.run_id


async def test_archived_endpoint_waits_no_longer(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    await change(stores, held.endpoint, archived())
    refused = await report(stores, held, DONE)

    assert (await claim(stores)).claims == ()

    after = await get(stores, held.endpoint)
    assert refused.refusal == "the endpoint is archived; its runs do not wait any more"
    assert (await get_run(stores, held)).status is RunStatus.UNKNOWN
    assert (after.waiting, after.next_run_at) == (None, None)


async def test_deleted_endpoint_has_no_callback(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)
    event = Event(EventType.ENDPOINT_DELETED, clock.now(), "default", held.endpoint.id)
    await stores.endpoints.delete_endpoint("default", held.endpoint.id, event)

    assert await stores.callbacks.receive("default", held.endpoint.id, held.run_id, DONE) is None


async def test_single_run_is_done_only_after_its_callback(stores: Stores, clock: FixedClock) -> None:
    once = {"interval_ms": None, "once_at": START, "source": "once", "anchor_at": START - timedelta(seconds=1)}
    held = await an_accepted_run(stores, clock, **once)
    waiting = await get(stores, held.endpoint)
    await report(stores, held, DONE)

    after = await get(stores, held.endpoint)

    assert (waiting.is_done, after.is_done, after.next_run_at) == (False, True, None)


async def test_failure_during_maintenance_is_not_counted(stores: Stores, clock: FixedClock) -> None:
    from_at, until_at = START + timedelta(minutes=1), START + timedelta(minutes=2)
    scope = "", "", DuringMaintenance.CONTINUE, ""
    window = MaintenanceWindow("mnt_1", "default", "move", "", None, "UTC", from_at, until_at, *scope, 1, START, START)
    await stores.maintenance.add_window(window, Event(EventType.MAINTENANCE_CREATED, START, "default"))
    held = await an_accepted_run(stores, clock)
    clock.tick(minutes=5)

    await report(stores, held, FAILED)

    assert (await get(stores, held.endpoint)).failure_count == 0
    assert (await get_run(stores, held)).maintenance == "move"


@pytest.mark.parametrize(("text", "status"), [("body.rows > 3", "success"), ("body.rows > 9", "failure")])
async def test_condition_judges_the_callback(stores: Stores, clock: FixedClock, text: str, status: str) -> None:
    await add(stores, an_endpoint(action=replace(ACTION, condition=text)))
    (held,) = (await claim(stores)).claims
    await stores.schedule.finish([finished(held, ACCEPTED)])

    await report(stores, held, replace(DONE, body=Body(b'{"rows": 5}', "application/json", False, 11)))

    assert (await get_run(stores, held)).status == status


async def test_lists_count_an_open_run_as_running_and_not_as_upcoming(stores: Stores, clock: FixedClock) -> None:
    held = await an_accepted_run(stores, clock)

    (counted,) = await stores.look.count_states("default", clock.now())
    running = await stores.look.endpoints("default", EndpointListFilter(state="running"))
    upcoming = await stores.look.upcoming("default", 10)

    assert (counted.running, [each.id for each in running], upcoming) == (1, [held.endpoint.id], [])
