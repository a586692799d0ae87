"""Connections through HTTP and SOCKS proxies: the address guard decides first."""

from ipaddress import ip_network

import pytest

from mainspring.domain.connection import Auth
from mainspring.outbound.guard import AddressGuard
from tests.outbound.connected import World, plain, sent_to, short, through
from tests.peers.authority import Authority
from tests.peers.gateway import (
    Gateway,
    HttpProxy,
    SocksProxy,
)


async def test_http_proxy_gets_the_checked_address_and_no_name(world: World) -> None:
    async with Gateway(plain) as gate, HttpProxy("user:p,w") as proxy:
        url = gate.url("/a").replace("127.0.0.1", "billing.test")
        await world.connect(url, auth=Auth.HEADER, header="X-Api-Key", secret="very-secret-key", proxy="corp")
        caller = world.caller(corp=f"http://user:p%2Cw@127.0.0.1:{proxy.port}")
        outcome = await caller.call(through(url))

    assert short(outcome) == ("success", None)
    assert proxy.asked == [f"CONNECT 127.0.0.1:{gate.port}"]
    assert gate.seen[0].headers["host"] == f"billing.test:{gate.port}"
    assert "proxy-authorization" not in gate.seen[0].headers


async def test_tls_through_a_proxy_checks_the_name_of_the_target(world: World) -> None:
    authority = Authority("private authority")
    async with Gateway(plain, authority.server(name="billing.test")) as gate, HttpProxy() as proxy:
        url = gate.url("/a").replace("127.0.0.1", "billing.test")
        await world.connect(url, proxy="corp", ca=authority.pem)
        caller = world.caller(corp=f"http://127.0.0.1:{proxy.port}")

        assert short(await caller.call(through(url))) == ("success", None)


async def test_socks_proxy_gets_the_checked_address_and_no_name(world: World) -> None:
    async with Gateway(plain) as gate, SocksProxy() as proxy:
        url = gate.url("/a").replace("127.0.0.1", "billing.test")
        await world.connect(url, proxy="out")
        outcome = await world.caller(out=f"socks5://127.0.0.1:{proxy.port}").call(through(url))

    assert short(outcome) == ("success", None)
    assert proxy.asked == [f"127.0.0.1:{gate.port}"]


@pytest.mark.parametrize("host", ["127.0.0.2", "evil.test", "169.254.169.254"])
@pytest.mark.parametrize("kind", ["http", "socks5"])
async def test_guard_decides_before_the_proxy_learns_of_the_target(kind: str, host: str, world: World) -> None:
    proxies = {"http": HttpProxy, "socks5": SocksProxy}
    async with proxies[kind]() as proxy:
        url = f"http://{host}:8001/"
        await world.connect(url, proxy="corp")
        caller = world.caller(lookup=lambda name: ("127.0.0.9",), corp=f"{kind}://127.0.0.1:{proxy.port}")
        outcome = await caller.call(through(url))

    assert short(outcome) == ("blocked", "blocked_address")
    assert proxy.asked == []


async def test_proxy_may_be_at_an_address_that_tenants_may_not_call(world: World) -> None:
    async with Gateway(plain) as gate, HttpProxy() as proxy:
        only_target = AddressGuard((ip_network("127.0.0.1/32"),), own=frozenset({("127.0.0.1", proxy.port)}))
        await world.connect(gate.url(), proxy="corp")
        caller = world.caller(only_target, corp=f"http://127.0.0.1:{proxy.port}")

        assert short(await caller.call(through(gate.url("/")))) == ("success", None)


async def test_proxy_that_refuses_is_a_failure_of_the_proxy(world: World) -> None:
    async with Gateway(plain) as gate, HttpProxy("user:password") as proxy:
        await world.connect(gate.url(), proxy="corp")
        outcome = await world.caller(corp=f"http://127.0.0.1:{proxy.port}").call(through(gate.url("/")))

    assert short(outcome) == ("failure", "proxy")
    assert outcome.error == "the proxy refused the connection with HTTP 407"


async def test_proxy_that_is_no_longer_allowed_sends_nothing(world: World) -> None:
    async with Gateway(plain) as gate:
        await world.connect(gate.url(), proxy="corp")
        outcome = await world.caller().call(through(gate.url("/")))

    assert short(outcome) == ("blocked", "connection")
    assert gate.seen == []


async def test_redirect_stays_behind_the_proxy(world: World) -> None:
    async with Gateway(plain) as other, HttpProxy() as proxy, Gateway(sent_to(other)) as gate:
        await world.connect(gate.url(), proxy="corp")
        caller = world.caller(corp=f"http://127.0.0.1:{proxy.port}")
        outcome = await caller.call(through(gate.url("/"), redirects_max=1))

    assert short(outcome) == ("success", None)
    assert proxy.asked == [f"CONNECT 127.0.0.1:{gate.port}", f"CONNECT 127.0.0.1:{other.port}"]
