"""Decide when an endpoint runs next. Pure: same arguments, same answer, bit for bit.

1. baseline: the next cron occurrence, or `now` + interval with backoff and jitter, on a day that its calendars allow
2. a fresh interval hint replaces the baseline; a fresh one-shot hint competes with it
3. a choice in the past is floored to `now`; a target's Retry-After holds the choice back
4. limits move the choice into [now + min, now + max]
5. a choice on a day that the calendars exclude moves to the next day that they allow
6. the grace of an endpoint that waits for pings is added: it is judged then
7. pause wins over everything, last; its end on an excluded day moves as well

The trail keeps every candidate, what it would have been and why it won or lost. It never reads a clock, draws a
random number or logs: jitter comes from a hash of the endpoint, the slot and a salt.
"""

from datetime import datetime
from hashlib import sha256
from typing import Protocol

import msgspec
from msgspec import Struct

from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import BackoffPolicy, Endpoint
from mainspring.domain.instant import FOREVER, after_ms, rfc3339, to_us
from mainspring.domain.schedule.hint import HINT_INTERVAL_MS_MAX, HINT_INTERVAL_MS_MIN, author_in_words
from mainspring.domain.schedule.open_days import excluded_words, is_open_at, next_open_time, next_slot

BACKOFF_DOUBLINGS_MAX = 5  # 2^5 = 32 times the interval
MONITOR_CAP_MS = 3_600_000
MONITOR_DELAY_MS_MIN = 5_000

BASELINE_CRON = "baseline-cron"
BASELINE_INTERVAL = "baseline-interval"
AI_INTERVAL = "ai-interval"
AI_ONE_SHOT = "ai-oneshot"
CLAMPED_MIN = "clamped-min"
CLAMPED_MAX = "clamped-max"
PAUSED = "paused"
GRACE = "grace"
CALENDAR = "calendar"
ONCE = "once"  # the baseline of an endpoint with a single run
SOURCES = (BASELINE_CRON, BASELINE_INTERVAL, AI_INTERVAL, AI_ONE_SHOT, CLAMPED_MIN, CLAMPED_MAX, PAUSED)


class DecisionStep(Struct, frozen=True):
    """One candidate or rule of a decision: what it asked for, whether it won, and why."""

    rule: str
    at: datetime | None
    verdict: str  # won | lost | ignored | moved
    why: str


class Decision(Struct, frozen=True):
    next_run_at: datetime
    source: str
    trail: tuple[DecisionStep, ...]


class CronReader(Protocol):
    def next_after(self, expression: str, timezone: str, after: datetime, endpoint_id: str) -> datetime:
        """The first occurrence strictly after `after`, as an aware UTC datetime."""


def plan_next_run(now: datetime, endpoint: Endpoint, cron: CronReader) -> Decision:
    if endpoint.paused_until is not None and endpoint.paused_until > now:
        return _paused(now, endpoint, cron)
    source, at, steps = _choose(now, endpoint, cron)
    at = _held_back(now, endpoint, at, steps)
    source, at = _limited(now, endpoint, source, at, steps)
    at = _allowed(endpoint, source, at, cron, steps)
    if grace_ms := endpoint.action.judged_after_ms:
        at = after_ms(at, grace_ms)
        steps.append(DecisionStep(GRACE, at, "moved", f"a ping is in time up to {format_duration(grace_ms)} later"))
    return Decision(at, source, tuple(steps))


