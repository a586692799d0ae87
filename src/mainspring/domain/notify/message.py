"""Build messages: an event for a program, a change of state for a person. Pure.

Messages to people use plain words in the order of importance: what happened, since when, the last error, the next run,
where to look.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from mainspring.domain.duration import format_duration
from mainspring.domain.event import StoredEvent
from mainspring.domain.instant import FOREVER, rfc3339
from mainspring.domain.notify.alerting import Turn
from mainspring.domain.notify.subscription import AlertKind
from mainspring.domain.text import clean_text, spelled_out

LISTED_MAX = 20
ERROR_MAX = 300
PAST = {  # the trouble that a recovery ended
    AlertKind.FAILING: "Failed:",
    AlertKind.LATE: "Late:",
    AlertKind.QUOTA: "Waited:",
    AlertKind.MODEL_FAILING: "Failed:",
    AlertKind.OVERDUE: "Overdue:",
}


class AlertFacts(Struct, frozen=True):
    """Facts about the subject of a message."""

    subject: str  # its name
    since: datetime | None = None
    failures: int = 0
    last_error: str = ""
    next_run_at: datetime | None = None
    link: str = ""
    by: str = ""  # the actor
    runbook: str = ""  # instructions of the endpoint's owner


class Message(Struct, frozen=True):
    type: str
    at: datetime
    title: str
    text: str
    data: dict[str, object] = {}


def event_payload(stored: StoredEvent, endpoint: str | None) -> str:
    """The body that a webhook receives for an event."""
    event = stored.event
    data = {
        "cursor": stored.cursor,
        "endpoint": endpoint,
        "endpoint_id": event.endpoint_id or None,
        "run_id": event.run_id or None,
        "actor": event.actor,
        "data": event.data,
    }
    payload = {"type": event.type.value, "timestamp": rfc3339(event.at), "data": data}
    return msgspec.json.encode(payload).decode()


def message_payload(message: Message) -> str:
    data = {"title": message.title, "text": message.text, **message.data}
    payload = {"type": message.type, "timestamp": rfc3339(message.at), "data": data}
    return msgspec.json.encode(payload).decode()


def read_message(payload: str) -> tuple[str, str]:
    """Title and text of an alert's payload."""
    data = msgspec.json.decode(payload)["data"]
    return str(data["title"]), str(data["text"])


