"""Configuration as code on SQLite: all that a document changes, in one transaction."""

from collections.abc import Callable

import apsw

from mainspring.domain.errors import Conflict, NotFound
from mainspring.ports import Changeset
from mainspring.stores.rows import config_values, job_values, state_values
from mainspring.stores.sqlite.database import Connection, Database, bound
from mainspring.stores.sqlite.endpoints import add_events, job_row, put_job
from mainspring.stores.sqlite.schedule import encoded, endpoint_row

UNIQUE = (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY)


class SqliteConfiguration:
    def __init__(self, database: Database, wake: Callable[[], None]) -> None:
        self._db = database
        self._wake = wake

    async def apply(self, tenant_id: str, changeset: Changeset) -> None:
        def work(db: Connection) -> None:
            try:
                self._apply(db, tenant_id, changeset)
            except apsw.ConstraintError as fault:
                if fault.extendedresult not in UNIQUE:  # type: ignore[attr-defined]  # in apsw, not in its stubs
                    raise
                raise Conflict(
                    "a name that this configuration gives out was taken meanwhile; nothing was written, apply it again",
                    kind="configuration",
                    name="",
                ) from fault

        await self._db.write_much(work)
        self._wake()

    def _apply(self, db: Connection, tenant_id: str, changeset: Changeset) -> None:
        now = self._db.clock.now()
        changeset.check_jobs([job_row(row) for row in db.rows("jobs", tenant_id)])
        for job in changeset.changed_jobs:
            put_job(db, job)
        db.run_many("add_job", [bound(job_values(job)) for job in changeset.new_jobs])
        events = list(changeset.events)
        acts = changeset.acts
        rows = db.rows("endpoints_by_id", encoded(list(acts)))
        olds = [old for old in (endpoint_row(row) for row in rows) if old.tenant_id == tenant_id]
        if len(olds) < len(acts):
            gone = set(acts) - {old.id for old in olds}
            raise NotFound("endpoint", min(gone))
        db.run("free_names", encoded(list(changeset.freed)))
        for old in olds:
            change = acts[old.id](old, now)
            events.extend(change.events)
            new = change.endpoint
            if new.version != old.version:
                db.run("write_config", *config_values(new)[1:], old.id)
                db.run("write_host", new.host, old.id)
            if new != old:
                db.run("write_state", *state_values(new), old.id)
        added = changeset.new_endpoints
        db.run_many("add_endpoint", [bound(config_values(each)) for each in added])
        db.run_many("add_schedule", [bound((e.id, e.tenant_id, e.host, *state_values(e))) for e in added])
        add_events(db, events)
