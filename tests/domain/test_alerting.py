"""When an alert has something to tell, and when it lets a trouble go without a word."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from mainspring.domain.event import Event, EventType, StoredEvent
from mainspring.domain.notify.alerting import AlertState, States, Turn, judge
from mainspring.domain.notify.subscription import Alert, AlertKind, Subscription

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
