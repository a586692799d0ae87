"""Limits per host: concurrent runs, and starts per time. Pure.

    *.example.com = 20, 5/s, burst 10; api.example.org:443 = 8; * = 600/m

The first pattern that matches a host applies, to each host and port separately. A rate is a token bucket, stored as one
time per host: `paid_until`, up to which its starts are paid for. Each start moves it forward by the gap of the rate; it
may be ahead of now by no more than the burst. So in any span of t seconds at most `rate x t + burst` runs start, in all
processes together.
"""

import re
from datetime import datetime, timedelta
from functools import lru_cache

from msgspec import Struct

CONCURRENCY_MAX = 100_000
STARTS_MAX = 1_000_000
_UNITS_S = {"s": 1, "m": 60, "h": 3_600}
_UNIT_NAMES = {1: "s", 60: "m", 3_600: "h"}
_PATTERN = re.compile(r"(?:\[[0-9a-f:*]+\]|[a-z0-9_.*-]+)(?::(?:[0-9]{1,5}|\*))?")
_NUMBER = re.compile(r"[0-9]{1,9}")
_RATE = re.compile(r"([0-9]{1,9}) ?/ ?([smh])")
_BURST = re.compile(r"burst ([0-9]{1,9})")
EXAMPLE = "*.example.com = 20, 5/s, burst 10; api.example.org:443 = 8"
STEP_MAX = timedelta(seconds=1)  # a clock set back by less is waited for
MICROSECOND = timedelta(microseconds=1)


class Rate(Struct, frozen=True):
    """At most `starts` in `per_s` seconds, evenly spaced; after an idle time `burst` of them at once."""

    starts: int
    per_s: int = 1
    burst: int = 1

    @property
    def gap(self) -> timedelta:
        """Rounded up to a microsecond, so that the rate is never exceeded."""
        return -(-self.per_s * 1_000_000 // self.starts) * MICROSECOND

    def starts_left(self, paid_until: datetime | None, now: datetime) -> int:
        """The number of runs that may start now."""
        return max(0, (now + self.burst * self.gap - self._counted(paid_until, now)) // self.gap)

    def paid_after(self, paid_until: datetime | None, now: datetime, starts: int) -> datetime:
        """The time up to which this many further starts are paid for."""
        return self._counted(paid_until, now) + starts * self.gap

    def opens_at(self, paid_until: datetime, now: datetime) -> datetime:
        """When the next run may start."""
        return max(now, self._counted(paid_until, now) - (self.burst - 1) * self.gap)

    def _counted(self, paid_until: datetime | None, now: datetime) -> datetime:
        """Ignores a time farther ahead than the burst: a slower rate or a clock that was set back left it."""
        if paid_until is None or paid_until > now + self.burst * self.gap + STEP_MAX:
            return now
        return max(paid_until, now)

    def __str__(self) -> str:
        burst = f", burst {self.burst}" if self.burst > 1 else ""
        return f"{self.starts}/{_UNIT_NAMES[self.per_s]}{burst}"


class HostLimit(Struct, frozen=True):
    """The limits of hosts that match `pattern`. None: the default limit, or no rate."""

    pattern: str
    concurrency: int | None = None
    rate: Rate | None = None

    @property
    def of_host_and_port(self) -> str:
        """The pattern with its port; a pattern without a port covers every port."""
        has_port = re.search(r":(?:[0-9]+|\*)\Z", self.pattern) and not self.pattern.endswith("]")
        return self.pattern if has_port else f"{self.pattern}:*"

    @property
    def like(self) -> str:
        """The pattern in the syntax of SQL's LIKE."""
        return re.sub(r"([\\%_])", r"\\\1", self.of_host_and_port).replace("*", "%")

    def __str__(self) -> str:
        given = [str(part) for part in (self.concurrency, self.rate) if part is not None]
        return f"{self.pattern} = {', '.join(given)}"


HostLimits = tuple[HostLimit, ...]


@lru_cache(maxsize=65_536)
def limit_of(host: str, limits: HostLimits) -> HostLimit | None:
    """The first limit whose pattern matches a `host:port`."""
    return next((limit for limit in limits if _expression(limit.of_host_and_port).fullmatch(host)), None)


@lru_cache(maxsize=1_024)
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)


def parse_host_limits(text: str) -> HostLimits:
    """Parses the setting. ValueError states what is wrong, the rule and the fix."""
    limits: list[HostLimit] = []
    for entry in text.split(";"):
        if not entry.strip():
            continue
        limit = _parse_entry(entry.strip())
        if limit.pattern in [each.pattern for each in limits]:
            raise ValueError(f"{limit.pattern!r} is given twice; each pattern has one entry; join the two")
        limits.append(limit)
    return tuple(limits)


def _parse_entry(entry: str) -> HostLimit:
    pattern, equals, given = entry.partition("=")
    pattern = pattern.strip().lower()
    if not equals:
        raise ValueError(f"{entry!r} has no =; an entry is HOST = LIMITS; write it like {EXAMPLE}")
    if not _PATTERN.fullmatch(pattern):
        raise ValueError(
            f"{pattern!r} is not a host; a host is a name or address with * for any characters and an "
            f"optional :port, without http://; write it like {EXAMPLE}"
        )
    concurrency: int | None = None
    rate: tuple[int, int] | None = None
    burst: int | None = None
    for part in (part.strip().lower() for part in given.split(",")):
        if _NUMBER.fullmatch(part) and concurrency is None:
            concurrency = _bounded(part, part, CONCURRENCY_MAX)
        elif (found := _RATE.fullmatch(part)) and rate is None:
            rate = _bounded(part, found[1], STARTS_MAX), _UNITS_S[found[2]]
        elif (found := _BURST.fullmatch(part)) and burst is None:
            burst = _bounded(part, found[1], STARTS_MAX)
        else:
            raise ValueError(
                f"{part!r} of {entry!r} is not a limit, or is given twice; a limit is a number of "
                f"concurrent runs, a rate like 5/s, 30/m or 100/h, or a burst; write it like {EXAMPLE}"
            )
    if burst is not None and rate is None:
        raise ValueError(f"{entry!r} has a burst without a rate; a burst belongs to a rate; add one, like 5/s")
    return HostLimit(pattern, concurrency, None if rate is None else Rate(*rate, burst or 1))


def _bounded(part: str, digits: str, most: int) -> int:
    value = int(digits)
    if not 1 <= value <= most:
        raise ValueError(f"{part!r} is out of bounds; a limit is from 1 to {most:,}; choose another")
    return value
