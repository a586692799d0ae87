"""Run HTTP exchanges with libcurl on the running asyncio loop. Knows bytes, sockets and time, not runs or rules.

One multi handle drives every transfer; easy handles are pooled by method, so an exchange sets only five options. A
transfer ends in one of four ways: complete, failed with libcurl's code, cut off at the body's cap, or aborted because
its call was cancelled. In the last three its connection is closed at once. No request is sent twice: libcurl would
repeat a request that a kept connection lost, although the target may have acted on it.

The rule that must not break: no socket is opened to an address the guard has not passed. libcurl calls
`Transfer.open_socket` for each connection, after resolving and for each address it tries.

HTTP/1.1 only: with one exchange per connection, ending an exchange ends exactly its own socket.
"""

import asyncio
import os
import socket
import ssl
from collections import deque
from contextlib import suppress
from typing import NamedTuple

import pycurl

from mainspring.outbound.guard import AddressGuard
from mainspring.outbound.sockets import DefaultSockets, EpollSockets, LoopSockets

CONNECTION_LIFE_S = 600  # then a new one is opened, so that a changed DNS record is noticed
# A request is sent once, so it must not meet a connection that its server is about to close as idle: the shortest
# common idle timeout is 2 s (gunicorn), then 5 s (Node, Apache, uvicorn).
CONNECTION_IDLE_S = 1
SEND: int = pycurl.PREREQFUNC_OK
DO_NOT_SEND: int = pycurl.PREREQFUNC_ABORT
NO_SOCKET: int = pycurl.SOCKET_BAD
SOCKET_OK: int = pycurl.SOCKOPT_OK
SPURIOUS_S = 0.0005  # libcurl counts whole milliseconds; half of one early is on time
ENTRIES_MAX = 4_096
LARGE_BODY_BYTES = 65_536  # a pooled handle must not keep more than this


# A certificate is only seen in a full handshake: not on a kept connection, and not in a resumed session.
READ_CERTIFICATE: tuple[tuple[int, object], ...] = (
    (pycurl.OPT_CERTINFO, 1),
    (pycurl.FRESH_CONNECT, 1),
    (pycurl.SSL_SESSIONID_CACHE, 0),
)


class WireOptions(NamedTuple):
    """What one exchange sets beyond the options of its method. Its handle is used once and then closed, so nothing of
    it reaches another exchange.
    """

    settings: tuple[tuple[int, object], ...] = ()
    sends_max: int = 1  # 2 if the first request only asks for a challenge
    proxy: tuple[str, int] | None = None  # the only address and port that it may connect to


