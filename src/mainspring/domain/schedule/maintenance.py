"""Maintenance windows: when they are open, and what they do to the runs of an endpoint. Pure.

A window opens by a cron expression for a duration, or once from a start to an end. It applies to one endpoint, to the
endpoints of a job, or to all. While it is open, runs continue or are skipped, as its owner chose; failures are not
counted, and alerts are silent. A skipped slot is not made up for: the schedule continues with its first slot after the
window.

Windows are data. Callers pass the relevant occurrences, so a tenant without windows pays nothing. A requested run is
never skipped, because a person requested it.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.config_field import About, describe
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.instant import FOREVER, after_ms, parse_rfc3339, rfc3339
from mainspring.domain.name import check_name
from mainspring.domain.schedule.cron import check_cron, check_timezone, next_after
from mainspring.domain.schedule.governor import (
    AI_INTERVAL,
    AI_ONE_SHOT,
    BASELINE_INTERVAL,
    CronReader,
    DecisionStep,
    decode_trail,
    encode_trail,
    intended_interval_ms,
    plan_next_run,
)
from mainspring.domain.schedule.open_days import next_open_time

KIND = "maintenance window"
MAINTENANCE = "maintenance"  # the rule in a trail
DURATION_MS_MIN = 60_000
DURATION_MS_MAX = 31 * 86_400_000
DESCRIPTION_MAX = 1_000
STARTS_CHECKED = 50  # of a cron, when its duration is checked
OCCURRENCES_MAX = 1_000  # looked at in one question; a window is at least a minute long
NEAR = timedelta(hours=1)
_TICK = timedelta(microseconds=1)


class DuringMaintenance(StrEnum):
    CONTINUE = "continue"
    SKIP = "skip"


class MaintenanceDraft(Struct, frozen=True):
    """The configuration of a window: the one place that lists its fields. Interfaces and reference pages follow."""

    name: Annotated[str, About("Name, unique in the tenant.", examples=("patch-night",))]
    cron: Annotated[str, About("Cron expression of its starts; needs duration.", examples=("0 2 * * SUN",))] = ""
    duration_ms: Annotated[
        int | None,
        About(
            "How long the window stays open after each start of cron.",
            least=DURATION_MS_MIN,
            most=DURATION_MS_MAX,
            examples=("2h",),
        ),
    ] = None
    timezone: Annotated[str, About("Time zone of cron.", examples=("Europe/Berlin",))] = "UTC"
    start: Annotated[
        str, About("Start of a window that opens once; needs end, replaces cron.", examples=("2030-01-31T22:00:00Z",))
    ] = ""
    end: Annotated[str, About("End of a window that opens once.", examples=("2030-02-01T02:00:00Z",))] = ""
    endpoint: Annotated[str, About("Only this endpoint, by name or id. Empty: all.")] = ""
    job: Annotated[str, About("Only the endpoints of this job, by name or id. Empty: all.")] = ""
    runs: Annotated[
        DuringMaintenance, About("Whether runs of the schedule continue while the window is open, or are skipped.")
    ] = DuringMaintenance.SKIP
    description: Annotated[str, About("What the window is for.", most=DESCRIPTION_MAX)] = ""


MAINTENANCE_FIELDS = describe(MaintenanceDraft)


class MaintenanceWindow(Struct, frozen=True):
    """Either `cron` with a duration, or `starts_at` and `ends_at`."""

    id: str
    tenant_id: str
    name: str
    cron: str
    duration_ms: int | None
    timezone: str
    starts_at: datetime | None
    ends_at: datetime | None
    endpoint_id: str
    job_id: str
    runs: DuringMaintenance
    description: str
    version: int
    created_at: datetime
    updated_at: datetime
    managed_by: str = ""  # the document source that describes it; "": managed by people


class WindowSpan(Struct, frozen=True):
    """One time that a window is open: from `from_at`, included, to `until_at`, excluded."""

    window_id: str
    name: str
    endpoint_id: str
    job_id: str
    runs: DuringMaintenance
    from_at: datetime
    until_at: datetime

    def concerns(self, endpoint_id: str, job_id: str) -> bool:
        if self.endpoint_id:
            return self.endpoint_id == endpoint_id
        return not self.job_id or self.job_id == job_id


def check_window(draft: MaintenanceDraft, window_id: str, tenant_id: str, now: datetime) -> MaintenanceWindow:
    """The window of a draft, without its subject; InvalidInput names the field that is wrong."""
    fields = {field.key: field for field in MAINTENANCE_FIELDS}
    name = check_name(draft.name, field="name", kind=KIND)
    check_timezone(draft.timezone)
    if draft.endpoint and draft.job:
        raise InvalidInput(
            "both endpoint and job were given; a window is about one of them, or about all: give one or none",
            field="endpoint",
        )
    is_once = bool(draft.start or draft.end)
    if is_once == bool(draft.cron):
        raise InvalidInput(
            f"{'both cron and start or end' if is_once else 'neither cron nor start'} were given; a window opens by "
            "cron and duration, or once from start to end: give one of the two",
            field="cron",
        )
    if is_once and not (draft.start and draft.end):
        given, missing = ("start", "end") if draft.start else ("end", "start")
        raise InvalidInput(
            f"{given} was given without {missing}; a window that opens once has both: give {missing}, such as "
            "2030-01-31T08:00:00Z",
            field=missing,
        )
    starts_at = parse_rfc3339(draft.start, field="start") if is_once else None
    ends_at = parse_rfc3339(draft.end, field="end") if is_once else None
    if starts_at is not None and ends_at is not None:
        _check_span(starts_at, ends_at)
    duration_ms = None if is_once else fields["duration"].checked(draft.duration_ms)
    if not is_once:
        _check_starts(draft, duration_ms, window_id, now)
    return MaintenanceWindow(
        window_id, tenant_id, name, draft.cron, duration_ms, draft.timezone, starts_at, ends_at, "", "",
        fields["runs"].checked(draft.runs), fields["description"].checked(draft.description), 1, now, now,
    )  # fmt: skip


def draft_of(window: MaintenanceWindow) -> MaintenanceDraft:
    """With ids as the subject."""
    return MaintenanceDraft(
        window.name,
        window.cron,
        window.duration_ms,
        window.timezone,
        rfc3339(window.starts_at) if window.starts_at else "",
        rfc3339(window.ends_at) if window.ends_at else "",
        window.endpoint_id,
        window.job_id,
        window.runs,
        window.description,
    )


def edited_draft(draft: MaintenanceDraft, given: dict[str, object]) -> MaintenanceDraft:
    """The draft with values by name. A new cron replaces start and end, and the other way around."""
    if given.get("cron"):
        given = {"start": "", "end": ""} | given
    elif given.get("start") or given.get("end"):
        given = {"cron": "", "duration_ms": None} | given
    return replace(draft, **given)


def occurrences(window: MaintenanceWindow, since: datetime, until: datetime, cron: CronReader) -> list[WindowSpan]:
    """When the window is open between two times, both included; oldest first, at most OCCURRENCES_MAX."""
    if window.starts_at is not None and window.ends_at is not None:
        is_between = window.starts_at <= until and window.ends_at > since
        return [_occurrence(window, window.starts_at, window.ends_at)] if is_between else []
    assert window.duration_ms is not None
    found: list[WindowSpan] = []
    at = since - timedelta(milliseconds=window.duration_ms)
    while len(found) < OCCURRENCES_MAX:
        at = cron.next_after(window.cron, window.timezone, at, window.id)
        if at > until or at >= FOREVER:
            break
        found.append(_occurrence(window, at, after_ms(at, window.duration_ms)))
    return found


def last_occurrences(window: MaintenanceWindow, since: datetime, until: datetime, cron: CronReader) -> list[WindowSpan]:
    """When the window was open in the last hour between two times; if it was not, the last time before, if any.

    A run is judged by the occurrence that ends last. One that took days must not cost a step for each occurrence, so
    the last one is found by halving the time.
    """
    near = max(since, until - NEAR)
    found = occurrences(window, near, until, cron)
    if found or near == since or window.duration_ms is None:
        return found
    low, high = since - timedelta(milliseconds=window.duration_ms), near
    last: datetime | None = None
    while (at := cron.next_after(window.cron, window.timezone, low, window.id)) <= high:
        last = low = at
        middle = low + (high - low) / 2
        later = cron.next_after(window.cron, window.timezone, middle, window.id)
        if later <= high:
            last = low = later
        else:
            high = middle
    return [] if last is None else [_occurrence(window, last, after_ms(last, window.duration_ms))]


def current_or_next(window: MaintenanceWindow, now: datetime, cron: CronReader) -> WindowSpan | None:
    """The time that the window is open, or opens next; None if it never opens again."""
    for occurrence in occurrences(window, now, now, cron):
        return occurrence
    if window.starts_at is not None and window.ends_at is not None:
        return _occurrence(window, window.starts_at, window.ends_at) if window.starts_at > now else None
    assert window.duration_ms is not None
    at = cron.next_after(window.cron, window.timezone, now, window.id)
    return None if at >= FOREVER else _occurrence(window, at, after_ms(at, window.duration_ms))


def open_during(
    found: Iterable[WindowSpan], endpoint_id: str, job_id: str, since: datetime, until: datetime
) -> WindowSpan | None:
    """The window of an endpoint that was open at any time between two times; of several, the one that ends last."""
    open_ = [
        each for each in found if each.from_at <= until and each.until_at > since and each.concerns(endpoint_id, job_id)
    ]
    return max(open_, key=lambda each: each.until_at, default=None)


def skipping_at(found: Iterable[WindowSpan], endpoint: Endpoint, at: datetime) -> WindowSpan | None:
    """The window in which a run of the schedule is skipped at a time."""
    skipping = (each for each in found if each.runs is DuringMaintenance.SKIP)
    return open_during(skipping, endpoint.id, endpoint.job_id, at, at)


def skip_slot(endpoint: Endpoint, window: WindowSpan, cron: CronReader) -> Endpoint:
    """Moves the next run to the first slot after the window. The schedule keeps its grid, so the load stays spread.

    A time without a grid, such as that of a one-shot hint, moves to the end of the window.
    """
    slot_at, until = endpoint.next_run_at, window.until_at
    assert slot_at is not None
    step = _step(endpoint, slot_at)
    if endpoint.cron is not None and endpoint.source not in (AI_INTERVAL, AI_ONE_SHOT):
        at = plan_next_run(until - _TICK, _plain(endpoint), cron).next_run_at
    elif endpoint.action.is_expected and step:  # its sender may have been down too
        at = plan_next_run(until, _plain(endpoint), cron).next_run_at
    elif step:
        at = slot_at + step * max(0, -((slot_at - until) // step))
    else:
        at = until
    if endpoint.days and not endpoint.action.is_expected:
        at = next_open_time(endpoint, at, step // timedelta(milliseconds=1))
    return hold_slot(endpoint, window, at)


def hold_slot(endpoint: Endpoint, window: WindowSpan, at: datetime) -> Endpoint:
    """Plans the next run at this time because of a window."""
    why = f"the maintenance window {window.name!r} skips runs until {rfc3339(window.until_at)}"
    steps = [step for step in decode_trail(endpoint.trail) if step.rule != MAINTENANCE]
    trail = encode_trail((*steps, DecisionStep(MAINTENANCE, at, "moved", why)))
    return replace(endpoint, next_run_at=at, trail=trail)


def is_held(endpoint: Endpoint) -> bool:
    """Whether a window moved the next run."""
    return any(step.rule == MAINTENANCE for step in decode_trail(endpoint.trail))


def named_twice(window: MaintenanceWindow) -> Conflict:
    return Conflict(
        f"another {KIND} is named {window.name!r} already; names are unique, choose another",
        kind=KIND,
        name=window.name,
    )


def _occurrence(window: MaintenanceWindow, from_at: datetime, until_at: datetime) -> WindowSpan:
    return WindowSpan(window.id, window.name, window.endpoint_id, window.job_id, window.runs, from_at, until_at)


def _plain(endpoint: Endpoint) -> Endpoint:
    """Without everything that moves a run off its cron."""
    return replace(
        endpoint,
        min_interval_ms=None,
        max_interval_ms=None,
        not_before=None,
        paused_until=None,
        interval_hint=None,
        one_shot_hint=None,
    )


def _step(endpoint: Endpoint, slot_at: datetime) -> timedelta:
    """The distance between the slots of an interval; zero if the plan was a single time."""
    if endpoint.source == BASELINE_INTERVAL:
        return timedelta(milliseconds=intended_interval_ms(endpoint, slot_at)[0])
    if endpoint.source == AI_INTERVAL and endpoint.interval_hint is not None:
        return timedelta(milliseconds=endpoint.interval_hint.interval_ms)
    return timedelta(0)


def _check_span(starts_at: datetime, ends_at: datetime) -> None:
    span = ends_at - starts_at
    least, most = timedelta(milliseconds=DURATION_MS_MIN), timedelta(milliseconds=DURATION_MS_MAX)
    if not least <= span <= most:
        raise InvalidInput(
            f"end {rfc3339(ends_at)} is not {format_duration(DURATION_MS_MIN)} to {format_duration(DURATION_MS_MAX)} "
            f"after start {rfc3339(starts_at)}; give another end",
            field="end",
            value=rfc3339(ends_at),
        )


def _check_starts(draft: MaintenanceDraft, duration_ms: int | None, window_id: str, now: datetime) -> None:
    """The window must close before it opens again: one that is always open would stop its endpoints for good."""
    check_cron(draft.cron, draft.timezone, allow_seconds=False)
    if duration_ms is None:
        raise InvalidInput(
            "cron was given without duration; a window stays open for a duration: give one such as 2h",
            field="duration",
        )
    at = next_after(draft.cron, draft.timezone, now, window_id)
    for _ in range(STARTS_CHECKED):
        following = next_after(draft.cron, draft.timezone, at, window_id)
        if following >= FOREVER:
            return
        if following <= after_ms(at, duration_ms):
            raise InvalidInput(
                f"duration {format_duration(duration_ms)} reaches from the start {rfc3339(at)} to the next one "
                f"{rfc3339(following)}; a window must close before it opens again: shorten it",
                field="duration",
                value=duration_ms,
            )
        at = following
