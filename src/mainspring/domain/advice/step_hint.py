"""Apply the hint of a workflow's `hint` step to an endpoint, within the limits of all advice. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

from mainspring.domain.advice.authority import advise_clear, advise_interval, advise_one_shot
from mainspring.domain.duration import format_duration
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.hint import (
    INTERVAL_TTL_DEFAULT,
    ONE_SHOT_TTL_DEFAULT,
    make_interval_hint,
    make_one_shot_hint,
)


def apply_step(
    wanted: Mapping[str, object], endpoint: Endpoint, now: datetime, author: str, cron: CronReader
) -> Change:
    """The endpoint after the step's hint. Raises AdviceRefused if a person decided otherwise."""
    reason = reason_of(wanted)
    if wanted.get("clear"):
        return advise_clear(endpoint, now, author, cron)
    if (interval_ms := cast("int | None", wanted.get("interval_ms"))) is not None:
        hint = make_interval_hint(now, interval_ms, ttl_of(wanted), reason, author)
        return advise_interval(endpoint, hint, now, cron)
    at = now + timedelta(milliseconds=cast(int, wanted.get("after_ms") or 0))
    return advise_one_shot(endpoint, make_one_shot_hint(now, at, ttl_of(wanted), reason, author), now, cron)


def step_in_words(wanted: Mapping[str, object]) -> str:
    if wanted.get("clear"):
        return "clear hints"
    if (interval_ms := cast("int | None", wanted.get("interval_ms"))) is not None:
        return f"every {format_duration(interval_ms)}"
    return f"run in {format_duration(cast(int, wanted.get('after_ms') or 0))}"


def reason_of(wanted: Mapping[str, object]) -> str:
    return str(wanted.get("reason", ""))[:1_000]


def ttl_of(wanted: Mapping[str, object]) -> timedelta:
    """How long the hint is valid."""
    if (ttl_ms := cast("int | None", wanted.get("ttl_ms"))) is not None:
        return timedelta(milliseconds=ttl_ms)
    return ONE_SHOT_TTL_DEFAULT if wanted.get("interval_ms") is None else INTERVAL_TTL_DEFAULT
