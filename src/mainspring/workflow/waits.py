"""Compute when a `wait` step ends: after a duration, at a time, or at the next occurrence of a cron expression. Pure.

The texts of `NoTarget` are written into logs and must not change.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from mainspring.domain.instant import FOREVER
from mainspring.domain.schedule.cron import next_after
from mainspring.workflow.expression import Failure
from mainspring.workflow.instant_text import read_instant
from mainspring.workflow.model import LogicalClock, Wait
from mainspring.workflow.template import render_text

_EXAMPLE: Final = "2026-01-31T08:30:00Z"


class NoTarget(NamedTuple):
    """Why a wait has no end."""

    code: str
    error: str


def target_of(
    step: Wait, clock: LogicalClock, execution_id: str, data: Mapping[str, object], size: int
) -> int | NoTarget:
    """The tick at which the wait ends; `data` are the variables that `until` reads."""
    if step.duration_ms is not None:
        return clock.after(step.duration_ms)
    if step.cron:
        at = next_after(step.cron, step.timezone, clock.instant(), execution_id)
        if at == FOREVER:
            return NoTarget("never", f"the cron rule {step.cron!r} has no next time")
        return clock.at(at)
    text = render_text(step.until, data, size)
    instant = None if isinstance(text, Failure) else read_instant(text)
    if instant is None:
        said = text.text if isinstance(text, Failure) else f"{text[:80]!r} is no instant such as {_EXAMPLE}"
        return NoTarget("instant", f"wait.until {said}")
    return clock.at(instant)
