"""Partitions of workflows: their progress, and overdue executions."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from mainspring.domain.event import Event
from mainspring.domain.instant import from_us, to_us
from mainspring.ports.workflows import Execution, PartitionView
from mainspring.stores.events import add_events
from mainspring.stores.session import Database
from mainspring.stores.workflow_rows import NOTHING_REPORTED, execution_from, view_from


class SqlPartitionStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def views(self, overdue_before: datetime) -> list[PartitionView]:
        async with self._db.reading() as session:
            return [view_from(row) for row in await session.rows("partition_views", to_us(overdue_before))]

    async def members(self, partition: int, after: str, limit: int) -> list[Execution]:
        async with self._db.reading() as session:
            return [execution_from(row) for row in await session.rows("partition_members", partition, after, limit)]

    async def overdue_by_tenant(self, before: datetime) -> dict[str, int]:
        async with self._db.reading() as session:
            rows = await session.rows("overdue_by_tenant", to_us(before))
        return {str(tenant_id): cast(int, count) for tenant_id, count in rows}

    async def overdue_reported(self) -> str:
        async with self._db.reading() as session:
            return str(await session.value("watch_report", "overdue") or NOTHING_REPORTED)

    async def report_overdue(self, before: str, reported: str, events: Sequence[Event]) -> bool:
        async with self._db.transaction() as session:
            if not await session.run("move_watch_report", "overdue", reported, before):
                return False
            await add_events(session, list(events))
        return True

    async def oldest_effect_at(self) -> datetime | None:
        async with self._db.reading() as session:
            found = await session.value("oldest_effect")
        return None if found is None else from_us(cast(int, found))
