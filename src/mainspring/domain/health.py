"""Summarise how an endpoint has been doing: its results over windows of time. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from mainspring.domain.run import WITH_RESULT, RunStatus

WINDOWS = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
LONGEST = max(WINDOWS.values())


class RunResult(Struct, frozen=True):
    """The result of a run that made its call, or of a deadline that no ping kept."""

    started_at: datetime
    status: RunStatus
    duration_ms: int | None


class WindowHealth(Struct, frozen=True):
    window: str
    since: datetime  # start of the window, or of the oldest result if that is later
    runs: int
    successes: int
    latency_p50_ms: int | None
    latency_p95_ms: int | None

    @property
    def success_share(self) -> float | None:
        return self.successes / self.runs if self.runs else None


def sum_up(results: Sequence[RunResult], now: datetime) -> list[WindowHealth]:
    """Summarises the results that started in each window; attempts taken over or never made do not count."""
    counted = [result for result in results if result.status in WITH_RESULT]
    oldest = min((result.started_at for result in counted), default=now)
    return [_window(name, counted, now - span, oldest) for name, span in WINDOWS.items()]


def percentile(values: Sequence[int], share: float) -> int | None:
    """The smallest value that at least this share of all values does not exceed."""
    if not values:
        return None
    ordered = sorted(values)
    rank = -int(-share * len(ordered) // 1)  # rounded up
    return ordered[max(rank, 1) - 1]


def _window(name: str, results: Sequence[RunResult], since: datetime, oldest: datetime) -> WindowHealth:
    inside = [result for result in results if result.started_at >= since]
    latencies = [result.duration_ms for result in inside if result.duration_ms is not None]
    return WindowHealth(
        window=name,
        since=max(since, oldest),
        runs=len(inside),
        successes=sum(result.status is RunStatus.SUCCESS for result in inside),
        latency_p50_ms=percentile(latencies, 0.5),
        latency_p95_ms=percentile(latencies, 0.95),
    )
