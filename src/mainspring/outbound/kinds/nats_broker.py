"""Publish to NATS JetStream. The slot is the id of the message, by which the stream drops duplicates.

The client knows one connection. Servers that the broker names are ignored, and it never reconnects.
"""

import asyncio
import ssl
from contextlib import suppress
from typing import Any

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.transport import TcpTransport

from mainspring.outbound.kinds.broker import OutgoingMessage
from mainspring.outbound.kinds.call import CallFault, CallProgress
from mainspring.outbound.kinds.dial import CappedReader, PeerStream

CLOSING_S = 1.0
MESSAGE_ID = "Nats-Msg-Id"


class NatsTransport(TcpTransport):
    """A transport of the client over an open stream. With `tls`, nothing is sent unencrypted."""

    def __init__(self, stream: PeerStream, tls: ssl.SSLContext | None, host: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # of a package without strict types
        self._bare_io_reader = self._io_reader = stream.reader
        self._bare_io_writer = self._io_writer = stream.writer
        self._tls, self._host, self._is_encrypted = tls, host, False

    async def connect(self, uri: Any, buffer_size: int, connect_timeout: int) -> None:
        """It is connected."""

    async def connect_tls(self, uri: Any, ssl_context: Any, buffer_size: int, connect_timeout: int) -> None:
        if self._tls is None:
            raise CallFault("tls", "the broker requires TLS; write its URL with tls://")
        assert self._io_writer is not None
        loop = asyncio.get_running_loop()
        reader = CappedReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        upgraded = await loop.start_tls(self._io_writer.transport, protocol, self._tls, server_hostname=self._host)
        assert upgraded is not None
        self._io_reader = reader
        self._io_writer = asyncio.StreamWriter(upgraded, protocol, reader, loop)
        self._is_encrypted = True

    def write(self, payload: bytes) -> None:
        self._refuse_clear()
        super().write(payload)  # type: ignore[no-untyped-call]  # as above

    def writelines(self, payload: list[bytes]) -> None:
        self._refuse_clear()
        super().writelines(payload)  # type: ignore[no-untyped-call]  # as above

    def _refuse_clear(self) -> None:
        if self._tls is not None and not self._is_encrypted:
            raise CallFault("tls", "the broker does not offer TLS; nothing was sent")


async def publish(stream: PeerStream, message: OutgoingMessage, progress: CallProgress) -> None:
    action, broker = message.action, message.broker
    timeout_s = action.timeout_ms // 1_000 + 1  # the deadline of the run ends first
    closed = asyncio.get_running_loop().create_future()
    client = Client()
    client._transport = NatsTransport(stream, message.tls, broker.host)
    credentials: dict[str, Any] = {"user": action.username, "password": message.password}
    if message.password and not action.username:
        credentials = {"token": message.password}

    async def on_closed() -> None:
        if not closed.done():
            closed.set_result(None)

    try:
        await client.connect(
            f"nats://{broker.host if ':' not in broker.host else f'[{broker.host}]'}:{broker.port}",
            allow_reconnect=False, max_reconnect_attempts=0, connect_timeout=timeout_s, error_cb=_ignore,
            closed_cb=on_closed, tls=message.tls, **credentials,
        )  # fmt: skip
        headers = {**message.headers, MESSAGE_ID: message.slot_id}
        sending = asyncio.ensure_future(
            client.jetstream().publish(action.destination, message.body, timeout=timeout_s, headers=headers)
        )
        try:
            await asyncio.wait((sending, closed), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise CallFault("closed", f"the broker closed the connection: {client.last_error or 'no reason'}")
            answer = await sending
        finally:
            sending.cancel()
    except nats.js.errors.NoStreamResponseError:
        raise CallFault("refused", f"no stream stores the subject {action.destination!r}; create one") from None
    except TimeoutError:
        raise
    except nats.errors.Error as fault:
        raise CallFault("refused", f"the broker refused the message: {fault}") from None
    finally:
        stream.close()
        with suppress(Exception):  # third-party code; the connection is closed
            async with asyncio.timeout(CLOSING_S):
                await client.close()
    progress.facts |= {
        "confirmed": True,
        "message_id": message.slot_id,
        "duplicate": bool(answer.duplicate),
        "stream": str(answer.stream)[:255],
        "sequence": int(answer.seq),
    }


async def _ignore(fault: Exception) -> None:
    """A failed call is an outcome, not a log line of the client."""
