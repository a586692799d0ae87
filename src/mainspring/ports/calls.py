"""The port of calls: endpoints with a single run that a program requested."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint, JobStatus
from mainspring.domain.event import Event

CallState = Literal["waiting", "done", "cancelled"]
# The calls to add as stored, by the status of their job and the number of stored calls; raises to refuse them.
JoinCalls = Callable[[list[Endpoint], JobStatus, int], list[Endpoint]]


class CallFilter(Struct, frozen=True):
    state: CallState | None = None
    before_id: str | None = None  # start of the page: older than this call
    limit: int = 100


class CallStore(Protocol):
    async def add_calls(self, calls: Sequence[Endpoint], event: Event, join: JoinCalls) -> dict[str, Endpoint]:
        """Store calls of one tenant and one job, all or none; return those whose keys were taken, by key.

        Calls with a stored key are left out, even if two requests have it at the same time. The event is
        written with the number of new calls, and not if all were known.
        """

    async def call(self, tenant_id: str, key_or_id: str) -> Endpoint | None: ...

    async def calls(self, tenant_id: str, wanted: CallFilter) -> list[Endpoint]:
        """Newest first."""
