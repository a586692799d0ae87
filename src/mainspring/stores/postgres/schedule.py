"""The scheduler's port on PostgreSQL: claim, finish, release, expire, wait."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import asyncpg
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint, LostWorkerPolicy, Tenant
from mainspring.domain.instant import from_us, to_us
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import Candidate, Caps, EndpointPace, SlowRoom, for_new, for_slow, pick
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.outbound import Ids
from mainspring.ports.presence import SILENT_MS
from mainspring.ports.schedule import ClaimBatch, FinishReport
from mainspring.stores.cache import EndpointCache
from mainspring.stores.claim_batch import (
    Batch,
    Row,
    admit_all,
    expire_all,
    give_back_all,
    month_of,
    release_all,
    settle_all,
)
from mainspring.stores.due_windows import DueWindows, look_again_at
from mainspring.stores.host_rates import HostRates, earliest, host_caps, host_rates, paid_after, shut_to_slow
from mainspring.stores.maintenance import MaintenanceCache
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.fleet import GIVE_WAY, HELP_EVERY, LATE_MS, Fleet, HelpTurns
from mainspring.stores.postgres.lasting_connection import CHANNEL
from mainspring.stores.postgres.look import Look
from mainspring.stores.postgres.queries import as_json, columns
from mainspring.stores.postgres.session import PostgresSession
from mainspring.stores.rows import endpoint_from

CLAIM_LOCK_TRIES = 20
CLAIM_LOCK_PAUSE_S = 0.002
CROWDED_S = 1.0  # how long to claim under the lock after another worker was first: optimistic claims would fail again
_SLOW_ALIKE = (sys.maxsize, sys.maxsize)  # shares of a tenant's limit without a limit
NOTICE = timedelta(seconds=5)  # becoming due sooner than a sleeping worker's next look is worth a notification


class _Candidates(NamedTuple):
    """What a claim reads before it writes.

    The limits in force, the time, when to look again, the tenants of due endpoints, the endpoints that get a place and
    their revisions, whether a due endpoint was left out, how many starts the rates of hosts leave, the connection's
    breaks, the schedulers, the endpoints in lanes of other workers, and whether endpoints of own lanes have to wait.
    """

    caps: Caps
    now: datetime
    upcoming: datetime | None
    tenants: dict[str, Tenant]
    picked: list[Candidate]
    revisions: dict[str, int]
    more: bool
    rates: HostRates
    breaks: int
    fleet: Fleet
    foreign: Sequence[str]
    is_waiting: bool

    @property
    def has_rated(self) -> bool:
        """Whether an endpoint that gets a place calls a host that has a rate."""
        return self.caps.has_rates and any(self.caps.rate_of(each.host) is not None for each in self.picked)


class _Asked(NamedTuple):
    """The arguments of a claim."""

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
        self._maintenance = MaintenanceCache()
        self._cached_since = 0  # the breaks of the connection until then
        self._windows = DueWindows()
        self._worker = ""  # the claiming worker
        self._fleet = Fleet()
        self._turns = HelpTurns()
        self._foreign: set[str] = set()  # endpoints in flight here that are in lanes of other workers
        self._changed = asyncio.Event()
        self._asleep_until_us = 0
        self._moved_to_us = sys.maxsize  # the earliest time notified since the last claim began
        self._crowded_until_s = 0.0  # by our monotonic clock
        self._offset_us = 0  # the database's clock minus our monotonic one
        database.lasting.on_notify = self._heard

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
        """Settle with the cached endpoints, in one statement; if one has changed, with their rows locked and read."""
        return await self._finish_optimistic(batch) or await self._finish_locked(batch)

    async def release(self, claims: Sequence[Claim]) -> None:
        async with self._db.transaction() as session:
            revisions, now = await session.lock_endpoints([claim.endpoint.id for claim in claims])
            rows = release_all(claims, await self.endpoints_at(session, revisions), now, self._cron)
            await _write_released(session, rows, now)
        self.wake()

    @property
    def breaks(self) -> int:
        return self._db.breaks

    @property
    def pace_s(self) -> float:
        return self._fleet.pace_s

    async def release_strays(self, worker: str, running: Collection[str]) -> int:
        async with self._db.transaction() as session:
            now = await session.now()
            leased = await self.endpoints_at(session, _revisions(await session.rows("lock_leased_by", [worker])))
            rows = give_back_all([each for each in leased if each.run_id not in running], now, self._cron)
            if rows.endpoints:
                await _write_released(session, rows, now)
        return len(rows.endpoints)

    async def expire_hints(self, limit: int) -> int:
        async with self._db.transaction() as session:
            now = await session.now()
            revisions = _revisions(await session.rows("expired_hints", now, limit))
            if revisions:
                rows = expire_all(await self.endpoints_at(session, revisions), now, self._cron)
                await _write_released(session, rows, now)
        return len(revisions)

    async def wait_for_change(self, timeout_s: float) -> bool:
        """Woken by a notification of a time that is within the sleep; others are ignored."""
        self._db.lasting.connect()
        self._asleep_until_us = time.monotonic_ns() // 1000 + self._offset_us + int(timeout_s * 1_000_000)
        if self._moved_to_us < self._asleep_until_us:  # notified after the claim had looked, before the sleep began
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
        """Notify a waiting scheduler of this process that a schedule moved."""
        self._changed.set()

    def read_windows_again(self) -> None:
        """Notify this scheduler that maintenance windows changed."""
        self._maintenance.forget()
        self.wake()

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
            await session.make_room(found.now)
            try:
                is_leased = not claims or await _lease(
                    session, rows, found, started, asked.worker, self._db.clock_override
                )
            except asyncpg.DivisionByZeroError:
                is_leased = False
        return self._to_batch(found, rows, claims) if is_leased else self._give_way(asked.worker)

    def _give_way(self, worker: str) -> ClaimBatch | None:
        """After another worker was first: claim again in a moment, or at once under the lock (None).

        A worker with separate lanes conflicts with others where they help, or with a claim under the lock.
        """
        now = self._now()
        self._turns.lost(now)
        if self._fleet.lanes_of(worker) is None:
            self._crowded_until_s = time.monotonic() + CROWDED_S
            return None
        return None if self._turns.is_stuck else ClaimBatch(now, now, next_due_at=now + GIVE_WAY)

    async def _claim_locked(self, asked: _Asked) -> ClaimBatch:
        async with self._db.transaction(begin="begin_claim") as session:
            await _take_claim_lock(session)
            self._turns.locked()
            found = await self._read_candidates(session, asked)
            if found.revisions:
                found = found._replace(revisions=await _lock_due(session, found.revisions, found.now))
            claims, rows, started = await self._admit(session, found, asked)
            if rows.endpoints:
                await session.make_room(found.now)
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
        await self._maintenance.look(session)
        windows = self._maintenance.open_now(found.tenants, found.now, self._cron)
        return admit_all(endpoints, found.tenants, found.now, *by, self._ids, self._cron, windows=windows)

    def _to_batch(self, found: _Candidates, rows: Batch, claims: list[Claim]) -> ClaimBatch:
        """Cache what was claimed and committed, and return it."""
        self._foreign.update(found.foreign)
        self._turns.won(found.now, helped=bool(found.foreign))
        self._keep(found.breaks, found.revisions, rows.endpoints)
        # The next due time was read before these leases were written, which will expire too.
        ends = [endpoint.lease_until for endpoint in rows.endpoints]
        soonest = min((at for at in (found.upcoming, *ends) if at is not None), default=None)
        again_at = None if found.more else soonest
        return ClaimBatch(found.now, self._now(), tuple(claims), again_at, found.more, found.is_waiting)

    async def _read_candidates(self, session: PostgresSession, asked: _Asked) -> _Candidates:
        self._moved_to_us = sys.maxsize
        self._worker = asked.worker
        caps, limit, slow = asked.caps, asked.limit, asked.slow
        rates = await self._rates(session, caps)
        asked_us = time.monotonic_ns() // 1000
        starts = self._windows.starts
        lanes = self._fleet.lanes_of(asked.worker)
        clock, upcoming, *rows = await session.rows(
            "due_and_read_clock",
            LATE_MS if self._turns.may_help(self._now()) else None,
            self._db.clock_override,
            SILENT_MS,
            lanes,
            [start.at for start in starts],
            [start.lot for start in starts],
            [*rates.shut, *shut_to_slow(slow)],
            max(limit, 0),
            *host_caps(caps),
            caps.per_tenant,
            asked.worker,
            *((EndpointPace.SLOW, *_SLOW_ALIKE) if slow is None else _slow_limits(caps, slow)),
        )
        now: datetime = clock[3]  # type: ignore[assignment]  # timestamptz
        self._offset_us = to_us(now) - asked_us
        self._fleet = Fleet(*clock[4:7])  # type: ignore[arg-type]  # columns
        look = Look(rows)
        is_backlog = self._windows.looked(now, look.ends)
        candidates = [Candidate(*row[:4], row[5]) for row in look.due.values()]  # type: ignore[call-arg]  # columns
        picked = pick(candidates, look.busy, caps, limit, slow, look.slow_busy, rates.starts_left(caps, now))
        more = bool(picked) and (len(picked) == limit or len(picked) < len(look.due) or is_backlog)
        revisions = {each: look.due[each][4] for each in picked}
        places = [each for each in candidates if each.id in revisions]
        helps_at = now + HELP_EVERY if lanes is not None else None
        soonest = earliest(upcoming[3], rates.opens_at, helps_at)  # type: ignore[arg-type]  # timestamptz
        soonest = look_again_at(now, soonest, goes_on=is_backlog)
        foreign = [each for each in picked if not look.due[each][7]]
        is_waiting = int(str(upcoming[4])) > len(picked) - len(foreign)
        rest = session.breaks, self._fleet, foreign, is_waiting
        return _Candidates(caps, now, soonest, look.tenants, places, revisions, more, rates, *rest)

    async def _rates(self, session: PostgresSession, caps: Caps) -> HostRates:
        """Read how many starts the rates of hosts leave; without rates there is nothing to read."""
        if not caps.has_rates:
            return HostRates({})
        (_, now), *rows = await session.rows("host_rates_and_read_clock", self._db.clock_override)
        return host_rates(caps, dict(rows), now)  # type: ignore[arg-type]  # columns

    async def _finish_optimistic(self, batch: Sequence[Finished]) -> FinishReport | None:
        """Return None, having written nothing, if an endpoint is unknown, held or changed, or more than runs end."""
        breaks = self._db.breaks
        revisions, endpoints = self._known().latest([each.claim.endpoint.id for each in batch])
        if len(revisions) < len(batch) or not self._offset_us:
            return None
        now = self._now()
        windows = self._maintenance.open_during(batch, now, self._cron)
        rows, report = settle_all(batch, endpoints, now, self._cron, windows=windows)
        if len(rows.outcomes) < len(batch) or rows.marked:
            return None
        try:
            async with self._db.statement() as session:
                if session.breaks != breaks:  # the revisions are those of another server
                    return None
                await self._write_results(session, rows, revisions, report, now)
        except asyncpg.DivisionByZeroError:
            return None
        self._keep(breaks, revisions, rows.endpoints)
        return report

    async def _finish_locked(self, batch: Sequence[Finished]) -> FinishReport:
        async with self._db.transaction() as session:
            ids = [each.claim.endpoint.id for each in batch]
            revisions, now = await session.lock_endpoints(ids, skip_held=True)
            held = await _held(session, ids, revisions)
            free = [each for each in batch if each.claim.endpoint.id not in held]
            endpoints = await self.endpoints_at(session, revisions)
            windows = self._maintenance.open_during(free, now, self._cron)
            rows, report = settle_all(free, endpoints, now, self._cron, windows=windows)
            if report.superseded:
                late = [each.claim.endpoint.id for each in batch], list(report.superseded)
                rows.leave_out({str(row[0]) for row in await session.rows("superseded_runs", *late)})
            await write_states(session, rows)
            await self._write_results(session, rows, revisions, report, now)
            await session.run_many("mark_maintenance", rows.marked)
        self._keep(session.breaks, revisions, rows.endpoints)
        waiting = [each.claim.run_id for each in batch if each.claim.endpoint.id in held]
        return replace(report, waiting=tuple(waiting)) if waiting else report

    async def _write_results(
        self, session: PostgresSession, rows: Batch, revisions: dict[str, int], report: FinishReport, now: datetime
    ) -> None:
        ids = {str(row[-1]) for row in (*rows.outcomes, *rows.states)}
        is_others = not self._fleet.is_known(self._worker) or not self._foreign.isdisjoint(ids)
        is_soon = is_others and report.next_due_at is not None and report.next_due_at < now + NOTICE
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
        self._foreign -= ids

    def _known(self) -> EndpointCache:
        """The cache, empty after a break: another server may have given the same revision to another state."""
        if self._cached_since != self._db.breaks:
            self._cache = EndpointCache()
            self._cached_since = self._db.breaks
        return self._cache

    def _keep(self, breaks: int, revisions: dict[str, int], endpoints: Iterable[Endpoint]) -> None:
        """Cache what a session wrote, unless the connection has broken since it began."""
        if breaks == self._db.breaks:
            self._known().keep(revisions, endpoints, written=1)

    def _now(self) -> datetime:
        """Return the time of the database's clock, by its offset at the last claim."""
        return self._db.at(from_us(time.monotonic_ns() // 1000 + self._offset_us))

    async def endpoints_at(self, session: PostgresSession, revisions: dict[str, int]) -> list[Endpoint]:
        """Endpoints that the session has locked, at these revisions."""
        endpoints, unknown = self._known().known(revisions)
        if unknown:
            endpoints.extend([endpoint_from(row) for row in await session.rows("endpoints_by_id", unknown)])
        return endpoints


async def _held(session: PostgresSession, ids: Sequence[str], locked: dict[str, int]) -> set[str]:
    """Return the endpoints that another transaction has locked; deleted ones are not among them."""
    missing = [each for each in ids if each not in locked]
    return {str(row[0]) for row in await session.rows("endpoints_that_exist", missing)} if missing else set()


async def _take_claim_lock(session: PostgresSession) -> None:
    """Waits briefly for the claim lock, unless the transaction already has it; continues without it afterwards."""
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
    """Write all leases or none, under the claim lock or, without it, if the places are still free; return whether.

    A plain claim that is lost in a crash of the server is made again: the slot is called twice, which is forbidden only
    for endpoints that are called at most once.
    """
    leased = await session.value(
        "write_claims_and_read_clock",
        has_lock,
        clock_override,
        found.now,
        month_of(found.now),
        [each.tenant_id for each in found.picked],
        [each.host for each in found.picked],
        [found.caps.of_host(each.host) for each in found.picked],
        found.fleet.cap_to_count(worker, found.caps.per_tenant),
        found.fleet.shares(worker),
        worker,
        as_json(_at(found.revisions, rows.leases)),
        list(started),
        list(started.values()),
        as_json(rows.event_rows()),
        len(rows.leases),
        has_lock or any(each.on_lost_worker is LostWorkerPolicy.SKIP for each in rows.endpoints),
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


def _slow_limits(caps: Caps, slow: SlowRoom) -> tuple[int, int, int]:
    """The slowest pace that may start, and how many runs of a tenant may be in flight when a slow or new one starts."""
    return slow.pace_max, for_slow(caps.per_tenant), for_new(caps.per_tenant)


def _revisions(rows: Sequence[Sequence[object]]) -> dict[str, int]:
    return {row[0]: row[1] for row in rows}  # type: ignore[misc]  # columns


async def _write_released(session: PostgresSession, rows: Batch, now: datetime) -> None:
    """Write runs that ended without a result, and notify other workers."""
    await close_runs(session, rows, now)
    await write_states(session, rows)
    await session.insert("insert_events", rows.event_rows())
    await session.notify()


async def write_states(session: PostgresSession, rows: Batch) -> None:
    if rows.states:
        await session.run("write_states", as_json(rows.states))


async def close_runs(session: PostgresSession, batch: Batch, now: datetime) -> None:
    if batch.closed:
        tenant_ids, run_ids, statuses, errors = columns(batch.closed, 4)
        await session.run("close_runs", now, tenant_ids, run_ids, statuses, errors)