class Transfer:
    """An easy handle, pooled or for one exchange, and what its current exchange has received."""

    __slots__ = (
        "blocked",
        "body",
        "bytes_seen",
        "cap",
        "curl",
        "future",
        "guard",
        "head",
        "is_fresh",
        "is_large",
        "lost_ports",
        "opened",
        "pool",
        "proxy",
        "sends_max",
        "sent",
        "timeout_ms",
        "told",
        "truncated",
        "url",
    )

    def __init__(self, guard: AddressGuard, pool: "list[Transfer] | None", lost_ports: set[int]) -> None:
        self.guard = guard
        self.lost_ports = lost_ports
        self.pool = pool
        self.curl = pycurl.Curl()
        self.curl.transfer = self
        self.head: list[bytes] = []  # raw lines of every response of the exchange, 1xx and trailers included
        self.body = bytearray()
        self.bytes_seen = 0
        self.cap = 0
        self.truncated = False
        self.blocked: str | None = None  # why the guard refused the last refused address
        self.future: asyncio.Future[int] | None = None
        self.opened: socket.socket | None = None
        self.sent = 0
        self.sends_max = 1
        self.proxy: tuple[str, int] | None = None
        self.is_fresh = False  # this exchange has opened its own connection
        self.url = ""
        self.timeout_ms = 0
        self.is_large = False
        self.told = ""  # the name whose addresses this exchange updates in libcurl, as host:port

    def receive(self, chunk: bytes) -> int | None:
        """Keeps the bytes that fit; stops libcurl at the first byte that does not."""
        self.bytes_seen += len(chunk)
        self.body += chunk
        if self.bytes_seen > self.cap:
            del self.body[self.cap :]
            self.truncated = True
            return 0
        return None

    def allow_sending(self, address: str, own_address: str, port: int, own_port: int) -> int:
        """Allows one request and no second: libcurl repeats a request whose kept connection broke before a response.

        A connection that the peer had already closed does not count: bytes sent there are never read.
        """
        if own_port in self.lost_ports:
            self.lost_ports.discard(own_port)
            if not self.is_fresh:
                return SEND
        self.sent += 1
        return SEND if self.sent <= self.sends_max else DO_NOT_SEND

    def open_socket(self, purpose: int, address: tuple[int, int, int, tuple[str, int]]) -> socket.socket | int:
        family, kind, protocol, place = address
        if family not in (socket.AF_INET, socket.AF_INET6):
            self.blocked = "only IPv4 and IPv6 are called"
            return NO_SOCKET
        # The guard has judged the target of a proxied call; the proxy itself is the operator's.
        refusal = self.guard.refusal(place[0], place[1]) if self.proxy is None else self._other_than_proxy(place)
        if refusal is not None:
            self.blocked = refusal
            return NO_SOCKET
        self.opened = socket.socket(family, kind, protocol)
        return self.opened

    def _other_than_proxy(self, place: tuple[str, int]) -> str | None:
        return None if place[:2] == self.proxy else f"{place[0]} is not the proxy of the connection"

    def prepare_socket(self, fd: int, purpose: int) -> int:
        """pycurl gives libcurl a copy of the socket, `fd`, that child processes would inherit."""
        os.set_inheritable(fd, False)
        self.is_fresh = True
        if self.opened is not None:
            self.opened.close()
            self.opened = None
        return SOCKET_OK


