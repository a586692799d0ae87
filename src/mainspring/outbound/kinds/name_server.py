"""Ask one name server, over UDP or TCP, with bounded work. Imported by the first lookup of kind `dns`.

dnspython would queue datagrams without a bound and read every answer on the event loop. Names in an answer can point at
each other: one of 64 kB took it half a minute. So an answer is trimmed before it is read, in a thread: to the first
hundred records of the answer section, with short names, and without types that were not asked for.
"""

import asyncio
import struct

import dns.exception
import dns.message
import dns.nameserver
import dns.query
from dns._asyncbackend import Backend
from dns.rdatatype import RdataType

DATAGRAM_BYTES_MAX = 4_096  # what servers send at most
RECORDS_MAX = 100
LABELS_MAX = 32  # of a name; dnspython takes time that grows with their square
OTHER_TYPE = struct.pack("!H", 0xFF00)  # for private use: dnspython keeps the data of such a record unread
# Types whose data has a name that may be compressed, and where it begins.
NAME_AT = {RdataType.NS: 0, RdataType.CNAME: 0, RdataType.MX: 2, RdataType.SRV: 6}
HEAD = struct.Struct("!HHHHHH")
RECORD = struct.Struct("!HHIH")  # type, class, time to live, length


class BoundedNameserver(dns.nameserver.AddressAndPortNameserver):
    """A name server for a resolver of dnspython, which decides whom to ask, and asks again over TCP."""

    def kind(self) -> str:
        return "Do53"

    async def async_query(
        self,
        request: dns.message.QueryMessage,
        timeout: float,
        source: str | None,
        source_port: int,
        max_size: bool,
        backend: Backend,
        one_rr_per_rrset: bool = False,
        ignore_trailing: bool = False,
    ) -> dns.message.Message:
        ask = self._ask_by_tcp if max_size else self._ask_by_udp
        try:
            async with asyncio.timeout(timeout):
                answer = await ask(request)
        except TimeoutError:
            raise dns.exception.Timeout from None
        read = await asyncio.to_thread(_read, answer, request.question[0].rdtype)
        if not request.is_response(read):
            raise dns.query.BadResponse
        return read

    async def _ask_by_udp(self, request: dns.message.QueryMessage) -> bytes:
        transport, listener = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _OneAnswer(request.id), remote_addr=(self.address, self.port)
        )
        try:
            transport.sendto(request.to_wire())
            return await listener.answer
        finally:
            transport.abort()

    async def _ask_by_tcp(self, request: dns.message.QueryMessage) -> bytes:
        reader, writer = await asyncio.open_connection(self.address, self.port)
        try:
            writer.write(request.to_wire(prepend_length=True))
            await writer.drain()
            return await reader.readexactly(int.from_bytes(await reader.readexactly(2)))
        finally:
            writer.transport.abort()


class _OneAnswer(asyncio.DatagramProtocol):
    """Takes the first datagram with the id of the question; all others are dropped."""

    def __init__(self, asked: int) -> None:
        self._id = asked.to_bytes(2)
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        if data[:2] == self._id and len(data) <= DATAGRAM_BYTES_MAX and not self.answer.done():
            self.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(exc)


def _read(answer: bytes, asked: RdataType) -> dns.message.Message:
    try:
        trimmed = trim(answer, asked)
    except (IndexError, struct.error):
        raise _refused("the answer is incomplete") from None
    return dns.message.from_wire(trimmed, raise_on_truncation=True)


def trim(answer: bytes, asked: RdataType) -> bytes:
    """The answer with what is read of it. Raises dns.exception.FormError for names that are too long."""
    id_, flags, questions, records, *_ = HEAD.unpack_from(answer)
    kept, place = bytearray(answer), HEAD.size
    for _ in range(min(questions, 2)):  # a second one is refused when the answer is read
        place = _end_of_name(answer, place) + 4
    records = min(records, RECORDS_MAX)
    for _ in range(records):
        start = _end_of_name(answer, place)
        kind, _, _, size = RECORD.unpack_from(answer, start)
        data = start + RECORD.size
        if kind not in (asked, RdataType.CNAME):
            kept[start : start + 2] = OTHER_TYPE
        elif (offset := NAME_AT.get(RdataType(kind))) is not None:
            _end_of_name(answer, data + offset)
        place = data + size
    HEAD.pack_into(kept, 0, id_, flags, min(questions, 2), records, 0, 0)
    return bytes(kept[:place])


def _end_of_name(answer: bytes, place: int) -> int:
    """Where a name ends that begins here. Raises dns.exception.FormError if it has too many labels."""
    end = 0
    for _ in range(LABELS_MAX):
        size = answer[place]
        if size >= 0xC0:
            end = end or place + 2
            place = (size & 0x3F) << 8 | answer[place + 1]
        elif size:
            place += 1 + size
        else:
            return end or place + 1
    raise _refused(f"the answer has a name of more than {LABELS_MAX} labels")


def _refused(words: str) -> dns.exception.FormError:
    return dns.exception.FormError(words)  # type: ignore[no-untyped-call]  # of dnspython
