"""Configuration as code on SQLite: all that a document changes, in one transaction."""

from collections.abc import Callable
from datetime import datetime

import apsw
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.instant import to_us
from mainspring.ports.documents import ChangedMeanwhile, Changeset
from mainspring.stores.notification_rows import changed_values, subscription_values
from mainspring.stores.rows import config_values, job_values, state_values, stored_events
from mainspring.stores.rule_rows import rule_values
from mainspring.stores.sqlite.connection import SqliteConnection, bound
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.sqlite.endpoints import add_events, job_row, put_job
from mainspring.stores.sqlite.planner import begin_judging
from mainspring.stores.sqlite.schedule import encoded, endpoint_row
from mainspring.stores.workflow_rows import text_of
from mainspring.workflow.model import Workflow

UNIQUE = (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY)


class SqliteDocuments:
    def __init__(self, database: SqliteDatabase, wake: Callable[[], None]) -> None:
        self._db = database
        self._wake = wake

    async def apply(self, tenant_id: str, changeset: Changeset) -> None:
        def work(db: SqliteConnection) -> None:
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

    def _apply(self, db: SqliteConnection, tenant_id: str, changeset: Changeset) -> None:
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

    def _apply_rules(self, db: SqliteConnection, tenant_id: str, changeset: Changeset) -> None:
        if changeset.removed_rules:
            db.run("remove_rules", tenant_id, encoded(list(changeset.removed_rules)))
        if changeset.rules:
            begin_judging(db)
            rows = [bound(rule_values(stored, place)) for stored, place in changeset.rules]
            db.run_many("recount_changed_rule", [(row[0], row[6]) for row in rows])
            db.run_many("write_rule", rows)

    def _apply_subscriptions(self, db: SqliteConnection, tenant_id: str, changeset: Changeset) -> None:
        for subscription_id in changeset.deleted_subscriptions:
            if db.run("delete_subscription", tenant_id, subscription_id):
                db.run("delete_deliveries", subscription_id)
                db.run("delete_alert_states", subscription_id)
        for changed in changeset.changed_subscriptions:
            if not db.run("put_subscription", *changed_values(changed)):
                raise ChangedMeanwhile
        for new in changeset.new_subscriptions:
            newest = stored_events([(str(row[0]), str(row[1])) for row in db.rows("latest_events", 1)])
            db.run("begin_outbox", newest[-1].cursor if newest else "")  # as in `stores/notifications.py`
            db.run("add_subscription", *subscription_values(new))

    def _apply_workflows(self, db: SqliteConnection, tenant_id: str, changeset: Changeset) -> None:
        now = self._db.clock.now()
        for each in changeset.publications:
            made = _add_version(db, tenant_id, each.workflow, each.document, changeset.actor, now)
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


def _add_version(
    db: SqliteConnection, tenant_id: str, workflow: Workflow, document: str, actor: str, now: datetime
) -> Workflow:
    """As `add_version` of `stores/workflows.py`, inside a transaction that is a function."""
    version = int(str(db.value("newest_workflow_version", tenant_id, workflow.name))) + 1
    made = replace(workflow, version=version)
    db.run("restore_workflow", tenant_id, made.name)
    db.run("add_workflow_version", tenant_id, made.name, version, document, text_of(made), actor, to_us(now))
    return made
