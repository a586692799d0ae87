"""Timestamps, durations, hints and decisions in words: the same sentences in all interfaces.

Nothing here reads a clock: every function takes the time as `now`.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from mainspring.domain.duration import format_duration
from mainspring.domain.instant import FOREVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mainspring.domain.endpoint import Endpoint
    from mainspring.domain.schedule.callback_wait import CallbackWait
    from mainspring.domain.schedule.governor import DecisionStep
    from mainspring.domain.schedule.queue import QueueWait
    from mainspring.views.endpoint import EndpointView
    from mainspring.views.run import CallbackView, DecisionStepView

MASK = "••••"  # in place of a secret
RULES = {
    "baseline-cron": "The cron schedule",
    "baseline-interval": "The interval",
    "once": "The single run",
    "ai-interval": "The interval hint",
    "ai-oneshot": "The one-shot hint",
    "clamped-min": "The minimum interval",
    "grace": "The grace for pings",
    "clamped-max": "The maximum interval",
    "paused": "The pause",
    "retry": "The retry",
    "retry-after": "The target's Retry-After",
    "callback": "The deadline of the callback",
    "overdue": "The rule for overdue runs",
    "maintenance": "A maintenance window",
    "calendar": "The calendar",
    "faulty": "The rule for internal errors",
}


def step_sentence(
    step: "DecisionStep | DecisionStepView", steps: "Sequence[DecisionStep] | Sequence[DecisionStepView]"
) -> str:
    """One candidate or rule of a decision, as a complete sentence."""
    who = RULES.get(step.rule, step.rule)
    at = clock(step.at) if step.at is not None else "no time"
    if step.at is not None and step.at >= FOREVER:
        at = "no end" if step.verdict == "moved" else "no further run"
    winner = next((each for each in steps if each.verdict == "won"), None)
    if step.verdict == "won":
        return f"{who} asked for {at} and won: {step.why}."
    if step.verdict == "lost" and winner is not None:
        return f"{who} asked for {at} and lost to {rule_in_words(winner.rule)}: {step.why}."
    if step.verdict == "ignored":
        return f"{who} was ignored: {step.why}."
    if step.verdict == "moved":
        return f"{who} moved the run to {at}: {step.why}."
    return f"{who} asked for {at} and {step.verdict}: {step.why}."


def source_in_words(endpoint: "Endpoint | EndpointView") -> str:
    """`the interval hint of rule night`: what set the next run, and for a hint, who wrote it."""
    from mainspring.domain.schedule.governor import AI_INTERVAL, AI_ONE_SHOT
    from mainspring.domain.schedule.hint import author_in_words

    hint = {AI_INTERVAL: endpoint.interval_hint, AI_ONE_SHOT: endpoint.one_shot_hint}.get(endpoint.source)
    return rule_in_words(endpoint.source) + (f" of {author_in_words(hint.author)}" if hint is not None else "")


def rule_in_words(rule: str) -> str:
    """`the interval hint`: a rule or a source within a sentence."""
    words = RULES.get(rule, rule)
    return f"{words[0].lower()}{words[1:]}"


def wait_sentence(wait: "QueueWait", now: datetime, due_at: datetime | None) -> str:
    """`It is due since ... and waits for host gateway:80, which has 50 of 50 runs in flight, with 811 others.`"""
    others = wait.waiting - 1
    beside = f", with {others:,} other endpoint{'' if others == 1 else 's'}" if others else ""
    return f"It has been due since {when(now, due_at)} and waits {awaited(wait)}{beside}."


def awaited(wait: "QueueWait") -> str:
    """`for host gateway:80, which has 50 of 50 runs in flight`"""
    from mainspring.domain.schedule.queue import Cause

    full = f"{wait.in_flight:,} of {wait.limit} runs in flight"
    match wait.cause:
        case Cause.SCHEDULER:
            return "for a scheduler: none is running"
        case Cause.HOST:
            return f"for host {wait.name}, which has {full}"
        case Cause.RATE:
            return f"for host {wait.name}, which is limited to {wait.limit}"
        case Cause.TENANT:
            return f"for tenant {wait.name}, which has {full}"
        case Cause.SLOW_OF_TENANT | Cause.NEW_OF_TENANT:
            return f"for tenant {wait.name}, which has {full} that are not quick"
        case Cause.SLOW:
            return f"for a place for a slow run: {full} that are not quick"
        case Cause.NEW:
            return f"for a place for its first run: {full} that are not quick"
        case Cause.PLACES:
            return f"for a place: {full}"


def wait_advice(wait: "QueueWait") -> str:
    """Which setting to change, and to what."""
    from mainspring.domain.schedule.queue import Cause

    match wait.cause:
        case Cause.SCHEDULER:
            return "Start a scheduler: mainspring serve."
        case Cause.HOST if wait.setting == "MAINSPRING_HOST_LIMITS":
            return f"To start more at once, raise the limit of {wait.name} in MAINSPRING_HOST_LIMITS."
        case Cause.HOST:
            twice = 2 * int(wait.limit)
            own = f"MAINSPRING_HOST_LIMITS='{wait.name} = {twice}'"
            return f"To start more at once, set {own}, or raise MAINSPRING_CONCURRENCY_PER_HOST for all hosts."
        case Cause.RATE:
            return f"To start them sooner, raise the rate of {wait.name} in MAINSPRING_HOST_LIMITS."
        case Cause.TENANT | Cause.SLOW_OF_TENANT | Cause.NEW_OF_TENANT:
            return f"To start more at once, raise {wait.setting}."
        case Cause.SLOW | Cause.NEW:
            return (
                "Runs that take 2 s or longer, and first runs of endpoints, may take only a part of the places, so "
                "that quick ones find one. To start more at once, lower timeouts, raise MAINSPRING_CONCURRENCY, or on "
                "PostgreSQL start another scheduler."
            )
        case Cause.PLACES:
            return "To start more at once, raise MAINSPRING_CONCURRENCY, or on PostgreSQL start another scheduler."


def waiting_in_words(waiting: "CallbackWait | CallbackView", now: datetime) -> str:
    """`waiting for its callback since ..., deadline ..., 40 %: copying tables`"""
    text = f"waiting for its callback since {when(now, waiting.since_at)}, deadline {when(now, waiting.until_at)}"
    if waiting.percent is not None:
        text = f"{text}, {waiting.percent} %"
    return f"{text}: {waiting.text}" if waiting.text else text


def hints_in_words(endpoint: "Endpoint | EndpointView", now: datetime) -> list[tuple[str, str]]:
    from mainspring.domain.schedule.hint import author_in_words

    fields: list[tuple[str, str]] = []
    if (hint := endpoint.interval_hint) is not None:
        what = f"every {format_duration(hint.interval_ms)} until {when(now, hint.expires_at)}"
        reason = f": {hint.reason}" if hint.reason else ""
        fields.append(("interval hint", f"{what}, by {author_in_words(hint.author)}{reason}"))
    if (once := endpoint.one_shot_hint) is not None:
        what = f"once at {when(now, once.next_run_at)}, valid until {clock(once.expires_at)}"
        reason = f": {once.reason}" if once.reason else ""
        fields.append(("one-shot hint", f"{what}, by {author_in_words(once.author)}{reason}"))
    return fields


def clock(at: datetime | None, none: str = "-") -> str:
    """`2025-01-01 12:00:00 UTC`, with milliseconds if they are not zero."""
    if at is None:
        return none
    if at >= FOREVER:
        return "never"
    text = at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00").removesuffix(".000")
    return f"{text} UTC"


def relative(now: datetime, at: datetime | None, none: str = "-") -> str:
    """`in 23s`, `5m10s ago`: rounded, for reading."""
    if at is None:
        return none
    if at >= FOREVER:
        return "never"
    distance = at - now
    span = span_in_words(abs(distance))
    if span == "0s":
        return "now"
    return f"in {span}" if distance > timedelta(0) else f"{span} ago"


def when(now: datetime, at: datetime | None, none: str = "-") -> str:
    """Both: `2025-01-01 12:00:00 UTC (in 23s)`."""
    if at is None or at >= FOREVER:
        return clock(at, none)
    return f"{clock(at)} ({relative(now, at)})"


def span_in_words(span: timedelta) -> str:
    """At most two units: `850ms`, `23s`, `5m10s`, `3d4h`."""
    ms = span // timedelta(milliseconds=1)
    for unit_ms, below_ms in ((1_000, 3_600_000), (60_000, 86_400_000), (3_600_000, 1 << 62)):
        if ms < 1_000:
            return format_duration(ms)
        if ms < below_ms:
            return format_duration(ms // unit_ms * unit_ms)
    raise AssertionError("the last bound is beyond every timedelta")


def took(ms: int | None) -> str:
    return "-" if ms is None else format_duration(ms) if ms else "<1ms"
