"""The change feed of a process: one reader of the events, any number of listeners.

Live views, the notifier and the planner listen here, so that two hundred open streams cost one query and not two
hundred. The reader looks only while somebody listens. A listener that does not keep up is cut off, never waited for
and never buffered without bound; where it stopped it can go on by its cursor.

What must not break: a listener gets every event committed after it began to listen, in order, none twice; or it is
told that it was cut off.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import StoredEvent, place_of
from mainspring.ports.records import RunStore

POLL_S = 0.2  # what an event waits for at most before everybody has it; on an idle machine it costs next to nothing
AWAY_S = 1.0
END_S = 0.2  # at its end, a database that does not answer is not waited for
PAGE = 1_000
BACKLOG_MAX = 2_000  # events a listener may be behind

STOPPING = "the server is stopping; connect again"

log = structlog.get_logger()

Step = tuple[str, list[StoredEvent]]


class CutOff(Exception):
    """This listener gets nothing more: it was too slow, or the feed ended."""


class Listener:
    """What one listener has not read yet."""

    def __init__(self, tenant_id: str | None, backlog_max: int) -> None:
        self.tenant_id = tenant_id
        self.cut_off = ""  # why, once it is
        self._backlog_max = backlog_max
        self._events: deque[StoredEvent] = deque()
        self._ready = asyncio.Event()

    async def next(self, timeout_s: float) -> list[StoredEvent]:
        """All that came since; nothing after `timeout_s`. Raises CutOff when it is, at once."""
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
            self.cut("it did not read its events in time; it can go on from the last one it has")
            return
        self._events.extend(mine)
        self._ready.set()

    def cut(self, why: str) -> None:
        self.cut_off = why
        self._events.clear()
        self._ready.set()


class Feed:
    """Runs as a worker beside the others; ends every listener at once when it is stopped."""

    def __init__(self, runs: RunStore, poll_s: float = POLL_S) -> None:
        self._runs = runs
        self._poll_s = poll_s
        self._listeners: set[Listener] = set()
        self._cursor: str | None = None  # of the newest event handed over; None: nobody listened
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
        """Return when it is."""
        await self._stopping.wait()

    @asynccontextmanager
    async def listen(self, tenant_id: str | None, backlog_max: int = BACKLOG_MAX) -> AsyncIterator[Listener]:
        """Whatever is committed from now on and concerns this tenant (None: all of them)."""
        listener = Listener(tenant_id, backlog_max)
        if self._stopping.is_set():
            listener.cut(STOPPING)
        self._listeners.add(listener)
        self._wanted.set()
        try:
            await self.position()  # what is committed later lies beyond it, and will be handed over
            yield listener
        finally:
            self._listeners.discard(listener)

    async def position(self) -> str:
        """The cursor of the newest event that was handed over; "" where there was never one."""
        async with self._opening:
            if self._cursor is not None:
                return self._cursor
            cursor = await self.newest()
            if self._listeners:  # else nobody moves it on, and it would be old when somebody comes
                self._cursor = cursor
            return cursor

    async def follow(self, tenant_id: str | None, cursor: str | None, timeout_s: float) -> AsyncGenerator[Step, None]:
        """From just after `cursor` (None: from now on) for ever: what to go on from, and what happened, in order.

        1. Read what is stored, until that is nearly all: who comes from far must not be cut off on the way.
        2. Listen, and read the rest, so that nothing falls between the two.
        3. Then what was heard, without what was read. A step without events comes every `timeout_s`.
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
        """Hand over what is new; how much that was."""
        cursor = await self.position()
        events = await self._runs.events_after(cursor, None, PAGE)
        if events:
            self._cursor = events[-1].cursor
            for listener in tuple(self._listeners):
                listener.hand_over(events)
        return len(events)

    async def newest(self) -> str:
        """The cursor of the newest event there is, handed over or not; "" where there is none."""
        newest = await self._runs.latest_events(None, 1)
        return newest[-1].cursor if newest else ""

    async def _keep_reading(self) -> None:
        while True:
            if not self._listeners:
                self._wanted.clear()
                self._cursor = None  # who comes next begins with what is new then
                await self._wanted.wait()
            try:
                found = await self.read_once()
            except StoreUnavailable:
                await asyncio.sleep(AWAY_S)  # the scheduler says that the database is away
                continue
            except Exception:  # the outermost loop of a worker: one bad round must not end the feed for ever
                log.exception("worker failed", worker="feed")
                await asyncio.sleep(AWAY_S)
                continue
            if found < PAGE:
                await asyncio.sleep(self._poll_s)
