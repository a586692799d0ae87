"""Decide what happens to a due endpoint when a worker claims it. Pure.

    lease over     its worker is lost: retry the slot with the same id, or close it as unknown; park the likely cause
    over quota     deferred once, to the first of the next month
    open           a run that a ping or a callback should have ended is judged once its time is over
    paused         a released slot is dropped; only a requested run starts
    owed           a slot that was released, that failed and is retried, or that is caught up, starts; a
                   maintenance window delays it
    requested      a manual run starts
    maintenance    a slot in a window that skips runs is skipped
    calendar       a slot on an excluded day, or one so late that its day is over and today is excluded, does not run
    due            it starts, unless only an expired hint asked for it; if it is late, by its misfire policy

The result is a Transition: the endpoint's next value and every row and event that goes with it. `end_lost` and
`give_back` end the runs of workers that died or shut down, before their leases are over.
"""

from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.endpoint import CATCH_UP_MAX, LOST_WORKERS_MAX, Endpoint, LostWorkerPolicy, MisfirePolicy
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import after_ms, rfc3339
from mainspring.domain.run import CALLBACK, Request, Run, RunStatus, RunTrigger, slot_id
from mainspring.domain.schedule.anchor import expire_hints, moved, plan_expected, plan_on_time, push_ahead, replan
from mainspring.domain.schedule.callback_wait import CallbackWait
from mainspring.domain.schedule.due_slots import MISSED_COUNTED_MAX, count_due, newest_slots
from mainspring.domain.schedule.governor import (
    AI_ONE_SHOT,
    BASELINE_CRON,
    PAUSED,
    CronReader,
    DecisionStep,
    encode_trail,
)
from mainspring.domain.schedule.maintenance import WindowSpan, hold_slot, skip_slot, skipping_at
from mainspring.domain.schedule.open_days import is_open_at
from mainspring.domain.schedule.retry import end_retries

MISFIRE_GRACE = timedelta(seconds=30)  # up to here a start is late, beyond it a misfire
CRON_LATENESS_MAX = timedelta(hours=1)
BACKOFF_STALE_AFTER = timedelta(hours=1)


class Claim(Struct, frozen=True):
    """The right of one worker to execute one slot until `endpoint.lease_until`, fenced by the epoch."""

    endpoint: Endpoint
    run_id: str
    epoch: int
    slot_at: datetime
    attempt: int
    trigger: RunTrigger
    claimed_at: datetime
    signing_keys: tuple[str, ...] = ()

    @property
    def slot_id(self) -> str:
        return slot_id(self.endpoint.id, self.slot_at)

    @property
    def request(self) -> Request:
        """What its worker has to call."""
        leased = self.endpoint
        started_at = leased.opened_at if leased.is_open else None
        return Request(
            leased.tenant_id, leased.id, self.slot_id, self.slot_at, self.attempt, leased.action, self.signing_keys,
            started_at=started_at, run_id=self.run_id, endpoint=leased.name, job=leased.job,
        )  # fmt: skip

    @property
    def opened(self) -> Run:
        """The run that the claim starts."""
        leased = self.endpoint
        return Run(
            self.run_id, leased.tenant_id, leased.id, self.slot_at, self.attempt, self.trigger, leased.source,
            RunStatus.RUNNING, self.claimed_at, self.epoch, leased.claimed_by, trail=leased.trail,
        )  # fmt: skip


class Closing(Struct, frozen=True):
    """How a run in state `running` ends without its own result."""

    run_id: str
    status: RunStatus
    error: str


class Transition(Struct, frozen=True):
    endpoint: Endpoint
    claim: Claim | None = None
    missed: Run | None = None
    closed: Closing | None = None
    events: tuple[Event, ...] = ()
    was_open: bool = False  # the run of the claim had started before

    @property
    def opened(self) -> Run | None:
        return self.claim.opened if self.claim is not None and not self.was_open else None


class Claimant(Struct, frozen=True):
    """The claiming worker, and what the claim needs from outside the pure function."""

    worker: str
    lease_margin_ms: int
    new_run_id: str
    signing_keys: tuple[str, ...] = ()
    over_quota: bool = False
    windows: tuple[WindowSpan, ...] = ()  # maintenance windows of the tenant that are open now


