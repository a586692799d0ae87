"""Decide whether a connection to an address may be opened. Pure: same table, same answer.

The guard judges addresses, never names: the caller asks when a socket is about to be opened, so a name that changes its
answer between two lookups (rebinding) gains nothing. The table is our own, because `ipaddress` changes its meaning of
global between Python releases; its answer is only a second check.

An IPv6 address that contains an IPv4 one (mapped, compatible, NAT64, 6to4, Teredo) is refused, unless the operator
allows the wrapping network and the address inside passes as well. Metadata addresses are refused even if the operator
allows them. Unreadable input is refused.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

# Cloud metadata: access to one of these addresses reveals the machine's credentials.
METADATA = {
    IPv4Address("169.254.169.254"): "AWS, Google, Azure and others",
    IPv4Address("169.254.170.2"): "AWS container credentials",
    IPv4Address("169.254.170.23"): "AWS pod identity",
    IPv4Address("100.100.100.200"): "Alibaba",
    IPv4Address("168.63.129.16"): "Azure host",
    IPv4Address("192.0.0.192"): "Oracle",
    IPv6Address("fd00:ec2::254"): "AWS",
    IPv6Address("fd00:ec2::23"): "AWS pod identity",
    IPv6Address("fd20:ce::254"): "Google",
}

DENIED_V4 = tuple(
    (IPv4Network(network), words)
    for network, words in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "AS112"),
        ("192.52.193.0/24", "AMT"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "AS112"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
)

DENIED_V6 = tuple(
    (IPv6Network(network), words)
    for network, words in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("100::/64", "discard"),
        ("100:0:0:1::/64", "dummy prefix"),
        ("2001::/23", "protocol assignments"),
        ("2001:db8::/32", "documentation"),
        ("2620:4f:8000::/48", "AS112"),
        ("3fff::/20", "documentation"),
        ("5f00::/16", "segment routing"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)

GLOBAL_UNICAST = IPv6Network("2000::/3")  # everything that IANA has assigned for general use
UNWRAPPED = frozenset({IPv6Address("::"), IPv6Address("::1")})  # allowed, and contain no IPv4 address


class Wrapper(NamedTuple):
    """A network whose addresses contain an IPv4 address, `shift` bits from the right (None: the position varies)."""

    network: IPv6Network
    words: str
    shift: int | None
    is_inverted: bool = False


WRAPPERS = (
    Wrapper(IPv6Network("::ffff:0:0/96"), "IPv4-mapped", 0),
    Wrapper(IPv6Network("::ffff:0:0:0/96"), "IPv4-translated", 0),
    Wrapper(IPv6Network("::/96"), "IPv4-compatible", 0),
    Wrapper(IPv6Network("64:ff9b::/96"), "NAT64", 0),
    Wrapper(IPv6Network("64:ff9b:1::/48"), "local NAT64", None),
    Wrapper(IPv6Network("2002::/16"), "6to4", 80),
    Wrapper(IPv6Network("2001::/32"), "Teredo", 0, is_inverted=True),
)
ANYWHERE = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))
RULE = "only public addresses are called, and networks the operator allows (MAINSPRING_ALLOW_CIDRS)"
NEVER = "that is never called, regardless of the networks that the operator allows"
VERDICTS_MAX = 4_096  # cached answers; a hostile name server must not grow this without bound


class AddressGuard:
    """`allow` permits private networks that an operator wants to call. `own` lists our own listeners (address,
    port).
    """

    def __init__(
        self, allow: tuple[IPv4Network | IPv6Network, ...] = (), *, own: frozenset[tuple[str, int]] = frozenset()
    ) -> None:
        self._allow_v4 = tuple(network for network in allow if isinstance(network, IPv4Network))
        self._allow_v6 = tuple(network for network in allow if isinstance(network, IPv6Network))
        self._own = frozenset((ip_address(address), port) for address, port in own)
        self._verdicts: dict[tuple[str, int], str | None] = {}

    def verdict(self, address: str | IPv4Address | IPv6Address, port: int = 0) -> str | None:
        """None if a connection is allowed, otherwise the reason: `127.0.0.1 is loopback (127.0.0.0/8)`."""
        key = (str(address), port)
        if key in self._verdicts:
            return self._verdicts[key]
        if len(self._verdicts) >= VERDICTS_MAX:
            self._verdicts.clear()
        verdict = self._verdicts[key] = self._judge(key[0], port)
        return verdict

    def refusal(self, address: str, port: int = 0) -> str | None:
        """The verdict with its rule, which shows whether an operator can change it."""
        verdict = self.verdict(address, port)
        if verdict is None:
            return None
        widest = AddressGuard(ANYWHERE, own=frozenset((str(ours), at) for ours, at in self._own))
        return f"{verdict}; {RULE if widest.verdict(address, port) is None else NEVER}"

    def _judge(self, text: str, port: int) -> str | None:
        try:
            address = ip_address(text)
        except ValueError:
            return f"{text[:100]!r} is not an address"
        if isinstance(address, IPv6Address):
            address = IPv6Address(int(address))  # without its zone
            return self._judge_v6(address, port)
        return self._judge_v4(address, port)

    def _judge_v4(self, address: IPv4Address, port: int) -> str | None:
        if address in METADATA:
            return f"{address} is a metadata address ({METADATA[address]})"
        if (address, port) in self._own:
            return f"{address}:{port} is Mainspring itself"
        if any(address in network for network in self._allow_v4):
            return None
        for network, words in DENIED_V4:
            if address in network:
                return f"{address} is {words} ({network})"
        return None if address.is_global else f"{address} is not a global address"

    def _judge_v6(self, address: IPv6Address, port: int) -> str | None:
        if address in METADATA:
            return f"{address} is a metadata address ({METADATA[address]})"
        if (address, port) in self._own:
            return f"[{address}]:{port} is Mainspring itself"
        is_allowed = any(address in network for network in self._allow_v6)
        for wrapper in WRAPPERS:
            if address in wrapper.network and address not in UNWRAPPED:
                return self._judge_wrapped(address, wrapper, port, is_allowed)
        if is_allowed:
            return None
        for network, words in DENIED_V6:
            if address in network:
                return f"{address} is {words} ({network})"
        return None if address in GLOBAL_UNICAST else f"{address} is outside global unicast ({GLOBAL_UNICAST})"

    def _judge_wrapped(self, address: IPv6Address, wrapper: Wrapper, port: int, is_allowed: bool) -> str | None:
        if wrapper.shift is None:
            return f"{address} is {wrapper.words} ({wrapper.network}), which may carry any IPv4 address"
        bits = (int(address) >> wrapper.shift) & 0xFFFFFFFF
        inner = IPv4Address(bits ^ 0xFFFFFFFF if wrapper.is_inverted else bits)
        form = f"{address} is the {wrapper.words} form of {inner}"
        if (reason := self._judge_v4(inner, port)) is not None:
            return f"{form}: {reason}"
        return None if is_allowed else f"{form}; such forms are not called ({wrapper.network})"


def judge_name(host: str, allowed: tuple[IPv4Network | IPv6Network, ...]) -> str | None:
    """The verdict on an address or this machine's own name; None for other names, which are judged when called."""
    address = "127.0.0.1" if host == "localhost" or host.endswith(".localhost") else host.strip("[]")
    try:
        ip_address(address)
    except ValueError:
        return None
    return AddressGuard(allowed).verdict(address)
