"""Validate the URL and the headers of a request, with helpful messages. Pure.

This module never resolves a name and never judges an address: `http://127.0.0.1:8000/` passes here, and
`outbound/guard.py` decides when the connection is opened. The rule that must not break: a URL that passed means to
libcurl exactly what it shows, and a header that passed cannot end its line or frame the body.
"""

import re
from collections.abc import Callable
from functools import partial
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput
from mainspring.domain.expressions.placeholders import OPEN, mask, unmask

URL_CHARS_MAX = 2_048
HOST_CHARS_MAX = 253  # RFC 1035
HEADERS_MAX = 50
HEADER_NAME_CHARS_MAX = 256
HEADER_VALUE_BYTES_MAX = 8_192
HIDDEN_QUERY = "?••••"  # shown instead of a query string; in an edit it means the stored one

# Ports of services other than HTTP that could take a request for a command.
SERVICE_PORTS = frozenset(
    {1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4369, 5432, 5672, 5900, 5984, 5985, 5986, 6000}
    | {6379, 9042, 9092, 9160, 9200, 9300, 10250, 11211, 27017, 27018, 27019}
)
# Names that resolve to a metadata address inside one cloud only.
METADATA_NAMES = frozenset({"metadata.google.internal", "metadata.goog", "instance-data.ec2.internal"})
# These frame the message or belong to the connection; libcurl writes them.
CONNECTION_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"}
    | {"proxy-connection", "proxy-authorization"}
)
Refuse = Callable[[str], InvalidInput]  # from the rest of a message that begins with the value
OWN_PREFIXES = ("webhook-", "mainspring-")

_SCHEME = re.compile(r"(https?)://", re.IGNORECASE)
_FORBIDDEN_CHARS = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff\u0080-\u00a0\u2028\u2029]|\s")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[0-9]{1,5}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_ASCII_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class Target(Struct, frozen=True):
    """A URL in normalised form, and the keys that it is counted and compared by."""

    url: str
    host_key: str  # `host:port`, lower case: key of concurrency limits
    origin: str  # `scheme://host:port`: secrets are not sent to another origin after a redirect
    name: str | None  # the host if it must be resolved; None if it is an address
    port: int

    @property
    def host(self) -> str:
        """Without the brackets of an IPv6 address."""
        return self.host_key.rpartition(":")[0].strip("[]")


def check_url(url: str, allow_ports: frozenset[int] = frozenset()) -> Target:
    """The target of a URL. Raises InvalidInput(field="url") with the reason and the fix."""
    if len(url) > URL_CHARS_MAX:
        raise _refused(url, f"is {len(url)} characters long; at most {URL_CHARS_MAX} are allowed; shorten it")
    if found := _FORBIDDEN_CHARS.search(url):
        raise _refused(
            url,
            f"contains {found.group()!r}; spaces, control characters and backslashes are refused; percent-encode them",
        )
    scheme_found = _SCHEME.match(url)
    if scheme_found is None:
        raise _refused(url, "is not http or https; start it with http:// or https://")
    scheme = scheme_found.group(1).lower()
    authority, tail = _split_authority(url[scheme_found.end() :])
    if "@" in authority:
        raise _refused(
            url, "carries a user name or password; these are not allowed in a URL; send a secret header", hide=True
        )
    host, port_text = _split_port(url, authority)
    host = _checked_host(partial(_refused, url), host)
    port = _checked_port(url, port_text, scheme, allow_ports)
    path = quote(tail.partition("#")[0], safe=_ASCII_PRINTABLE)
    if not path.startswith("/"):
        path = "/" + path
    shown_port = "" if port == _default_port(scheme) else f":{port}"
    is_address = host.startswith("[") or _NUMBER.fullmatch(host.rpartition(".")[2]) is not None
    return Target(
        url=f"{scheme}://{host}{shown_port}{path}",
        host_key=f"{host}:{port}",
        origin=f"{scheme}://{host}:{port}",
        name=None if is_address else host,
        port=port,
    )


