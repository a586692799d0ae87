"""Small values to build a schedule from, and a clock that stands still."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from msgspec.structs import replace
from tests.harness.waiting import until_true

from mainspring.domain.endpoint import Endpoint, Job, JobStatus
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import Body, HttpAction, Outcome, Run, RunStatus
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Act
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.fairness import Caps
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.governor import BASELINE_INTERVAL
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.ports.schedule import ClaimBatch
from mainspring.ports.stores import Stores

START = datetime(2025, 1, 1, tzinfo=UTC)
CAPS = Caps(per_tenant=1000, per_host=1000)
LEASE_MARGIN_MS = 30_000
_numbers = count(1)


@dataclass
class FixedClock:
    at: datetime = field(default=START)

    def now(self) -> datetime:
        return self.at

    def tick(self, **span: float) -> None:
        self.at += timedelta(**span)


def an_endpoint(name: str = "", **fields: object) -> Endpoint:
    """An endpoint that is due at START, every minute, unless told otherwise."""
    number = next(_numbers)
    endpoint = Endpoint(
        name or f"endpoint {number}", HttpAction(url="http://127.0.0.1:9/"), id=f"ep_{number:08d}", tenant_id="default",
        job="job_default", job_id="job_default", host="127.0.0.1:9", interval_ms=60_000, spread=False, created_at=START,
        updated_at=START, anchor_at=START - timedelta(minutes=1), next_run_at=START, source=BASELINE_INTERVAL,
    )  # fmt: skip
    if "cron" in fields and fields["cron"] is not None:
        endpoint = replace(endpoint, interval_ms=None, source="baseline-cron")
    if "job_id" in fields:
        fields.setdefault("job", fields["job_id"])  # `add` names a job by its id
    return replace(endpoint, **fields)


async def add(stores: Stores, *endpoints: Endpoint) -> None:
    """Store endpoints with the jobs they name."""
    for endpoint in endpoints:
        known = {job.id for job in await stores.endpoints.jobs(endpoint.tenant_id)}
        if endpoint.job_id not in known:
            job = Job(endpoint.job_id, endpoint.tenant_id, endpoint.job_id, "", JobStatus.ACTIVE, START, START)
            await stores.endpoints.add_job(job, Event(EventType.JOB_CREATED, START, endpoint.tenant_id))
        event = Event(EventType.ENDPOINT_CREATED, START, endpoint.tenant_id, endpoint.id)
        await stores.endpoints.add_endpoint(endpoint, event)


async def claim(stores: Stores, limit: int = 100, worker: str = "worker-1", caps: Caps = CAPS) -> ClaimBatch:
    return await stores.schedule.claim_due(worker, limit, LEASE_MARGIN_MS, caps)


async def get(stores: Stores, endpoint: Endpoint) -> Endpoint:
    found = await stores.endpoints.endpoint(endpoint.tenant_id, endpoint.id)
    assert found is not None
    return found


async def get_run(stores: Stores, claim: Claim) -> Run:
    found = await stores.runs.run(claim.endpoint.tenant_id, claim.run_id)
    assert found is not None
    return found


async def change(stores: Stores, endpoint: Endpoint, act: Act) -> Endpoint:
    (changed,) = await stores.endpoints.change_endpoints(endpoint.tenant_id, [endpoint.id], act)
    return changed.endpoint


def edited(**fields: object) -> Act:
    return lambda old, now: changes.edit(old, replace(old, **fields), now, "tester", CRON)


def hinted(interval_ms: int, ttl: timedelta = timedelta(hours=1)) -> Act:
    return lambda old, now: changes.put_interval_hint(old, IntervalHint(interval_ms, now + ttl), now, CRON)


def hinted_once(after: timedelta, ttl: timedelta = timedelta(hours=1)) -> Act:
    return lambda old, now: changes.put_one_shot_hint(old, OneShotHint(now + after, now + ttl), now, CRON)


def archived() -> Act:
    return lambda old, now: changes.archive(old, now, "tester")


def requested() -> Act:
    return lambda old, now: changes.request_run(old, now, "tester", CRON)


async def told(stores: Stores, tenant_id: str | None = None) -> list[Event]:
    """Every event so far. PostgreSQL holds back what a writer that has not ended could still come before: so the last
    event is our own, and when it can be read, everything before it can.
    """
    mark = Event(EventType.SCHEDULE_LATE, START, "mark", data={"number": next(_numbers)})
    await stores.runs.add_events([mark])

    async def is_marked() -> bool:
        return mark in [stored.event for stored in await stores.runs.latest_events("mark", 1)]

    await until_true(is_marked, "the mark among the latest events")
    stored = await stores.runs.events_after("", tenant_id, 10_000)
    return [each.event for each in stored if each.event.tenant_id != "mark"]


def kinds(events: list[Event]) -> list[str]:
    return [event.type.value for event in events]


def an_outcome(status: RunStatus = RunStatus.SUCCESS, **fields: object) -> Outcome:
    code = {RunStatus.SUCCESS: 200, RunStatus.FAILURE: 500}.get(status)
    body = Body(b'{"ok":true}', "application/json", False, 11)
    return replace(Outcome(status, 12, code, body=body), **fields)


def finished(
    claim: Claim, outcome: Outcome | None = None, started_at: datetime | None = None, took_ms: int = 12
) -> Finished:
    started = started_at or claim.claimed_at
    return Finished(claim, outcome or an_outcome(), started, started + timedelta(milliseconds=took_ms))


async def run_slot(
    stores: Stores, clock: FixedClock, outcome: Outcome | None = None, took_ms: int = 12
) -> tuple[Claim, ...]:
    """Claim what is due, let it take its time, record how it ended."""
    batch = await claim(stores)
    clock.tick(milliseconds=took_ms)
    if batch.claims:
        await stores.schedule.finish([finished(each, outcome, took_ms=took_ms) for each in batch.claims])
    return batch.claims
