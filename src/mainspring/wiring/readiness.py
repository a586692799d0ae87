"""Check whether this process can claim and record now: one short write, whose result is cached for a second."""

import asyncio
import time

from mainspring.domain.errors import MainspringError
from mainspring.ports.upkeep import UpkeepStore

PROBE_S = 3.0  # a load balancer stops waiting after a few seconds
KEPT_S = 1.0  # many clients may ask; the database is read once


class Readiness:
    def __init__(self, upkeep: UpkeepStore) -> None:
        self._upkeep = upkeep
        self._asking = asyncio.Lock()
        self._asked_s = -KEPT_S
        self._answer: str | None = None

    async def check(self) -> str | None:
        """None if a claim and a result could be written; otherwise the reason."""
        async with self._asking:
            if time.monotonic() - self._asked_s >= KEPT_S:
                self._answer = await self._probe()
                self._asked_s = time.monotonic()
            return self._answer

    async def check_schema(self) -> str | None:
        """Reports a schema newer than this program's, but a process that can still write stays ready."""
        try:
            return await self._upkeep.newer_schema()
        except MainspringError:
            return None  # the probe reports why

    async def _probe(self) -> str | None:
        try:
            async with asyncio.timeout(PROBE_S):
                await self._upkeep.probe()
        except TimeoutError:
            return (
                f"the database did not accept a write within {PROBE_S:.0f} s; another process holds a lock, or it hangs"
            )
        except MainspringError as fault:
            return str(fault)
        return None
