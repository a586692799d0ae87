"""Distribute new events within a process: one reader of the database, any number of listeners.

Live views, the notifier and the planner listen here, so two hundred open streams cost one query instead of two hundred.
`Feed.run` is the worker; it reads only while there are listeners. A listener that falls behind is cut off: nothing
waits for it and no buffer grows without bound. It can resume from its cursor.

The rule that must not break: a listener gets every event committed after it began to listen, in order and once, or it
is cut off.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import StoredEvent, place_of
from mainspring.ports.records import RunStore

POLL_S = 0.2  # maximum delay of an event; polling an idle database costs next to nothing
AWAY_S = 1.0
END_S = 0.2  # how long a stop waits for a database that does not respond
PAGE = 1_000
BACKLOG_MAX = 2_000  # events that a listener may lag behind

STOPPING = "the server is stopping; reconnect"

log = structlog.get_logger()

Step = tuple[str, list[StoredEvent]]


class CutOff(Exception):
    """The listener was too slow, or the feed ended; it gets no further events."""


class Listener:
    """Queue of the events that one listener has not read yet."""

    def __init__(self, tenant_id: str | None, backlog_max: int) -> None:
        self.tenant_id = tenant_id
        self.cut_off = ""  # the reason, once cut off
        self._backlog_max = backlog_max
        self._events: deque[StoredEvent] = deque()
        self._ready = asyncio.Event()

    async def next(self, timeout_s: float) -> list[StoredEvent]:
        """Returns new events, or an empty list after `timeout_s`. Raises CutOff immediately once the listener is cut
        off.
        """
        if not self._events and not self.cut_off:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._ready.wait()
        if self.cut_off:
            raise CutOff(self.cut_off)
        events = list(self._events)
        self._events.clear()
        self._ready.clear()
        return events

    def hand_over(self, events: list[StoredEvent]) -> None:
        mine = [each for each in events if self.tenant_id in (None, each.event.tenant_id)]
        if not mine or self.cut_off:
            return
        if len(self._events) + len(mine) > self._backlog_max:
            self.cut("events were not read in time; resume from the last event received")
            return
        self._events.extend(mine)
        self._ready.set()

    def cut(self, why: str) -> None:
        self.cut_off = why
        self._events.clear()
        self._ready.set()


class Feed:
    """Reads new events for all listeners. Runs as a worker and cuts off every listener when stopped."""

    def __init__(self, runs: RunStore, poll_s: float = POLL_S) -> None:
        self._runs = runs
        self._poll_s = poll_s
        self._listeners: set[Listener] = set()
        self._cursor: str | None = None  # of the newest event handed over; None while there are no listeners
        self._wanted = asyncio.Event()
        self._opening = asyncio.Lock()
        self._stopping = asyncio.Event()

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    async def run(self) -> None:
        reader = asyncio.create_task(self._keep_reading(), name="feed")
        await self._stopping.wait()
        reader.cancel()
        await asyncio.wait((reader,), timeout=END_S)

    def stop(self) -> None:
        self._stopping.set()
        for listener in tuple(self._listeners):
            listener.cut(STOPPING)

    async def stopped(self) -> None:
        """Waits until the feed is stopped."""
        await self._stopping.wait()

    @asynccontextmanager
    async def listen(self, tenant_id: str | None, backlog_max: int = BACKLOG_MAX) -> AsyncIterator[Listener]:
        """Listens to events of the tenant (None: of all tenants) committed from now on."""
        listener = Listener(tenant_id, backlog_max)
        if self._stopping.is_set():
            listener.cut(STOPPING)
        self._listeners.add(listener)
        self._wanted.set()
        try:
            await self.position()  # events committed later come after this position and will be handed over
            yield listener
        finally:
            self._listeners.discard(listener)

    async def position(self) -> str:
        """The cursor of the newest event that was handed over; "" if there is no event."""
        async with self._opening:
            if self._cursor is not None:
                return self._cursor
            cursor = await self.newest()
            if self._listeners:  # without listeners it would not advance and would be outdated for the next one
                self._cursor = cursor
            return cursor

    async def follow(self, tenant_id: str | None, cursor: str | None, timeout_s: float) -> AsyncGenerator[Step, None]:
        """Yields steps of (cursor to resume from, events in order) without end, starting after `cursor` (None: from now
        on).

        1. Read stored events page by page until nearly caught up, so that a listener far behind is not cut off.
        2. Start to listen, then read the rest, so that no event falls in between.
        3. Yield what the listener received, without events read in step 2. A step without events comes every
           `timeout_s`.
        """
        reached = await self.newest() if cursor is None else cursor
        yield reached, []
        page = [] if cursor is None else await self._runs.events_after(reached, tenant_id, PAGE)
        while len(page) == PAGE:
            reached = page[-1].cursor
            yield reached, page
            page = await self._runs.events_after(reached, tenant_id, PAGE)
        async with self.listen(tenant_id) as listener:
            while page or (page := await self._runs.events_after(reached, tenant_id, PAGE)):
                reached = page[-1].cursor
                yield reached, page
                page = []
            while True:
                floor = place_of(reached) if reached else ()
                heard = [each for each in await listener.next(timeout_s) if place_of(each.cursor) > floor]
                reached = heard[-1].cursor if heard else reached
                yield reached, heard

    async def read_once(self) -> int:
        """Hands new events to all listeners and returns their number."""
        cursor = await self.position()
        events = await self._runs.events_after(cursor, None, PAGE)
        if events:
            self._cursor = events[-1].cursor
            for listener in tuple(self._listeners):
                listener.hand_over(events)
        return len(events)

    async def newest(self) -> str:
        """The cursor of the newest stored event, handed over or not; "" without events."""
        newest = await self._runs.latest_events(None, 1)
        return newest[-1].cursor if newest else ""

    async def _keep_reading(self) -> None:
        while True:
            if not self._listeners:
                self._wanted.clear()
                self._cursor = None  # the next listener starts with the events that are new then
                await self._wanted.wait()
            try:
                found = await self.read_once()
            except StoreUnavailable:
                await asyncio.sleep(AWAY_S)  # the scheduler reports that the database is unavailable
                continue
            except Exception:  # outermost loop of a worker: one failed round must not end the feed
                log.exception("worker failed", worker="feed")
                await asyncio.sleep(AWAY_S)
                continue
            if found < PAGE:
                await asyncio.sleep(self._poll_s)
