"""Presence on PostgreSQL: a session-level advisory lock on a separate connection, and a heartbeat row."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import to_us
from mainspring.domain.schedule.governor import CronReader
from mainspring.ports.presence import ALIVE_WITHIN_MS, SILENT_MS, SILENT_MS_WITHOUT_LOCK, Freed, WorkerRow
from mainspring.stores.claim_batch import Batch, end_lost_all, give_back_all
from mainspring.stores.postgres.database import PostgresDatabase
from mainspring.stores.postgres.schedule import PostgresSchedule, close_runs, write_states
from mainspring.stores.postgres.session import PostgresSession

# After a restart of the server every lock is free until its process has reconnected.
SETTLE_MS = 5_000

End = Callable[[Sequence[Endpoint], datetime, CronReader], Batch]


class PostgresPresence:
    def __init__(self, database: PostgresDatabase, schedule: PostgresSchedule, cron: CronReader) -> None:
        self._db = database
        self._schedule = schedule
        self._cron = cron
        self._silent_ms = SILENT_MS_WITHOUT_LOCK if database.behind_bouncer else SILENT_MS

    async def appear(self, worker: str) -> None:
        await self._db.lasting.hold(worker)

    async def beat(self, worker: str, kinds: Mapping[str, int]) -> tuple[str, ...]:
        async with self._db.statement() as session:
            rows = await session.rows(
                "beat_and_read_clock",
                self._db.clock_override,
                worker,
                list(kinds),
                list(kinds.values()),
                self._silent_ms,
            )
            if self._db.behind_bouncer:  # its connections outlive those to the server
                self._db.note_server(await session.value("server_start"))
        return tuple(str(row[0]) for row in rows)

    async def free_lost(self, suspects: Sequence[str]) -> Freed:
        if not self._db.lasting.has_settled(SETTLE_MS):
            return Freed()  # our own lock was lost a moment ago: others lost theirs too, and will recover them
        async with self._db.transaction() as session:
            if not await session.value("try_freeing_lock"):
                return Freed()
            lost = tuple(
                str(row[0])
                for row in await session.rows(
                    "lost_workers_and_read_clock", list(suspects), self._db.clock_override, self._silent_ms, SETTLE_MS
                )
            )
            freed = await self._free(session, lost, end_lost_all) if lost else Freed()
        if freed.workers:
            self._schedule.wake()
        return freed

    async def leave(self, worker: str) -> None:
        async with self._db.transaction() as session:
            await self._free(session, (worker,), give_back_all)

    async def alive(self) -> list[WorkerRow]:
        async with self._db.statement() as session:
            rows = await session.rows(
                "alive_and_read_clock", self._db.clock_override, ALIVE_WITHIN_MS, self._db.behind_bouncer
            )
        return [WorkerRow(*row) for row in rows]  # type: ignore[arg-type]  # columns

    async def _free(self, session: PostgresSession, workers: tuple[str, ...], end: End) -> Freed:
        """A row that another transaction holds is left to the next look, and so is the worker it belongs to."""
        now = await session.now()
        locked = {str(row[0]): int(str(row[1])) for row in await session.rows("lock_leased_by", list(workers))}
        rows = end(await self._schedule.endpoints_at(session, locked), now, self._cron)
        await close_runs(session, rows, now)
        await write_states(session, rows)
        await session.insert("insert_events", rows.event_rows())
        (counts,) = await session.rows("free_work", list(workers), to_us(now), now)
        if not await session.value("is_leased_by", list(workers)):
            await session.run("forget_lost", list(workers))
        await session.notify()
        return Freed(workers, len(rows.endpoints), *(int(str(count)) for count in counts))
