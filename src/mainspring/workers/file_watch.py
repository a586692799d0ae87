"""The file watch: ends the process when its database is no longer the one that it opened.

A process keeps a deleted SQLite file open, and would go on to claim and record in a file that no other process can see.
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
        """Look once a second until `stop`; raises Misconfigured, which ends the process, when the database is gone."""
        while not self._stopping.is_set():
            try:
                await self._upkeep.check_identity()
            except Misconfigured as fault:
                log.error("database file replaced", fault=str(fault))
                raise
            except StoreUnavailable:
                pass  # the scheduler reports that the database is away
            try:
                async with asyncio.timeout(ROUND_S):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    def stop(self) -> None:
        self._stopping.set()