def check_host(host: str, field: str = "host") -> str:
    """A host name in lower case, or an address (IPv6 without brackets). Raises InvalidInput(field)."""
    given = host.strip()
    bare = given.removeprefix("[").removesuffix("]")

    def refuse(rest: str) -> InvalidInput:
        return InvalidInput(f"{field} {given[:100]!r} {rest}", field=field, value=given[:100])

    if not given:
        raise refuse("is empty; a host is a name or an address; give one")
    if "/" in given or given.count(":") == 1:
        raise refuse("is not a host alone; give a name or an address here, and the port as `port`")
    if found := _FORBIDDEN_CHARS.search(given):
        raise refuse(f"contains {found.group()!r}; a host is a name or an address; remove it")
    return _checked_host(refuse, f"[{bare}]" if ":" in bare else bare).strip("[]")


def address_of(host: str) -> str | None:
    """The host if it is an address, None if it is a name that must be resolved."""
    return host if ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2]) is not None else None


def split_query(url: str) -> tuple[str, str, str]:
    """The URL before its query string, the mark, and the query string. A mark within a template is not one."""
    masked, placeholders = mask(url)
    path, mark, query = masked.partition("?")
    return unmask(path, placeholders), mark, unmask(query, placeholders)


def shown_url(url: str) -> str:
    """A URL that anyone may read: the query string is hidden because it may hold a token."""
    path, mark, _ = split_query(url)
    return path + HIDDEN_QUERY if mark else url


def check_shown_url(url: str, allow_ports: frozenset[int] = frozenset()) -> Target:
    """Like `check_url`, for a URL that may have templates after its host, and whose query string may be in its hidden
    form. Both stay.
    """
    masked, placeholders = mask(url)
    start = _SCHEME.match(masked)
    if start is not None and placeholders and OPEN in _split_authority(masked[start.end() :])[0]:
        raise _refused(url, "has a template in its host or port; these are fixed; use templates after the host only")
    path = masked.removesuffix(HIDDEN_QUERY)
    if HIDDEN_QUERY[1:] in path or (path != masked and "?" in path):
        raise _refused(url, "contains the placeholder of a hidden query string; give the full URL")
    target = check_url(path, allow_ports)
    shown = unmask(target.url, placeholders) + masked[len(path) :]
    if len(shown) > URL_CHARS_MAX + len(HIDDEN_QUERY):
        raise _refused(url, f"is {len(shown)} characters long; at most {URL_CHARS_MAX} are allowed; shorten it")
    return target if shown == target.url else replace(target, url=shown)


