"""Preview upcoming runs: walks an endpoint from run to run with the rules of the domain."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from msgspec.structs import replace

from mainspring.domain.calendar import ExcludedDay
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import FOREVER
from mainspring.domain.schedule.anchor import expire_hints, plan_after_run, replan, without_expired_hints
from mainspring.domain.schedule.governor import CronReader, Decision, decode_trail
from mainspring.domain.schedule.maintenance import (
    DuringMaintenance,
    MaintenanceWindow,
    WindowSpan,
    current_or_next,
    skip_slot,
    skipping_at,
)
from mainspring.domain.schedule.open_days import local_date
from mainspring.operations.calendars import excluded_for
from mainspring.operations.context import Desk

EXCLUDED_MAX = timedelta(days=366)
LOOKS_MAX = 1_500  # openings of windows that one preview reads, some 40 us each; the preview ends there


async def load_preview(
    desk: Desk, endpoint: Endpoint, now: datetime, count: int, failures: int | None = None
) -> list[Decision]:
    """The preview, with the maintenance windows of the tenant."""
    windows = await desk.stores.maintenance.windows(desk.tenant_id)
    return preview(endpoint, now, count, desk.cron, failures, windows)


async def excluded_until(
    desk: Desk, endpoint: Endpoint, now: datetime, decisions: Sequence[Decision]
) -> list[ExcludedDay]:
    """The days from today to the last of these runs on which the calendars of the endpoint allow none."""
    if not endpoint.days:
        return []
    last = max(decisions[-1].next_run_at, now) if decisions else now + EXCLUDED_MAX
    until = min(last, now + EXCLUDED_MAX)
    return await excluded_for(desk, endpoint, local_date(endpoint, now), local_date(endpoint, until))


def preview(
    endpoint: Endpoint,
    now: datetime,
    count: int,
    cron: CronReader,
    failures: int | None = None,
    windows: Sequence[MaintenanceWindow] = (),
) -> list[Decision]:
    """The next `count` runs, each on its slot and successful; with `failures`, as if every run failed.

    Slots in a maintenance window that skips runs are left out; the next run names the window.
    """
    return list(islice(upcoming(endpoint, now, cron, failures, windows), count))


def upcoming(
    endpoint: Endpoint,
    now: datetime,
    cron: CronReader,
    failures: int | None = None,
    windows: Sequence[MaintenanceWindow] = (),
) -> Iterator[Decision]:
    """The runs of a preview, one by one; without an end if its schedule has none."""
    state = endpoint
    if state.is_open:  # as if its run ended now
        state = replan(replace(state, slot_at=None, claimed_by="", waiting=None), now, cron)
    if failures is not None:
        state = replan(replace(state, failure_count=failures, anchor_at=max(state.anchor_at, now)), now, cron)
    elif state.next_run_at is None:
        state = replan(replace(state, anchor_at=now), now, cron)
    skipping = _SkippingWindows(endpoint, windows, cron)
    while endpoint.can_run and skipping.looks < LOOKS_MAX:
        state = _after_hints_that_expire_before_it(state, cron)
        if state.next_run_at is None or state.next_run_at >= FOREVER:
            break
        at = max(state.next_run_at, now)
        if (window := skipping.at(at)) is not None:
            state = skip_slot(replace(state, next_run_at=at), window, cron)
            continue
        yield Decision(at, state.source, decode_trail(state.trail))
        state = _after_run(state, at, 0 if failures is None else state.failure_count + 1, cron)


class _SkippingWindows:
    """The windows that skip runs of an endpoint, asked for later and later times: each opening is read once."""

    def __init__(self, endpoint: Endpoint, windows: Sequence[MaintenanceWindow], cron: CronReader) -> None:
        self._endpoint = endpoint
        self._windows = [each for each in windows if each.runs is DuringMaintenance.SKIP]
        self._spans: dict[str, WindowSpan | None] = {}
        self._cron = cron
        self.looks = 0

    def at(self, at: datetime) -> WindowSpan | None:
        return skipping_at([span for each in self._windows if (span := self._span(each, at))], self._endpoint, at)

    def _span(self, window: MaintenanceWindow, at: datetime) -> WindowSpan | None:
        """The time that a window is open, or opens next."""
        span = self._spans.get(window.id)
        if window.id not in self._spans or (span is not None and span.until_at <= at):
            span = self._spans[window.id] = current_or_next(window, at, self._cron)
            self.looks += 1
        return span


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
