"""The scheduler's port on SQLite: claim, finish, release, expire, wait."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.instant import from_us
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import (
    Candidate,
    Caps,
    EndpointPace,
    SlowRoom,
    for_new,
    for_slow,
    full_hosts,
    pick,
)
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.outbound import Ids
from mainspring.ports.schedule import ClaimBatch, FinishReport
from mainspring.stores.cache import EndpointCache
from mainspring.stores.claim_batch import Batch, admit_all, expire_all, month_of, release_all, settle_all
from mainspring.stores.host_rates import HostRates, earliest, host_rates, paid_after, shut_to_slow
from mainspring.stores.rows import ENDPOINT_INSTANTS, RESULT_COLUMNS, endpoint_from
from mainspring.stores.sqlite.connection import SqliteConnection, instant, microseconds
from mainspring.stores.sqlite.database import POLL_S, SqliteDatabase

BODY_IN_JSON_MAX = 4_096
_ABOUT_BODY = RESULT_COLUMNS.index("body_type")


class SqliteSchedule:
    def __init__(self, database: SqliteDatabase, ids: Ids, cron: CronReader) -> None:
        self._db = database
        self._ids = ids
        self._cron = cron
        self._cache = EndpointCache()
        self._changed = asyncio.Event()
        self._seen_version = 0

    async def now(self) -> datetime:
        return self._db.clock.now()

    def wake(self) -> None:
        """Tell a waiting scheduler of this process that a schedule moved."""
        self._changed.set()

    async def claim_due(
        self, worker: str, limit: int, lease_margin_ms: int, caps: Caps, slow: SlowRoom | None = None
    ) -> ClaimBatch:
        """One transaction, begun only when something is due. See `ScheduleStore.claim_due`."""

        def work(db: SqliteConnection) -> tuple[ClaimBatch, dict[str, int], list[Endpoint]]:
            now = self._db.clock.now()
            rates = _rates(db, caps, now)
            picked, more = self._pick(db, now, limit, caps, slow, rates)
            endpoints = self._endpoints(db, picked)
            held = {tenant_id: tenant(db, tenant_id, now) for tenant_id in {each.tenant_id for each in endpoints}}
            claims, rows, started = admit_all(
                endpoints, held, now, worker, lease_margin_ms, self._ids, self._cron, microseconds
            )
            for tenant_id, runs in started.items():
                db.run("count_usage", tenant_id, month_of(now), worker, runs)
            write_batch(db, rows, now, worker)
            if caps.has_rates:
                for host, paid_until in paid_after(caps, claims, rates.paid, now).items():
                    db.later("pay_starts", host, paid_until)
            return ClaimBatch(now, now, tuple(claims), rates.opens_at, more), picked, rows.endpoints

        # One `now` for both questions: what falls due between two of them would be neither due nor to come.
        now = self._db.clock.now()
        if limit <= 0 or not self._db.look(lambda db: _is_any_due(db, now)):
            return ClaimBatch(now, now, next_due_at=self._db.look(lambda db: _next_due_at(db, now)))
        batch, revisions, endpoints = await self._db.write(work)
        self._cache.keep(revisions, endpoints, written=1)
        # Only after the commit, up to which writes are queued: the claim's own leases run out too.
        upcoming = None if batch.more else self._db.look(lambda db: _next_due_at(db, batch.now))
        next_due_at = None if batch.more else earliest(upcoming, batch.next_due_at)
        return replace(batch, handed_at=self._db.clock.now(), next_due_at=next_due_at)

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        """Settled by what is known of the endpoints before the file is ours; again where it is not so any more."""
        ids = [each.claim.endpoint.id for each in batch]
        seen, known = self._cache.latest(ids)
        settled = settle_all(batch, known, self._db.clock.now(), self._cron, microseconds)

        def work(db: SqliteConnection) -> tuple[FinishReport, dict[str, int], list[Endpoint]]:
            now = self._db.clock.now()
            revisions = self._lock(db, ids)
            rows, report = settled
            if revisions != seen:
                rows, report = settle_all(batch, self._endpoints(db, revisions), now, self._cron, microseconds)
            if report.superseded:
                rows.leave_out(
                    {str(row[0]) for row in db.rows("superseded_runs", encoded(ids), encoded(report.superseded))}
                )
            write_batch(db, rows, now)
            return report, revisions, rows.endpoints

        report, revisions, endpoints = await self._db.write(work)
        self._cache.keep(revisions, endpoints, written=1)
        return report

    async def release(self, claims: Sequence[Claim]) -> None:
        def work(db: SqliteConnection) -> None:
            now = self._db.clock.now()
            locked = self.endpoints_by_id(db, [claim.endpoint.id for claim in claims])
            write_batch(db, release_all(claims, locked, now, self._cron, microseconds), now)

        await self._db.write(work)
        self.wake()

    async def expire_hints(self, limit: int) -> int:
        def work(db: SqliteConnection) -> int:
            now = self._db.clock.now()
            locked = self.endpoints_by_id(db, [str(row[0]) for row in db.rows("expired_hints", now, limit)])
            write_batch(db, expire_all(locked, now, self._cron, microseconds), now)
            return len(locked)

        return await self._db.write(work)

    async def wait_for_change(self, timeout_s: float) -> bool:
        """An event within the process; across processes a look at the file's version, ten times a second."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        while (left := until - loop.time()) > 0:
            if self._changed.is_set():
                self._changed.clear()
                return True
            version = self._db.look(lambda db: db.data_version())
            if version != self._seen_version:
                self._seen_version = version
                return True
            try:
                async with asyncio.timeout(min(left, POLL_S)):
                    await self._changed.wait()
            except TimeoutError:
                continue
        return False

    def endpoints_by_id(self, db: SqliteConnection, ids: Sequence[str]) -> list[Endpoint]:
        """Endpoints as they are, in the caller's transaction."""
        return self._endpoints(db, self._lock(db, ids))

    def _pick(
        self, db: SqliteConnection, now: datetime, limit: int, caps: Caps, slow: SlowRoom | None, rates: HostRates
    ) -> tuple[dict[str, int], bool]:
        """Who gets the free places, at which revision they are, and whether somebody due was left out."""
        looked: list[tuple[Any, ...]] = db.rows("busy", now)
        busy = {(tenant, host): count for tenant, host, count, _ in looked}
        slow_busy: Counter[str] = Counter()
        for tenant, _, _, count in looked:
            slow_busy[tenant] += count
        full = encoded([*full_hosts(busy, caps), *rates.shut, *shut_to_slow(slow)])
        due: list[tuple[Any, ...]] = []
        for (tenant_id,) in db.rows("due_tenants", now):
            pace_max = (
                EndpointPace.SLOW if slow is None else min(slow.pace_max, _pace_max(slow_busy[str(tenant_id)], caps))
            )
            due.extend(db.rows("due", tenant_id, now, full, int(pace_max), limit))
        candidates = [Candidate(*row[:5]) for row in due]  # instants as integers
        picked = pick(candidates, busy, caps, limit, slow, slow_busy, rates.starts_left(caps, now))
        revisions = {row[0]: row[5] for row in due}
        more = bool(picked) and (len(picked) == limit or len(picked) < len(due))
        return {each: revisions[each] for each in picked}, more

    def _lock(self, db: SqliteConnection, ids: Sequence[str]) -> dict[str, int]:
        """At which revisions these endpoints are, and stay as long as the file is ours."""
        return dict(db.rows("revisions", encoded(ids)))  # type: ignore[arg-type]  # columns

    def _endpoints(self, db: SqliteConnection, revisions: dict[str, int]) -> list[Endpoint]:
        endpoints, unknown = self._cache.known(revisions)
        if unknown:
            endpoints.extend(endpoint_row(row) for row in db.rows("endpoints_by_id", encoded(unknown)))
        return endpoints


