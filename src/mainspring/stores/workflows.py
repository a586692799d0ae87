"""Workflows, executions and their logs."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.event import Event
from mainspring.domain.instant import from_us, to_us
from mainspring.ports.workflows import Checkpoint, Execution, ExecutionFilter, Published, Sending, Start
from mainspring.stores.events import add_events
from mainspring.stores.session import Database, Session
from mainspring.stores.workflow_rows import (
    anchors_from,
    arrival_values,
    breach_of_row,
    checkpoint_from,
    count_values,
    entry_from,
    erased,
    execution_from,
    execution_values,
    executions_query,
    new_published,
    published_from,
    text_of,
    tick_from,
)
from mainspring.workflow.audit import GENESIS, Anchor, Breach, TickHead
from mainspring.workflow.model import LogEntry, Workflow

INLINE_SENDINGS_MAX = 20  # 1 MB of the largest events


async def add_version(
    session: Session, tenant_id: str, workflow: Workflow, document: str, actor: str, now: datetime
) -> Workflow:
    await session.lock("lock_publishing", tenant_id, workflow.name)
    version = int(str(await session.value("newest_workflow_version", tenant_id, workflow.name))) + 1
    made = replace(workflow, version=version)
    await session.run("restore_workflow", tenant_id, made.name)
    values = (tenant_id, made.name, version, document, text_of(made), actor, to_us(now))
    await session.run("add_workflow_version", *values)
    return made


class SqlWorkflowStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def now(self) -> datetime:
        return await self._db.now()

    async def clock(self, partition: int, resolution_ms: int) -> tuple[datetime, int]:
        async with self._db.reading() as session:
            rows = await session.rows("partition_clock", partition)
        if not rows:
            async with self._db.transaction() as session:
                zero_at = (await session.now()).replace(microsecond=0)
                await session.run("add_partition", partition, to_us(zero_at), resolution_ms)
                rows = await session.rows("partition_clock", partition)
        return from_us(int(str(rows[0][0]))), int(str(rows[0][1]))

    async def publish(self, tenant_id: str, workflow: Workflow, document: str, actor: str, event: Event) -> Published:
        async with self._db.transaction(tenant_id) as session:
            now = await session.now()
            made = await add_version(session, tenant_id, workflow, document, actor, now)
            await add_events(session, [replace(event, data=event.data | {"version": made.version})])
        return new_published(made, document, actor, now)

    async def version(self, tenant_id: str, name: str, version: int | None) -> Published | None:
        async with self._db.reading(tenant_id) as session:
            wanted = version or await session.value("newest_workflow_version", tenant_id, name)
            rows = await session.rows("workflow_version", tenant_id, name, wanted)
        return published_from(rows[0]) if rows else None

    async def versions(self, tenant_id: str, name: str | None) -> list[Published]:
        query = ("newest_workflows", tenant_id) if name is None else ("workflow_versions", tenant_id, name)
        async with self._db.reading(tenant_id) as session:
            return [published_from(row) for row in await session.rows(*query)]

    async def start(self, starts: Sequence[Start]) -> list[Execution]:
        async with self._db.transaction(starts[0].execution.tenant_id) as session:
            for names in _locks(starts):
                await session.lock("lock_start", *names)
            return [await _add(session, start) for start in starts]

    async def execution(self, tenant_id: str, execution_id: str) -> Execution | None:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("execution", tenant_id, execution_id)
        return execution_from(rows[0]) if rows else None

    async def executions(self, tenant_id: str, wanted: ExecutionFilter) -> list[Execution]:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows(*executions_query(tenant_id, wanted))
        return [execution_from(row) for row in rows]

    async def count(self, tenant_id: str, wanted: ExecutionFilter) -> int:
        async with self._db.reading(tenant_id) as session:
            return int(str(await session.value("count_executions", *count_values(tenant_id, wanted))))

    async def send(self, sendings: Sequence[Sending], events: Sequence[Event]) -> int:
        async def work(session: Session) -> int:
            arrived_us = to_us(await session.now())
            new = 0
            for each in sendings:
                new += await session.run("add_arrival", *arrival_values(each, arrived_us))
            await add_events(session, events)
            return new

        # An event may have 64 kB and go to 1,000 executions: that much is not written on the event loop.
        if len(sendings) > INLINE_SENDINGS_MAX:
            return await self._db.run_long(work)
        async with self._db.transaction() as session:
            return await work(session)


def _locks(starts: Sequence[Start]) -> list[tuple[str, str, str]]:
    """What to lock before anything is inserted, in one order, so that two callers that start many cannot deadlock."""
    wanted = {(s.execution.tenant_id, s.execution.state.workflow, s.execution.correlation) for s in starts if s.alone}
    if len(starts) > 1:
        wanted |= {(start.execution.tenant_id, start.execution.state.workflow, "") for start in starts}
    return sorted(wanted)


async def _add(session: Session, start: Start) -> Execution:
    new = start.execution
    key = (new.tenant_id, new.state.workflow, new.idempotency_key)
    there = await session.rows("execution_by_key", *key)
    if start.alone and not there:
        there = await session.rows("running_under", new.tenant_id, new.correlation, new.state.workflow, 1)
    if not there and await session.run("add_execution", *execution_values(new)):
        await add_events(session, [start.event])
        return new
    return execution_from((there or await session.rows("execution_by_key", *key))[0])


class SqlArchiveStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def archive(self, tenant_id: str, name: str, event: Event) -> bool:
        return await self._write(tenant_id, ("archive_workflow", tenant_id, name, to_us(event.at)), event)

    async def restore(self, tenant_id: str, name: str, event: Event) -> bool:
        return await self._write(tenant_id, ("restore_workflow", tenant_id, name), event)

    async def _write(self, tenant_id: str, query: tuple[object, ...], event: Event) -> bool:
        async with self._db.transaction(tenant_id) as session:
            changed = bool(await session.run(str(query[0]), *query[1:]))
            if changed:
                await add_events(session, [event])
        return changed


class SqlLogStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def entries(self, tenant_id: str, execution_id: str, after: int, limit: int) -> list[LogEntry]:
        async with self._db.reading(tenant_id) as session:
            return [entry_from(row) for row in await session.rows("entries", execution_id, after, tenant_id, limit)]

    async def row_breach(self, tenant_id: str, execution_id: str) -> Breach | None:
        async with self._db.reading(tenant_id) as session:
            rows = await session.rows("execution_row", tenant_id, execution_id)
        return breach_of_row(rows[0]) if rows else None

    async def anchors(self, partition: int, execution_id: str) -> list[Anchor]:
        async with self._db.reading() as session:
            return anchors_from(
                execution_id, await session.rows("ticks_of_execution", partition, f'%"{execution_id}"%')
            )

    async def ticks(self, partition: int, after: int, limit: int) -> list[TickHead]:
        async with self._db.reading() as session:
            return [tick_from(row) for row in await session.rows("ticks", partition, after, limit)]

    async def partition_end(self, partition: int) -> Anchor | None:
        async with self._db.reading() as session:
            rows = await session.rows("partition", partition)
        return Anchor(int(str(rows[0][2])), str(rows[0][3]) or GENESIS) if rows else None

    async def checkpoints(self, partition: int, after: int, limit: int) -> list[Checkpoint]:
        async with self._db.reading() as session:
            return [checkpoint_from(row) for row in await session.rows("checkpoints", partition, after, limit)]

    async def chain_start(self, partition: int) -> Checkpoint | None:
        async with self._db.reading() as session:
            rows = await session.rows("chain_start", partition)
        return checkpoint_from(rows[0]) if rows else None

    async def log_ids(self, partition: int) -> list[str]:
        async with self._db.reading() as session:
            return [str(row[0]) for row in await session.rows("log_ids", partition)]

    async def erase(self, tenant_id: str, execution_id: str, event: Event) -> int:
        async with self._db.transaction(tenant_id) as session:
            rows = await session.rows("execution", tenant_id, execution_id)
            if not rows or not (state := execution_from(rows[0]).state).is_over:
                return 0
            await session.run("erase_state", text_of(erased(state)), tenant_id, execution_id)
            for query in ("erase_arrivals", "erase_effects"):
                await session.run(query, execution_id)
            await add_events(session, [event])
            return await session.run("erase_entries", execution_id)
