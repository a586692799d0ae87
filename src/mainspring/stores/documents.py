"""Configuration as code: everything that applying documents changes, in one transaction."""

from collections.abc import Callable
from functools import partial

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.event import Event
from mainspring.ports.documents import ChangedMeanwhile, Changeset
from mainspring.stores.calendars import calendar_values, changed_calendar_values
from mainspring.stores.connections import changed_connection_values, connection_values
from mainspring.stores.endpoints import changed_job_values, endpoint_row, read_jobs
from mainspring.stores.events import EventReader, add_events
from mainspring.stores.maintenance import insert_window, update_window
from mainspring.stores.notification_rows import changed_values, subscription_values
from mainspring.stores.notifications import begin_outbox, erase_subscription
from mainspring.stores.planner import begin_judging
from mainspring.stores.rows import config_values, job_values, state_values
from mainspring.stores.rule_rows import rule_values
from mainspring.stores.session import Database, Session, UniqueViolation
from mainspring.stores.workflows import add_version


class SqlDocumentStore:
    def __init__(self, database: Database, events: EventReader, wake: Callable[[], None]) -> None:
        """`wake` notifies a waiting scheduler of this process that a schedule or a maintenance window changed."""
        self._db = database
        self._events = events
        self._wake = wake

    async def apply(self, tenant_id: str, changeset: Changeset) -> None:
        try:
            await self._db.run_long(partial(self._apply, tenant_id=tenant_id, changeset=changeset))
        except UniqueViolation as fault:
            raise Conflict(
                "a name that this configuration gives out was taken meanwhile; nothing was written, apply it again",
                kind="configuration",
                name="",
            ) from fault
        self._wake()

    async def _apply(self, session: Session, tenant_id: str, changeset: Changeset) -> None:
        if changeset.new_subscriptions:
            await begin_outbox(session, self._events)
        if changeset.rules:
            await begin_judging(session)
        await session.only(tenant_id)
        await session.lock("lock_jobs", tenant_id)
        changeset.check_jobs(await read_jobs(session, tenant_id))
        await session.run_many("put_job", [changed_job_values(job) for job in changeset.changed_jobs])
        await session.run_many("add_job", [job_values(job) for job in changeset.new_jobs])
        await _apply_connections(session, changeset)
        await _apply_calendars(session, changeset)
        before, after, events = await _change_endpoints(session, tenant_id, changeset)
        added = changeset.new_endpoints
        await session.run_many("add_endpoint", [config_values(each) for each in added])
        await session.run_many("add_schedule", [(e.id, e.tenant_id, e.host, *state_values(e)) for e in added])
        await _apply_rules(session, tenant_id, changeset)
        await _apply_subscriptions(session, tenant_id, changeset)
        await _apply_windows(session, tenant_id, changeset)
        await _apply_workflows(session, tenant_id, changeset)
        for connection_id in changeset.deleted_connections:
            await session.run("delete_connection", tenant_id, connection_id)
        for calendar_id in changeset.deleted_calendars:
            await session.run("delete_calendar", tenant_id, calendar_id)
        await add_events(session, [*changeset.events, *events], before, [*after, *added])
        await session.notify()

    async def workflow_sources(self, tenant_id: str) -> dict[str, str]:
        async with self._db.reading(tenant_id) as session:
            return {str(row[0]): str(row[1]) for row in await session.rows("workflow_sources", tenant_id)}


async def _apply_connections(session: Session, changeset: Changeset) -> None:
    for changed in changeset.changed_connections:
        if not await session.run("put_connection", *changed_connection_values(changed)):
            raise ChangedMeanwhile
    await session.run_many("add_connection", [connection_values(new) for new in changeset.new_connections])


async def _apply_calendars(session: Session, changeset: Changeset) -> None:
    for changed in changeset.changed_calendars:
        if not await session.run("put_calendar", *changed_calendar_values(changed)):
            raise ChangedMeanwhile
    await session.run_many("add_calendar", [calendar_values(new) for new in changeset.new_calendars])


async def _change_endpoints(
    session: Session, tenant_id: str, changeset: Changeset
) -> tuple[list[Endpoint], list[Endpoint], list[Event]]:
    """Change the endpoints that documents change; return them before and after, and the events."""
    acts = changeset.acts
    _, now = await session.lock_endpoints(list(acts))
    rows = await session.rows("endpoints_by_id", list(acts))
    before = [old for old in (endpoint_row(session, row) for row in rows) if old.tenant_id == tenant_id]
    if len(before) < len(acts):
        gone = set(acts) - {old.id for old in before}
        raise NotFound("endpoint", min(gone))
    await session.run("free_names", list(changeset.freed))
    changes = [acts[old.id](old, now) for old in before]
    after = [change.endpoint for change in changes]
    pairs = list(zip(before, after, strict=True))
    configured = [new for old, new in pairs if new.version != old.version]
    await session.run_many("write_config", [(*config_values(new)[1:], new.id) for new in configured])
    await session.run_many("write_host", [(new.host, new.id) for new in configured])
    await session.update("write_states", [(*state_values(new), new.id) for old, new in pairs if new != old])
    return before, after, [event for change in changes for event in change.events]


async def _apply_rules(session: Session, tenant_id: str, changeset: Changeset) -> None:
    if changeset.removed_rules:
        await session.run("remove_rules", tenant_id, list(changeset.removed_rules))
    rows = [rule_values(stored, place) for stored, place in changeset.rules]
    await session.run_many("recount_changed_rule", [(row[0], row[6]) for row in rows])
    await session.run_many("write_rule", rows)


async def _apply_subscriptions(session: Session, tenant_id: str, changeset: Changeset) -> None:
    for subscription_id in changeset.deleted_subscriptions:
        await erase_subscription(session, tenant_id, subscription_id)
    for changed in changeset.changed_subscriptions:
        if not await session.run("put_subscription", *changed_values(changed)):
            raise ChangedMeanwhile
    await session.run_many("add_subscription", [subscription_values(new) for new in changeset.new_subscriptions])


async def _apply_windows(session: Session, tenant_id: str, changeset: Changeset) -> None:
    if not (changeset.new_windows or changeset.changed_windows or changeset.deleted_windows):
        return
    for window_id in changeset.deleted_windows:
        await session.run("delete_maintenance", tenant_id, window_id)
    for changed in changeset.changed_windows:
        if not await update_window(session, changed):
            raise ChangedMeanwhile
    for new in changeset.new_windows:
        await insert_window(session, new)
    await session.run("count_maintenance_change")


async def _apply_workflows(session: Session, tenant_id: str, changeset: Changeset) -> None:
    now = await session.now()
    for each in changeset.publications:
        made = await add_version(session, tenant_id, each.workflow, each.document, changeset.actor, now)
        if made.version != each.after + 1:
            raise ChangedMeanwhile
    for name, source in changeset.workflow_sources.items():
        if source:
            await session.run("put_workflow_source", tenant_id, name, source)
        else:
            await session.run("remove_workflow_source", tenant_id, name)
