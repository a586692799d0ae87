"""Changes that people, rules and models make to an endpoint between runs. Pure.

Every function computes the endpoint's next value and its events. The next run moves in the same step, so a store can
write both in one transaction and the change takes effect immediately. A change during a run only affects later runs.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.advice.proposal import StoredProposal
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, InvalidInput, QuotaExceeded
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import FOREVER, rfc3339
from mainspring.domain.kinds.registry import refuse_if_expected
from mainspring.domain.schedule import anchor
from mainspring.domain.schedule.anchor import moved, nudge, plan_first, replan
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.domain.schedule.maintenance import is_held
from mainspring.domain.schedule.retry import end_retries


class Change(Struct, frozen=True):
    endpoint: Endpoint
    events: tuple[Event, ...] = ()
    proposals: tuple[StoredProposal, ...] = ()  # to be merged with the endpoint's other proposals


# An edit of anything else moves nothing, not even a due endpoint that waits for a worker.
PHASED_BY = {"cron", "interval_ms", "once_at", "timezone", "spread"}
PLANNED_BY = {*PHASED_BY, "days", "shift", "backoff", "jitter_ms", "min_interval_ms", "max_interval_ms"}

Act = Callable[[Endpoint, datetime], Change]  # applied by a store to a locked row, with the time of the store's clock
Advice = Callable[[Endpoint, Mapping[str, str], datetime], Change]  # the same, with the planner's modes by scope


def put_interval_hint(endpoint: Endpoint, hint: IntervalHint, now: datetime, cron: CronReader) -> Change:
    """Writes a hint. A shorter interval moves the next run to now + interval; a longer one applies from the next
    decision.
    """
    data = _hint_data("interval", hint.expires_at, hint.reason, hint.author)
    data["interval_ms"] = hint.interval_ms
    hinted = nudge(replace(endpoint, interval_hint=hint), now, cron)
    return _moved(endpoint, hinted, now, hint.author, EventType.HINT_WRITTEN, data)


def put_one_shot_hint(endpoint: Endpoint, hint: OneShotHint, now: datetime, cron: CronReader) -> Change:
    data = _hint_data("one_shot", hint.expires_at, hint.reason, hint.author)
    data["at"] = rfc3339(hint.next_run_at)
    withdrawn = endpoint
    if endpoint.one_shot_hint is not None:  # once overwritten, it no longer requests a run
        withdrawn = replan(replace(endpoint, one_shot_hint=None), now, cron)
    hinted = nudge(replace(withdrawn, one_shot_hint=hint), now, cron)
    return _moved(endpoint, hinted, now, hint.author, EventType.HINT_WRITTEN, data)


def clear_hints(
    endpoint: Endpoint, now: datetime, actor: str, cron: CronReader, *, interval: bool = True, one_shot: bool = True
) -> Change:
    """Clears both hints, or one of them."""
    kept = replace(
        endpoint,
        interval_hint=None if interval else endpoint.interval_hint,
        one_shot_hint=None if one_shot else endpoint.one_shot_hint,
    )
    if kept == endpoint:
        return Change(endpoint)
    cleared = replan(replace(kept, refused_advice=None), now, cron)
    return _moved(endpoint, cleared, now, actor, EventType.HINT_CLEARED, {})


def expire_hints(endpoint: Endpoint, now: datetime, cron: CronReader) -> Change:
    """Clears hints that expired between runs: the baseline applies again."""
    return Change(*anchor.expire_hints(endpoint, now, cron))


def pause(
    endpoint: Endpoint,
    until: datetime | None,
    reason: str,
    now: datetime,
    actor: str,
    cron: CronReader,
    *,
    advice_may_resume: bool = False,
) -> Change:
    """Pauses until a given time or until resumed. Advice can end the pause only if it may resume the endpoint."""
    if until is not None and until <= now:
        raise InvalidInput(
            f"cannot pause until {rfc3339(until)}, which is not after the current time {rfc3339(now)}; give "
            "a later time",
            field="until",
            value=rfc3339(until),
        )
    held = replace(
        endpoint,
        paused_until=until or FOREVER,
        pause_reason=reason,
        pause_author=actor,
        advice_may_resume=advice_may_resume,
    )
    paused = replan(held, now, cron)
    data: dict[str, object] = {"until": rfc3339(until) if until else None, "reason": reason}
    return _moved(endpoint, paused, now, actor, EventType.ENDPOINT_PAUSED, data)


def resume(endpoint: Endpoint, now: datetime, actor: str, cron: CronReader) -> Change:
    """Ends a pause, and unparks a parked endpoint."""
    if not endpoint.is_paused(now) and endpoint.parked_at is None:
        return Change(endpoint)
    freed = replace(
        endpoint,
        paused_until=None,
        pause_reason="",
        pause_author="",
        advice_may_resume=False,
        refused_advice=None,
        parked_at=None,
        parked_reason="",
        lost_count=0,
    )
    return _moved(endpoint, replan(freed, now, cron), now, actor, EventType.ENDPOINT_RESUMED, {})


def request_run(endpoint: Endpoint, now: datetime, actor: str, cron: CronReader) -> Change:
    """Requests a run. Idle: it starts now and resets backoff. Running: one is queued. Queued: joins it. The cadence
    stays.
    """
    refuse_if_expected(endpoint.action, endpoint.name)
    _refuse_if_stopped(endpoint, now)
    if endpoint.requested_at is not None:
        return Change(endpoint)
    if endpoint.waiting is not None:  # due only afterwards: no worker claims the endpoint for it meanwhile
        requested = replace(endpoint, waiting=replace(endpoint.waiting, requested_at=now))
    else:
        requested = replace(endpoint, manual_at=now)
    is_in_hand = endpoint.is_running or endpoint.is_open
    if endpoint.is_retrying:  # the requested run replaces the next attempt
        requested = end_retries(requested)
    if requested.failure_count and not is_in_hand:
        requested = replan(replace(requested, failure_count=0, not_before=None, anchor_at=now), now, cron)
    return _moved(endpoint, requested, now, actor, EventType.MANUAL_RUN_REQUESTED, {"queued_behind_a_run": is_in_hand})


def reset_failures(endpoint: Endpoint, now: datetime, actor: str, cron: CronReader) -> Change:
    fresh = replan(replace(endpoint, failure_count=0, not_before=None), now, cron)
    return _moved(endpoint, fresh, now, actor, EventType.FAILURES_RESET, {"failures": endpoint.failure_count})


def archive(endpoint: Endpoint, now: datetime, actor: str) -> Change:
    if endpoint.archived_at is not None:
        return Change(endpoint)
    archived = replace(
        endpoint,
        archived_at=now,
        version=endpoint.version + 1,
        updated_at=now,
        next_run_at=now if endpoint.is_open else None,  # a worker closes the open run
        manual_at=None,
    )
    return _moved(endpoint, archived, now, actor, EventType.ENDPOINT_ARCHIVED, {})


def set_job_active(endpoint: Endpoint, active: bool, now: datetime, actor: str, cron: CronReader) -> Change:
    if endpoint.job_active == active:
        return Change(endpoint)
    changed = replan(replace(endpoint, job_active=active, manual_at=None), now, cron)
    return Change(changed, moved(endpoint, changed, now, actor))


def edit(old: Endpoint, new: Endpoint, now: datetime, actor: str, cron: CronReader) -> Change:
    """Applies a new configuration. Only a changed schedule that has never run gets a new phase."""
    fields = [name for name in Endpoint.__struct_fields__ if getattr(old, name) != getattr(new, name)]
    if not fields:
        return Change(old)
    edited = replace(new, version=old.version + 1, updated_at=now)
    if not PHASED_BY.isdisjoint(fields) and old.last_run_at is None and not old.is_open:
        edited = plan_first(edited, now, cron)
    elif old.is_retrying and new.retry is None and new.confirm is None:
        edited = replan(end_retries(edited), now, cron)
    elif not PLANNED_BY.isdisjoint(fields) or old.can_run != new.can_run:
        edited = replan(edited, now, cron)
    return _moved(old, edited, now, actor, EventType.ENDPOINT_UPDATED, {"fields": fields})


def leave_maintenance(endpoint: Endpoint, now: datetime, actor: str, cron: CronReader) -> Change:
    """Plans a run again that a maintenance window moved: the window was changed or deleted."""
    if endpoint.is_running or not is_held(endpoint):
        return Change(endpoint)
    freed = replan(replace(endpoint, next_run_at=None), now, cron)
    if endpoint.slot_at is not None and freed.next_run_at is not None:  # an owed slot is due at once
        freed = replace(freed, next_run_at=now)
    return Change(freed, moved(endpoint, freed, now, actor))


def _refuse_if_stopped(endpoint: Endpoint, now: datetime) -> None:
    if endpoint.can_run and endpoint.deferred_until is not None and endpoint.deferred_until > now:
        raise QuotaExceeded(
            f"endpoint {endpoint.name!r} waits until {rfc3339(endpoint.deferred_until)} because its tenant "
            "used up its monthly runs; raise the quota runs_per_month or wait",
            quota="runs_per_month",
            limit=0,
        )
    if endpoint.can_run:
        return
    if endpoint.archived_at is not None:
        why, way_out = "is archived", "an archived endpoint never runs again; create a new one"
    elif endpoint.parked_at is not None:
        why, way_out = f"is parked ({endpoint.parked_reason})", "resume it first"
    else:
        why, way_out = "belongs to a job that is not active", "resume the job first"
    raise Conflict(f"endpoint {endpoint.name!r} {why}; {way_out}", kind="endpoint", name=endpoint.name)


def _hint_data(kind: str, expires_at: datetime, reason: str, author: str) -> dict[str, object]:
    return {"kind": kind, "expires_at": rfc3339(expires_at), "reason": reason, "author": author}


def _moved(old: Endpoint, new: Endpoint, now: datetime, actor: str, kind: EventType, data: dict[str, object]) -> Change:
    event = Event(kind, now, old.tenant_id, old.id, "", actor, data)
    return Change(new, (event, *moved(old, new, now, actor)))