def admit(endpoint: Endpoint, now: datetime, by: Claimant, cron: CronReader) -> Transition:
    if endpoint.is_open:
        return _judge_open(endpoint, now, by, cron)
    if endpoint.is_running:
        return _take_over(endpoint, now, by, cron)
    if not endpoint.can_run:
        return Transition(replace(endpoint, next_run_at=None, manual_at=None, slot_at=None))
    if by.over_quota and not endpoint.action.is_expected:
        return _defer(endpoint, now)
    paused = endpoint.is_paused(now)
    if paused and endpoint.manual_at is None:
        return Transition(replan(replace(endpoint, slot_at=None), now, cron))
    window = skipping_at(by.windows, endpoint, now) if by.windows else None
    is_asked_for = endpoint.slot_at is not None and endpoint.trigger is RunTrigger.MANUAL
    if window is not None and endpoint.manual_at is None and not is_asked_for:
        return _skip(endpoint, now, window, cron)
    if endpoint.failed_attempts and endpoint.is_retrying and not paused and window is None:
        return _retry(endpoint, now, by, cron)
    if is_asked_for or (endpoint.slot_at is not None and not paused and window is None):
        # Before a manual run that may wait as well, so that no slot is lost; a released manual run is this slot itself.
        owed = replace(endpoint, manual_at=None) if endpoint.trigger is RunTrigger.MANUAL else endpoint
        assert owed.slot_at is not None
        return _start(owed, now, by, owed.slot_at, endpoint.trigger, endpoint.attempt + 1)
    if endpoint.manual_at is not None:
        manual_at = endpoint.manual_at
        return _start(replace(endpoint, manual_at=None), now, by, manual_at, RunTrigger.MANUAL, 1)
    return _due(endpoint, now, by, cron)


def _judge_open(endpoint: Endpoint, now: datetime, by: Claimant, cron: CronReader) -> Transition:
    """Claims an open run once it should have ended. Its worker stays `ping` or `callback`, even if this one dies."""
    assert endpoint.slot_at is not None
    if is_given_up(endpoint):
        what = "ping" if endpoint.waiting is None else "callback"
        why = f"no {what} ended it before the endpoint stopped waiting"
        free = replace(_free(endpoint), slot_at=None, waiting=None)
        return Transition(replan(free, now, cron), closed=Closing(endpoint.run_id, RunStatus.UNKNOWN, why))
    if endpoint.waiting is not None and now < endpoint.open_until:
        return Transition(replace(endpoint, lease_until=None, next_run_at=endpoint.open_until))
    if endpoint.waiting is None and (now < endpoint.open_until or endpoint.is_paused(now)):
        return Transition(replan(replace(endpoint, lease_until=None), now, cron))
    epoch = endpoint.claim_epoch + 1
    until = after_ms(now, endpoint.action.timeout_ms + by.lease_margin_ms)
    leased = replace(endpoint, claim_epoch=epoch, lease_until=until)
    claim = Claim(leased, endpoint.run_id, epoch, endpoint.slot_at, endpoint.attempt, endpoint.trigger, now)
    return Transition(leased, claim, was_open=True)


def is_given_up(endpoint: Endpoint) -> bool:
    """Whether nothing can end the open run any more. A callback can while the endpoint is not archived: the work at the
    target continues.
    """
    if endpoint.waiting is not None:
        return endpoint.archived_at is not None
    return not endpoint.action.is_expected or not endpoint.can_run


def wait_for_callback(endpoint: Endpoint, since_at: datetime, until_at: datetime, why: str) -> Endpoint:
    """The endpoint whose run continues without a worker. A requested run is stored separately until it has ended."""
    step = DecisionStep(CALLBACK, until_at, "won", f"{why}, and its callback ends the run")
    return replace(
        endpoint,
        lease_until=None,
        claimed_by=CALLBACK,
        manual_at=None,
        next_run_at=endpoint.archived_at or until_at,  # a worker closes the run of an archived endpoint
        source=CALLBACK,
        trail=encode_trail((step,)),
        waiting=CallbackWait(since_at, until_at, requested_at=endpoint.manual_at),
    )


