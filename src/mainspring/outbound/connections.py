"""Attach a connection to a call: credentials, TLS and proxy of the connection that an action names.

The connection is read for each call and kept for a quarter of a second, so that an edit is effective from the next call
on and a burst costs one read. Credentials go into lines and options that a redirect to another origin drops. The rule
that must not break: nothing is attached to a request at another origin than the connection's, and the address guard
judges the target before a proxy learns of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from urllib.parse import unquote, urlsplit

import pycurl
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.connection import Auth, Connection, full_url, secret_place
from mainspring.domain.errors import InvalidInput, MainspringError
from mainspring.domain.run import HttpAction, Outcome, Request, RunStatus
from mainspring.domain.target import Target, origin_of
from mainspring.domain.text import clean_text
from mainspring.outbound.curl import READ_CERTIFICATE, WireOptions
from mainspring.outbound.guard import ANYWHERE, AddressGuard
from mainspring.outbound.request import Line, header_line
from mainspring.outbound.resolver import Resolver
from mainspring.outbound.tokens import TokenKeeper, TokenRefused, basic
from mainspring.ports.connections import ConnectionStore
from mainspring.ports.outbound import Vault

KEPT_S = 0.25
KNOWN_MAX = 4_096
ERROR_CHARS_MAX = 500
TLS_VERSIONS = {"1.2": pycurl.SSLVERSION_TLSv1_2, "1.3": pycurl.SSLVERSION_TLSv1_3}
PROXY_KINDS = {"http": pycurl.PROXYTYPE_HTTP, "socks5": pycurl.PROXYTYPE_SOCKS5}
PROXY_PORTS = {"http": 3128, "socks5": 1080}

Settings = tuple[tuple[int, object], ...]


class NotAttached(Exception):
    """The call cannot be made; `outcome` is its result."""

    def __init__(self, status: RunStatus, code: str, error: str, spent_us: int = 0) -> None:
        super().__init__(error)
        self.outcome = Outcome(
            status, spent_us // 1_000, error_code=code, error=clean_text(f"not sent: {error}", ERROR_CHARS_MAX)
        )


class ProxyRoute(Struct, frozen=True):
    kind: int
    address: str
    port: int
    username: str = ""
    password: str = ""


class Attachment(Struct, frozen=True):
    """What a connection adds to one call."""

    lines: tuple[Line, ...] = ()
    secrets: tuple[str, ...] = ()  # redacted from the response
    tls: Settings = ()
    credentials: Settings = ()  # libcurl's own kinds: digest, AWS
    sends_max: int = 1
    proxy: ProxyRoute | None = None
    token: str = ""
    spent_us: int = 0  # part of the deadline that was used to obtain a token

    def options(self, target: Target, entry: str, has_left_home: bool, wants_certificate: bool) -> WireOptions:
        """At another origin only the proxy remains. `entry` has the addresses that the guard passed."""
        at_home: Settings = () if has_left_home else (*self.tls, *self.credentials)
        probe: Settings = READ_CERTIFICATE if wants_certificate else ()
        sends_max = 1 if has_left_home else self.sends_max
        if self.proxy is None:
            return WireOptions((*at_home, *probe), sends_max)
        route = proxy_settings(self.proxy, target, entry)
        return WireOptions((*at_home, *probe, *route), sends_max, (self.proxy.address, self.proxy.port))


class Connector:
    """Finds connections and attaches them. `call` makes a request that may itself have an attachment."""

    def __init__(
        self,
        store: ConnectionStore | None,
        vault: Vault,
        clock: Callable[[], datetime],
        proxies: Mapping[str, str],
        call: Callable[[Request, Attachment | None], Awaitable[Outcome]],
        allow_ports: frozenset[int],
        kept_s: float = KEPT_S,
    ) -> None:
        self._store = store
        self._vault = vault
        self._proxies = proxies
        self._allow_ports = allow_ports
        self._kept_s = kept_s
        self._known: dict[tuple[str, str], tuple[asyncio.Future[Connection | None], float]] = {}
        self._proxy_resolver: Resolver | None = None
        self._tokens = None if store is None else TokenKeeper(store, vault, clock, self._token_call)
        self._make_call = call

    async def attach(self, request: Request, action: HttpAction) -> tuple[Request, Attachment]:
        """The request with a complete URL, and what to add to it. Raises NotAttached, with the outcome of the call."""
        connection = await self._find(request.tenant_id, action.connection)
        try:
            url = full_url(action.url, connection, self._allow_ports)
        except InvalidInput as refusal:
            raise NotAttached(RunStatus.BLOCKED, "connection", str(refusal)) from None
        if url != action.url:
            request = replace(request, action=replace(action, url=url))
        try:
            attached = await self._on_the_way(connection)
            return request, await self._with_credentials(connection, attached, request)
        except MainspringError as fault:
            raise NotAttached(RunStatus.BLOCKED, "secret", str(fault)) from None

    async def renew(self, request: Request, name: str, used: Attachment, outcome: Outcome) -> Attachment | None:
        """The same with another token after a 401; None if there is no other, or no time left."""
        spent_us = outcome.phases.total_us if outcome.phases is not None else used.spent_us
        if self._tokens is None or spent_us >= request.action.timeout_ms * 1_000:
            return None
        connection = await self._find(request.tenant_id, name)
        if connection.config.auth is not Auth.OAUTH2:
            return None
        return await self._with_token(connection, replace(used, spent_us=spent_us), request, refused=used.token)

    async def _find(self, tenant_id: str, name: str) -> Connection:
        if self._store is None:
            raise NotAttached(RunStatus.BLOCKED, "connection", "connections are not available in this process")
        time = asyncio.get_running_loop().time
        key = (tenant_id, name)
        known = self._known.get(key)
        if known is None or time() >= known[1]:
            if len(self._known) >= KNOWN_MAX:
                del self._known[next(iter(self._known))]
            reading = asyncio.ensure_future(self._store.connection(tenant_id, name))
            self._known.pop(key, None)
            self._known[key] = known = (reading, time() + self._kept_s)
        try:
            found = await asyncio.shield(known[0])
        except MainspringError as fault:
            self._known.pop(key, None)
            raise NotAttached(RunStatus.BLOCKED, "connection", f"connection {name!r} cannot be read: {fault}") from None
        if found is None:
            raise NotAttached(
                RunStatus.BLOCKED,
                "connection",
                f"connection {name!r} does not exist any more; create it, or choose another",
            )
        return found

    async def _on_the_way(self, connection: Connection) -> Attachment:
        """TLS and proxy, without credentials; also for the call to the token server."""
        config = connection.config
        tls: list[tuple[int, object]] = [(pycurl.SSLVERSION, TLS_VERSIONS[config.tls_min])]
        if config.ca:
            tls += [(pycurl.CAPATH, None), (pycurl.CAINFO_BLOB, config.ca.encode())]
        if config.client_certificate:
            key = self._vault.open(config.client_key, secret_place(connection.tenant_id, connection.id, "client_key"))
            tls += [(pycurl.SSLCERT_BLOB, config.client_certificate.encode()), (pycurl.SSLKEY_BLOB, key.encode())]
        proxy = await self._proxy(connection) if config.proxy else None
        return Attachment(tls=tuple(tls), proxy=proxy)

    async def _with_credentials(self, connection: Connection, plain: Attachment, request: Request) -> Attachment:
        config = connection.config
        if config.auth is Auth.NONE:
            return plain
        if config.auth is Auth.OAUTH2:
            return await self._with_token(connection, plain, request)
        secret = self._vault.open(config.secret, secret_place(connection.tenant_id, connection.id, "secret"))
        match config.auth:
            case Auth.HEADER:
                return replace(plain, lines=(header_line(config.header, secret),), secrets=(secret,))
            case Auth.BASIC:
                value = basic(config.username, secret)
                return replace(plain, lines=(header_line("Authorization", value),), secrets=(secret, value))
            case Auth.DIGEST:
                # On a new connection: on a kept one that breaks, the answered challenge could be sent twice.
                settings: Settings = (
                    (pycurl.HTTPAUTH, pycurl.HTTPAUTH_DIGEST),
                    (pycurl.USERNAME, config.username.encode()),
                    (pycurl.PASSWORD, secret.encode()),
                    (pycurl.FRESH_CONNECT, 1),
                )
                return replace(plain, credentials=settings, sends_max=2, secrets=(secret,))
            case Auth.AWS:
                settings = (
                    (pycurl.PATH_AS_IS, 0),  # libcurl signs a path without dot segments only
                    (pycurl.AWS_SIGV4, f"aws:amz:{config.region}:{config.service}".encode()),
                    (pycurl.USERNAME, config.access_key_id.encode()),
                    (pycurl.PASSWORD, secret.encode()),
                )
                return replace(plain, credentials=settings, secrets=(secret,))

    async def _with_token(
        self, connection: Connection, plain: Attachment, request: Request, refused: str = ""
    ) -> Attachment:
        assert self._tokens is not None
        time = asyncio.get_running_loop().time
        started_at = time()
        left_s = request.action.timeout_ms / 1_000 - plain.spent_us / 1_000_000
        try:
            async with asyncio.timeout(left_s):
                token = await self._tokens.token(connection, refused)
        except TimeoutError:
            error = f"the token server {origin_of(connection.config.token_url)} did not answer within the deadline"
            raise NotAttached(RunStatus.TIMEOUT, "token", error, request.action.timeout_ms * 1_000) from None
        except TokenRefused as refusal:
            spent_us = plain.spent_us + int((time() - started_at) * 1_000_000)
            raise NotAttached(RunStatus.FAILURE, "token", str(refusal), spent_us) from None
        spent_us = plain.spent_us + int((time() - started_at) * 1_000_000)
        line = header_line("Authorization", f"Bearer {token}")
        return replace(plain, lines=(line,), secrets=(token,), token=token, spent_us=spent_us)

    async def _token_call(self, connection: Connection, request: Request) -> Outcome:
        try:
            return await self._make_call(request, await self._on_the_way(connection))
        except NotAttached as refusal:
            return refusal.outcome

    async def _proxy(self, connection: Connection) -> ProxyRoute:
        name = connection.config.proxy
        url = self._proxies.get(name)
        if url is None:
            raise NotAttached(
                RunStatus.BLOCKED,
                "connection",
                f"the proxy {name!r} of the connection {connection.name!r} is not in MAINSPRING_PROXIES of this "
                "process; have the operator add it, or choose another",
            )
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PROXY_PORTS[parts.scheme]
        if self._proxy_resolver is None:
            self._proxy_resolver = Resolver(AddressGuard(ANYWHERE))
        route = await self._proxy_resolver.route(host, port, "")
        if not route.entry:
            why = route.blocked or route.fault
            raise NotAttached(RunStatus.FAILURE, "proxy", f"the proxy {name!r} cannot be reached: {why}")
        return ProxyRoute(
            PROXY_KINDS[parts.scheme],
            first_address(route.entry, host, port),
            port,
            unquote(parts.username or ""),
            unquote(parts.password or ""),
        )


def first_address(entry: str, host: str, port: int) -> str:
    """The first address of an entry for libcurl, `host:port:address,address`."""
    return entry.removeprefix(f"{host}:{port}:").partition(",")[0]


def proxy_settings(proxy: ProxyRoute, target: Target, entry: str) -> Settings:
    """Through the proxy, to an address that the guard passed: the proxy resolves no name.

    A tunnel is never kept: another connection may have other credentials for the same proxy.
    """
    address = first_address(entry, target.name, target.port) if target.name is not None else target.host
    place = f"[{address}]" if ":" in address else address
    host = target.host_key.rpartition(":")[0]
    at = f"[{proxy.address}]" if ":" in proxy.address else proxy.address
    credentials: Settings = ()
    if proxy.username:
        credentials = (
            (pycurl.PROXYUSERNAME, proxy.username.encode()),
            (pycurl.PROXYPASSWORD, proxy.password.encode()),
        )
    return (
        (pycurl.PROXY, f"{at}:{proxy.port}"),
        (pycurl.NOPROXY, ""),
        (pycurl.PROXYTYPE, proxy.kind),
        (pycurl.HTTPPROXYTUNNEL, 1 if proxy.kind == pycurl.PROXYTYPE_HTTP else 0),
        (pycurl.CONNECT_TO, [f"{host}:{target.port}:{place}:{target.port}"]),
        (pycurl.FRESH_CONNECT, 1),
        (pycurl.FORBID_REUSE, 1),
        *credentials,
    )
