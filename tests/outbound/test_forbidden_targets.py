"""Promise S1: no connection is ever opened to a forbidden address, directly, by name or by redirect.

The peer listens on 127.0.0.1, which the operator allows; canaries on 127.0.0.2 and ::1, which nobody does.
They count accepted connections, so a refusal after connecting would be seen.
"""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import NamedTuple
from urllib.parse import quote

import pytest

from mainspring.domain.run import RunStatus
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.vault import AesVault
from tests.outbound.conftest import LOOPBACK, NOW, request_to
from tests.outbound.forbidden import BLOCKED_URLS, NAMES, REFUSED_URLS
from tests.peers.hostile import HostilePeer

REDIRECT_CODES = (301, 302, 303, 307, 308)


class Canaries(NamedTuple):
    ipv4: HostilePeer
    ipv6: HostilePeer | None

    @property
    def port(self) -> int:
        return self.ipv4.port

    @property
    def accepted(self) -> int:
        return self.ipv4.accepted + (self.ipv6.accepted if self.ipv6 is not None else 0)


@pytest.fixture
async def canaries() -> AsyncIterator[Canaries]:
    async with HostilePeer(host="127.0.0.2") as ipv4:
        try:
            async with HostilePeer(port=ipv4.port, host="::1") as ipv6:
                yield Canaries(ipv4, ipv6)
        except OSError:  # a machine without IPv6
            yield Canaries(ipv4, None)


def lookup(name: str) -> tuple[str, ...]:
    if name not in NAMES:
        raise OSError(f"{name} is not in the tests' names")
    return NAMES[name]


@pytest.fixture
async def guarded(vault: AesVault) -> AsyncIterator[HttpCaller]:
    caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, lookup=lookup)
    yield caller
    await caller.aclose()


@pytest.mark.parametrize("url", BLOCKED_URLS.values(), ids=BLOCKED_URLS)
async def test_a_forbidden_target_is_blocked_before_a_connection(
    url: str, canaries: Canaries, guarded: HttpCaller
) -> None:
    outcome = await guarded.call(request_to(url.format(port=canaries.port)))

    assert (outcome.status, outcome.error_code) == (RunStatus.BLOCKED, "blocked_address")
    assert "operator allows" in (outcome.error or "")
    assert canaries.accepted == 0


@pytest.mark.parametrize("url", REFUSED_URLS.values(), ids=REFUSED_URLS)
async def test_a_malformed_target_that_slipped_into_the_store_is_not_called(
    url: str, canaries: Canaries, guarded: HttpCaller
) -> None:
    outcome = await guarded.call(request_to(url.replace("{port}", str(canaries.port))))

    assert (outcome.status, outcome.error_code) == (RunStatus.BLOCKED, "invalid_request")
    assert canaries.accepted == 0


@pytest.mark.parametrize("code", REDIRECT_CODES)
async def test_no_redirect_leads_to_a_forbidden_target(
    code: int, peer: HostilePeer, canaries: Canaries, guarded: HttpCaller
) -> None:
    seen = set()
    for name, url in {**BLOCKED_URLS, **REFUSED_URLS}.items():
        place = quote(url.replace("{port}", str(canaries.port)).encode("utf-8", "surrogatepass"), safe="")
        request = request_to(peer.url(f"/redirect/to?code={code}&to={place}"), redirects_max=5)
        async with asyncio.timeout(60):
            outcome = await guarded.call(request)
        seen.add(outcome.error_code)

        assert outcome.status in (RunStatus.BLOCKED, RunStatus.FAILURE), name
    assert canaries.accepted == 0
    assert {"blocked_address", "redirect_invalid"} <= seen


async def test_a_name_with_good_and_bad_addresses_is_called_at_the_good_one(
    peer: HostilePeer, canaries: Canaries, guarded: HttpCaller
) -> None:
    outcome = await guarded.call(request_to(f"http://mixed.example:{peer.port}/ok"))

    assert (outcome.status, outcome.address) == (RunStatus.SUCCESS, "127.0.0.1")
    assert canaries.accepted == 0


async def test_a_name_that_turns_bad_after_its_first_answer_is_blocked(
    peer: HostilePeer, canaries: Canaries, vault: AesVault
) -> None:
    answers = iter([("127.0.0.1",), ("127.0.0.2",)] * 20)
    statuses = []
    for _ in range(40):  # a new caller each time: nothing is remembered, as with a TTL of zero
        caller = HttpCaller(LOOPBACK, vault, clock=lambda: NOW, lookup=lambda name: next(answers))
        outcome = await caller.call(request_to(f"http://rebinding.example:{canaries.port}/ok"))
        statuses.append(outcome.error_code)
        await caller.aclose()

    assert statuses == ["connect", "blocked_address"] * 20
    assert canaries.accepted == 0


async def test_an_allowed_private_network_is_called(canaries: Canaries, vault: AesVault) -> None:
    caller = HttpCaller(AddressGuard((ip_network("127.0.0.2/32"),)), vault, clock=lambda: NOW)

    outcome = await caller.call(request_to(canaries.ipv4.url("/ok")))
    await caller.aclose()

    assert outcome.status is RunStatus.SUCCESS
    assert canaries.accepted == 1


async def test_without_the_guard_the_canaries_would_be_reached(canaries: Canaries, vault: AesVault) -> None:
    """The negative control: the corpus does reach a canary when everything is allowed."""
    everything = AddressGuard((ip_network("0.0.0.0/0"), ip_network("::/0")))
    caller = HttpCaller(everything, vault, clock=lambda: NOW, lookup=lookup)
    for url in BLOCKED_URLS.values():
        if "{port}" in url:
            await caller.call(request_to(url.format(port=canaries.port), timeout_ms=300))
    await caller.aclose()

    assert canaries.accepted >= 5


async def test_our_own_listener_is_not_called(peer: HostilePeer, vault: AesVault) -> None:
    guard = AddressGuard((ip_network("127.0.0.1/32"),), own=frozenset({("127.0.0.1", peer.port)}))
    caller = HttpCaller(guard, vault, clock=lambda: NOW)

    outcome = await caller.call(request_to(peer.url("/ok")))
    await caller.aclose()

    assert outcome.error_code == "blocked_address"
    assert peer.accepted == 0


async def test_a_proxy_and_a_netrc_in_the_environment_are_ignored(
    peer: HostilePeer, canaries: Canaries, guarded: HttpCaller, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.2:{canaries.port}")
    monkeypatch.setenv("HOME", str(tmp_path))
    with open(f"{tmp_path}/.netrc", "w") as file:  # noqa: ASYNC230  # before anything runs
        file.write("machine 127.0.0.1 login user password secret\n")

    outcome = await guarded.call(request_to(peer.url("/ok")))

    assert outcome.status is RunStatus.SUCCESS
    assert canaries.accepted == 0
    assert peer.seen[0].header("authorization") is None
