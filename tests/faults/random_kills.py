"""Kill workers at random while they work, and keep their number: the weather of the crash tests.

A kill comes after a random number of further deliveries, not after a time: so it strikes workers that work, however
busy the machine is, and a run with N kills has at least a known number of slots.
"""

import asyncio
import random
from collections.abc import Iterable

from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.stores import Stores
from tests.faults.worker_forker import Nursery, Worker
from tests.harness.waiting import DEADLINE_S, until, until_true
from tests.peers.journal import Journal

DELIVERIES_PER_KILL = 10  # at most; about five on average, as many slots as the promise wants per kill
MOMENT_S = 0.1  # at most this much later: else every kill would strike just when a burst of deliveries is in flight


class Tail:
    """How far a journal has grown, without reading it all again."""

    def __init__(self, journal: Journal) -> None:
        self._file = journal.file
        self._offset = 0
        self.lines = 0

    def grown(self) -> int:
        if self._file.exists():
            with self._file.open("rb") as file:
                file.seek(self._offset)
                fresh = file.read()
            self._offset += len(fresh)
            self.lines += fresh.count(b"\n")
        return self.lines


async def kill_workers(nursery: Nursery, journal: Journal, workers: int, kills: int, seed: int) -> None:
    """Kill and replace `kills` workers, one at a time; all are alive at the end."""
    draw = random.Random(seed)
    tail = Tail(journal)
    alive = await start_workers(nursery, workers)
    for _ in range(kills):
        wanted = tail.grown() + draw.randint(0, DELIVERIES_PER_KILL)
        await until(lambda wanted=wanted: tail.grown() >= wanted, "deliveries go on between kills")  # type: ignore[misc]  # bound now
        await asyncio.sleep(draw.uniform(0, MOMENT_S))
        victim = alive.pop(draw.randrange(len(alive)))
        victim.kill()
        alive.append(nursery.start())


async def start_workers(nursery: Nursery, workers: int) -> list[Worker]:
    started = [nursery.start() for _ in range(workers)]
    await ready(started)
    return started


async def ready(workers: Iterable[Worker]) -> None:
    """Wait until all of them claim; before that, a SIGTERM would simply end them."""
    for worker in workers:
        await asyncio.to_thread(worker.wait_for, "scheduler started")


async def drain(nursery: Nursery, stores: Stores, deadline_s: float = 2 * DEADLINE_S) -> None:
    """Wait until the survivors hold every slot of the dead, then end them with SIGTERM: what is left is settled."""
    workers = nursery.running
    await ready(workers)

    async def nobody_waits_for_the_dead() -> bool:
        endpoints = await stores.endpoints.endpoints("default", EndpointFilter(limit=10_000))
        is_owed = any(each.slot_at is not None and not each.is_running for each in endpoints)
        holders = {each.claimed_by for each in endpoints if each.is_running}
        return not is_owed and all(any(f"-{worker.pid}-" in holder for worker in workers) for holder in holders)

    await until_true(nobody_waits_for_the_dead, "the survivors take over", deadline_s)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        await until(lambda worker=worker: not worker.is_running, "a worker drains", deadline_s)  # type: ignore[misc]  # bound now
        assert worker.wait() == 0, nursery.log_text()[-3000:]
