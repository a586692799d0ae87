"""Health: results summed up over windows."""

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.health import RunResult, WindowHealth, percentile, sum_up
from mainspring.domain.run import RunStatus

NOW = datetime(2025, 1, 31, tzinfo=UTC)


def ago(status: RunStatus = RunStatus.SUCCESS, took_ms: int | None = 10, **span: float) -> RunResult:
    return RunResult(NOW - timedelta(**span), status, took_ms)


def test_each_window_sums_up_what_began_in_it() -> None:
    results = [
        ago(minutes=5),
        ago(RunStatus.FAILURE, 30, minutes=10),
        ago(RunStatus.TIMEOUT, None, hours=2),
        ago(took_ms=20, days=3),
        ago(RunStatus.BLOCKED, 0, days=10),
    ]

    assert sum_up(results, NOW) == [
        WindowHealth("1h", NOW - timedelta(hours=1), 2, 1, 10, 30),
        WindowHealth("24h", NOW - timedelta(days=1), 3, 1, 10, 30),
        WindowHealth("7d", NOW - timedelta(days=7), 4, 2, 20, 30),
        WindowHealth("30d", NOW - timedelta(days=10), 5, 2, 10, 30),
    ]


def test_runs_that_were_taken_over_or_are_not_over_do_not_count() -> None:
    odd = (RunStatus.RUNNING, RunStatus.ABANDONED, RunStatus.SUPERSEDED, RunStatus.UNKNOWN)
    hour = sum_up([ago(status, minutes=1) for status in odd], NOW)[0]

    assert hour == WindowHealth("1h", NOW, 0, 0, None, None)
    assert hour.success_share is None


def test_success_share_is_of_the_runs_that_ended() -> None:
    hour = sum_up([ago(minutes=1), ago(minutes=2), ago(minutes=3), ago(RunStatus.FAILURE, minutes=4)], NOW)[0]

    assert hour.success_share == 0.75


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([], 0.5, None), ([7], 0.5, 7), ([7], 0.95, 7), ([3, 1, 2, 4], 0.5, 2), (list(range(1, 101)), 0.95, 95)],
)
def test_percentile_is_the_smallest_value_that_the_share_does_not_exceed(
    values: list[int], share: float, expected: int | None
) -> None:
    assert percentile(values, share) == expected
