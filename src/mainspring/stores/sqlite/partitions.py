"""Whole partitions of workflows, on SQLite."""

from datetime import datetime
from typing import cast

from mainspring.domain.instant import from_us, to_us
from mainspring.ports.flows import Execution, PartitionView
from mainspring.stores.flows import execution_from, view_from
from mainspring.stores.sqlite.database import Database


class SqlitePartitions:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def views(self, overdue_before: datetime) -> list[PartitionView]:
        before_us = to_us(overdue_before)
        return [view_from(row) for row in await self._db.read(lambda db: db.rows("partition_views", before_us))]

    async def members(self, partition: int, after: str, limit: int) -> list[Execution]:
        rows = await self._db.read(lambda db: db.rows("partition_members", partition, after, limit))
        return [execution_from(row) for row in rows]

    async def overdue_by_tenant(self, before: datetime) -> dict[str, int]:
        before_us = to_us(before)
        rows = await self._db.read(lambda db: db.rows("overdue_by_tenant", before_us))
        return {str(tenant_id): cast(int, count) for tenant_id, count in rows}

    async def oldest_effect_at(self) -> datetime | None:
        found = await self._db.read(lambda db: db.value("oldest_effect"))
        return None if found is None else from_us(cast(int, found))
