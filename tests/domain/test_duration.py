import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.duration import DURATION_MS_MAX, format_duration, parse_duration_ms
from mainspring.domain.errors import InvalidInput


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        pytest.param("30s", 30_000, id="seconds"),
        pytest.param("5m", 300_000, id="minutes"),
        pytest.param("1h30m", 5_400_000, id="hours-and-minutes"),
        pytest.param("1h 30m", 5_400_000, id="a-space-between-the-parts"),
        pytest.param("  30s ", 30_000, id="spaces-at-the-ends"),
        pytest.param("1d", 86_400_000, id="a-day"),
        pytest.param("1d2h3m4s5ms", 93_784_005, id="every-unit"),
        pytest.param("250ms", 250, id="milliseconds"),
        pytest.param("1.5s", 1_500, id="a-fraction-of-a-second"),
        pytest.param("0.5m", 30_000, id="a-fraction-of-a-minute"),
        pytest.param("1m0.5s", 60_500, id="a-fraction-after-a-whole-part"),
        pytest.param("0h5m", 300_000, id="an-empty-part"),
        pytest.param("007s", 7_000, id="leading-zeros"),
        pytest.param(30_000, 30_000, id="a-number-is-milliseconds"),
        pytest.param("30000", 30_000, id="a-number-as-text-is-milliseconds"),
        pytest.param("366d", DURATION_MS_MAX, id="the-longest"),
        pytest.param(1, 1, id="the-shortest"),
    ],
)
def test_durations_are_read_exactly(value: object, ms: int) -> None:
    assert parse_duration_ms(value, field="interval") == ms


@pytest.mark.parametrize(
    ("value", "what"),
    [
        pytest.param(0, "is below the minimum 1ms", id="zero"),
        pytest.param("0s", "is below the minimum 1ms", id="zero-seconds"),
        pytest.param("0", "is below the minimum 1ms", id="zero-as-text"),
        pytest.param(-1, "is negative", id="a-negative-number"),
        pytest.param("-5s", "is negative", id="negative-text"),
        pytest.param("367d", "is above the maximum 366d", id="longer-than-a-year"),
        pytest.param(10**30, "is above the maximum 366d", id="an-enormous-number"),
        pytest.param("9" * 35 + "d", "is above the maximum 366d", id="an-enormous-text"),
        pytest.param("9" * 10_000, "is not a duration", id="ten-thousand-digits"),
        pytest.param(math.nan, "is not a duration", id="not-a-number"),
        pytest.param(math.inf, "is not a duration", id="infinity"),
        pytest.param(1e30, "is not a duration", id="a-float"),
        pytest.param(30_000.0, "is not a duration", id="a-whole-float"),
        pytest.param(True, "is not a duration", id="true"),
        pytest.param(None, "is not a duration", id="nothing-at-all"),
        pytest.param([30], "is not a duration", id="a-list"),
        pytest.param("", "is empty", id="empty"),
        pytest.param("   ", "is empty", id="only-spaces"),
        pytest.param("soon", "is not a duration", id="a-word"),
        pytest.param("30 s", "is not a duration", id="a-space-before-the-unit"),
        pytest.param("30S", "is not a duration", id="a-capital-unit"),
        pytest.param("5 minutes", "is not a duration", id="a-long-unit"),
        pytest.param("5y", "is not a duration", id="an-unknown-unit"),
        pytest.param("30m1h", "is not a duration", id="the-smaller-unit-first"),
        pytest.param("5m5m", "is not a duration", id="a-unit-twice"),
        pytest.param("1.5", "is not a duration", id="a-fraction-without-a-unit"),
        pytest.param("1.s", "is not a duration", id="a-point-and-no-fraction"),
        pytest.param("1e3s", "is not a duration", id="an-exponent"),
        pytest.param("1_000", "is not a duration", id="an-underscore"),
        pytest.param("+5s", "is not a duration", id="a-plus"),
        pytest.param("nan", "is not a duration", id="nan-as-text"),
        pytest.param("٣٠s", "is not a duration", id="arabic-digits"),
        pytest.param("３０s", "is not a duration", id="wide-digits"),
        pytest.param("²s", "is not a duration", id="a-superscript"),
        pytest.param("30s\x00", "is not a duration", id="nul"),
        pytest.param("30s\n", "is not a duration", id="a-line-break"),
        pytest.param("0.0005s", "is finer than a millisecond", id="half-a-millisecond"),
    ],
)
def test_what_is_no_duration_is_refused_with_the_value_the_rule_and_the_way_out(value: object, what: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(what) + "; .*(give|round)") as refusal:
        parse_duration_ms(value, field="interval")

    assert str(refusal.value).startswith("interval '")
    assert refusal.value.field == "interval"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("5s", "ttl '5s' is below the minimum 30s; give 30s or more", id="below"),
        pytest.param("25h", "ttl '25h' is above the maximum 1d; give 1d or less", id="above"),
        pytest.param(
            "ever",
            "ttl 'ever' is not a duration; units are d, h, m, s, ms, biggest first: "
            "give 250ms, 30s, 5m, 1h30m, 1d or a whole number of milliseconds",
            id="garbage",
        ),
    ],
)
def test_a_refusal_names_the_field_and_its_own_bounds(value: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_duration_ms(value, field="ttl", min_ms=30_000, max_ms=86_400_000)

    assert str(refusal.value) == message
    assert refusal.value.value == value


def test_the_bounds_themselves_are_allowed() -> None:
    assert parse_duration_ms("30s", field="ttl", min_ms=30_000, max_ms=60_000) == 30_000
    assert parse_duration_ms("60s", field="ttl", min_ms=30_000, max_ms=60_000) == 60_000


def test_zero_is_allowed_where_the_minimum_says_so() -> None:
    assert parse_duration_ms("0s", field="min_interval", min_ms=0) == 0


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0s"),
        (1, "1ms"),
        (250, "250ms"),
        (1_000, "1s"),
        (1_500, "1.5s"),
        (1_005, "1.005s"),
        (10_000, "10s"),
        (60_000, "1m"),
        (60_500, "1m0.5s"),
        (90_000, "1m30s"),
        (5_400_000, "1h30m"),
        (86_400_000, "1d"),
        (90_000_000, "1d1h"),
        (86_400_001, "1d0.001s"),
        (DURATION_MS_MAX, "366d"),
        (-1_500, "-1.5s"),
    ],
)
def test_a_duration_is_written_short_and_exact(ms: int, text: str) -> None:
    assert format_duration(ms) == text


@given(st.integers(min_value=1, max_value=DURATION_MS_MAX))
def test_a_written_duration_is_read_back_unchanged(ms: int) -> None:
    assert parse_duration_ms(format_duration(ms), field="interval") == ms


@given(st.text(max_size=45) | st.from_regex(r"[0-9.]{1,6}(ms|[dhms])[0-9.]{0,4}(ms|[dhms])?", fullmatch=True))
def test_any_text_is_read_as_a_duration_in_bounds_or_refused(text: str) -> None:
    try:
        ms = parse_duration_ms(text, field="interval")
    except InvalidInput:
        return

    assert 1 <= ms <= DURATION_MS_MAX
