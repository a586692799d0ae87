"""Steps of the clock, on SQLite."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import cast

from mainspring.domain.endpoint import Endpoint
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
from mainspring.stores.rows import id_floor, state_values
from mainspring.stores.sqlite.connection import SqliteConnection, instant, microseconds
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.sqlite.endpoints import add_events
from mainspring.stores.sqlite.schedule import encoded, endpoint_row

_MICROSECOND = timedelta(microseconds=1)


class SqliteClock:
    def __init__(self, database: SqliteDatabase, wake: Callable[[], None], cron: CronReader) -> None:
        self._db = database
        self._wake = wake
        self._cron = cron

    async def now(self) -> datetime:
        return self._db.clock.now()

    async def newest_stored_at(self) -> datetime | None:
        return instant(await self._db.read(lambda db: db.value("newest_stored_at")))

    async def add_report(self, report: ClockReport) -> bool:
        r = report

        def work(db: SqliteConnection) -> bool:
            db.run("forget_clock_reports", r.at - REPORTS_KEPT)
            near = (r.at - SAME_STEP, r.at + SAME_STEP)
            return bool(db.run("add_clock_report", r.id, r.at, r.kind, r.ms, r.worker, r.changed, *near))

        return await self._db.write(work)

    async def tell(self, report_id: str, changed: int) -> None:
        def work(db: SqliteConnection) -> None:
            db.run("count_clock_report", changed, report_id)
            report = next(each for each in _reports(db, from_us(0), TENANTS_TOLD_MAX) if each.id == report_id)
            tenants = [str(tenant_id) for (tenant_id,) in db.rows("tenants")[:TENANTS_TOLD_MAX]]
            add_events(db, [step_event(report, each) for each in tenants])

        await self._db.write_much(work)

    async def reports(self, since: datetime, limit: int) -> list[ClockReport]:
        return await self._db.read(lambda db: _reports(db, since, limit))

    async def bring_back(self, after_id: str, limit: int, back: timedelta, lease_margin_ms: int) -> BroughtBack:
        soon = self._db.clock.now() + AHEAD_MIN
        rows = await self._db.read(lambda db: db.rows("endpoints_ahead", after_id, soon, limit))
        ids = [str(row[0]) for row in rows]

        def work(db: SqliteConnection) -> int:
            now, changed = self._db.clock.now(), 0
            for row in db.rows("endpoints_by_id", encoded(ids)):
                old = endpoint_row(row)
                change = brought_back(old, now, back, _ran(db, old, now), lease_margin_ms, self._cron)
                if change.endpoint != old:
                    db.run("write_state", *state_values(change.endpoint, microseconds), old.id)
                    add_events(db, change.events)
                    changed += 1
            return changed

        changed = await self._db.write_much(work) if ids else 0
        if changed:
            self._wake()
        return BroughtBack(ids[-1] if len(ids) == limit else "", changed)

    async def bring_claims_back(self, back: timedelta) -> None:
        def work(db: SqliteConnection) -> None:
            now = self._db.clock.now()
            now_us, soon = to_us(now), now + AHEAD_MIN
            db.run("bring_workers_back", now, soon)
            db.run("bring_deliveries_back", now, back // _MICROSECOND, soon)
            db.run("bring_effects_back", back // _MICROSECOND, now_us, to_us(soon))
            db.run("bring_partitions_back", now_us, to_us(now + PARTITION_LEASE_MAX))

        await self._db.write_much(work)

    async def partitions(self) -> list[PartitionClock]:
        rows = await self._db.read(lambda db: db.rows("partition_clocks"))
        return [partition_clock(cast("tuple[int, int, int, int]", row), self._db.clock.now()) for row in rows]

    async def repair_partition(self, partition: int) -> RepairedPartition | None:
        def work(db: SqliteConnection) -> RepairedPartition | None:
            now = self._db.clock.now()
            rows = cast("list[tuple[int, int, int, int]]", db.rows("partition_clocks"))
            row = next((each for each in rows if each[0] == partition), None)
            if row is None or partition_clock(row, now).ahead <= timedelta(0):
                return None
            (shift, zero_us), tick, soon = moved_zero(row, now), row[1], soon_us(now, AHEAD_MIN)
            moved = int(str(db.value("count_moved_ahead", partition, soon)))
            waiting = _move_waits(db, partition, tick, shift, soon)
            db.run("date_arrivals_now", to_us(now), partition, soon)
            db.run("add_partition_zero", partition, 0, row[2])
            db.run("add_partition_zero", partition, tick + 1, zero_us)
            db.run("move_partition_zero", zero_us, partition, tick)
            return RepairedPartition(partition, partition_clock(row, now).ahead, waiting, moved)

        return await self._db.write_much(work)

    async def zeros(self, partition: int) -> Sequence[tuple[int, datetime]]:
        rows = await self._db.read(lambda db: db.rows("partition_zeros", partition))
        return [(cast(int, tick), from_us(cast(int, zero_us))) for tick, zero_us in rows]


def _reports(db: SqliteConnection, since: datetime, limit: int) -> list[ClockReport]:
    rows = db.rows("clock_reports", since, limit)
    return [ClockReport(row[0], instant(row[1]), *row[2:]) for row in rows]  # type: ignore[arg-type]  # columns


def _ran(db: SqliteConnection, endpoint: Endpoint, now: datetime) -> tuple[datetime, datetime] | None:
    if endpoint.cron is None:
        return None
    ((first, last),) = db.rows("slots_ahead", endpoint.id, id_floor("run", now), now)
    return None if first is None or last is None else (from_us(cast(int, first)), from_us(cast(int, last)))


def _move_waits(db: SqliteConnection, partition: int, tick: int, shift: int, soon: int) -> int:
    """Executions that waited before the clock was set ahead wait for the same instant, which is another tick now."""
    after, count = "", 0
    while rows := db.rows("waiting_executions", partition, tick, after, WAITING_PAGE):
        for row in rows:
            execution_id, ready_tick = row[:2]
            if (found := waits_on(row, tick, shift, soon)) is None:
                continue
            db.run("put_waiting_execution", *found, execution_id)
            if found[0] is not None:
                db.run("move_place", found[0], partition, ready_tick, execution_id)
            count += 1
        after = str(rows[-1][0])
    return count
