"""Ports of runs and events, of lists and overviews, and of responses stored for repeated requests."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, StoredEvent
from mainspring.domain.health import RunResult
from mainspring.domain.run import Body, Outcome, Run
from mainspring.domain.templates import PastRun
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
    """The record of runs and events."""

    async def run(self, tenant_id: str, run_id: str) -> Run | None: ...

    async def runs(self, tenant_id: str, wanted: RunFilter) -> list[Run]:
        """Newest first, without bodies."""

    async def body(self, tenant_id: str, run_id: str) -> Body | None: ...

    async def past_runs(
        self, tenant_id: str, endpoint_id: str, before: datetime, wanted: Collection[str]
    ) -> dict[str, PastRun]:
        """Of `previous` and `last_success`, the wanted ones that exist: the newest call of an earlier slot than
        `before`,         and the newest that succeeded. Only the last 200 runs are searched, without test runs.
        """

    async def add_test_run(self, run: Run, outcome: Outcome, events: Sequence[Event]) -> None:
        """Records a run that changes no schedule state."""

    async def events_after(self, cursor: str, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        """Events in order, after `cursor` ("" is the beginning); none is ever skipped."""

    async def latest_events(self, tenant_id: str | None, limit: int) -> list[StoredEvent]:
        """The newest `limit` events, in order; `events_after` continues from the last one's cursor."""

    async def last_place(self) -> str:
        """The position of the newest event that may exist, readable yet or not; a later cursor is from another
        database.

        A position is a cursor without the index after its colon.
        """

    async def add_events(self, events: Sequence[Event]) -> None: ...

    async def add_signing_key(self, tenant_id: str, key_id: str, sealed: str, event: Event) -> None:
        """Makes this the newest key; older ones keep signing as well until they are revoked."""

    async def revoke_signing_key(self, tenant_id: str, key_id: str, event: Event) -> bool: ...

    async def signing_keys(self, tenant_id: str) -> list[tuple[str, datetime]]:
        """Ids and ages of live keys, newest first; never the keys."""


class ListStore(Protocol):
    """Reads for lists and overviews, within one tenant. They read only what is shown."""

    async def endpoints(self, tenant_id: str, wanted: EndpointListFilter) -> list[Endpoint]:
        """Ordered by name and id, or by `order`."""

    async def runs(self, tenant_id: str, wanted: RunListFilter) -> RunPage:
        """Newest first, or `oldest_first`; without bodies, trails and details."""

    async def total(
        self, tenant_id: str, wanted: EndpointListFilter | RunListFilter | ExecutionFilter | DeliveryFilter
    ) -> Total:
        """The size of a list, regardless of its page. Counting stops at 10,000, and after 20,000 rows read."""

    async def recent(self, tenant_id: str, endpoint_ids: Sequence[str], limit: int) -> dict[str, list[RunMark]]:
        """The results of the newest runs of each of these, newest first; endpoints without runs are left out."""

    async def results(self, tenant_id: str, endpoint_id: str, since: datetime) -> list[RunResult]:
        """The results of the runs of an endpoint since then, without test runs, newest first."""

    async def count_states(self, tenant_id: str, late_before: datetime) -> list[StateCount]: ...

    async def count_runs(self, tenant_id: str, since: datetime, hours: int) -> list[Mapping[str, int]]:
        """For each hour from `since` on: how many runs started, by status."""

    async def upcoming(self, tenant_id: str, limit: int) -> list[Endpoint]:
        """Endpoints that wait for their time, soonest first."""

    async def names(self, tenant_id: str, endpoint_ids: Sequence[str]) -> dict[str, str]:
        """By id, including archived ones; deleted ones are left out."""


class IdempotencyStore(Protocol):
    """Responses stored under the idempotency keys of requests, so that a repeated request has no second effect."""

    async def claim(
        self, tenant_id: str, actor: str, key: str, request: str, work_ms: int, keep_ms: int
    ) -> tuple[str, str | None] | None:
        """None: the caller owns the key for `work_ms` and does the work. Otherwise the request that owns it, with its
        response if finished.

        Removes entries older than their `keep_ms`.
        """

    async def keep(self, tenant_id: str, actor: str, key: str, request: str, answer: str) -> None:
        """Stores the response to the request that claimed the key; no effect for any other."""

    async def release(self, tenant_id: str, actor: str, key: str, request: str) -> None:
        """Frees the key because the request was refused. No effect for any other request, and after `keep`."""
