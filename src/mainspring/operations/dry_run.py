"""Check a change without making it: a desk at which every operation runs as usual, and nothing is written.

The effect on an endpoint is computed by the same functions with the store's now, and later reads at the same desk
return it; the database is unchanged. Name conflicts are reported as by the store. Other changes may be written before
the real request.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint, Job, Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event
from mainspring.domain.schedule.changes import Act, Change
from mainspring.operations.context import Desk
from mainspring.ports.endpoints import EndpointFilter, EndpointStore, Join, as_it_is
from mainspring.ports.schedule import ScheduleStore


def dry_run_desk(desk: Desk) -> Desk:
    """A desk for one request with `dry_run`: its writes stay in memory and are discarded with it."""
    return dry_run(desk)[0]


def dry_run(desk: Desk) -> tuple[Desk, "DryRunEndpoints"]:
    """The desk, and the store that keeps what would have changed."""
    rehearsed = DryRunEndpoints(desk.stores.endpoints, desk.stores.schedule)
    store: EndpointStore = rehearsed  # repeated, because `replace` does not check its arguments
    return replace(desk, stores=replace(desk.stores, endpoints=store)), rehearsed


class DryRunEndpoints:
    """An EndpointStore that reads from a real one and keeps writes to itself."""

    def __init__(self, real: EndpointStore, schedule: ScheduleStore) -> None:
        self._real = real
        self._schedule = schedule
        self._endpoints: dict[str, Endpoint | None] = {}  # None: deleted
        self._jobs: dict[str, Job] = {}
        self._tenants: dict[str, Tenant] = {}
        self.changed: list[tuple[Endpoint | None, Endpoint | None]] = []  # before and after; None: does not exist

    async def add_endpoint(self, endpoint: Endpoint, event: Event, join: Join = as_it_is) -> None:
        await self._refuse_taken(endpoint)
        status = next(job.status for job in await self.jobs(endpoint.tenant_id) if job.id == endpoint.job_id)
        tenant = await self.tenant(endpoint.tenant_id)
        most = tenant.endpoints_max if tenant is not None else None
        others = [] if most is None else await self._real.endpoints(endpoint.tenant_id, EndpointFilter(limit=most))
        added = [each for each in self._endpoints.values() if each is not None]
        joined = join(endpoint, status, len({each.id for each in (*others, *added)}))
        self._endpoints[endpoint.id] = joined
        self.changed.append((None, joined))

    async def endpoint(self, tenant_id: str, name_or_id: str) -> Endpoint | None:
        for endpoint in self._endpoints.values():
            if endpoint is not None and name_or_id in (endpoint.id, endpoint.name):
                return endpoint
        found = await self._real.endpoint(tenant_id, name_or_id)
        return None if found is None else self._endpoints.get(found.id, found)

    async def endpoints(self, tenant_id: str, wanted: EndpointFilter) -> list[Endpoint]:
        found = await self._real.endpoints(tenant_id, wanted)
        seen = [self._endpoints.get(endpoint.id, endpoint) for endpoint in found]
        return [endpoint for endpoint in seen if endpoint is not None]

    async def change_endpoints(self, tenant_id: str, ids: Sequence[str], act: Act) -> list[Change]:
        now = await self._schedule.now()
        changes: list[Change] = []
        unknown = EndpointFilter(ids=tuple(each for each in ids if each not in self._endpoints))
        read = {each.id: each for each in await self._real.endpoints(tenant_id, unknown)} if unknown.ids else {}
        for endpoint_id in ids:
            endpoint = self._endpoints[endpoint_id] if endpoint_id in self._endpoints else read.get(endpoint_id)
            if endpoint is None:
                continue
            change = act(endpoint, now)
            if change.endpoint.name != endpoint.name:
                await self._refuse_taken(change.endpoint)
            changes.append(change)
            self.changed.append((endpoint, change.endpoint))
        self._endpoints |= {change.endpoint.id: change.endpoint for change in changes}
        return changes

    async def delete_endpoint(self, tenant_id: str, endpoint_id: str, event: Event) -> bool:
        found = await self.endpoint(tenant_id, endpoint_id)
        if found is not None:
            self._endpoints[found.id] = None
            self.changed.append((found, None))
        return found is not None

    async def add_job(self, job: Job, event: Event) -> None:
        await self.put_job(job, event)

    async def jobs(self, tenant_id: str) -> list[Job]:
        jobs = {job.id: job for job in await self._real.jobs(tenant_id)} | self._jobs
        return sorted(jobs.values(), key=lambda job: job.name)

    async def put_job(self, job: Job, event: Event) -> None:
        for other in await self.jobs(job.tenant_id):
            if other.name == job.name and other.id != job.id:
                raise _taken("job", job.name)
        self._jobs[job.id] = job

    async def tenant(self, tenant_id: str) -> Tenant | None:
        return self._tenants.get(tenant_id) or await self._real.tenant(tenant_id)

    async def put_tenant(self, tenant: Tenant, event: Event | None = None) -> None:
        self._tenants[tenant.id] = tenant

    async def _refuse_taken(self, wanted: Endpoint) -> None:
        other = await self.endpoint(wanted.tenant_id, wanted.name)
        if other is not None and other.id != wanted.id and other.name == wanted.name and other.archived_at is None:
            raise _taken("endpoint", wanted.name)


def _taken(kind: str, name: str) -> Conflict:
    return Conflict(f"another {kind} is named {name!r} already; names are unique, choose another", kind=kind, name=name)