def compose(turn: Turn, facts: AlertFacts, now: datetime) -> Message:
    """Title and text for one change of state."""
    assert turn.tells is not None
    name = spelled_out(facts.subject)
    title, sentence = _said(turn, facts, name)
    since = facts.since or turn.state.since
    is_over = turn.tells is AlertKind.RECOVERED
    lines = [sentence, ""]
    if is_over:
        lines += [
            f"{PAST[turn.state.trouble]:<12}{_clock(since)}",
            f"Until:      {_clock(turn.at)}{_for(since, turn.at)}",
        ]
    else:
        lines.append(f"Since:      {_clock(since)}{_ago(since, now)}")
    if turn.state.trouble is AlertKind.EXPIRING:
        pass  # its sentence contains it
    elif facts.last_error and turn.state.trouble is AlertKind.PROPOSAL_WAITING:
        lines.append(f"Reason:     {clean_text(spelled_out(facts.last_error), ERROR_MAX)}")
    elif facts.last_error:
        lines.append(f"Last error: {clean_text(spelled_out(facts.last_error), ERROR_MAX)}")
    if facts.next_run_at is not None:
        lines.append(f"Next run:   {_clock(facts.next_run_at)}")
    lines.append(f"Alert:      {spelled_out(turn.alert.name)}")
    if facts.runbook and not is_over:
        lines += ["", "What to do:", *(spelled_out(line) for line in facts.runbook.splitlines())]
    if facts.link:
        lines += ["", facts.link]
    data: dict[str, object] = {
        "alert": turn.alert.name,
        "alert_id": turn.alert.id,
        "kind": turn.tells.value,
        "trouble": turn.state.trouble.value,
        "subject": facts.subject,
        "subject_id": turn.state.subject_id,
        "since": rfc3339(since),
        "until": rfc3339(turn.at) if is_over else None,
        "duration_ms": max(0, (turn.at - since) // timedelta(milliseconds=1)) if is_over else None,
        "last_error": facts.last_error or None,
        "next_run_at": None if facts.next_run_at is None else rfc3339(facts.next_run_at),
        "run_id": turn.run_id or None,
        "link": facts.link or None,
        "runbook": facts.runbook or None,
    }
    return Message(f"alert.{turn.tells.value}", turn.at, title, "\n".join(lines), data)


def sum_up(messages: Sequence[Message], why: str, now: datetime) -> Message:
    """A summary of many messages: their titles only."""
    listed = [f"- {_clock(each.at)}  {each.title}" for each in messages[:LISTED_MAX]]
    if len(messages) > LISTED_MAX:
        listed.append(f"- and {len(messages) - LISTED_MAX} more")
    title = f"{len(messages)} alerts {why}"
    text = "\n".join([f"{title}:", "", *listed])
    parts = [{"type": each.type, **each.data} for each in messages]
    return Message("alert.digest", now, title, text, {"alerts": parts})


def _said(turn: Turn, facts: AlertFacts, name: str) -> tuple[str, str]:
    match turn.tells:
        case AlertKind.FAILING:
            count = f"{facts.failures} runs in a row" if facts.failures > 1 else "its last run"
            return f"{name} is failing", f"{name} is failing: {count} did not succeed."
        case AlertKind.PARKED:
            what = f"{name} was parked"
            return what, f"{what}: its workers were lost too often in a row. It does not run until it is resumed."
        case AlertKind.LATE:
            return f"{name} is late", f"{name} is late: it is due and has not started."
        case AlertKind.QUOTA:
            what = f"{name} has used up its runs of the month"
            return what, f"{what}. Its endpoints wait for the next one, or for a higher quota."
        case AlertKind.WEBHOOK_DISABLED:
            what = f"webhook {name} was disabled"
            return what, f"{what}: {turn.data.get('reason', 'it failed for too long')}."
        case AlertKind.OVERDUE:
            what = f"executions of {name} are overdue"
            way_out = "Start a scheduler if none is running; `mainspring doctor` says what is missing."
            return what, f"{what}: {turn.data.get('count', 'some')} should have moved a minute ago. {way_out}"
        case AlertKind.STOPPED:
            what = f"{name} stopped"
            step = spelled_out(str(turn.data.get("step", "")))
            return what, f"{what} at step {step!r} and waits for a person: retry the step, skip it, or cancel."
        case AlertKind.ADVICE_PAUSED:
            what = f"{name} was paused by {spelled_out(facts.by)}"
            return what, f"{what}. It does not run until then, or until it is resumed."
        case AlertKind.PROPOSAL_WAITING:
            what = f"{name}: a proposal waits for a person"
            does = f"{spelled_out(facts.by)} would do this: {spelled_out(str(turn.data.get('does', '')))}"
            return what, f"{what}. {does}. Nothing is applied until it is approved: mainspring proposals list."
        case AlertKind.EXPIRING:
            what = f"the certificate of {name} expires soon"
            return what, f"{name}: {spelled_out(facts.last_error)}."
        case AlertKind.MODEL_FAILING:
            return "the language model is failing", f"A session of the language model about {name} failed."
        case _:
            return _well(turn, name)


def _well(turn: Turn, name: str) -> tuple[str, str]:
    match turn.state.trouble:
        case AlertKind.LATE:
            return f"{name} is on time again", f"{name} is on time again."
        case AlertKind.MODEL_FAILING:
            return "the language model has recovered", f"A session of the language model about {name} succeeded."
        case AlertKind.OVERDUE:
            return f"executions of {name} are on time again", f"No execution of {name} is overdue any more."
        case AlertKind.QUOTA:
            return f"{name} may run again", f"{name} may run again: its quota allows it."
        case _:
            return f"{name} has recovered", f"{name} has recovered: its last run succeeded."


def _clock(at: datetime) -> str:
    return "never" if at >= FOREVER else f"{at.replace(microsecond=0, tzinfo=None).isoformat(sep=' ')} UTC"


def _for(since: datetime, until: datetime) -> str:
    seconds = int((until - since).total_seconds())
    return f" (for {format_duration(seconds * 1_000)})" if seconds > 0 else ""


def _ago(at: datetime, now: datetime) -> str:
    seconds = int((now - at).total_seconds())
    return f" ({format_duration(seconds * 1_000)} ago)" if seconds > 0 else ""
