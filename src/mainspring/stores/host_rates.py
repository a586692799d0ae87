"""Limits and rates of hosts, as both databases need them for a claim."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import Caps, SlowRoom


class HostRates(NamedTuple):
    """The times up to which starts are paid for, by host; hosts with no start left; when the first of them has one."""

    paid: dict[str, datetime]
    shut: tuple[str, ...] = ()
    opens_at: datetime | None = None

    def starts_left(self, caps: Caps, now: datetime) -> dict[str, int]:
        rates = {host: caps.rate_of(host) for host in self.paid}
        return {host: rate.starts_left(self.paid[host], now) for host, rate in rates.items() if rate is not None}


def host_rates(caps: Caps, paid: dict[str, datetime], now: datetime) -> HostRates:
    """Rows of hosts that no longer have a rate have no effect."""
    rated = {host: (at, rate) for host, at in paid.items() if (rate := caps.rate_of(host)) is not None}
    shut = {host: rate.opens_at(at, now) for host, (at, rate) in rated.items() if rate.starts_left(at, now) <= 0}
    return HostRates({host: at for host, (at, _) in rated.items()}, tuple(shut), min(shut.values(), default=None))


def paid_after(caps: Caps, claims: Sequence[Claim], paid: dict[str, datetime], now: datetime) -> dict[str, datetime]:
    """The times up to which starts are paid for, including these starts, for hosts that have a rate."""
    starts = Counter(claim.endpoint.host for claim in claims)
    rates = {host: caps.rate_of(host) for host in starts}
    return {
        host: rate.paid_after(paid.get(host), now, starts[host]) for host, rate in rates.items() if rate is not None
    }


def host_caps(caps: Caps) -> tuple[list[str], int, list[int]]:
    """Patterns for LIKE, the limit of all other hosts, and the limit of each pattern."""
    own = [caps.per_host if limit.concurrency is None else limit.concurrency for limit in caps.hosts]
    return [limit.like for limit in caps.hosts], caps.per_host, own


def shut_to_slow(slow: SlowRoom | None) -> Sequence[str]:
    """Hosts whose endpoints need not be read: they are slow right now, and slow runs have used their share."""
    return tuple(slow.hosts) if slow is not None and slow.slow <= 0 else ()


def caps_from(text: object) -> Caps:
    """The limits that a scheduler stored when it started; the defaults if none has done so."""
    return msgspec.json.decode(str(text), type=Caps) if text else Caps()


def earliest(*instants: datetime | None) -> datetime | None:
    return min((at for at in instants if at is not None), default=None)
