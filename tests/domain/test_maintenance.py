"""When a maintenance window is open, which runs it skips, and what does not count in it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.domain.stage import claimant
from tests.stores.world import an_endpoint, an_outcome

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import InvalidInput
from mainspring.domain.event import EventType
from mainspring.domain.kinds.heartbeat import HeartbeatAction
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import RunStatus, RunTrigger
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.claim import Transition, admit
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.finish import Finished, settle
from mainspring.domain.schedule.governor import decode_trail
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.domain.schedule.maintenance import (
    OCCURRENCES_MAX,
    DuringMaintenance,
    MaintenanceDraft,
    MaintenanceWindow,
    WindowSpan,
    check_window,
    current_or_next,
    draft_of,
    edited_draft,
    last_occurrences,
    occurrences,
    open_during,
)
from mainspring.operations.preview import preview

TWO = datetime(2026, 5, 3, 2, tzinfo=UTC)  # a Sunday
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
NIGHTLY = MaintenanceDraft("night", cron="0 2 * * *", duration_ms=3_600_000)
ONCE = MaintenanceDraft("move", start="2026-05-03T02:00:00Z", end="2026-05-03T04:00:00Z")
SKIPPING = WindowSpan("mnt_1", "night", "", "", DuringMaintenance.SKIP, TWO, TWO + HOUR)
CONTINUING = replace(SKIPPING, runs=DuringMaintenance.CONTINUE)


def made(draft: MaintenanceDraft) -> MaintenanceWindow:
    return check_window(draft, "mnt_1", "default", TWO - HOUR)


def reached(endpoint: Endpoint, now: datetime, *windows: WindowSpan) -> Transition:
    return admit(endpoint, now, replace(claimant(), windows=windows), CRON)


def spans(draft: MaintenanceDraft, since: datetime, until: datetime) -> list[tuple[datetime, datetime]]:
    return [(each.from_at, each.until_at) for each in occurrences(made(draft), since, until, CRON)]


@pytest.mark.parametrize(
    ("at", "is_open"),
    [
        pytest.param(TWO - timedelta(microseconds=1), False, id="closed just before its start"),
        pytest.param(TWO, True, id="open at its start"),
        pytest.param(TWO + HOUR - timedelta(microseconds=1), True, id="open just before its end"),
        pytest.param(TWO + HOUR, False, id="closed at its end"),
    ],
)
def test_window_is_open_from_its_start_up_to_its_end(at: datetime, is_open: bool) -> None:
    assert bool(spans(NIGHTLY, at, at)) == is_open


def test_window_that_opens_once_is_found_by_any_overlap() -> None:
    assert spans(ONCE, TWO - HOUR, TWO) == [(TWO, TWO + 2 * HOUR)]
    assert spans(ONCE, TWO + 2 * HOUR, TWO + 3 * HOUR) == []


def test_all_openings_of_a_cron_within_a_span_are_found() -> None:
    days = [TWO + timedelta(days=number) for number in range(3)]
    assert spans(NIGHTLY, TWO, TWO + timedelta(days=2)) == [(day, day + HOUR) for day in days]


def test_window_opens_by_the_wall_clock_of_its_time_zone_across_a_change_of_time() -> None:
    berlin = replace(NIGHTLY, cron="0 4 * * *", timezone="Europe/Berlin")
    before, after = datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 29, 23, tzinfo=UTC)
    assert [start.hour for start, _ in spans(berlin, before, after)] == [3, 2]


def test_window_that_is_over_never_opens_again() -> None:
    assert current_or_next(made(ONCE), TWO + 2 * HOUR, CRON) is None
    found = current_or_next(made(ONCE), TWO - HOUR, CRON)
    assert found is not None
    assert found.from_at == TWO


def test_next_opening_of_a_cron_is_shown_while_it_is_closed() -> None:
    found = current_or_next(made(NIGHTLY), TWO + HOUR, CRON)
    assert found is not None
    assert found.from_at == TWO + timedelta(days=1)


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"cron": ""}, "cron", "neither cron nor start were given"),
        ({"cron": "", "start": "2030-01-01T00:00:00Z"}, "end", "start was given without end"),
        ({"cron": "", "end": "2030-01-01T00:00:00Z"}, "start", "end was given without start"),
        ({"start": "2026-05-03T02:00:00Z"}, "cron", "both cron and start or end were given"),
        ({"duration_ms": None}, "duration", "cron was given without duration"),
        ({"duration_ms": 1_000}, "duration", "out of bounds"),
        ({"cron": "0 * * * *"}, "duration", "a window must close before it opens again"),
        ({"cron": "61 * * * *"}, "cron", "minute"),
        ({"timezone": "Mars/Base"}, "timezone", "time zone 'Mars/Base' is unknown"),
        ({"endpoint": "a", "job": "b"}, "endpoint", "both endpoint and job were given"),
        ({"name": ""}, "name", "is empty"),
        ({"runs": "stop"}, "runs", "unknown runs 'stop'"),
    ],
)
def test_wrong_window_is_refused_with_the_field(change: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        made(replace(NIGHTLY, **change))
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [
        ("2026-05-03T02:00:00", "2026-05-03T04:00:00Z", "start"),
        ("2026-05-03T02:00:00Z", "tomorrow", "end"),
        ("2026-05-03T02:00:00Z", "", "end"),
        ("2026-05-03T02:00:00Z", "2026-05-03T02:00:01Z", "end"),
        ("2026-05-03T02:00:00Z", "2026-07-03T02:00:00Z", "end"),
        ("0001-01-01T00:00:00+23:00", "2026-05-03T04:00:00Z", "start"),
    ],
)
def test_wrong_start_or_end_is_refused(start: str, end: str, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        made(replace(ONCE, start=start, end=end))
    assert refused.value.field == field


def test_window_whose_cron_has_one_start_left_may_have_any_duration() -> None:
    last = replace(NIGHTLY, cron="0 0 31 12 *", duration_ms=86_400_000)
    assert check_window(last, "mnt_1", "t", datetime(9999, 12, 1, tzinfo=UTC)).cron == last.cron


def test_draft_of_a_window_makes_the_same_window() -> None:
    for draft in (NIGHTLY, ONCE):
        assert made(draft_of(made(draft))) == made(draft)


def test_new_cron_replaces_start_and_end_and_the_other_way_around() -> None:
    by_cron = edited_draft(ONCE, {"cron": "0 2 * * *", "duration_ms": 60_000})
    once = edited_draft(NIGHTLY, {"start": ONCE.start, "end": ONCE.end})
    assert (by_cron.start, by_cron.end) == ("", "")
    assert (once.cron, once.duration_ms) == ("", None)
    assert edited_draft(NIGHTLY, {"description": "x"}).cron == NIGHTLY.cron


@pytest.mark.parametrize(
    ("subject", "is_concerned"),
    [
        ({}, True),
        ({"endpoint_id": "ep_1"}, True),
        ({"endpoint_id": "ep_2"}, False),
        ({"job_id": "job_default"}, True),
        ({"job_id": "job_other"}, False),
    ],
)
def test_window_concerns_its_endpoint_its_job_or_all(subject: dict[str, object], is_concerned: bool) -> None:
    found = open_during([replace(SKIPPING, **subject)], "ep_1", "job_default", TWO, TWO)
    assert (found is not None) == is_concerned


def test_due_cron_in_a_window_is_skipped_to_its_first_time_after_it() -> None:
    endpoint = an_endpoint(cron="*/15 * * * *", next_run_at=TWO + 15 * MINUTE, min_interval_ms=60_000)
    transition = reached(endpoint, TWO + 15 * MINUTE, SKIPPING)
    assert (transition.claim, transition.endpoint.next_run_at) == (None, TWO + HOUR)
    assert decode_trail(transition.endpoint.trail)[-1].rule == "maintenance"
    (event,) = transition.events
    assert (event.type, event.data["maintenance"]) == (EventType.SCHEDULE_UPDATED, "night")


def test_skipped_interval_keeps_its_grid() -> None:
    endpoint = an_endpoint(interval_ms=420_000, next_run_at=TWO + MINUTE)  # every 7 minutes, at :01, :08, ..., :57
    moved = reached(endpoint, TWO + MINUTE, SKIPPING).endpoint.next_run_at
    assert moved == TWO + HOUR + 4 * MINUTE


def test_hint_in_a_window_runs_when_the_window_is_over() -> None:
    once = OneShotHint(TWO + MINUTE, TWO + 2 * HOUR)
    hinted = an_endpoint(cron="0 0 * * *", next_run_at=TWO + MINUTE, one_shot_hint=once, source="ai-oneshot")
    assert reached(hinted, TWO + MINUTE, SKIPPING).endpoint.next_run_at == TWO + HOUR


def test_interval_hint_in_a_window_keeps_its_grid() -> None:
    hint = IntervalHint(25 * 60_000, TWO + 5 * HOUR)
    hinted = an_endpoint(cron="0 0 * * *", next_run_at=TWO + MINUTE, interval_hint=hint, source="ai-interval")
    assert reached(hinted, TWO + MINUTE, SKIPPING).endpoint.next_run_at == TWO + HOUR + 16 * MINUTE


def test_second_window_replaces_the_first_in_the_trail() -> None:
    endpoint = an_endpoint(cron="* * * * *", next_run_at=TWO)
    once = reached(endpoint, TWO, SKIPPING).endpoint
    later = replace(SKIPPING, name="later", from_at=TWO + HOUR, until_at=TWO + 2 * HOUR)
    twice = reached(once, TWO + HOUR, later).endpoint
    assert [step.why for step in decode_trail(twice.trail)] == [
        "the maintenance window 'later' skips runs until 2026-05-03T04:00:00Z"
    ]


def test_requested_run_starts_in_a_window() -> None:
    endpoint = an_endpoint(next_run_at=TWO + 2 * HOUR, manual_at=TWO)
    claim = reached(endpoint, TWO, SKIPPING).claim
    assert claim is not None
    assert claim.trigger is RunTrigger.MANUAL


def test_requested_run_that_was_released_starts_again_in_a_window() -> None:
    endpoint = an_endpoint(slot_at=TWO, manual_at=TWO, trigger=RunTrigger.MANUAL, attempt=1)
    claim = reached(endpoint, TWO, SKIPPING).claim
    assert claim is not None
    assert claim.slot_at == TWO


def test_endpoint_whose_last_run_was_requested_is_skipped_too() -> None:
    endpoint = an_endpoint(next_run_at=TWO, trigger=RunTrigger.MANUAL)
    assert reached(endpoint, TWO, SKIPPING).claim is None


def test_owed_slot_waits_until_the_window_is_over() -> None:
    endpoint = an_endpoint(next_run_at=TWO, slot_at=TWO - MINUTE, attempt=1)
    held = reached(endpoint, TWO, SKIPPING).endpoint
    assert (held.slot_at, held.next_run_at) == (TWO - MINUTE, TWO + HOUR)


def test_lost_run_is_not_repeated_before_the_window_is_over() -> None:
    leased = reached(an_endpoint(next_run_at=TWO - MINUTE), TWO - MINUTE).endpoint
    assert leased.lease_until is not None
    ended = reached(leased, leased.lease_until + MINUTE, SKIPPING)
    assert ended.claim is None
    assert ended.closed is not None
    assert (ended.endpoint.slot_at, ended.endpoint.next_run_at) == (TWO - MINUTE, TWO + HOUR)


@pytest.mark.parametrize(
    "window", [CONTINUING, replace(SKIPPING, endpoint_id="another")], ids=["runs continue", "another endpoint"]
)
def test_run_starts_in_a_window_that_does_not_skip_it(window: WindowSpan) -> None:
    assert reached(an_endpoint(next_run_at=TWO), TWO, window).claim is not None


def ended(status: RunStatus, started_at: datetime, *windows: WindowSpan, failures: int = 2) -> tuple[int, str, bool]:
    """The failure count, the window, and whether a backoff was reported."""
    claim = reached(an_endpoint(next_run_at=started_at, failure_count=failures), started_at).claim
    assert claim is not None
    finished = Finished(claim, an_outcome(status), started_at, started_at + timedelta(seconds=5))
    settled = settle(claim.endpoint, finished, finished.finished_at, CRON, windows=windows)
    assert settled.endpoint is not None
    told = [event.type for event in settled.events]
    (event,) = (event for event in settled.events if event.type is EventType.RUN_FINISHED)
    assert event.data.get("maintenance", "") == settled.maintenance
    return settled.endpoint.failure_count, settled.maintenance, EventType.BACKOFF_APPLIED in told


@pytest.mark.parametrize(
    ("started_at", "counted"),
    [
        pytest.param(TWO, False, id="inside"),
        pytest.param(TWO - timedelta(seconds=3), False, id="begun before the window opened"),
        pytest.param(TWO + HOUR - timedelta(seconds=3), False, id="ended after the window closed"),
        pytest.param(TWO + HOUR, True, id="after the window"),
    ],
)
def test_failure_in_a_window_is_not_counted(started_at: datetime, counted: bool) -> None:
    expected = (3, "", True) if counted else (2, "night", False)
    assert ended(RunStatus.FAILURE, started_at, CONTINUING) == expected


def test_success_in_a_window_still_ends_the_failures() -> None:
    assert ended(RunStatus.SUCCESS, TWO, CONTINUING) == (0, "night", False)


def test_run_that_a_window_moved_is_planned_again_when_the_window_is_gone() -> None:
    endpoint = reached(an_endpoint(cron="*/15 * * * *", next_run_at=TWO), TWO, SKIPPING).endpoint
    change = changes.leave_maintenance(endpoint, TWO + MINUTE, "user:ann", CRON)
    assert change.endpoint.next_run_at == TWO + 15 * MINUTE
    assert [event.type for event in change.events] == [EventType.SCHEDULE_UPDATED]


def test_owed_slot_that_a_window_held_is_due_at_once_when_the_window_is_gone() -> None:
    held = reached(an_endpoint(next_run_at=TWO, slot_at=TWO - MINUTE, attempt=1), TWO, SKIPPING).endpoint
    freed = changes.leave_maintenance(held, TWO + MINUTE, "user:ann", CRON).endpoint
    assert (freed.slot_at, freed.next_run_at) == (TWO - MINUTE, TWO + MINUTE)


def test_run_that_no_window_moved_stays_where_it_is() -> None:
    endpoint = an_endpoint(next_run_at=TWO)
    assert changes.leave_maintenance(endpoint, TWO, "user:ann", CRON).endpoint is endpoint


def test_preview_leaves_out_skipped_slots_and_names_the_window() -> None:
    endpoint = an_endpoint(cron="*/30 * * * *", next_run_at=TWO - HOUR / 2, anchor_at=TWO - HOUR)
    runs = preview(endpoint, TWO - HOUR, 3, CRON, windows=[made(NIGHTLY)])
    assert [run.next_run_at for run in runs] == [TWO - HOUR / 2, TWO + HOUR, TWO + HOUR * 1.5]
    assert [[step.rule for step in run.trail if step.rule == "maintenance"] for run in runs] == [
        [], ["maintenance"], [],
    ]  # fmt: skip


def test_attempt_that_waits_for_its_retry_is_made_when_the_window_is_over() -> None:
    waiting = an_endpoint(
        next_run_at=TWO,
        slot_at=TWO - MINUTE,
        attempt=1,
        failed_attempts=1,
        source="retry",
        retry=RetryPolicy(attempts=3),
    )
    held = reached(waiting, TWO, SKIPPING).endpoint
    assert (held.slot_at, held.next_run_at) == (TWO - MINUTE, TWO + HOUR)
    claim = reached(held, TWO + HOUR).claim
    assert claim is not None
    assert (claim.slot_at, claim.attempt) == (TWO - MINUTE, 2)


def test_endpoint_that_runs_once_runs_when_the_window_is_over() -> None:
    once = an_endpoint(interval_ms=None, once_at=TWO, next_run_at=TWO, source="once")
    assert reached(once, TWO, SKIPPING).endpoint.next_run_at == TWO + HOUR


def test_ping_that_a_window_excused_is_expected_a_whole_interval_after_it() -> None:
    action = HeartbeatAction(grace_ms=300_000)
    expected = an_endpoint(action=action, interval_ms=600_000, next_run_at=TWO + MINUTE)
    moved = reached(expected, TWO + MINUTE, SKIPPING)
    assert (moved.claim, moved.endpoint.next_run_at) == (None, TWO + HOUR + 15 * MINUTE)


def test_open_window_shows_when_it_closes() -> None:
    found = current_or_next(made(NIGHTLY), TWO + MINUTE, CRON)
    assert found is not None
    assert (found.from_at, found.until_at) == (TWO, TWO + HOUR)


def test_question_about_years_looks_at_so_many_openings_and_no_more() -> None:
    assert len(spans(NIGHTLY, TWO, TWO + timedelta(days=5_000))) == OCCURRENCES_MAX


@given(
    st.sampled_from(["*/2 * * * *", "0 2 * * *", "*/5 1-3 * * SUN", "0 0 1 1 *", "30 2 * * *"]),
    st.sampled_from(["UTC", "Europe/Berlin"]),
    st.datetimes(datetime(2026, 3, 1), datetime(2026, 4, 20), timezones=st.just(UTC)),  # noqa: DTZ001 - bounds
    st.timedeltas(timedelta(0), timedelta(days=5)),
)
def test_last_opening_is_found_without_a_step_for_each(
    cron: str, zone: str, since: datetime, length: timedelta
) -> None:
    window = replace(made(NIGHTLY), cron=cron, timezone=zone, duration_ms=60_000)
    until = since + length
    steps = CountedCron()
    all_of_them = occurrences(window, since, until, CRON)[:OCCURRENCES_MAX]
    if len(all_of_them) == OCCURRENCES_MAX:
        all_of_them = occurrences(window, until - timedelta(hours=1), until, CRON)
    found = last_occurrences(window, since, until, steps)

    assert found[-1:] == all_of_them[-1:]
    assert steps.count < 100


class CountedCron:
    count = 0

    def next_after(self, expression: str, timezone: str, after: datetime, endpoint_id: str = "") -> datetime:
        self.count += 1
        return CRON.next_after(expression, timezone, after, endpoint_id)


def test_preview_with_windows_that_skip_every_slot_ends() -> None:
    endpoint = an_endpoint("e", cron="0 2 * * *", next_run_at=TWO)
    windows = [replace(made(NIGHTLY), id=f"mnt_{n}") for n in range(100)]
    steps = CountedCron()

    assert preview(endpoint, TWO - HOUR, 5, steps, windows=windows) == []
    assert steps.count < 10_000
