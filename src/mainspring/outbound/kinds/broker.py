"""What the clients of brokers receive: one message, and the credentials to publish it."""

import ssl

from msgspec import Struct

from mainspring.domain.kinds.queue import Broker, QueueAction


class OutgoingMessage(Struct, frozen=True):
    action: QueueAction
    broker: Broker
    headers: dict[str, str]  # decrypted, without the password
    body: bytes
    password: str
    slot_id: str  # the same for every attempt at a slot: brokers and consumers recognise duplicates by it
    tls: ssl.SSLContext | None