def intended_interval_ms(endpoint: Endpoint, now: datetime) -> tuple[int, str]:
    """The interval after backoff and jitter, and its explanation."""
    assert endpoint.interval_ms is not None
    failures = 0 if endpoint.action.is_expected else max(0, endpoint.failure_count)  # silence must not buy time
    if endpoint.backoff is BackoffPolicy.MONITOR:
        cap = max(endpoint.interval_ms, MONITOR_CAP_MS)
        target = min(endpoint.interval_ms << min(failures, 64), cap)
        reach = max(1, (target + 5) // 10)  # 10 %, rounded half up, in whole numbers
        delay = max(MONITOR_DELAY_MS_MIN, target + _jitter_ms(endpoint.id, now, "monitor", reach))
        return delay, f"{format_duration(endpoint.interval_ms)} with jitter and monitor backoff{_after(failures)}"
    factor = 1 if endpoint.backoff is BackoffPolicy.NONE else 1 << min(failures, BACKOFF_DOUBLINGS_MAX)
    delay = endpoint.interval_ms * factor
    if endpoint.jitter_ms:
        delay = max(1, delay + _jitter_ms(endpoint.id, now, "interval", endpoint.jitter_ms))
    text = f"every {format_duration(endpoint.interval_ms)}"
    return delay, text if factor == 1 else f"{text}, times {factor}{_after(failures)}"


def encode_trail(steps: tuple[DecisionStep, ...]) -> str:
    return msgspec.json.encode(steps).decode()


def decode_trail(text: str) -> tuple[DecisionStep, ...]:
    return msgspec.json.decode(text, type=tuple[DecisionStep, ...])


def _choose(now: datetime, endpoint: Endpoint, cron: CronReader) -> tuple[str, datetime, list[DecisionStep]]:
    """The winner among baseline and valid hints, floored to `now`, with every candidate's step."""
    interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
    steps: list[DecisionStep] = []
    baseline, baseline_at, baseline_why = _baseline(now, endpoint, cron, steps)
    if interval is not None and not interval.is_fresh(now):
        steps.append(
            DecisionStep(AI_INTERVAL, None, "ignored", f"the interval hint expired {rfc3339(interval.expires_at)}")
        )
        interval = None
    if interval is not None and not HINT_INTERVAL_MS_MIN <= interval.interval_ms <= HINT_INTERVAL_MS_MAX:
        steps.append(DecisionStep(AI_INTERVAL, None, "ignored", f"{interval.interval_ms} ms is out of a hint's bounds"))
        interval = None
    if interval is not None and endpoint.once_at is not None:
        steps.append(DecisionStep(AI_INTERVAL, None, "ignored", "an endpoint that runs once has no interval"))
        interval = None
    if one_shot is not None and not one_shot.is_fresh(now):
        steps.append(
            DecisionStep(AI_ONE_SHOT, None, "ignored", f"the one-shot hint expired {rfc3339(one_shot.expires_at)}")
        )
        one_shot = None
    if interval is None and one_shot is None:
        steps.insert(0, DecisionStep(baseline, baseline_at, "won", baseline_why))
        return baseline, baseline_at, steps
    if one_shot is None:
        assert interval is not None
        at = _hinted_at(endpoint, after_ms(now, interval.interval_ms), interval.interval_ms)
        steps.insert(
            0, DecisionStep(baseline, baseline_at, "lost", f"{baseline_why}; an interval hint replaces the baseline")
        )
        steps.append(
            DecisionStep(AI_INTERVAL, at, "won", _asked(f"every {format_duration(interval.interval_ms)}", interval))
        )
        return AI_INTERVAL, at, steps
    one_shot_at = _hinted_at(endpoint, max(one_shot.next_run_at, now))
    asked_once = _asked(f"once at {rfc3339(one_shot.next_run_at)}", one_shot)
    if interval is None:
        won = one_shot_at < baseline_at  # a tie goes to the baseline
        steps.insert(0, DecisionStep(baseline, baseline_at, "lost" if won else "won", baseline_why))
        steps.append(DecisionStep(AI_ONE_SHOT, one_shot_at, "won" if won else "lost", asked_once))
        return (AI_ONE_SHOT, one_shot_at, steps) if won else (baseline, baseline_at, steps)
    interval_at = _hinted_at(endpoint, after_ms(now, interval.interval_ms), interval.interval_ms)
    won = one_shot_at < interval_at  # a tie goes to the interval hint
    steps.insert(
        0, DecisionStep(baseline, baseline_at, "lost", f"{baseline_why}; with two hints the baseline is ignored")
    )
    asked_every = _asked(f"every {format_duration(interval.interval_ms)}", interval)
    steps.append(DecisionStep(AI_INTERVAL, interval_at, "lost" if won else "won", asked_every))
    steps.append(DecisionStep(AI_ONE_SHOT, one_shot_at, "won" if won else "lost", asked_once))
    return (AI_ONE_SHOT, one_shot_at, steps) if won else (AI_INTERVAL, interval_at, steps)


def _baseline(
    now: datetime, endpoint: Endpoint, cron: CronReader, steps: list[DecisionStep]
) -> tuple[str, datetime, str]:
    if endpoint.cron is None:
        if endpoint.interval_ms is None:
            return _once(now, endpoint)
        delay_ms, why = intended_interval_ms(endpoint, now)
        at = after_ms(now, delay_ms)
        return BASELINE_INTERVAL, _allowed(endpoint, BASELINE_INTERVAL, at, cron, steps), why
    at = cron.next_after(endpoint.cron, endpoint.timezone, now, endpoint.id)
    if endpoint.days:
        at = _slot_of_cron(now, endpoint, at, cron, steps)
    if endpoint.jitter_ms:  # a cron must not run before its time, so its jitter only delays
        later = after_ms(at, endpoint.jitter_ms // 2 + _jitter_ms(endpoint.id, at, "cron", endpoint.jitter_ms // 2))
        at = later if is_open_at(endpoint, later) else at  # and must not move to an excluded day
    return BASELINE_CRON, at, f"cron {endpoint.cron} in {endpoint.timezone}"


def _slot_of_cron(
    now: datetime, endpoint: Endpoint, unlimited_at: datetime, cron: CronReader, steps: list[DecisionStep]
) -> datetime:
    """The next time of a cron with calendars; `unlimited_at` is the one without them."""
    at = next_slot(endpoint, now, cron)
    if not is_open_at(endpoint, unlimited_at):
        steps.append(DecisionStep(CALENDAR, at, "moved", excluded_words(endpoint, unlimited_at)))
    elif at != unlimited_at:
        steps.append(DecisionStep(CALENDAR, at, "moved", f"a run of an excluded day, by shift {endpoint.shift}"))
    return at


def _hinted_at(endpoint: Endpoint, at: datetime, every_ms: int | None = None) -> datetime:
    """Calendars beat hints."""
    return next_open_time(endpoint, at, every_ms) if endpoint.days else at


def _allowed(endpoint: Endpoint, source: str, at: datetime, cron: CronReader, steps: list[DecisionStep]) -> datetime:
    """The time itself, or the first one after it on an allowed day."""
    if is_open_at(endpoint, at):
        return at
    if endpoint.cron is not None and source not in (AI_INTERVAL, AI_ONE_SHOT):
        later = next_slot(endpoint, at, cron)
    else:
        later = next_open_time(endpoint, at, endpoint.interval_ms)
    steps.append(DecisionStep(CALENDAR, later, "moved", excluded_words(endpoint, at)))
    return later


def _once(now: datetime, endpoint: Endpoint) -> tuple[str, datetime, str]:
    """The single run, or no run after it."""
    assert endpoint.once_at is not None
    if now < endpoint.once_at:
        return ONCE, endpoint.once_at, f"once at {rfc3339(endpoint.once_at)}"
    return ONCE, FOREVER, f"its single run was at {rfc3339(endpoint.once_at)}"


def _held_back(now: datetime, endpoint: Endpoint, at: datetime, steps: list[DecisionStep]) -> datetime:
    if endpoint.not_before is None or endpoint.not_before <= now or endpoint.not_before <= at:
        return at
    steps.append(DecisionStep("retry-after", endpoint.not_before, "moved", "the target asked not to be called before"))
    return endpoint.not_before


def _limited(
    now: datetime, endpoint: Endpoint, source: str, at: datetime, steps: list[DecisionStep]
) -> tuple[str, datetime]:
    if endpoint.min_interval_ms and at < (earliest := after_ms(now, endpoint.min_interval_ms)):
        steps.append(
            DecisionStep(CLAMPED_MIN, earliest, "moved", f"at least {format_duration(endpoint.min_interval_ms)} apart")
        )
        source, at = CLAMPED_MIN, earliest
    if endpoint.max_interval_ms and at > (latest := after_ms(now, endpoint.max_interval_ms)):
        steps.append(
            DecisionStep(CLAMPED_MAX, latest, "moved", f"at most {format_duration(endpoint.max_interval_ms)} apart")
        )
        source, at = CLAMPED_MAX, latest
    return source, at


def _paused(now: datetime, endpoint: Endpoint, cron: CronReader) -> Decision:
    assert endpoint.paused_until is not None
    source, at, steps = _choose(now, endpoint, cron)
    at = _held_back(now, endpoint, at, steps)
    _limited(now, endpoint, source, at, steps)
    until = _allowed(endpoint, source, endpoint.paused_until, cron, steps)
    if endpoint.once_at is not None:  # the end of a pause is not a time of its schedule
        until = max(until, at)
    why = "pause wins over everything" + (f": {endpoint.pause_reason}" if endpoint.pause_reason else "")
    lost = [msgspec.structs.replace(step, verdict="lost") if step.verdict == "won" else step for step in steps]
    return Decision(until, PAUSED, (*lost, DecisionStep(PAUSED, until, "won", why)))


def _jitter_ms(endpoint_id: str, slot: datetime, salt: str, reach_ms: int) -> int:
    """A whole number in [-reach, +reach], both included: uniform over endpoints, always the same for one slot."""
    digest = sha256(f"{endpoint_id}|{to_us(slot)}|{salt}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (2 * reach_ms + 1) - reach_ms


def _after(failures: int) -> str:
    if failures == 0:
        return ""
    return f" after the last {'run' if failures == 1 else f'{failures} runs'} failed"


class _Authored(Protocol):
    @property
    def author(self) -> str: ...
    @property
    def reason(self) -> str: ...


def _asked(what: str, hint: _Authored) -> str:
    return f"{author_in_words(hint.author)} asked for {what}" + (f": {hint.reason}" if hint.reason else "")
