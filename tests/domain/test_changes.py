"""What people, rules and models do to an endpoint between runs, with the events it leads to and the errors' words."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.domain.stage import DAY, after, at, due, end, every, once, run, start, types
from tests.stores.world import an_endpoint

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, InvalidInput, QuotaExceeded
from mainspring.domain.instant import FOREVER
from mainspring.domain.run import HttpAction, RunStatus, RunTrigger
from mainspring.domain.schedule.changes import (
    Change,
    archive,
    clear_hints,
    edit,
    expire_hints,
    pause,
    put_interval_hint,
    put_one_shot_hint,
    request_run,
    reset_failures,
    resume,
    set_job_active,
)
from mainspring.domain.schedule.cron import CRON

NOON = at("12:00:00")
NOW = at("12:20:00")
ONE = at("13:00:00")


def hourly(**fields: object) -> Endpoint:
    """Ran at noon, runs again at one."""
    given: dict[str, object] = {
        "interval_ms": 3_600_000, "anchor_at": NOON, "next_run_at": ONE, "last_run_at": NOON,
        "last_status": "success", **fields,
    }  # fmt: skip
    return an_endpoint("billing", id="ep_1", **given)


def test_a_tightening_hint_moves_the_next_run_to_now_plus_its_interval() -> None:
    change = put_interval_hint(hourly(), every(60, ONE, "queue grows", "rule"), NOW, CRON)

    assert (due(change.endpoint), change.endpoint.source) == (at("12:21:00"), "ai-interval")
    written, moved = change.events
    assert (written.type.value, written.actor, written.at) == ("hint.written", "rule", NOW)
    assert written.data == {
        "kind": "interval", "interval_ms": 60_000, "expires_at": "2025-01-01T13:00:00Z", "reason": "queue grows",
        "author": "rule",
    }  # fmt: skip
    assert (moved.type.value, moved.actor) == ("schedule.updated", "rule")
    assert moved.data == {
        "from": "2025-01-01T13:00:00Z", "next_run_at": "2025-01-01T12:21:00Z", "source": "ai-interval",
    }  # fmt: skip


def test_a_relaxing_hint_counts_from_the_next_decision_on() -> None:
    change = put_interval_hint(hourly(), every(7_200, at("13:10:00")), NOW, CRON)

    assert (due(change.endpoint), types(change.events)) == (ONE, ["hint.written"])
    assert due(run(change.endpoint, ONE)) == at("15:00:00")


def test_a_one_shot_moves_the_next_run_to_its_instant() -> None:
    change = put_one_shot_hint(hourly(), once(at("12:25:00"), at("12:50:00"), "look again", "model"), NOW, CRON)

    assert (due(change.endpoint), change.endpoint.source) == (at("12:25:00"), "ai-oneshot")
    assert types(change.events) == ["hint.written", "schedule.updated"]
    assert change.events[0].data == {
        "kind": "one_shot", "at": "2025-01-01T12:25:00Z", "expires_at": "2025-01-01T12:50:00Z",
        "reason": "look again", "author": "model",
    }  # fmt: skip


def test_writing_one_hint_leaves_the_other() -> None:
    both = put_one_shot_hint(hourly(interval_hint=every(60, ONE)), once(at("12:25:00"), ONE), NOW, CRON).endpoint
    other = put_interval_hint(hourly(one_shot_hint=once(at("12:25:00"), ONE)), every(60, ONE), NOW, CRON).endpoint

    assert both.interval_hint == every(60, ONE)
    assert other.one_shot_hint == once(at("12:25:00"), ONE)


def test_an_overwritten_one_shot_no_longer_asks_for_its_run() -> None:
    first = put_one_shot_hint(hourly(), once(at("12:25:00"), ONE), NOW, CRON).endpoint

    later = put_one_shot_hint(first, once(at("12:40:00"), ONE), NOW, CRON)
    earlier = put_one_shot_hint(first, once(at("12:22:00"), ONE), NOW, CRON)

    assert (due(later.endpoint), due(earlier.endpoint)) == (at("12:40:00"), at("12:22:00"))
    assert types(later.events) == ["hint.written", "schedule.updated"]


def test_hints_move_nothing_during_a_pause_and_count_after_it() -> None:
    paused = hourly(paused_until=at("18:00:00"), next_run_at=at("18:00:00"))
    change = put_one_shot_hint(paused, once(at("12:40:00"), at("20:00:00")), NOW, CRON)

    assert (due(change.endpoint), types(change.events)) == (at("18:00:00"), ["hint.written"])
    assert due(resume(change.endpoint, at("12:30:00"), "user", CRON).endpoint) == at("12:40:00")


def test_clearing_hints_brings_the_baseline_back_at_once() -> None:
    hinted = hourly(next_run_at=at("16:00:00"), interval_hint=every(14_400, ONE), one_shot_hint=once(ONE, ONE))

    change = clear_hints(hinted, NOW, "ann", CRON)

    assert change.endpoint == replace(
        hourly(), trail=change.endpoint.trail, source="baseline-interval", interval_hint=None, one_shot_hint=None
    )
    assert types(change.events) == ["hint.cleared", "schedule.updated"]
    assert {event.actor for event in change.events} == {"ann"}


def test_clearing_hints_that_are_not_there_is_nothing() -> None:
    assert clear_hints(hourly(), NOW, "ann", CRON) == Change(hourly())


def test_an_expired_hint_brings_the_baseline_back_at_once() -> None:
    relaxed = hourly(next_run_at=at("16:00:00"), interval_hint=every(14_400, NOW))

    change = expire_hints(relaxed, NOW, CRON)

    assert (due(change.endpoint), change.endpoint.interval_hint) == (ONE, None)
    assert types(change.events) == ["hint.expired", "schedule.updated"]
    assert expire_hints(hourly(), NOW, CRON) == Change(hourly())


def test_a_pause_ends_where_it_was_told_to_or_never() -> None:
    until = pause(hourly(), at("18:00:00"), "holidays", NOW, "ann", CRON)
    forever = pause(hourly(), None, "", NOW, "ann", CRON)

    assert (due(until.endpoint), until.endpoint.source, until.endpoint.pause_reason) == (
        at("18:00:00"), "paused", "holidays",
    )  # fmt: skip
    assert (due(forever.endpoint), forever.endpoint.paused_until) == (FOREVER, FOREVER)
    assert types(until.events) == ["endpoint.paused", "schedule.updated"]
    assert until.events[0].data == {"until": "2025-01-01T18:00:00Z", "reason": "holidays"}
    assert forever.events[0].data == {"until": None, "reason": ""}


@pytest.mark.parametrize("until", [NOW, NOW - timedelta(microseconds=1), DAY])
def test_a_pause_that_would_be_over_is_refused(until: datetime) -> None:
    with pytest.raises(InvalidInput, match="; give a later time") as refusal:
        pause(hourly(), until, "", NOW, "ann", CRON)

    assert str(refusal.value).startswith(
        f"cannot pause until {refusal.value.value}, which is not after the current time 2025-01-01T12:20:00Z"
    )
    assert refusal.value.field == "until"


def test_resuming_gives_the_schedule_back() -> None:
    paused = pause(hourly(), None, "holidays", NOW, "ann", CRON).endpoint

    soon = resume(paused, at("12:30:00"), "ann", CRON)
    late = resume(paused, at("15:30:00"), "ann", CRON)

    assert (due(soon.endpoint), due(late.endpoint)) == (ONE, at("15:30:00"))
    assert (soon.endpoint.paused_until, soon.endpoint.pause_reason) == (None, "")
    assert types(soon.events) == ["endpoint.resumed", "schedule.updated"]


def test_resuming_a_cron_waits_for_its_next_time_whatever_its_minimum() -> None:
    daily = hourly(cron="0 3 * * *", interval_ms=None, anchor_at=at("03:00:00"), min_interval_ms=43_200_000)
    paused = pause(daily, None, "", at("12:00:00"), "ann", CRON).endpoint

    assert due(resume(paused, at("16:00:00", day=8), "ann", CRON).endpoint) == at("03:00:00", day=9)


def test_resuming_what_is_not_paused_is_nothing() -> None:
    over = hourly(paused_until=NOW)

    assert resume(over, NOW, "ann", CRON) == Change(over)


def test_resuming_takes_a_parked_endpoint_back() -> None:
    parked = hourly(parked_at=NOW, parked_reason="lost its worker 5 times", lost_count=5, next_run_at=None)

    freed = resume(parked, at("12:30:00"), "ann", CRON).endpoint

    assert (freed.parked_at, freed.parked_reason, freed.lost_count, due(freed)) == (None, "", 0, ONE)


def test_resuming_does_not_bring_back_what_is_over_its_quota() -> None:
    first = at("00:00:00", day=32)
    deferred = hourly(paused_until=FOREVER, deferred_until=first, next_run_at=FOREVER)

    resumed = resume(deferred, NOW, "ann", CRON).endpoint

    assert (due(resumed), resumed.deferred_until) == (first, first)


def test_a_requested_run_starts_now_and_the_cadence_is_kept() -> None:
    change = request_run(hourly(), NOW, "ann", CRON)

    assert change.endpoint == hourly(manual_at=NOW)
    (event,) = change.events
    assert (event.type.value, event.actor, event.data) == (
        "manual_run.requested", "ann", {"queued_behind_a_run": False},
    )  # fmt: skip


def test_a_requested_run_resets_the_backoff_of_an_idle_endpoint() -> None:
    failing = hourly(interval_ms=60_000, failure_count=5, not_before=at("12:31:00"), next_run_at=at("12:32:00"))

    change = request_run(failing, NOW, "ann", CRON)

    assert (change.endpoint.failure_count, change.endpoint.not_before) == (0, None)
    assert due(change.endpoint) == at("12:21:00")
    assert types(change.events) == ["manual_run.requested", "schedule.updated"]


def test_more_requests_join_the_queued_one() -> None:
    requested = request_run(hourly(), NOW, "ann", CRON).endpoint

    assert request_run(requested, at("12:20:05"), "bob", CRON) == Change(requested)


def test_a_request_during_a_run_is_queued_behind_it() -> None:
    claim = start(hourly(failure_count=2), ONE)

    change = request_run(claim.endpoint, at("13:00:05"), "ann", CRON)
    settled = after(end(change.endpoint, claim, RunStatus.FAILURE, took=10))
    following = start(settled, at("13:00:10"))

    assert change.events[0].data == {"queued_behind_a_run": True}
    assert change.endpoint == replace(claim.endpoint, manual_at=at("13:00:05"))
    assert (following.trigger, following.endpoint.manual_at) == (RunTrigger.MANUAL, None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"archived_at": NOON},
            "endpoint 'billing' is archived; an archived endpoint never runs again; create a new one",
        ),
        (
            {"parked_at": NOON, "parked_reason": "lost its worker 5 times"},
            "endpoint 'billing' is parked (lost its worker 5 times); resume it first",
        ),
        (
            {"job_active": False},
            "endpoint 'billing' belongs to a job that is not active; resume the job first",
        ),
    ],
    ids=["archived", "parked", "job not active"],
)
def test_what_cannot_run_refuses_a_request_and_says_the_way_out(fields: dict[str, object], message: str) -> None:
    with pytest.raises(Conflict) as refusal:
        request_run(hourly(**fields), NOW, "ann", CRON)

    assert (str(refusal.value), refusal.value.kind, refusal.value.name) == (message, "endpoint", "billing")


def test_over_quota_a_request_is_refused_until_the_month_is_over() -> None:
    first = at("00:00:00", day=32)
    deferred = hourly(deferred_until=first, next_run_at=first)

    with pytest.raises(QuotaExceeded) as refusal:
        request_run(deferred, NOW, "ann", CRON)

    assert str(refusal.value) == (
        "endpoint 'billing' waits until 2025-02-01T00:00:00Z because its tenant used up its monthly runs; "
        "raise the quota runs_per_month or wait"
    )
    assert (refusal.value.quota, refusal.value.limit) == ("runs_per_month", 0)
    assert request_run(deferred, first, "ann", CRON).endpoint.manual_at == first


def test_resetting_failures_ends_the_backoff_at_once() -> None:
    failing = hourly(interval_ms=1_800_000, failure_count=3, next_run_at=at("16:00:00"), not_before=at("15:00:00"))

    change = reset_failures(failing, NOW, "ann", CRON)

    assert (due(change.endpoint), change.endpoint.failure_count) == (at("12:30:00"), 0)
    assert types(change.events) == ["failures.reset", "schedule.updated"]
    assert change.events[0].data == {"failures": 3}


def test_an_archived_endpoint_is_off_the_schedule_for_good() -> None:
    change = archive(hourly(manual_at=NOW), NOW, "ann")

    assert change.endpoint == hourly(archived_at=NOW, updated_at=NOW, version=2, next_run_at=None)
    assert types(change.events) == ["endpoint.archived", "schedule.updated"]
    assert archive(change.endpoint, ONE, "ann") == Change(change.endpoint)


def test_a_job_that_stops_takes_its_endpoints_off_the_schedule_and_back() -> None:
    stopped = set_job_active(hourly(manual_at=NOW), False, NOW, "ann", CRON)
    again = set_job_active(stopped.endpoint, True, at("12:30:00"), "ann", CRON)

    assert (stopped.endpoint.next_run_at, stopped.endpoint.manual_at, types(stopped.events)) == (
        None, None, ["schedule.updated"],
    )  # fmt: skip
    assert stopped.events[0].data["next_run_at"] is None
    assert due(again.endpoint) == ONE
    assert again.events[0].data["from"] is None
    assert set_job_active(hourly(), True, NOW, "ann", CRON) == Change(hourly())


def test_an_edit_that_changes_nothing_is_nothing() -> None:
    assert edit(hourly(), hourly(), NOW, "ann", CRON) == Change(hourly())


@pytest.mark.parametrize("due_at", [ONE, NOW - timedelta(seconds=3), at("09:00:00")], ids=["to come", "due", "overdue"])
@pytest.mark.parametrize("cron", [None, "0 * * * *"], ids=["interval", "cron"])
def test_an_edit_that_does_not_concern_the_schedule_moves_nothing(due_at: datetime, cron: str | None) -> None:
    old = hourly(next_run_at=due_at, anchor_at=due_at - timedelta(hours=1))
    old = replace(old, cron=cron, interval_ms=None if cron else 3_600_000)

    change = edit(old, replace(old, action=HttpAction("https://example.org/")), NOW, "ann", CRON)

    assert change.endpoint == replace(
        old, action=HttpAction("https://example.org/"), version=old.version + 1, updated_at=NOW
    )
    (event,) = change.events
    assert (event.type.value, event.data) == ("endpoint.updated", {"fields": ["action"]})


def test_an_edited_interval_counts_from_the_last_run() -> None:
    sooner = edit(hourly(), hourly(interval_ms=1_800_000), NOW, "ann", CRON)
    at_once = edit(hourly(), hourly(interval_ms=600_000), NOW, "ann", CRON)
    later = edit(hourly(), hourly(min_interval_ms=7_200_000), NOW, "ann", CRON)

    assert [due(each.endpoint) for each in (sooner, at_once, later)] == [at("12:30:00"), NOW, at("14:00:00")]
    assert types(sooner.events) == ["endpoint.updated", "schedule.updated"]


def test_an_edited_schedule_that_never_ran_gets_a_new_phase() -> None:
    new = hourly(last_run_at=None, spread=True)

    phases = {
        due(edit(each, replace(each, interval_ms=60_000), NOW, "ann", CRON).endpoint)
        for each in (replace(new, id=f"ep_{number}") for number in range(20))
    }

    assert len(phases) == 20
    assert all(NOW <= phase < NOW + timedelta(minutes=1) for phase in phases)


def test_an_edit_into_a_job_that_is_not_active_takes_the_endpoint_off_the_schedule() -> None:
    moved = edit(hourly(), hourly(job_id="job_2", job_active=False), NOW, "ann", CRON).endpoint
    back = edit(moved, replace(moved, job_id="job_1", job_active=True), NOW, "ann", CRON).endpoint

    assert (moved.next_run_at, due(back)) == (None, ONE)


def test_an_act_during_a_run_moves_only_what_comes_after_it() -> None:
    claim = start(hourly(), ONE)
    now = at("13:00:05")
    held = claim.endpoint
    acts = [
        put_interval_hint(held, every(60, at("14:00:00")), now, CRON),
        put_one_shot_hint(held, once(at("13:10:00"), at("13:30:00")), now, CRON),
        pause(held, at("18:00:00"), "", now, "ann", CRON),
        edit(held, replace(held, interval_ms=600_000), now, "ann", CRON),
        reset_failures(held, now, "ann", CRON),
    ]

    for change in acts:
        assert (change.endpoint.slot_at, change.endpoint.lease_until) == (ONE, held.lease_until)
        assert change.endpoint.claim_epoch == claim.epoch
    assert [due(after(end(change.endpoint, claim, took=10))) for change in acts] == [
        at("13:01:00"), at("13:10:00"), at("18:00:00"), at("13:10:00"), at("14:00:00"),
    ]  # fmt: skip


def test_an_act_on_a_due_slot_does_not_lose_it() -> None:
    due_now = hourly(next_run_at=NOW, anchor_at=at("11:20:00"))

    change = reset_failures(due_now, at("12:20:03"), "ann", CRON)

    assert (due(change.endpoint), types(change.events)) == (NOW, ["failures.reset"])
