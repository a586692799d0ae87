"""The first day of imported endpoints is simulated with the preview of every endpoint."""

from datetime import UTC, datetime, timedelta

from mainspring.documents.imports.crontab import read_crontab
from mainspring.documents.imports.first_day import RUNS_MAX, EndpointDay, simulate_first_day
from mainspring.documents.imports.takeover import Takeover
from mainspring.views.imports import FirstDayView, first_day_lines

NOON = datetime(2026, 1, 10, 12, tzinfo=UTC)


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 1, day, hour, minute, tzinfo=UTC)


def crontab(*lines: str) -> Takeover:
    return read_crontab("\n".join(lines), timezone="UTC")


def test_day_counts_runs_and_names_the_busiest_minute() -> None:
    day = simulate_first_day(crontab("0 3 * * * curl https://a.example", "*/30 * * * * curl https://b.example"), NOON)

    assert (day.runs, day.is_whole) == (48, True)
    assert (day.busiest_minute, day.busiest_minute_runs) == (at(11, 3), 2)
    assert day.endpoints == (
        EndpointDay("a.example", 1, (at(11, 3),), False),
        EndpointDay("b.example", 47, (at(10, 12, 30), at(10, 13), at(10, 13, 30), at(10, 14), at(10, 14, 30)), False),
    )


def test_runs_at_the_same_second_are_counted_with_and_without_jitter() -> None:
    day = simulate_first_day(crontab(*(f"0 3 * * * curl https://{n}.example.com/" for n in range(20))), NOON)

    assert (day.shared_seconds, day.busiest_second, day.busiest_second_runs) == (1, at(11, 3), 20)
    assert day.busiest_second_runs_with_jitter < 5


def test_heartbeat_expects_pings_and_makes_no_run() -> None:
    day = simulate_first_day(crontab("0 3 * * * /bin/backup"), NOON)

    assert (day.runs, day.busiest_minute, day.busiest_second) == (0, None, None)
    assert day.endpoints == (EndpointDay("backup", 1, (at(11, 3, 5),), True),)


def test_day_with_too_many_runs_is_simulated_in_part() -> None:
    day = simulate_first_day(crontab(*(f"* * * * * curl https://{n}.example.com/" for n in range(40))), NOON)

    assert (day.runs, day.is_whole) == (RUNS_MAX, False)
    assert day.ended_at == NOON + timedelta(minutes=RUNS_MAX // 40)


def test_day_is_told_in_sentences() -> None:
    taken = crontab(
        "0 3 * * * curl https://a.example",
        "0 3 * * * curl https://b.example",
        "0 4 * * * /bin/backup",
        "0 4 * * 3 curl https://weekly",
    )
    lines = first_day_lines(FirstDayView.of(simulate_first_day(taken, NOON)))

    assert lines == [
        "the first day has 2 runs; the busiest minute is 2026-01-11T03:00:00Z with 2",
        "several runs start in 1 second, at most 2 at 2026-01-11T03:00:00Z; with `jitter: 1m`, at most 1",
        "a.example: first runs 2026-01-11T03:00:00Z",
        "b.example: first runs 2026-01-11T03:00:00Z",
        "backup: pings expected by 2026-01-11T04:05:00Z",
        "weekly: no run on that day",
    ]
