"""An event stream: events as they happen, over one connection that stays open (server-sent events).

A stream listens to the process's feed, so an event is read and serialised once for all streams. It ends when its client
disconnects or does not read, when its key or session ends, and when the server stops. A client that returns with the
last id it received misses nothing and sees nothing twice.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, suppress

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mainspring.domain.event import EventType, StoredEvent
from mainspring.event_feed import CutOff, Feed, Step
from mainspring.operations.context import Desk
from mainspring.views.event import EventView

RETRY_MS = 2_000  # how long a client waits before it reconnects
STEP_S = 2.5  # how often a silent stream wakes up
CHECK_S = 5.0  # how often the validity of its key is checked
HEARTBEAT_S = 15.0  # below the idle timeout of proxies
SEND_S = 10.0  # a client that reads nothing for this long is disconnected
LAST_WORDS_S = 0.2
PIECE_BYTES = 64_000
BLOCKS_MAX = 5_000
NAMES_MAX = 10_000

log = structlog.get_logger()

Check = Callable[[], Awaitable[bool]]
Choose = Callable[[Sequence[StoredEvent]], Awaitable[list[StoredEvent]]]


class Blocks:
    """Events as the bytes of a stream, serialised once for all streams of a process."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._names: dict[str, str | None] = {}
        self._asking = asyncio.Lock()

    async def of(self, desk: Desk, events: Sequence[StoredEvent]) -> list[bytes]:
        missing = [each for each in events if (each.event.tenant_id, each.cursor) not in self._made]
        if missing:
            async with self._asking:  # a task that waited here finds it done
                await self._make(desk, [each for each in missing if (desk.tenant_id, each.cursor) not in self._made])
        return [self._made[each.event.tenant_id, each.cursor] for each in events]

    async def _make(self, desk: Desk, events: Sequence[StoredEvent]) -> None:
        for each in events:
            if each.event.type in (EventType.ENDPOINT_CREATED, EventType.ENDPOINT_UPDATED):
                self._names.pop(each.event.endpoint_id, None)
        unknown = {each.event.endpoint_id for each in events} - self._names.keys() - {""}
        if unknown:
            names = await desk.stores.look.names(desk.tenant_id, sorted(unknown))
            if len(self._names) > NAMES_MAX:
                self._names.clear()
            self._names |= {each: names.get(each) for each in unknown}
        while len(self._made) > BLOCKS_MAX:
            self._made.popitem(last=False)
        for each in events:
            self._made[each.event.tenant_id, each.cursor] = _block(each, self._names.get(each.event.endpoint_id))


class EventStream(Response):
    media_type = "text/event-stream"

    def __init__(
        self,
        desk: Desk,
        feed: Feed,
        blocks: Blocks,
        cursor: str,
        choose: Choose,
        check: Check,
        counted: tuple[Counter[tuple[str, str]], tuple[str, str]],
    ) -> None:
        """`counted` is where the stream is counted while it is open, and under which owner."""
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._desk = desk
        self._feed = feed
        self._blocks = blocks
        self._cursor = cursor
        self._choose = choose
        self._check = check
        self._counted = counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        streams, owner = self._counted
        streams[owner] += 1
        try:
            await self._serve(receive, send)
        finally:
            streams[owner] -= 1
            if not streams[owner]:
                del streams[owner]

    async def _serve(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        pump = asyncio.create_task(self._pump(send), name="event-stream")
        gone = asyncio.create_task(_until_gone(receive))
        stopped = asyncio.create_task(self._feed.stopped())
        try:
            await asyncio.wait((pump, gone, stopped), return_when=asyncio.FIRST_COMPLETED)
            if stopped.done() and not gone.done():
                await asyncio.wait((pump,), timeout=LAST_WORDS_S)
        finally:
            for task in (pump, gone, stopped):
                task.cancel()
            await asyncio.gather(pump, gone, stopped, return_exceptions=True)
        if pump.done() and not pump.cancelled() and (fault := pump.exception()) is not None:
            raise fault

    async def _pump(self, send: Send) -> None:
        """Sends until there is a reason to end; then sends the reason."""

        async def put(block: bytes, *, more: bool = True) -> None:
            async with asyncio.timeout(SEND_S):
                await send({"type": "http.response.body", "body": block, "more_body": more})

        try:
            async with aclosing(self._feed.follow(self._desk.tenant_id, self._cursor, STEP_S)) as steps:
                with suppress(CutOff):
                    await self._relay(steps, put)
            await put(b"", more=False)
        except TimeoutError:
            log.info("stream dropped", tenant_id=self._desk.tenant_id, actor=self._desk.actor)

    async def _relay(self, steps: AsyncIterator[Step], put: Callable[[bytes], Awaitable[None]]) -> None:
        checked_s = beaten_s = time.monotonic()
        is_first = True
        async for reached, events in steps:
            wanted = await self._choose(events) if events else []
            now_s = time.monotonic()
            for piece in _pieces(await self._blocks.of(self._desk, wanted) if wanted else []):
                await put(piece)
                beaten_s = now_s
            if is_first:
                await put(f"retry: {RETRY_MS}\n{_id(reached)}\n".encode())
            elif now_s - beaten_s >= HEARTBEAT_S:
                # With the current position, so that a returning client need not read again what it filtered out.
                await put(f": heartbeat\n{_id(reached)}\n".encode())
                beaten_s = now_s
            is_first = False
            if now_s - checked_s >= CHECK_S:
                if not await self._check():
                    return
                checked_s = now_s


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _pieces(blocks: Sequence[bytes]) -> Iterator[bytes]:
    """Joins blocks up to a size worth one write: a client that does not read is noticed between two of them."""
    piece = b""
    for block in blocks:
        piece += block
        if len(piece) >= PIECE_BYTES:
            yield piece
            piece = b""
    if piece:
        yield piece


def _block(stored: StoredEvent, endpoint: str | None) -> bytes:
    data = EventView.of(stored, endpoint).model_dump_json()
    return f"event: {stored.event.type.value}\n{_id(stored.cursor)}data: {data}\n\n".encode()


def _id(cursor: str) -> str:
    return f"id: {cursor}\n" if cursor else ""
