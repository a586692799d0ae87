"""Steps of the clock: reports, and how endpoints and workflow partitions follow a clock that was set back."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import cast

import msgspec
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import from_us, to_us
from mainspring.domain.schedule.anchor import push_ahead
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.clock_steps import AHEAD_MIN, ClockReport, bring_back, step_event
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.clock import BroughtBack, PartitionClock, RepairedPartition
from mainspring.stores.events import add_events
from mainspring.stores.rows import ENDPOINT_INSTANTS, endpoint_from, id_floor, state_values
from mainspring.stores.session import Database, Session
from mainspring.workflow.model import ExecutionState, LogicalClock

REPORT_LOCK = 0x6D61696E73706B  # "mainspk"
TENANTS_TOLD_MAX = 1_000
REPORTS_KEPT = timedelta(days=30)
SAME_STEP = timedelta(seconds=15)  # several processes detect the same step within one round
PARTITION_LEASE_MAX = timedelta(minutes=5)  # longer than any lease of a partition
WAITING_PAGE = 500
_STATE = msgspec.json.Decoder(ExecutionState)
_MICROSECOND = timedelta(microseconds=1)


class SqlClockStore:
    def __init__(self, database: Database, wake: Callable[[], None], cron: CronReader) -> None:
        self._db = database
        self._wake = wake
        self._cron = cron

    async def now(self) -> datetime:
        return await self._db.now()

    async def newest_stored_at(self) -> datetime | None:
        async with self._db.reading() as session:
            return session.instant(await session.value("newest_stored_at"))

    async def add_report(self, report: ClockReport) -> bool:
        r = report
        async with self._db.transaction() as session:
            await session.lock("lock_clock_reports", REPORT_LOCK)
            await session.run("forget_clock_reports", r.at - REPORTS_KEPT)
            near = (r.at - SAME_STEP, r.at + SAME_STEP)
            return bool(await session.run("add_clock_report", r.id, r.at, r.kind, r.ms, r.worker, r.changed, *near))

    async def tell(self, report_id: str, changed: int) -> None:
        async def work(session: Session) -> None:
            await session.run("count_clock_report", changed, report_id)
            found = await _reports(session, from_us(0), TENANTS_TOLD_MAX)
            report = next(each for each in found if each.id == report_id)
            tenants = [str(row[0]) for row in (await session.rows("tenant_ids"))[:TENANTS_TOLD_MAX]]
            await add_events(session, [step_event(report, each) for each in tenants])

        await self._db.run_long(work)

    async def reports(self, since: datetime, limit: int) -> list[ClockReport]:
        async with self._db.reading() as session:
            return await _reports(session, since, limit)

    async def bring_back(self, after_id: str, limit: int, back: timedelta, lease_margin_ms: int) -> BroughtBack:
        async with self._db.reading() as session:
            soon = await session.now() + AHEAD_MIN
            ids = [str(row[0]) for row in await session.rows("endpoints_ahead", after_id, soon, limit)]

        async def work(session: Session) -> int:
            locked, now = await session.lock_endpoints(ids, skip_held=True)  # the rest: the next time
            return await self._bring_back(session, list(locked), now, back, lease_margin_ms)

        changed = await self._db.run_long(work) if ids else 0
        if changed:
            self._wake()
        return BroughtBack(ids[-1] if len(ids) == limit else "", changed)

    async def _bring_back(
        self, session: Session, locked: list[str], now: datetime, back: timedelta, lease_margin_ms: int
    ) -> int:
        rows = await session.rows("endpoints_by_id", locked)
        endpoints = [endpoint_from(session.instants(row, ENDPOINT_INSTANTS)) for row in rows]
        crons = [each.id for each in endpoints if each.cron is not None]
        slots = [
            session.instants(row, (1, 2)) for row in await session.rows("slots_ahead", crons, id_floor("run", now), now)
        ]
        ran = {str(row[0]): cast("tuple[datetime, datetime]", (row[1], row[2])) for row in slots}
        states: list[tuple[object, ...]] = []
        events: list[Event] = []
        for old in endpoints:
            change = brought_back(old, now, back, ran.get(old.id), lease_margin_ms, self._cron)
            if change.endpoint != old:
                states.append((*state_values(change.endpoint), old.id))
                events.extend(change.events)
        if states:
            await session.update("write_states", states)
            await add_events(session, events)
            await session.notify()
        return len(states)

    async def bring_claims_back(self, back: timedelta) -> None:
        async def work(session: Session) -> None:
            now = await session.now()
            back_us, now_us, soon = back // _MICROSECOND, to_us(now), now + AHEAD_MIN
            await session.run("bring_workers_back", now, soon)
            await session.run("bring_deliveries_back", now, back_us, soon)
            await session.run("bring_effects_back", back_us, now_us, to_us(soon))
            await session.run("bring_partitions_back", now_us, to_us(now + PARTITION_LEASE_MAX))

        await self._db.run_long(work)

    async def partitions(self) -> list[PartitionClock]:
        async with self._db.reading() as session:
            now = await session.now()
            return [partition_clock(row, now) for row in await _partitions(session)]

    async def repair_partition(self, partition: int) -> RepairedPartition | None:
        async def work(session: Session) -> RepairedPartition | None:
            now = await session.now()
            row = next((each for each in await _partitions(session) if each[0] == partition), None)
            if row is None or partition_clock(row, now).ahead <= timedelta(0):
                return None
            (shift, zero_us), tick, soon = moved_zero(row, now), row[1], to_us(now + AHEAD_MIN)
            if not await session.run("move_partition_zero", zero_us, partition, tick):
                return None  # its writer moved it meanwhile
            await session.run("add_partition_zero", partition, 0, row[2])
            await session.run("add_partition_zero", partition, tick + 1, zero_us)
            moved = int(str(await session.value("count_moved_ahead", partition, soon)))
            waiting = await _move_waits(session, partition, tick, shift, soon)
            await session.run("date_arrivals_now", to_us(now), partition, soon)
            return RepairedPartition(partition, partition_clock(row, now).ahead, waiting, moved)

        return await self._db.run_long(work)

    async def zeros(self, partition: int) -> Sequence[tuple[int, datetime]]:
        async with self._db.reading() as session:
            rows = await session.rows("partition_zeros", partition)
        return [(cast(int, tick), from_us(cast(int, zero_us))) for tick, zero_us in rows]


async def _reports(session: Session, since: datetime, limit: int) -> list[ClockReport]:
    rows = await session.rows("clock_reports", since, limit)
    return [ClockReport(*session.instants(row, (1,))) for row in rows]  # type: ignore[arg-type]  # columns


async def _partitions(session: Session) -> list[tuple[int, int, int, int]]:
    return [cast("tuple[int, int, int, int]", tuple(row)) for row in await session.rows("partition_clocks")]


async def _move_waits(session: Session, partition: int, tick: int, shift: int, soon: int) -> int:
    """Executions that waited before the clock was set ahead wait for the same time, which is another tick now."""
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


def brought_back(
    endpoint: Endpoint,
    now: datetime,
    back: timedelta,
    ran: tuple[datetime, datetime] | None,
    lease_margin_ms: int,
    cron: CronReader,
) -> Change:
    """What a step back makes of an endpoint. One that cannot be planned is postponed and does not delay others."""
    try:
        return bring_back(endpoint, now, back, ran, lease_margin_ms, cron)
    except Exception as fault:  # an exception of one endpoint concerns only that endpoint
        text = f"{type(fault).__name__}: {fault}"[:500]
        event = Event(EventType.ENDPOINT_FAULTY, now, endpoint.tenant_id, endpoint.id, "", "system", {"fault": text})
        return Change(push_ahead(endpoint, now, text), (event,))


def partition_clock(row: tuple[int, int, int, int], now: datetime) -> PartitionClock:
    partition, tick, zero_us, resolution_ms = row
    reached = LogicalClock(0, from_us(zero_us), resolution_ms).reading(now)
    return PartitionClock(partition, tick, timedelta(milliseconds=(tick - reached) * resolution_ms), now)


def moved_zero(row: tuple[int, int, int, int], now: datetime) -> tuple[int, int]:
    """By how many ticks a partition is ahead, and the time it counts from so that it is not."""
    _, tick, zero_us, resolution_ms = row
    shift = tick - LogicalClock(0, from_us(zero_us), resolution_ms).reading(now)
    return shift, zero_us - shift * resolution_ms * 1000


def waits_on(row: Sequence[object], tick: int, shift: int, soon: int) -> tuple[int | None, str] | None:
    """The ready tick and the state of an execution that waits for the same time as before; None: it need not move.

    A wait that began while the clock was ahead counts from its beginning, and keeps its tick.
    """
    state, created_us, begun_tick = _STATE.decode(str(row[2])), cast(int, row[3]), cast("int | None", row[4])
    is_before = created_us <= soon if begun_tick is None else begun_tick <= tick - shift
    if not is_before or state.wake_tick is None or state.wake_tick <= tick:
        return None
    later = replace(state, wake_tick=state.wake_tick + shift)
    return later.ready_tick, msgspec.json.encode(later).decode()
