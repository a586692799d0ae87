"""Names are resolved without letting a slow one hold up the others, and no longer than the deadline."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from mainspring.domain.run import RunStatus
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.resolver import LOOKUPS_PER_TENANT_MAX, NAMES_MAX, Resolver, system_lookup
from mainspring.outbound.vault import AesVault
from tests.harness.waiting import until
from tests.outbound.conftest import LOOPBACK, NOW, request_to
from tests.peers.hostile import HostilePeer


class NameServer:
    """Answers 127.0.0.1, except that names with `hung` in them wait until released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.asked: list[str] = []

    def lookup(self, name: str) -> tuple[str, ...]:
        self.asked.append(name)
        if "hung" in name:
            self.released.wait()
        if "missing" in name:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return ("127.0.0.1",)


@pytest.fixture
def names() -> Iterator[NameServer]:
    server = NameServer()
    yield server
    server.released.set()


async def test_a_name_server_that_never_answers_ends_at_the_deadline(names: NameServer, vault: AesVault) -> None:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, lookup=names.lookup)

    outcome = await caller.call(request_to("http://hung.example/", timeout_ms=100))
    await caller.aclose()

    assert (outcome.status, outcome.error_code) == (RunStatus.TIMEOUT, "deadline")
    assert outcome.error == "hung.example was not resolved within 100 ms"
    assert 90 <= outcome.duration_ms <= 20_000


async def test_hung_names_do_not_hold_up_good_ones(peer: HostilePeer, names: NameServer, vault: AesVault) -> None:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, lookup=names.lookup)
    hung = [
        asyncio.create_task(caller.call(request_to(f"http://hung{number}.example/", timeout_ms=60_000)))
        for number in range(LOOKUPS_PER_TENANT_MAX * 2)
    ]
    await until(lambda: len(names.asked) >= LOOKUPS_PER_TENANT_MAX, "every thread asks")

    outcome = await caller.call(request_to(f"http://good.example:{peer.port}/ok", tenant_id="tn_2"))
    for task in hung:
        task.cancel()
    await asyncio.gather(*hung, return_exceptions=True)
    await caller.aclose()

    assert outcome.status is RunStatus.SUCCESS
    assert len([name for name in names.asked if "hung" in name]) == LOOKUPS_PER_TENANT_MAX


async def test_a_tenants_lookups_go_on_when_a_hung_one_ends(names: NameServer) -> None:
    resolver = Resolver(LOOPBACK, names.lookup)
    tasks = [
        asyncio.create_task(resolver.route(f"hung{number}.example", 80, "tn_1"))
        for number in range(LOOKUPS_PER_TENANT_MAX + 5)
    ]
    await asyncio.sleep(0)
    names.released.set()

    async with asyncio.timeout(60):
        routes = await asyncio.gather(*tasks)

    assert routes[-1].entry == f"hung{LOOKUPS_PER_TENANT_MAX + 4}.example:80:127.0.0.1"


async def test_name_that_was_resolved_before_is_not_held_up_by_hung_ones_of_its_tenant(names: NameServer) -> None:
    resolver = Resolver(LOOPBACK, names.lookup, kept_s=0.1)
    first = await resolver.route("good.example", 80, "tn_1")
    hung = [
        asyncio.create_task(resolver.route(f"hung{number}.example", 80, "tn_1"))
        for number in range(LOOKUPS_PER_TENANT_MAX)
    ]
    await until(lambda: len(names.asked) > LOOKUPS_PER_TENANT_MAX, "every thread asks")
    await until(lambda: resolver.known_route("good.example", 80) is None, "its answer is old")

    async with asyncio.timeout(60):
        again = await resolver.route("good.example", 80, "tn_1")
    for task in hung:
        task.cancel()
    await asyncio.gather(*hung, return_exceptions=True)

    assert again == first
    assert names.asked.count("good.example") == 1


async def test_name_whose_lookup_hangs_is_called_where_it_was_before() -> None:
    released = threading.Event()
    answers = iter([True])

    def lookup(name: str) -> tuple[str, ...]:
        return ("127.0.0.1",) if next(answers, False) or released.wait() else ()

    resolver = Resolver(LOOPBACK, lookup, kept_s=0.1)
    first = await resolver.route("moved.example", 80, "tn_1")
    await until(lambda: resolver.known_route("moved.example", 80) is None, "its answer is old")
    async with asyncio.timeout(60):
        again = await resolver.route("moved.example", 80, "tn_1")
    released.set()

    assert again == first


async def test_calls_for_one_name_share_one_lookup(peer: HostilePeer, names: NameServer, vault: AesVault) -> None:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, lookup=names.lookup)
    url = f"http://good.example:{peer.port}/ok"

    first = await asyncio.gather(*(caller.call(request_to(url)) for _ in range(20)))
    again = await caller.call(request_to(url))
    await caller.aclose()

    assert {outcome.status for outcome in (*first, again)} == {RunStatus.SUCCESS}
    assert names.asked == ["good.example"]


async def test_an_unknown_name_is_a_dns_failure(names: NameServer, vault: AesVault) -> None:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, lookup=names.lookup)

    outcome = await caller.call(request_to("http://missing.example/"))
    await caller.aclose()

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, "dns")
    assert outcome.error == "missing.example could not be resolved: Name or service not known"


async def test_a_cancelled_call_leaves_its_lookup_to_the_others(names: NameServer) -> None:
    resolver = Resolver(LOOPBACK, names.lookup)
    first = asyncio.create_task(resolver.route("hung.example", 80, "tn_1"))
    second = asyncio.create_task(resolver.route("hung.example", 80, "tn_1"))
    await asyncio.sleep(0)
    first.cancel()
    names.released.set()

    async with asyncio.timeout(60):
        route = await second

    assert route.entry == "hung.example:80:127.0.0.1"
    assert names.asked == ["hung.example"]


async def test_refused_addresses_are_left_out_of_a_route() -> None:
    guard = AddressGuard((ip_network("127.0.0.1/32"),))
    resolver = Resolver(guard, lambda name: ("10.0.0.1", "127.0.0.1", "::1", "8.8.8.8"))

    route = await resolver.route("mixed.example", 8080, "tn_1")

    assert route.entry == "mixed.example:8080:127.0.0.1,8.8.8.8"


async def test_answers_kept_in_memory_are_bounded() -> None:
    resolver = Resolver(LOOPBACK, lambda name: ("127.0.0.1",))

    for number in range(NAMES_MAX + 10):
        await resolver.route(f"n{number}.example", 80, "tn_1")

    assert (len(resolver._known), len(resolver._routes)) == (NAMES_MAX, NAMES_MAX)


def test_the_system_knows_localhost() -> None:
    assert set(system_lookup("localhost")) & {"127.0.0.1", "::1"}
