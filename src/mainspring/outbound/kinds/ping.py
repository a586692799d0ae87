"""Make the call of kind `ping` with ICMP datagram sockets, which need no privilege where the system allows them.

Linux allows them to the groups in `net.ipv4.ping_group_range`, macOS to everyone. If they are not allowed, the call
is blocked and its message names the setting, as does `mainspring doctor`. Raw sockets are never used.

A reply counts if it has the random token of this call and the number of a request without a reply yet: other replies,
invalid data and duplicates are ignored.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Callable

from mainspring.domain.kinds.ping import PingAction
from mainspring.domain.run import Outcome, Request
from mainspring.outbound.kinds.call import CallFault, CallProgress, run_call
from mainspring.outbound.kinds.dial import Dialer

LAST_REPLY_S = 2.0  # for the replies to the last requests; most of the world replies within a tenth of it
TOKEN_BYTES = 16
PACKETS_PER_TURN = 64  # a peer that floods must not keep the loop busy
READ_BYTES = 2_048
SETTING = "net.ipv4.ping_group_range"
REFUSED = f"this system does not allow ICMP sockets to this process; set {SETTING} to a range with its group"

OpenSocket = Callable[[str], socket.socket]


def icmp_socket(address: str) -> socket.socket:
    """A socket that sends echo requests to this address and receives the replies. Raises OSError."""
    is_v6 = ":" in address
    family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if is_v6 else (socket.AF_INET, socket.IPPROTO_ICMP)
    made = socket.socket(family, socket.SOCK_DGRAM, protocol)
    try:
        made.setblocking(False)
        made.connect((address, 0))
    except BaseException:
        made.close()
        raise
    return made


def why_not() -> str | None:
    """Why echo requests cannot be sent from here; None if they can."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).close()
    except OSError:
        return REFUSED
    return None


class PingCaller:
    def __init__(self, dialer: Dialer, open_socket: OpenSocket = icmp_socket) -> None:
        self._dialer = dialer
        self._open_socket = open_socket

    async def call(self, request: Request) -> Outcome:
        action = request.action
        assert isinstance(action, PingAction)
        return await run_call(action, lambda progress: self._ping(action, request.tenant_id, progress))

    async def _ping(self, action: PingAction, tenant_id: str, progress: CallProgress) -> None:
        address = (await self._dialer.addresses(action.host, 0, tenant_id, progress))[0]
        progress.address = address
        try:
            opened = self._open_socket(address)
        except PermissionError:
            raise CallFault("unsupported", f"not called: {REFUSED}") from None
        except OSError as fault:
            raise CallFault("connect", f"could not reach {action.host}: {fault.strerror}") from None
        session = EchoSession(opened, is_v6=":" in address)
        progress.waits_for = f"the answers of {action.host}"
        try:
            left_s = action.timeout_ms / 1_000 - progress.elapsed_us() / 1_000_000
            await session.run(action.count, action.spacing_ms / 1_000, left_s)
        finally:
            session.close()
            _tell(session, progress)
        if session.first_us is not None:
            progress.marks["first_byte_us"] = session.first_us
        _judge(action, session, progress)

    async def aclose(self) -> None:
        """Nothing is kept between calls."""


def _tell(session: "EchoSession", progress: CallProgress) -> None:
    rtts = [session.rtts_ms.get(number) for number in range(session.sent)]
    known = [each for each in rtts if each is not None]
    lost = session.sent - len(known)
    progress.facts = {
        "sent": session.sent,
        "received": len(known),
        "loss": round(100 * lost / session.sent, 1) if session.sent else 100.0,
        "rtt_min_ms": min(known, default=None),
        "rtt_avg_ms": round(sum(known) / len(known), 3) if known else None,
        "rtt_max_ms": max(known, default=None),
        "rtts_ms": rtts,
    }


def _judge(action: PingAction, session: "EchoSession", progress: CallProgress) -> None:
    if progress.facts["loss"] <= action.max_loss:
        return
    if session.rtts_ms:
        received = f"{len(session.rtts_ms)} of {session.sent} requests were answered"
        raise CallFault("loss", f"{received}; at most {action.max_loss} % may be lost")
    reason = f": {session.error}" if session.error else ""
    raise CallFault("no_reply", f"{action.host} answered none of {session.sent} echo requests{reason}")


class EchoSession:
    """The requests and replies of one call, on one socket."""

    def __init__(self, opened: socket.socket, *, is_v6: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = opened
        self._request, self._reply = (128, 129) if is_v6 else (8, 0)
        self._token = os.urandom(TOKEN_BYTES)
        self._sent_at: dict[int, float] = {}
        self._started_at = self._loop.time()
        self._all_answered = asyncio.Event()
        self._wanted = 0
        self.rtts_ms: dict[int, float] = {}
        self.first_us: int | None = None
        self.error = ""
        self._loop.add_reader(opened.fileno(), self._read)

    @property
    def sent(self) -> int:
        return len(self._sent_at)

    async def run(self, count: int, spacing_s: float, left_s: float) -> None:
        """Sends at a steady pace and returns when all replies have arrived, or the last ones are overdue."""
        self._wanted = count
        end_at = self._loop.time() + left_s * 0.95  # the deadline is for calls that hang; lost requests are a result
        for number in range(count):
            self._send(number)
            if number < count - 1:
                await asyncio.sleep(spacing_s)
        wait_s = min(LAST_REPLY_S, end_at - self._loop.time())
        try:
            async with asyncio.timeout(max(wait_s, 0)):
                await self._all_answered.wait()
        except TimeoutError:
            pass  # some are lost

    def _send(self, number: int) -> None:
        head = struct.pack("!BBHHH", self._request, 0, 0, 0, number)  # the kernel writes the identifier
        packet = head[:2] + struct.pack("!H", _checksum(head + self._token)) + head[4:] + self._token
        self._sent_at[number] = self._loop.time()
        try:
            self._socket.send(packet)
        except OSError as fault:
            self.error = fault.strerror or str(fault)

    def _read(self) -> None:
        for _ in range(PACKETS_PER_TURN):
            try:
                data = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                return
            except OSError as fault:
                self.error = fault.strerror or str(fault)
                return
            self._take(data)

    def _take(self, data: bytes) -> None:
        if data[:1] and data[0] >> 4 == 4 and len(data) >= 28:  # macOS passes the IP header on
            data = data[(data[0] & 15) * 4 :]
        if len(data) < 8 or data[0] != self._reply or data[8 : 8 + TOKEN_BYTES] != self._token:
            return
        number = struct.unpack("!H", data[6:8])[0]
        sent_at = self._sent_at.get(number)
        if sent_at is None or number in self.rtts_ms:
            return
        now = self._loop.time()
        self.rtts_ms[number] = round((now - sent_at) * 1_000, 3)
        if self.first_us is None:
            self.first_us = int((now - self._started_at) * 1_000_000)
        if len(self.rtts_ms) == self._wanted:
            self._all_answered.set()

    def close(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()


def _checksum(data: bytes) -> int:
    """Of RFC 1071. The kernel computes it for ICMPv6."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