def _skip(endpoint: Endpoint, now: datetime, window: WindowSpan, cron: CronReader) -> Transition:
    """Skips the due slot in a maintenance window; an owed slot waits until the window is over."""
    if endpoint.slot_at is not None:
        held = hold_slot(endpoint, window, window.until_at)
    else:
        held = skip_slot(endpoint, window, cron)
    events = moved(endpoint, held, now, "system")
    return Transition(held, events=tuple(replace(e, data=e.data | {"maintenance": window.name}) for e in events))


def _due(endpoint: Endpoint, now: datetime, by: Claimant, cron: CronReader) -> Transition:
    endpoint, expired = expire_hints(endpoint, now, cron)
    assert endpoint.next_run_at is not None
    if endpoint.action.is_expected and endpoint.source == PAUSED:  # the pause is over; pings are expected from now on
        return Transition(plan_expected(endpoint, now, now, cron), events=expired)
    if endpoint.next_run_at > now:
        return Transition(endpoint, events=expired)
    if endpoint.days and not _is_allowed(endpoint, now):
        return _leave_out(endpoint, now, by, cron, expired)
    # A one-shot may be as late as its expiry allows: the misfire policy applies to slots of the baseline.
    if now - endpoint.next_run_at <= MISFIRE_GRACE or endpoint.source == AI_ONE_SHOT:
        return _start(endpoint, now, by, endpoint.next_run_at, RunTrigger.SCHEDULE, 1, events=expired)
    return _misfire(endpoint, now, by, cron, expired)


def _is_allowed(endpoint: Endpoint, now: datetime) -> bool:
    """Whether the calendars allow the due slot. It may start some seconds after midnight, but cannot be made up for."""
    slot_at = endpoint.next_run_at
    assert slot_at is not None
    if endpoint.action.is_expected:  # the judged deadline was expected on an allowed day
        return True
    return is_open_at(endpoint, slot_at) and (now - slot_at <= MISFIRE_GRACE or is_open_at(endpoint, now))


def _leave_out(
    endpoint: Endpoint, now: datetime, by: Claimant, cron: CronReader, before: tuple[Event, ...]
) -> Transition:
    """Plans the next run on a day that the calendars allow. Slots that passed are recorded as missed."""
    slot_at = endpoint.next_run_at
    assert slot_at is not None
    count = count_due(endpoint, slot_at, now, cron) if is_open_at(endpoint, slot_at) else 0
    missed, told = _missed(endpoint, now, by, slot_at, count)
    planned = replan(replace(endpoint, anchor_at=now, next_run_at=None), now, cron)
    return Transition(planned, missed=missed, events=(*before, *told, *moved(endpoint, planned, now, "system")))


def _retry(endpoint: Endpoint, now: datetime, by: Claimant, cron: CronReader) -> Transition:
    """Starts the next attempt at a slot that failed. After a downtime the schedule comes first, and the attempt may be
    too late: then the slot has ended.
    """
    slot_at, retry_at = endpoint.slot_at, endpoint.next_run_at
    assert slot_at is not None
    assert retry_at is not None
    if now - retry_at > MISFIRE_GRACE:
        ended = end_retries(endpoint)
        plan = plan_on_time(endpoint.anchor_at, ended, cron)
        if plan.next_run_at <= now and endpoint.trigger is not RunTrigger.CATCH_UP:
            trail = encode_trail(plan.trail)
            return _due(replace(ended, next_run_at=plan.next_run_at, source=plan.source, trail=trail), now, by, cron)
        lateness_max = _lateness_max(endpoint)
        since = retry_at if endpoint.max_lateness_ms is None else slot_at
        if lateness_max is not None and now - since > lateness_max:
            return Transition(replan(ended, now, cron))
    return _start(endpoint, now, by, slot_at, endpoint.trigger, endpoint.attempt + 1)


