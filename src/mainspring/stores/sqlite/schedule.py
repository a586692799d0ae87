"""The scheduler's port on SQLite: claim, finish, release, expire, wait."""

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.instant import from_us
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import Candidate, Caps, EndpointPace, SlowRoom, for_new, for_slow, pick
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.outbound import Ids
from mainspring.ports.schedule import ClaimBatch, FinishReport
from mainspring.stores.cache import EndpointCache
from mainspring.stores.claim_batch import Batch, admit_all, expire_all, give_back_all, month_of, release_all, settle_all
from mainspring.stores.due_windows import DueWindows, Place, look_again_at, window_size
from mainspring.stores.endpoints import read_tenants
from mainspring.stores.host_rates import HostRates, earliest, host_rates, paid_after, shut_to_slow
from mainspring.stores.maintenance import MaintenanceCache
from mainspring.stores.rows import ENDPOINT_INSTANTS, RESULT_COLUMNS, endpoint_from
from mainspring.stores.sqlite.connection import SqliteConnection, instant, microseconds
from mainspring.stores.sqlite.database import POLL_S, SqliteDatabase
from mainspring.stores.sqlite.session import SqliteSession, finish

BODY_IN_JSON_MAX = 4_096
_ABOUT_BODY = RESULT_COLUMNS.index("body_type")


class _Picked(NamedTuple):
    """The endpoints to claim and their revisions, whether one that could start was left out, whether more are due than
    were read, and whether any of those that were read has to wait.
    """

    revisions: dict[str, int]
    more: bool
    is_backlog: bool
    is_waiting: bool


class SqliteSchedule:
    breaks = 0  # a file has no connection that could break
    pace_s = 0.0  # a look costs microseconds, and writes that wait for the file share a transaction

    def __init__(self, database: SqliteDatabase, ids: Ids, cron: CronReader) -> None:
        self._db = database
        self._ids = ids
        self._cron = cron
        self._cache = EndpointCache()
        self._maintenance = MaintenanceCache()
        self._windows = DueWindows()
        self._changed = asyncio.Event()
        self._seen_version = 0

    async def now(self) -> datetime:
        return self._db.clock.now()

    def wake(self) -> None:
        """Notify a waiting scheduler of this process that a schedule moved."""
        self._changed.set()

    def read_windows_again(self) -> None:
        """Notify this scheduler that maintenance windows changed."""
        self._maintenance.forget()
        self.wake()

    async def claim_due(
        self, worker: str, limit: int, lease_margin_ms: int, caps: Caps, slow: SlowRoom | None = None
    ) -> ClaimBatch:
        """One transaction, begun only if something is due. See `ScheduleStore.claim_due`."""

        def work(db: SqliteConnection) -> tuple[ClaimBatch, dict[str, int], list[Endpoint]]:
            now = self._db.clock.now()
            rates = _rates(db, caps, now)
            picked = self._pick(db, now, limit, caps, slow, rates)
            endpoints = self._endpoints(db, picked.revisions)
            held = self._tenants(db, {each.tenant_id for each in endpoints})
            finish(self._maintenance.look(SqliteSession(db, self._db.clock)))
            windows = self._maintenance.open_now(held, now, self._cron)
            claims, rows, started = admit_all(
                endpoints, held, now, worker, lease_margin_ms, self._ids, self._cron, microseconds, windows
            )
            if started:
                db.later("count_usage", month_of(now), worker, encoded(list(started.items())))
            write_batch(db, rows, now, worker)
            if caps.has_rates:
                for host, paid_until in paid_after(caps, claims, rates.paid, now).items():
                    db.later("pay_starts", host, paid_until)
            again_at = look_again_at(now, rates.opens_at, goes_on=picked.is_backlog)
            batch = ClaimBatch(now, now, tuple(claims), again_at, picked.more, picked.is_waiting)
            return batch, picked.revisions, rows.endpoints

        # One `now` for both questions: an endpoint that becomes due between two times would be neither due nor
        # upcoming.
        now = self._db.clock.now()
        if limit <= 0 or not self._db.look(lambda db: _is_any_due(db, now)):
            return ClaimBatch(now, now, next_due_at=self._db.look(lambda db: _next_due_at(db, now)))
        batch, revisions, endpoints = await self._db.write(work)
        self._cache.keep(revisions, endpoints, written=1)
        # Only after the commit, until which writes are queued: the claim's own leases expire too.
        upcoming = None if batch.more else self._db.look(lambda db: _next_due_at(db, batch.now))
        next_due_at = None if batch.more else earliest(upcoming, batch.next_due_at)
        return replace(batch, handed_at=self._db.clock.now(), next_due_at=next_due_at)

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        """Settled with the cached endpoints before the write lock is taken; settled again if they have changed."""
        ids = [each.claim.endpoint.id for each in batch]
        seen, known = self._cache.latest(ids)
        at = self._db.clock.now()
        windows = self._maintenance.open_during(batch, at, self._cron)
        settled = settle_all(batch, known, at, self._cron, microseconds, windows)

        def work(db: SqliteConnection) -> tuple[FinishReport, dict[str, int], list[Endpoint]]:
            now = self._db.clock.now()
            revisions = self._lock(db, ids)
            rows, report = settled
            if revisions != seen:
                locked = self._endpoints(db, revisions)
                rows, report = settle_all(batch, locked, now, self._cron, microseconds, windows)
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

    async def release_strays(self, worker: str, running: Collection[str]) -> int:
        def work(db: SqliteConnection) -> int:
            now = self._db.clock.now()
            leased = self.endpoints_by_id(db, [str(row[0]) for row in db.rows("leased_by", encoded((worker,)))])
            rows = give_back_all([each for each in leased if each.run_id not in running], now, self._cron, microseconds)
            write_batch(db, rows, now)
            return len(rows.endpoints)

        return await self._db.write(work)

    async def expire_hints(self, limit: int) -> int:
        def work(db: SqliteConnection) -> int:
            now = self._db.clock.now()
            locked = self.endpoints_by_id(db, [str(row[0]) for row in db.rows("expired_hints", now, limit)])
            write_batch(db, expire_all(locked, now, self._cron, microseconds), now)
            return len(locked)

        return await self._db.write(work)

    async def wait_for_change(self, timeout_s: float) -> bool:
        """An event within the process; across processes a check of the file's version, ten times a second."""
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
        """Endpoints as stored, in the caller's transaction."""
        return self._endpoints(db, self._lock(db, ids))

    def _pick(
        self, db: SqliteConnection, now: datetime, limit: int, caps: Caps, slow: SlowRoom | None, rates: HostRates
    ) -> _Picked:
        """Which endpoints get the free places, their revisions, and whether a due endpoint was left out."""
        size = window_size(limit)
        due: dict[str, tuple[Any, ...]] = {}
        ends: dict[int, Place] = {}
        for number, start in enumerate(self._windows.starts):
            rows: list[tuple[Any, ...]] = db.rows("due", now, *start, size)
            due.update({row[0]: row for row in rows})
            if len(rows) == size:
                ends[number] = Place(from_us(rows[-1][3]), rows[-1][6])
        is_backlog = self._windows.looked(now, ends)
        shut = {*rates.shut, *shut_to_slow(slow)}
        candidates = [Candidate(*row[:5]) for row in due.values() if row[2] not in shut]  # times as integers
        busy, slow_busy = _flights(db, candidates, caps, now)
        able = _able(candidates, busy, caps, limit, slow, slow_busy)
        picked = pick(able, busy, caps, limit, slow, slow_busy, rates.starts_left(caps, now))
        more = bool(picked) and (len(picked) == limit or len(picked) < len(able) or is_backlog)
        return _Picked({each: due[each][5] for each in picked}, more, is_backlog, len(due) > len(picked))

    def _tenants(self, db: SqliteConnection, ids: set[str]) -> dict[str, Tenant]:
        found = finish(read_tenants(SqliteSession(db, self._db.clock), list(ids)))
        return {tenant.id: tenant for tenant in found}

    def _lock(self, db: SqliteConnection, ids: Sequence[str]) -> dict[str, int]:
        """The revisions of these endpoints, which cannot change during the write transaction."""
        return dict(db.rows("revisions", encoded(ids)))  # type: ignore[arg-type]  # columns

    def _endpoints(self, db: SqliteConnection, revisions: dict[str, int]) -> list[Endpoint]:
        endpoints, unknown = self._cache.known(revisions)
        if unknown:
            endpoints.extend(endpoint_row(row) for row in db.rows("endpoints_by_id", encoded(unknown)))
        return endpoints


