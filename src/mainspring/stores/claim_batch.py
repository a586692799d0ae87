"""Apply the domain's functions to a batch of locked rows: the part of a claim and a finish that both databases share.

An exception while one endpoint is admitted or settled is recorded on that endpoint, which is postponed; the others
continue.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import RunStatus
from mainspring.domain.schedule.anchor import push_ahead
from mainspring.domain.schedule.changes import Change, expire_hints
from mainspring.domain.schedule.claim import Claim, Claimant, Closing, Transition, admit, end_lost, give_back
from mainspring.domain.schedule.finish import Finished, settle
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.schedule.maintenance import WindowSpan
from mainspring.failpoints import is_on
from mainspring.ports.outbound import Ids
from mainspring.ports.schedule import FinishReport
from mainspring.stores.rows import (
    Codec,
    as_it_is,
    event_rows,
    lease_values,
    outcome_values,
    result_values,
    run_values,
    state_values,
)

Row = tuple[object, ...]
NO_WINDOWS: Mapping[str, tuple[WindowSpan, ...]] = {}
USAGE_KEPT = timedelta(days=400)  # a year of months


@dataclass(slots=True)
class Batch:
    """Rows to write, each in the order of its shared column list; rows about an endpoint end with its id."""

    codec: Codec
    leases: list[Row] = field(default_factory=list)
    outcomes: list[Row] = field(default_factory=list)
    states: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)
    results: list[Row] = field(default_factory=list)
    closed: list[tuple[str, str, str, str]] = field(default_factory=list)  # tenant, run, status, error
    marked: list[tuple[str, str, str]] = field(default_factory=list)  # maintenance, tenant, run
    events: list[Event] = field(default_factory=list)
    endpoints: list[Endpoint] = field(default_factory=list)  # as of after the write

    @property
    def is_plain(self) -> bool:
        """Whether the claim writes nothing but leases."""
        return not (self.states or self.runs or self.closed)

    def leave_out(self, told: Collection[str]) -> None:
        """Superseded results that an earlier write recorded, whose response was lost, are not reported again."""
        self.events = [event for event in self.events if event.run_id not in told]

    def add_state(self, endpoint: Endpoint) -> None:
        self.endpoints.append(endpoint)
        self.states.append((*state_values(endpoint, self.codec), endpoint.id))

    def event_rows(self) -> list[Row]:
        return event_rows(self.events, self.codec)


def admit_all(
    endpoints: Iterable[Endpoint],
    tenants: Mapping[str, Tenant],
    now: datetime,
    worker: str,
    lease_margin_ms: int,
    ids: Ids,
    cron: CronReader,
    codec: Codec = as_it_is,
    windows: Mapping[str, tuple[WindowSpan, ...]] = NO_WINDOWS,
) -> tuple[list[Claim], Batch, Counter[str]]:
    """The claims, the rows they write, and the number of runs per tenant. `windows` are open now, by tenant."""
    started: Counter[str] = Counter()
    claims: list[Claim] = []
    batch = Batch(codec)
    for endpoint in endpoints:
        tenant = tenants[endpoint.tenant_id]
        quota = tenant.runs_per_month
        over_quota = quota is not None and tenant.runs_this_month + started[tenant.id] >= quota
        by = Claimant(
            worker, lease_margin_ms, ids.new("run", now), tenant.signing_keys, over_quota, windows.get(tenant.id, ())
        )
        try:
            transition = admit(endpoint, now, by, cron)
        except Exception as fault:  # an exception of one endpoint concerns only that endpoint
            transition = faulty(endpoint, now, fault)
        if transition.claim is not None:
            started[tenant.id] += endpoint.waiting is None  # an accepted run was counted when it started
            claims.append(transition.claim)
        _add_transition(batch, endpoint, transition)
    return claims, batch, started


def settle_all(
    batch: Sequence[Finished],
    locked: Iterable[Endpoint],
    now: datetime,
    cron: CronReader,
    codec: Codec = as_it_is,
    windows: Mapping[str, tuple[WindowSpan, ...]] = NO_WINDOWS,
) -> tuple[Batch, FinishReport]:
    """`windows` were open at any time since the first of the runs started, by tenant."""
    current = {endpoint.id: endpoint for endpoint in locked}
    rows = Batch(codec)
    recorded: list[str] = []
    superseded: list[str] = []
    next_due_at: datetime | None = None
    fenced = not is_on("no_fence")
    for finished in batch:
        claim = finished.claim
        old = current.get(claim.endpoint.id)
        open_ = windows.get(claim.endpoint.tenant_id, ()) if windows else ()
        settlement = settle(old, finished, now, cron, windows=open_, fenced=fenced)
        new = settlement.endpoint
        (recorded if settlement.is_repeat or new is not None else superseded).append(claim.run_id)
        if settlement.is_repeat:
            continue
        if new is not None and old is not None:
            current[new.id] = new
            _add_settled(rows, old, new)
            due = new.manual_at or new.next_run_at
            if due is not None and (next_due_at is None or due < next_due_at):
                next_due_at = due
        if settlement.maintenance:
            rows.marked.append((settlement.maintenance, claim.endpoint.tenant_id, claim.run_id))
        rows.results.append(result_values(claim, settlement.status, finished, codec))
        rows.events.extend(settlement.events)
    return rows, FinishReport(tuple(recorded), tuple(superseded), next_due_at)


def release_all(
    claims: Sequence[Claim], locked: Iterable[Endpoint], now: datetime, cron: CronReader, codec: Codec = as_it_is
) -> Batch:
    """Runs that a worker gives back, if they still belong to it."""
    running = {claim.run_id for claim in claims}
    held = [each for each in locked if each.is_running and each.run_id in running]
    return give_back_all(held, now, cron, codec)


def give_back_all(leased: Sequence[Endpoint], now: datetime, cron: CronReader, codec: Codec = as_it_is) -> Batch:
    """Runs of a worker that shuts down."""
    rows = Batch(codec)
    for endpoint in leased:
        _add_ended(rows, endpoint, now, partial(give_back, now=now, cron=cron))
    return rows


def end_lost_all(leased: Sequence[Endpoint], now: datetime, cron: CronReader, codec: Codec = as_it_is) -> Batch:
    """Runs of workers that died at the same time."""
    rows = Batch(codec)
    lost_counts = sorted(endpoint.lost_count for endpoint in leased)
    for endpoint in leased:
        together = len(leased) - bisect_left(lost_counts, endpoint.lost_count)
        _add_ended(rows, endpoint, now, partial(end_lost, now=now, together=together, cron=cron))
    return rows


def expire_all(locked: Iterable[Endpoint], now: datetime, cron: CronReader, codec: Codec = as_it_is) -> Batch:
    rows = Batch(codec)
    for endpoint in locked:
        change: Change | Transition
        try:
            change = expire_hints(endpoint, now, cron)
        except Exception as fault:  # an exception of one endpoint concerns only that endpoint
            change = faulty(replace(endpoint, interval_hint=None, one_shot_hint=None), now, fault)
            if (closed := change.closed) is not None:
                rows.closed.append((endpoint.tenant_id, closed.run_id, closed.status, closed.error))
        rows.add_state(change.endpoint)
        rows.events.extend(change.events)
    return rows


def faulty(endpoint: Endpoint, now: datetime, fault: Exception) -> Transition:
    """Postponed without its lease and its requested run, which would make it due again at once."""
    text = f"{type(fault).__name__}: {fault}"[:500]
    event = Event(EventType.ENDPOINT_FAULTY, now, endpoint.tenant_id, endpoint.id, "", "system", {"fault": text})
    closed = Closing(endpoint.run_id, RunStatus.ABANDONED, text) if endpoint.is_running else None
    idle = replace(endpoint, lease_until=None, slot_at=None, manual_at=None, claim_epoch=endpoint.claim_epoch + 1)
    return Transition(push_ahead(idle, now, text), closed=closed, events=(event,))


def _add_ended(batch: Batch, endpoint: Endpoint, now: datetime, end: Callable[[Endpoint], Transition]) -> None:
    try:
        transition = end(endpoint)
    except Exception as fault:  # an exception of one endpoint concerns only that endpoint
        transition = faulty(endpoint, now, fault)
    _add_transition(batch, endpoint, transition)


def month_of(now: datetime) -> str:
    return now.strftime("%Y-%m")


def _add_transition(batch: Batch, old: Endpoint, transition: Transition) -> None:
    new = transition.endpoint
    if transition.opened is not None and new == replace(
        old,
        slot_at=new.slot_at,
        trigger=new.trigger,
        attempt=new.attempt,
        claim_epoch=old.claim_epoch + 1,
        lease_until=new.lease_until,
        claimed_by=new.claimed_by,
        run_id=new.run_id,
    ):
        batch.endpoints.append(new)
        batch.leases.append((*lease_values(new, batch.codec), new.id))  # its run row is made from the leased row
    else:
        batch.add_state(new)
        if transition.opened is not None:
            batch.runs.append(run_values(transition.opened, batch.codec))
    if transition.missed is not None:
        batch.runs.append(run_values(transition.missed, batch.codec))
    batch.events.extend(transition.events)
    if (closed := transition.closed) is not None:
        batch.closed.append((old.tenant_id, closed.run_id, closed.status, closed.error))


def _add_settled(batch: Batch, old: Endpoint, new: Endpoint) -> None:
    if new == replace(
        old,
        failure_count=new.failure_count,
        anchor_at=new.anchor_at,
        next_run_at=new.next_run_at,
        source=new.source,
        trail=new.trail,
        slot_at=new.slot_at,
        lease_until=new.lease_until,
        lost_count=new.lost_count,
        last_run_at=new.last_run_at,
        last_status=new.last_status,
        last_duration_ms=new.last_duration_ms,
    ):
        batch.endpoints.append(new)
        batch.outcomes.append((*outcome_values(new, batch.codec), new.id))
    else:
        batch.add_state(new)
