"""Compute the health of an endpoint at past times, from its runs in the order in which they finished. Pure.

A back-test and `rules test` use this in place of the store: the runs that finished in the last 1, 4 and 24 hours before
a time, both ends included.
"""

from bisect import bisect_left
from datetime import datetime

from msgspec import Struct

from mainspring.domain.rules.judge import Health, RuleHealth
from mainspring.domain.rules.run_window import HEALTH_SPANS


class _Sum(Struct, frozen=True):
    """Running sums of all runs up to a time: the difference of two sums is the health of the span between them."""

    at: datetime
    runs: int
    successes: int
    duration_ms: int


class HealthSums:
    def __init__(self) -> None:
        self._sums: list[_Sum] = []

    def add(self, finished_at: datetime, ok: bool, duration_ms: int) -> None:
        """Adds a run that finished at or after all runs added so far."""
        last = self._sums[-1] if self._sums else _Sum(finished_at, 0, 0, 0)
        self._sums.append(_Sum(finished_at, last.runs + 1, last.successes + ok, last.duration_ms + duration_ms))

    def at(self, now: datetime) -> Health:
        """The health at the time when all runs added so far had finished."""
        hour, four, day = (self._since(now - span) for span in HEALTH_SPANS)
        return hour, four, day

    def _since(self, since: datetime) -> RuleHealth:
        place = bisect_left(self._sums, since, key=lambda each: each.at)
        if place == len(self._sums):
            return RuleHealth(0, 0, None)
        last, first = self._sums[-1], self._sums[place - 1] if place else _Sum(since, 0, 0, 0)
        runs = last.runs - first.runs
        return RuleHealth(runs, last.successes - first.successes, (last.duration_ms - first.duration_ms) / runs)
