"""Jobs, endpoints and tenants on SQLite."""

from collections.abc import Callable, Sequence

import apsw

from mainspring.domain.access.audit import FIRST_SEAL, chained
from mainspring.domain.endpoint import Endpoint, Job, Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event
from mainspring.domain.schedule.changes import Act, Change
from mainspring.ports.accounts import ORIGIN
from mainspring.ports.endpoints import EndpointFilter, Join, as_it_is
from mainspring.stores.account_rows import audited_by_tenant, digests, head_from, struct_values
from mainspring.stores.paging import filtered_query, in_order
from mainspring.stores.proposals import ARCHIVED, archived_scopes
from mainspring.stores.rows import config_values, event_rows, job_from, job_values, joined_status, state_values
from mainspring.stores.sqlite.connection import SqliteConnection, instant, microseconds
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.sqlite.proposals import place_proposals, withdraw_proposals
from mainspring.stores.sqlite.schedule import encoded, endpoint_row, tenant


class SqliteEndpoints:
    def __init__(self, database: SqliteDatabase, wake: Callable[[], None]) -> None:
        self._db = database
        self._wake = wake

    async def add_endpoint(self, endpoint: Endpoint, event: Event, join: Join = as_it_is) -> None:
        def work(db: SqliteConnection) -> None:
            job = db.value("lock_job", endpoint.tenant_id, endpoint.job_id)
            others = db.value("count_endpoints", endpoint.tenant_id)
            new = join(endpoint, joined_status(job), int(str(others or 0)))
            try:
                db.run("add_endpoint", *config_values(new))
                db.run("add_schedule", new.id, new.tenant_id, new.host, *state_values(new))
            except apsw.ConstraintError as fault:
                raise _taken("endpoint", endpoint.name, fault) from fault
            add_events(db, [event], (), [new])

        await self._db.write(work)
        self._wake()

    async def endpoint(self, tenant_id: str, name_or_id: str) -> Endpoint | None:
        rows = await self._db.read(lambda db: db.rows("endpoint", tenant_id, name_or_id))
        return endpoint_row(rows[0]) if rows else None

    async def endpoints(self, tenant_id: str, wanted: EndpointFilter) -> list[Endpoint]:
        if wanted.ids is not None:
            ids = encoded(wanted.ids)
            found = await self._db.read(lambda db: db.rows("endpoints_by_id", ids))
            return in_order([endpoint_row(row) for row in found], tenant_id)
        query, values = filtered_query(tenant_id, wanted)
        return [endpoint_row(row) for row in await self._db.read(lambda db: db.rows(query, *values))]

    async def change_endpoints(self, tenant_id: str, ids: Sequence[str], act: Act) -> list[Change]:
        def work(db: SqliteConnection) -> list[Change]:
            now = self._db.clock.now()
            changes: list[Change] = []
            rows = db.rows("endpoints_by_id", encoded(ids))
            endpoints = [endpoint_row(row) for row in rows if row[1] == tenant_id]
            for old in endpoints:
                change = act(old, now)
                if change.endpoint != old:
                    self._write(db, old, change.endpoint)
                changes.append(change)
            after = [change.endpoint for change in changes]
            told = [event for change in changes for event in change.events]
            told += place_proposals(db, [each for change in changes for each in change.proposals], now)
            for scope, actor in archived_scopes(endpoints, changes):
                told += withdraw_proposals(db, scope, actor, ARCHIVED, now)
            add_events(db, told, endpoints, after)
            return changes

        changes = await self._db.write(work)
        self._wake()
        return changes

    async def delete_endpoint(self, tenant_id: str, endpoint_id: str, event: Event) -> bool:
        def work(db: SqliteConnection) -> bool:
            rows = db.rows("endpoint", tenant_id, endpoint_id)
            if not db.run("delete_endpoint", tenant_id, endpoint_id):
                return False
            db.run("delete_runs", endpoint_id)
            add_events(db, [event], [endpoint_row(row) for row in rows])
            return True

        return await self._db.write_much(work)

    async def add_job(self, job: Job, event: Event) -> None:
        def work(db: SqliteConnection) -> None:
            try:
                db.run("add_job", *job_values(job))
            except apsw.ConstraintError as fault:
                raise _taken("job", job.name, fault) from fault
            add_events(db, [event])

        await self._db.write(work)

    async def jobs(self, tenant_id: str) -> list[Job]:
        rows = await self._db.read(lambda db: db.rows("jobs", tenant_id))
        return [job_row(row) for row in rows]

    async def put_job(self, job: Job, event: Event) -> None:
        def work(db: SqliteConnection) -> None:
            try:
                put_job(db, job)
            except apsw.ConstraintError as fault:
                raise _taken("job", job.name, fault) from fault
            add_events(db, [event])

        await self._db.write(work)

    async def tenant(self, tenant_id: str) -> Tenant | None:
        def work(db: SqliteConnection) -> Tenant | None:
            now = self._db.clock.now()
            return tenant(db, tenant_id, now) if (tenant_id,) in db.rows("tenants") else None

        return await self._db.read(work)

    async def put_tenant(self, tenant: Tenant, event: Event | None = None) -> None:
        def work(db: SqliteConnection) -> None:
            db.run(
                "put_tenant", tenant.id, tenant.name, tenant.runs_per_month, tenant.tokens_per_month,
                tenant.endpoints_max, tenant.interval_ms_min,
            )  # fmt: skip
            db.run("undefer", self._db.clock.now(), tenant.id)
            add_events(db, [event] if event else [])

        await self._db.write(work)
        self._wake()

    @staticmethod
    def _write(db: SqliteConnection, old: Endpoint, new: Endpoint) -> None:
        if new.version != old.version:
            try:
                db.run("write_config", *config_values(new)[1:], old.id)
            except apsw.ConstraintError as fault:
                raise _taken("endpoint", new.name, fault) from fault
            db.run("write_host", new.host, old.id)
        db.run("write_state", *state_values(new), old.id)


def job_row(row: tuple[object, ...]) -> Job:
    return job_from((*row[:5], instant(row[5]), instant(row[6]), row[7]))


def put_job(db: SqliteConnection, job: Job) -> None:
    values = (job.name, job.description, job.status, job.updated_at, job.managed_by, job.tenant_id, job.id)
    db.run("put_job", *values)


def add_events(
    db: SqliteConnection, events: Sequence[Event], before: Sequence[Endpoint] = (), after: Sequence[Endpoint] = ()
) -> None:
    """Tell what happened, and put into the audit trail what belongs there; `before` and `after` are what it changed."""
    db.run_many("add_event", event_rows(events, microseconds))
    for tenant_id, audited in audited_by_tenant(events):
        db.run("add_audit_head", tenant_id, FIRST_SEAL)
        head = head_from(db.rows("lock_audit_head", tenant_id))
        entries = chained(head, audited, digests(before, after), ORIGIN.get(), db.audit_keys)
        for entry in entries:
            db.run("add_audit_entries", *struct_values(entry))
        db.run("put_audit_head", entries[-1].seq, entries[-1].seal, tenant_id)


def _taken(kind: str, name: str, fault: apsw.ConstraintError) -> Exception:
    """A unique index said no: the name is taken. Any other constraint is our own mistake and stays one."""
    if fault.extendedresult not in (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY):  # type: ignore[attr-defined]  # in apsw, not in its stubs
        return fault
    return Conflict(f"another {kind} is named {name!r} already; names are unique, choose another", kind=kind, name=name)
