"""The scheduler's port on SQLite: claim, finish, release, expire, wait."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import chain

import msgspec

from mainspring.domain.claiming import Claim
from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.fairness import Candidate, pick
from mainspring.domain.governor import CronReader
from mainspring.domain.settling import Finished
from mainspring.ports import Caps, ClaimBatch, FinishReport, Ids
from mainspring.stores.batches import Batch, admit_all, expire_all, month_of, release_all, settle_all
from mainspring.stores.cache import EndpointCache
from mainspring.stores.rows import ENDPOINT_COLUMNS, endpoint_from
from mainspring.stores.sqlite.database import Connection, Database, instant

POLL_S = 0.1  # how often to look whether another process committed; a look costs some microseconds
_INSTANTS = [
    index
    for index, column in enumerate(ENDPOINT_COLUMNS)
    if column.endswith(("_at", "_until")) or column == "not_before"
]


class SqliteSchedule:
    def __init__(self, database: Database, ids: Ids, cron: CronReader) -> None:
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

    async def claim_due(self, worker: str, limit: int, lease_margin_ms: int, caps: Caps) -> ClaimBatch:
        if limit > 0 and self._db.look(self._is_any_due):
            revisions: dict[str, int] = {}
            batch = Batch()
            claimed = await self._db.write(self._claim, worker, limit, lease_margin_ms, caps, revisions, batch)
            self._cache.keep(revisions, batch.endpoints, written=1)
            return claimed
        return ClaimBatch(self._db.clock.now(), next_due_at=self._db.look(self._next_due_at))

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        def work(db: Connection) -> FinishReport:
            nonlocal revisions, rows
            revisions, locked = self._lock(db, [each.claim.endpoint.id for each in batch])
            now = self._db.clock.now()
            rows, report = settle_all(batch, locked, now, self._cron)
            _write(db, rows, now)
            return report

        revisions: dict[str, int] = {}
        rows = Batch()
        report = await self._db.write(work)
        self._cache.keep(revisions, rows.endpoints, written=1)
        return report

    async def release(self, claims: Sequence[Claim]) -> None:
        def work(db: Connection) -> None:
            now = self._db.clock.now()
            _, locked = self._lock(db, [claim.endpoint.id for claim in claims])
            _write(db, release_all(claims, locked, now), now)

        await self._db.write(work)
        self.wake()

    async def expire_hints(self, limit: int) -> int:
        def work(db: Connection) -> int:
            now = self._db.clock.now()
            _, locked = self._lock(db, [str(row[0]) for row in db.rows("expired_hints", now, limit)])
            _write(db, expire_all(locked, now, self._cron), now)
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

    async def heartbeat(self, worker: str, kind: str, places: int) -> None:
        await self._db.write(lambda db: db.run("heartbeat", worker, kind, places, self._db.clock.now()))

    def _is_any_due(self, db: Connection) -> bool:
        now = self._db.clock.now()
        return any(db.value("any_due", tenant_id, now) for (tenant_id,) in db.rows("tenants"))

    def _next_due_at(self, db: Connection) -> datetime | None:
        now = self._db.clock.now()
        times = [db.value("next_claimable", tenant_id, now) for (tenant_id,) in db.rows("tenants")]
        times.append(db.value("next_hint_expiry"))
        return instant(min((at for at in times if at is not None), default=None))  # type: ignore[type-var]  # INTEGER

    def _claim(
        self,
        db: Connection,
        worker: str,
        limit: int,
        lease_margin_ms: int,
        caps: Caps,
        revisions: dict[str, int],
        written: Batch,
    ) -> ClaimBatch:
        now = self._db.clock.now()
        busy = {(str(tenant), str(host)): int(str(count)) for tenant, host, count in db.rows("busy", now)}
        hosts: Counter[str] = Counter()
        for (_, host), count in busy.items():
            hosts[host] += count
        full = msgspec.json.encode([host for host, count in hosts.items() if count >= caps.per_host]).decode()
        tenant_ids = [row[0] for row in db.rows("tenants")]
        candidates = [
            Candidate(*row)  # type: ignore[arg-type]  # columns; instants compare as well as integers
            for row in chain.from_iterable(db.rows("due", tenant_id, now, full, limit) for tenant_id in tenant_ids)
        ]
        picked = pick(candidates, busy, caps.per_tenant, caps.per_host, limit)
        locked_at, endpoints = self._lock(db, picked)
        revisions.update(locked_at)
        tenants = {tenant_id: tenant(db, tenant_id, now) for tenant_id in {each.tenant_id for each in endpoints}}
        claims, batch, started = admit_all(endpoints, tenants, now, worker, lease_margin_ms, self._ids, self._cron)
        for tenant_id, runs in started.items():
            db.run("count_usage", tenant_id, month_of(now), worker, runs)
        _write(db, batch, now)
        written.endpoints.extend(batch.endpoints)
        return ClaimBatch(now, tuple(claims), self._next_due_at(db), more=len(claims) < min(limit, len(candidates)))

    def _lock(self, db: Connection, ids: Sequence[str]) -> tuple[dict[str, int], list[Endpoint]]:
        revisions = {str(row[0]): int(str(row[1])) for row in db.rows("revisions", encoded(ids))}
        endpoints, unknown = self._cache.known(revisions)
        if unknown:
            endpoints.extend(endpoint_row(row) for row in db.rows("endpoints_by_id", encoded(unknown)))
        return revisions, endpoints


def encoded(ids: Sequence[str]) -> str:
    return msgspec.json.encode(ids).decode()


def endpoint_row(row: tuple[object, ...]) -> Endpoint:
    values = list(row)
    for index in _INSTANTS:
        values[index] = instant(values[index])
    return endpoint_from(values)


def tenant(db: Connection, tenant_id: str, now: datetime) -> Tenant:
    (row,) = db.rows("tenant", month_of(now), tenant_id)
    keys = tuple(str(key) for (key,) in db.rows("sealed_signing_keys", tenant_id))
    return Tenant(*row, keys)  # type: ignore[arg-type, call-arg]  # columns


def _write(db: Connection, batch: Batch, now: datetime) -> None:
    db.run_many("close_run", [(status, error, now, tenant_id, run) for tenant_id, run, status, error in batch.closed])
    db.run_many("write_lease", batch.leases)
    db.run_many("write_outcome", batch.outcomes)
    db.run_many("write_state", batch.states)
    db.run_many("add_run", batch.runs)
    db.run_many("write_result", [(*row[2:], row[1], row[0]) for row in batch.results])
    db.run_many("add_event", batch.events)
