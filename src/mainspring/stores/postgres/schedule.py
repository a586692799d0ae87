"""The scheduler's port on PostgreSQL: claim, finish, release, expire, wait."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import asyncpg
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint, Tenant
from mainspring.domain.instant import from_us, to_us
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import Candidate, Caps, EndpointPace, SlowRoom, for_new, for_slow, pick
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.outbound import Ids
from mainspring.ports.schedule import ClaimBatch, FinishReport
from mainspring.stores.cache import EndpointCache
from mainspring.stores.claim_batch import Batch, Row, admit_all, expire_all, month_of, release_all, settle_all
from mainspring.stores.host_rates import HostRates, earliest, host_caps, host_rates, paid_after, shut_to_slow
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.lasting_connection import CHANNEL
from mainspring.stores.postgres.queries import as_json, columns
from mainspring.stores.postgres.session import PostgresSession
from mainspring.stores.rows import endpoint_from

CLAIM_LOCK_TRIES = 20
CLAIM_LOCK_PAUSE_S = 0.002
CROWDED_S = 1.0  # how long to claim under the lock after another worker was faster: optimistic claims would fail again
_SLOW_ALIKE = (sys.maxsize, sys.maxsize, EndpointPace.SLOW)  # shares of a tenant's cap, and the pace, without a limit
NOTICE = timedelta(seconds=5)  # what is due sooner than a sleeping worker's next look is worth a notification


class _Candidates(NamedTuple):
    """What a claim reads before it writes.

    The caps in force, the time, when to look again, the tenants of due endpoints, the endpoints that get a place and
    their revisions, whether a due endpoint was left out, and how many starts the rates of hosts leave.
    """

    caps: Caps
    now: datetime
    upcoming: datetime | None
    tenants: dict[str, Tenant]
    picked: list[Candidate]
    revisions: dict[str, int]
    more: bool
    rates: HostRates

    @property
    def has_rated(self) -> bool:
        """Whether an endpoint that gets a place calls a host that has a rate."""
        return self.caps.has_rates and any(self.caps.rate_of(each.host) is not None for each in self.picked)


class _Asked(NamedTuple):
    """What a worker asks for."""

    worker: str
    limit: int
    lease_margin_ms: int
    caps: Caps
    slow: SlowRoom | None


class _RatesMoved(Exception):
    """Another worker paid for starts at the same hosts meanwhile; nothing was written."""


class PostgresSchedule:
    def __init__(self, database: PostgresDatabase, ids: Ids, cron: CronReader) -> None:
        self._db = database
        self._ids = ids
        self._cron = cron
        self._cache = EndpointCache()
        self._changed = asyncio.Event()
        self._asleep_until_us = 0
        self._moved_to_us = sys.maxsize  # the earliest instant heard of since the last claim began
        self._crowded_until_s = 0.0  # by our monotonic clock
        self._offset_us = 0  # the database's clock minus our monotonic one

    async def now(self) -> datetime:
        return await self._db.now()

    async def claim_due(
        self, worker: str, limit: int, lease_margin_ms: int, caps: Caps, slow: SlowRoom | None = None
    ) -> ClaimBatch:
        """Read, admit, lease; see `ScheduleStore.claim_due`.

        First without locks, by two statements. If another worker interferes, in one transaction under the claim lock.
        """
        asked = _Asked(worker, limit, lease_margin_ms, caps, slow)
        try:
            return await self._claim_optimistic(asked) or await self._claim_locked(asked)
        except _RatesMoved:
            now = self._now()
            return ClaimBatch(now, now, more=True)

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        """Settle by the cached endpoints, in one statement; if one has changed, with their rows locked and read."""
        return await self._finish_optimistic(batch) or await self._finish_locked(batch)

    async def release(self, claims: Sequence[Claim]) -> None:
        async with self._db.transaction() as session:
            revisions, now = await session.lock_endpoints([claim.endpoint.id for claim in claims])
            rows = release_all(claims, await self.endpoints_at(session, revisions), now, self._cron)
            await close_runs(session, rows, now)
            await write_states(session, rows)
            await session.insert("insert_events", rows.event_rows())
            await session.notify()
        self.wake()

    async def expire_hints(self, limit: int) -> int:
        async with self._db.transaction() as session:
            now = await session.now()
            revisions = _revisions(await session.rows("expired_hints", now, limit))
            if revisions:
                rows = expire_all(await self.endpoints_at(session, revisions), now, self._cron)
                await close_runs(session, rows, now)
                await write_states(session, rows)
                await session.insert("insert_events", rows.event_rows())
                await session.notify()
        return len(revisions)

    async def wait_for_change(self, timeout_s: float) -> bool:
        """Woken by a notification that concerns the time we would sleep through; others are not worth waking for."""
        self._db.lasting.listen(self._heard)
        self._asleep_until_us = time.monotonic_ns() // 1000 + self._offset_us + int(timeout_s * 1_000_000)
        if self._moved_to_us < self._asleep_until_us:  # said after the claim had looked, before we fell asleep
            self._changed.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        self._moved_to_us = sys.maxsize  # a scheduler that does not claim now is not woken for it again
        return True

    def wake(self) -> None:
        """Tell a waiting scheduler of this process that a schedule moved."""
        self._changed.set()

    def _heard(self, moved_to: str) -> None:
        self._moved_to_us = min(self._moved_to_us, int(moved_to or 0))
        if self._moved_to_us < self._asleep_until_us:
            self._changed.set()

    async def _claim_optimistic(self, asked: _Asked) -> ClaimBatch | None:
        """Return None, having written nothing, if another worker interferes or the claim changes more than leases."""
        if self._db.behind_bouncer or time.monotonic() < self._crowded_until_s:
            return None
        async with self._db.statement() as session:
            found = await self._read_candidates(session, asked)
            if found.has_rated:
                return None
            claims, rows, started = await self._admit(session, found, asked)
            if not rows.is_plain:
                return None
            try:
                is_leased = not claims or await _lease(
                    session, rows, found, started, asked.worker, self._db.clock_override
                )
            except asyncpg.DivisionByZeroError:
                is_leased = False
        if not is_leased:
            self._crowded_until_s = time.monotonic() + CROWDED_S
            return None
        return self._to_batch(found, rows, claims)

    async def _claim_locked(self, asked: _Asked) -> ClaimBatch:
        async with self._db.transaction(begin="begin_claim") as session:
            await _take_claim_lock(session)
            found = await self._read_candidates(session, asked)
            if found.revisions:
                found = found._replace(revisions=await _lock_due(session, found.revisions, found.now))
            claims, rows, started = await self._admit(session, found, asked)
            if rows.endpoints:
                await close_runs(session, rows, found.now)
                await write_states(session, rows)
                if rows.runs:
                    await session.run("add_runs", as_json(rows.runs))
                await _lease(session, rows, found, started, asked.worker, self._db.clock_override, has_lock=True)
            if found.has_rated:
                await _pay(session, found, claims)
            if rows.states and not found.more:
                upcoming = await session.value("upcoming", found.now)
                found = found._replace(upcoming=earliest(upcoming, found.rates.opens_at))  # type: ignore[arg-type]  # timestamptz
        return self._to_batch(found, rows, claims)

    async def _admit(
        self, session: PostgresSession, found: _Candidates, asked: _Asked
    ) -> tuple[list[Claim], Batch, Counter[str]]:
        endpoints = await self.endpoints_at(session, found.revisions)
        by = asked.worker, asked.lease_margin_ms
        return admit_all(endpoints, found.tenants, found.now, *by, self._ids, self._cron)

    def _to_batch(self, found: _Candidates, rows: Batch, claims: list[Claim]) -> ClaimBatch:
        """Cache what was claimed and committed, and return it."""
        self._cache.keep(found.revisions, rows.endpoints, written=1)
        # What comes next was looked up before these leases were written, which will be over some day.
        ends = [endpoint.lease_until for endpoint in rows.endpoints]
        soonest = min((at for at in (found.upcoming, *ends) if at is not None), default=None)
        return ClaimBatch(found.now, self._now(), tuple(claims), None if found.more else soonest, found.more)

    async def _read_candidates(self, session: PostgresSession, asked: _Asked) -> _Candidates:
        self._moved_to_us = sys.maxsize
        caps, limit, slow = asked.caps, asked.limit, asked.slow
        rates = await self._rates(session, caps)
        asked_us = time.monotonic_ns() // 1000
        clock, upcoming, *rows = await session.rows(
            "due_and_read_clock",
            self._db.clock_override,
            [*rates.shut, *shut_to_slow(slow)],
            *host_caps(caps),
            *(_SLOW_ALIKE if slow is None else (for_slow(caps.per_tenant), for_new(caps.per_tenant), slow.pace_max)),
            max(limit, 0),
        )
        now: datetime = clock[3]  # type: ignore[assignment]  # timestamptz
        self._offset_us = to_us(now) - asked_us
        due = {row[0]: row for row in rows if row[0] is not None}
        busy = {(row[1], row[2]): row[4] for row in rows if row[0] is None and row[2] is not None}
        slow_busy: Counter[str] = Counter()
        for row in rows:
            if row[0] is None and row[2] is not None:
                slow_busy[row[1]] += row[5]  # type: ignore[index, operator]  # columns
        tenants = {row[1]: _tenant(row) for row in rows if row[6] is not None}
        candidates = [Candidate(*row[:4], row[5]) for row in due.values()]  # type: ignore[arg-type, call-arg]  # columns
        starts_left = rates.starts_left(caps, now)
        picked = pick(candidates, busy, caps, limit, slow, slow_busy, starts_left)  # type: ignore[arg-type]  # columns
        more = bool(picked) and (len(picked) == limit or len(picked) < len(due))
        revisions = {each: due[each][4] for each in picked}
        places = [each for each in candidates if each.id in revisions]
        soonest = earliest(upcoming[3], rates.opens_at)  # type: ignore[arg-type]  # timestamptz
        return _Candidates(caps, now, soonest, tenants, places, revisions, more, rates)  # type: ignore[arg-type]  # columns

    async def _rates(self, session: PostgresSession, caps: Caps) -> HostRates:
        """Read how many starts the rates of hosts leave; without rates there is nothing to read."""
        if not caps.has_rates:
            return HostRates({})
        (_, now), *rows = await session.rows("host_rates_and_read_clock", self._db.clock_override)
        return host_rates(caps, dict(rows), now)  # type: ignore[arg-type]  # columns

    async def _finish_optimistic(self, batch: Sequence[Finished]) -> FinishReport | None:
        """Return None, having written nothing, if an endpoint is unknown, held or changed, or more than runs end."""
        revisions, endpoints = self._cache.latest([each.claim.endpoint.id for each in batch])
        if len(revisions) < len(batch) or not self._offset_us:
            return None
        now = self._now()
        rows, report = settle_all(batch, endpoints, now, self._cron)
        if len(rows.outcomes) < len(batch):
            return None
        try:
            async with self._db.statement() as session:
                await self._write_results(session, rows, revisions, report, now)
        except asyncpg.DivisionByZeroError:
            return None
        self._cache.keep(revisions, rows.endpoints, written=1)
        return report

    async def _finish_locked(self, batch: Sequence[Finished]) -> FinishReport:
        async with self._db.transaction() as session:
            ids = [each.claim.endpoint.id for each in batch]
            revisions, now = await session.lock_endpoints(ids, skip_held=True)
            held = await _held(session, ids, revisions)
            free = [each for each in batch if each.claim.endpoint.id not in held]
            endpoints = await self.endpoints_at(session, revisions)
            rows, report = settle_all(free, endpoints, now, self._cron)
            if report.superseded:
                late = [each.claim.endpoint.id for each in batch], list(report.superseded)
                rows.leave_out({str(row[0]) for row in await session.rows("superseded_runs", *late)})
            await write_states(session, rows)
            await self._write_results(session, rows, revisions, report, now)
        self._cache.keep(revisions, rows.endpoints, written=1)
        waiting = [each.claim.run_id for each in batch if each.claim.endpoint.id in held]
        return replace(report, waiting=tuple(waiting)) if waiting else report

    async def _write_results(
        self, session: PostgresSession, rows: Batch, revisions: dict[str, int], report: FinishReport, now: datetime
    ) -> None:
        is_soon = report.next_due_at is not None and report.next_due_at < now + NOTICE
        await session.run(
            "write_results",
            as_json(_at(revisions, rows.outcomes)),
            as_json([row[:-1] for row in rows.results]),
            [row[-1] for row in rows.results],
            as_json(rows.event_rows()),
            len(rows.outcomes),
            self._db.notify_payload(report.next_due_at) if is_soon else "",
            CHANNEL,
        )

    def _now(self) -> datetime:
        """Return the time of the database's clock, by its offset at the last claim."""
        return self._db.at(from_us(time.monotonic_ns() // 1000 + self._offset_us))

    async def endpoints_at(self, session: PostgresSession, revisions: dict[str, int]) -> list[Endpoint]:
        """Endpoints that the session has locked, at these revisions."""
        endpoints, unknown = self._cache.known(revisions)
        if unknown:
            endpoints.extend([endpoint_from(row) for row in await session.rows("endpoints_by_id", unknown)])
        return endpoints


async def _held(session: PostgresSession, ids: Sequence[str], locked: dict[str, int]) -> set[str]:
    """Return the endpoints that another transaction has locked; deleted ones are not among them."""
    missing = [each for each in ids if each not in locked]
    return {str(row[0]) for row in await session.rows("endpoints_that_exist", missing)} if missing else set()


async def _take_claim_lock(session: PostgresSession) -> None:
    """Wait a moment for the claim lock, unless the transaction began with it; without it, go on all the same."""
    has_lock: object = session.found
    for _ in range(CLAIM_LOCK_TRIES):
        if has_lock:
            return
        await asyncio.sleep(CLAIM_LOCK_PAUSE_S)
        has_lock = await session.value("try_claim_lock")


async def _lock_due(session: PostgresSession, revisions: Iterable[str], now: datetime) -> dict[str, int]:
    return _revisions(await session.rows("lock_due", list(revisions), now))


async def _lease(
    session: PostgresSession,
    rows: Batch,
    found: _Candidates,
    started: Counter[str],
    worker: str,
    clock_override: datetime | None,
    has_lock: bool = False,
) -> bool:
    """Write all leases or none, under the claim lock or, without it, if the places are still free; return whether."""
    leased = await session.value(
        "write_claims_and_read_clock",
        has_lock,
        clock_override,
        found.now,
        month_of(found.now),
        [each.tenant_id for each in found.picked],
        [each.host for each in found.picked],
        [found.caps.of_host(each.host) for each in found.picked],
        found.caps.per_tenant,
        worker,
        as_json(_at(found.revisions, rows.leases)),
        list(started),
        list(started.values()),
        as_json(rows.event_rows()),
        len(rows.leases),
    )
    return leased == len(rows.leases)


async def _pay(session: PostgresSession, found: _Candidates, claims: Sequence[Claim]) -> None:
    """Count what was claimed towards the rates of its hosts. Raises _RatesMoved if another worker did so meanwhile."""
    paid = paid_after(found.caps, claims, found.rates.paid, found.now)
    hosts = list(paid)
    seen = [found.rates.paid.get(host) for host in hosts]
    if hosts and await session.value("pay_starts", hosts, list(paid.values()), found.now, seen) != len(hosts):
        raise _RatesMoved


def _at(revisions: dict[str, int], rows: Sequence[Row]) -> list[Row]:
    """Append to each row the revision that its endpoint must still have."""
    return [(*row, revisions[row[-1]]) for row in rows]  # type: ignore[index]  # their ids come last


def _tenant(row: Sequence[object]) -> Tenant:
    """Return a tenant with the fields that a claim needs."""
    _, tenant_id, _, _, used, quota, keys = row
    return Tenant(tenant_id, "", runs_per_month=quota, runs_this_month=used, signing_keys=tuple(keys))  # type: ignore[arg-type]  # columns


def _revisions(rows: Sequence[Sequence[object]]) -> dict[str, int]:
    return {row[0]: row[1] for row in rows}  # type: ignore[misc]  # columns


async def write_states(session: PostgresSession, rows: Batch) -> None:
    if rows.states:
        await session.run("write_states", as_json(rows.states))


async def close_runs(session: PostgresSession, batch: Batch, now: datetime) -> None:
    if batch.closed:
        tenant_ids, run_ids, statuses, errors = columns(batch.closed, 4)
        await session.run("close_runs", now, tenant_ids, run_ids, statuses, errors)
