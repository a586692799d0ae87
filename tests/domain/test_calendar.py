"""Calendars: what is refused, which days they have, and what is found in holidays and iCalendar texts."""

import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.stores.world import START, an_endpoint, an_outcome

from mainspring.domain.calendar import (
    Calendar,
    CalendarConfig,
    FoundDay,
    check_calendar,
    days_between,
    has_no_run,
    is_running_out,
    last_open_day,
    open_days_of,
    refuse_delete,
    with_fields,
)
from mainspring.domain.calendar_days import find_days
from mainspring.domain.definition import check_config, config_of
from mainspring.domain.endpoint import EndpointConfig, Tenant
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import HttpAction, RunStatus
from mainspring.domain.schedule.claim import Claimant, admit
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.finish import Finished, settle
from mainspring.domain.schedule.open_days import Shift, decode_days

TENANT = Tenant("default", "default")
HEAD = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//y//EN\r\n"
TAIL = "END:VCALENDAR\r\n"


def calendar(name: str = "closed", **fields: object) -> Calendar:
    config = replace(CalendarConfig(), **fields)
    return Calendar("cal_1", "default", name, config, (), 2030, 1, START, START)


def event(*lines: str) -> str:
    inside = "\r\n".join(("BEGIN:VEVENT", "UID:1", "DTSTAMP:20250101T000000Z", *lines, "END:VEVENT", ""))
    return f"{HEAD}{inside}{TAIL}"


def found(ics: str, years: tuple[int, int] = (2025, 2026)) -> list[tuple[str, str]]:
    return [(each.day.isoformat(), each.label) for each in find_days("", ics, *years)]


@pytest.mark.parametrize(
    ("config", "words", "field"),
    [
        pytest.param(
            CalendarConfig(), "the calendar has no days; give dates, weekdays, holidays or ics", "dates", id="empty"
        ),
        pytest.param(CalendarConfig(description="x"), "the calendar has no days", "dates", id="a description alone"),
        pytest.param(
            CalendarConfig(dates=("24.12.",)), "date '24.12.' is not understood; write 2026-12-24", "dates", id="a date"
        ),
        pytest.param(
            CalendarConfig(dates=("2025-02-02..2025-02-01",)), "ends before it begins; swap", "dates", id="a range"
        ),
        pytest.param(
            CalendarConfig(dates=("0001-01-01..9999-12-31",)),
            "dates have 3,652,059 days, more than 5,000",
            "dates",
            id="all days",
        ),
        pytest.param(
            CalendarConfig(dates=("2025-01-01",) * 1_001), "1001 dates are more than 1000", "dates", id="entries"
        ),
        pytest.param(
            CalendarConfig(dates=("2025-01-01 " + "x" * 101,)),
            "the label of 2025-01-01 has more than 100",
            "dates",
            id="a label",
        ),
        pytest.param(CalendarConfig(weekdays=("sonntag",)), "unknown weekdays 'sonntag'", "weekdays", id="a weekday"),
        pytest.param(CalendarConfig(ics="x" * 200_001), "ics has 200,001 characters", "ics", id="an iCalendar text"),
    ],
)
def test_calendar_is_refused_with_the_field(config: CalendarConfig, words: str, field: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(words)) as fault:
        check_calendar(config)
    assert fault.value.field == field


def test_labels_and_places_are_normalised() -> None:
    given = CalendarConfig(dates=("2025-01-01   New   Year",), weekdays=("sun", "sat"), holidays=" de-by ")

    assert check_calendar(given) == CalendarConfig(
        dates=("2025-01-01 New Year",), weekdays=("sat", "sun"), holidays="DE-BY"
    )


def test_inputs_change_what_they_name_and_null_restores_the_default() -> None:
    config = with_fields(CalendarConfig(holidays="DE"), {"dates": ["2025-01-01"], "holidays": None})

    assert config == CalendarConfig(dates=("2025-01-01",))


def test_days_of_all_settings_together_with_the_listed_label_first() -> None:
    made = replace(
        calendar(dates=("2025-01-03 Inventory", "2025-01-05"), weekdays=("wed",)),
        found=(FoundDay(date(2025, 1, 3), "Holiday"), FoundDay(date(2025, 1, 5), "Fair"), FoundDay(date(2026, 1, 1))),
    )
    days = days_between(made, date(2025, 1, 1), date(2025, 1, 7))

    assert {date.fromordinal(day).day: label for day, label in days.items()} == {1: "", 3: "Inventory", 5: "Fair"}


