"""Open a connection to a host, with the address guard and the resolver that HTTP calls use.

The rule that must not break: a socket is connected to an address that the guard has just allowed, and to no other. The
name is resolved here, so an answer that changes between two lookups gains nothing.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import SupportsIndex

from mainspring.domain.target import address_of
from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.kinds.call import CallFault, CallProgress
from mainspring.outbound.resolver import Lookup, Resolver, system_lookup

REPLIES_MAX = 1_000_000  # bytes that a broker may send during one call
READ_AHEAD = 65_536  # bytes that a connection buffers before it stops reading


class Dialer:
    """Connects on behalf of tenants. Bound to the loop of the first call."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        clock: Callable[[], datetime],
        lookup: Lookup = system_lookup,
        ca_file: str | None = None,
    ) -> None:
        self.guard = guard
        self.clock = clock  # certificates expire by it
        self.ca_file = ca_file
        self._lookup = lookup
        self._resolver: Resolver | None = None

    async def addresses(self, host: str, port: int, tenant_id: str, progress: CallProgress) -> list[str]:
        """The addresses of a host that the guard allows, in the order to try. Raises CallFault without one."""
        progress.waits_for = f"the address of {host}"
        if (address := address_of(host)) is not None:
            if (refusal := self.guard.refusal(address, port)) is not None:
                raise CallFault("blocked_address", f"not called: {refusal}")
            return [address]
        if self._resolver is None:
            self._resolver = Resolver(self.guard, self._lookup)
        route = self._resolver.known_route(host, port) or await self._resolver.route(host, port, tenant_id)
        progress.mark("dns_us")
        if route.blocked is not None:
            raise CallFault("blocked_address", f"not called: {host} is {route.blocked}")
        allowed = [each for each in route.answer.addresses if self.guard.verdict(each, port) is None]
        if not allowed:
            raise CallFault("dns", f"{host} could not be resolved: {route.fault}")
        return allowed

    async def connect(self, host: str, port: int, tenant_id: str, progress: CallProgress) -> socket.socket:
        """A connected socket. Addresses are tried in order; each gets its share of the time that is left."""
        addresses = await self.addresses(host, port, tenant_id, progress)
        progress.waits_for = f"a connection to {host}:{port}"
        last: OSError | None = None
        for number, address in enumerate(addresses):
            progress.address = address
            try:
                connected = await _connect_one(address, port, is_last=number == len(addresses) - 1)
            except OSError as fault:  # also a TimeoutError of one of several addresses
                last = fault
                continue
            progress.mark("connect_us")
            return connected
        assert last is not None
        why = os.strerror(last.errno).lower() if last.errno else "timed out"  # `strerror` is asyncio's own here
        raise CallFault("connect", f"could not connect to {host}:{port}: {why}")


TRY_S = 3.0  # for one of several addresses; the last one gets the rest of the deadline


async def _connect_one(address: str, port: int, *, is_last: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM | getattr(socket, "SOCK_CLOEXEC", 0))
    try:
        made.setblocking(False)
        async with asyncio.timeout(None if is_last else TRY_S):
            await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return made


class CappedReader(asyncio.StreamReader):
    """Reads no more than `cap` bytes in total, for clients that trust their server."""

    def __init__(self, cap: int = REPLIES_MAX) -> None:
        super().__init__(limit=READ_AHEAD)
        self._left = cap

    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        assert isinstance(data, (bytes, bytearray, memoryview))  # as every transport calls it
        self._left -= len(data)
        if self._left < 0:
            self.set_exception(CallFault("unexpected", "the peer sent too much; nothing more was read"))
        else:
            super().feed_data(data)


class PeerStream:
    """A connection as two streams. Closing it never waits for the peer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, connected: socket.socket, tls: ssl.SSLContext | None, server_name: str) -> "PeerStream":
        """Raises ssl.SSLError, ConnectionError or OSError if the handshake fails."""
        try:
            if tls is None:
                return cls(*await asyncio.open_connection(sock=connected, limit=READ_AHEAD))
            return cls(
                *await asyncio.open_connection(sock=connected, ssl=tls, server_hostname=server_name, limit=READ_AHEAD)
            )
        except BaseException:
            connected.close()
            raise

    @classmethod
    async def open_capped(cls, connected: socket.socket, tls: ssl.SSLContext | None, server_name: str) -> "PeerStream":
        """The same with a `CappedReader`."""
        loop = asyncio.get_running_loop()
        reader = CappedReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.create_connection(
                lambda: protocol, sock=connected, ssl=tls, server_hostname=server_name if tls else None
            )
        except BaseException:
            connected.close()
            raise
        return cls(reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    def close(self) -> None:
        with suppress(RuntimeError):  # the loop is closing
            self.writer.transport.abort()


@lru_cache(maxsize=8)
def tls_context(ca_file: str | None = None, *, verifies: bool = True) -> ssl.SSLContext:
    """Loading the certificate authorities takes tens of milliseconds, so a context is made once."""
    context = ssl.create_default_context(cafile=ca_file)
    if not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