def _start(
    endpoint: Endpoint,
    now: datetime,
    by: Claimant,
    slot_at: datetime,
    trigger: RunTrigger,
    attempt: int,
    closed: Closing | None = None,
    missed: Run | None = None,
    events: tuple[Event, ...] = (),
) -> Transition:
    one_shot = endpoint.one_shot_hint
    if one_shot is not None and trigger is not RunTrigger.MANUAL and one_shot.next_run_at <= now:
        one_shot = None  # consumed: this is the run it asked for
    epoch = endpoint.claim_epoch + 1
    leased = replace(
        endpoint,
        one_shot_hint=one_shot,
        deferred_until=None,
        slot_at=slot_at,
        trigger=trigger,
        attempt=attempt,
        claim_epoch=epoch,
        lease_until=after_ms(now, endpoint.action.timeout_ms + by.lease_margin_ms),
        claimed_by=by.worker,
        run_id=by.new_run_id,
    )
    if attempt == 1 and endpoint.failed_attempts:
        leased = replace(leased, failed_attempts=0)  # of an earlier slot
    shown = RunTrigger.RETRY if attempt > 1 else trigger
    started = EventType.MANUAL_RUN_STARTED if trigger is RunTrigger.MANUAL else EventType.RUN_STARTED
    data: dict[str, object] = {"slot_at": slot_at, "attempt": attempt, "trigger": shown}
    event = Event(started, now, endpoint.tenant_id, endpoint.id, by.new_run_id, by.worker, data)
    claim = Claim(leased, by.new_run_id, epoch, slot_at, attempt, shown, now, by.signing_keys)
    return Transition(leased, claim, missed, closed, (*events, event))


def end_lost(endpoint: Endpoint, now: datetime, together: int, cron: CronReader) -> Transition:
    """Ends the run of a worker that died: its slot is due again, or closed as unknown (at most once).

    `together` counts the runs lost at the same time whose endpoints have lost their workers at least as often in a row.
    Each is equally likely to be the cause, so a loss counts that much less.
    """
    why = f"worker {endpoint.claimed_by} died before it recorded a result"
    if _may_be_reported(endpoint):
        return _wait_without_worker(endpoint, now, why)
    return _due_again(_end_lost(endpoint, now, why, together, cron), now)


def give_back(endpoint: Endpoint, now: datetime, cron: CronReader) -> Transition:
    """Ends a run that its worker gives up, which is not a loss; its slot is due again, or unknown (at most once)."""
    if endpoint.waiting is not None:  # only its deadline was being judged
        return Transition(replace(endpoint, lease_until=None, claim_epoch=endpoint.claim_epoch + 1))
    if _may_be_reported(endpoint):
        return _wait_without_worker(endpoint, now, f"worker {endpoint.claimed_by} shut down during the call")
    again = endpoint.on_lost_worker is LostWorkerPolicy.RETRY
    why = "its worker gave it up; " + ("the slot runs again" if again else "the call may have been delivered")
    status = _status_without_result(endpoint)
    data: dict[str, object] = {"status": status, "worker": endpoint.claimed_by}
    gone = Event(
        EventType.RUN_ABANDONED, now, endpoint.tenant_id, endpoint.id, endpoint.run_id, endpoint.claimed_by, data
    )
    return _due_again(_owe(_free(endpoint), now, cron, Closing(endpoint.run_id, status, why), gone), now)


def _take_over(endpoint: Endpoint, now: datetime, by: Claimant, cron: CronReader) -> Transition:
    """Ends the run whose lease is over: its holder is dead or stopped, and the fence rejects a late result."""
    why = f"worker {endpoint.claimed_by} was lost: no result before the lease ended"
    if _may_be_reported(endpoint):
        return _wait_without_worker(endpoint, now, why)
    ended = _end_lost(endpoint, now, why, 1, cron)
    owed = ended.endpoint
    if owed.slot_at is None:
        return ended
    window = skipping_at(by.windows, owed, now) if by.windows and owed.trigger is not RunTrigger.MANUAL else None
    if window is not None:
        return replace(ended, endpoint=hold_slot(owed, window, window.until_at))
    return _start(owed, now, by, owed.slot_at, owed.trigger, owed.attempt + 1, closed=ended.closed, events=ended.events)


