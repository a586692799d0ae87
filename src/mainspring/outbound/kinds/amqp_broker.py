"""Publish to AMQP 0-9-1 (RabbitMQ) with publisher confirms. A message that no queue receives is refused.

The slot is the message id. RabbitMQ itself drops no duplicates: consumers do, by that id.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any

import aiormq
from aiormq.connection import TransportFactory
from aiormq.exceptions import AMQPError, DeliveryError, InvalidFrameError, PublishError
from pamqp.commands import Basic
from yarl import URL

from mainspring.outbound.kinds.broker import OutgoingMessage
from mainspring.outbound.kinds.call import CallFault, CallProgress
from mainspring.outbound.kinds.dial import PeerStream

CLOSING_S = 1.0
logging.getLogger("aiormq").setLevel(logging.CRITICAL)  # it would log what any broker sends
PERSISTENT = 2
BODY_FRAME = b"\x03"
FRAME_BYTES_MAX = 16_384  # RabbitMQ presents itself in 600 bytes; a returned message has its headers in one frame


class FrameReader:
    """What the client reads of a broker, frame by frame: a head of 1 and 6 bytes, the payload, and a mark.

    The client decodes tables in time that grows with the square of their size, so frames other than those of a body
    are small.
    """

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._kind = b""

    def at_eof(self) -> bool:
        return self._reader.at_eof()

    async def readexactly(self, count: int) -> bytes:
        read = await self._reader.readexactly(count)
        if not self._kind:
            await asyncio.sleep(0)  # a decoded frame takes milliseconds, and many may have arrived
            self._kind = read
        elif len(self._kind) == 1:
            size = int.from_bytes(read[2:])
            if self._kind != BODY_FRAME and size > FRAME_BYTES_MAX:
                raise CallFault("unexpected", f"the broker sent a frame of {size:,} bytes; it was not read")
            self._kind += read
        else:
            self._kind = b""
        return read

    async def read(self) -> bytes:
        """The rest, after a head that is not one; the client shows it."""
        return b""


class AmqpTransport(TransportFactory):
    def __init__(self, stream: PeerStream) -> None:
        self._stream = stream

    async def create(self, url: URL, **options: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader: Any = FrameReader(self._stream.reader)
        return reader, self._stream.writer


async def publish(stream: PeerStream, message: OutgoingMessage, progress: CallProgress) -> None:
    action, broker = message.action, message.broker
    url = URL.build(
        scheme="amqp", host=broker.host, port=broker.port, path=f"/{broker.space.replace('/', '%2F')}",
        user=action.username, password=message.password or None, encoded=False,
    )  # fmt: skip
    others: dict[str, Any] = {name: value for name, value in message.headers.items() if name.lower() != "content-type"}
    types = [value for name, value in message.headers.items() if name.lower() == "content-type"]
    properties = Basic.Properties(
        message_id=message.slot_id, headers=others, delivery_mode=PERSISTENT, content_type=types[0] if types else None
    )
    connection = aiormq.Connection(url, transport_factory=AmqpTransport(stream))
    try:
        await connection.connect()
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        answer = await channel.basic_publish(
            message.body, exchange=action.exchange or "", routing_key=action.destination, properties=properties,
            mandatory=True,
        )  # fmt: skip
    except PublishError:
        raise CallFault("refused", f"no queue receives {action.destination!r}; create one, or bind it") from None
    except DeliveryError:
        raise CallFault("refused", "the broker did not store the message") from None
    except InvalidFrameError:
        space = broker.space or "/"
        raise CallFault(
            "refused", f"the broker closed the connection; does it have the virtual host {space!r}?"
        ) from None
    except AMQPError as fault:
        raise CallFault("refused", f"the broker refused the message: {fault}") from None
    else:
        with suppress(Exception):  # third-party code; the message is confirmed already
            async with asyncio.timeout(CLOSING_S):
                await connection.close()
    finally:
        stream.close()
        with suppress(Exception):  # third-party code; the connection is closed
            async with asyncio.timeout(CLOSING_S):
                await connection.close()
    if not isinstance(answer, Basic.Ack):
        raise CallFault("unexpected", f"the broker answered {type(answer).__name__} and not an acknowledgement")
    progress.facts |= {"confirmed": True, "message_id": message.slot_id}
