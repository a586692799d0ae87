"""Decide the effect of a ping on its endpoint. Pure.

    start            opens a run, which must end before `max_duration` has passed
    success, fail    end the open run, or are a run without a start
    second start     ends the open run as a failure (`overlap`) and opens another
    another run id   is a separate run; the open run continues

A ping that arrives after its slot was judged, or while it is being judged, is late. It ends the judgement, whose result
is then refused by the epoch: a slot is either missed or served, never both.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.expressions.condition import evaluate
from mainspring.domain.instant import after_ms
from mainspring.domain.run import PINGED, Body, Outcome, RunStatus, RunTrigger
from mainspring.domain.schedule.anchor import replan
from mainspring.domain.schedule.claim import Claim, Closing
from mainspring.domain.schedule.finish import Finished, Settlement, settle
from mainspring.domain.schedule.governor import CronReader

EARLY_MAX = timedelta(minutes=1)  # clocks differ: a cron job that starts this much too early serves its slot
OVERTAKEN_MAX = timedelta(minutes=1)  # a start that was in transit for longer belongs to another run
JUDGED = (RunStatus.MISSED, RunStatus.TIMEOUT)
CODE_MAX = 255


class PingMeaning(StrEnum):
    START = "start"
    SUCCESS = "success"
    FAIL = "fail"


class Ping(Struct, frozen=True):
    kind: PingMeaning
    exit_code: int | None = None
    run_key: str = ""  # pairs a start with its end
    body: Body | None = None


class Reception(Struct, frozen=True):
    """The effects of a ping: the endpoint, the key of its open or last run, a run that begins, and runs that end."""

    endpoint: Endpoint
    run_key: str = ""
    opened: Claim | None = None
    ended: tuple[tuple[Finished, Settlement], ...] = ()
    closed: Closing | None = None
    events: tuple[Event, ...] = ()


def receive(
    endpoint: Endpoint, open_key: str, ping: Ping, new_run_id: str, now: datetime, cron: CronReader
) -> Reception:
    if ping.kind is PingMeaning.START:
        return _start(endpoint, open_key, ping, new_run_id, now, cron)
    if endpoint.is_open and (ping.run_key == open_key or not ping.run_key):
        return _end(endpoint, open_key, ping, now, cron)
    if endpoint.is_open:  # of another run, whose start is not known here
        return _beside(endpoint, open_key, ping, new_run_id, now)
    free, closed = _without_judgement(endpoint)
    late = _lateness(endpoint, now)
    claim = _claim(free, new_run_id, now)
    outcome = _outcome(endpoint, ping, 0, late)
    finished = Finished(claim, outcome, now, now)
    settlement = settle(replace(claim.endpoint, lease_until=now), finished, now, cron)
    assert settlement.endpoint is not None
    started = _started(claim, now)
    events = (started, *settlement.events)
    return Reception(settlement.endpoint, ping.run_key, claim, ((finished, settlement),), closed, events)


def _start(
    endpoint: Endpoint, open_key: str, ping: Ping, new_run_id: str, now: datetime, cron: CronReader
) -> Reception:
    if endpoint.is_open and ping.run_key and ping.run_key == open_key:
        return Reception(endpoint, open_key)  # the same ping again
    if not endpoint.is_open and _has_just_ended(endpoint, open_key, ping, now):
        return Reception(endpoint, open_key)  # the end of its run arrived first
    before: tuple[Event, ...] = ()
    ended: tuple[tuple[Finished, Settlement], ...] = ()
    if endpoint.is_open:
        finished, settlement = _overlapped(endpoint, now, cron)
        assert settlement.endpoint is not None
        endpoint, ended, before = settlement.endpoint, ((finished, settlement),), settlement.events
    free, closed = _without_judgement(endpoint)
    claim = _claim(free, new_run_id, now)
    waiting = replan(claim.endpoint, now, cron)
    return Reception(waiting, ping.run_key, claim, ended, closed, (*before, _started(claim, now)))


def _has_just_ended(endpoint: Endpoint, last_key: str, ping: Ping, now: datetime) -> bool:
    last = endpoint.last_run_at
    return bool(ping.run_key) and ping.run_key == last_key and last is not None and now - last < OVERTAKEN_MAX


def _end(endpoint: Endpoint, open_key: str, ping: Ping, now: datetime, cron: CronReader) -> Reception:
    """Ends the open run, even one that a worker is about to judge."""
    late = now - endpoint.open_until if now > endpoint.open_until else None
    outcome = _outcome(endpoint, ping, _elapsed_ms(endpoint, now), late)
    claim = _held(endpoint)
    finished = Finished(claim, outcome, endpoint.anchor_at, now)
    settlement = settle(replace(claim.endpoint, lease_until=now), finished, now, cron)
    assert settlement.endpoint is not None
    return Reception(settlement.endpoint, open_key, None, ((finished, settlement),), None, settlement.events)


def _beside(endpoint: Endpoint, open_key: str, ping: Ping, new_run_id: str, now: datetime) -> Reception:
    """A separate run, which does not change the open run and the plan."""
    claim = replace(_claim(endpoint, new_run_id, now), slot_at=now)
    outcome = _outcome(endpoint, ping, 0, None)
    finished = Finished(claim, outcome, now, now)
    data: dict[str, object] = {
        "status": outcome.status,
        "status_code": outcome.status_code,
        "duration_ms": 0,
        "next_run_at": endpoint.next_run_at,
        "source": endpoint.source,
    }
    event = Event(EventType.RUN_FINISHED, now, endpoint.tenant_id, endpoint.id, new_run_id, PINGED, data)
    events = (_started(claim, now), event)
    return Reception(endpoint, open_key, claim, ((finished, Settlement(None, outcome.status)),), None, events)


def _claim(endpoint: Endpoint, run_id: str, now: datetime) -> Claim:
    """The endpoint with a run that a ping began, anchored where the next ping is counted from."""
    grace = timedelta(milliseconds=endpoint.action.judged_after_ms)
    deadline = endpoint.next_run_at
    expected_at = None if deadline is None else deadline - grace
    early = min(grace, EARLY_MAX)
    serves = expected_at is not None and now >= expected_at - early
    anchor_at = now
    if endpoint.cron is not None and serves and expected_at is not None and now < expected_at:
        anchor_at = expected_at  # or the cron would expect a ping for the same time again
    slot_at = deadline if serves and deadline is not None else now
    held = replace(
        endpoint,
        one_shot_hint=None,  # a hint requested a ping, and this is it
        deferred_until=None,
        anchor_at=anchor_at,
        slot_at=slot_at,
        trigger=RunTrigger.SCHEDULE,
        attempt=1,
        claim_epoch=endpoint.claim_epoch + 1,
        lease_until=None,
        claimed_by=PINGED,
        run_id=run_id,
    )
    return Claim(held, run_id, held.claim_epoch, slot_at, 1, RunTrigger.SCHEDULE, now)


def _held(endpoint: Endpoint) -> Claim:
    """The claim of the open run, taken back from a worker that may be judging it."""
    assert endpoint.slot_at is not None
    held = replace(endpoint, claim_epoch=endpoint.claim_epoch + 1)
    return Claim(held, held.run_id, held.claim_epoch, endpoint.slot_at, 1, RunTrigger.SCHEDULE, endpoint.anchor_at)


def _overlapped(endpoint: Endpoint, now: datetime, cron: CronReader) -> tuple[Finished, Settlement]:
    claim = _held(endpoint)
    words = "another run started before this one ended"
    outcome = Outcome(RunStatus.FAILURE, _elapsed_ms(endpoint, now), error_code="overlap", error=words)
    finished = Finished(claim, outcome, endpoint.anchor_at, now)
    return finished, settle(replace(claim.endpoint, lease_until=now), finished, now, cron)


def _elapsed_ms(endpoint: Endpoint, now: datetime) -> int:
    """How long the open run has taken."""
    return max(0, (now - endpoint.anchor_at) // timedelta(milliseconds=1))


def _without_judgement(endpoint: Endpoint) -> tuple[Endpoint, Closing | None]:
    """Takes the slot from a worker that judges its deadline; the epoch refuses the judgement."""
    if not endpoint.is_running:
        return endpoint, None
    why = "a ping arrived while the deadline was judged"
    return replace(endpoint, lease_until=None), Closing(endpoint.run_id, RunStatus.SUPERSEDED, why)


def _lateness(endpoint: Endpoint, now: datetime) -> timedelta | None:
    """How late a ping without a start is; zero if its slot was judged before."""
    if endpoint.last_status in JUDGED:
        return timedelta(0)
    deadline = endpoint.slot_at if endpoint.is_running else endpoint.next_run_at
    return now - deadline if deadline is not None and now > deadline else None


def _outcome(endpoint: Endpoint, ping: Ping, duration_ms: int, late: timedelta | None) -> Outcome:
    body = _capped(ping.body, endpoint.action.body_cap)
    reported = Outcome(RunStatus.SUCCESS, duration_ms, ping.exit_code, body=body)
    if ping.exit_code:
        words = f"the job ended with exit code {ping.exit_code}"
        return replace(reported, status=RunStatus.FAILURE, error_code="exit_code", error=words)
    if ping.kind is PingMeaning.FAIL:
        words = "the job reported a failure"
        return replace(reported, status=RunStatus.FAILURE, error_code="failed", error=words)
    if (fault := _condition_fault(endpoint, ping, duration_ms)) is not None:
        return replace(reported, status=RunStatus.FAILURE, error_code="condition", error=fault)
    if late is not None:
        return replace(reported, error_code="late", error=_late_words(late))
    return reported


def _capped(body: Body | None, cap: int) -> Body | None:
    if body is None or len(body.data) <= cap:
        return body
    return replace(body, data=body.data[:cap], truncated=True)


def _condition_fault(endpoint: Endpoint, ping: Ping, duration_ms: int) -> str | None:
    text = endpoint.action.condition
    if text is None:
        return None
    answer = evaluate(text, ping.exit_code or 0, (), b"" if ping.body is None else ping.body.data, duration_ms)
    if answer is True:
        return None
    return f"the condition is false: {text}" if answer is False else f"the condition failed: {answer}"


def _late_words(late: timedelta) -> str:
    if not late:
        return "the ping arrived after its deadline was judged"
    return f"the ping arrived {format_duration(max(1, late // timedelta(milliseconds=1)))} after its deadline"


def _started(claim: Claim, now: datetime) -> Event:
    leased = claim.endpoint
    data: dict[str, object] = {"slot_at": claim.slot_at, "attempt": 1, "trigger": claim.trigger}
    return Event(EventType.RUN_STARTED, now, leased.tenant_id, leased.id, claim.run_id, PINGED, data)


def judge_silence(started_at: datetime | None, slot_at: datetime, grace_ms: int, now: datetime) -> Outcome:
    """The result of a deadline that passed: no ping at all, or a start without an end."""
    if started_at is not None:
        duration_ms = max(0, (now - started_at) // timedelta(milliseconds=1))
        error = f"still running: a ping started it {format_duration(duration_ms)} ago, and none has ended it"
        return Outcome(RunStatus.TIMEOUT, duration_ms, error_code="still_running", error=error)
    expected_at = after_ms(slot_at, -grace_ms)
    error = f"no ping arrived within {format_duration(grace_ms)} after {expected_at:%Y-%m-%d %H:%M:%S} UTC"
    return Outcome(RunStatus.MISSED, 0, error_code="missed", error=error)
