"""Decide when an alert fires: once for each change of state. Pure.

For every alert that watches it, a subject (an endpoint, a tenant, a webhook, an execution) is healthy or in trouble.
The state is stored in the database and changes only here. Alerts fire on changes, not while a condition lasts: a
hundred failures are one message. A cooldown delays a message, so a flapping subject is reported from time to time, and
a lasting problem is reported in the end.

In a maintenance window alerts about its endpoints are silent. A failure there opens a muted state: the first run after
the window closes it silently, or reports that the endpoint still fails. Other troubles are delayed until the window has
ended.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.advice.authority import Authority, authority_of
from mainspring.domain.event import Event, EventType, StoredEvent
from mainspring.domain.instant import FOREVER
from mainspring.domain.kinds.expiry import EXPIRING
from mainspring.domain.notify.subscription import Alert, AlertKind, Subscription
from mainspring.domain.run import RunStatus, RunTrigger
from mainspring.domain.schedule.maintenance import WindowSpan, open_during

MUTED = FOREVER  # the `notify_at` of a failure in a maintenance window: the first run afterwards decides
SILENCE = ("missed", "still_running")  # a heartbeat whose deadline passed
OPEN, CLOSE, FORGET = "open", "close", "forget"
# Troubles that can end, and whose end is reported.
HEALING = (AlertKind.FAILING, AlertKind.LATE, AlertKind.QUOTA, AlertKind.MODEL_FAILING, AlertKind.OVERDUE)
OF_ENDPOINTS = (
    AlertKind.FAILING, AlertKind.PARKED, AlertKind.LATE, AlertKind.ADVICE_PAUSED, AlertKind.PROPOSAL_WAITING,
    AlertKind.EXPIRING,
)  # fmt: skip
ENDED_PROPOSALS = (
    EventType.PROPOSAL_APPROVED, EventType.PROPOSAL_REJECTED, EventType.PROPOSAL_EXPIRED, EventType.PROPOSAL_WITHDRAWN,
)  # fmt: skip

Signal = tuple[AlertKind, str, str]  # kind of trouble, transition, subject


class AlertState(Struct, frozen=True):
    """How one alert sees one trouble of one subject. `revision` grows with every write, so a late writer loses."""

    subscription_id: str
    tenant_id: str
    trouble: AlertKind
    subject_id: str
    is_open: bool
    since: datetime
    revision: int
    notified_at: datetime | None = None  # when the trouble was last reported
    notify_at: datetime | None = None  # when it will be reported if it lasts: a cooldown is active

    @property
    def key(self) -> tuple[str, AlertKind, str]:
        return self.subscription_id, self.trouble, self.subject_id


class Late(Struct, frozen=True):
    tenant_id: str
    endpoint_id: str
    job_id: str
    due_at: datetime


class Turn(Struct, frozen=True):
    """A change of state; `tells` is what to report, if anything."""

    alert: Subscription
    state: AlertState
    tells: AlertKind | None
    at: datetime
    run_id: str = ""
    data: dict[str, object] = {}


States = Mapping[tuple[str, AlertKind, str], AlertState]
Maintenance = Mapping[str, Sequence[WindowSpan]]  # by tenant
NO_MAINTENANCE: Maintenance = {}


def endpoints_in_question(
    events: Iterable[StoredEvent], alerts: Sequence[Subscription], states: States
) -> set[tuple[str, str]]:
    """The (tenant, endpoint) pairs whose events may change a state: few, because most runs change nothing."""
    watched = {alert.tenant_id for alert in alerts}
    is_open = {(state.trouble, state.subject_id) for state in states.values() if state.is_open}
    return {
        (stored.event.tenant_id, stored.event.endpoint_id)
        for stored in events
        if stored.event.tenant_id in watched and stored.event.endpoint_id
        for trouble, verb, subject_id in _signals(stored.event)
        if verb == OPEN or (trouble, subject_id) in is_open
    }


def judge(
    events: Iterable[StoredEvent],
    alerts: Sequence[Subscription],
    states: States,
    jobs: Mapping[str, str],
    now: datetime,
    maintenance: Maintenance = NO_MAINTENANCE,
) -> list[Turn]:
    """The changes of state that events cause, in order; `jobs` maps each endpoint to its job.

    `maintenance` has the windows that were open at any time since the first of the events.
    """
    known = dict(states)
    turns: list[Turn] = []
    of_tenant: dict[str, list[Subscription]] = {}
    for alert in alerts:
        of_tenant.setdefault(alert.tenant_id, []).append(alert)
    for stored in events:
        event = stored.event
        for trouble, verb, subject_id in _signals(event):
            for alert in of_tenant.get(event.tenant_id, ()):
                if event.at < alert.active_since:
                    continue
                if not _watches(alert, trouble, event.endpoint_id, jobs.get(event.endpoint_id, "")):
                    continue
                state = known.get((alert.id, trouble, subject_id))
                until = _silent_until(event, trouble, jobs, maintenance)
                if until is not None and verb != FORGET:
                    turn = _silent_turn(alert, trouble, verb, subject_id, state, event, until, now)
                else:
                    turn = _turn(alert, trouble, verb, subject_id, state, event, now)
                if turn is not None:
                    known[turn.state.key] = turn.state
                    turns.append(turn)
    return turns


def judge_lateness(
    late: Sequence[Late],
    alerts: Sequence[Subscription],
    states: States,
    now: datetime,
    maintenance: Maintenance = NO_MAINTENANCE,
) -> list[Turn]:
    """The changes of state from the known states to what is late now. In a maintenance window none opens."""
    turns: list[Turn] = []
    open_late: dict[str, list[AlertState]] = {}
    for state in states.values():
        if state.is_open and state.trouble is AlertKind.LATE:
            open_late.setdefault(state.subscription_id, []).append(state)
    for alert in alerts:
        if not _tracks(alert, AlertKind.LATE):
            continue
        found = {
            each.endpoint_id: each
            for each in late
            if each.tenant_id == alert.tenant_id and _is_in_scope(alert, each.endpoint_id, each.job_id)
        }
        for subject_id, each in found.items():
            known = states.get((alert.id, AlertKind.LATE, subject_id))
            if open_during(maintenance.get(each.tenant_id, ()), each.endpoint_id, each.job_id, now, now) is not None:
                continue
            turn = _opened(alert, AlertKind.LATE, subject_id, known, each.due_at, now)
            if turn is not None:
                turns.append(turn)
        turns += [_closed(alert, state, now) for state in open_late.get(alert.id, ()) if state.subject_id not in found]
    return turns


def judge_put_off(alerts: Sequence[Subscription], states: States, now: datetime) -> list[Turn]:
    """Troubles that outlasted the cooldown that delayed their report."""
    by_id = {alert.id: alert for alert in alerts}
    turns: list[Turn] = []
    for state in states.values():
        alert = by_id.get(state.subscription_id)
        if alert is not None and state.is_open and state.notify_at is not None and state.notify_at <= now:
            told = replace(state, revision=state.revision + 1, notified_at=now, notify_at=None)
            turns.append(Turn(alert, told, state.trouble, now))
    return turns


def _signals(event: Event) -> Iterator[Signal]:
    yield from _of_endpoints(event)
    yield from _of_others(event)


def _of_endpoints(event: Event) -> Iterator[Signal]:
    endpoint_id, data = event.endpoint_id, event.data
    match event.type:
        case EventType.RUN_FINISHED if data.get("trigger") != RunTrigger.TEST:
            is_success = data.get("status") == RunStatus.SUCCESS
            yield AlertKind.FAILING, CLOSE if is_success else OPEN, endpoint_id
            if is_success:  # other results contain nothing about the certificate
                yield AlertKind.EXPIRING, OPEN if data.get("error_code") == EXPIRING else FORGET, endpoint_id
        case EventType.FAILURES_RESET:
            yield AlertKind.FAILING, FORGET, endpoint_id
        case EventType.ENDPOINT_PARKED:
            yield AlertKind.PARKED, OPEN, endpoint_id
        case EventType.ENDPOINT_RESUMED:
            yield AlertKind.PARKED, FORGET, endpoint_id
            yield AlertKind.ADVICE_PAUSED, FORGET, endpoint_id
        case EventType.ENDPOINT_PAUSED:
            is_persons = authority_of(event.actor) is Authority.PERSON
            yield AlertKind.ADVICE_PAUSED, FORGET if is_persons else OPEN, endpoint_id
        case EventType.PROPOSAL_CREATED:
            yield AlertKind.PROPOSAL_WAITING, OPEN, endpoint_id
        case ended if ended in ENDED_PROPOSALS and not data.get("pending"):
            yield AlertKind.PROPOSAL_WAITING, FORGET, endpoint_id
        case EventType.ENDPOINT_DELETED | EventType.ENDPOINT_ARCHIVED:
            for trouble in OF_ENDPOINTS:
                yield trouble, FORGET, endpoint_id
        case _:
            return


def _of_others(event: Event) -> Iterator[Signal]:
    data = event.data
    match event.type:
        case EventType.QUOTA_DEFERRED:
            yield AlertKind.QUOTA, OPEN, event.tenant_id
        case EventType.RUN_STARTED | EventType.MANUAL_RUN_STARTED:
            yield AlertKind.QUOTA, CLOSE, event.tenant_id
        case EventType.PLANNER_ANALYSED if data.get("status") in ("done", "failed"):
            verb = OPEN if data.get("status") == "failed" else CLOSE
            yield AlertKind.MODEL_FAILING, verb, event.tenant_id
        case EventType.WEBHOOK_DISABLED:
            yield AlertKind.WEBHOOK_DISABLED, OPEN, str(data.get("webhook", ""))
        case EventType.WEBHOOK_UPDATED | EventType.WEBHOOK_DELETED:
            yield AlertKind.WEBHOOK_DISABLED, FORGET, str(data.get("webhook", ""))
        case EventType.EXECUTIONS_LATE:
            yield AlertKind.OVERDUE, OPEN, event.tenant_id
        case EventType.EXECUTIONS_ON_TIME:
            yield AlertKind.OVERDUE, CLOSE, event.tenant_id
        case EventType.EXECUTION_FAILED:
            yield AlertKind.STOPPED, OPEN, str(data.get("execution", ""))
        case EventType.EXECUTION_ORDERED | EventType.EXECUTION_ENDED:
            yield AlertKind.STOPPED, FORGET, str(data.get("execution", ""))
        case _:
            return


def _turn(
    alert: Subscription,
    trouble: AlertKind,
    verb: str,
    subject_id: str,
    state: AlertState | None,
    event: Event,
    now: datetime,
) -> Turn | None:
    if verb == OPEN:
        if state is not None and state.is_open and state.notify_at == MUTED:
            turn: Turn | None = _unmuted(alert, state, event.at, now)
        elif trouble is AlertKind.FAILING and not _is_enough(event, alert):
            return None
        else:
            turn = _opened(alert, trouble, subject_id, state, event.at, now)
        return None if turn is None else replace(turn, run_id=event.run_id, data=event.data)
    if state is None or not state.is_open or event.at < state.since:
        return None
    if trouble is AlertKind.QUOTA and event.at == state.since:
        return None  # the quota was used up by the claim that started the last runs
    closed = _closed(alert, state, event.at)
    return replace(closed, tells=None) if verb == FORGET else replace(closed, run_id=event.run_id, data=event.data)


def _opened(
    alert: Subscription,
    trouble: AlertKind,
    subject_id: str,
    state: AlertState | None,
    since: datetime,
    now: datetime,
) -> Turn | None:
    if state is not None and state.is_open:
        return None
    config = _config(alert)
    last = None if state is None else state.notified_at
    opened = AlertState(
        alert.id, alert.tenant_id, trouble, subject_id, True, since, 1 if state is None else state.revision + 1, last
    )
    if trouble not in config.kinds:
        return Turn(alert, opened, None, since)  # kept, so that the recovery can be reported
    free_at = None if last is None else last + timedelta(milliseconds=config.cooldown_ms)
    if free_at is not None and free_at > now:
        return Turn(alert, replace(opened, notify_at=free_at), None, since)
    return Turn(alert, replace(opened, notified_at=now), trouble, since)


def _silent_until(
    event: Event, trouble: AlertKind, jobs: Mapping[str, str], maintenance: Maintenance
) -> datetime | None:
    """The end of the maintenance window in which this happened to an endpoint; None: outside of windows.

    A run records whether a window was open while it ran.
    """
    if trouble not in OF_ENDPOINTS:
        return None
    if event.type is EventType.RUN_FINISHED:
        return MUTED if event.data.get("maintenance") else None
    found = maintenance.get(event.tenant_id, ())
    window = open_during(found, event.endpoint_id, jobs.get(event.endpoint_id, ""), event.at, event.at)
    return None if window is None else window.until_at


def _silent_turn(
    alert: Subscription,
    trouble: AlertKind,
    verb: str,
    subject_id: str,
    state: AlertState | None,
    event: Event,
    until: datetime,
    now: datetime,
) -> Turn | None:
    """A change in a maintenance window, which reports nothing. A trouble that was reported before stays open."""
    if verb == OPEN:
        turn = _opened(alert, trouble, subject_id, state, event.at, now)
        if turn is None or trouble not in _config(alert).kinds:
            return None
        put_off = max(turn.state.notify_at or until, until)
        last = None if state is None else state.notified_at
        return replace(turn, state=replace(turn.state, notified_at=last, notify_at=put_off), tells=None)
    if state is None or not state.is_open or state.notify_at is None or event.at < state.since:
        return None
    return _closed(alert, state, event.at)


def _unmuted(alert: Subscription, state: AlertState, at: datetime, now: datetime) -> Turn:
    """It still fails after a maintenance window: reported now, or when the cooldown is over."""
    last = state.notified_at
    free_at = None if last is None else last + timedelta(milliseconds=_config(alert).cooldown_ms)
    if free_at is not None and free_at > now:
        return Turn(alert, replace(state, revision=state.revision + 1, notify_at=free_at), None, at)
    told = replace(state, revision=state.revision + 1, notified_at=now, notify_at=None)
    return Turn(alert, told, state.trouble, at)


def _closed(alert: Subscription, state: AlertState, at: datetime) -> Turn:
    """Recovered; reported if the trouble was reported, or if only recoveries are wanted."""
    config = _config(alert)
    is_told = AlertKind.RECOVERED in config.kinds and state.trouble in HEALING and state.notify_at is None
    closed = replace(state, is_open=False, revision=state.revision + 1, notify_at=None)
    return Turn(alert, closed, AlertKind.RECOVERED if is_told else None, at)


def _is_enough(event: Event, alert: Subscription) -> bool:
    count = event.data.get("failure_count")
    if event.data.get("error_code") in SILENCE:
        return True  # its grace was the tolerance; the next deadline may be a day away
    return isinstance(count, int) and count >= _config(alert).failures


def _watches(alert: Subscription, trouble: AlertKind, endpoint_id: str, job_id: str) -> bool:
    is_about_workflows = trouble is AlertKind.STOPPED  # these belong to no endpoint and no job
    return _tracks(alert, trouble) and (
        not (endpoint_id or is_about_workflows) or _is_in_scope(alert, endpoint_id, job_id)
    )


def _tracks(alert: Subscription, trouble: AlertKind) -> bool:
    kinds = _config(alert).kinds
    return trouble in kinds or (trouble in HEALING and AlertKind.RECOVERED in kinds)


def _is_in_scope(alert: Subscription, endpoint_id: str, job_id: str) -> bool:
    config = _config(alert)
    if config.endpoint_id:
        return config.endpoint_id == endpoint_id
    return not config.job_id or config.job_id == job_id


def _config(alert: Subscription) -> Alert:
    assert isinstance(alert.config, Alert)
    return alert.config
