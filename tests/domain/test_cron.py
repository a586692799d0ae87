import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest
from cronsim import CronSim
from hypothesis import assume, given
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidInput
from mainspring.domain.instant import FOREVER
from mainspring.domain.name import shown
from mainspring.domain.schedule.cron import (
    CRON,
    Cron,
    check_cron,
    check_timezone,
    describe,
    describe_interval,
    next_after,
    occurrences,
)

NEW_YEAR = datetime(2025, 1, 1, tzinfo=UTC)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu")


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("*/15 * * * *", id="five-fields"),
        pytest.param("*/10 * * * * *", id="six-fields-with-the-second-first"),
        pytest.param("  0\t3 * * * ", id="spaces-and-tabs"),
        pytest.param("0 0 1 jan-mar mon", id="names-in-any-case"),
        pytest.param("0 0 L * *", id="the-last-day-of-the-month"),
        pytest.param("0 0 LW * *", id="the-last-weekday-of-the-month"),
        pytest.param("0 0 * * 5L", id="the-last-friday-of-the-month"),
        pytest.param("0 0 * * MON#2", id="the-second-monday-of-the-month"),
        pytest.param("0 0 29 2 *", id="only-in-leap-years"),
        pytest.param("0 0 29 2 */7", id="only-on-a-29-february-that-is-a-sunday"),
        pytest.param("0 0 31 2 MON", id="a-day-that-does-not-exist-or-a-monday"),
        pytest.param("*/60 * * * *", id="a-step-of-the-whole-field"),
        pytest.param("@Daily", id="an-alias-in-any-case"),
        pytest.param("H H(1-5) H * H", id="drawn-values"),
        pytest.param("h/15,H(50-59) * * * *", id="drawn-values-in-a-list"),
    ],
)
def test_expressions_that_can_fire_are_accepted(expression: str) -> None:
    check_cron(expression, "Europe/Berlin", endpoint_id="ep_1")


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("  ", "is empty", id="only-spaces"),
        pytest.param(None, "is not text", id="nothing-at-all"),
        pytest.param(5, "is not text", id="a-number"),
        pytest.param("* * * *", "has 4 fields", id="four-fields"),
        pytest.param("H * * *", "has 4 fields", id="a-draw-in-four-fields"),
        pytest.param("hourly", "has 1 field", id="a-word"),
        pytest.param("0 0 0 1 1 * 2025", "has 7 fields", id="seven-fields"),
        pytest.param("60 * * * *", "has a bad minute field: 60 is out of range", id="minute-60"),
        pytest.param("0 24 * * *", "has a bad hour field: 24 is out of range", id="hour-24"),
        pytest.param("0 0 0 * *", "has a bad day-of-month field: 0 is out of range", id="day-0"),
        pytest.param("0 0 1 13 *", "has a bad month field: 13 is out of range", id="month-13"),
        pytest.param("0 0 * * 8", "has a bad day-of-week field: 8 is out of range", id="weekday-8"),
        pytest.param("61 * * * * *", "has a bad second field: 61 is out of range", id="second-61"),
        pytest.param("*/0 * * * *", "has a bad minute field: the step of '*/0' is 0", id="step-0"),
        pytest.param(
            "*/90 * * * *",
            "has a bad minute field: the step of '*/90' is above 60, so it would not do what it says",
            id="a-step-longer-than-the-field",
        ),
        pytest.param(
            "1-0 * * * *", "has a bad minute field: the range '1-0' runs backwards", id="a-range-that-runs-backwards"
        ),
        pytest.param("5,x * * * *", "has a bad minute field: '5,X' is not understood", id="a-letter"),
        pytest.param("1, * * * *", "has a bad minute field: '1,' is not understood", id="a-comma-too-many"),
        pytest.param("-5 * * * *", "has a bad minute field: '-5' is not understood", id="negative"),
        pytest.param("0 0 ? * *", "has a bad day-of-month field: '?' is not understood", id="quartz-question-mark"),
        pytest.param("0 0 31 2 *", "never fires", id="31-february"),
        pytest.param("0 0 */29 2 MON#5", "never fires", id="no-match-in-50-years"),
        pytest.param("@reboot", "has no time", id="at-reboot"),
        pytest.param("@every 5m", "is not cron", id="at-every"),
        pytest.param("@dayly", "is unknown", id="a-misspelt-alias"),
        pytest.param("٥ * * * *", "contains U+0665", id="arabic-digits"),
        pytest.param("0 0 * * frı", "contains U+0131", id="a-letter-that-becomes-ascii-in-capitals"),
        pytest.param("* * * *\x00 *", "contains U+0000", id="nul"),
        pytest.param("* * * *\n*", "contains U+000A", id="a-line-break-inside"),
        pytest.param("0," * 5_000 + "0 * * * *", "has 10009 characters", id="ten-kilobytes"),
        pytest.param(
            "H(5-99) * * * *",
            "has a bad minute field: the range of 'H(5-99)' is empty or out of range",
            id="a-draw-out-of-range",
        ),
        pytest.param(
            "H(9-5) * * * *",
            "has a bad minute field: the range of 'H(9-5)' is empty or out of range",
            id="a-draw-from-an-empty-range",
        ),
        pytest.param(
            "H/0 * * * *", "has a bad minute field: the step of 'H/0' does not fit its range", id="a-drawn-step-of-0"
        ),
        pytest.param(
            "H(0-9)/11 * * * *",
            "has a bad minute field: the step of 'H(0-9)/11' does not fit its range",
            id="a-drawn-step-longer-than-its-range",
        ),
        pytest.param("H(5 * * * *", "has a bad minute field: 'H(5' is not understood", id="half-a-draw"),
    ],
)
def test_expressions_that_cannot_be_meant_are_refused_with_the_field_and_the_reason(
    expression: object, what: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_cron(expression, "UTC")

    assert str(refusal.value).startswith(f"cron '{shown(expression)}' {what}; ")
    assert refusal.value.field == "cron"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "cron '' is empty; write 5 fields, for example '*/15 * * * *'"),
        (
            "* *",
            "cron '* *' has 2 fields; write 5 (minute hour day-of-month month day-of-week) or 6 with the second first",
        ),
        (
            "0 24 * * *",
            "cron '0 24 * * *' has a bad hour field: 24 is out of range; "
            "it takes 0-23, *, lists a,b, ranges a-b, steps */n and H",
        ),
        (
            "0 0 31 2 *",
            "cron '0 0 31 2 *' never fires; no date in 50 years has day-of-month '31', month '2' and day-of-week '*': "
            "change the day or the month",
        ),
        (
            "@dayly",
            "cron '@dayly' is unknown; "
            "the aliases are @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, did you mean '@daily'?",
        ),
        ("٥ * * * *", "cron '٥ * * * *' contains U+0665; only ASCII characters are allowed: retype it"),
    ],
)
def test_a_refusal_says_what_happened_the_rule_and_the_way_out(expression: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_cron(expression, "UTC")

    assert str(refusal.value) == message


def test_seconds_are_refused_where_five_fields_are_wanted() -> None:
    with pytest.raises(InvalidInput, match="has 6 fields; use 5 fields here: remove the first one, the seconds"):
        check_cron("* * * * * *", "UTC", allow_seconds=False)

    check_cron("* * * * *", "UTC", allow_seconds=False)


@given(st.text(max_size=30) | st.text(alphabet="0123456789*/-,#LWHFRIMON() @", max_size=24))
def test_any_text_is_accepted_and_fires_or_is_refused(text: str) -> None:
    try:
        check_cron(text, "UTC", endpoint_id="ep_1")
    except InvalidInput:
        return

    assert next_after(text, "UTC", NEW_YEAR, "ep_1") > NEW_YEAR
    assert describe(text, "ep_1")


@pytest.mark.parametrize("name", ["UTC", "Etc/UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "EST5EDT"])
def test_known_time_zones_are_accepted(name: str) -> None:
    check_timezone(name)


@pytest.mark.parametrize(
    ("name", "tail"),
    [
        pytest.param("europe/berlin", ", did you mean 'Europe/Berlin'?", id="in-lower-case"),
        pytest.param("utc", ", did you mean 'UTC'?", id="utc-in-lower-case"),
        pytest.param("Europe/Berlni", ", did you mean 'Europe/Berlin'?", id="misspelt"),
        pytest.param("../../etc/passwd", "", id="a-way-out-of-the-folder"),
        pytest.param("/etc/localtime", "", id="an-absolute-path"),
        pytest.param("Europe/../UTC", "", id="a-way-around"),
        pytest.param("localtime", "", id="the-machines-own-zone"),
        pytest.param("posixrules", "", id="the-rules-of-posix-strings"),
        pytest.param("Factory", "", id="the-zone-that-means-unset"),
        pytest.param("", "", id="empty"),
        pytest.param("UTC\x00", "", id="nul"),
        pytest.param("\ud800", "", id="a-lone-surrogate"),
        pytest.param("X" * 1_000_000, "", id="a-megabyte"),
        pytest.param("+02:00", "", id="an-offset"),
        pytest.param(None, "", id="nothing-at-all"),
        pytest.param(2, "", id="a-number"),
    ],
)
def test_other_time_zones_are_refused_with_the_nearest_known_name(name: object, tail: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_timezone(name)

    assert str(refusal.value).startswith("time zone '")
    rule = "' is unknown; use an IANA name such as 'Europe/Berlin' or 'UTC'"
    assert rule + tail in str(refusal.value)
    assert refusal.value.field == "timezone"


def test_a_cron_in_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'Europe/Paris'"):
        check_cron("0 0 * * *", "Europe/Pari")
    with pytest.raises(InvalidInput, match="did you mean 'Europe/Paris'"):
        next_after("0 0 * * *", "Europe/Pari", NEW_YEAR)


def test_every_known_time_zone_can_be_scheduled_in() -> None:
    for zone in sorted(available_timezones() - {"Factory", "localtime", "posixrules"}):
        assert NEW_YEAR < next_after("30 2 * * *", zone, NEW_YEAR) <= NEW_YEAR + timedelta(days=1)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("*/15 * * * *", "2025-01-01T00:15:00", id="not-the-occurrence-it-stands-on"),
        pytest.param("0 0 * * *", "2025-01-02T00:00:00", id="the-next-day"),
        pytest.param("59 23 31 12 *", "2025-12-31T23:59:00", id="the-last-minute-of-the-year"),
        pytest.param("0 0 29 2 *", "2028-02-29T00:00:00", id="the-next-leap-year"),
        pytest.param("0 0 29 2 */7", "2032-02-29T00:00:00", id="the-next-leap-sunday"),
        pytest.param("0 0 13 * 5", "2025-01-03T00:00:00", id="the-13th-or-a-friday"),
        pytest.param("0 0 */2 * MON", "2025-01-13T00:00:00", id="an-odd-day-that-is-a-monday"),
        pytest.param("*/10 * * * * *", "2025-01-01T00:00:10", id="ten-seconds"),
        pytest.param("30 59 23 31 12 *", "2025-12-31T23:59:30", id="a-second-of-the-year"),
        pytest.param("30 4 5 * * *", "2025-01-01T05:04:30", id="a-second-of-the-day"),
        pytest.param("@hourly", "2025-01-01T01:00:00", id="hourly"),
        pytest.param("@daily", "2025-01-02T00:00:00", id="daily"),
        pytest.param("@midnight", "2025-01-02T00:00:00", id="midnight"),
        pytest.param("@weekly", "2025-01-05T00:00:00", id="weekly"),
        pytest.param("@monthly", "2025-02-01T00:00:00", id="monthly"),
        pytest.param("@yearly", "2026-01-01T00:00:00", id="yearly"),
        pytest.param("@annually", "2026-01-01T00:00:00", id="annually"),
    ],
)
def test_next_after_new_year_is(expression: str, expected: str) -> None:
    assert next_after(expression, "UTC", NEW_YEAR) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_microseconds_of_the_question_do_not_matter() -> None:
    just_before = NEW_YEAR - timedelta(microseconds=1)
    just_after = NEW_YEAR + timedelta(microseconds=1)

    assert next_after("* * * * *", "UTC", just_before) == NEW_YEAR
    assert next_after("* * * * *", "UTC", just_after) == NEW_YEAR + timedelta(minutes=1)
    assert next_after("* * * * *", "Europe/Berlin", just_before) == NEW_YEAR
    assert next_after("* * * * *", "Europe/Berlin", just_after) == NEW_YEAR + timedelta(minutes=1)


def test_the_zone_of_the_question_does_not_matter() -> None:
    asked = datetime(2025, 10, 26, 0, 45, 30, 5, tzinfo=UTC)  # in the first pass of Berlin's repeated hour
    tokyo = timezone(timedelta(hours=9))

    for expression in ("30 2 * * *", "*/20 2 * * *"):
        answer = next_after(expression, "Europe/Berlin", asked)
        assert next_after(expression, "Europe/Berlin", asked.astimezone(tokyo)) == answer
        assert next_after(expression, "Europe/Berlin", asked.astimezone(ZoneInfo("Europe/Berlin"))) == answer
        assert answer.tzinfo is UTC


def test_a_naive_question_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="naive"):
        next_after("* * * * *", "UTC", NEW_YEAR.replace(tzinfo=None))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression", ["* * * * *", "0 0 1 1 *", "30 2 * * *"])
def test_where_the_calendar_ends_the_next_run_is_forever(expression: str, zone: str) -> None:
    assert next_after(expression, zone, datetime.max.replace(tzinfo=UTC)) == FOREVER


def test_the_replaceable_cron_answers_as_the_function_does() -> None:
    assert isinstance(CRON, Cron)
    assert CRON.next_after("H * * * *", "UTC", NEW_YEAR, "ep_1") == next_after("H * * * *", "UTC", NEW_YEAR, "ep_1")


def test_occurrences_are_later_than_the_start_and_not_later_than_the_end() -> None:
    end = NEW_YEAR + timedelta(hours=1)

    found = occurrences("*/20 * * * *", "UTC", NEW_YEAR, end, 10)

    assert found == [NEW_YEAR + timedelta(minutes=20), NEW_YEAR + timedelta(minutes=40), end]


def test_occurrences_stop_at_the_limit() -> None:
    found = occurrences("* * * * *", "UTC", NEW_YEAR, NEW_YEAR + timedelta(days=30), 2)

    assert found == [NEW_YEAR + timedelta(minutes=1), NEW_YEAR + timedelta(minutes=2)]
    assert occurrences("* * * * *", "UTC", NEW_YEAR, NEW_YEAR + timedelta(days=30), 0) == []


def test_occurrences_end_where_the_calendar_ends() -> None:
    assert occurrences("0 0 1 1 *", "UTC", datetime(9998, 1, 1, tzinfo=UTC), FOREVER, 10) == [
        datetime(9999, 1, 1, tzinfo=UTC)
    ]


@pytest.mark.parametrize(
    ("expression", "allowed", "times_a_day"),
    [
        pytest.param("H * * * *", range(60), 24, id="any-minute"),
        pytest.param("H(0-29) * * * *", range(30), 24, id="a-minute-of-the-first-half"),
        pytest.param("H/15 * * * *", range(60), 96, id="every-15-minutes"),
        pytest.param("H(0-29)/10 * * * *", range(30), 72, id="every-10-minutes-of-the-first-half"),
        pytest.param("H(7-7) * * * *", range(7, 8), 24, id="a-range-of-one"),
        pytest.param("H/60 * * * *", range(60), 24, id="a-step-of-the-whole-field"),
    ],
)
def test_a_drawn_minute_stays_in_its_range_and_keeps_its_pace(
    expression: str, allowed: range, times_a_day: int
) -> None:
    for number in range(100):
        found = occurrences(
            expression,
            "UTC",
            NEW_YEAR - timedelta(seconds=1),
            NEW_YEAR + timedelta(days=1, seconds=-1),
            200,
            endpoint_id=f"ep_{number}",
        )

        assert len(found) == times_a_day
        assert {at.minute for at in found} <= set(allowed)


def test_drawn_values_are_the_same_for_ever() -> None:
    assert next_after("H H * * *", "UTC", NEW_YEAR, "ep_1") == datetime(2025, 1, 1, 3, 45, tzinfo=UTC)


def test_drawn_values_spread_endpoints_over_the_hour() -> None:
    minutes = [next_after("H * * * *", "UTC", NEW_YEAR, f"ep_{number}").minute for number in range(6_000)]

    assert all(60 <= minutes.count(minute) <= 140 for minute in range(60))


def test_drawn_values_of_different_fields_are_independent() -> None:
    drawn = {(at.hour, at.minute) for at in (next_after("H H * * *", "UTC", NEW_YEAR, f"ep_{n}") for n in range(500))}

    assert len(drawn) > 300
    assert any(minute != hour for hour, minute in drawn)


def test_a_drawn_day_exists_in_every_month() -> None:
    before, new_years_eve = NEW_YEAR - timedelta(seconds=1), datetime(2025, 12, 31, tzinfo=UTC)
    for number in range(50):
        found = occurrences("0 0 H * *", "UTC", before, new_years_eve, 20, endpoint_id=f"ep_{number}")

        assert [at.month for at in found] == list(range(1, 13))


def test_the_h_in_thursday_is_not_drawn() -> None:
    assert next_after("0 0 * * THU", "UTC", NEW_YEAR, "ep_1") == next_after("0 0 * * 4", "UTC", NEW_YEAR)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("* * * * *", "Every minute"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("30 2 * * *", "At 02:30"),
        ("0 22 * * 1-5", "At 22:00, Monday through Friday"),
        ("0 22 * * mon-fri", "At 22:00, Monday through Friday"),
        ("*/5 9-17 * * MON-FRI", "Every 5 minutes, between 09:00 and 17:59, Monday through Friday"),
        ("0 0 L * *", "At 00:00, on the last day of the month"),
        ("0 0 LW * *", "At 00:00, on the last weekday of the month"),
        ("0 12 * * 5L", "At 12:00, on the last Friday of the month"),
        ("0 0 * * MON#1", "At 00:00, on the first Monday of the month"),
        ("0 0 13 * FRI", "At 00:00, on day 13 of the month, or on Friday"),
        ("*/10 * * * * *", "Every 10 seconds"),
        ("@daily", "At 00:00"),
        ("0 0 */2 * MON", "At 00:00 on every second day of month if it's on Monday"),
        ("0 0 * * MON#1,MON#3", "At 00:00 on the first Monday of the month and the third Monday of the month"),
        ("0 0 * * 5/2", "At 00:00 on every second day of week from Friday through Sunday"),
        ("0 0 L,15 * *", "At 00:00 on the last and the 15th day of month"),
        ("5,*/10 * * * *", "At minute 5 and every 10th minute of every hour"),
        ("H(30-30) * * * *", "At 30 minutes past the hour (an example: H differs per endpoint)"),
    ],
)
def test_an_expression_is_described_in_words(expression: str, words: str) -> None:
    assert describe(expression) == words


