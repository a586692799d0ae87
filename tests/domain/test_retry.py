"""A failed attempt is made again within its slot: it does not count until the last one has failed."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.domain.stage import after, at, due, end, every, once, reach, run, start, types
from tests.stores.world import an_endpoint, an_outcome

from mainspring.domain.endpoint import BackoffPolicy, Endpoint, LostWorkerPolicy, MisfirePolicy
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import RunStatus, RunTrigger
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.claim import end_lost, give_back
from mainspring.domain.schedule.clock_steps import is_ahead
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import decode_trail
from mainspring.operations.preview import preview

DOWN = an_outcome(RunStatus.FAILURE, status_code=503, error_code="http_status")
NIGHT = at("03:00:00")
FIVE_MINUTES = RetryPolicy(attempts=3, delay_ms=300_000)


def nightly(**fields: object) -> Endpoint:
    """Runs at 03:00; a failed run is tried again at 03:05 and 03:15."""
    settings: dict[str, object] = {"cron": "0 3 * * *", "retry": FIVE_MINUTES}
    return an_endpoint("nightly", next_run_at=NIGHT, anchor_at=at("00:00:00"), **settings | fields)


def failed_once(**fields: object) -> Endpoint:
    return run(nightly(**fields), NIGHT, DOWN, took=0)


def test_nightly_job_that_fails_at_three_is_tried_again_at_five_past() -> None:
    claim = start(nightly(), NIGHT)

    settlement = end(claim.endpoint, claim, DOWN, took=0)

    waiting = after(settlement)
    assert settlement.status is RunStatus.RETRIED
    assert (due(waiting), waiting.source, waiting.slot_at) == (at("03:05:00"), "retry", NIGHT)
    assert (waiting.failure_count, waiting.failed_attempts, waiting.last_status) == (0, 1, "retried")
    assert types(settlement.events) == ["run.retried"]
    assert settlement.events[0].data == {
        "status": "failure",
        "status_code": 503,
        "error_code": "http_status",
        "duration_ms": 12,
        "attempt": 1,
        "next_run_at": at("03:05:00"),
        "source": "retry",
    }


def test_every_attempt_has_the_slot_of_the_first_and_counts_on() -> None:
    first = start(nightly(), NIGHT)
    second = start(after(end(first.endpoint, first, DOWN)), at("03:05:01"))
    third = start(after(end(second.endpoint, second, DOWN)), at("03:16:00"))

    assert [each.attempt for each in (first, second, third)] == [1, 2, 3]
    assert {each.slot_id for each in (first, second, third)} == {first.slot_id}
    assert [each.trigger for each in (first, second, third)] == [
        RunTrigger.SCHEDULE,
        RunTrigger.RETRY,
        RunTrigger.RETRY,
    ]


def test_failure_counts_once_after_the_last_attempt_and_the_schedule_is_kept() -> None:
    second = run(failed_once(), at("03:05:00"), DOWN, took=0)
    claim = start(second, at("03:15:00"))

    settlement = end(claim.endpoint, claim, DOWN)

    ended = after(settlement)
    assert (settlement.status, ended.failure_count, ended.failed_attempts) == (RunStatus.FAILURE, 1, 0)
    assert (due(ended), ended.source, ended.slot_at) == (at("03:00:00", day=2), "baseline-cron", None)
    assert types(settlement.events) == ["run.finished"]


def test_success_of_a_later_attempt_is_a_success_of_the_slot() -> None:
    recovered = run(failed_once(), at("03:05:00"))

    assert (recovered.failure_count, recovered.last_status, recovered.failed_attempts) == (0, "success", 0)
    assert due(recovered) == at("03:00:00", day=2)


def test_retries_of_an_interval_do_not_move_it() -> None:
    endpoint = an_endpoint(next_run_at=at("12:00:00"), retry=RetryPolicy(attempts=3, delay_ms=10_000, factor=1))
    waiting = run(endpoint, at("12:00:00"), DOWN, took=1)

    assert due(waiting) == at("12:00:11")
    assert due(run(waiting, at("12:00:11"))) == at("12:01:00")


def test_backoff_begins_after_the_last_attempt() -> None:
    endpoint = an_endpoint(next_run_at=at("12:00:00"), retry=RetryPolicy(attempts=2, delay_ms=10_000))
    waiting = run(endpoint, at("12:00:00"), DOWN, took=0)

    claim = start(waiting, at("12:00:10"))
    settlement = end(claim.endpoint, claim, DOWN, took=0)

    assert (due(after(settlement)), after(settlement).failure_count) == (at("12:02:00"), 1)
    assert types(settlement.events) == ["run.finished", "backoff.applied"]


def test_attempt_that_would_not_start_before_the_next_run_is_not_made() -> None:
    endpoint = an_endpoint(next_run_at=at("12:00:00"), retry=RetryPolicy(attempts=3, delay_ms=120_000))

    ended = run(endpoint, at("12:00:00"), DOWN, took=0)

    assert (due(ended), ended.failure_count, ended.slot_at) == (at("12:02:00"), 1, None)


def test_manual_run_has_one_attempt() -> None:
    requested = changes.request_run(nightly(), at("01:00:00"), "user:ann", CRON).endpoint

    ended = run(requested, at("01:00:00"), DOWN)

    assert (ended.is_retrying, ended.failure_count, due(ended)) == (False, 1, NIGHT)


def test_requested_run_takes_the_place_of_the_next_attempt() -> None:
    requested = changes.request_run(failed_once(), at("03:02:00"), "user:ann", CRON).endpoint

    claim = start(requested, at("03:02:00"))

    assert (claim.trigger, claim.attempt, claim.slot_at) == (RunTrigger.MANUAL, 1, at("03:02:00"))
    assert due(after(end(claim.endpoint, claim))) == at("03:00:00", day=2)


def test_run_that_was_requested_during_an_attempt_takes_the_place_of_the_next_one() -> None:
    claim = start(nightly(), NIGHT)
    asked = changes.request_run(claim.endpoint, at("03:00:01"), "user:ann", CRON).endpoint

    ended = after(end(asked, claim, DOWN))

    assert (ended.failure_count, ended.slot_at, ended.manual_at) == (1, None, at("03:00:01"))


def test_pause_ends_the_retries_and_the_failure_counts() -> None:
    paused = changes.pause(failed_once(), at("06:00:00"), "", at("03:01:00"), "user:ann", CRON).endpoint

    assert (due(paused), paused.slot_at, paused.failure_count) == (at("06:00:00"), None, 1)
    resumed = changes.resume(paused, at("03:02:00"), "user:ann", CRON).endpoint
    assert (due(resumed), resumed.source) == (at("03:00:00", day=2), "baseline-cron")


def test_pause_during_an_attempt_ends_the_slot_with_it() -> None:
    claim = start(nightly(), NIGHT)
    paused = changes.pause(claim.endpoint, None, "", at("03:00:01"), "user:ann", CRON).endpoint

    ended = after(end(paused, claim, DOWN, took=2))

    assert (ended.slot_at, ended.failure_count) == (None, 1)


def test_edit_of_the_call_keeps_the_wait_and_the_next_attempt_has_it() -> None:
    waiting = failed_once()
    new = replace(waiting, action=replace(waiting.action, url="http://127.0.0.1:9/repaired"))

    edited = changes.edit(waiting, new, at("03:01:00"), "user:ann", CRON).endpoint

    assert (due(edited), edited.slot_at) == (at("03:05:00"), NIGHT)
    assert http_of(start(edited, at("03:05:00")).endpoint).url == "http://127.0.0.1:9/repaired"


def test_edit_of_the_schedule_keeps_the_wait_if_the_attempt_comes_first() -> None:
    waiting = failed_once()

    edited = changes.edit(waiting, replace(waiting, cron="0 4 * * *"), at("03:01:00"), "user:ann", CRON).endpoint
    sooner = changes.edit(waiting, replace(waiting, cron="* * * * *"), at("03:01:30"), "user:ann", CRON).endpoint

    assert (due(edited), edited.source, edited.slot_at, edited.failure_count) == (at("03:05:00"), "retry", NIGHT, 0)
    assert [step.rule for step in decode_trail(edited.trail)] == ["baseline-cron", "retry"]
    assert (due(sooner), sooner.source, sooner.slot_at, sooner.failure_count) == (
        at("03:02:00"),
        "baseline-cron",
        None,
        1,
    )


def test_edit_that_removes_the_retry_ends_the_wait() -> None:
    waiting = failed_once()

    edited = changes.edit(waiting, replace(waiting, retry=None), at("03:01:00"), "user:ann", CRON).endpoint

    assert (due(edited), edited.slot_at, edited.failure_count) == (at("03:00:00", day=2), None, 1)


def test_hint_that_asks_for_an_earlier_run_ends_the_retries() -> None:
    waiting, now = failed_once(), at("03:01:00")
    soon = changes.put_interval_hint(waiting, every(30, at("04:00:00")), now, CRON).endpoint
    late = changes.put_one_shot_hint(waiting, once(at("03:30:00"), at("04:00:00")), now, CRON).endpoint

    assert (due(soon), soon.slot_at, soon.failure_count) == (at("03:01:30"), None, 1)
    assert (due(late), late.slot_at, late.failure_count) == (at("03:05:00"), NIGHT, 0)


def test_attempt_beyond_the_maximum_lateness_is_not_made() -> None:
    endpoint = nightly(max_lateness_ms=600_000)
    second = run(run(endpoint, NIGHT, DOWN, took=0), at("03:05:00"), DOWN, took=0)

    assert (second.is_retrying, second.failure_count) == (False, 1)


def test_retry_after_and_the_minimum_interval_delay_the_attempt() -> None:
    asked = run(nightly(), NIGHT, replace(DOWN, retry_after_s=900), took=0)
    least = run(nightly(min_interval_ms=600_000), NIGHT, DOWN, took=0)

    assert (due(asked), due(least)) == (at("03:15:00"), at("03:10:00"))


def test_lost_attempt_is_taken_over_and_uses_up_no_retry() -> None:
    second = start(failed_once(), at("03:05:00"))
    owed = end_lost(second.endpoint, at("03:05:05"), 1, CRON).endpoint
    third = start(owed, at("03:05:05"))

    waiting = after(end(third.endpoint, third, DOWN, took=0))

    assert (third.attempt, third.slot_at, third.endpoint.failed_attempts) == (3, NIGHT, 1)
    assert (due(waiting), waiting.failed_attempts) == (at("03:15:05"), 2)


def test_lost_attempt_of_an_endpoint_that_runs_at_most_once_ends_the_slot() -> None:
    second = start(failed_once(on_lost_worker=LostWorkerPolicy.SKIP), at("03:05:00"))

    lost = end_lost(second.endpoint, at("03:05:05"), 1, CRON)

    assert second.attempt == 2, "a definite failure is tried again"
    assert lost.closed is not None
    assert lost.closed.status is RunStatus.UNKNOWN
    assert (lost.endpoint.slot_at, due(lost.endpoint)) == (None, at("03:00:00", day=2))
    assert start(lost.endpoint, at("03:00:00", day=2)).endpoint.failed_attempts == 0


def test_attempt_that_a_shutdown_gives_back_starts_again_at_once() -> None:
    second = start(failed_once(), at("03:05:00"))

    owed = give_back(second.endpoint, at("03:05:02"), CRON).endpoint
    third = start(owed, at("03:05:02"))

    assert (third.attempt, third.slot_at, third.endpoint.failed_attempts) == (3, NIGHT, 1)


def test_quota_ends_the_retries() -> None:
    deferred = reach(failed_once(), at("03:05:00"), over_quota=True).endpoint

    assert (due(deferred), deferred.slot_at, deferred.failure_count) == (at("00:00:00", day=32), None, 1)


@pytest.mark.parametrize(
    ("late", "fields", "starts"),
    [
        pytest.param(20, {}, True, id="within the grace it starts"),
        pytest.param(3_000, {}, True, id="within the hour of a cron it starts"),
        pytest.param(4_000, {}, False, id="later than a cron may be it does not start"),
        pytest.param(60, {"misfire": MisfirePolicy.SKIP}, False, id="an endpoint that skips what it missed skips it"),
        pytest.param(400, {"max_lateness_ms": 600_000}, False, id="the maximum lateness counts from the slot"),
        pytest.param(200, {"max_lateness_ms": 600_000}, True, id="within the maximum lateness it starts"),
    ],
)
def test_attempt_after_a_downtime_starts_by_the_misfire_policy(
    late: float, fields: dict[str, object], starts: bool
) -> None:
    now = at("03:05:00") + timedelta(seconds=late)

    transition = reach(failed_once(**fields), now)

    if starts:
        assert transition.claim is not None
        assert (transition.claim.slot_at, transition.claim.attempt) == (NIGHT, 2)
    else:
        assert transition.claim is None
        assert (due(transition.endpoint), transition.endpoint.failure_count) == (at("03:00:00", day=2), 1)


def test_after_a_downtime_the_schedule_comes_before_the_attempt() -> None:
    endpoint = an_endpoint(next_run_at=at("12:00:00"), retry=RetryPolicy(attempts=3, delay_ms=10_000))
    waiting = run(endpoint, at("12:00:00"), DOWN, took=0)

    transition = reach(waiting, at("12:07:00"))

    assert transition.claim is not None
    assert (transition.claim.attempt, transition.claim.slot_at) == (1, at("12:06:00"))
    assert transition.missed is not None
    assert transition.missed.missed_count == 2


def test_slots_that_are_caught_up_are_each_tried_to_their_end_in_order() -> None:
    endpoint = an_endpoint(
        next_run_at=at("12:00:00"),
        misfire=MisfirePolicy.CATCH_UP,
        backoff=BackoffPolicy.NONE,
        retry=RetryPolicy(attempts=2, delay_ms=5_000),
    )
    first = start(endpoint, at("12:02:40"))
    waiting = after(end(first.endpoint, first, DOWN, took=0))
    again = start(waiting, at("12:02:45"))
    following = after(end(again.endpoint, again, DOWN, took=0))
    second = start(following, at("12:02:45"))

    assert [(each.slot_at, each.attempt) for each in (first, again, second)] == [
        (at("12:00:00"), 1),
        (at("12:00:00"), 2),
        (at("12:01:00"), 1),
    ]
    assert (following.failure_count, second.endpoint.failed_attempts) == (1, 0)


def test_wait_is_explained_with_the_attempt_and_the_delay() -> None:
    steps = decode_trail(failed_once().trail)

    assert [(step.rule, step.verdict) for step in steps] == [("baseline-cron", "lost"), ("retry", "won")]
    assert steps[-1].why == "attempt 1 of 3 failed (HTTP 503); the next attempt follows after 5m"


def test_upcoming_runs_have_the_attempt_and_then_the_schedule() -> None:
    decisions = preview(failed_once(), at("03:01:00"), 3, CRON)

    assert [(each.next_run_at, each.source) for each in decisions] == [
        (at("03:05:00"), "retry"),
        (at("03:00:00", day=2), "baseline-cron"),
        (at("03:00:00", day=3), "baseline-cron"),
    ]


def test_wait_for_an_attempt_is_not_taken_for_a_clock_that_was_ahead() -> None:
    assert not is_ahead(failed_once(), at("03:00:01"), CRON)
    assert is_ahead(replace(failed_once(), next_run_at=at("05:00:00")), at("03:00:01"), CRON)


def test_failing_check_is_confirmed_before_it_counts() -> None:
    endpoint = an_endpoint(next_run_at=at("12:00:00"), confirm="3 within 20s")
    second = run(endpoint, at("12:00:00"), DOWN, took=1)
    third = run(second, at("12:00:10"), DOWN, took=15)
    ended = run(third, at("12:00:25"), DOWN, took=1)

    assert [due(each) for each in (second, third)] == [at("12:00:10"), at("12:00:25")]
    assert [each.failure_count for each in (second, third, ended)] == [0, 0, 1]
    assert decode_trail(second.trail)[-1].why == (
        "attempt 1 of 3 failed (HTTP 503); a failure counts after 3 attempts within 20s"
    )


def test_check_that_recovers_while_it_is_confirmed_never_failed() -> None:
    endpoint = an_endpoint(next_run_at=at("12:00:00"), confirm="3 within 20s")

    recovered = run(run(endpoint, at("12:00:00"), DOWN), at("12:00:10"))

    assert (recovered.failure_count, due(recovered)) == (0, at("12:01:00"))


def test_confirmations_come_first_and_retries_follow() -> None:
    endpoint = nightly(confirm="2 within 10s", retry=replace(FIVE_MINUTES, attempts=2))
    times = []
    for _ in range(3):
        times.append(due(endpoint))
        endpoint = run(endpoint, due(endpoint), DOWN, took=0)

    assert times == [NIGHT, at("03:00:10"), at("03:05:10")]
    assert (endpoint.failure_count, due(endpoint)) == (1, at("03:00:00", day=2))


def test_without_backoff_failures_do_not_change_the_interval() -> None:
    endpoint = an_endpoint(next_run_at=at("12:00:00"), backoff=BackoffPolicy.NONE, failure_count=4)
    claim = start(endpoint, at("12:00:00"))

    settlement = end(claim.endpoint, claim, DOWN)

    assert (due(after(settlement)), after(settlement).failure_count) == (at("12:01:00"), 5)
    assert types(settlement.events) == ["run.finished"]
