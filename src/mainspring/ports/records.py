"""The record of what happened, the reads of lists and overviews, and answers kept for requests sent again."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, StoredEvent
from mainspring.domain.health import RunResult
from mainspring.domain.run import Body, Outcome, Run
from mainspring.ports.filters import (
    EndpointListFilter,
    RunListFilter,
    RunMark,
    RunPage,
    StateCount,
    StatusFilter,
    Total,
)
from mainspring.ports.notifications import DeliveryFilter
from mainspring.ports.workflows import ExecutionFilter


class RunFilter(Struct, frozen=True):
    endpoint_id: str | None = None
    status: StatusFilter | None = None
    before_id: str | None = None
    limit: int = 50


class RunStore(Protocol):
    """The record of what happened."""

    async def run(self, tenant_id: str, run_id: str) -> Run | None: ...

    async def runs(self, tenant_id: str, wanted: RunFilter) -> list[Run]:
        """Newest first; bodies are not read."""

    async def body(self, tenant_id: str, run_id: str) -> Body | None: ...

    async def add_test_run(self, run: Run, outcome: Outcome, events: Sequence[Event]) -> None:
        """Record a run that changes no schedule state."""

    async def events_after(self, cursor: str, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        """Events in their order, from just after `cursor` ("" is the beginning); none is ever skipped."""

    async def latest_events(self, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        """The newest `limit` events, in their order; the last one's cursor goes into `events_after` to read on."""

    async def last_place(self) -> str:
        """The place of the newest event that may exist, readable yet or not; a cursor beyond it is of another database.

        A place is a cursor without the index after its colon.
        """

    async def add_events(self, events: Sequence[Event]) -> None: ...

    async def add_signing_key(self, tenant_id: str, key_id: str, sealed: str, event: Event) -> None:
        """Make this the newest key; older ones keep signing beside it until they are revoked."""

    async def revoke_signing_key(self, tenant_id: str, key_id: str, event: Event) -> bool: ...

    async def signing_keys(self, tenant_id: str) -> list[tuple[str, datetime]]:
        """Ids and ages of live keys, newest first; never the keys."""


class ListStore(Protocol):
    """Reads for lists and overviews, within one tenant. None of them reads what it does not show."""

    async def endpoints(self, tenant_id: str, wanted: EndpointListFilter) -> list[Endpoint]:
        """Ordered by name and id, or as `order` says."""

    async def runs(self, tenant_id: str, wanted: RunListFilter) -> RunPage:
        """Newest first, or `oldest_first`; without bodies, trails and details."""

    async def total(
        self, tenant_id: str, wanted: EndpointListFilter | RunListFilter | ExecutionFilter | DeliveryFilter
    ) -> Total:
        """How many a list has, wherever its page begins. Counting stops at 10,000, and after 20,000 looked at."""

    async def recent(self, tenant_id: str, endpoint_ids: Sequence[str], limit: int) -> dict[str, list[RunMark]]:
        """How the newest runs of each of these ended, newest first; who has none is left out."""

    async def results(self, tenant_id: str, endpoint_id: str, since: datetime) -> list[RunResult]:
        """How the runs of an endpoint since then ended, test runs left out, newest first."""

    async def count_states(self, tenant_id: str, late_before: datetime) -> list[StateCount]: ...

    async def count_runs(self, tenant_id: str, since: datetime, hours: int) -> list[Mapping[str, int]]:
        """For each hour from `since` on: how many runs began in it, by their status."""

    async def upcoming(self, tenant_id: str, limit: int) -> list[Endpoint]:
        """Those that wait for their time, soonest first."""

    async def names(self, tenant_id: str, endpoint_ids: Sequence[str]) -> dict[str, str]:
        """By id, archived ones included; what was deleted is left out."""


class IdempotencyStore(Protocol):
    """Answers kept under the keys that requests bring with them, so that a request sent again is not done again."""

    async def claim(
        self, tenant_id: str, actor: str, key: str, request: str, work_ms: int, keep_ms: int
    ) -> tuple[str, str | None] | None:
        """None: the key is mine for `work_ms`; do the work. Else the request that has it, and its answer if it ended.

        What is older than its `keep_ms` is forgotten on the way.
        """

    async def keep(self, tenant_id: str, actor: str, key: str, request: str, answer: str) -> None:
        """The answer to the request that claimed the key; without effect for any other."""

    async def release(self, tenant_id: str, actor: str, key: str, request: str) -> None:
        """Free the key: what was asked was refused. Without effect for any other request, and after `keep`."""
