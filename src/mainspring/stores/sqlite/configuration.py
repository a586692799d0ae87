"""Configuration as code on SQLite: all that a document changes, in one transaction."""

from collections.abc import Callable

import apsw

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, NotFound
from mainspring.ports.configuration import ChangedMeanwhile, Changeset
from mainspring.stores.firings import rule_values
from mainspring.stores.notices import changed_values
from mainspring.stores.rows import config_values, job_values, state_values
from mainspring.stores.sqlite.database import Connection, Database, bound
from mainspring.stores.sqlite.endpoints import add_events, job_row, put_job
from mainspring.stores.sqlite.notifications import erase_subscription, insert_subscription
from mainspring.stores.sqlite.planner import begin_judging
from mainspring.stores.sqlite.schedule import encoded, endpoint_row
from mainspring.stores.sqlite.workflows import add_version

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
        news: list[Endpoint] = []
        for old in olds:
            change = acts[old.id](old, now)
            events.extend(change.events)
            new = change.endpoint
            news.append(new)
            if new.version != old.version:
                db.run("write_config", *config_values(new)[1:], old.id)
                db.run("write_host", new.host, old.id)
            if new != old:
                db.run("write_state", *state_values(new), old.id)
        added = changeset.new_endpoints
        db.run_many("add_endpoint", [bound(config_values(each)) for each in added])
        db.run_many("add_schedule", [bound((e.id, e.tenant_id, e.host, *state_values(e))) for e in added])
        self._apply_rules(db, tenant_id, changeset)
        self._apply_subscriptions(db, tenant_id, changeset)
        self._apply_workflows(db, tenant_id, changeset)
        add_events(db, events, olds, [*news, *added])

    def _apply_rules(self, db: Connection, tenant_id: str, changeset: Changeset) -> None:
        if changeset.removed_rules:
            db.run("remove_rules", tenant_id, encoded(list(changeset.removed_rules)))
        if changeset.rules:
            begin_judging(db)
            rows = [bound(rule_values(stored, place)) for stored, place in changeset.rules]
            db.run_many("recount_changed_rule", [(row[0], row[6]) for row in rows])
            db.run_many("write_rule", rows)

    def _apply_subscriptions(self, db: Connection, tenant_id: str, changeset: Changeset) -> None:
        for subscription_id in changeset.deleted_subscriptions:
            erase_subscription(db, tenant_id, subscription_id)
        for changed in changeset.changed_subscriptions:
            if not db.run("put_subscription", *changed_values(changed)):
                raise ChangedMeanwhile
        for new in changeset.new_subscriptions:
            insert_subscription(db, new)

    def _apply_workflows(self, db: Connection, tenant_id: str, changeset: Changeset) -> None:
        now = self._db.clock.now()
        for each in changeset.publications:
            made = add_version(db, tenant_id, each.workflow, each.document, changeset.actor, now)
            if made.version != each.after + 1:
                raise ChangedMeanwhile
        for name, source in changeset.workflow_sources.items():
            if source:
                db.run("put_workflow_source", tenant_id, name, source)
            else:
                db.run("remove_workflow_source", tenant_id, name)

    async def workflow_sources(self, tenant_id: str) -> dict[str, str]:
        rows = await self._db.read(lambda db: db.rows("workflow_sources", tenant_id))
        return {str(name): str(source) for name, source in rows}
