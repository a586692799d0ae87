"""Rates: exact, told, and each key's and tenant's own."""

from dataclasses import dataclass

import pytest

from mainspring.api.rate_limit import BUCKETS_MAX, Limits
from mainspring.domain.access.scope import Principal
from mainspring.domain.errors import TooManyRequests


@dataclass
class Seconds:
    at: float = 0.0

    def __call__(self) -> float:
        return self.at


def principal(actor: str = "key:a", tenant: str = "default") -> Principal:
    return Principal(tenant, actor, frozenset())


def allowed(limits: Limits, who: Principal) -> bool:
    try:
        limits.spend(who)
    except TooManyRequests:
        return False
    return True


def test_twice_the_rate_for_a_minute_is_allowed_the_burst_and_the_rate_within_one_percent() -> None:
    clock = Seconds()
    limits = Limits(600, 0, clock)
    passed = 0
    for _ in range(1_200):
        passed += allowed(limits, principal())
        clock.at += 60 / 1_200

    assert passed == pytest.approx(600 + 600, rel=0.01)
    for _ in range(1_200):  # the burst is spent: from here on exactly the rate
        passed += allowed(limits, principal())
        clock.at += 60 / 1_200
    assert passed == pytest.approx(600 + 1_200, rel=0.01)


def test_whoever_waits_as_long_as_told_is_let_through() -> None:
    clock = Seconds()
    limits = Limits(10, 0, clock)
    for _ in range(10):
        limits.spend(principal())
    with pytest.raises(TooManyRequests) as refused:
        limits.spend(principal())
    clock.at += refused.value.retry_after_s

    assert allowed(limits, principal())


def test_a_key_does_not_spend_anothers_but_its_tenants() -> None:
    limits = Limits(5, 8, Seconds())

    assert [allowed(limits, principal("key:a")) for _ in range(6)] == [True] * 5 + [False]
    assert [allowed(limits, principal("key:b")) for _ in range(4)] == [True] * 3 + [False]
    assert allowed(limits, principal("key:a", "other"))


def test_no_limit_has_no_headers() -> None:
    assert Limits(0, 0, Seconds()).spend(principal()) == {}


def test_headers_tell_the_tightest_limit() -> None:
    assert Limits(60, 10, Seconds()).spend(principal()) == {
        "RateLimit-Limit": "10",
        "RateLimit-Remaining": "9",
        "RateLimit-Reset": "6",
        "RateLimit-Policy": "10;w=60",
    }


def test_memory_is_bounded_however_many_keys_come() -> None:
    limits = Limits(5, 0, Seconds())
    for number in range(BUCKETS_MAX + 100):
        limits.spend(principal(f"key:{number}"))

    assert len(limits._buckets) == BUCKETS_MAX
