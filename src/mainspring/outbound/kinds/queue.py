"""Make the call of kind `queue`: connect past the address guard, publish, and wait for the confirmation.

The clients of the brokers speak their protocols over a connection that is opened here. They never open one: a broker
that names other servers, as NATS and a Redis cluster do, is not followed. What a broker sends is capped.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from functools import cache

from mainspring.domain.access.sealing import header_place
from mainspring.domain.errors import MainspringError
from mainspring.domain.kinds.installed import is_importable
from mainspring.domain.kinds.queue import Broker, QueueAction, is_password, missing_client, read_broker
from mainspring.domain.run import Outcome, Request
from mainspring.outbound.kinds.broker import OutgoingMessage
from mainspring.outbound.kinds.call import CallFault, CallProgress, blocked, run_call
from mainspring.outbound.kinds.certificate import tls_fault
from mainspring.outbound.kinds.dial import Dialer, PeerStream, tls_context
from mainspring.outbound.redaction import redacted
from mainspring.ports.outbound import Vault

Publish = Callable[[PeerStream, OutgoingMessage, CallProgress], Awaitable[None]]


class QueueCaller:
    def __init__(self, dialer: Dialer, vault: Vault) -> None:
        self._dialer = dialer
        self._vault = vault

    async def call(self, request: Request) -> Outcome:
        """1. Read the action and decrypt its secrets. 2. Connect and publish within the deadline. 3. Redact."""
        action = request.action
        assert isinstance(action, QueueAction)
        try:
            broker = read_broker(action.broker)
            headers = self._headers(action, request)
        except MainspringError as fault:
            return blocked("secret", str(fault))
        if not is_importable(broker.protocol.package):
            return blocked("unsupported", f"the broker {missing_client(broker.protocol)}")
        password = "".join(value for name, value in headers.items() if is_password(name))
        sent = {name: value for name, value in headers.items() if not is_password(name)}
        body = (action.body or "").encode("utf-8", "surrogatepass")
        message = OutgoingMessage(action, broker, sent, body, password, request.slot_id, self._context(broker))
        publish = await asyncio.to_thread(_publisher_of, broker.protocol.name)
        outcome = await run_call(action, lambda progress: self._publish(publish, message, request.tenant_id, progress))
        secrets = [headers[each.name] for each in action.headers if each.secret]
        return redacted(outcome, secrets) if secrets else outcome

    async def aclose(self) -> None:
        """Nothing is kept between calls."""

    def _headers(self, action: QueueAction, request: Request) -> dict[str, str]:
        opened = {}
        for header in action.headers:
            place = header_place(request.tenant_id, request.endpoint_id, header.name)
            opened[header.name] = self._vault.open(header.value, place) if header.secret else header.value
        return opened

    def _context(self, broker: Broker) -> ssl.SSLContext | None:
        return tls_context(self._dialer.ca_file) if broker.protocol.is_tls else None

    async def _publish(
        self, publish: Publish, message: OutgoingMessage, tenant_id: str, progress: CallProgress
    ) -> None:
        broker = message.broker
        progress.facts = {"confirmed": False, "message_id": None, "duplicate": False}
        connected = await self._dialer.connect(broker.host, broker.port, tenant_id, progress)
        progress.waits_for = "the TLS handshake"
        is_upgraded_later = broker.protocol.name == "nats"
        try:
            stream = await PeerStream.open_capped(connected, None if is_upgraded_later else message.tls, broker.host)
        except (ssl.SSLError, OSError) as fault:
            raise tls_fault(fault) from None
        progress.waits_for = "the broker's confirmation"
        try:
            await publish(stream, message, progress)
        except (CallFault, TimeoutError):
            raise
        except ssl.SSLError as fault:
            raise tls_fault(fault) from None
        except (OSError, EOFError) as fault:
            raise CallFault("closed", f"the broker closed the connection before it confirmed: {fault}") from None
        except Exception as fault:  # third-party code, which reads untrusted data of a server
            raise _of_client(fault) from None
        finally:
            stream.close()
        progress.mark("first_byte_us")


@cache
def _publisher_of(protocol: str) -> Publish:
    """The first call that needs a client imports it: in a thread, and before its deadline begins."""
    match protocol:
        case "redis":
            from mainspring.outbound.kinds.redis_broker import publish
        case "nats":
            from mainspring.outbound.kinds.nats_broker import publish
        case _:
            from mainspring.outbound.kinds.amqp_broker import publish
    return publish


def _of_client(fault: Exception) -> CallFault:
    """The error of a client: the limit on what a broker sends, or a response that it cannot read."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, CallFault):
            return cause
        cause = cause.__cause__ or cause.__context__
    return CallFault("unexpected", f"the broker's answer cannot be read: {type(fault).__name__}: {fault}")
