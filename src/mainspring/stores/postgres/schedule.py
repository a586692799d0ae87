"""The scheduler's port on PostgreSQL: claim, finish, release, expire, wait."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from mainspring.domain.claiming import Claim
from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.fairness import Candidate, pick
from mainspring.domain.governor import CronReader
from mainspring.domain.instant import from_us, to_us
from mainspring.domain.settling import Finished
from mainspring.ports.outside import Ids
from mainspring.ports.schedule import Caps, ClaimBatch, FinishReport
from mainspring.stores.batches import Batch, admit_all, expire_all, month_of, release_all, settle_all
from mainspring.stores.cache import EndpointCache
from mainspring.stores.postgres.database import CHANNEL, Database, Session, as_json, columns
from mainspring.stores.rows import as_it_is, endpoint_from

CLAIM_LOCK_TRIES = 20
CLAIM_LOCK_PAUSE_S = 0.002
NOTICE = timedelta(seconds=5)  # what is due sooner than a sleeping worker's next look is worth a notification


class PostgresSchedule:
    def __init__(self, database: Database, ids: Ids, cron: CronReader) -> None:
        self._db = database
        self._ids = ids
        self._cron = cron
        self._cache = EndpointCache()
        self._changed = asyncio.Event()
        self._asleep_until_us = 0
        self._moved_to_us = sys.maxsize  # the earliest instant heard of since the last claim began
        self._offset_us = 0  # the database's clock minus our monotonic one

    async def now(self) -> datetime:
        return await self._db.now()

    async def claim_due(self, worker: str, limit: int, lease_margin_ms: int, caps: Caps) -> ClaimBatch:
        """One transaction: pick, lock what is not locked, admit, write. See `ScheduleStore.claim_due`."""
        self._moved_to_us = sys.maxsize
        revisions: dict[str, int] = {}
        rows = Batch(as_it_is)
        claims: list[Claim] = []
        async with self._db.transaction(begin="begin_claim") as session:
            await _take_turn(session)
            asked_us = time.monotonic_ns() // 1000
            now, picked, more = await self._pick(session, limit, caps)
            self._offset_us = to_us(now) - asked_us
            if picked:
                locked = await session.rows("lock_due", picked, now, month_of(now))
                revisions = {row[1]: row[0] for row in locked if row[0] is not None}  # type: ignore[misc]  # columns
                held = _tenants([row[1:] for row in locked if row[0] is None])
                endpoints = await self._endpoints(session, revisions)
                claims, rows, started = admit_all(endpoints, held, now, worker, lease_margin_ms, self._ids, self._cron)
                await self._write_claims(session, rows, started, worker, now)
            next_due_at = None if more else await session.value("upcoming", now)
        self._cache.keep(revisions, rows.endpoints, written=1)
        handed_at = self._db.at(from_us(time.monotonic_ns() // 1000 + self._offset_us))
        return ClaimBatch(now, handed_at, tuple(claims), next_due_at, more)  # type: ignore[arg-type]  # timestamptz

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        async with self._db.transaction() as session:
            ids = [each.claim.endpoint.id for each in batch]
            revisions, now = await lock(self._db, session, ids, "lock_free_and_read_clock")
            held = await _held(session, ids, revisions)
            free = [each for each in batch if each.claim.endpoint.id not in held]
            endpoints = await self._endpoints(session, revisions)
            rows, report = settle_all(free, endpoints, now, self._cron)
            if report.superseded:
                late = [each.claim.endpoint.id for each in batch], list(report.superseded)
                rows.leave_out({str(row[0]) for row in await session.rows("superseded_runs", *late)})
            await _write_states(session, rows)
            is_soon = report.next_due_at is not None and report.next_due_at < now + NOTICE
            await session.run(
                "write_results",
                as_json(rows.outcomes),
                as_json([row[:-1] for row in rows.results]),
                [row[-1] for row in rows.results],
                as_json(rows.event_rows()),
                CHANNEL,
                self._db.word_of(report.next_due_at) if is_soon else "",
            )
        self._cache.keep(revisions, rows.endpoints, written=1)
        waiting = [each.claim.run_id for each in batch if each.claim.endpoint.id in held]
        return replace(report, waiting=tuple(waiting)) if waiting else report

    async def release(self, claims: Sequence[Claim]) -> None:
        async with self._db.transaction() as session:
            revisions, now = await lock(self._db, session, [claim.endpoint.id for claim in claims])
            rows = release_all(claims, await self._endpoints(session, revisions), now)
            await _close(session, rows, now)
            await _write_states(session, rows)
            await self._db.notify(session)
        self.wake()

    async def expire_hints(self, limit: int) -> int:
        async with self._db.transaction() as session:
            now = await self._db.now_in(session)
            revisions = _revisions(await session.rows("expired_hints", now, limit))
            if revisions:
                rows = expire_all(await self._endpoints(session, revisions), now, self._cron)
                await _close(session, rows, now)
                await _write_states(session, rows)
                await session.run("add_events", as_json(rows.event_rows()))
                await self._db.notify(session)
        return len(revisions)

    async def wait_for_change(self, timeout_s: float) -> bool:
        """Woken by a notification that concerns the time we would sleep through; others are not worth waking for."""
        self._db.listen(self._heard)
        self._asleep_until_us = time.monotonic_ns() // 1000 + self._offset_us + int(timeout_s * 1_000_000)
        if self._moved_to_us < self._asleep_until_us:  # said after the claim had looked, before we fell asleep
            self._changed.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        self._moved_to_us = sys.maxsize  # told: who does not claim now is not woken for it again
        return True

    def wake(self) -> None:
        """Tell a waiting scheduler of this process that a schedule moved."""
        self._changed.set()

    async def heartbeat(self, worker: str, kind: str, places: int) -> None:
        now = await self._db.now()
        async with self._db.statement() as session:
            await session.run("heartbeat", worker, kind, places, now)

    def _heard(self, moved_to: str) -> None:
        self._moved_to_us = min(self._moved_to_us, int(moved_to or 0))
        if self._moved_to_us < self._asleep_until_us:
            self._changed.set()

    async def _pick(self, session: Session, limit: int, caps: Caps) -> tuple[datetime, list[str], bool]:
        """What time it is, who gets the free places, and whether somebody due was left out."""
        if limit <= 0:
            return await self._db.now_in(session), [], False
        told = self._db.clock.now() if self._db.clock is not None else None
        (clock, *rows) = await session.rows("due_and_read_clock", told, caps.per_host, limit)
        busy = {(row[1], row[2]): row[4] for row in rows if row[0] is None}
        candidates = [Candidate(*row[:4]) for row in rows if row[0] is not None]  # type: ignore[arg-type]  # columns
        picked = pick(candidates, busy, caps.per_tenant, caps.per_host, limit)  # type: ignore[arg-type]  # columns
        more = bool(picked) and (len(picked) == limit or len(picked) < len(candidates))
        return clock[3], picked, more  # type: ignore[return-value]  # timestamptz

    async def _write_claims(
        self, session: Session, rows: Batch, started: Counter[str], worker: str, now: datetime
    ) -> None:
        await _close(session, rows, now)
        await _write_states(session, rows)
        if rows.runs:
            await session.run("add_runs", as_json(rows.runs))
        await session.run(
            "write_claims",
            worker,
            as_json(rows.leases),
            now,
            month_of(now),
            list(started),
            list(started.values()),
            as_json(rows.event_rows()),
        )

    async def _endpoints(self, session: Session, revisions: dict[str, int]) -> list[Endpoint]:
        endpoints, unknown = self._cache.known(revisions)
        if unknown:
            endpoints.extend([endpoint_from(row) for row in await session.rows("endpoints_by_id", unknown)])
        return endpoints


async def lock(
    database: Database, session: Session, ids: Sequence[str], query: str = "lock_and_read_clock"
) -> tuple[dict[str, int], datetime]:
    """What these endpoints' revisions are, theirs until the transaction ends, and what time it was when they were."""
    rows = await session.rows(query, list(ids))
    now = database.at(rows[-1][2]) if rows else await database.now_in(session)
    return _revisions(rows), now


