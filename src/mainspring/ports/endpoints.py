"""The seam of operations on jobs, endpoints and tenants."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint, Job, JobStatus, Tenant
from mainspring.domain.event import Event
from mainspring.domain.schedule.changes import Act, Change


class EndpointFilter(Struct, frozen=True):
    """A page of endpoints; or, with `ids`, just these, archived or not, whatever else is said."""

    job_id: str | None = None
    archived: bool = False
    after: tuple[str, str] | None = None  # name and id of the last one seen: archived ones may share a name
    limit: int = 100
    ids: tuple[str, ...] | None = None


Join = Callable[[Endpoint, JobStatus, int], Endpoint]  # a new endpoint, its job's status, how many there are


def as_it_is(endpoint: Endpoint, job: JobStatus, others: int) -> Endpoint:
    return endpoint


class EndpointStore(Protocol):
    """Jobs, endpoints and tenants, for operations. Everything is asked for within one tenant."""

    async def add_endpoint(self, endpoint: Endpoint, event: Event, join: Join = as_it_is) -> None:
        """Add what `join` makes of it; raises Conflict where the name is taken by one that is not archived.

        Until it is written, its job's status stays as `join` is told, and nobody else adds one for the tenant.
        """

    async def endpoint(self, tenant_id: str, name_or_id: str) -> Endpoint | None:
        """By id, or by name among those not archived."""

    async def endpoints(self, tenant_id: str, wanted: EndpointFilter) -> list[Endpoint]:
        """Ordered by name."""

    async def change_endpoints(self, tenant_id: str, ids: Sequence[str], act: Act) -> list[Change]:
        """Lock the rows, apply `act` to each with the store's now, write what it returned: atomic, no read-then-write.

        Unknown ids are left out of the answer. If `act` raises, nothing is written.
        """

    async def delete_endpoint(self, tenant_id: str, endpoint_id: str, event: Event) -> bool:
        """Remove an endpoint with its runs; a run in flight will find nothing to write to. False: was not there."""

    async def add_job(self, job: Job, event: Event) -> None:
        """Raises Conflict where the tenant has a job of that name."""

    async def jobs(self, tenant_id: str) -> list[Job]:
        """Ordered by name."""

    async def put_job(self, job: Job, event: Event) -> None:
        """Write a job's name, description and status."""

    async def tenant(self, tenant_id: str) -> Tenant | None:
        """With what it used this month and its sealed signing keys, newest first."""

    async def put_tenant(self, tenant: Tenant, event: Event | None = None) -> None:
        """Create or change a tenant's name and quotas."""
