"""Presence of a process: shows that it is alive, and takes over the work of dead processes.

    1 appear   hold a lock that the operating system releases when this process dies
    2 beat     once a second; workers that have been silent for too long are checked
    3 free     what dead workers held is released for others, so that nothing waits for a lease to end
    4 leave    release what is left, and disappear from the list

Epochs make it harmless to take a live worker for dead: its results come too late and change nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import structlog

from mainspring.domain.errors import StoreUnavailable
from mainspring.failpoints import is_on
from mainspring.observe import Metrics
from mainspring.ports.presence import BEAT_S, PresenceStore
from mainspring.workers.tasks import end_tasks

LEAVE_S = 0.5  # an unavailable database is not waited for: others detect that this process has ended

log = structlog.get_logger()


@asynccontextmanager
async def present(
    store: PresenceStore, worker: str, kinds: Mapping[str, int], metrics: Metrics | None = None
) -> AsyncIterator[None]:
    """Shows `worker` as alive, with its places for each kind of work, while the block runs."""
    await store.appear(worker)
    beats = asyncio.create_task(_keep_beating(store, worker, kinds, metrics), name="presence")
    try:
        yield
    finally:
        await end_tasks(beats)
        with suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await store.leave(worker)


async def _keep_beating(store: PresenceStore, worker: str, kinds: Mapping[str, int], metrics: Metrics | None) -> None:
    while True:
        try:
            await beat_once(store, worker, kinds, metrics)
        except StoreUnavailable:
            pass  # the workers of this process report that the database is unavailable
        except Exception:  # a live worker must not look dead forever
            log.exception("worker failed", worker=worker)
        await asyncio.sleep(BEAT_S)


async def beat_once(
    store: PresenceStore, worker: str, kinds: Mapping[str, int], metrics: Metrics | None = None
) -> None:
    """One heartbeat, and one check of silent workers."""
    suspects = await store.beat(worker, kinds)
    if not suspects or is_on("no_takeover"):
        return
    freed = await store.free_lost(suspects)
    for lost in freed.workers:
        log.warning(
            "worker lost",
            worker=lost,
            runs=freed.runs,
            partitions=freed.partitions,
            effects=freed.effects,
            deliveries=freed.deliveries,
            sessions=freed.sessions,
        )
    if metrics is not None:
        metrics.workers_lost += len(freed.workers)
