"""Whole partitions of workflows, on PostgreSQL."""

from datetime import datetime
from typing import cast

from mainspring.domain.instant import from_us, to_us
from mainspring.ports.flows import Execution, PartitionView
from mainspring.stores.flows import execution_from, view_from
from mainspring.stores.postgres.database import Database


class PostgresPartitions:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def views(self, overdue_before: datetime) -> list[PartitionView]:
        async with self._db.statement() as session:
            return [view_from(row) for row in await session.rows("partition_views", to_us(overdue_before))]

    async def members(self, partition: int, after: str, limit: int) -> list[Execution]:
        async with self._db.statement() as session:
            return [execution_from(row) for row in await session.rows("partition_members", partition, after, limit)]

    async def overdue_by_tenant(self, before: datetime) -> dict[str, int]:
        async with self._db.statement() as session:
            rows = await session.rows("overdue_by_tenant", to_us(before))
        return {str(tenant_id): cast(int, count) for tenant_id, count in rows}

    async def oldest_effect_at(self) -> datetime | None:
        async with self._db.statement() as session:
            found = await session.value("oldest_effect")
        return None if found is None else from_us(cast(int, found))
