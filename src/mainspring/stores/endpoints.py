"""Jobs, endpoints and tenants."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mainspring.domain.endpoint import Endpoint, Job, Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event
from mainspring.domain.schedule.changes import Act, Change
from mainspring.ports.endpoints import EndpointFilter, Join, as_it_is
from mainspring.stores.claim_batch import month_of
from mainspring.stores.events import add_events
from mainspring.stores.lists import filtered_query, in_order
from mainspring.stores.proposals import ARCHIVED, archived_scopes, place_proposals, withdraw_proposals
from mainspring.stores.rows import (
    ENDPOINT_INSTANTS,
    JOB_COLUMNS,
    config_values,
    endpoint_from,
    job_from,
    job_values,
    joined_status,
    state_values,
)
from mainspring.stores.session import Database, Row, Session, UniqueViolation

BETWEEN = "\n"  # between two signing keys that are read as one text; no encrypted text contains it
_JOB_INSTANTS = [index for index, column in enumerate(JOB_COLUMNS) if column.endswith("_at")]


class SqlEndpointStore:
    def __init__(self, database: Database, wake: Callable[[], None]) -> None:
        """`wake` notifies a waiting scheduler of this process that a schedule moved."""
        self._db = database
        self._wake = wake

    async def add_endpoint(self, endpoint: Endpoint, event: Event, join: Join = as_it_is) -> None:
        async with self._db.transaction(endpoint.tenant_id) as session:
            job = await session.value("lock_job", endpoint.tenant_id, endpoint.job_id)
            others = await session.value("count_endpoints", endpoint.tenant_id)
            new = join(endpoint, joined_status(job), int(str(others or 0)))
            try:
                await session.run("add_endpoint", *config_values(new))
                await session.run("add_schedule", new.id, new.tenant_id, new.host, *state_values(new))
            except UniqueViolation as fault:
                raise _taken("endpoint", new.name) from fault
            await add_events(session, [event], (), [new])
            await session.notify()
        self._wake()

    async def endpoint(self, tenant_id: str, name_or_id: str) -> Endpoint | None:
        async def work(session: Session) -> tuple[Session, list[Row]]:
            return session, await session.rows("endpoint", tenant_id, name_or_id)

        session, rows = await self._db.run_read(work, tenant_id)
        return endpoint_row(session, rows[0]) if rows else None

    async def endpoints(self, tenant_id: str, wanted: EndpointFilter) -> list[Endpoint]:
        async with self._db.reading(tenant_id) as session:
            if wanted.ids is not None:
                found = await session.rows("endpoints_by_id", list(wanted.ids))
                return in_order([endpoint_row(session, row) for row in found], tenant_id)
            query, values = filtered_query(tenant_id, wanted)
            rows = await session.rows(query, *values)
        return [endpoint_row(session, row) for row in rows]

    async def change_endpoints(self, tenant_id: str, ids: Sequence[str], act: Act) -> list[Change]:
        async with self._db.transaction(tenant_id) as session:
            changes = await change_locked(session, tenant_id, ids, act)
        self._wake()
        return changes

    async def delete_endpoint(self, tenant_id: str, endpoint_id: str, event: Event) -> bool:
        async def work(session: Session) -> bool:
            rows = await session.rows("endpoint", tenant_id, endpoint_id)
            if not await session.run("delete_endpoint", tenant_id, endpoint_id):
                return False
            await session.run("delete_runs", endpoint_id)
            await add_events(session, [event], [endpoint_row(session, row) for row in rows])
            return True

        return await self._db.run_long(work, tenant_id)

    async def add_job(self, job: Job, event: Event) -> None:
        async with self._db.transaction(job.tenant_id) as session:
            try:
                await session.run("add_job", *job_values(job))
            except UniqueViolation as fault:
                raise _taken("job", job.name) from fault
            await add_events(session, [event])

    async def jobs(self, tenant_id: str) -> list[Job]:
        return await self._db.run_read(partial(read_jobs, tenant_id=tenant_id), tenant_id)

    async def put_job(self, job: Job, event: Event) -> None:
        async with self._db.transaction(job.tenant_id) as session:
            try:
                await session.run("put_job", *changed_job_values(job))
            except UniqueViolation as fault:
                raise _taken("job", job.name) from fault
            await add_events(session, [event])

    async def tenant(self, tenant_id: str) -> Tenant | None:
        found = await self._db.run_read(partial(read_tenants, ids=[tenant_id]), tenant_id)
        return found[0] if found else None

    async def put_tenant(self, tenant: Tenant, event: Event | None = None) -> None:
        async with self._db.transaction(tenant.id) as session:
            await session.run(
                "put_tenant", tenant.id, tenant.name, tenant.runs_per_month, tenant.tokens_per_month,
                tenant.endpoints_max, tenant.interval_ms_min,
            )  # fmt: skip
            await session.run("undefer", await session.now(), tenant.id)
            await add_events(session, [event] if event else [])
            await session.notify()
        self._wake()


async def change_locked(session: Session, tenant_id: str, ids: Sequence[str], act: Act) -> list[Change]:
    """Lock endpoints of a tenant, apply `act` to each and write the results, in the caller's transaction."""
    _, now = await session.lock_endpoints(ids)
    rows = await session.rows("endpoints_by_id", list(ids))
    endpoints = [endpoint_row(session, row) for row in rows if row[1] == tenant_id]
    changes = [act(old, now) for old in endpoints]
    after = [change.endpoint for change in changes]
    await _write_changed(session, endpoints, after)
    events = [event for change in changes for event in change.events]
    events += await place_proposals(session, [each for change in changes for each in change.proposals], now)
    for scope, actor in archived_scopes(endpoints, changes):
        events += await withdraw_proposals(session, scope, actor, ARCHIVED, now)
    await add_events(session, events, endpoints, after)
    await session.notify()
    return changes


def endpoint_row(session: Session, row: Row) -> Endpoint:
    return endpoint_from(session.instants(row, ENDPOINT_INSTANTS))


async def read_jobs(session: Session, tenant_id: str) -> list[Job]:
    """Return a tenant's jobs by name."""
    return [job_from(session.instants(row, _JOB_INSTANTS)) for row in await session.rows("jobs", tenant_id)]


async def read_tenants(session: Session, ids: Sequence[str]) -> list[Tenant]:
    """Return the existing ones of these tenants, by id, with their usage of this month and their signing keys."""
    rows: Any = await session.rows("tenants_by_id", month_of(await session.now()), BETWEEN, list(ids))
    return [Tenant(*row[:7], tuple(row[7].splitlines())) for row in rows]  # type: ignore[call-arg]  # columns


def changed_job_values(job: Job) -> tuple[object, ...]:
    """In the order of the query `put_job`."""
    return (job.name, job.description, job.status, job.updated_at, job.managed_by, job.tenant_id, job.id)


async def _write_changed(session: Session, before: Sequence[Endpoint], after: Sequence[Endpoint]) -> None:
    states: list[Row] = []
    for old, new in zip(before, after, strict=True):
        if new.version != old.version:
            try:
                await session.run("write_config", *config_values(new)[1:], old.id)
            except UniqueViolation as fault:
                raise _taken("endpoint", new.name) from fault
            await session.run("write_host", new.host, old.id)
        if new != old:
            states.append((*state_values(new), old.id))
    await session.update("write_states", states)


def _taken(kind: str, name: str) -> Conflict:
    return Conflict(f"another {kind} is named {name!r} already; names are unique, choose another", kind=kind, name=name)
