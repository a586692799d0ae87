"""The file watch: ends the process when its SQLite file is deleted or replaced.

A process keeps a deleted file open, and would continue to claim and record in a file that no other process can see.
"""

import asyncio

import structlog

from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.ports.upkeep import UpkeepStore

ROUND_S = 1.0

log = structlog.get_logger()


class FileWatch:
    def __init__(self, upkeep: UpkeepStore) -> None:
        self._upkeep = upkeep
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Checks once a second until `stop`. Raises Misconfigured, which ends the process, if the file is gone."""
        while not self._stopping.is_set():
            try:
                await self._upkeep.check_identity()
            except Misconfigured as fault:
                log.error("database file replaced", fault=str(fault))
                raise
            except StoreUnavailable:
                pass  # the scheduler reports that the database is unavailable
            try:
                async with asyncio.timeout(ROUND_S):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    def stop(self) -> None:
        self._stopping.set()
