"""Configuration as code on PostgreSQL: all that a document changes, in one transaction."""

from collections.abc import Callable

import asyncpg

from mainspring.domain.errors import Conflict, NotFound
from mainspring.ports import Changeset
from mainspring.stores.postgres.database import Database, Session, as_json
from mainspring.stores.postgres.endpoints import add_events, put_job
from mainspring.stores.postgres.schedule import lock
from mainspring.stores.rows import config_values, endpoint_from, job_from, job_values, state_values


class PostgresConfiguration:
    def __init__(self, database: Database, wake: Callable[[], None]) -> None:
        self._db = database
        self._wake = wake

    async def apply(self, tenant_id: str, changeset: Changeset) -> None:
        try:
            async with self._db.transaction(tenant_id) as session:
                await self._apply(session, tenant_id, changeset)
        except asyncpg.UniqueViolationError as fault:
            raise Conflict(
                "a name that this configuration gives out was taken meanwhile; nothing was written, apply it again",
                kind="configuration",
                name="",
            ) from fault
        self._wake()

    async def _apply(self, session: Session, tenant_id: str, changeset: Changeset) -> None:
        acts = changeset.acts
        changeset.check_jobs([job_from(row) for row in await session.rows("lock_jobs", tenant_id)])
        _, now = await lock(self._db, session, list(acts))
        for job in changeset.changed_jobs:
            await put_job(session, job)
        await session.run_many("add_job", [job_values(job) for job in changeset.new_jobs])
        events = list(changeset.events)
        rows = await session.rows("endpoints_by_id", list(acts))
        olds = [old for old in (endpoint_from(row) for row in rows) if old.tenant_id == tenant_id]
        if len(olds) < len(acts):
            gone = set(acts) - {old.id for old in olds}
            raise NotFound("endpoint", min(gone))
        await session.run("free_names", list(changeset.freed))
        states, configs = [], []
        for old in olds:
            change = acts[old.id](old, now)
            events.extend(change.events)
            new = change.endpoint
            if new.version != old.version:
                configs.append((*config_values(new)[1:], old.id))
            if new != old:
                states.append((new.host, *state_values(new), old.id))
        await session.run_many("write_config", configs)
        await session.run_many("write_host", [(row[0], row[-1]) for row in states])
        await session.run("write_states", as_json([row[1:] for row in states]))
        added = changeset.new_endpoints
        await session.run_many("add_endpoint", [config_values(each) for each in added])
        await session.run_many("add_schedule", [(e.id, e.tenant_id, e.host, *state_values(e)) for e in added])
        await add_events(session, events)
        await self._db.notify(session)
