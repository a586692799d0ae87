"""Rate limits of one key and one tenant: two token buckets, kept in this process.

A bucket holds as many requests as its rate allows in a minute and refills evenly. With N server processes behind one
URL a tenant gets up to N times the rate: this protects against overload, it is not a quota.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from mainspring.domain.access.scope import Principal
from mainspring.domain.errors import TooManyRequests

BUCKETS_MAX = 10_000  # the least recently seen are dropped, which resets their bucket


class Limits:
    def __init__(
        self, per_minute: int, per_minute_of_tenant: int, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """A rate of 0 disables the limit."""
        self._rates = {"key": per_minute, "tenant": per_minute_of_tenant}
        self._monotonic_s = monotonic_s
        self._buckets: OrderedDict[tuple[str, str, str], tuple[float, float]] = OrderedDict()  # tokens left, at

    def spend(self, principal: Principal) -> dict[str, str]:
        """Takes one request from both buckets; returns the headers with what is left. Raises TooManyRequests."""
        places = [("key", principal.tenant_id, principal.actor), ("tenant", principal.tenant_id, "")]
        left = {place: self._left(place) for place in places if self._rates[place[0]]}
        if not left:
            return {}
        tightest = min(left, key=lambda place: left[place])
        rate = self._rates[tightest[0]]
        if left[tightest] < 1:
            wait_s = math.ceil((1 - left[tightest]) * 60 / rate)
            raise TooManyRequests(
                f"more than {rate} requests a minute from one {tightest[0]}; wait {wait_s} s, then send more slowly",
                retry_after_s=wait_s,
            )
        now = self._monotonic_s()
        for place, tokens in left.items():
            self._buckets[place] = (tokens - 1, now)
            self._buckets.move_to_end(place)
        while len(self._buckets) > BUCKETS_MAX:
            self._buckets.popitem(last=False)
        remaining = int(left[tightest] - 1)
        full_in_s = math.ceil((rate - remaining) * 60 / rate)
        return {
            "RateLimit-Limit": str(rate),
            "RateLimit-Remaining": str(remaining),
            "RateLimit-Reset": str(full_in_s),
            "RateLimit-Policy": f"{rate};w=60",
        }

    def _left(self, place: tuple[str, str, str]) -> float:
        rate = float(self._rates[place[0]])
        tokens, at = self._buckets.get(place, (rate, self._monotonic_s()))
        return min(rate, tokens + (self._monotonic_s() - at) * rate / 60)