async def _held(session: Session, ids: Sequence[str], locked: dict[str, int]) -> set[str]:
    """Endpoints that somebody else has locked; those that are gone are nobody's."""
    missing = [each for each in ids if each not in locked]
    return {str(row[0]) for row in await session.rows("endpoints_that_exist", missing)} if missing else set()


async def tenants(session: Session, ids: set[str], now: datetime) -> dict[str, Tenant]:
    return _tenants(await session.rows("tenants", month_of(now), list(ids)))


async def _take_turn(session: Session) -> None:
    """Wait a moment for our turn to claim, unless the transaction began with it."""
    is_ours: object = session.found
    for _ in range(CLAIM_LOCK_TRIES):
        if is_ours:
            return
        await asyncio.sleep(CLAIM_LOCK_PAUSE_S)
        is_ours = await session.value("take_claim_turn")


def _tenants(rows: Sequence[Sequence[object]]) -> dict[str, Tenant]:
    return {str(row[0]): Tenant(*row[:7], tuple(row[7])) for row in rows}  # type: ignore[arg-type, call-arg]  # columns


def _revisions(rows: Sequence[Sequence[object]]) -> dict[str, int]:
    return {row[0]: row[1] for row in rows}  # type: ignore[misc]  # columns


async def _write_states(session: Session, rows: Batch) -> None:
    if rows.states:
        await session.run("write_states", as_json(rows.states))


async def _close(session: Session, batch: Batch, now: datetime) -> None:
    if batch.closed:
        tenant_ids, run_ids, statuses, errors = columns(batch.closed, 4)
        await session.run("close_runs", now, tenant_ids, run_ids, statuses, errors)
