"""A name server on UDP and TCP that answers as it was told: records, errors, garbage, or nothing."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

Answer = Callable[[dns.message.Message], bytes | None]  # None: no answer


def zone(records: dict[tuple[str, str], list[str]], rcode: str = "NOERROR") -> Answer:
    """Answers from `(name, type) -> texts`; other names do not exist, names without that type have no record."""

    def answer(asked: dns.message.Message) -> bytes:
        question = asked.question[0]
        reply = dns.message.make_response(asked)
        name, kind = str(question.name).rstrip("."), question.rdtype.name
        if texts := records.get((name, kind)):
            reply.answer.append(dns.rrset.from_text(question.name, 300, "IN", kind, *texts))
        elif not any(known == name for known, _ in records):
            reply.set_rcode(dns.rcode.NXDOMAIN)
        if rcode != "NOERROR":
            reply.set_rcode(dns.rcode.from_text(rcode))
        return reply.to_wire()

    return answer


class NameServer(asyncio.DatagramProtocol):
    def __init__(self, answer: Answer, *, is_short: bool = False) -> None:
        self._answer = answer
        self._is_short = is_short  # over UDP, only say that the answer does not fit
        self.questions = 0

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._datagrams, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", self.port))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._datagrams.close()
        self._server.close()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.questions += 1
        self._asker = addr
        asked = dns.message.from_wire(data)
        if self._is_short:
            reply = dns.message.make_response(asked)
            reply.flags |= dns.flags.TC
            self._transport.sendto(reply.to_wire(), addr)
        elif (answer := self._answer(asked)) is not None:
            self._transport.sendto(answer, addr)

    def say(self, data: bytes) -> None:
        """Sends a datagram to the last one who asked."""
        self._transport.sendto(data, self._asker)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(2), "big")
        answer = self._answer(dns.message.from_wire(await reader.readexactly(size)))
        if answer is not None:
            writer.write(len(answer).to_bytes(2, "big") + answer)
            await writer.drain()
        writer.close()
