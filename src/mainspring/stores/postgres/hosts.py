"""The hosts of a PostgreSQL URL: one, or several with commas between, of which the one that accepts writes is used.

`postgresql://user:password@h1:5432,h2:5433/name` is what libpq takes, too. Without `target_session_attrs` in the URL,
`read-write` is asked for: nothing here can work on a standby.
"""

from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

import asyncpg

PORT = 5432
HOST_TIMEOUT_S_MIN = 1.0  # a host that is gone must leave time for the next one


def hosts_of(url: str) -> list[tuple[str, int]]:
    """Host and port of each server that a URL names; a socket's folder is no host. ValueError: it cannot be read."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    named = [each for each in parts.netloc.rpartition("@")[2].split(",") if each] or _listed(query, "host")
    ports = _listed(query, "port")
    found = []
    for number, spec in enumerate(named):
        host, port = _parted(unquote(spec))
        default = ports[min(number, len(ports) - 1)] if ports else str(PORT)
        found.append((host, int(port or default)))
    return [(host, port) for host, port in found if host and not host.startswith("/")]


def for_writing(url: str) -> str:
    """The same URL, asking for a server that accepts writes if it names several and does not say which is wanted."""
    try:
        parts = urlsplit(url)
    except ValueError:  # whoever connects says so
        return url
    if len(_specs(url)) < 2 or "target_session_attrs" in parse_qs(parts.query):
        return url
    query = "&".join(filter(None, (parts.query, "target_session_attrs=read-write")))
    return urlunsplit(parts._replace(query=query))


def without_password(url: str) -> tuple[str, str | None]:
    """A URL that may be seen by others on this machine, and the password that was in it."""
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    name, colon, password = user.partition(":")
    if not colon:
        return url, None
    return urlunsplit(parts._replace(netloc=f"{name}{at}{hosts}")), unquote(password)


class Hosts:
    """Connects to the first host that answers and is wanted, the last good one first, each within its share of time."""

    def __init__(self, url: str) -> None:
        self._urls = _single(url)

    async def connect(self, *_: object, timeout: float, **options: Any) -> Any:  # asyncpg ships no types
        """What `asyncpg.connect` does for one host."""
        share_s = max(timeout / len(self._urls), HOST_TIMEOUT_S_MIN)
        fault: Exception | None = None
        for url in list(self._urls):
            try:
                connection = await asyncpg.connect(url, timeout=share_s, **options)
            except (OSError, TimeoutError, asyncpg.CannotConnectNowError, asyncpg.InternalClientError) as refused:
                fault = refused
                continue
            self._urls.remove(url)
            self._urls.insert(0, url)
            return connection
        assert fault is not None, "a URL has a host"
        raise fault


def _specs(url: str) -> list[str]:
    return [each for each in urlsplit(url).netloc.rpartition("@")[2].split(",") if each]


def _single(url: str) -> list[str]:
    """One URL for each host of the authority; what is named elsewhere is left to the driver."""
    parts, specs = urlsplit(url), _specs(url)
    if len(specs) < 2:
        return [url]
    user, at, _ = parts.netloc.rpartition("@")
    return [urlunsplit(parts._replace(netloc=f"{user}{at}{spec}")) for spec in specs]


def _parted(spec: str) -> tuple[str, str]:
    """`host:port`, `[v6]:port`, or either without a port."""
    if spec.startswith("["):
        host, _, rest = spec[1:].partition("]")
        return host, rest.removeprefix(":")
    host, _, port = spec.partition(":")
    return host, port


def _listed(query: dict[str, list[str]], name: str) -> list[str]:
    return [each for value in query.get(name, []) for each in value.split(",") if each]
