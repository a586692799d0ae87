"""Jobs, endpoints and tenants on PostgreSQL."""

from collections.abc import Callable, Sequence

from mainspring.domain.access.audit import FIRST_SEAL, chained
from mainspring.domain.endpoint import Endpoint, Job, Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event
from mainspring.domain.schedule.changes import Act, Change
from mainspring.ports.accounts import ORIGIN
from mainspring.ports.endpoints import EndpointFilter, Join, as_it_is
from mainspring.stores.account_rows import AUDIT_COLUMNS, audited_by_tenant, digests, head_from, struct_values
from mainspring.stores.paging import filtered_query, in_order
from mainspring.stores.postgres.database import PostgresDatabase, PostgresSession, as_json, columns
from mainspring.stores.postgres.proposals import place_proposals, withdraw_proposals
from mainspring.stores.postgres.schedule import lock, tenants
from mainspring.stores.proposals import ARCHIVED, archived_scopes
from mainspring.stores.rows import (
    config_values,
    endpoint_from,
    event_rows,
    job_from,
    job_values,
    joined_status,
    state_values,
)
from mainspring.stores.session import UniqueViolation


class PostgresEndpoints:
    def __init__(self, database: PostgresDatabase, wake: Callable[[], None]) -> None:
        self._db = database
        self._wake = wake

    async def add_endpoint(self, endpoint: Endpoint, event: Event, join: Join = as_it_is) -> None:
        async with self._db.transaction(endpoint.tenant_id) as session:
            job = await session.value("lock_job", endpoint.tenant_id, endpoint.job_id)
            others = await session.value("count_endpoints", endpoint.tenant_id)
            new = join(endpoint, joined_status(job), int(str(others or 0)))
            try:
                await session.run("add_endpoint", *config_values(new))
            except UniqueViolation as fault:
                raise _taken("endpoint", new.name) from fault
            await session.run("add_schedule", new.id, new.tenant_id, new.host, *state_values(new))
            await add_events(session, [event], (), [new])
            await self._db.notify(session)
        self._wake()

    async def endpoint(self, tenant_id: str, name_or_id: str) -> Endpoint | None:
        async with self._db.statement(tenant_id) as session:
            rows = await session.rows("endpoint", tenant_id, name_or_id)
        return endpoint_from(rows[0]) if rows else None

    async def endpoints(self, tenant_id: str, wanted: EndpointFilter) -> list[Endpoint]:
        async with self._db.statement(tenant_id) as session:
            if wanted.ids is not None:
                found = [endpoint_from(row) for row in await session.rows("endpoints_by_id", list(wanted.ids))]
                return in_order(found, tenant_id)
            query, values = filtered_query(tenant_id, wanted)
            rows = await session.rows(query, *values)
        return [endpoint_from(row) for row in rows]

    async def change_endpoints(self, tenant_id: str, ids: Sequence[str], act: Act) -> list[Change]:
        changes: list[Change] = []
        async with self._db.transaction(tenant_id) as session:
            _, now = await lock(self._db, session, ids)
            rows = await session.rows("endpoints_by_id", list(ids))
            endpoints = [endpoint_from(row) for row in rows if row[1] == tenant_id]
            states: list[tuple[object, ...]] = []
            for old in endpoints:
                change = act(old, now)
                changes.append(change)
                if change.endpoint.version != old.version:
                    await self._write_config(session, change.endpoint)
                if change.endpoint != old:
                    states.append((*state_values(change.endpoint), old.id))
            if states:
                await session.run("write_states", as_json(states))
            after = [change.endpoint for change in changes]
            told = [event for change in changes for event in change.events]
            told += await place_proposals(session, [each for change in changes for each in change.proposals], now)
            for scope, actor in archived_scopes(endpoints, changes):
                told += await withdraw_proposals(session, scope, actor, ARCHIVED, now)
            await add_events(session, told, endpoints, after)
            await self._db.notify(session)
        self._wake()
        return changes

    async def delete_endpoint(self, tenant_id: str, endpoint_id: str, event: Event) -> bool:
        async with self._db.transaction(tenant_id) as session:
            rows = await session.rows("endpoint", tenant_id, endpoint_id)
            if not await session.run("delete_endpoint", tenant_id, endpoint_id):
                return False
            await session.run("delete_runs", endpoint_id)
            await add_events(session, [event], [endpoint_from(row) for row in rows])
            return True

    async def add_job(self, job: Job, event: Event) -> None:
        async with self._db.transaction(job.tenant_id) as session:
            try:
                await session.run("add_job", *job_values(job))
            except UniqueViolation as fault:
                raise _taken("job", job.name) from fault
            await add_events(session, [event])

    async def jobs(self, tenant_id: str) -> list[Job]:
        async with self._db.statement(tenant_id) as session:
            return [job_from(row) for row in await session.rows("jobs", tenant_id)]

    async def put_job(self, job: Job, event: Event) -> None:
        async with self._db.transaction(job.tenant_id) as session:
            try:
                await put_job(session, job)
            except UniqueViolation as fault:
                raise _taken("job", job.name) from fault
            await add_events(session, [event])

    async def tenant(self, tenant_id: str) -> Tenant | None:
        now = await self._db.now()
        async with self._db.statement(tenant_id) as session:
            return (await tenants(session, {tenant_id}, now)).get(tenant_id)

    async def put_tenant(self, tenant: Tenant, event: Event | None = None) -> None:
        async with self._db.transaction(tenant.id) as session:
            await session.run(
                "put_tenant", tenant.id, tenant.name, tenant.runs_per_month, tenant.tokens_per_month,
                tenant.endpoints_max, tenant.interval_ms_min,
            )  # fmt: skip
            await session.run("undefer", await self._db.now_in(session), tenant.id)
            await add_events(session, [event] if event else [])
            await self._db.notify(session)
        self._wake()

    async def _write_config(self, session: PostgresSession, endpoint: Endpoint) -> None:
        try:
            await session.run("write_config", *config_values(endpoint)[1:], endpoint.id)
            await session.run("write_host", endpoint.host, endpoint.id)
        except UniqueViolation as fault:
            raise _taken("endpoint", endpoint.name) from fault


async def put_job(session: PostgresSession, job: Job) -> None:
    values = (job.name, job.description, job.status, job.updated_at, job.managed_by, job.tenant_id, job.id)
    await session.run("put_job", *values)


async def add_events(
    session: PostgresSession, events: Sequence[Event], before: Sequence[Endpoint] = (), after: Sequence[Endpoint] = ()
) -> None:
    """Tell what happened, and put into the audit trail what belongs there; `before` and `after` are what it changed."""
    await session.run("add_events", as_json(event_rows(events)))
    for tenant_id, audited in audited_by_tenant(events):
        await session.run("add_audit_head", tenant_id, FIRST_SEAL)
        head = head_from(await session.rows("lock_audit_head", tenant_id))
        entries = chained(head, audited, digests(before, after), ORIGIN.get(), session.audit_keys)
        rows = [struct_values(entry) for entry in entries]
        await session.run("add_audit_entries", *columns(rows, len(AUDIT_COLUMNS)))
        await session.run("put_audit_head", entries[-1].seq, entries[-1].seal, tenant_id)


def _taken(kind: str, name: str) -> Conflict:
    return Conflict(f"another {kind} is named {name!r} already; names are unique, choose another", kind=kind, name=name)
