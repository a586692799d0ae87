"""Workflows, executions and their logs, on SQLite."""

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.event import Event
from mainspring.domain.instant import from_us, to_us
from mainspring.ports.flows import Checkpoint, Execution, ExecutionFilter, Published, Sending, Start
from mainspring.stores.flows import (
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
from mainspring.stores.sqlite.database import Connection, Database
from mainspring.stores.sqlite.endpoints import add_events
from mainspring.workflow.audit import GENESIS, Anchor, Breach, TickHead
from mainspring.workflow.model import Entry, Workflow


def add_version(
    db: Connection, tenant_id: str, workflow: Workflow, document: str, actor: str, now: datetime
) -> Workflow:
    version = int(str(db.value("newest_workflow_version", tenant_id, workflow.name))) + 1
    made = replace(workflow, version=version)
    db.run("restore_workflow", tenant_id, made.name)
    db.run("add_workflow_version", tenant_id, made.name, version, document, text_of(made), actor, to_us(now))
    return made


class SqliteWorkflows:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def now(self) -> datetime:
        return self._db.clock.now()

    async def clock(self, partition: int, resolution_ms: int) -> tuple[datetime, int]:
        def work(db: Connection) -> list[tuple[object, ...]]:
            db.run("add_partition", partition, _whole_second_us(self._db.clock.now()), resolution_ms)
            return db.rows("partition_clock", partition)

        rows = await self._db.read(lambda db: db.rows("partition_clock", partition)) or await self._db.write(work)
        return from_us(int(str(rows[0][0]))), int(str(rows[0][1]))

    async def publish(self, tenant_id: str, workflow: Workflow, document: str, actor: str, event: Event) -> Published:
        def work(db: Connection) -> Published:
            now = self._db.clock.now()
            made = add_version(db, tenant_id, workflow, document, actor, now)
            add_events(db, [replace(event, data=event.data | {"version": made.version})])
            return new_published(made, document, actor, now)

        return await self._db.write(work)

    async def version(self, tenant_id: str, name: str, version: int | None) -> Published | None:
        def work(db: Connection) -> list[tuple[object, ...]]:
            wanted = version or db.value("newest_workflow_version", tenant_id, name)
            return db.rows("workflow_version", tenant_id, name, wanted)

        rows = await self._db.read(work)
        return published_from(rows[0]) if rows else None

    async def versions(self, tenant_id: str, name: str | None) -> list[Published]:
        query = ("newest_workflows", tenant_id) if name is None else ("workflow_versions", tenant_id, name)
        return [published_from(row) for row in await self._db.read(lambda db: db.rows(*query))]

    async def start(self, starts: Sequence[Start]) -> list[Execution]:
        def add(db: Connection, start: Start) -> Execution:
            new = start.execution
            there = db.rows("execution_by_key", new.tenant_id, new.state.workflow, new.idempotency_key)
            if start.alone and not there:
                there = db.rows("running_under", new.tenant_id, new.correlation, new.state.workflow, 1)
            if there:
                return execution_from(there[0])
            db.run("add_execution", *execution_values(new))
            add_events(db, [start.event])
            return new

        return await self._db.write(lambda db: [add(db, start) for start in starts])

    async def execution(self, tenant_id: str, execution_id: str) -> Execution | None:
        rows = await self._db.read(lambda db: db.rows("execution", tenant_id, execution_id))
        return execution_from(rows[0]) if rows else None

    async def executions(self, tenant_id: str, wanted: ExecutionFilter) -> list[Execution]:
        query = executions_query(tenant_id, wanted)
        return [execution_from(row) for row in await self._db.read(lambda db: db.rows(*query))]

    async def count(self, tenant_id: str, wanted: ExecutionFilter) -> int:
        values = count_values(tenant_id, wanted)
        return int(str(await self._db.read(lambda db: db.value("count_executions", *values))))

    async def send(self, sendings: Sequence[Sending], events: Sequence[Event]) -> int:
        def work(db: Connection) -> int:
            arrived_us = to_us(self._db.clock.now())
            new = sum(db.run("add_arrival", *arrival_values(each, arrived_us)) for each in sendings)
            add_events(db, events)
            return new

        return await self._db.write(work)


class SqliteArchive:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def archive(self, tenant_id: str, name: str, event: Event) -> bool:
        return await self._write(("archive_workflow", tenant_id, name, to_us(event.at)), event)

    async def restore(self, tenant_id: str, name: str, event: Event) -> bool:
        return await self._write(("restore_workflow", tenant_id, name), event)

    async def _write(self, query: tuple[object, ...], event: Event) -> bool:
        def work(db: Connection) -> bool:
            changed = bool(db.run(str(query[0]), *query[1:]))
            if changed:
                add_events(db, [event])
            return changed

        return await self._db.write(work)


class SqliteLogs:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def entries(self, tenant_id: str, execution_id: str, after: int, limit: int) -> list[Entry]:
        rows = await self._db.read(lambda db: db.rows("entries", execution_id, after, tenant_id, limit))
        return [entry_from(row) for row in rows]

    async def row_breach(self, tenant_id: str, execution_id: str) -> Breach | None:
        rows = await self._db.read(lambda db: db.rows("execution_row", tenant_id, execution_id))
        return breach_of_row(rows[0]) if rows else None

    async def anchors(self, partition: int, execution_id: str) -> list[Anchor]:
        rows = await self._db.read(lambda db: db.rows("ticks_of_execution", partition, f'%"{execution_id}"%'))
        return anchors_from(execution_id, rows)

    async def ticks(self, partition: int, after: int, limit: int) -> list[TickHead]:
        return [tick_from(row) for row in await self._db.read(lambda db: db.rows("ticks", partition, after, limit))]

    async def partition_end(self, partition: int) -> Anchor | None:
        rows = await self._db.read(lambda db: db.rows("partition", partition))
        return Anchor(int(str(rows[0][2])), str(rows[0][3]) or GENESIS) if rows else None

    async def checkpoints(self, partition: int, after: int, limit: int) -> list[Checkpoint]:
        rows = await self._db.read(lambda db: db.rows("checkpoints", partition, after, limit))
        return [checkpoint_from(row) for row in rows]

    async def chain_start(self, partition: int) -> Checkpoint | None:
        rows = await self._db.read(lambda db: db.rows("chain_start", partition))
        return checkpoint_from(rows[0]) if rows else None

    async def log_ids(self, partition: int) -> list[str]:
        return [str(row[0]) for row in await self._db.read(lambda db: db.rows("log_ids", partition))]

    async def erase(self, tenant_id: str, execution_id: str, event: Event) -> int:
        def work(db: Connection) -> int:
            rows = db.rows("execution", tenant_id, execution_id)
            if not rows or not (state := execution_from(rows[0]).state).is_over:
                return 0
            db.run("erase_state", text_of(erased(state)), tenant_id, execution_id)
            for query in ("erase_arrivals", "erase_effects"):
                db.run(query, execution_id)
            add_events(db, [event])
            return db.run("erase_entries", execution_id)

        return await self._db.write(work)


def _whole_second_us(now: datetime) -> int:
    return to_us(now.replace(microsecond=0))
