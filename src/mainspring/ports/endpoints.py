"""Ports of jobs, endpoints and tenants, for operations."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint, Job, JobStatus, Tenant
from mainspring.domain.event import Event
from mainspring.domain.schedule.changes import Act, Change


class EndpointFilter(Struct, frozen=True):
    """A page of endpoints; or, with `ids`, exactly these, archived or not, and no other filter applies."""

    job_id: str | None = None
    archived: bool = False
    after: tuple[str, str] | None = None  # name and id of the last one seen, because archived ones may share a name
    limit: int = 100
    ids: tuple[str, ...] | None = None


Join = Callable[[Endpoint, JobStatus, int], Endpoint]  # a new endpoint, its job's status, the number of endpoints


def as_it_is(endpoint: Endpoint, job: JobStatus, others: int) -> Endpoint:
    return endpoint


class EndpointStore(Protocol):
    """Jobs, endpoints and tenants, for operations. Every query is within one tenant."""

    async def add_endpoint(self, endpoint: Endpoint, event: Event, join: Join = as_it_is) -> None:
        """Adds what `join` returns. Raises Conflict if an endpoint that is not archived has the name.

        Until it is written, its job's status stays as given to `join`, and no other endpoint is added for the tenant.
        """

    async def endpoint(self, tenant_id: str, name_or_id: str) -> Endpoint | None:
        """By id, or by name among those not archived."""

    async def endpoints(self, tenant_id: str, wanted: EndpointFilter) -> list[Endpoint]:
        """Ordered by name."""

    async def change_endpoints(self, tenant_id: str, ids: Sequence[str], act: Act) -> list[Change]:
        """Locks the rows, applies `act` to each with the store's now, writes the results: atomic, no read-then-write.

        Unknown ids are left out of the result. If `act` raises, nothing is written.
        """

    async def delete_endpoint(self, tenant_id: str, endpoint_id: str, event: Event) -> bool:
        """Removes an endpoint with its runs; a run in flight will find nothing to write to. False if it did not
        exist.
        """

    async def add_job(self, job: Job, event: Event) -> None:
        """Raises Conflict if the tenant has a job of this name."""

    async def jobs(self, tenant_id: str) -> list[Job]:
        """Ordered by name."""

    async def put_job(self, job: Job, event: Event) -> None:
        """Writes a job's name, description and status."""

    async def tenant(self, tenant_id: str) -> Tenant | None:
        """With the usage of this month and the encrypted signing keys, newest first."""

    async def put_tenant(self, tenant: Tenant, event: Event | None = None) -> None:
        """Creates a tenant or changes its name and quotas."""
