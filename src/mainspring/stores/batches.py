"""Apply the domain's functions to a batch of locked rows: what both databases share of a claim and a finish.

Whatever throws while one endpoint is admitted or settled is recorded on that endpoint, which is pushed ahead; the
others go on.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from mainspring.domain.changes import Change, expire_hints
from mainspring.domain.claiming import Claim, Claimant, Transition, admit
from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.event import Event, EventType
from mainspring.domain.governor import CronReader
from mainspring.domain.planning import push_ahead
from mainspring.domain.settling import Finished, settle
from mainspring.failpoints import is_on
from mainspring.ports import FinishReport, Ids
from mainspring.stores.rows import event_values, result_values, run_values, state_values

Row = tuple[object, ...]


def admit_all(
    endpoints: Iterable[Endpoint],
    tenants: Mapping[str, Tenant],
    now: datetime,
    worker: str,
    lease_margin_ms: int,
    ids: Ids,
    cron: CronReader,
) -> tuple[list[Transition], Counter[str]]:
    """The transitions, and how many runs each tenant starts."""
    started: Counter[str] = Counter()
    transitions: list[Transition] = []
    for endpoint in endpoints:
        tenant = tenants[endpoint.tenant_id]
        used = tenant.runs_this_month + started[tenant.id]
        by = Claimant(
            worker,
            lease_margin_ms,
            ids.new("run", now),
            ids.new("run", now),
            tenant.signing_keys,
            over_quota=tenant.runs_per_month is not None and used >= tenant.runs_per_month,
        )
        try:
            transition = admit(endpoint, now, by, cron)
        except Exception as fault:  # whatever one endpoint throws is that endpoint's alone
            transition = faulty(endpoint, now, fault)
        if transition.claim is not None:
            started[tenant.id] += 1
        transitions.append(transition)
    return transitions, started


def faulty(endpoint: Endpoint, now: datetime, fault: Exception) -> Transition:
    text = f"{type(fault).__name__}: {fault}"[:500]
    event = Event(EventType.ENDPOINT_FAULTY, now, endpoint.tenant_id, endpoint.id, "", "system", {"fault": text})
    return Transition(push_ahead(endpoint, now, text), events=(event,))


@dataclass(slots=True)
class Batch:
    """Rows to write, in the order of the shared column lists; a state ends with its id and the epoch it was read at."""

    states: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)
    results: list[Row] = field(default_factory=list)
    closed: list[tuple[str, str, str, str]] = field(default_factory=list)  # tenant, run, status, error
    events: list[Row] = field(default_factory=list)


def claimed(before: Sequence[Endpoint], transitions: Sequence[Transition]) -> Batch:
    batch = Batch()
    for old, each in zip(before, transitions, strict=True):
        batch.states.append((*state_values(each.endpoint), old.id, old.claim_epoch))
        batch.runs.extend(run_values(run) for run in (each.missed, each.opened) if run is not None)
        batch.events.extend(event_values(event) for event in each.events)
        if (closed := each.closed) is not None:
            batch.closed.append((old.tenant_id, closed.run_id, closed.status.value, closed.error))
    return batch


def settle_all(
    batch: Sequence[Finished], locked: Iterable[Endpoint], now: datetime, cron: CronReader
) -> tuple[Batch, FinishReport]:
    current = {endpoint.id: endpoint for endpoint in locked}
    rows = Batch()
    recorded: list[str] = []
    superseded: list[str] = []
    due: list[datetime] = []
    fenced = not is_on("no_fence")
    for finished in batch:
        claim = finished.claim
        old = current.get(claim.endpoint.id)
        settlement = settle(old, finished, now, cron, fenced=fenced)
        new = settlement.endpoint
        (recorded if settlement.is_repeat or new is not None else superseded).append(claim.run_id)
        if settlement.is_repeat:
            continue
        if new is not None and old is not None:
            current[new.id] = new
            rows.states.append((*state_values(new), new.id, old.claim_epoch))
            if new.next_run_at is not None:
                due.append(new.next_run_at if new.manual_at is None else now)
        rows.results.append(
            result_values(
                claim.run_id,
                claim.endpoint.tenant_id,
                settlement.status,
                finished.outcome,
                finished.started_at,
                finished.finished_at,
            )
        )
        rows.events.extend(event_values(event) for event in settlement.events)
    return rows, FinishReport(tuple(recorded), tuple(superseded), min(due, default=None))


def release_all(claims: Sequence[Claim], locked: Iterable[Endpoint], now: datetime) -> Batch:
    """Slots given back: due at once, the same slot, another attempt; the epoch moves on so that nothing comes late."""
    held = {endpoint.id: endpoint for endpoint in locked}
    rows = Batch()
    for claim in claims:
        endpoint = held.get(claim.endpoint.id)
        if endpoint is None or endpoint.claim_epoch != claim.epoch or not endpoint.is_running:
            continue
        freed = replace(endpoint, lease_until=None, claimed_by="", next_run_at=now, claim_epoch=claim.epoch + 1)
        rows.states.append((*state_values(freed), endpoint.id, claim.epoch))
        rows.closed.append((endpoint.tenant_id, claim.run_id, "abandoned", "its worker shut down; the slot runs again"))
    return rows


def expire_all(locked: Sequence[Endpoint], now: datetime, cron: CronReader) -> Batch:
    rows = Batch()
    for endpoint in locked:
        change: Change | Transition
        try:
            change = expire_hints(endpoint, now, cron)
        except Exception as fault:  # whatever one endpoint throws is that endpoint's alone
            change = faulty(replace(endpoint, interval_hint=None, one_shot_hint=None), now, fault)
        rows.states.append((*state_values(change.endpoint), endpoint.id, endpoint.claim_epoch))
        rows.events.extend(event_values(event) for event in change.events)
    return rows


def month_of(now: datetime) -> str:
    return now.strftime("%Y-%m")
