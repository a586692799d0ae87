"""What becomes of an endpoint when a worker reaches for it: start, take over, defer, leave."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.domain.stage import (
    DAY,
    FaultyCron,
    after,
    at,
    claimant,
    due,
    end,
    every,
    lease_end,
    once,
    reach,
    released,
    run,
    start,
    types,
)
from tests.stores.world import an_endpoint

from mainspring.domain.endpoint import LOST_WORKERS_MAX, Endpoint, LostWorkerPolicy, MisfirePolicy
from mainspring.domain.instant import FOREVER
from mainspring.domain.run import Run, RunStatus, RunTrigger
from mainspring.domain.schedule.anchor import FAULTY_DELAY
from mainspring.domain.schedule.claim import Closing, Transition, admit, end_lost, give_back
from mainspring.domain.schedule.cron import CRON

NOON = at("12:00:00")
HOUR = timedelta(hours=1)


def lost(endpoint: Endpoint, now: datetime) -> tuple[Endpoint, datetime]:
    """An endpoint whose worker died, and the instant its lease ends."""
    leased = start(endpoint, now).endpoint
    return leased, lease_end(leased)


def test_a_due_endpoint_starts_with_a_lease_of_its_own_deadline() -> None:
    endpoint = an_endpoint(id="ep_1", next_run_at=NOON, trail='["why"]', claim_epoch=6)
    now = NOON + timedelta(milliseconds=7)

    transition = reach(endpoint, now)

    leased = replace(
        endpoint, slot_at=NOON, attempt=1, claim_epoch=7, lease_until=now + timedelta(seconds=60),
        claimed_by="worker-1", run_id="run_1",
    )  # fmt: skip
    assert transition.endpoint == leased
    assert transition.opened == Run(
        "run_1", "default", "ep_1", NOON, 1, RunTrigger.SCHEDULE, "baseline-interval", RunStatus.RUNNING, now, 7,
        "worker-1", trail='["why"]',
    )  # fmt: skip
    assert (transition.missed, transition.closed) == (None, None)
    claim = transition.claim
    assert claim is not None
    assert (claim.endpoint, claim.run_id, claim.epoch, claim.slot_at) == (leased, "run_1", 7, NOON)
    assert (claim.attempt, claim.trigger, claim.claimed_at) == (1, RunTrigger.SCHEDULE, now)
    assert (claim.slot_id, claim.signing_keys) == ("ep_1_1735732800000000", ("sealed key",))


def test_the_start_of_a_run_is_told_with_its_slot_and_trigger() -> None:
    (event,) = reach(an_endpoint(next_run_at=NOON), NOON).events

    assert (event.type.value, event.run_id, event.actor, event.at) == ("run.started", "run_1", "worker-1", NOON)
    assert (event.data["attempt"], event.data["trigger"]) == (1, "schedule")


@pytest.mark.parametrize("stopped", [{"job_active": False}, {"archived_at": DAY}, {"parked_at": DAY}])
def test_what_may_not_run_is_only_taken_off_the_schedule(stopped: dict[str, object]) -> None:
    endpoint = an_endpoint("stopped", next_run_at=NOON, manual_at=NOON, slot_at=NOON, **stopped)

    assert reach(endpoint, NOON) == Transition(replace(endpoint, next_run_at=None, manual_at=None, slot_at=None))


def test_a_requested_run_starts_now_and_leaves_the_schedule_where_it_is() -> None:
    endpoint = an_endpoint(next_run_at=at("12:30:00"), manual_at=NOON)

    transition = reach(endpoint, at("12:00:00.2"))

    assert transition.opened is not None
    assert (transition.opened.trigger, transition.opened.slot_at) == (RunTrigger.MANUAL, NOON)
    assert (transition.endpoint.manual_at, transition.endpoint.next_run_at) == (None, at("12:30:00"))
    assert types(transition.events) == ["manual_run.started"]


def test_a_requested_run_does_not_consume_a_one_shot() -> None:
    hint = once(NOON, at("13:00:00"))

    assert reach(an_endpoint(manual_at=NOON, one_shot_hint=hint), NOON).endpoint.one_shot_hint == hint


def test_a_released_slot_starts_again_before_a_requested_run() -> None:
    given_back = replace(released(start(an_endpoint(next_run_at=NOON), NOON), NOON), manual_at=NOON)

    transition = reach(given_back, at("12:00:01"))

    assert transition.opened is not None
    assert (transition.opened.slot_at, transition.opened.attempt, transition.opened.trigger) == (
        NOON,
        2,
        RunTrigger.RETRY,
    )
    assert transition.endpoint.manual_at == NOON


@pytest.mark.parametrize("paused_until", [None, at("18:00:00")], ids=["active", "paused"])
def test_a_manual_run_that_was_given_back_starts_again_and_leaves_the_schedule(paused_until: datetime | None) -> None:
    endpoint = an_endpoint(next_run_at=at("13:00:00"), manual_at=NOON, paused_until=paused_until)
    given_back = released(start(endpoint, NOON), at("12:00:05"))

    again = start(given_back, at("12:00:06"))

    assert (again.slot_at, again.attempt, again.endpoint.trigger) == (NOON, 2, RunTrigger.MANUAL)
    assert (again.endpoint.manual_at, again.endpoint.next_run_at) == (None, at("13:00:00"))


def test_a_paused_endpoint_leaves_a_slot_that_was_given_back() -> None:
    paused = replace(released(start(an_endpoint(next_run_at=NOON), NOON), NOON), paused_until=at("18:00:00"))

    transition = reach(paused, at("12:00:01"))

    assert (transition.claim, transition.endpoint.slot_at, due(transition.endpoint)) == (None, None, at("18:00:00"))


def test_a_paused_endpoint_still_starts_a_requested_run_and_only_that() -> None:
    paused = replace(released(start(an_endpoint(next_run_at=NOON), NOON), NOON), paused_until=FOREVER, manual_at=NOON)

    claim = start(paused, at("12:00:01"))
    settled = after(end(claim.endpoint, claim))
    left = reach(settled, at("12:00:02"))

    assert claim.trigger is RunTrigger.MANUAL
    assert (left.claim, due(left.endpoint)) == (None, FOREVER)


@pytest.mark.parametrize(
    ("now", "first"),
    [
        (at("12:00:00"), datetime(2025, 2, 1, tzinfo=UTC)),
        (datetime(2025, 1, 31, 23, 59, 59, tzinfo=UTC), datetime(2025, 2, 1, tzinfo=UTC)),
        (datetime(2025, 2, 1, tzinfo=UTC), datetime(2025, 3, 1, tzinfo=UTC)),
        (datetime(2024, 2, 29, 12, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
        (datetime(2025, 12, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)),
        (datetime(2025, 12, 31, 23, 59, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_over_quota_a_run_is_deferred_to_the_first_of_the_next_month(now: datetime, first: datetime) -> None:
    endpoint = an_endpoint(next_run_at=now, manual_at=now)

    transition = reach(endpoint, now, over_quota=True)

    deferred = replace(endpoint, next_run_at=first, deferred_until=first, manual_at=None)
    assert (transition.endpoint, transition.claim, transition.opened) == (deferred, None, None)
    (event,) = transition.events
    assert (event.type.value, event.data["quota"]) == ("quota.deferred", "runs_per_month")


def test_over_quota_a_slot_that_was_given_back_is_left() -> None:
    given_back = released(start(an_endpoint(next_run_at=NOON), NOON), NOON)

    deferred = reach(given_back, NOON, over_quota=True).endpoint

    assert (deferred.slot_at, due(deferred)) == (None, at("00:00:00", day=32))


def test_a_deferral_does_not_bring_forward_what_lies_beyond_the_month() -> None:
    yearly = an_endpoint(cron="0 0 1 7 *", next_run_at=datetime(2025, 7, 1, tzinfo=UTC), manual_at=NOON)
    paused = an_endpoint(paused_until=FOREVER, next_run_at=FOREVER, manual_at=NOON)

    assert due(reach(yearly, NOON, over_quota=True).endpoint) == datetime(2025, 7, 1, tzinfo=UTC)
    assert due(reach(paused, NOON, over_quota=True).endpoint) == FOREVER


def test_a_deferred_endpoint_starts_in_its_month_and_is_deferred_no_longer() -> None:
    first = at("00:00:00", day=32)
    deferred = reach(an_endpoint(next_run_at=NOON), NOON, over_quota=True).endpoint

    started = start(deferred, first)

    assert (started.slot_at, started.endpoint.deferred_until) == (first, None)


def test_a_lost_worker_is_replaced_on_the_same_slot_with_a_new_epoch() -> None:
    leased, over = lost(an_endpoint(next_run_at=NOON), NOON)

    transition = admit(leased, over, claimant("run_2", worker="worker-2"), CRON)

    assert transition.closed == Closing(
        "run_1", RunStatus.ABANDONED, "worker worker-1 was lost: no result before the lease ended"
    )
    claim = transition.claim
    assert claim is not None
    assert (claim.slot_at, claim.attempt, claim.trigger, claim.run_id) == (NOON, 2, RunTrigger.RETRY, "run_2")
    assert claim.epoch > leased.claim_epoch
    assert (transition.endpoint.lost_count, transition.endpoint.claimed_by) == (1, "worker-2")
    assert types(transition.events) == ["run.abandoned", "run.started"]
    assert transition.events[0].data == {"status": "abandoned", "worker": "worker-1", "in_a_row": 1}


def test_every_further_attempt_at_a_slot_has_the_next_number_and_the_same_id() -> None:
    endpoint = an_endpoint(next_run_at=NOON)
    now, seen = NOON, []
    for _ in range(LOST_WORKERS_MAX):
        claim = start(endpoint, now)
        seen.append((claim.slot_id, claim.attempt))
        endpoint, now = claim.endpoint, lease_end(claim.endpoint)

    assert seen == [(seen[0][0], number) for number in range(1, LOST_WORKERS_MAX + 1)]


def test_an_endpoint_that_loses_five_workers_in_a_row_is_parked() -> None:
    endpoint = an_endpoint(next_run_at=NOON)
    now = NOON
    for _ in range(LOST_WORKERS_MAX):
        endpoint, now = lost(endpoint, now)
    queued = replace(endpoint, manual_at=now)

    transition = reach(queued, now)

    parked = transition.endpoint
    reason = "lost its worker 5 times in a row, and no other run explains it; find out why, then resume it"
    assert (transition.claim, parked.next_run_at, parked.manual_at, parked.slot_at) == (None, None, None, None)
    assert (parked.parked_at, parked.parked_reason, parked.is_running) == (now, reason, False)
    assert parked.claim_epoch > endpoint.claim_epoch
    assert types(transition.events) == ["run.abandoned", "endpoint.parked"]
    assert transition.events[1].data == {"reason": reason}


@pytest.mark.parametrize(
    ("lost_count", "together", "is_parked"),
    [(3, 1, False), (4, 1, True), (4, 2, False), (8, 2, False), (9, 2, True), (40, 30, False)],
    ids=["four alone", "five alone", "five with another", "nine with another", "ten with another", "41 with 29 others"],
)
def test_a_loss_counts_less_the_more_runs_could_be_its_cause(lost_count: int, together: int, is_parked: bool) -> None:
    leased = start(an_endpoint(next_run_at=NOON, lost_count=lost_count), NOON).endpoint

    ended = end_lost(leased, NOON, together, CRON).endpoint

    assert (ended.parked_at is not None, ended.lost_count) == (is_parked, lost_count + 1)


def test_the_slot_of_a_dead_worker_is_due_at_once_under_a_new_epoch() -> None:
    leased = start(an_endpoint(next_run_at=NOON), NOON).endpoint
    now = NOON + timedelta(seconds=4)

    transition = end_lost(leased, now, 1, CRON)

    owed = transition.endpoint
    assert transition.closed == Closing(
        "run_1", RunStatus.ABANDONED, "worker worker-1 died before it recorded a result"
    )
    assert (owed.next_run_at, owed.slot_at, owed.lease_until, owed.claimed_by) == (now, NOON, None, "")
    assert (owed.claim_epoch, owed.lost_count) == (leased.claim_epoch + 1, 1)
    again = start(owed, now)
    assert (again.slot_at, again.attempt, again.trigger) == (NOON, 2, RunTrigger.RETRY)


def test_the_requested_run_of_a_dead_worker_leaves_the_schedule_where_it_is() -> None:
    leased = start(an_endpoint(next_run_at=at("13:00:00"), manual_at=NOON), NOON).endpoint

    owed = end_lost(leased, NOON, 1, CRON).endpoint

    assert (owed.manual_at, owed.next_run_at) == (NOON, at("13:00:00"))


@pytest.mark.parametrize(
    ("policy", "status", "error"),
    [
        (LostWorkerPolicy.RETRY, RunStatus.ABANDONED, "its worker gave it up; the slot runs again"),
        (LostWorkerPolicy.SKIP, RunStatus.UNKNOWN, "its worker gave it up; the call may have been delivered"),
    ],
)
def test_a_worker_that_shuts_down_counts_against_no_endpoint(
    policy: LostWorkerPolicy, status: RunStatus, error: str
) -> None:
    leased = start(an_endpoint(next_run_at=NOON, lost_count=4, on_lost_worker=policy), NOON).endpoint

    transition = give_back(leased, NOON, CRON)

    assert transition.closed == Closing("run_1", status, error)
    assert (transition.endpoint.lost_count, transition.endpoint.parked_at) == (4, None)
    assert transition.events[0].data == {"status": status, "worker": "worker-1"}


def test_a_run_that_ends_resets_the_count_of_lost_workers() -> None:
    leased, over = lost(an_endpoint(next_run_at=NOON), NOON)
    claim = start(leased, over)

    assert claim.endpoint.lost_count == 1
    assert after(end(claim.endpoint, claim, RunStatus.FAILURE)).lost_count == 0


def test_at_most_once_a_lost_slot_is_closed_as_unknown_and_left() -> None:
    leased, over = lost(an_endpoint(next_run_at=NOON, on_lost_worker=LostWorkerPolicy.SKIP), NOON)

    transition = reach(leased, over)

    left = transition.endpoint
    assert transition.closed is not None
    assert transition.closed.status is RunStatus.UNKNOWN
    assert (transition.claim, left.slot_at, left.is_running, left.claimed_by) == (None, None, False, "")
    assert due(left) == over + timedelta(minutes=1)
    assert left.claim_epoch == leased.claim_epoch + 1
    assert transition.events[0].data["status"] == "unknown"


def test_at_most_once_a_lost_manual_run_leaves_the_schedule_its_cadence() -> None:
    endpoint = an_endpoint(
        interval_ms=3_600_000, anchor_at=NOON, next_run_at=at("13:00:00"), manual_at=at("12:10:00"),
        on_lost_worker=LostWorkerPolicy.SKIP,
    )  # fmt: skip
    leased, over = lost(endpoint, at("12:10:00"))

    left = reach(leased, over).endpoint

    assert (due(left), left.anchor_at) == (at("13:00:00"), NOON)


def test_a_lost_manual_run_is_retried_as_a_manual_run() -> None:
    leased, over = lost(an_endpoint(next_run_at=at("13:00:00"), manual_at=NOON), NOON)

    claim = start(leased, over)

    assert (claim.slot_at, claim.attempt, claim.trigger, claim.endpoint.trigger) == (
        NOON, 2, RunTrigger.RETRY, RunTrigger.MANUAL,
    )  # fmt: skip
    assert due(after(end(claim.endpoint, claim))) == at("13:00:00")


@pytest.mark.parametrize(
    ("fields", "next_run_at"),
    [
        ({"paused_until": at("18:00:00")}, at("18:00:00")),
        ({"job_active": False}, None),
        ({"archived_at": NOON}, None),
    ],
    ids=["paused", "job not active", "archived"],
)
def test_a_lost_slot_of_what_should_not_run_is_left(fields: dict[str, object], next_run_at: datetime | None) -> None:
    leased, over = lost(an_endpoint(next_run_at=NOON), NOON)

    transition = reach(replace(leased, **fields), over)

    assert transition.closed is not None
    assert transition.closed.status is RunStatus.ABANDONED
    assert (transition.claim, transition.endpoint.slot_at) == (None, None)
    assert transition.endpoint.next_run_at == next_run_at


def test_a_lost_slot_that_cannot_be_planned_is_closed_and_pushed_ahead() -> None:
    leased, over = lost(an_endpoint(cron="0 12 * * *", next_run_at=NOON, on_lost_worker=LostWorkerPolicy.SKIP), NOON)

    transition = admit(leased, over, claimant(), FaultyCron())

    left = transition.endpoint
    assert (left.lease_until, left.slot_at, left.next_run_at) == (None, None, over + FAULTY_DELAY)
    assert transition.closed is not None
    assert types(transition.events) == ["run.abandoned", "endpoint.faulty"]
    assert transition.events[1].data == {"fault": "ValueError: cannot read 0 12 * * *"}


def test_a_one_shot_is_consumed_by_the_run_it_asked_for_exactly_once() -> None:
    endpoint = an_endpoint(
        interval_ms=3_600_000, anchor_at=NOON, next_run_at=at("12:10:00"), source="ai-oneshot",
        one_shot_hint=once(at("12:10:00"), at("12:40:00")),
    )  # fmt: skip

    claim = start(endpoint, at("12:10:00"))
    settled = after(end(claim.endpoint, claim))

    assert claim.endpoint.one_shot_hint is None
    assert due(settled) == at("13:10:00")


def test_a_one_shot_for_later_is_not_consumed_by_an_earlier_run() -> None:
    hint = once(at("12:00:30"), at("12:40:00"))
    settled = run(an_endpoint(next_run_at=NOON, one_shot_hint=hint), NOON)

    assert (settled.one_shot_hint, due(settled), settled.source) == (hint, at("12:00:30"), "ai-oneshot")


def test_a_one_shot_whose_worker_was_lost_is_retried_and_not_asked_for_twice() -> None:
    endpoint = an_endpoint(
        interval_ms=3_600_000, anchor_at=NOON, next_run_at=at("12:10:00"), source="ai-oneshot",
        one_shot_hint=once(at("12:10:00"), at("12:40:00")),
    )  # fmt: skip
    leased, over = lost(endpoint, at("12:10:00"))

    again = start(leased, over)

    assert (again.slot_at, again.attempt) == (at("12:10:00"), 2)
    assert due(after(end(again.endpoint, again))) == over + HOUR


def test_an_expired_one_shot_causes_no_run() -> None:
    endpoint = an_endpoint(
        interval_ms=3_600_000, anchor_at=NOON, next_run_at=at("12:10:00"), source="ai-oneshot",
        one_shot_hint=once(at("12:10:00"), at("12:40:00")),
    )  # fmt: skip

    transition = reach(endpoint, at("12:40:00"))

    assert (transition.claim, due(transition.endpoint)) == (None, at("13:00:00"))
    assert (transition.endpoint.one_shot_hint, transition.endpoint.source) == (None, "baseline-interval")
    assert types(transition.events) == ["hint.expired", "schedule.updated"]


def test_an_expired_interval_hint_causes_no_run() -> None:
    endpoint = an_endpoint(
        interval_ms=3_600_000, anchor_at=NOON, next_run_at=at("12:01:00"), source="ai-interval",
        interval_hint=every(60, at("12:30:00")),
    )  # fmt: skip

    transition = reach(endpoint, at("12:31:00"))

    assert (transition.claim, due(transition.endpoint)) == (None, at("13:00:00"))


def test_an_expired_hint_does_not_keep_the_baseline_from_running() -> None:
    endpoint = an_endpoint(anchor_at=at("11:59:00"), next_run_at=NOON, interval_hint=every(7_200, at("11:59:30")))

    transition = reach(endpoint, NOON)

    assert transition.claim is not None
    assert (transition.claim.slot_at, transition.endpoint.interval_hint) == (NOON, None)
    assert types(transition.events) == ["hint.expired", "run.started"]


@pytest.mark.parametrize("late", [timedelta(minutes=10), timedelta(hours=2)])
@pytest.mark.parametrize(
    "fields", [{}, {"cron": "0 0 * * *"}, {"misfire": MisfirePolicy.SKIP}, {"max_lateness_ms": 1_000}]
)
def test_a_fresh_one_shot_runs_however_late_and_nothing_is_missed(late: timedelta, fields: dict[str, object]) -> None:
    wanted = {"interval_ms": 86_400_000, **fields} if "cron" not in fields else fields
    endpoint = an_endpoint(
        "late", anchor_at=DAY, next_run_at=NOON, source="ai-oneshot", one_shot_hint=once(NOON, at("15:00:00")), **wanted
    )

    transition = reach(endpoint, NOON + late)

    assert transition.claim is not None
    assert (transition.claim.slot_at, transition.missed, transition.endpoint.one_shot_hint) == (NOON, None, None)


def test_request_of_a_claim_names_the_endpoint_and_its_job() -> None:
    claim = reach(an_endpoint("billing", next_run_at=NOON, job_id="nightly"), NOON).claim
    assert claim is not None
    assert (claim.request.endpoint, claim.request.job) == ("billing", "nightly")
