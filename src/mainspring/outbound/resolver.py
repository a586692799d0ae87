"""Resolve names without letting one slow name delay the others.

libcurl resolves in a pool of twenty threads: twenty names whose servers never respond stop every other call, and
closing waits for them (6 s were measured). So names are resolved here, each lookup in a separate thread that shutdown
does not wait for, and libcurl is given the addresses.

A name that was resolved earlier is not delayed by others either: if its new lookup does not finish within half a
second, because the name server hangs or the tenant's lookups are all taken, the last answer is used for up to ten
minutes.

The rule that must not break: a tenant has at most LOOKUPS_PER_TENANT_MAX running lookups, so its slow names cost others
nothing; calls for the same name share one lookup; everything cached is bounded.
"""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from mainspring.outbound.guard import AddressGuard

LOOKUPS_MAX = 256  # threads; they wait in getaddrinfo and cost little else
LOOKUPS_PER_TENANT_MAX = 64
KEPT_S = 30.0  # getaddrinfo returns no TTL; a changed record is noticed within this time
PATIENCE_S = 0.5  # wait for a lookup if the last answer could be used
LAST_ANSWER_S = 600.0
REFUSED_KEPT_S = 2.0  # long enough to protect the name server from a flood
NAMES_MAX = 4_096
ADDRESSES_MAX = 8  # tried in order; a name with hundreds of addresses must not cost hundreds of connections

Lookup = Callable[[str], tuple[str, ...]]


class Resolution(Struct, frozen=True):
    """The addresses of a name in the order to try, or none and the reason."""

    addresses: tuple[str, ...]
    fault: str | None = None


class Route(Struct, frozen=True):
    """How to reach a target: an entry for libcurl, or why there is no address."""

    answer: Resolution
    entry: str = ""  # `host:port:address,address`, of addresses that the guard passed
    blocked: str | None = None
    fault: str | None = None


def system_lookup(name: str) -> tuple[str, ...]:
    """Asks the system (hosts file, name servers). Blocks; raises OSError."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(place[4][0]) for place in found))


class Resolver:
    """Answers from the cache, or looks up. Bound to the loop it was created on.

    Addresses the guard refuses are left out; a name with none left is blocked. (The guard is asked again when a socket
    is opened; here it only makes sure that a name with one bad address can still be reached by its good ones.)
    """

    def __init__(self, guard: AddressGuard, lookup: Lookup = system_lookup, kept_s: float = KEPT_S) -> None:
        self._kept_s = kept_s
        self._loop = asyncio.get_running_loop()
        self._guard = guard
        self._lookup = lookup
        self._known: dict[str, tuple[Resolution, float]] = {}
        self._routes: dict[str, Route] = {}
        self._running: dict[str, asyncio.Future[Resolution]] = {}
        self._by_tenant: Counter[str] = Counter()
        self._ended = asyncio.Event()  # set and replaced whenever a lookup ends

    def known_route(self, name: str, port: int) -> Route | None:
        """The cached route that is still valid, if any."""
        found = self._known.get(name)
        if found is None or self._loop.time() >= found[1]:
            return None
        key = f"{name}:{port}"
        route = self._routes.get(key)
        if route is None or route.answer is not found[0]:
            if len(self._routes) >= NAMES_MAX:
                del self._routes[next(iter(self._routes))]
            route = self._routes[key] = self._judged(key, port, found[0])
        return route

    async def route(self, name: str, port: int, tenant_id: str) -> Route:
        """The route, looked up if necessary. The caller sets the time limit.

        A caller that gives up leaves the lookup running for others and for the cache.
        """
        last = self._last_answer(name)
        try:
            async with asyncio.timeout(None if last is None else PATIENCE_S):
                return await self._look_up_route(name, port, tenant_id)
        except TimeoutError:
            if last is None:
                raise
            return self._judged(f"{name}:{port}", port, last)

    def _last_answer(self, name: str) -> Resolution | None:
        """The recently known addresses of a name, if a lookup returned any."""
        answer, until = self._known.get(name, (Resolution(()), 0.0))
        return answer if answer.addresses and self._loop.time() < until + LAST_ANSWER_S else None

    async def _look_up_route(self, name: str, port: int, tenant_id: str) -> Route:
        while (route := self.known_route(name, port)) is None:
            if (running := self._running.get(name)) is not None:
                await asyncio.shield(running)
            elif len(self._running) < LOOKUPS_MAX and self._by_tenant[tenant_id] < LOOKUPS_PER_TENANT_MAX:
                await asyncio.shield(self._start(name, tenant_id))
            else:
                await self._ended.wait()
        return route

    def _judged(self, key: str, port: int, answer: Resolution) -> Route:
        verdicts = [(address, self._guard.verdict(address, port)) for address in answer.addresses]
        passed = [address for address, reason in verdicts if reason is None]
        if passed:
            return Route(answer, entry=f"{key}:{','.join(passed)}")
        if verdicts:
            return Route(answer, blocked=self._guard.refusal(verdicts[0][0], port))
        return Route(answer, fault=answer.fault or "the name has no address")

    def _start(self, name: str, tenant_id: str) -> asyncio.Future[Resolution]:
        future = self._running[name] = self._loop.create_future()
        self._by_tenant[tenant_id] += 1
        thread = threading.Thread(target=self._ask, args=(name, tenant_id), name=f"resolve {name}", daemon=True)
        thread.start()
        return future

    def _ask(self, name: str, tenant_id: str) -> None:
        """Runs in the lookup's thread."""
        try:
            answer = Resolution(self._lookup(name)[:ADDRESSES_MAX])
        except (OSError, UnicodeError) as fault:
            answer = Resolution((), getattr(fault, "strerror", None) or str(fault))
        with suppress(RuntimeError):  # the loop was closed meanwhile; there is no waiter any more
            self._loop.call_soon_threadsafe(self._finish, name, tenant_id, answer)

    def _finish(self, name: str, tenant_id: str, answer: Resolution) -> None:
        if len(self._known) >= NAMES_MAX:
            del self._known[next(iter(self._known))]
        self._known.pop(name, None)
        self._known[name] = (answer, self._loop.time() + (self._kept_s if answer.addresses else REFUSED_KEPT_S))
        self._by_tenant[tenant_id] -= 1
        if not self._by_tenant[tenant_id]:
            del self._by_tenant[tenant_id]
        self._running.pop(name).set_result(answer)
        self._ended.set()
        self._ended = asyncio.Event()