def _end_lost(endpoint: Endpoint, now: datetime, why: str, together: int, cron: CronReader) -> Transition:
    lost = endpoint.lost_count + 1
    status = _status_without_result(endpoint)
    closed = Closing(endpoint.run_id, status, why)
    gone = Event(
        EventType.RUN_ABANDONED, now, endpoint.tenant_id, endpoint.id, endpoint.run_id, "system",
        {"status": status, "worker": endpoint.claimed_by, "in_a_row": lost},
    )  # fmt: skip
    free = replace(_free(endpoint), lost_count=lost)
    if lost < LOST_WORKERS_MAX * together:
        return _owe(free, now, cron, closed, gone)
    others = "no other run explains it" if together == 1 else f"only {together - 1} others were lost as often"
    reason = f"lost its worker {lost} times in a row, and {others}; find out why, then resume it"
    parked = replace(free, parked_at=now, parked_reason=reason, next_run_at=None, manual_at=None, slot_at=None)
    event = Event(EventType.ENDPOINT_PARKED, now, free.tenant_id, free.id, "", "system", {"reason": reason})
    return Transition(parked, closed=closed, events=(gone, event))


def _may_be_reported(endpoint: Endpoint) -> bool:
    """Whether the call of a lost worker may have been accepted, and is not repeated: its callback decides."""
    return endpoint.on_lost_worker is LostWorkerPolicy.SKIP and endpoint.action.callback_within_ms > 0


def _wait_without_worker(endpoint: Endpoint, now: datetime, why: str) -> Transition:
    """The epoch stays: nothing else is started, so a result of the worker would still count."""
    until_at = after_ms(now, endpoint.action.callback_within_ms)
    waiting = wait_for_callback(endpoint, now, until_at, f"{why}; the target may have accepted the call")
    data: dict[str, object] = {"until": until_at, "lost_worker": endpoint.claimed_by}
    event = Event(EventType.RUN_WAITING, now, endpoint.tenant_id, endpoint.id, endpoint.run_id, "system", data)
    return Transition(waiting, events=(event,))


def _status_without_result(endpoint: Endpoint) -> RunStatus:
    return RunStatus.UNKNOWN if endpoint.on_lost_worker is LostWorkerPolicy.SKIP else RunStatus.ABANDONED


def _free(endpoint: Endpoint) -> Endpoint:
    """Without its worker. The epoch always increases: a late result must not count."""
    return replace(endpoint, lease_until=None, claimed_by="", claim_epoch=endpoint.claim_epoch + 1)


def _owe(free: Endpoint, now: datetime, cron: CronReader, closed: Closing, gone: Event) -> Transition:
    """Keeps the slot to be started again, unless it may run only once or the endpoint may not run now."""
    assert free.slot_at is not None
    if free.on_lost_worker is LostWorkerPolicy.RETRY and free.can_run and not free.is_paused(now):
        return Transition(free, closed=closed, events=(gone,))
    manual = free.trigger is RunTrigger.MANUAL  # the schedule keeps its cadence
    left = replace(free, slot_at=None, anchor_at=free.anchor_at if manual else now)
    return _leave(left, now, cron, closed, gone)


def _due_again(ended: Transition, now: datetime) -> Transition:
    """Makes an owed slot due as soon as a worker has a free place."""
    endpoint = ended.endpoint
    if endpoint.slot_at is None:
        return ended
    asked = endpoint.trigger is RunTrigger.MANUAL  # the schedule's next run does not move
    due = replace(endpoint, manual_at=now) if asked else replace(endpoint, next_run_at=now)
    return replace(ended, endpoint=due)


def _leave(left: Endpoint, now: datetime, cron: CronReader, closed: Closing, gone: Event) -> Transition:
    try:
        return Transition(replan(left, now, cron), closed=closed, events=(gone,))
    except Exception as fault:  # raised further, it would leave the old lease to be taken over again forever
        text = f"{type(fault).__name__}: {fault}"
        event = Event(EventType.ENDPOINT_FAULTY, now, left.tenant_id, left.id, "", "system", {"fault": text})
        return Transition(push_ahead(left, now, text), closed=closed, events=(gone, event))