def _flights(
    db: SqliteConnection, candidates: Sequence[Candidate], caps: Caps, now: datetime
) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """Runs in flight to the hosts and of the tenants of candidates, and the tenants' runs that are not quick."""
    hosts = {each.host for each in candidates}
    cap = max(map(caps.of_host, hosts), default=0)
    tenants = encoded([*{each.tenant_id for each in candidates}])
    busy: dict[tuple[str, str], int] = {}
    slow_busy: dict[str, int] = {}
    to_hosts: list[tuple[Any, ...]] = db.rows("flights_to_hosts", now, cap, encoded([*hosts]))
    of_tenants: list[tuple[Any, ...]] = db.rows("flights_of_tenants", tenants, now, caps.per_tenant)
    for host, runs in to_hosts:
        busy["", host] = runs
    for tenant_id, runs, slow_runs in of_tenants:
        busy[tenant_id, ""] = runs
        slow_busy[tenant_id] = slow_runs
    return busy, slow_busy


def _able(
    candidates: Sequence[Candidate],
    busy: dict[tuple[str, str], int],
    caps: Caps,
    limit: int,
    slow: SlowRoom | None,
    slow_busy: dict[str, int],
) -> list[Candidate]:
    """The oldest candidates of each tenant that have room at their host and for their pace; the others are skipped."""
    turns: Counter[str] = Counter()
    able: list[Candidate] = []
    for each in candidates:
        if turns[each.tenant_id] >= limit or busy.get(("", each.host), 0) >= caps.of_host(each.host):
            continue
        pace_max = EndpointPace.SLOW
        if slow is not None:
            pace_max = min(slow.pace_max, _pace_max(slow_busy.get(each.tenant_id, 0), caps))
        if each.pace <= pace_max:
            turns[each.tenant_id] += 1
            able.append(each)
    return able


def _pace_max(not_quick: int, caps: Caps) -> EndpointPace:
    """The slowest pace that the shares of a tenant's limit still allow to start."""
    return SlowRoom(for_slow(caps.per_tenant) - not_quick, for_new(caps.per_tenant) - not_quick).pace_max


def _rates(db: SqliteConnection, caps: Caps, now: datetime) -> HostRates:
    """How many starts rates leave to hosts; without rates, the database is not read."""
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
    for mark in batch.marked:
        db.later("mark_maintenance", *mark)
    db.later_many("insert_events", batch.event_rows())


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
