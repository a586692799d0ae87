"""The heartbeat of a process: it says that it is alive, on which machine and as what, for as long as it works."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from mainspring.domain.errors import StoreUnavailable
from mainspring.ports.schedule import ScheduleStore
from mainspring.workers.ending import end_tasks

HEARTBEAT_S = 10.0

log = structlog.get_logger()


@asynccontextmanager
async def beating(store: ScheduleStore, worker: str, kind: str, places: int = 0) -> AsyncIterator[None]:
    heart = asyncio.create_task(_keep_beating(store, worker, kind, places), name="heartbeat")
    try:
        yield
    finally:
        await end_tasks(heart)


async def _keep_beating(store: ScheduleStore, worker: str, kind: str, places: int) -> None:
    while True:
        try:
            await store.heartbeat(worker, kind, places)
        except StoreUnavailable:
            pass  # whoever works with it says so
        except Exception:  # a worker that is alive must not look dead for ever
            log.exception("worker failed", worker=worker)
        await asyncio.sleep(HEARTBEAT_S)
