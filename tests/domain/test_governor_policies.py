"""Backoff and jitter as policies of an endpoint: the monitor's exact formula, and how jitter is drawn."""

from collections import Counter
from datetime import datetime, timedelta
from fractions import Fraction
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.stage import DAY, at
from tests.stores.world import an_endpoint

from mainspring.domain.endpoint import INTERVAL_MS_MAX, INTERVAL_MS_MIN, BackoffPolicy, Endpoint
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.governor import plan_next_run

HOUR_MS = 3_600_000
ENDPOINTS = 4_000


def delay_ms(endpoint: Endpoint, now: datetime = DAY) -> int:
    delay = plan_next_run(now, endpoint, CRON).next_run_at - now
    assert delay % timedelta(milliseconds=1) == timedelta(0), "a delay is whole milliseconds"
    return delay // timedelta(milliseconds=1)


def monitor(number: int, interval_ms: int, failures: int = 0, **fields: object) -> Endpoint:
    return an_endpoint(
        "watched",
        id=f"ep_{number}",
        backoff=BackoffPolicy.MONITOR,
        interval_ms=interval_ms,
        failure_count=failures,
        **fields,
    )


def allowed_ms(base: int, failures: int) -> range:
    """Every delay the formula of the specification allows, by rational arithmetic."""
    target = min(Fraction(base) * 2**failures, Fraction(max(base, HOUR_MS)))
    tenth = Fraction(1, 10) * target
    whole = tenth.numerator // tenth.denominator
    half_up = whole + 1 if tenth - whole >= Fraction(1, 2) else whole
    reach = max(1, half_up)
    return range(max(5_000, int(target) - reach), max(5_000, int(target) + reach) + 1)


@pytest.mark.parametrize(
    ("base", "failures", "lowest", "highest"),
    [
        pytest.param(60_000, 0, 54_000, 66_000, id="a minute"),
        pytest.param(60_000, 1, 108_000, 132_000, id="a minute after one failure"),
        pytest.param(60_000, 5, 1_728_000, 2_112_000, id="a minute after five failures"),
        pytest.param(60_000, 6, 3_240_000, 3_960_000, id="capped at an hour"),
        pytest.param(60_000, 500, 3_240_000, 3_960_000, id="capped at an hour for ever"),
        pytest.param(2 * HOUR_MS, 0, 6_480_000, 7_920_000, id="a base above an hour"),
        pytest.param(2 * HOUR_MS, 9, 6_480_000, 7_920_000, id="a base above an hour never backs off"),
        pytest.param(5_004, 0, 5_000, 5_504, id="a tenth of 5004 is 500.4, rounded down"),
        pytest.param(5_005, 0, 5_000, 5_506, id="a tenth of 5005 is 500.5, rounded half up"),
        pytest.param(100, 0, 5_000, 5_000, id="never below five seconds"),
        pytest.param(5_000, 0, 5_000, 5_500, id="five seconds with only the upper half"),
    ],
)
def test_monitor_delays_lie_between_the_ends_of_the_formula(
    base: int, failures: int, lowest: int, highest: int
) -> None:
    allowed = allowed_ms(base, failures)
    delays = {delay_ms(monitor(number, base, failures)) for number in range(200)}

    assert (min(allowed), max(allowed)) == (lowest, highest)
    assert all(delay in allowed for delay in delays)


@given(
    number=st.integers(0, 10**6),
    base=st.one_of(st.integers(INTERVAL_MS_MIN, 20_000), st.integers(INTERVAL_MS_MIN, 200_000)),
    failures=st.integers(0, 12),
)
def test_monitor_delay_is_one_the_formula_allows(number: int, base: int, failures: int) -> None:
    assert delay_ms(monitor(number, base, failures)) in allowed_ms(base, failures)


@pytest.mark.parametrize(
    ("base", "failures", "target", "reach"),
    [
        pytest.param(60_000, 0, 60_000, 6_000, id="a minute"),
        pytest.param(60_000, 9, HOUR_MS, 360_000, id="the cap"),
        pytest.param(5_704, 0, 5_704, 570, id="a tenth of 5704 is 570.4, rounded down"),
        pytest.param(5_705, 0, 5_705, 571, id="a tenth of 5705 is 570.5, rounded half up"),
    ],
)
def test_jitter_is_drawn_from_a_hash_of_endpoint_slot_and_salt(
    base: int, failures: int, target: int, reach: int
) -> None:
    for number in range(20):
        digest = sha256(f"ep_{number}|1735689600000000|monitor".encode()).digest()
        offset = int.from_bytes(digest[:8], "big") % (2 * reach + 1) - reach

        assert delay_ms(monitor(number, base, failures)) == target + offset