class CurlMulti:
    """The transfers in flight and the connections kept for later ones. Bound to the loop it was created on."""

    def __init__(
        self,
        guard: AddressGuard,
        *,
        user_agent: str,
        connections_max: int,
        ca_file: str | None = None,
        sockets: type[EpollSockets] | type[LoopSockets] = DefaultSockets,
    ) -> None:
        self._guard = guard
        self._user_agent = user_agent
        self._connections_max = connections_max
        self._ca_file = ca_file or ssl.get_default_verify_paths().cafile
        self._loop = asyncio.get_running_loop()
        self._multi = pycurl.CurlMulti()
        self._sockets = sockets(self._loop, self._multi.socket_action, self._collect, self._on_lost)
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections_max)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._sockets.watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._lost_ports: set[int] = set()  # local ports of kept connections that their peers have closed
        self._pools: dict[tuple[str, bool], list[Transfer]] = {}
        self._transfers: set[Transfer] = set()
        self._entries: dict[str, str] = {}  # addresses that libcurl was given for a host:port
        self._queue: deque[asyncio.Future[None]] = deque()
        self._active = 0
        self._kick_is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._expires_at: float | None = None

    async def exchange(
        self,
        method: str,
        url: str,
        headers: list[str | bytes],
        body: bytes | None,
        *,
        host_key: str = "",
        entry: str = "",
        timeout_ms: int,
        cap: int,
        options: WireOptions | None = None,
    ) -> tuple[int, Transfer]:
        """Returns libcurl's code (0: complete) and the transfer, to be read and then returned with `release`.

        `entry` is the resolved name of `host_key`, `host:port:address,...`; empty if the URL has an address.

        If `connections_max` exchanges are in flight, it waits for a place first. The deadline starts after that, so our
        own congestion is not reported as the target's slowness.
        """
        while self._active >= self._connections_max:
            await self._wait_for_place()
        if options is None:
            pool = self._pools.get((method, body is not None))
            transfer = pool.pop() if pool else self._new_transfer(method, body is not None)
        else:
            transfer = self._new_transfer(method, body is not None, options)
        curl = transfer.curl
        if url != transfer.url:
            curl.setopt(pycurl.URL, url)
            transfer.url = url
        if timeout_ms != transfer.timeout_ms:
            curl.setopt(pycurl.TIMEOUT_MS, timeout_ms)
            transfer.timeout_ms = timeout_ms
        curl.setopt(pycurl.HTTPHEADER, headers)
        if body is not None:
            curl.setopt(pycurl.POSTFIELDS, body)
            transfer.is_large = len(body) > LARGE_BODY_BYTES
        if entry and self._entries.get(host_key) != entry:
            self._set_entry(transfer, host_key, entry)
        transfer.cap = cap
        future = transfer.future = self._loop.create_future()
        self._active += 1
        self._multi.add_handle(curl)
        try:
            return await future, transfer
        except asyncio.CancelledError:
            if transfer.future is not None:  # otherwise it ended in the same turn of the loop
                self._retire(transfer)
                self._entries.pop(transfer.told, None)  # libcurl may not have read it yet
            self.release(transfer)
            raise

    def release(self, transfer: Transfer) -> None:
        """Returns a transfer to the pool, or closes it. Its data must not be read afterwards."""
        if transfer.pool is None:
            self._close(transfer)
            return
        transfer.head.clear()
        transfer.body.clear()
        transfer.bytes_seen = 0
        transfer.truncated = False
        transfer.blocked = None
        transfer.sent = 0
        transfer.is_fresh = False
        transfer.told = ""
        if transfer.is_large:
            transfer.curl.setopt(pycurl.POSTFIELDS, b"")
            transfer.is_large = False
        transfer.pool.append(transfer)

    def close(self) -> None:
        """Cancels transfers in flight and closes every connection; no exchange is possible afterwards."""
        self._connections_max = 0
        if self._timer is not None:
            self._timer.cancel()
        for place in self._queue:
            place.cancel()
        for transfer in tuple(self._transfers):
            if (future := transfer.future) is not None:
                self._retire(transfer)
                future.cancel()
        self._multi.close()
        for transfer in self._transfers:
            transfer.is_large = False  # its call may still release it, and a closed handle accepts no options
            transfer.curl.close()
            transfer.curl.transfer = None
        self._transfers.clear()
        self._sockets.close()

    def _close(self, transfer: Transfer) -> None:
        if transfer in self._transfers:  # otherwise everything was closed meanwhile
            self._transfers.discard(transfer)
            transfer.curl.close()
            transfer.curl.transfer = None

    def _new_transfer(self, method: str, has_body: bool, options: WireOptions | None = None) -> Transfer:
        """A handle with every option set that is the same for all exchanges of this method, and with `options`."""
        pool = self._pools.setdefault((method, has_body), []) if options is None else None
        transfer = Transfer(self._guard, pool, self._lost_ports)
        self._transfers.add(transfer)
        setopt = transfer.curl.setopt
        setopt(pycurl.HEADERFUNCTION, transfer.head.append)
        setopt(pycurl.WRITEFUNCTION, transfer.receive)
        setopt(pycurl.OPENSOCKETFUNCTION, transfer.open_socket)
        setopt(pycurl.SOCKOPTFUNCTION, transfer.prepare_socket)
        setopt(pycurl.PREREQFUNCTION, transfer.allow_sending)
        setopt(pycurl.NOSIGNAL, 1)
        setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        setopt(pycurl.FOLLOWLOCATION, 0)
        setopt(pycurl.PROXY, "")  # empty, not unset: unset reads http_proxy from the environment
        setopt(pycurl.NOPROXY, "*")
        setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        setopt(pycurl.HTTP09_ALLOWED, 0)
        setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
        setopt(pycurl.PATH_AS_IS, 1)
        setopt(pycurl.MAXLIFETIME_CONN, CONNECTION_LIFE_S)
        setopt(pycurl.MAXAGE_CONN, CONNECTION_IDLE_S)
        setopt(pycurl.USERAGENT, self._user_agent)
        if self._ca_file is not None:  # the wheel's own default is a path few systems have
            setopt(pycurl.CAINFO, self._ca_file)
        if method == "HEAD":
            setopt(pycurl.NOBODY, 1)
        elif has_body:
            setopt(pycurl.POST, 1)
        if method not in ("GET", "HEAD") and not (method == "POST" and has_body):
            setopt(pycurl.CUSTOMREQUEST, method)
        if options is not None:
            for option, value in options.settings:
                setopt(option, value)
            transfer.sends_max, transfer.proxy = options.sends_max, options.proxy
        return transfer

    def _set_entry(self, transfer: Transfer, host_key: str, entry: str) -> None:
        """Gives libcurl the addresses of a name. It keeps them forever, so the oldest are removed when there are
        many.
        """
        changes = [entry]
        if len(self._entries) >= ENTRIES_MAX and host_key not in self._entries:
            oldest = next(iter(self._entries))
            del self._entries[oldest]
            changes.insert(0, f"-{oldest}")
        transfer.curl.setopt(pycurl.RESOLVE, changes)
        transfer.told = host_key
        self._entries[host_key] = entry

    async def _wait_for_place(self) -> None:
        if self._connections_max <= 0:
            raise RuntimeError("the HTTP client is closed")
        place = self._loop.create_future()
        self._queue.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self._give_place()  # the place was ours already; the next in line must not wait in vain
            elif place in self._queue:
                self._queue.remove(place)
            raise

    def _give_place(self) -> None:
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                return

    def _on_timer(self, timeout_ms: int) -> None:
        """libcurl asks to be called after `timeout_ms`, or not at all if it is negative.

        Zero comes with every new transfer: one call at the end of this turn of the loop starts them all. A later time
        than the current one is only noted, because the old timer will check again when it fires.
        """
        if timeout_ms == 0:
            if not self._kick_is_due:
                self._kick_is_due = True
                self._loop.call_soon(self._kick)
        elif timeout_ms > 0:
            self._expires_at = expires_at = self._loop.time() + timeout_ms / 1_000
            if self._timer is None or expires_at < self._timer_at:
                self._set_timer(expires_at)
        else:
            self._expires_at = None

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        if self._expires_at is None:
            return
        if self._loop.time() < self._expires_at - SPURIOUS_S:
            self._set_timer(self._expires_at)
        else:
            self._expires_at = None
            self._kick()

    def _on_lost(self, fd: int) -> None:
        with suppress(OSError), socket.socket(fileno=os.dup(fd)) as lost:
            self._lost_ports.add(lost.getsockname()[1])

    def _kick(self) -> None:
        self._kick_is_due = False
        if self._connections_max <= 0:
            return  # closed between scheduling and running the callback
        self._sockets.look()  # lost connections must be known before anything is sent on them
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _collect(self) -> None:
        """Wakes the calls whose transfers have ended."""
        _, complete, failed = self._multi.info_read()
        for curl in complete:
            self._finish(curl.transfer, 0)
        for curl, code, _ in failed:
            self._finish(curl.transfer, code)

    def _finish(self, transfer: Transfer, code: int) -> None:
        future = transfer.future
        self._retire(transfer)
        if future is not None and not future.done():
            future.set_result(code)

    def _retire(self, transfer: Transfer) -> None:
        """Removes a transfer from libcurl; an unfinished one loses its connection."""
        transfer.future = None
        self._multi.remove_handle(transfer.curl)
        self._active -= 1
        if self._queue:
            self._give_place()
