"""Steps of the clock, on PostgreSQL."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import cast

from mainspring.domain.event import Event
from mainspring.domain.instant import from_us, to_us
from mainspring.domain.schedule.clock_steps import AHEAD_MIN, ClockReport, step_event
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.clock import BroughtBack, PartitionClock, RepairedPartition
from mainspring.stores.clock import (
    PARTITION_LEASE_MAX,
    REPORTS_KEPT,
    SAME_STEP,
    TENANTS_TOLD_MAX,
    WAITING_PAGE,
    brought_back,
    moved_zero,
    partition_clock,
    soon_us,
    waits_on,
)
from mainspring.stores.postgres.database import PostgresDatabase, PostgresSession, as_json
from mainspring.stores.postgres.endpoints import add_events
from mainspring.stores.postgres.schedule import lock
from mainspring.stores.rows import endpoint_from, id_floor, state_values

REPORT_LOCK = 0x6D61696E73706B  # "mainspk"


class PostgresClock:
    def __init__(self, database: PostgresDatabase, wake: Callable[[], None], cron: CronReader) -> None:
        self._db = database
        self._wake = wake
        self._cron = cron

    async def now(self) -> datetime:
        return await self._db.now()

    async def newest_stored_at(self) -> datetime | None:
        async with self._db.statement() as session:
            return cast("datetime | None", await session.value("newest_stored_at"))

    async def add_report(self, report: ClockReport) -> bool:
        r = report
        async with self._db.transaction() as session:
            await session.value("lock_clock_reports", REPORT_LOCK)
            await session.run("forget_clock_reports", r.at - REPORTS_KEPT)
            near = (r.at - SAME_STEP, r.at + SAME_STEP)
            return bool(await session.run("add_clock_report", r.id, r.at, r.kind, r.ms, r.worker, r.changed, *near))

    async def tell(self, report_id: str, changed: int) -> None:
        async with self._db.transaction() as session:
            await session.run("count_clock_report", changed, report_id)
            found = await _reports(session, from_us(0), TENANTS_TOLD_MAX)
            report = next(each for each in found if each.id == report_id)
            tenants = [str(row[0]) for row in (await session.rows("tenant_ids"))[:TENANTS_TOLD_MAX]]
            await add_events(session, [step_event(report, each) for each in tenants])

    async def reports(self, since: datetime, limit: int) -> list[ClockReport]:
        async with self._db.statement() as session:
            return await _reports(session, since, limit)

    async def bring_back(self, after_id: str, limit: int, back: timedelta, lease_margin_ms: int) -> BroughtBack:
        soon = await self._db.now() + AHEAD_MIN
        async with self._db.statement() as session:
            ids = [str(row[0]) for row in await session.rows("endpoints_ahead", after_id, soon, limit)]
        changed = await self._bring_back(ids, back, lease_margin_ms) if ids else 0
        if changed:
            self._wake()
        return BroughtBack(ids[-1] if len(ids) == limit else "", changed)

    async def _bring_back(self, ids: Sequence[str], back: timedelta, lease_margin_ms: int) -> int:
        states: list[tuple[object, ...]] = []
        events: list[Event] = []
        async with self._db.transaction() as session:
            locked, now = await lock(self._db, session, ids, "lock_free_and_read_clock")  # the rest: the next time
            endpoints = [endpoint_from(row) for row in await session.rows("endpoints_by_id", list(locked))]
            crons = [each.id for each in endpoints if each.cron is not None]
            rows = await session.rows("slots_ahead", crons, id_floor("run", now), now)
            ran = {str(row[0]): cast("tuple[datetime, datetime]", (row[1], row[2])) for row in rows}
            for old in endpoints:
                change = brought_back(old, now, back, ran.get(old.id), lease_margin_ms, self._cron)
                if change.endpoint != old:
                    states.append((*state_values(change.endpoint), old.id))
                    events.extend(change.events)
            if states:
                await session.run("write_states", as_json(states))
                await add_events(session, events)
                await self._db.notify(session)
        return len(states)

    async def bring_claims_back(self, back: timedelta) -> None:
        async with self._db.transaction() as session:
            now = await self._db.now_in(session)
            back_us, now_us, soon = back // timedelta(microseconds=1), to_us(now), now + AHEAD_MIN
            await session.run("bring_workers_back", now, soon)
            await session.run("bring_deliveries_back", now, back, soon)
            await session.run("bring_effects_back", back_us, now_us, to_us(soon))
            await session.run("bring_partitions_back", now_us, to_us(now + PARTITION_LEASE_MAX))

    async def partitions(self) -> list[PartitionClock]:
        now = await self._db.now()
        async with self._db.statement() as session:
            return [partition_clock(row, now) for row in await _partitions(session)]

    async def repair_partition(self, partition: int) -> RepairedPartition | None:
        async with self._db.transaction() as session:
            now = await self._db.now_in(session)
            row = next((each for each in await _partitions(session) if each[0] == partition), None)
            if row is None or partition_clock(row, now).ahead <= timedelta(0):
                return None
            (shift, zero_us), tick, soon = moved_zero(row, now), row[1], soon_us(now, AHEAD_MIN)
            await session.run("add_partition_zero", partition, 0, row[2])
            await session.run("add_partition_zero", partition, tick + 1, zero_us)
            if not await session.run("move_partition_zero", zero_us, partition, tick):
                return None  # its writer moved it meanwhile
            moved = int(str(await session.value("count_moved_ahead", partition, soon)))
            waiting = await _move_waits(session, partition, tick, shift, soon)
            await session.run("date_arrivals_now", to_us(now), partition, soon)
            return RepairedPartition(partition, partition_clock(row, now).ahead, waiting, moved)

    async def zeros(self, partition: int) -> Sequence[tuple[int, datetime]]:
        async with self._db.statement() as session:
            rows = await session.rows("partition_zeros", partition)
        return [(cast(int, tick), from_us(cast(int, zero_us))) for tick, zero_us in rows]


async def _reports(session: PostgresSession, since: datetime, limit: int) -> list[ClockReport]:
    return [ClockReport(*row) for row in await session.rows("clock_reports", since, limit)]  # type: ignore[arg-type]  # columns


async def _partitions(session: PostgresSession) -> list[tuple[int, int, int, int]]:
    return [cast("tuple[int, int, int, int]", tuple(row)) for row in await session.rows("partition_clocks")]


async def _move_waits(session: PostgresSession, partition: int, tick: int, shift: int, soon: int) -> int:
    """Executions that waited before the clock was set ahead wait for the same instant, which is another tick now."""
    after, count = "", 0
    while rows := await session.rows("waiting_executions", partition, tick, after, WAITING_PAGE):
        for row in rows:
            execution_id, ready_tick = row[:2]
            if (found := waits_on(row, tick, shift, soon)) is None:
                continue
            await session.run("put_waiting_execution", *found, execution_id)
            if found[0] is not None:
                await session.run("move_place", found[0], partition, ready_tick, execution_id)
            count += 1
        after = str(rows[-1][0])
    return count