def test_both_ends_of_the_jitter_range_are_reached_and_nothing_lies_beyond() -> None:
    delays = {delay_ms(monitor(number, 88, failures=6)) for number in range(ENDPOINTS * 5)}
    reach = 563  # a tenth of 5,632

    assert delays == set(range(5_632 - reach, 5_632 + reach + 1))


def test_jitter_is_uniform_over_endpoints() -> None:
    delays = [delay_ms(monitor(number, 60_000)) for number in range(ENDPOINTS)]
    buckets = Counter((delay - 54_000) * 12 // 12_001 for delay in delays)
    expected = ENDPOINTS / 12
    chi_squared = sum((buckets[bucket] - expected) ** 2 / expected for bucket in range(12))

    assert chi_squared < 31.3  # 11 degrees of freedom, one in a thousand


def test_jitter_of_one_endpoint_varies_from_slot_to_slot_and_repeats_for_one_slot() -> None:
    endpoint = monitor(7, 60_000)
    slots = [DAY + timedelta(minutes=number) for number in range(100)]

    assert len({delay_ms(endpoint, slot) for slot in slots}) > 90
    assert [delay_ms(endpoint, slot) for slot in slots] == [delay_ms(monitor(7, 60_000), slot) for slot in slots]


def test_jitter_comes_before_the_limits() -> None:
    clamped = [
        plan_next_run(DAY, monitor(number, 60_000, min_interval_ms=60_000, max_interval_ms=61_000), CRON)
        for number in range(300)
    ]

    assert all(at("00:01:00") <= decision.next_run_at <= at("00:01:01") for decision in clamped)
    assert {decision.source for decision in clamped} == {"clamped-min", "clamped-max", "baseline-interval"}


def test_default_policy_has_no_jitter_unless_asked_for() -> None:
    assert {delay_ms(an_endpoint(interval_ms=60_000)) for _ in range(50)} == {60_000}


@given(number=st.integers(0, 10**6), jitter_ms=st.integers(1, 30_000), failures=st.integers(0, 9))
def test_default_jitter_stays_within_its_reach_of_the_backed_off_interval(
    number: int, jitter_ms: int, failures: int
) -> None:
    endpoint = an_endpoint(id=f"ep_{number}", interval_ms=60_000, jitter_ms=jitter_ms, failure_count=failures)
    middle = 60_000 * 2 ** min(failures, 5)

    assert middle - jitter_ms <= delay_ms(endpoint) <= middle + jitter_ms


def test_both_ends_of_the_default_jitter_are_reached() -> None:
    delays = {delay_ms(an_endpoint(id=f"ep_{number}", interval_ms=100, jitter_ms=3)) for number in range(300)}

    assert delays == set(range(97, 104))


def test_jitter_larger_than_its_interval_still_waits_a_millisecond() -> None:
    delays = {delay_ms(an_endpoint(id=f"ep_{number}", interval_ms=100, jitter_ms=10_000)) for number in range(300)}

    assert min(delays) == 1


def test_a_jittered_cron_is_never_early_and_reaches_its_whole_span() -> None:
    delays = {
        delay_ms(an_endpoint(id=f"ep_{number}", cron="0 * * * *", jitter_ms=10)) - HOUR_MS for number in range(500)
    }

    assert delays == set(range(11))


@given(number=st.integers(0, 10**6), jitter_ms=st.integers(0, HOUR_MS))
def test_cron_jitter_only_delays(number: int, jitter_ms: int) -> None:
    endpoint = an_endpoint(id=f"ep_{number}", cron="*/5 * * * *", jitter_ms=jitter_ms)

    assert 300_000 <= delay_ms(endpoint) <= 300_000 + jitter_ms


@given(base=st.integers(INTERVAL_MS_MIN, INTERVAL_MS_MAX), failures=st.integers(0, 100))
def test_monitor_delay_is_never_below_five_seconds_nor_a_tenth_beyond_its_cap(base: int, failures: int) -> None:
    cap = max(base, HOUR_MS)

    assert 5_000 <= delay_ms(monitor(1, base, failures)) <= max(5_000, cap + cap // 10 + 1)
