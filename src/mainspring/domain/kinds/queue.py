"""Kind `queue`: publish one message to a broker and wait until the broker confirms it.

The scheme of the broker's URL chooses the protocol. Its password is the secret pair `Broker-Password`, which is
encrypted like every secret header and never sent with a message.
"""

import re
from typing import Annotated, ClassVar
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.config_field import About
from mainspring.domain.errors import InvalidInput, did_you_mean
from mainspring.domain.kinds.http import check_header_count, marked_secret
from mainspring.domain.kinds.installed import is_importable
from mainspring.domain.kinds.kind import CallPolicy, Fact, Kind
from mainspring.domain.kinds.tcp import PORT_MAX, host_and_port
from mainspring.domain.run import (
    BODY_CAP_DEFAULT,
    BODY_MAX,
    TIMEOUT_MS_DEFAULT,
    Action,
    BodyCap,
    Condition,
    Header,
    Literal,
    Timeout,
)
from mainspring.domain.target import check_host

NAME_MAX = 255  # bytes of a routing key
PASSWORD = "Broker-Password"
STREAM, LIST = "stream", "list"
OWN_FIELDS = frozenset({"body", "slot"})  # of an entry in a stream of Redis
_PLAIN = re.compile(r"[!-~]+")


class Protocol(Struct, frozen=True):
    """How a scheme is published to: the default port, the package for it, and the extra that installs it."""

    name: str
    port: int
    package: str
    extra: str
    is_tls: bool = False


PROTOCOLS = {
    "redis": Protocol("redis", 6379, "redis", "redis"),
    "rediss": Protocol("redis", 6379, "redis", "redis", is_tls=True),
    "nats": Protocol("nats", 4222, "nats", "nats"),
    "tls": Protocol("nats", 4222, "nats", "nats", is_tls=True),
    "amqp": Protocol("amqp", 5672, "aiormq", "amqp"),
    "amqps": Protocol("amqp", 5671, "aiormq", "amqp", is_tls=True),
}


class Broker(Struct, frozen=True):
    """A broker's URL, read."""

    protocol: Protocol
    host: str
    port: int
    space: str  # number of a Redis database, or virtual host of AMQP


class QueueAction(Action, frozen=True, omit_defaults=True, tag_field="kind", tag="queue"):
    """A message, and where to publish it."""

    broker: Annotated[
        str,
        About(
            "URL of the broker: redis://, rediss://, nats://, tls:// (NATS), amqp:// or amqps://, without credentials.",
            most=500,
            examples=("nats://broker.example.com",),
        ),
    ]
    destination: Annotated[
        str,
        About("Stream or list of Redis, subject of NATS, routing key of AMQP.", most=NAME_MAX, examples=("orders",)),
    ]
    structure: Annotated[str, About("What the destination is in Redis.", choices=(STREAM, LIST))] = STREAM
    exchange: Annotated[
        str | None,
        About("Exchange of AMQP. Default: the one that delivers to the queue named by destination.", most=NAME_MAX),
    ] = None
    username: Annotated[str | None, About("User of the broker.", most=NAME_MAX, examples=("mainspring",))] = None
    headers: Annotated[
        tuple[Header, ...],
        About(f"Headers of the message; {PASSWORD} is the password and is not sent with it.", template="header"),
    ] = ()
    body: Annotated[str | None, About("Message.", most=BODY_MAX, is_payload=True, template="body")] = None
    timeout_ms: Timeout = TIMEOUT_MS_DEFAULT
    body_cap: BodyCap = BODY_CAP_DEFAULT
    condition: Condition = None
    literal: Literal = False
    templated: bool = False


