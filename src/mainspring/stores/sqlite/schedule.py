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
from mainspring.stores.batches import Batch, admit_all, claimed, expire_all, month_of, release_all, settle_all
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
        self._changed = asyncio.Event()
        self._seen_version = 0

    async def now(self) -> datetime:
        return self._db.clock.now()

    def wake(self) -> None:
        """Tell a waiting scheduler of this process that a schedule moved."""
        self._changed.set()

    async def claim_due(self, worker: str, limit: int, lease_margin_ms: int, caps: Caps) -> ClaimBatch:
        if limit <= 0 or not await self._db.read(self._any_due):
            return ClaimBatch(self._db.clock.now(), next_due_at=await self._db.read(self._next_due_at))
        return await self._db.write(self._claim, worker, limit, lease_margin_ms, caps)

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        return await self._db.write(self._finish, batch)

    async def release(self, claims: Sequence[Claim]) -> None:
        await self._db.write(self._release, claims)
        self.wake()

    async def expire_hints(self, limit: int) -> int:
        soonest = await self._db.read(lambda db: instant(db.value("next_hint_expiry")))
        if soonest is None or soonest > self._db.clock.now():
            return 0
        return await self._db.write(self._expire_hints, limit)

    async def wait_for_change(self, timeout_s: float) -> bool:
        """An event within the process; across processes a look at the file's version, ten times a second."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        if self._seen_version == 0:
            self._seen_version = await self._db.data_version()
        while (left := until - loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, POLL_S)):
                    await self._changed.wait()
                self._changed.clear()
                return True
            except TimeoutError:
                version = await self._db.data_version()
                if version != self._seen_version:
                    self._seen_version = version
                    return True
        return False

    async def heartbeat(self, worker: str, kind: str, places: int) -> None:
        await self._db.write(lambda db: db.run("heartbeat", worker, kind, places, self._db.clock.now()))

    def _any_due(self, db: Connection) -> bool:
        now = self._db.clock.now()
        return any(db.value("any_due", tenant_id, now) for (tenant_id,) in db.rows("tenants"))

    def _next_due_at(self, db: Connection) -> datetime | None:
        now = self._db.clock.now()
        times = [db.value("next_claimable", tenant_id, now) for (tenant_id,) in db.rows("tenants")]
        times.append(db.value("next_hint_expiry"))
        return instant(min((at for at in times if at is not None), default=None))  # type: ignore[type-var]  # INTEGER

    def _claim(self, db: Connection, worker: str, limit: int, lease_margin_ms: int, caps: Caps) -> ClaimBatch:
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
        endpoints = lock(db, picked)
        tenants = {tenant_id: tenant(db, tenant_id, now) for tenant_id in {each.tenant_id for each in endpoints}}
        transitions, started = admit_all(endpoints, tenants, now, worker, lease_margin_ms, self._ids, self._cron)
        for tenant_id, runs in started.items():
            db.run("count_usage", tenant_id, month_of(now), worker, runs)
        _write(db, claimed(endpoints, transitions), now)
        claims = tuple(transition.claim for transition in transitions if transition.claim is not None)
        more = len(claims) < min(limit, len(candidates))
        return ClaimBatch(now, claims, self._next_due_at(db), more)

    def _finish(self, db: Connection, batch: Sequence[Finished]) -> FinishReport:
        now = self._db.clock.now()
        locked = lock(db, [each.claim.endpoint.id for each in batch])
        rows, report = settle_all(batch, locked, now, self._cron)
        _write(db, rows, now)
        return report

    def _release(self, db: Connection, claims: Sequence[Claim]) -> None:
        now = self._db.clock.now()
        _write(db, release_all(claims, lock(db, [claim.endpoint.id for claim in claims]), now), now)

    def _expire_hints(self, db: Connection, limit: int) -> int:
        now = self._db.clock.now()
        endpoints = lock(db, [str(row[0]) for row in db.rows("expired_hints", now, limit)])
        _write(db, expire_all(endpoints, now, self._cron), now)
        return len(endpoints)


def lock(db: Connection, ids: Sequence[str]) -> list[Endpoint]:
    """Endpoints by id, inside the write transaction that keeps others from them."""
    return [endpoint_row(row) for row in db.rows("lock_endpoints", msgspec.json.encode(ids).decode())]


def endpoint_row(row: tuple[object, ...]) -> Endpoint:
    values = list(row)
    for index in _INSTANTS:
        values[index] = instant(values[index])
    return endpoint_from(values)


def tenant(db: Connection, tenant_id: str, now: datetime) -> Tenant:
    (row,) = db.rows("tenant", month_of(now), tenant_id)
    keys = tuple(str(key) for (key,) in db.rows("sealed_signing_keys", tenant_id))
    return Tenant(*row, keys)  # type: ignore[arg-type]  # columns


def _write(db: Connection, batch: Batch, now: datetime) -> None:
    db.run_many("close_run", [(status, error, now, tenant_id, run) for tenant_id, run, status, error in batch.closed])
    db.run_many("write_state", batch.states)
    db.run_many("add_run", batch.runs)
    db.run_many("write_result", [(*row[2:], row[1], row[0]) for row in batch.results])
    db.run_many("add_event", batch.events)
