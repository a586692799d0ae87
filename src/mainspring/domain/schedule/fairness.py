"""Choose which of the due endpoints get the free places. Pure.

Tenants take turns: the first place goes to the tenant with the fewest runs in flight, then by age. A tenant and a host
get no more places than their limits, and a host no more starts than its rate, so a hanging target blocks only its own
places and one tenant's backlog delays no other tenant.

A run is quick if the last run of its endpoint took less than SLOW_AFTER_MS, slow if it took longer, and new if there
was none. While a call that should be quick is in flight for longer, every run against its host is slow. A slow run
starts while runs that are not quick hold less than three quarters of the places, of a scheduler and of a tenant's
limit; a new one while they hold less than seven eighths. So quick runs find a place regardless of how many calls hang,
and a new endpoint finds one beside slow ones.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import IntEnum
from typing import NamedTuple

from msgspec import Struct

from mainspring.domain.schedule.host_limit import HostLimits, Rate, limit_of

# Defaults of the limits; `Settings` and `SchedulerOptions` take them from here. A call in flight costs 13 kB over HTTP
# and one open file, measured with 4,000 of them.
PLACES = 1_000
PER_TENANT = 1_000
PER_HOST = 50  # one hanging host takes a twentieth of the places of one scheduler
SLOW_AFTER_MS = 2_000
NOT_SLOW = 4  # one place in four is for runs that are not slow
NOT_NEW = 8  # half of those are for quick runs only


class EndpointPace(IntEnum):
    """How long a run is expected to take. The stores' queries use the numbers."""

    QUICK = 0
    NEW = 1
    SLOW = 2


class Candidate(NamedTuple):
    id: str
    tenant_id: str
    host: str
    claimable_at: datetime
    pace: int = EndpointPace.QUICK  # by its last run


class Caps(Struct, frozen=True):
    """Maximum concurrent runs across all schedulers: for one tenant, and against one `host:port`.

    `hosts` are the limits and rates that an operator set for particular hosts.
    """

    per_tenant: int = PER_TENANT
    per_host: int = PER_HOST
    hosts: HostLimits = ()

    def of_host(self, host: str) -> int:
        limit = limit_of(host, self.hosts) if self.hosts else None
        return self.per_host if limit is None or limit.concurrency is None else limit.concurrency

    def rate_of(self, host: str) -> Rate | None:
        limit = limit_of(host, self.hosts) if self.hosts else None
        return None if limit is None else limit.rate

    @property
    def has_rates(self) -> bool:
        return any(limit.rate is not None for limit in self.hosts)


class SlowRoom(Struct, frozen=True):
    """How many slow and new runs the claiming process may still start, and the hosts that hang right now.

    A run of either kind counts against both.
    """

    slow: int
    new: int
    hosts: frozenset[str] = frozenset()

    @property
    def pace_max(self) -> EndpointPace:
        """The slowest pace at which a run may still start."""
        return EndpointPace.SLOW if self.slow > 0 else EndpointPace.NEW if self.new > 0 else EndpointPace.QUICK


Busy = Mapping[tuple[str, str], int]  # runs in flight for each (tenant, host); "" where only the other one is counted


def for_slow(places: int) -> int:
    """How many of these places may be taken when a slow run starts; fewer than four are not divided."""
    return places - places // NOT_SLOW


def for_new(places: int) -> int:
    """How many of these places may be taken when the first run of an endpoint starts."""
    return places - places // NOT_NEW


def pace_of(last_duration_ms: int | None) -> EndpointPace:
    if last_duration_ms is None:
        return EndpointPace.NEW
    return EndpointPace.QUICK if last_duration_ms < SLOW_AFTER_MS else EndpointPace.SLOW


def pick(
    candidates: Iterable[Candidate],
    busy: Busy,
    caps: Caps,
    limit: int,
    slow: SlowRoom | None = None,
    slow_busy: Mapping[str, int] | None = None,
    starts_left: Mapping[str, int] | None = None,
) -> list[str]:
    """Chooses the ids to claim, at most `limit`.

    `slow_busy` counts runs in flight per tenant that are not quick; `starts_left` is what the rate of a host still
    allows, for hosts that have used a part of it.
    """
    tenants: Counter[str] = Counter()
    hosts: Counter[str] = Counter()
    for (tenant_id, host), count in busy.items():
        tenants[tenant_id] += count
        hosts[host] += count
    room = _Room(caps, slow, Counter(slow_busy), dict(starts_left or {}))
    picked: list[str] = []
    for candidate in _in_turn(candidates, tenants):
        if len(picked) == limit:
            break
        if hosts[candidate.host] >= caps.of_host(candidate.host) or tenants[candidate.tenant_id] >= caps.per_tenant:
            continue
        if not room.takes(candidate):
            continue
        hosts[candidate.host] += 1
        tenants[candidate.tenant_id] += 1
        picked.append(candidate.id)
    return picked


def _in_turn(candidates: Iterable[Candidate], tenants: Mapping[str, int]) -> list[Candidate]:
    turns: list[tuple[int, datetime, Candidate]] = []
    waiting = Counter(tenants)
    for candidate in sorted(candidates, key=lambda each: each.claimable_at):
        waiting[candidate.tenant_id] += 1
        turns.append((waiting[candidate.tenant_id], candidate.claimable_at, candidate))
    turns.sort()
    return [candidate for _, _, candidate in turns]


class _Room:
    """What rates and the shares of slow and new runs leave, as places are given away."""

    def __init__(self, caps: Caps, slow: SlowRoom | None, slow_busy: Counter[str], starts_left: dict[str, int]) -> None:
        self._caps = caps
        self._has_rates = caps.has_rates
        self._slow = slow
        self._taken = 0
        self._slow_by_tenant = slow_busy
        self._per_tenant = {EndpointPace.NEW: for_new(caps.per_tenant), EndpointPace.SLOW: for_slow(caps.per_tenant)}
        self._starts_left = starts_left

    def takes(self, candidate: Candidate) -> bool:
        """Whether the candidate may start; if so, counts it."""
        slow = self._slow
        pace = (
            EndpointPace.QUICK
            if slow is None
            else EndpointPace.SLOW
            if candidate.host in slow.hosts
            else EndpointPace(candidate.pace)
        )
        if slow is not None and pace:
            left = slow.slow if pace is EndpointPace.SLOW else slow.new
            if self._taken >= left or self._slow_by_tenant[candidate.tenant_id] >= self._per_tenant[pace]:
                return False
        if self._has_rates and not self._pays(candidate.host):
            return False
        if pace:
            self._taken += 1
            self._slow_by_tenant[candidate.tenant_id] += 1
        return True

    def _pays(self, host: str) -> bool:
        if (rate := self._caps.rate_of(host)) is None:
            return True
        left = self._starts_left.get(host, rate.burst)
        if left <= 0:
            return False
        self._starts_left[host] = left - 1
        return True