class QueueKind(Kind[QueueAction]):
    name = "queue"
    about = "Publishes one message and waits for the broker's confirmation."
    action = QueueAction
    pairs = "headers"
    pair = "header"
    searched = ("broker", "destination")
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("body.confirmed", "Whether the broker confirmed the message."),
        Fact("body.message_id", "Id by which consumers see the message."),
        Fact("body.duplicate", "Whether the broker had the message from an earlier attempt."),
        Fact("body.stream", "Stream of NATS that stored the message."),
        Fact("body.sequence", "Number of the message in that stream."),
    )

    def check(self, action: QueueAction, policy: CallPolicy) -> QueueAction:
        broker = read_broker(action.broker)
        protocol = broker.protocol
        if not is_importable(protocol.package):
            raise InvalidInput(f"broker {action.broker[:200]} {missing_client(protocol)}", field="broker")
        _check_destination(action.destination, protocol.name)
        for field, value, owner in (
            ("exchange", action.exchange, "amqp"),
            ("structure", None if action.structure == STREAM else action.structure, "redis"),
        ):
            if value and protocol.name != owner:
                raise InvalidInput(
                    f"{field} {value[:100]!r} has no effect on {protocol.name}; leave it out, or choose {owner}://",
                    field=field,
                )
        check_header_count(len(action.headers))
        headers = tuple(marked_secret(header) for header in action.headers)
        _check_headers(headers, action.structure, protocol.name)
        return replace(action, exchange=action.exchange or None, username=action.username or None, headers=headers)

    def host_key(self, action: QueueAction) -> str:
        broker = read_broker(action.broker)
        return host_and_port(broker.host, broker.port)

    def summary(self, action: QueueAction) -> str:
        via = f" through {action.exchange}" if action.exchange else ""
        return f"{action.destination} at {action.broker}{via}"

    def origin(self, action: QueueAction) -> str:
        return f"{action.broker} as {action.username or ''}"


def read_broker(url: str) -> Broker:
    """The parts of a broker's URL. Raises InvalidInput(field="broker")."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise _refused(url, "is not a URL; write it like nats://broker.example.com:4222") from None
    protocol = PROTOCOLS.get(parts.scheme)
    if protocol is None:
        known = tuple(f"{name}://" for name in PROTOCOLS)
        meant = did_you_mean(f"{parts.scheme}://", known)
        raise _refused(url, f"has no scheme of a broker{meant}; choose one of {', '.join(known)}")
    if parts.username or parts.password:
        raise InvalidInput(
            f"broker has credentials in its URL; give username, and the password as the secret header {PASSWORD}",
            field="broker",
        )
    if parts.query or parts.fragment or not _PLAIN.fullmatch(url):
        raise _refused(url, "has a query string, a fragment or a space; leave it out")
    space = unquote(parts.path.removeprefix("/"))
    if protocol.name == "redis" and space and not (space.isdecimal() and space.isascii() and len(space) <= 5):
        raise _refused(url, "has a path that is not the number of a database; write it like redis://host:6379/0")
    if protocol.name == "nats" and space:
        raise _refused(url, "has a path, which NATS does not have; leave it out")
    checked = check_host(host, "broker")
    return Broker(protocol, checked, _checked_port(url, port, protocol), space)


def is_password(name: str) -> bool:
    """Names of headers are the same in any case."""
    return name.lower() == PASSWORD.lower()


def missing_client(protocol: Protocol) -> str:
    return (
        f"needs the package {protocol.package}, which is not installed here; "
        f"install mainspring[{protocol.extra}] on every machine that runs workers"
    )


def _checked_port(url: str, port: int | None, protocol: Protocol) -> int:
    if port is not None and not 1 <= port <= PORT_MAX:
        raise _refused(url, f"has the port {port}; give 1 to {PORT_MAX}")
    return port or protocol.port


def _check_destination(destination: str, protocol: str) -> None:
    is_subject = not any(mark in destination for mark in "*> \t")
    if not destination or not destination.isprintable() or len(destination.encode()) > NAME_MAX:
        raise InvalidInput(
            f"destination {destination[:100]!r} is empty, longer than {NAME_MAX} bytes or not printable; correct it",
            field="destination",
            value=destination[:100],
        )
    if protocol == "nats" and not (is_subject and all(destination.split("."))):
        raise InvalidInput(
            f"destination {destination[:100]!r} is not a subject to publish to; write it like orders.created, without "
            "wildcards and spaces",
            field="destination",
            value=destination[:100],
        )


def _check_headers(headers: tuple[Header, ...], structure: str, protocol: str) -> None:
    sent = [header.name for header in headers if not is_password(header.name)]
    if structure == LIST and sent:
        raise InvalidInput(
            f"header {sent[0][:60]!r} for a list of Redis, whose elements are the body alone; leave it out, or choose "
            "structure stream",
            field="headers",
        )
    if protocol == "redis" and (taken := [name for name in sent if name in OWN_FIELDS]):
        raise InvalidInput(
            f"header {taken[0]!r} has the name of a field that every entry has; choose another", field="headers"
        )


def _refused(url: str, why: str) -> InvalidInput:
    return InvalidInput(f"broker {url[:200]!r} {why}", field="broker", value=url[:200])