def _defer(endpoint: Endpoint, now: datetime) -> Transition:
    first = (now.astimezone(UTC).replace(day=1) + timedelta(days=32)).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    later = max(first, endpoint.next_run_at or first)  # a pause or a rare cron may be later than the next month
    if endpoint.is_retrying:
        endpoint = end_retries(endpoint)
    deferred = replace(endpoint, next_run_at=later, deferred_until=first, manual_at=None, slot_at=None)
    data: dict[str, object] = {"until": rfc3339(first), "quota": "runs_per_month"}
    event = Event(EventType.QUOTA_DEFERRED, now, endpoint.tenant_id, endpoint.id, "", "system", data)
    return Transition(deferred, events=(event,))


def _misfire(
    endpoint: Endpoint, now: datetime, by: Claimant, cron: CronReader, before: tuple[Event, ...]
) -> Transition:
    """Decides by the misfire policy which of the missed slots still run.

    1. Take the newest slots that the policy runs: one, or `catch_up_max`.
    2. Drop those that are later than the endpoint accepts.
    3. Start the oldest now; a catch-up continues with the next one when this one finishes.
    4. Record all others in one `missed` row.
    """
    slot_at = endpoint.next_run_at
    assert slot_at is not None
    if endpoint.failure_count and now - slot_at > BACKOFF_STALE_AFTER:
        endpoint = replace(endpoint, failure_count=0)
    due = count_due(endpoint, slot_at, now, cron)
    catch_up = endpoint.misfire is MisfirePolicy.CATCH_UP
    slots = newest_slots(endpoint, slot_at, now, endpoint.catch_up_max if catch_up else 1, cron)
    slots = [
        at for at in slots if not endpoint.has_run(at) and (endpoint.action.is_expected or is_open_at(endpoint, at))
    ]
    lateness_max = _lateness_max(endpoint)
    if lateness_max is not None:
        slots = [at for at in slots if now - at <= lateness_max]
    missed, told = _missed(endpoint, now, by, slot_at, due - len(slots))
    events = (*before, *told)
    if not slots:
        # Nothing ran now: a cron continues from its anchor, so that min_interval cannot push it off its grid.
        anchor_at = endpoint.anchor_at if endpoint.source == BASELINE_CRON else now
        skipped = replan(replace(endpoint, anchor_at=anchor_at, next_run_at=None), now, cron)
        return Transition(skipped, missed=missed, events=events)
    if not catch_up or len(slots) == 1:
        return _start(endpoint, now, by, slots[0], RunTrigger.SCHEDULE, 1, missed=missed, events=events)
    endpoint = replace(endpoint, anchor_at=now)  # finishing continues with the slots up to here, and no further
    return _start(endpoint, now, by, slots[0], RunTrigger.CATCH_UP, 1, missed=missed, events=events)


def _lateness_max(endpoint: Endpoint) -> timedelta | None:
    if endpoint.max_lateness_ms is not None:
        return timedelta(milliseconds=endpoint.max_lateness_ms)
    if endpoint.misfire is MisfirePolicy.SKIP:
        return MISFIRE_GRACE
    if endpoint.misfire is MisfirePolicy.CATCH_UP:
        return None
    return CRON_LATENESS_MAX if endpoint.cron is not None else None


def _missed(
    endpoint: Endpoint, now: datetime, by: Claimant, slot_at: datetime, count: int
) -> tuple[Run | None, tuple[Event, ...]]:
    if count <= 0:
        return None, ()
    many = "many" if endpoint.cron is not None and count >= MISSED_COUNTED_MAX - CATCH_UP_MAX else str(count)
    what = f"{many} slot{'' if count == 1 else 's'} from {rfc3339(slot_at)} on"
    error = f"{what} passed while nothing could run them (misfire: {endpoint.misfire})"
    run = Run(
        f"{by.new_run_id}_missed", endpoint.tenant_id, endpoint.id, slot_at, 0, RunTrigger.SCHEDULE, endpoint.source,
        RunStatus.MISSED, now, None, by.worker, finished_at=now, duration_ms=0, error_code="missed", error=error,
        missed_count=count, trail=endpoint.trail,
    )  # fmt: skip
    data: dict[str, object] = {"count": count, "first_slot_at": rfc3339(slot_at), "policy": endpoint.misfire}
    return run, (Event(EventType.RUN_MISSED, now, endpoint.tenant_id, endpoint.id, run.id, "system", data),)
