"""The reporter of `serve`: one short line on the terminal for each failure, recovery and alert.

It listens to the event feed of the process, only on a terminal. An endpoint that keeps failing is reported at its 1st,
2nd, 4th, 8th... consecutive failure. A terminal that does not read (Ctrl-S) must not stop the scheduler: a separate
thread writes the lines, and drops them if it does not keep up.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import Full, Queue
from threading import Thread
from typing import TYPE_CHECKING

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import RunStatus, RunTrigger

if TYPE_CHECKING:
    from mainspring.event_feed import Feed
    from mainspring.ports.stores import Stores

STEP_S = 60.0
AWAY_S = 1.0
BACKLOG_MAX = 1_000  # lines


class Reporter:
    """`write` gets one line at a time; the name of the tenant `tenant_id` is left out."""

    def __init__(self, stores: "Stores", feed: "Feed", tenant_id: str, write: Callable[[str], None]) -> None:
        self._stores = stores
        self._feed = feed
        self._tenant_id = tenant_id
        self._write = write
        self._failing: set[str] = set()  # reported endpoints
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        reporting = asyncio.create_task(self._report(), name="reporter")
        await self._stopping.wait()
        reporting.cancel()
        await asyncio.wait((reporting,))

    def stop(self) -> None:
        self._stopping.set()

    async def _report(self) -> None:
        from mainspring.event_feed import CutOff

        while True:
            try:
                async for _, found in self._feed.follow(None, None, STEP_S):
                    for stored in found:
                        if line := await self._line(stored.event):
                            self._write(line)
            except (CutOff, StoreUnavailable):
                await asyncio.sleep(AWAY_S)  # too slow, or the database is unavailable: continue with later events

    async def _line(self, event: Event) -> str | None:
        said = await self._said(event)
        if said is None:
            return None
        tenant = "" if event.tenant_id == self._tenant_id else f"{event.tenant_id}: "
        return f"{event.at:%H:%M:%S}  {tenant}{said}"

    async def _said(self, event: Event) -> str | None:
        data = event.data
        match event.type:
            case EventType.RUN_FINISHED if data.get("trigger") != RunTrigger.TEST:
                return await self._run(event)
            case EventType.ENDPOINT_PARKED:
                return f"{await self._name(event)} was parked; `mainspring why` explains it"
            case EventType.ALERT_FIRED:
                return f"alert {data.get('alert')}: {data.get('subject')} {data.get('kind')}"
            case EventType.EXECUTION_FAILED:
                where = f"{data.get('workflow')} ({data.get('execution')}) stopped at step {data.get('step')}"
                return f"{where}: {data.get('error') or 'it waits for a person'}"
            case _:
                return None

    async def _run(self, event: Event) -> str | None:
        if event.data.get("status") == RunStatus.SUCCESS:
            if event.endpoint_id not in self._failing:
                return None
            self._failing.discard(event.endpoint_id)
            return f"{await self._name(event)} recovered"
        count = event.data.get("failure_count")
        if not isinstance(count, int) or count & (count - 1):  # not counted, or not a power of two
            return None
        self._failing.add(event.endpoint_id)
        run = await self._stores.runs.run(event.tenant_id, event.run_id)
        error = (run.error if run is not None else None) or str(event.data.get("error_code") or "no response")
        times = f" ({count} in a row)" if count > 1 else ""
        return f"{await self._name(event)} failed{times}: {error}"

    async def _name(self, event: Event) -> str:
        names = await self._stores.look.names(event.tenant_id, [event.endpoint_id])
        return names.get(event.endpoint_id, event.endpoint_id)


def patient_writer(say: Callable[[str], None]) -> Callable[[str], None]:
    """Lines for a terminal that may not read: a thread writes them, and drops those beyond a backlog."""
    lines: Queue[str] = Queue(BACKLOG_MAX)

    def keep_writing() -> None:
        while True:
            say(lines.get())

    Thread(target=keep_writing, name="reporter", daemon=True).start()

    def write(line: str) -> None:
        with suppress(Full):
            lines.put_nowait(line)

    return write
