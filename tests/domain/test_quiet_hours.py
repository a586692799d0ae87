"""Quiet hours: a span of every day by the clock of a place, across midnight and across clock changes."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidInput
from mainspring.domain.notify.quiet_hours import format_span, parse_span, quiet_until
from mainspring.domain.notify.subscription import Quiet

MINUTES = st.integers(0, 24 * 60 - 1)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"])
INSTANTS = st.integers(0, 730 * 24 * 60).map(
    lambda minutes: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
)


@given(MINUTES, MINUTES)
def test_span_reads_back_as_it_was_written(start: int, end: int) -> None:
    assume(start != end)
    assert parse_span(format_span(Quiet(start, end))) == (start, end)


@given(MINUTES, MINUTES, ZONES, INSTANTS)
def test_quiet_ends_at_the_minute_that_was_written_and_within_a_day(
    start: int, end: int, zone: str, now: datetime
) -> None:
    until = quiet_until(Quiet(start, end, zone), now)
    if until is None:
        return
    there = until.astimezone(ZoneInfo(zone))
    is_skipped = there.utcoffset() != (there - timedelta(hours=2)).utcoffset()  # a minute that the clock left out
    assert there.hour * 60 + there.minute == end or is_skipped
    assert until - now <= timedelta(hours=25)


@pytest.mark.parametrize(
    ("clock", "ends"),
    [
        ("2026-05-01T21:59Z", None),
        ("2026-05-01T22:00Z", "2026-05-02T07:00Z"),
        ("2026-05-02T06:59Z", "2026-05-02T07:00Z"),
        ("2026-05-02T07:00Z", None),
    ],
)
def test_span_across_midnight_ends_the_next_morning(clock: str, ends: str | None) -> None:
    until = quiet_until(Quiet(22 * 60, 7 * 60), datetime.fromisoformat(clock))
    assert until == (None if ends is None else datetime.fromisoformat(ends))


def test_hour_that_the_clock_shows_twice_is_quiet_both_times() -> None:
    quiet = Quiet(22 * 60, 2 * 60 + 30, "Europe/Berlin")  # at 01:00Z the clock goes back from three to two
    for now, end in (("00:15Z", "00:30Z"), ("01:15Z", "01:30Z")):
        until = quiet_until(quiet, datetime.fromisoformat(f"2026-10-25T{now}"))
        assert until == datetime.fromisoformat(f"2026-10-25T{end}")


def test_no_quiet_hours_are_never_quiet() -> None:
    assert quiet_until(None, datetime(2026, 5, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize("text", ["22-7", "25:00-07:00", "22:00", "22:00-07:60", "", "night"])
def test_span_in_another_form_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_span(text)
    assert "22:00-07:00" in str(refused.value)