def test_endpoint_with_both_runs_on_days_of_only_that_except_leaves() -> None:
    calendars = {
        "open": calendar("open", dates=("2025-01-02..2025-01-05",)),
        "shut": calendar("shut", dates=("2025-01-03",)),
    }
    config = config_of(an_endpoint("e", cron="0 9 * * *", only_calendar="open", except_calendar="shut"))
    days = decode_days(open_days_of(config, calendars, START))

    assert [day for day in range(1, 10) if days.is_open(date(2025, 1, day).toordinal())] == [2, 4, 5]
    assert not days.is_open(date(2040, 1, 1).toordinal())
    assert open_days_of(replace(config, only_calendar="", except_calendar=""), calendars, START) == ""


def test_end_of_a_calendar_is_known() -> None:
    calendars = {"open": calendar("open", dates=("2025-03-01",)), "old": calendar("old", dates=("2020-01-01",))}
    endpoint = an_endpoint("e", cron="0 9 * * *", only_calendar="open")
    ending = replace(endpoint, days=open_days_of(endpoint, calendars, START))
    over = replace(ending, only_calendar="old", next_run_at=None)
    over = replace(over, days=open_days_of(over, calendars, START))

    assert last_open_day(ending) == date(2025, 3, 1)
    assert (is_running_out(ending, START), is_running_out(ending, START + timedelta(days=30))) == (False, True)
    assert (last_open_day(over), is_running_out(over, START), has_no_run(over)) == (date.min, True, True)
    assert (last_open_day(endpoint), is_running_out(endpoint, START), has_no_run(endpoint)) == (None, False, False)
    excepted = replace(endpoint, only_calendar="", except_calendar="open")
    assert last_open_day(replace(excepted, days=open_days_of(excepted, calendars, START))) is None


@pytest.mark.parametrize(
    ("fields", "words", "field"),
    [
        pytest.param(
            {"cron": None, "once_at": START, "except_calendar": "a"},
            "a single run is at its time on any day",
            "except",
            id="a single run",
        ),
        pytest.param({"only_calendar": "a", "except_calendar": "a"}, "name the same calendar 'a'", "only", id="both"),
        pytest.param({"shift": Shift.NEXT}, "shift next_business_day for 'e' has no effect", "shift", id="no calendar"),
        pytest.param(
            {"cron": None, "interval_ms": 60_000, "shift": Shift.NEXT, "only_calendar": "a"},
            "it moves times of cron",
            "shift",
            id="an interval",
        ),
    ],
)
def test_endpoint_is_refused_with_the_field(fields: dict[str, object], words: str, field: str) -> None:
    config = replace(EndpointConfig("e", HttpAction("https://example.com/"), cron="0 9 * * *"), **fields)
    with pytest.raises(InvalidInput, match=words) as fault:
        check_config(config, TENANT)
    assert fault.value.field == field


def test_calendar_of_many_endpoints_names_some_of_them() -> None:
    with pytest.raises(Conflict, match=r"used by 11 endpoints: 'e0', .*, 'e9', \.\.\.; remove it from them first"):
        refuse_delete("closed", [f"e{number}" for number in range(11)])


def test_attempt_on_an_excluded_day_is_not_made() -> None:
    endpoint = an_endpoint(
        "e", cron="59 23 * * *", next_run_at=datetime(2025, 1, 1, 23, 59, tzinfo=UTC), except_calendar="closed",
        retry=RetryPolicy(attempts=3, delay_ms=120_000),
    )  # fmt: skip
    closed = {"closed": calendar(dates=("2025-01-02",))}
    at = datetime(2025, 1, 1, 23, 59, tzinfo=UTC)
    for days, status in ((open_days_of(endpoint, closed, START), RunStatus.FAILURE), ("", RunStatus.RETRIED)):
        claim = admit(replace(endpoint, days=days), at, Claimant("w", 1_000, "run_1"), CRON).claim
        assert claim is not None
        failed = Finished(claim, replace(an_outcome(), status=RunStatus.TIMEOUT), at, at)
        settled = settle(claim.endpoint, failed, at, CRON)
        assert settled.status is (RunStatus.TIMEOUT if status is RunStatus.FAILURE else status)


