"""An endpoint that runs once: at its time, never before it, and not again."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.domain.stage import at, due, every, once, reach, run, start
from tests.stores.world import an_endpoint, an_outcome

from mainspring.domain.definition import check_config, config_of
from mainspring.domain.endpoint import Endpoint, LostWorkerPolicy, MisfirePolicy, Tenant
from mainspring.domain.errors import InvalidInput
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import RunStatus, RunTrigger
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.anchor import plan_first
from mainspring.domain.schedule.claim import end_lost
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import decode_trail
from mainspring.operations.preview import preview
from mainspring.views.endpoint import schedule_of, state_of

EVENING = at("18:00:00")
NOON = at("12:00:00")
DOWN = an_outcome(RunStatus.FAILURE, status_code=503, error_code="http_status")


def single(**fields: object) -> Endpoint:
    """Made at noon, to run at six in the evening."""
    settings: dict[str, object] = {"interval_ms": None, "once_at": EVENING}
    made = an_endpoint("single", **settings | fields)
    return plan_first(made, NOON, CRON)


def test_runs_at_its_time_and_is_done() -> None:
    endpoint = single()
    ended = run(endpoint, EVENING)

    assert (due(endpoint), endpoint.source, endpoint.is_done) == (EVENING, "once", False)
    assert (ended.next_run_at, ended.is_done, state_of(ended, EVENING)) == (None, True, "done")
    assert schedule_of(ended) == "once at 2025-01-01 18:00:00 UTC"


def test_time_that_is_now_runs_at_once_and_one_in_the_past_is_over() -> None:
    assert due(single(once_at=NOON)) == NOON
    over = single(once_at=NOON - timedelta(seconds=1))
    assert (over.next_run_at, over.is_done) == (None, True)


def test_failed_run_is_done_and_has_no_backoff() -> None:
    ended = run(single(), EVENING, DOWN)

    assert (ended.next_run_at, ended.is_done, ended.failure_count) == (None, True, 1)


def test_retries_come_before_it_is_done() -> None:
    endpoint = single(retry=RetryPolicy(attempts=2, delay_ms=300_000))
    waiting = run(endpoint, EVENING, DOWN, took=0)
    ended = run(waiting, at("18:05:00"), DOWN)

    assert (due(waiting), waiting.is_done) == (at("18:05:00"), False)
    assert (ended.next_run_at, ended.is_done, ended.failure_count) == (None, True, 1)


def test_manual_run_before_its_time_changes_nothing_and_after_it_is_possible_again() -> None:
    early = changes.request_run(single(), NOON, "user:ann", CRON).endpoint
    ran = run(early, NOON)
    done = run(ran, EVENING)
    late = changes.request_run(done, at("19:00:00"), "user:ann", CRON).endpoint
    claim = start(late, at("19:00:00"))

    assert due(ran) == EVENING
    assert (claim.trigger, state_of(claim.endpoint, at("19:00:00"))) == (RunTrigger.MANUAL, "done")
    assert run(late, at("19:00:00")).next_run_at is None


def test_pause_that_ends_before_its_time_does_not_make_it_early() -> None:
    paused = changes.pause(single(), at("13:00:00"), "", at("12:30:00"), "user:ann", CRON).endpoint

    assert due(paused) == EVENING
    assert reach(paused, EVENING).claim is not None


def test_run_whose_time_falls_into_a_pause_starts_when_the_pause_ends() -> None:
    paused = changes.pause(single(), at("20:00:00"), "", at("12:30:00"), "user:ann", CRON).endpoint
    resumed = changes.resume(paused, at("19:00:00"), "user:ann", CRON).endpoint

    assert (due(paused), due(resumed)) == (at("20:00:00"), at("19:00:00"))
    assert run(paused, at("20:00:00")).is_done


def test_pause_does_not_bring_back_what_is_done() -> None:
    done = run(single(), EVENING)
    paused = changes.pause(done, at("20:00:00"), "", at("19:00:00"), "user:ann", CRON).endpoint

    assert paused.next_run_at is None
    assert changes.resume(paused, at("19:30:00"), "user:ann", CRON).endpoint.next_run_at is None


def test_another_time_plans_it_again() -> None:
    done = run(single(), EVENING)
    edited = changes.edit(done, replace(done, once_at=at("22:00:00")), at("19:00:00"), "user:ann", CRON).endpoint

    assert (due(edited), edited.is_done) == (at("22:00:00"), False)
    assert run(edited, at("22:00:00")).is_done


def test_other_edits_and_a_resumed_job_do_not_bring_it_back() -> None:
    done = run(single(), EVENING)
    described = changes.edit(done, replace(done, backoff="monitor"), at("19:00:00"), "user:ann", CRON).endpoint
    stopped = changes.set_job_active(done, False, at("19:00:00"), "user:ann", CRON).endpoint
    resumed = changes.set_job_active(stopped, True, at("19:00:00"), "user:ann", CRON).endpoint

    assert (described.next_run_at, resumed.next_run_at) == (None, None)


def test_one_shot_hint_adds_a_run_and_an_interval_hint_is_ignored() -> None:
    hinted = changes.put_one_shot_hint(single(), once(at("12:10:00"), at("13:00:00")), NOON, CRON).endpoint
    interval = changes.put_interval_hint(single(), every(60, at("19:00:00")), NOON, CRON).endpoint

    assert due(hinted) == at("12:10:00")
    assert due(run(hinted, at("12:10:00"))) == EVENING
    assert due(interval) == EVENING
    assert decode_trail(run(interval, EVENING).trail)[-1].why == "an endpoint that runs once has no interval"


@pytest.mark.parametrize(
    ("misfire", "lateness_ms", "runs"),
    [
        pytest.param(MisfirePolicy.RUN_ONCE, None, True, id="it runs however late"),
        pytest.param(MisfirePolicy.CATCH_UP, None, True, id="there is one run to catch up"),
        pytest.param(MisfirePolicy.SKIP, None, False, id="an endpoint that skips what it missed is done"),
        pytest.param(MisfirePolicy.RUN_ONCE, 60_000, False, id="the maximum lateness holds"),
    ],
)
def test_misfire_policy_decides_after_a_downtime(misfire: MisfirePolicy, lateness_ms: int | None, runs: bool) -> None:
    transition = reach(single(misfire=misfire, max_lateness_ms=lateness_ms), at("21:00:00"))

    assert (transition.claim is not None) is runs
    assert (transition.missed is not None) is not runs
    assert transition.endpoint.is_done is not runs


@pytest.mark.parametrize("policy", LostWorkerPolicy)
def test_lost_worker_is_replaced_or_the_slot_is_left(policy: LostWorkerPolicy) -> None:
    claim = start(single(on_lost_worker=policy), EVENING)
    lost = end_lost(claim.endpoint, at("18:00:05"), 1, CRON).endpoint

    if policy is LostWorkerPolicy.RETRY:
        assert start(lost, at("18:00:05")).slot_id == claim.slot_id
    else:
        assert (lost.next_run_at, lost.is_done) == (None, True)


def test_upcoming_runs_are_one_and_then_none() -> None:
    assert [each.next_run_at for each in preview(single(), NOON, 5, CRON)] == [EVENING]
    assert preview(run(single(), EVENING), at("19:00:00"), 5, CRON) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"interval_ms": 60_000},
            "an interval and a single time for 'single'; an endpoint has exactly one of every, cron and at: give one "
            "(on the command line: --every, --cron or --at)",
        ),
        (
            {"once_at": None},
            "no schedule for 'single'; an endpoint has exactly one of every, cron and at: give one (on the command "
            "line: --every, --cron or --at)",
        ),
        (
            {"max_interval_ms": 3_600_000},
            "max_interval 1h for 'single', which runs once; a single run has no interval: leave max_interval out, or "
            "give every or cron in place of at",
        ),
    ],
)
def test_contradictions_are_refused(fields: dict[str, object], message: str) -> None:
    endpoint = replace(an_endpoint("single", interval_ms=None, once_at=EVENING), **fields)

    with pytest.raises(InvalidInput) as refused:
        check_config(config_of(endpoint), Tenant("default", "default"), allow_ports=frozenset({9}))

    assert str(refused.value) == message