def origin_of(url: str) -> str:
    """`scheme://host:port` of a URL that was checked earlier, regardless of the ports allowed now."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or _default_port(parts.scheme)}"


def check_header(name: str, value: str) -> None:
    """Raises InvalidInput(field="headers") unless users may set the header."""
    if not _TOKEN.fullmatch(name) or len(name) > HEADER_NAME_CHARS_MAX:
        raise _bad_header(name, f"is not a header name; use letters, digits and - (at most {HEADER_NAME_CHARS_MAX})")
    lower = name.lower()
    if lower in CONNECTION_HEADERS:
        raise _bad_header(name, "frames the message or belongs to the connection; Mainspring writes it; leave it out")
    if lower.startswith(OWN_PREFIXES):
        raise _bad_header(name, "starts with webhook- or Mainspring-, which are reserved; choose another name")
    if len(value) > HEADER_VALUE_BYTES_MAX:
        raise _bad_header(
            name, f"has a value of {len(value)} bytes; at most {HEADER_VALUE_BYTES_MAX} are allowed; shorten it"
        )
    if not _VALUE.fullmatch(value):
        raise _bad_header(
            name, "has a value with a line break, NUL, control character or one outside latin-1; encode it"
        )


def _split_authority(rest: str) -> tuple[str, str]:
    end = len(rest)
    for mark in "/?#":
        place = rest.find(mark, 0, end)
        end = place if place >= 0 else end
    return rest[:end], rest[end:]


def _split_port(url: str, authority: str) -> tuple[str, str | None]:
    """Host and port as written; the port is None without a colon."""
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _refused(
                url, f"has an invalid IPv6 address {authority[:60]!r}; write it as http://[2001:db8::1]:8080/"
            )
        return host + "]", rest[1:] if rest else None
    host, colon, port = authority.partition(":")
    if ":" in port:
        raise _refused(url, f"has more than one colon in {authority[:60]!r}; put an IPv6 address into brackets")
    return host, port if colon else None


def _checked_host(refuse: Refuse, host: str) -> str:
    if not host:
        raise refuse("has no host; write it as http://host/path")
    if host.startswith("["):
        try:
            return f"[{IPv6Address(host[1:-1]).compressed}]" if "%" not in host else _zone(refuse)
        except AddressValueError:
            raise refuse(f"has {host[:60]!r}, which is not an IPv6 address; write it as [2001:db8::1]") from None
    if len(host) > HOST_CHARS_MAX:
        raise refuse(f"has a host of {len(host)} characters; at most {HOST_CHARS_MAX} are allowed; shorten it")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError as fault:
            raise refuse(
                f"has the host {host[:60]!r}, which is not a domain name ({fault}); write it in punycode"
            ) from None
    host = host.lower()
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _checked_ipv4(refuse, host)
    for label in labels:
        _check_label(refuse, host, label)
    if host in METADATA_NAMES:
        raise refuse("names a cloud metadata server, which is never called; choose another target")
    return host


def _zone(refuse: Refuse) -> str:
    raise refuse("has an IPv6 address with a zone; zones are not allowed; leave out the part after %")


def _checked_ipv4(refuse: Refuse, host: str) -> str:
    try:
        return str(IPv4Address(host))
    except AddressValueError:
        raise refuse(
            f"has the host {host[:60]!r}; an IPv4 address is four decimal numbers such as 192.0.2.1; "
            "write it like that",
        ) from None


def _check_label(refuse: Refuse, host: str, label: str) -> None:
    if not label:
        raise refuse(f"has the host {host[:60]!r} with an empty part; remove doubled and trailing dots")
    if not _LABEL.fullmatch(label):
        raise refuse(
            f"has the host {host[:60]!r}; {label[:70]!r} is not a domain label; use at most 63 letters, digits and -",
        )
    if label.startswith("xn--") and not _is_punycode(label[4:]):
        raise refuse(f"has the host {host[:60]!r}; {label!r} is not valid punycode; write the name itself")


def _is_punycode(text: str) -> bool:
    try:
        name = text.encode("ascii").decode("punycode")
        return not name.isascii() and name.encode("punycode").decode("ascii") == text
    except (UnicodeError, ValueError, OverflowError):
        return False


def _checked_port(url: str, text: str | None, scheme: str, allow_ports: frozenset[int]) -> int:
    if text is None:
        return _default_port(scheme)
    if not _PORT.fullmatch(text) or not 1 <= int(text) <= 65_535:
        raise _refused(
            url, f"has the port {text[:20]!r}; a port is a number from 1 to 65535; correct it or leave it out"
        )
    port = int(text)
    if port in allow_ports or port in (80, 443) or (port >= 1_024 and port not in SERVICE_PORTS):
        return port
    rule = "belongs to another service" if port in SERVICE_PORTS else "is below 1024 and neither 80 nor 443"
    raise _refused(
        url, f"has the port {port}, which {rule}; use another, or have the operator allow it in MAINSPRING_ALLOW_PORTS"
    )


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _refused(url: str, rest: str, *, hide: bool = False) -> InvalidInput:
    """The query string may hold a token, so no message shows it."""
    path, mark, _ = split_query(url)
    told = f"{path[:100]}{mark and '?…'}"
    shown = "url" if hide else f"url {told!r}"
    return InvalidInput(f"{shown} {rest}", field="url", value=None if hide else told)


def _bad_header(name: str, rest: str) -> InvalidInput:
    # The value may be a secret, so no message ever shows it.
    return InvalidInput(f"header {name[:60]!r} {rest}", field="headers", value=name[:60])
