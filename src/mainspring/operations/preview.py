"""Preview upcoming runs: walks an endpoint from run to run with the rules of the domain."""

from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import FOREVER
from mainspring.domain.schedule.anchor import expire_hints, plan_after_run, replan, without_expired_hints
from mainspring.domain.schedule.governor import CronReader, Decision, decode_trail


def preview(
    endpoint: Endpoint, now: datetime, count: int, cron: CronReader, failures: int | None = None
) -> list[Decision]:
    """The next `count` runs, each on its slot and successful; with `failures`, as if every run failed."""
    state = endpoint
    if failures is not None:
        state = replan(replace(state, failure_count=failures, anchor_at=max(state.anchor_at, now)), now, cron)
    elif state.next_run_at is None:
        state = replan(replace(state, anchor_at=now), now, cron)
    decisions: list[Decision] = []
    while endpoint.can_run and len(decisions) < count:
        state = _after_hints_that_expire_before_it(state, cron)
        if state.next_run_at is None or state.next_run_at >= FOREVER:
            break
        at = max(state.next_run_at, now)
        decisions.append(Decision(at, state.source, decode_trail(state.trail)))
        state = _after_run(state, at, 0 if failures is None else state.failure_count + 1, cron)
    return decisions


def _after_hints_that_expire_before_it(state: Endpoint, cron: CronReader) -> Endpoint:
    while ends := _expiries_before(state, state.next_run_at or FOREVER):
        state, _ = expire_hints(state, min(ends), cron)
    return state


def _expiries_before(state: Endpoint, at: datetime) -> list[datetime]:
    hints = (state.interval_hint, state.one_shot_hint)
    return [hint.expires_at for hint in hints if hint is not None and hint.expires_at < at]


def _after_run(state: Endpoint, at: datetime, failures: int, cron: CronReader) -> Endpoint:
    one_shot = state.one_shot_hint
    if one_shot is not None and one_shot.next_run_at <= at:
        one_shot = None
    ended = replace(state, failure_count=failures, one_shot_hint=one_shot, deferred_until=None)
    return plan_after_run(without_expired_hints(ended, at)[0], at, at, at, cron)
