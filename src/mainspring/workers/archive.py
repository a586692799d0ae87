"""Archive history before the retention removes it: every day (UTC) that has ended, a file for each tenant.

A day is written an hour after its end, when its runs have ended. Retention removes nothing that was not archived. If
the process is killed, the next one writes the day again. Bodies are not archived: they have their own retention.
"""

import asyncio
from datetime import UTC, datetime, time, timedelta
from itertools import takewhile

import structlog

from mainspring.domain.run import RunStatus
from mainspring.ports.archive import Archive, ArchiveFile
from mainspring.ports.filters import RunListFilter
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores

SETTLED_AFTER = timedelta(hours=1)
PAGE = 5_000
DAY = timedelta(days=1)

log = structlog.get_logger()


class HistoryArchiver:
    def __init__(self, stores: Stores, archive: Archive) -> None:
        self._stores = stores
        self._archive = archive
        self._cursors: dict[str, str] = {}  # per tenant, the last event of an archived day

    async def run_once(self, now: datetime) -> datetime:
        """Archives every ended day; returns the time before which everything is archived."""
        upto = _midnight(now - SETTLED_AFTER)
        reached = upto
        for tenant in await self._stores.accounts.tenants():
            reached = min(reached, await self._runs(tenant.id, upto))
            await self._events(tenant.id, upto)
        return reached

    async def _runs(self, tenant_id: str, upto: datetime) -> datetime:
        oldest = await self._stores.look.runs(tenant_id, RunListFilter(limit=1, oldest_first=True))
        day = _midnight(oldest.runs[0][0].started_at) if oldest.runs else upto
        while day < upto:
            if not self._archive.has("runs", tenant_id, day.date()) and not await self._write_runs(tenant_id, day):
                return day
            day += DAY
        return upto

    async def _write_runs(self, tenant_id: str, day: datetime) -> bool:
        """False, and nothing is written, if a run of the day has not ended."""
        try:
            with self._archive.writing("runs", tenant_id, day.date()) as file:
                count = await self._copy_runs(tenant_id, day, file)
        except _NotOver:
            return False
        log.info("history archived", kind="runs", tenant=tenant_id, day=day.date().isoformat(), rows=count)
        return True

    async def _copy_runs(self, tenant_id: str, day: datetime, file: ArchiveFile) -> int:
        before_id = f"run_{int((day + DAY).timestamp() * 1000):012x}"
        first_id = f"run_{int(day.timestamp() * 1000):012x}"
        count = 0
        while True:
            page = await self._stores.runs.runs(tenant_id, RunFilter(before_id=before_id, limit=PAGE))
            runs = [run for run in page if run.id >= first_id]
            if any(run.status is RunStatus.RUNNING for run in runs):
                raise _NotOver
            await asyncio.to_thread(file.add_runs, runs)
            count += len(runs)
            if len(runs) < PAGE:
                return count
            before_id = runs[-1].id

    async def _events(self, tenant_id: str, upto: datetime) -> None:
        """Events are read once, in their order; one that was written late is in the file of the day it was read in."""
        while page := await self._stores.runs.events_after(self._cursors.get(tenant_id, ""), tenant_id, 1):
            day = _midnight(page[0].event.at)
            if day >= upto:
                return
            if self._archive.has("events", tenant_id, day.date()):
                self._cursors[tenant_id] = await self._copy_events(tenant_id, day, None)
                continue
            with self._archive.writing("events", tenant_id, day.date()) as file:
                cursor = await self._copy_events(tenant_id, day, file)
            self._cursors[tenant_id] = cursor

    async def _copy_events(self, tenant_id: str, day: datetime, file: ArchiveFile | None) -> str:
        """Reads up to the end of the day, and returns the cursor of its last event."""
        cursor, count = self._cursors.get(tenant_id, ""), 0
        while page := await self._stores.runs.events_after(cursor, tenant_id, PAGE):
            of_the_day = list(takewhile(lambda each: each.event.at < day + DAY, page))
            if file is not None:
                await asyncio.to_thread(file.add_events, of_the_day)
            count += len(of_the_day)
            if of_the_day:
                cursor = of_the_day[-1].cursor
            if len(of_the_day) < len(page):
                break
        if file is not None:
            log.info("history archived", kind="events", tenant=tenant_id, day=day.date().isoformat(), rows=count)
        return cursor


class _NotOver(Exception):
    """A run of the day is still running."""


def _midnight(at: datetime) -> datetime:
    return datetime.combine(at.astimezone(UTC).date(), time(), UTC)