def test_events_have_all_days_that_they_touch() -> None:
    days = event("DTSTART;VALUE=DATE:20250501", "DTEND;VALUE=DATE:20250503", "SUMMARY:Two  days")
    evening = event("DTSTART;TZID=Europe/Berlin:20251224T180000", "DTEND;TZID=Europe/Berlin:20251225T020000")
    until_midnight = event("DTSTART:20250601T080000Z", "DTEND:20250602T000000Z")
    long = event("DTSTART;VALUE=DATE:20250501", "DURATION:P2D")
    single = event("DTSTART;VALUE=DATE:20250501")

    assert found(days) == [("2025-05-01", "Two days"), ("2025-05-02", "Two days")]
    assert found(evening) == [("2025-12-24", ""), ("2025-12-25", "")]
    assert found(until_midnight) == [("2025-06-01", "")]
    assert [day for day, _ in found(long)] == ["2025-05-01", "2025-05-02"]
    assert found(single) == [("2025-05-01", "")]


def test_recurrences_follow_their_rule_exceptions_and_moves() -> None:
    thanksgiving = event(
        "DTSTART;VALUE=DATE:20201126", "RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "SUMMARY:Thanksgiving"
    )
    moved = (
        f"{HEAD}BEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20250106\r\nRRULE:FREQ=WEEKLY;COUNT=4\r\n"
        "EXDATE;VALUE=DATE:20250113\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID;VALUE=DATE:20250120\r\n"
        f"DTSTART;VALUE=DATE:20250122\r\nSUMMARY:Moved\r\nEND:VEVENT\r\n{TAIL}"
    )
    leap = event("DTSTART;VALUE=DATE:20240229", "RRULE:FREQ=YEARLY")

    assert found(thanksgiving) == [("2025-11-27", "Thanksgiving"), ("2026-11-26", "Thanksgiving")]
    assert found(moved) == [("2025-01-06", ""), ("2025-01-22", "Moved"), ("2025-01-27", "")]
    assert found(leap, (2025, 2028)) == [("2028-02-29", "")]


def test_event_that_is_cancelled_or_of_other_years_has_no_days() -> None:
    assert found(event("DTSTART;VALUE=DATE:20250501", "STATUS:CANCELLED")) == []
    assert found(event("DTSTART;VALUE=DATE:20200501")) == []
    assert found(event("DTSTART;VALUE=DATE:20201231", "DTEND;VALUE=DATE:20250103")) == [
        ("2025-01-01", ""),
        ("2025-01-02", ""),
    ]
    assert found("  ") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("nonsense", "ics is not an iCalendar text", id="other text"),
        pytest.param(event("DTSTART:yesterday"), "ics is not an iCalendar text", id="no date"),
        pytest.param(
            event("DTSTART:20250101T000000Z", "RRULE:FREQ=SECONDLY"),
            "ics has a rule that recurs within a day",
            id="seconds",
        ),
        pytest.param(
            event("DTSTART;VALUE=DATE:20000101", "DTEND;VALUE=DATE:20900101"), "more than 5,000 days", id="an age"
        ),
    ],
)
def test_texts_that_are_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as fault:
        find_days("", text, 2000, 2100)
    assert fault.value.field == "ics"


def test_holidays_are_named_in_english_and_other_places_are_refused() -> None:
    assert FoundDay(date(2026, 12, 25), "Christmas Day") in find_days("DE", "", 2026, 2026)
    with pytest.raises(InvalidInput, match="no such country"):
        find_days("XX", "", 2026, 2026)
    with pytest.raises(InvalidInput, match="DE has no part 'ZZ'; its parts are BB, BE"):
        find_days("DE-ZZ", "", 2026, 2026)


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [("holidays", ("DE", ""), "holidays"), ("recurring_ical_events", ("", "BEGIN:VCALENDAR"), "ics")],
)
def test_missing_package_is_named_with_its_extra(package: str, arguments: tuple[str, str], extra: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from mainspring.domain.calendar_days import find_days\n"
        f"find_days(*{arguments!r}, 2025, 2025)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"install mainspring[{extra}], or list the dates" in ended.stderr
