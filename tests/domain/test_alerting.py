"""When an alert has something to tell, and when it lets a trouble go without a word."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from mainspring.domain.event import Event, EventType, StoredEvent
from mainspring.domain.notify.alerting import (
    MUTED,
    AlertState,
    Late,
    States,
    Turn,
    judge,
    judge_lateness,
    judge_put_off,
)
from mainspring.domain.notify.subscription import Alert, AlertKind, Subscription
from mainspring.domain.schedule.maintenance import DuringMaintenance, WindowSpan

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ALERT = Subscription(
    "sub_1", "t", "all", Alert(tuple(AlertKind), ()), True, 1, created_at=NOON, updated_at=NOON, active_since=NOON
)


def _judged(*events: Event, states: States | None = None) -> list[Turn]:
    stored = [StoredEvent(str(number), event) for number, event in enumerate(events)]
    return judge(stored, [ALERT], states or {}, {}, NOON + timedelta(hours=1))


def _trouble(kind: AlertKind, subject_id: str) -> States:
    state = AlertState(ALERT.id, "t", kind, subject_id, is_open=True, since=NOON, revision=1, notified_at=NOON)
    return {state.key: state}


def _event(type_: EventType, minutes: int = 1, endpoint_id: str = "ep", **data: object) -> Event:
    return Event(type_, NOON + timedelta(minutes=minutes), "t", endpoint_id, data=data)


@pytest.mark.parametrize(
    ("trouble", "ending"),
    [
        (AlertKind.FAILING, EventType.FAILURES_RESET),
        (AlertKind.PARKED, EventType.ENDPOINT_RESUMED),
        (AlertKind.FAILING, EventType.ENDPOINT_DELETED),
        (AlertKind.PARKED, EventType.ENDPOINT_DELETED),
        (AlertKind.LATE, EventType.ENDPOINT_ARCHIVED),
    ],
)
def test_trouble_that_a_person_ended_is_let_go_without_a_word(trouble: AlertKind, ending: EventType) -> None:
    (turn,) = _judged(_event(ending), states=_trouble(trouble, "ep"))
    assert (turn.state.is_open, turn.tells) == (False, None)


def test_webhook_that_its_owner_mended_can_be_told_of_again() -> None:
    disabled = _event(EventType.WEBHOOK_DISABLED, endpoint_id="", webhook="wh")
    mended = _event(EventType.WEBHOOK_UPDATED, 2, endpoint_id="", webhook="wh")
    again = _event(EventType.WEBHOOK_DISABLED, 3, endpoint_id="", webhook="wh")
    told = [turn.tells for turn in _judged(disabled, mended, again)]
    assert told == [AlertKind.WEBHOOK_DISABLED, None, AlertKind.WEBHOOK_DISABLED]


@pytest.mark.parametrize("ending", [EventType.EXECUTION_ORDERED, EventType.EXECUTION_ENDED])
def test_execution_that_stops_is_told_once_until_a_person_has_acted(ending: EventType) -> None:
    stops = [_event(EventType.EXECUTION_FAILED, minutes, endpoint_id="", execution="x") for minutes in (1, 2, 4)]
    acted = _event(ending, 3, endpoint_id="", execution="x")
    told = [turn.tells for turn in _judged(*stops[:2], acted, stops[2])]
    assert told == [AlertKind.STOPPED, None, AlertKind.STOPPED]


@pytest.mark.parametrize(
    "config", [Alert(tuple(AlertKind), (), endpoint_id="ep"), Alert(tuple(AlertKind), (), job_id="job")]
)
def test_alert_about_one_endpoint_or_job_does_not_tell_of_workflows(config: Alert) -> None:
    about_one = replace(ALERT, config=config)
    stored = StoredEvent("1", _event(EventType.EXECUTION_FAILED, endpoint_id="", execution="x"))
    assert judge([stored], [about_one], {}, {}, NOON) == []


def test_ending_older_than_the_trouble_changes_nothing() -> None:
    assert _judged(_event(EventType.FAILURES_RESET, -1), states=_trouble(AlertKind.FAILING, "ep")) == []


def test_runs_of_the_claim_that_found_the_quota_used_up_do_not_end_the_trouble() -> None:
    states = _trouble(AlertKind.QUOTA, "t")
    assert _judged(_event(EventType.RUN_STARTED, 0), states=states) == []
    (turn,) = _judged(_event(EventType.RUN_STARTED, 1), states=states)
    assert turn.tells is AlertKind.RECOVERED


def test_what_concerns_no_trouble_turns_nothing() -> None:
    assert _judged(_event(EventType.HINT_WRITTEN)) == []


def _ended(minutes: int, *, ok: bool = False, maintenance: str = "", count: int = 3) -> Event:
    data: dict[str, object] = {"status": "success" if ok else "failure", "failure_count": count}
    if maintenance:
        data["maintenance"] = maintenance
    return replace(_event(EventType.RUN_FINISHED, minutes), data=data)


def _told(*events: Event, states: States | None = None) -> list[AlertKind]:
    return [turn.tells for turn in _judged(*events, states=states) if turn.tells is not None]


def test_failure_in_a_maintenance_window_is_not_reported() -> None:
    (turn,) = _judged(*(_ended(minute, maintenance="night") for minute in range(1, 9)))
    assert (turn.state.is_open, turn.state.notify_at, turn.tells) == (True, MUTED, None)


def test_endpoint_that_still_fails_after_the_window_is_reported_at_its_first_run() -> None:
    assert _told(_ended(1, maintenance="night"), _ended(30, count=1)) == [AlertKind.FAILING]


def test_endpoint_that_works_after_the_window_is_not_mentioned() -> None:
    assert _told(_ended(1, maintenance="night"), _ended(30, ok=True), _ended(31, count=1)) == []


def test_endpoint_that_recovers_within_the_window_is_not_mentioned() -> None:
    assert _told(_ended(1, maintenance="night"), _ended(2, ok=True, maintenance="night"), _ended(30, count=1)) == []


def test_recovery_in_a_window_is_reported_by_the_first_run_after_it() -> None:
    states = _trouble(AlertKind.FAILING, "ep")
    assert _told(_ended(2, ok=True, maintenance="night"), states=states) == []
    assert _told(_ended(2, ok=True, maintenance="night"), _ended(30, ok=True), states=states) == [AlertKind.RECOVERED]


def test_report_after_a_window_waits_for_the_cooldown() -> None:
    closed = AlertState(ALERT.id, "t", AlertKind.FAILING, "ep", is_open=False, since=NOON, revision=1, notified_at=NOON)
    patient = replace(ALERT, config=Alert(tuple(AlertKind), (), cooldown_ms=7_200_000))
    stored = [StoredEvent("1", _ended(1, maintenance="night")), StoredEvent("2", _ended(30, count=1))]
    turns = judge(stored, [patient], {closed.key: closed}, {}, NOON + timedelta(hours=1))
    assert [(turn.tells, turn.state.notify_at) for turn in turns] == [(None, MUTED), (None, NOON + timedelta(hours=2))]


def test_alert_about_recoveries_alone_learns_nothing_from_a_window() -> None:
    recoveries = replace(ALERT, config=Alert((AlertKind.RECOVERED,), ()))
    assert judge([StoredEvent("1", _ended(1, maintenance="night"))], [recoveries], {}, {}, NOON) == []


WINDOW = WindowSpan("mnt", "night", "", "job", DuringMaintenance.SKIP, NOON, NOON + timedelta(hours=2))


def test_parked_endpoint_is_reported_when_the_window_is_over() -> None:
    stored = StoredEvent("1", _event(EventType.ENDPOINT_PARKED))
    (turn,) = judge([stored], [ALERT], {}, {"ep": "job"}, NOON, {"t": [WINDOW]})
    assert (turn.tells, turn.state.notify_at) == (None, WINDOW.until_at)
    (told,) = judge_put_off([ALERT], {turn.state.key: turn.state}, WINDOW.until_at)
    assert told.tells is AlertKind.PARKED


def test_quota_is_reported_in_a_window_too() -> None:
    stored = StoredEvent("1", _event(EventType.QUOTA_DEFERRED))
    (turn,) = judge([stored], [ALERT], {}, {}, NOON, {"t": [replace(WINDOW, job_id="")]})
    assert turn.tells is AlertKind.QUOTA


def test_late_endpoint_is_not_reported_in_a_window() -> None:
    late = [Late("t", "ep", "job", NOON), Late("t", "other", "another job", NOON)]
    turns = judge_lateness(late, [ALERT], {}, NOON + timedelta(minutes=5), {"t": [WINDOW]})
    assert [turn.state.subject_id for turn in turns] == ["other"]


def _warned(minutes: int, *, code: str | None = "certificate_expiring", status: str = "success") -> Event:
    return _event(EventType.RUN_FINISHED, minutes, status=status, error_code=code)


def test_certificate_that_expires_soon_is_reported_once_until_it_is_renewed() -> None:
    told = _told(_warned(1), _warned(2), _warned(3, code="connect", status="failure"), _warned(4))
    again = _told(_warned(1), _warned(2), _warned(3, code=None), _warned(4))

    assert told == [AlertKind.EXPIRING]
    assert again == [AlertKind.EXPIRING, AlertKind.EXPIRING]
