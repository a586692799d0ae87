"""Publish to Redis or Valkey: one entry in a stream, or one element of a list.

A script adds the message and remembers its slot in one step, so another attempt at the slot adds nothing.
"""

from typing import Any

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import AuthenticationError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from mainspring.domain.kinds.queue import LIST
from mainspring.outbound.kinds.broker import OutgoingMessage
from mainspring.outbound.kinds.call import CallFault, CallProgress
from mainspring.outbound.kinds.dial import PeerStream

REMEMBERED_S = 86_400  # a slot is not attempted again after a day
SCRIPT = """
local known = redis.call('GET', KEYS[2])
if known then return {known, 1} end
local id = ARGV[3]
if ARGV[1] == 'list' then
  redis.call('RPUSH', KEYS[1], ARGV[4])
else
  id = redis.call('XADD', KEYS[1], '*', 'body', ARGV[4], 'slot', ARGV[3], unpack(ARGV, 5))
end
redis.call('SET', KEYS[2], id, 'EX', ARGV[2])
return {id, 0}
"""


class OpenedConnection(AbstractConnection):
    """A connection of the client over an open stream."""

    def __init__(self, stream: PeerStream, **options: Any) -> None:
        super().__init__(**options)
        self._opened = stream

    async def _connect(self) -> None:
        self._reader, self._writer = self._opened.reader, self._opened.writer

    def _host_error(self) -> str:
        return "broker"

    def repr_pieces(self) -> list[tuple[str, Any]]:
        return []


async def publish(stream: PeerStream, message: OutgoingMessage, progress: CallProgress) -> None:
    action = message.action
    connection = OpenedConnection(
        stream,
        db=int(message.broker.space or 0),
        username=action.username,
        password=message.password or None,
        protocol=2,
        socket_timeout=None,
    )
    fields = [part for pair in message.headers.items() for part in pair] if action.structure != LIST else []
    mark = f"mainspring:{{{action.destination}}}:{message.slot_id}"  # in the same slot of a cluster
    try:
        await connection.connect()  # type: ignore[no-untyped-call]  # of a package without strict types
        await connection.send_command(
            "EVAL", SCRIPT, 2, action.destination, mark, action.structure, REMEMBERED_S, message.slot_id,
            message.body, *fields,
        )  # fmt: skip
        answer = await connection.read_response()
    except (AuthenticationError, ResponseError) as fault:
        raise CallFault("refused", f"the broker refused the message: {fault}") from None
    except RedisConnectionError as fault:
        if isinstance(fault.__cause__ or fault.__context__, CallFault):
            raise
        raise CallFault("closed", f"the broker closed the connection before it confirmed: {fault}") from None
    except RedisError as fault:
        raise CallFault("unexpected", f"the broker's answer cannot be read: {fault}") from None
    finally:
        await connection.disconnect(nowait=True)
    match answer:
        case [bytes(found), 0 | 1 as is_known]:
            message_id = found.decode("utf-8", "replace")
            progress.facts |= {"confirmed": True, "message_id": message_id, "duplicate": bool(is_known)}
        case _:
            raise CallFault("unexpected", f"the broker confirmed with {str(answer)[:100]!r}, which is not an id")
