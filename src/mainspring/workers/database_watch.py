"""The database watch: ends the process when its database no longer belongs to the installation.

An SQLite file that was deleted or replaced stays open, and the process would continue to claim and record unseen by
other processes. An installation that has moved to another database refuses every write here. Shortly before it moves,
the watch makes the scheduler start no runs.
"""

import asyncio
from collections.abc import Callable

import structlog

from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.ports.upkeep import UpkeepStore
from mainspring.workers.tasks import end_tasks

ROUND_S = 1.0

log = structlog.get_logger()


class DatabaseWatch:
    def __init__(self, upkeep: UpkeepStore, hold: Callable[[float], None] = lambda seconds: None) -> None:
        """`hold` receives the number of seconds during which no run should start."""
        self._upkeep = upkeep
        self._hold = hold
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Checks once a second until `stop`. Raises Misconfigured, which ends the process, if the database is lost."""
        rounds = asyncio.create_task(self._keep_checking(), name="database-watch")
        stopped = asyncio.create_task(self._stopping.wait(), name="database-watch-stopped")
        await asyncio.wait((rounds, stopped), return_when=asyncio.FIRST_COMPLETED)
        await end_tasks(rounds, stopped)
        if rounds.done() and not rounds.cancelled():
            rounds.result()

    def stop(self) -> None:
        self._stopping.set()

    async def _keep_checking(self) -> None:
        while True:
            try:
                if (seconds := await self._upkeep.check_identity()) > 0:
                    self._hold(seconds)
            except Misconfigured as fault:
                log.error("database lost", fault=str(fault))
                raise
            except StoreUnavailable:
                pass  # the scheduler reports that the database is unavailable
            await asyncio.sleep(ROUND_S)