def _pace_max(not_quick: int, caps: Caps) -> EndpointPace:
    """The slowest pace that the shares of a tenant's cap still let start."""
    return SlowRoom(for_slow(caps.per_tenant) - not_quick, for_new(caps.per_tenant) - not_quick).pace_max


def _rates(db: SqliteConnection, caps: Caps, now: datetime) -> HostRates:
    """What rates leave to hosts; without any, the database is not asked."""
    if not caps.has_rates:
        return HostRates({})
    return host_rates(caps, {str(host): from_us(at) for host, at in db.rows("host_rates", now)}, now)  # type: ignore[arg-type]  # INTEGER


def _is_any_due(db: SqliteConnection, now: datetime) -> bool:
    return db.value("any_due", now) is not None


def _next_due_at(db: SqliteConnection, now: datetime) -> datetime | None:
    times = [db.value("next_claimable", now), db.value("next_hint_expiry")]
    return instant(min((at for at in times if at is not None), default=None))  # type: ignore[type-var]  # INTEGER


def encoded(values: Sequence[object]) -> str:
    """A list as JSON, which SQLite takes as one parameter and reads as a table."""
    return msgspec.json.encode(values).decode()


def endpoint_row(row: tuple[object, ...]) -> Endpoint:
    values = list(row)
    for index in ENDPOINT_INSTANTS:
        values[index] = instant(values[index])
    return endpoint_from(values)


def tenant(db: SqliteConnection, tenant_id: str, now: datetime) -> Tenant:
    (row,) = db.rows("tenant", month_of(now), tenant_id)
    keys = tuple(str(key) for (key,) in db.rows("sealed_signing_keys", tenant_id))
    return Tenant(*row, keys)  # type: ignore[arg-type, call-arg]  # columns


def write_batch(db: SqliteConnection, batch: Batch, now: datetime, worker: str = "") -> None:
    for tenant_id, run_id, status, error in batch.closed:
        db.later("close_run", status, error, now, tenant_id, run_id)
    for state in batch.states:
        db.later("write_states", *state)
    for run in batch.runs:
        db.later("add_run", *run)
    if batch.leases:
        db.later("write_leases", worker, encoded(batch.leases))
        db.later("open_runs", now, encoded([row[-1] for row in batch.leases]))
    if batch.outcomes:
        db.later("write_outcomes", encoded(batch.outcomes))
    if batch.results:
        _write_results(db, batch.results)
    for row in batch.event_rows():
        db.later("insert_events", *row)


def _write_results(db: SqliteConnection, results: Sequence[tuple[object, ...]]) -> None:
    rows = []
    long_bodies = []
    for row in results:
        *result, body = row
        if isinstance(body, bytes) and len(body) > BODY_IN_JSON_MAX:
            long_bodies.append((*result[_ABOUT_BODY:], body, row[1], row[0]))
            body = None
        rows.append((*result, body.hex() if isinstance(body, bytes) else None))
    db.later("write_results", encoded(rows))
    for long_body in long_bodies:
        db.later("add_body", *long_body)
