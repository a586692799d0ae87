"""Configuration as code on PostgreSQL: all that a document changes, in one transaction."""

from collections.abc import Callable

from mainspring.domain.errors import Conflict, NotFound
from mainspring.ports.documents import ChangedMeanwhile, Changeset
from mainspring.stores.notification_rows import changed_values, subscription_values
from mainspring.stores.notifications import begin_outbox, erase_subscription
from mainspring.stores.postgres.database import PostgresDatabase, PostgresSession, as_json
from mainspring.stores.postgres.endpoints import add_events, put_job
from mainspring.stores.postgres.events import PostgresEventReader
from mainspring.stores.postgres.planner import begin_judging
from mainspring.stores.postgres.schedule import lock
from mainspring.stores.rows import config_values, endpoint_from, job_from, job_values, state_values
from mainspring.stores.rule_rows import rule_values
from mainspring.stores.session import UniqueViolation
from mainspring.stores.workflows import add_version


class PostgresDocuments:
    def __init__(self, database: PostgresDatabase, wake: Callable[[], None]) -> None:
        self._db = database
        self._wake = wake

    async def apply(self, tenant_id: str, changeset: Changeset) -> None:
        try:
            async with self._db.transaction() as session:
                if changeset.new_subscriptions:
                    await begin_outbox(session, PostgresEventReader())
                if changeset.rules:
                    await begin_judging(session)
                await session.only(tenant_id)
                await self._apply(session, tenant_id, changeset)
        except UniqueViolation as fault:
            raise Conflict(
                "a name that this configuration gives out was taken meanwhile; nothing was written, apply it again",
                kind="configuration",
                name="",
            ) from fault
        self._wake()

    async def _apply(self, session: PostgresSession, tenant_id: str, changeset: Changeset) -> None:
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
        states, configs, news = [], [], []
        for old in olds:
            change = acts[old.id](old, now)
            events.extend(change.events)
            new = change.endpoint
            news.append(new)
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
        await self._apply_rules(session, tenant_id, changeset)
        await self._apply_subscriptions(session, tenant_id, changeset)
        await self._apply_workflows(session, tenant_id, changeset)
        await add_events(session, events, olds, [*news, *added])
        await self._db.notify(session)

    async def _apply_rules(self, session: PostgresSession, tenant_id: str, changeset: Changeset) -> None:
        if changeset.removed_rules:
            await session.run("remove_rules", tenant_id, list(changeset.removed_rules))
        if changeset.rules:
            rows = [rule_values(stored, place) for stored, place in changeset.rules]
            await session.run_many("recount_changed_rule", [(row[0], row[6]) for row in rows])
            await session.run_many("write_rule", rows)

    async def _apply_subscriptions(self, session: PostgresSession, tenant_id: str, changeset: Changeset) -> None:
        for subscription_id in changeset.deleted_subscriptions:
            await erase_subscription(session, tenant_id, subscription_id)
        for changed in changeset.changed_subscriptions:
            if not await session.run("put_subscription", *changed_values(changed)):
                raise ChangedMeanwhile
        for new in changeset.new_subscriptions:
            await session.run("add_subscription", *subscription_values(new))

    async def _apply_workflows(self, session: PostgresSession, tenant_id: str, changeset: Changeset) -> None:
        now = await self._db.now_in(session)
        for each in changeset.publications:
            made = await add_version(session, tenant_id, each.workflow, each.document, changeset.actor, now)
            if made.version != each.after + 1:
                raise ChangedMeanwhile
        for name, source in changeset.workflow_sources.items():
            if source:
                await session.run("put_workflow_source", tenant_id, name, source)
            else:
                await session.run("remove_workflow_source", tenant_id, name)

    async def workflow_sources(self, tenant_id: str) -> dict[str, str]:
        async with self._db.statement(tenant_id) as session:
            return {str(row[0]): str(row[1]) for row in await session.rows("workflow_sources", tenant_id)}
