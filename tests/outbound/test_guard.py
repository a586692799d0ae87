"""The address guard, by vector: every forbidden network, every disguise, and the neighbours that stay reachable."""

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses

from mainspring.domain.run import HttpAction, Request, RunStatus
from mainspring.outbound.guard import DENIED_V4, METADATA, NEVER, RULE, VERDICTS_MAX, AddressGuard
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.settings import Settings
from mainspring.wiring.outbound import open_caller
from tests.outbound.forbidden import ALLOWED_ADDRESSES, FORBIDDEN_ADDRESSES, UNREADABLE_ADDRESSES
from tests.stores.world import START

EVERYTHING = (ip_network("0.0.0.0/0"), ip_network("::/0"))


@pytest.mark.parametrize(("address", "word"), FORBIDDEN_ADDRESSES.items())
def test_a_forbidden_address_is_refused_with_its_reason(address: str, word: str) -> None:
    verdict = AddressGuard().verdict(address)

    assert verdict is not None
    assert word in verdict


@pytest.mark.parametrize("address", ALLOWED_ADDRESSES)
def test_a_public_address_is_allowed(address: str) -> None:
    assert AddressGuard().verdict(address) is None


@pytest.mark.parametrize("address", UNREADABLE_ADDRESSES)
def test_what_is_no_address_is_refused(address: str) -> None:
    assert "is not an address" in (AddressGuard(EVERYTHING).verdict(address) or "")


@pytest.mark.parametrize("address", METADATA, ids=str)
def test_a_metadata_address_is_refused_whatever_the_operator_allows(address: object) -> None:
    assert "metadata" in (AddressGuard(EVERYTHING).verdict(str(address)) or "")


@pytest.mark.parametrize("address", ["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"])
def test_a_wrapped_metadata_address_is_refused_whatever_the_operator_allows(address: str) -> None:
    assert "metadata" in (AddressGuard(EVERYTHING).verdict(address) or "")


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("127.0.0.1", RULE),
        ("::ffff:10.0.0.2", RULE),
        ("169.254.169.254", NEVER),
        ("::ffff:169.254.169.254", NEVER),
        ("10.0.0.1", NEVER),
    ],
)
def test_refusal_says_whether_an_operator_could_allow_it(address: str, rule: str) -> None:
    guard = AddressGuard(own=frozenset({("10.0.0.1", 443)}))

    assert guard.refusal(address, 443) == f"{guard.verdict(address, 443)}; {rule}"
    assert guard.refusal("192.0.43.7", 443) is None


@pytest.mark.parametrize(
    ("network", "inside", "outside"),
    [
        ("10.1.0.0/16", "10.1.2.3", "10.2.0.1"),
        ("127.0.0.0/8", "127.0.0.1", "::1"),
        ("192.168.7.7/32", "192.168.7.7", "192.168.7.8"),
        ("fd12::/16", "fd12::1", "fd13::1"),
        ("::1/128", "::1", "127.0.0.1"),
    ],
)
def test_an_allowed_network_opens_itself_and_nothing_else(network: str, inside: str, outside: str) -> None:
    guard = AddressGuard((ip_network(network),))

    assert guard.verdict(inside) is None
    assert guard.verdict(outside) is not None


def test_allowing_a_private_network_does_not_open_its_wrapped_forms() -> None:
    guard = AddressGuard((ip_network("10.0.0.0/8"),))

    assert "IPv4-mapped" in (guard.verdict("::ffff:10.0.0.1") or "")


def test_an_allowed_nat64_network_reaches_public_addresses_only() -> None:
    guard = AddressGuard((ip_network("64:ff9b::/96"),))

    assert guard.verdict("64:ff9b::8.8.8.8") is None
    assert "private" in (guard.verdict("64:ff9b::10.0.0.1") or "")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
async def test_where_we_and_our_database_listen_is_never_called(host: str) -> None:
    settings = Settings(
        host=host,
        port=8080,
        database_url="postgresql://me:secret@127.0.0.1:5433/name",
        allow_cidrs="127.0.0.0/8",  # type: ignore[arg-type]  # pydantic parses the text
    )
    caller = open_caller(settings, AesVault(KeyRing(bytes(32))))
    answers = []
    for port in (8080, 5433):
        request = Request("default", "ep_1", "slot", START, 1, HttpAction(f"http://127.0.0.1:{port}/"))
        answers.append(await caller.call(request))
    await caller.aclose()

    assert [(answer.status, "Mainspring itself" in str(answer.error)) for answer in answers] == [
        (RunStatus.BLOCKED, True)
    ] * 2


def test_our_own_listener_is_refused_at_its_port_only() -> None:
    guard = AddressGuard((ip_network("127.0.0.0/8"),), own=frozenset({("127.0.0.1", 8000), ("2606:4700::1", 443)}))

    assert guard.verdict("127.0.0.1", 8000) == "127.0.0.1:8000 is Mainspring itself"
    assert guard.verdict("127.0.0.1", 8001) is None
    assert guard.verdict("2606:4700::1", 443) == "[2606:4700::1]:443 is Mainspring itself"


def test_what_is_remembered_is_bounded() -> None:
    guard = AddressGuard()

    for number in range(VERDICTS_MAX * 2):
        guard.verdict(str(ip_address(0x08000000 + number)))

    assert len(guard._verdicts) <= VERDICTS_MAX


@given(ip_addresses(v=4))
def test_nothing_in_a_denied_ipv4_network_passes(address: object) -> None:
    verdict = AddressGuard().verdict(str(address))
    is_denied = any(address in network for network, _ in DENIED_V4)

    assert not (is_denied and verdict is None)


@given(ip_addresses(v=4))
def test_no_ipv4_address_passes_wrapped_in_ipv6(address: object) -> None:
    number = int(address)  # type: ignore[call-overload]  # the strategy's type does not say that it is an address
    wrapped = (number, 0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80)

    for form in wrapped:
        assert AddressGuard().verdict(str(ip_address(form.to_bytes(16, "big")))) is not None


@pytest.mark.parametrize("network", ["10.0.0.0/8", "fc00::/7"])
def test_the_whole_of_a_network_is_allowed_from_first_to_last(network: str) -> None:
    parsed: IPv4Network | IPv6Network = ip_network(network)
    guard = AddressGuard((parsed,))

    assert guard.verdict(str(parsed[0])) is None
    assert guard.verdict(str(parsed[-1])) is None
