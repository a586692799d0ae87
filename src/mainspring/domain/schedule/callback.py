"""Decide the effect of a callback on its run. Pure.

    progress         extends the deadline of the run, and stores its progress
    success, fail    end the run, with the function that results of calls use
    refused          the run has ended, its slot is over, or its deadline has passed; nothing changes

A callback belongs to a run. It counts while that run has not ended and its slot is in progress: waiting, or still with
a worker that has not recorded the response, or owed after that worker was lost. If another attempt at the slot has
begun since, the callback ends that one, because the work of the slot is done. The first end counts; others are refused.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.expressions.condition import evaluate
from mainspring.domain.instant import rfc3339
from mainspring.domain.run import CALLBACK, NO_CALLBACK, Body, Outcome, Run, RunStatus
from mainspring.domain.schedule.claim import Claim, Closing
from mainspring.domain.schedule.finish import Finished, Settlement, settle
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.maintenance import WindowSpan

ACCEPTED = 202  # the response of a target that ends its run by a callback
PROGRESS_TEXT_MAX = 500
UNENDED = (RunStatus.RUNNING, RunStatus.ABANDONED)


class ReportMeaning(StrEnum):
    PROGRESS = "progress"
    SUCCESS = "success"
    FAIL = "fail"


class CallbackReport(Struct, frozen=True):
    kind: ReportMeaning
    exit_code: int | None = None
    percent: int | None = None
    text: str = ""
    body: Body | None = None


class Receipt(Struct, frozen=True):
    """The effects of a report: the endpoint, a run that ends, and an earlier attempt that ends with it."""

    endpoint: Endpoint
    refusal: str = ""  # why nothing changed
    ended: tuple[Finished, Settlement] | None = None
    closed: Closing | None = None
    events: tuple[Event, ...] = ()


def receive(
    endpoint: Endpoint,
    run: Run,
    report: CallbackReport,
    windows: Sequence[WindowSpan],
    now: datetime,
    cron: CronReader,
    *,
    fenced: bool = True,
) -> Receipt:
    """`run` is the run that the callback was given for; `windows` were open at any time since it started.

    `fenced=False` exists for the negative control of the fault tests and is set nowhere else.
    """
    if fenced and (refusal := _refusal(endpoint, run, now)) is not None:
        data: dict[str, object] = {"report": report.kind, "reason": refusal}
        return Receipt(endpoint, refusal, events=(_event(EventType.CALLBACK_REFUSED, endpoint, run.id, now, data),))
    if report.kind is ReportMeaning.PROGRESS:
        return _progress(endpoint, report, now)
    return _end(endpoint, run, report, windows, now, cron)


def began_at(endpoint: Endpoint, run: Run) -> datetime:
    """When the run that a callback ends began."""
    return run.started_at if endpoint.waiting is None else endpoint.waiting.since_at


def _refusal(endpoint: Endpoint, run: Run, now: datetime) -> str | None:
    if run.status not in UNENDED:
        return f"the run has already ended ({run.status}); a callback URL ends its run once"
    if endpoint.archived_at is not None:
        return "the endpoint is archived; its runs do not wait any more"
    if endpoint.slot_at != run.slot_at or endpoint.is_retrying:
        return "the slot of the run is over; another attempt ended it, or it was given up"
    if endpoint.waiting is not None and now > endpoint.waiting.until_at:
        late = format_duration(max(1, (now - endpoint.waiting.until_at) // timedelta(milliseconds=1)))
        return f"the deadline was {rfc3339(endpoint.waiting.until_at)}, {late} ago; report progress to extend it"
    return None


def _progress(endpoint: Endpoint, report: CallbackReport, now: datetime) -> Receipt:
    if endpoint.waiting is None:  # the response of the target is not recorded yet; the deadline begins with that
        return Receipt(endpoint)
    timeout_ms = endpoint.action.callback_within_ms
    waiting = endpoint.waiting.reported(report.percent, report.text, timeout_ms, now)
    extended = replace(endpoint, waiting=waiting, next_run_at=waiting.until_at)
    data: dict[str, object] = {"percent": waiting.percent, "text": waiting.text, "until": waiting.until_at}
    return Receipt(extended, events=(_event(EventType.RUN_PROGRESS, endpoint, endpoint.run_id, now, data),))


def _end(
    endpoint: Endpoint, run: Run, report: CallbackReport, windows: Sequence[WindowSpan], now: datetime, cron: CronReader
) -> Receipt:
    started_at = began_at(endpoint, run)
    held = replace(endpoint, lease_until=now, claimed_by=CALLBACK)
    claim = Claim(held, held.run_id, held.claim_epoch, run.slot_at, held.attempt, held.trigger, started_at)
    duration_ms = max(0, (now - started_at) // timedelta(milliseconds=1))
    finished = Finished(claim, _outcome(endpoint, report, duration_ms), started_at, now)
    settlement = settle(held, finished, now, cron, windows=windows)
    assert settlement.endpoint is not None
    closed = None
    if run.id != endpoint.run_id:
        closed = Closing(run.id, RunStatus.SUPERSEDED, f"its callback ended attempt {endpoint.attempt} at its slot")
    return Receipt(replace(settlement.endpoint, claimed_by=""), "", (finished, settlement), closed, settlement.events)


def _outcome(endpoint: Endpoint, report: CallbackReport, duration_ms: int) -> Outcome:
    body = report.body
    if body is not None and len(body.data) > endpoint.action.body_cap:
        body = replace(body, data=body.data[: endpoint.action.body_cap], truncated=True)
    reported = Outcome(RunStatus.SUCCESS, duration_ms, ACCEPTED, body=body)
    if report.exit_code:
        words = f"the callback reported exit code {report.exit_code}"
        return replace(reported, status=RunStatus.FAILURE, error_code="exit_code", error=words)
    if report.kind is ReportMeaning.FAIL:
        words = "the callback reported a failure"
        return replace(reported, status=RunStatus.FAILURE, error_code="failed", error=words)
    if (fault := _condition_fault(endpoint, report, duration_ms)) is not None:
        return replace(reported, status=RunStatus.FAILURE, error_code="condition", error=fault)
    return reported


def _condition_fault(endpoint: Endpoint, report: CallbackReport, duration_ms: int) -> str | None:
    text = endpoint.action.condition
    if text is None or not endpoint.action.callback_within_ms:  # an edit replaced the configuration
        return None
    answer = evaluate(text, ACCEPTED, (), b"" if report.body is None else report.body.data, duration_ms)
    if answer is True:
        return None
    return f"the condition is false: {text}" if answer is False else f"the condition failed: {answer}"


def judge_overdue(started_at: datetime, now: datetime) -> Outcome:
    """The result of a run whose deadline passed without a callback."""
    duration_ms = max(0, (now - started_at) // timedelta(milliseconds=1))
    error = f"no callback arrived before the deadline; the run began {format_duration(max(1, duration_ms))} ago"
    return Outcome(RunStatus.TIMEOUT, duration_ms, error_code=NO_CALLBACK, error=error)


def _event(kind: EventType, endpoint: Endpoint, run_id: str, now: datetime, data: dict[str, object]) -> Event:
    return Event(kind, now, endpoint.tenant_id, endpoint.id, run_id, CALLBACK, data)
