"""Explain what due endpoints that have not started are waiting for. Pure.

A claim passes over an endpoint for one of these reasons. The first match is reported, the narrowest first: an endpoint
behind a full host waits for that host, even if other limits are reached too.

    scheduler    no scheduler is running
    host         the host has its maximum of runs in flight
    rate         the rate of the host allows no start yet
    tenant       the tenant has its maximum of runs in flight
    tenant_slow  runs of the tenant that are not quick have used the share of slow runs of its limit
    tenant_new   the same for the first runs of endpoints
    slow         runs that are not quick have used the share of slow runs of the places of every scheduler
    new          the same for the first runs of endpoints
    places       every place of every scheduler is taken

Without any of these, the endpoint starts with the next claim.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.schedule.fairness import Caps, EndpointPace, for_new, for_slow, pace_of
from mainspring.domain.schedule.host_limit import limit_of

UNBOUNDED = 1 << 62


class Cause(StrEnum):
    """The reasons, in the order in which they are checked."""

    SCHEDULER = "scheduler"
    HOST = "host"
    RATE = "rate"
    TENANT = "tenant"
    SLOW_OF_TENANT = "tenant_slow"
    NEW_OF_TENANT = "tenant_new"
    SLOW = "slow"
    NEW = "new"
    PLACES = "places"


_PACES = {
    Cause.SLOW_OF_TENANT: EndpointPace.SLOW,
    Cause.NEW_OF_TENANT: EndpointPace.NEW,
    Cause.SLOW: EndpointPace.SLOW,
    Cause.NEW: EndpointPace.NEW,
}
_SHARES = {
    Cause.SLOW_OF_TENANT: for_slow,
    Cause.NEW_OF_TENANT: for_new,
    Cause.SLOW: for_slow,
    Cause.NEW: for_new,
}


class Waiting(Struct, frozen=True, order=True):
    """Endpoints of one tenant, at one host, that are due and not started."""

    tenant_id: str
    host: str
    pace: int  # see `Pace`
    count: int
    oldest_at: datetime


class Flight(Struct, frozen=True, order=True):
    """Runs in flight of one tenant, against one host, in one scheduler."""

    tenant_id: str
    host: str
    worker: str
    is_slow: bool  # by the last run of the endpoint, or new
    is_hanging: bool  # in flight for longer than a quick run takes
    runs: int


class Queue(Struct, frozen=True):
    """What a store knows about waiting endpoints: limits, runs in flight, and the places of each live scheduler."""

    now: datetime
    waiting: tuple[Waiting, ...] = ()
    flights: tuple[Flight, ...] = ()
    places: dict[str, int] = {}
    paid_until: dict[str, datetime] = {}
    caps: Caps = Caps()


class QueueWait(Struct, frozen=True):
    """What endpoints wait for, since when, how many, and which setting to change.

    `name` is the host or the tenant; `limit` is the maximum in flight, or the rate as written.
    """

    cause: Cause
    name: str
    limit: str
    in_flight: int
    waiting: int
    since: datetime
    setting: str
    by_tenant: dict[str, int] = {}


def waits(queue: Queue) -> list[QueueWait]:
    """Everything that endpoints wait for, the longest queue first."""
    house = _House(queue)
    held: dict[tuple[Cause, str], list[Waiting]] = defaultdict(list)
    for group, reason in house.reasons():
        held[reason].append(group)
    found = [house.wait(*reason, groups) for reason, groups in held.items()]
    return sorted(found, key=lambda wait: (-wait.waiting, wait.cause, wait.name))


def wait_of(endpoint: Endpoint, queue: Queue) -> QueueWait | None:
    """What one due endpoint waits for; None: it starts with the next claim."""
    own = endpoint.tenant_id, endpoint.host, pace_of(endpoint.last_duration_ms)
    for group, (cause, name) in _House(queue).reasons():
        if (group.tenant_id, group.host, group.pace) == own:
            return next(wait for wait in waits(queue) if (wait.cause, wait.name) == (cause, name))
    return None


Reason = tuple[Cause, str]


class _House:
    """Runs in flight and waiting endpoints, counted for every kind of limit."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        flights = queue.flights
        self._hanging = {flight.host for flight in flights if flight.is_hanging and not flight.is_slow}
        self._of_host = _runs(flights, lambda flight: flight.host)
        self._of_tenant = _runs(flights, lambda flight: flight.tenant_id)
        self._of_worker = _runs(flights, lambda flight: flight.worker)
        slow = [flight for flight in flights if flight.is_slow or flight.is_hanging]
        self._slow_of_tenant = _runs(slow, lambda flight: flight.tenant_id)
        self._slow_of_worker = _runs(slow, lambda flight: flight.worker)

    def reasons(self) -> Iterator[tuple[Waiting, Reason]]:
        """Each group that waits for longer than until the next claim, and its reason.

        A group waits if it has more endpoints than there is room. Endpoints that wait for a narrower reason do not
        count.
        """
        left = list(self._queue.waiting)
        for cause in Cause:
            names = {id(group): self._name(cause, group) for group in left}
            waiting: Counter[str] = Counter()
            for group in left:
                if (name := names[id(group)]) is not None:
                    waiting[name] += group.count
            passed = []
            for group in left:
                name = names[id(group)]
                if name is not None and waiting[name] > self._room(cause, name):
                    yield group, (cause, name)
                else:
                    passed.append(group)
            left = passed

    def _name(self, cause: Cause, group: Waiting) -> str | None:
        """The host or tenant whose room the group needs; "" for the room of all, None if it needs none."""
        match cause:
            case Cause.HOST:
                return group.host
            case Cause.RATE:
                return group.host if self._queue.caps.rate_of(group.host) is not None else None
            case Cause.TENANT:
                return group.tenant_id
            case Cause.SLOW_OF_TENANT | Cause.NEW_OF_TENANT:
                return group.tenant_id if self._pace(group) is _PACES[cause] else None
            case Cause.SLOW | Cause.NEW:
                return "" if self._pace(group) is _PACES[cause] else None
            case _:
                return ""

    def _pace(self, group: Waiting) -> EndpointPace:
        return EndpointPace.SLOW if group.host in self._hanging else EndpointPace(group.pace)

    def _room(self, cause: Cause, name: str) -> int:
        """How many more may start; zero without a scheduler, otherwise unlimited."""
        queue, caps = self._queue, self._queue.caps
        match cause:
            case Cause.SCHEDULER:
                return UNBOUNDED if queue.places else 0
            case Cause.HOST:
                return caps.of_host(name) - self._of_host[name]
            case Cause.RATE:
                rate = caps.rate_of(name)
                return UNBOUNDED if rate is None else rate.starts_left(queue.paid_until.get(name), queue.now)
            case Cause.TENANT:
                return caps.per_tenant - self._of_tenant[name]
            case Cause.SLOW_OF_TENANT | Cause.NEW_OF_TENANT:
                return _SHARES[cause](caps.per_tenant) - self._slow_of_tenant[name]
            case Cause.SLOW | Cause.NEW:
                share = _SHARES[cause]
                return sum(max(0, share(places) - self._slow_of_worker[each]) for each, places in queue.places.items())
            case Cause.PLACES:
                return sum(max(0, places - self._of_worker[each]) for each, places in queue.places.items())

    def wait(self, cause: Cause, name: str, held: list[Waiting]) -> QueueWait:
        limit, in_flight, setting = self._limit(cause, name)
        by_tenant: Counter[str] = Counter()
        for group in held:
            by_tenant[group.tenant_id] += group.count
        since = min(group.oldest_at for group in held)
        return QueueWait(cause, name, limit, in_flight, by_tenant.total(), since, setting, dict(by_tenant))

    def _limit(self, cause: Cause, name: str) -> tuple[str, int, str]:
        caps, places = self._queue.caps, self._queue.places
        match cause:
            case Cause.SCHEDULER:
                return "0", 0, ""
            case Cause.HOST:
                own = limit_of(name, caps.hosts)
                is_own = own is not None and own.concurrency is not None
                setting = "MAINSPRING_HOST_LIMITS" if is_own else "MAINSPRING_CONCURRENCY_PER_HOST"
                return str(caps.of_host(name)), self._of_host[name], setting
            case Cause.RATE:
                return str(caps.rate_of(name)), self._of_host[name], "MAINSPRING_HOST_LIMITS"
            case Cause.TENANT:
                return str(caps.per_tenant), self._of_tenant[name], "MAINSPRING_CONCURRENCY_PER_TENANT"
            case Cause.SLOW_OF_TENANT | Cause.NEW_OF_TENANT:
                most = _SHARES[cause](caps.per_tenant)
                return str(most), self._slow_of_tenant[name], "MAINSPRING_CONCURRENCY_PER_TENANT"
            case Cause.SLOW | Cause.NEW:
                most = sum(map(_SHARES[cause], places.values()))
                return str(most), sum(self._slow_of_worker[each] for each in places), "MAINSPRING_CONCURRENCY"
            case Cause.PLACES:
                in_flight = sum(self._of_worker[each] for each in places)
                return str(sum(places.values())), in_flight, "MAINSPRING_CONCURRENCY"


def _runs(flights: Iterable[Flight], key: Callable[[Flight], str]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for flight in flights:
        counted[key(flight)] += flight.runs
    return counted
