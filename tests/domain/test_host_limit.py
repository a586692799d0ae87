"""What an operator allows for hosts: how it is written, which hosts it is for, and that no rate is ever exceeded."""

import re
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.stage import DAY

from mainspring.domain.schedule.host_limit import HostLimit, Rate, limit_of, parse_host_limits

rates = st.builds(Rate, st.integers(1, 50), st.sampled_from([1, 60, 3_600]), st.integers(1, 20))


def test_limits_are_read_as_they_are_written() -> None:
    text = "*.example.com = 20, 5/s, burst 10; api.example.org:443 = 8; [::1]:8080 = 30/m; * = 100/h"

    limits = parse_host_limits(text)

    assert limits == (
        HostLimit("*.example.com", 20, Rate(5, 1, 10)),
        HostLimit("api.example.org:443", 8),
        HostLimit("[::1]:8080", rate=Rate(30, 60)),
        HostLimit("*", rate=Rate(100, 3_600)),
    )
    assert "; ".join(map(str, limits)) == text
    assert parse_host_limits(" ; ") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("example.com", "'example.com' has no =; an entry is HOST = LIMITS; write it like "),
        ("https://example.com=5", "'https://example.com' is not a host; a host is a name or address with * for "),
        ("example.com=five", "'five' of 'example.com=five' is not a limit, or is given twice; a limit is a number "),
        ("example.com=5,6", "'6' of 'example.com=5,6' is not a limit, or is given twice"),
        ("example.com=5/d", "'5/d' of 'example.com=5/d' is not a limit"),
        ("example.com=", "'' of 'example.com=' is not a limit"),
        ("example.com=5,burst 3", "has a burst without a rate; a burst belongs to a rate; add one, like 5/s"),
        ("example.com=0", "'0' is out of bounds; a limit is from 1 to 100,000; choose another"),
        ("a=1;a=2", "'a' is given twice; each pattern has one entry; join the two"),
    ],
)
def test_what_is_no_limit_is_refused_with_the_rule_and_the_way_out(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_host_limits(text)


@pytest.mark.parametrize(
    ("pattern", "host", "is_meant"),
    [
        ("*.example.com", "api.example.com:443", True),
        ("*.example.com", "a.b.example.com:80", True),
        ("*.example.com", "example.com:443", False),
        ("*.example.com", "example.com.evil.org:443", False),
        ("example.com", "example.com:8080", True),
        ("example.com:443", "example.com:8080", False),
        ("example.com:*", "example.com:8080", True),
        ("a_b.example.com", "axb.example.com:80", False),
        ("10.0.*", "10.0.3.4:80", True),
        ("[::1]", "[::1]:80", True),
        ("*", "anything:1", True),
    ],
)
def test_pattern_is_for_the_hosts_it_matches(pattern: str, host: str, is_meant: bool) -> None:
    limit = HostLimit(pattern, 1)

    assert (limit_of(host, (limit,)) == limit) is is_meant


def test_first_pattern_that_matches_counts() -> None:
    limits = parse_host_limits("api.example.com=2; *.example.com=9")

    assert limit_of("api.example.com:443", limits) == limits[0]
    assert limit_of("www.example.com:443", limits) == limits[1]
    assert limit_of("example.org:443", limits) is None


@given(rates, st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(0, 5)), max_size=60))
def test_no_span_sees_more_starts_than_the_rate_and_one_burst(rate: Rate, asked: list[tuple[int, int]]) -> None:
    starts: list[datetime] = []
    now, paid = DAY, None
    for wait_us, wanted in asked:
        now += timedelta(microseconds=wait_us)
        begun = min(wanted, rate.starts_left(paid, now))
        paid = rate.paid_after(paid, now, begun)
        starts += [now] * begun

    for first, begin in enumerate(starts):
        for last in range(first, len(starts)):
            span_s = (starts[last] - begin).total_seconds()
            assert last - first + 1 <= span_s * rate.starts / rate.per_s + rate.burst


@given(rates, st.integers(1, 20))
def test_rate_that_is_used_up_opens_again_when_it_says(rate: Rate, again: int) -> None:
    paid = rate.paid_after(None, DAY, rate.burst)
    opens_at = rate.opens_at(paid, DAY)

    assert rate.starts_left(paid, DAY) == 0
    assert rate.starts_left(paid, opens_at - timedelta(microseconds=1)) == 0
    assert rate.starts_left(paid, opens_at) == 1
    assert rate.starts_left(paid, DAY + again * rate.burst * rate.gap) == rate.burst


def test_instant_that_another_rate_left_far_ahead_holds_nobody_up() -> None:
    slow, quick = Rate(1, 3_600), Rate(10)
    paid = slow.paid_after(None, DAY, 1)

    assert quick.starts_left(paid, DAY) == 1
    assert quick.paid_after(paid, DAY, 1) == DAY + timedelta(milliseconds=100)