def test_a_drawn_value_is_described_as_the_endpoints_own() -> None:
    minute = next_after("H * * * *", "UTC", NEW_YEAR, "ep_7").minute

    assert describe("H * * * *", "ep_7") == f"At {minute} minutes past the hour"


def test_what_cannot_be_scheduled_cannot_be_described() -> None:
    with pytest.raises(InvalidInput, match="never fires"):
        describe("0 0 31 2 *")


def test_an_interval_is_described_in_words() -> None:
    assert describe_interval(30_000) == "every 30s"
    assert describe_interval(5_400_000) == "every 1h30m"


def terms(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    span = st.tuples(value, value).map(sorted)
    step = st.integers(1, high - low)
    return st.one_of(
        st.just("*"),
        step.map(lambda n: f"*/{n}"),
        value.map(str),
        span.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.tuples(span, step).map(lambda parts: f"{parts[0][0]}-{parts[0][1]}/{parts[1]}"),
        st.lists(value, min_size=2, max_size=4).map(lambda values: ",".join(map(str, values))),
    )


@st.composite
def expressions(draw: st.DrawFn) -> str:
    seconds = draw(st.sampled_from([[], [], [], [terms(0, 59)]]))
    days = terms(1, 31) | st.sampled_from(["L", "LW"])
    weekdays = terms(0, 7) | st.sampled_from(["MON", "5L", "SUN#1", "3#5"])
    fields = [*seconds, terms(0, 59), terms(0, 23), days, terms(1, 12), weekdays]
    expression = " ".join(draw(field) for field in fields)
    try:
        check_cron(expression, "UTC")
    except InvalidInput:
        assume(False)
    return expression


instants = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds it


@given(expressions(), st.sampled_from(ZONES), instants)
def test_the_answer_is_strictly_later_on_a_whole_second_and_the_same_when_asked_again(
    expression: str, zone: str, after: datetime
) -> None:
    answer = next_after(expression, zone, after)

    assert answer > after
    assert answer.microsecond == 0
    assert answer.tzinfo is UTC
    assert next_after(expression, zone, after) == answer


@given(expressions(), st.sampled_from(ZONES), instants, st.timedeltas(timedelta(0), timedelta(days=40)))
def test_a_later_question_never_has_an_earlier_answer(
    expression: str, zone: str, after: datetime, delay: timedelta
) -> None:
    answer = next_after(expression, zone, after)
    later_answer = next_after(expression, zone, after + delay)

    assert later_answer >= answer
    assert later_answer == answer or after + delay >= answer


@given(expressions(), instants)
def test_in_utc_the_answer_is_the_one_of_cronsim(expression: str, after: datetime) -> None:
    assert next_after(expression, "UTC", after) == next(CronSim(expression, after))


def test_answers_do_not_depend_on_the_process_its_zone_or_its_language() -> None:
    script = """
import json
from datetime import UTC, datetime
from mainspring.domain.schedule.cron import describe, next_after
at = datetime(2025, 10, 26, 0, 15, tzinfo=UTC)
answers = [next_after(e, "Europe/Berlin", at, "ep_1").isoformat() for e in ("H H * * *", "30 2 * * *", "*/7 2 * * *")]
print(json.dumps([*answers, describe("30 14 * * MON", "ep_1")]))
"""
    worlds = [
        {"PYTHONHASHSEED": "1", "TZ": "UTC", "LANG": "C"},
        {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8"},
        {"PYTHONHASHSEED": "3", "TZ": "America/New_York", "LANG": "en_US.UTF-8"},
    ]

    answers = [
        json.loads(
            subprocess.check_output([sys.executable, "-c", script], env={**os.environ, **world, "PYTHONPATH": "src"})
        )
        for world in worlds
    ]

    assert answers[0] == answers[1] == answers[2]
    assert answers[0][-1] == "At 14:30, only on Monday"
