"""What a finished call does to its endpoint: the result counts once, and only where the epoch is still its claim's."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.domain.stage import FaultyCron, after, at, due, end, every, lease_end, once, reach, run, start, types
from tests.stores.world import an_endpoint, an_outcome

from mainspring.domain.endpoint import MisfirePolicy
from mainspring.domain.instant import FOREVER
from mainspring.domain.run import RunStatus, RunTrigger
from mainspring.domain.schedule.anchor import FAULTY_DELAY
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.finish import Finished, Settlement, settle
from mainspring.domain.schedule.governor import DecisionStep, decode_trail

NOON = at("12:00:00")
MINUTE = timedelta(minutes=1)


def started(**fields: object) -> Claim:
    return start(an_endpoint("started", next_run_at=NOON, **fields), NOON)


def test_a_success_resets_failures_and_ends_the_lease() -> None:
    claim = started(failure_count=3, lost_count=2)

    settlement = end(claim.endpoint, claim, took=0.5)

    settled = after(settlement)
    assert settlement.status is RunStatus.SUCCESS
    assert (settled.failure_count, settled.lost_count) == (0, 0)
    assert (settled.is_running, settled.slot_at) == (False, None)
    assert (settled.last_run_at, settled.last_status) == (NOON, "success")
    assert (due(settled), settled.anchor_at, settled.source) == (at("12:01:00"), NOON, "baseline-interval")
    assert settled.claim_epoch == claim.epoch


@pytest.mark.parametrize("status", [RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.BLOCKED])
def test_whatever_is_no_success_counts_as_a_failure_and_backs_off(status: RunStatus) -> None:
    claim = started(failure_count=1)

    settlement = end(claim.endpoint, claim, status)

    settled = after(settlement)
    assert (settlement.status, settled.failure_count, settled.last_status) == (status, 2, status.value)
    assert due(settled) == at("12:04:00")


def test_a_finished_run_is_told_with_its_status_and_the_next_run() -> None:
    claim = started()

    (event,) = end(claim.endpoint, claim).events

    assert (event.type.value, event.run_id, event.actor) == ("run.finished", "run_1", "worker-1")
    assert event.data == {
        "status": "success",
        "status_code": 200,
        "duration_ms": 12,
        "next_run_at": at("12:01:00"),
        "source": "baseline-interval",
    }


def test_a_failure_is_told_with_its_code_and_the_backoff_it_led_to() -> None:
    claim = started()

    events = end(claim.endpoint, claim, an_outcome(RunStatus.FAILURE, error_code="connect")).events

    assert types(events) == ["run.finished", "backoff.applied"]
    assert events[0].data["error_code"] == "connect"
    assert events[1].data == {"failures": 1, "next_run_at": at("12:02:00")}


def test_a_timeout_is_told_with_the_deadline_it_passed() -> None:
    claim = started()

    events = end(claim.endpoint, claim, RunStatus.TIMEOUT).events

    assert types(events) == ["run.finished", "run.timeout", "backoff.applied"]
    assert events[1].data == {"timeout_ms": 30_000}


@pytest.mark.parametrize(
    "fields",
    [{"cron": "* * * * *"}, {"interval_hint": every(30, at("13:00:00"))}, {"max_interval_ms": 60_000}],
    ids=["cron", "interval hint", "clamped"],
)
def test_backoff_is_not_claimed_where_it_moved_nothing(fields: dict[str, object]) -> None:
    claim = started(**fields)

    assert types(end(claim.endpoint, claim, RunStatus.FAILURE).events) == ["run.finished"]


def test_a_result_after_the_slot_was_taken_over_is_superseded_and_changes_nothing() -> None:
    first = started()
    second = start(first.endpoint, lease_end(first.endpoint))

    late = end(second.endpoint, first, took=70)

    assert (late.endpoint, late.status, late.is_repeat) == (None, RunStatus.SUPERSEDED, False)
    (event,) = late.events
    assert (event.type.value, event.run_id) == ("run.superseded", "run_1")
    assert event.data == {"would_have_been": "success", "worker": "worker-1"}


def test_a_result_after_a_slot_was_left_is_superseded_too() -> None:
    first = started()
    left = reach(replace(first.endpoint, paused_until=at("12:30:00")), lease_end(first.endpoint)).endpoint

    assert end(left, first, took=70).status is RunStatus.SUPERSEDED


def test_a_result_for_a_deleted_endpoint_is_superseded() -> None:
    claim = started()

    settlement = end(None, claim)

    assert (settlement.endpoint, settlement.status) == (None, RunStatus.SUPERSEDED)
    assert types(settlement.events) == ["run.superseded"]


def test_the_same_result_again_is_a_repeat_without_events() -> None:
    claim = started()
    settled = after(end(claim.endpoint, claim))

    assert end(settled, claim) == Settlement(None, RunStatus.SUCCESS, is_repeat=True)


def test_without_the_fence_a_late_result_would_count() -> None:
    first = started()
    second = start(first.endpoint, lease_end(first.endpoint))
    late = Finished(first, an_outcome(), NOON, at("12:01:10"))

    assert settle(second.endpoint, late, at("12:01:10"), FaultyCron(), fenced=False).endpoint is not None


def test_hints_that_expired_during_the_run_are_cleared_and_not_followed() -> None:
    claim = started(interval_hint=every(5, at("12:00:10")))

    settlement = end(claim.endpoint, claim, took=10)

    settled = after(settlement)
    assert (settled.interval_hint, due(settled), settled.source) == (None, at("12:01:00"), "baseline-interval")
    assert types(settlement.events) == ["hint.expired", "run.finished"]
    assert settlement.events[0].data == {
        "kind": "interval", "expired_at": "2025-01-01T12:00:10Z", "author": "user",
    }  # fmt: skip


def test_a_hint_written_during_the_run_counts_at_its_end() -> None:
    claim = started(interval_ms=3_600_000)
    hinted = replace(claim.endpoint, interval_hint=every(30, at("13:00:00")))

    assert due(after(end(hinted, claim, took=5))) == at("12:00:30")


def test_a_one_shot_written_during_the_run_runs_right_after_it() -> None:
    claim = started(interval_ms=3_600_000)
    hinted = replace(claim.endpoint, one_shot_hint=once(at("12:00:05"), at("13:00:00")))

    settled = after(end(hinted, claim, took=20))

    assert (due(settled), settled.source) == (at("12:00:20"), "ai-oneshot")
    assert run(settled, at("12:00:20")).one_shot_hint is None


def test_a_pause_during_the_run_holds_at_its_end() -> None:
    claim = started()
    paused = replace(claim.endpoint, paused_until=at("18:00:00"))

    assert due(after(end(paused, claim))) == at("18:00:00")


@pytest.mark.parametrize("stopped", [{"job_active": False}, {"archived_at": NOON}])
@pytest.mark.parametrize("fields", [{}, {"manual_at": NOON}], ids=["scheduled", "manual"])
def test_what_was_stopped_during_the_run_is_not_planned_again(
    stopped: dict[str, object], fields: dict[str, object]
) -> None:
    claim = started(**fields)
    endpoint = replace(claim.endpoint, next_run_at=None, **stopped)

    settlement = end(endpoint, claim)

    assert after(settlement).next_run_at is None
    assert settlement.events[0].data["next_run_at"] is None


def test_a_manual_run_keeps_the_cadence_and_counts_for_the_failures() -> None:
    endpoint = an_endpoint(anchor_at=NOON, next_run_at=at("12:01:00"), manual_at=at("12:00:20"), failure_count=0)
    claim = start(endpoint, at("12:00:20"))

    settlement = end(claim.endpoint, claim, RunStatus.FAILURE, took=5)

    settled = after(settlement)
    assert (due(settled), settled.anchor_at, settled.failure_count) == (at("12:01:00"), NOON, 1)
    assert types(settlement.events) == ["run.finished"]


def test_a_manual_run_leaves_expired_hints_to_the_sweep() -> None:
    hint = every(5, at("12:00:01"))
    claim = started(manual_at=NOON, interval_hint=hint)

    assert after(end(claim.endpoint, claim, took=5)).interval_hint == hint


def test_a_queued_manual_run_starts_when_the_current_one_settles() -> None:
    claim = started()
    queued = replace(claim.endpoint, manual_at=at("12:00:01"))
    settled = after(end(queued, claim, took=5))

    following = start(settled, at("12:00:05"))

    assert (following.trigger, following.slot_at) == (RunTrigger.MANUAL, at("12:00:01"))
    assert due(after(end(following.endpoint, following))) == at("12:01:00")


@pytest.mark.parametrize(
    ("retry_after_s", "fields", "expected"),
    [
        pytest.param(600, {}, at("12:10:02"), id="longer than the backoff: counted from the end of the call"),
        pytest.param(30, {}, at("12:02:00"), id="shorter than the backoff: no effect"),
        pytest.param(0, {}, at("12:02:00"), id="none"),
        pytest.param(-5, {}, at("12:02:00"), id="negative"),
        pytest.param(86_400, {"max_interval_ms": 300_000}, at("12:05:00"), id="the endpoint's maximum wins"),
        pytest.param(10**30, {}, FOREVER, id="beyond the calendar"),
        pytest.param(-(10**30), {}, at("12:02:00"), id="before the calendar"),
    ],
)
def test_retry_after_holds_back_within_the_limits(
    retry_after_s: int, fields: dict[str, object], expected: datetime
) -> None:
    claim = started(**fields)

    settled = after(end(claim.endpoint, claim, an_outcome(RunStatus.FAILURE, retry_after_s=retry_after_s), took=2))

    assert due(settled) == expected


def test_retry_after_is_forgotten_by_the_next_answer_without_it() -> None:
    held = run(an_endpoint(next_run_at=NOON), NOON, an_outcome(RunStatus.FAILURE, retry_after_s=600))

    assert held.not_before is not None
    assert run(held, due(held)).not_before is None


def test_an_endpoint_that_cannot_be_planned_is_pushed_ahead_with_its_result_recorded() -> None:
    claim = started(cron="0 12 * * *")
    finished = Finished(claim, an_outcome(), NOON, NOON)

    settlement = settle(claim.endpoint, finished, NOON, FaultyCron())

    settled = after(settlement)
    assert (due(settled), settled.is_running, settled.last_status) == (NOON + FAULTY_DELAY, False, "success")
    assert types(settlement.events) == ["endpoint.faulty", "run.finished"]
    assert settlement.events[0].data["fault"] == "cannot read 0 12 * * *"
    assert "ValueError: cannot read 0 12 * * *" in decode_trail(settled.trail)[0].why


@pytest.mark.parametrize("code", ["internal", "unstorable"])
def test_what_threw_when_called_or_stored_is_left_alone_for_the_same_delay(code: str) -> None:
    claim = started()

    settlement = end(claim.endpoint, claim, an_outcome(RunStatus.FAILURE, error_code=code, error="a bug"), took=1)

    settled = after(settlement)
    later = at("12:00:01") + FAULTY_DELAY
    assert (due(settled), settled.failure_count, settled.is_running) == (later, 1, False)
    assert types(settlement.events) == ["endpoint.faulty", "run.finished", "backoff.applied"]
    assert settlement.events[0].data == {"fault": "a bug"}
    why = "internal error; retried later: a bug"
    assert decode_trail(settled.trail)[-1] == DecisionStep("faulty", later, "moved", why)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"interval_ms": 3_600_000}, at("14:00:00"), id="it runs later anyway"),
        pytest.param({"archived_at": NOON}, None, id="it runs no more"),
    ],
)
def test_what_threw_is_not_called_sooner_for_it(fields: dict[str, object], expected: datetime | None) -> None:
    claim = started()
    changed = replace(claim.endpoint, **fields)

    settled = after(end(changed, claim, an_outcome(RunStatus.FAILURE, error_code="internal", error="a bug")))

    assert settled.next_run_at == expected
    assert "faulty" not in [step.rule for step in decode_trail(settled.trail)]


def test_a_catch_up_goes_on_with_the_next_slot_at_once() -> None:
    endpoint = an_endpoint(next_run_at=NOON, misfire=MisfirePolicy.CATCH_UP)
    claim = start(endpoint, at("12:02:30"))

    settled = after(end(claim.endpoint, claim, took=2))

    assert (settled.slot_at, due(settled), settled.trigger) == (at("12:01:00"), at("12:02:32"), RunTrigger.CATCH_UP)


@pytest.mark.parametrize(
    ("fields", "next_run_at"), [({"paused_until": at("18:00:00")}, at("18:00:00")), ({"job_active": False}, None)]
)
def test_a_catch_up_ends_where_the_endpoint_is_paused_or_stopped(
    fields: dict[str, object], next_run_at: datetime | None
) -> None:
    claim = start(an_endpoint(next_run_at=NOON, misfire=MisfirePolicy.CATCH_UP), at("12:02:30"))

    settled = after(end(replace(claim.endpoint, **fields), claim))

    assert (settled.slot_at, settled.next_run_at) == (None, next_run_at)


def test_a_catch_up_whose_worker_was_lost_goes_on() -> None:
    first = start(an_endpoint(next_run_at=NOON, misfire=MisfirePolicy.CATCH_UP), at("12:02:30"))
    second = start(first.endpoint, lease_end(first.endpoint))

    settled = after(end(second.endpoint, second))
    third = start(settled, due(settled))

    assert (second.slot_at, second.attempt) == (NOON, 2)
    assert (third.slot_at, third.attempt, third.trigger) == (at("12:01:00"), 1, RunTrigger.CATCH_UP)
