"""What the janitor and the watchdog need, on PostgreSQL."""

from datetime import timedelta

import asyncpg

from mainspring.domain.advice.proposal import told
from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.schedule.fairness import SLOW_AFTER_MS
from mainspring.domain.schedule.queue import Flight, Queue, Waiting
from mainspring.failpoints import failpoint
from mainspring.ports.presence import ALIVE_WITHIN_MS
from mainspring.ports.upkeep import (
    LIMITS,
    Backlog,
    DeadRows,
    EventLag,
    OpenTransaction,
    Retention,
    StoreFacts,
    Swept,
)
from mainspring.stores.claim_batch import USAGE_KEPT, month_of
from mainspring.stores.host_rates import caps_from
from mainspring.stores.postgres.database import PACKAGE, PostgresDatabase, PostgresSession
from mainspring.stores.postgres.endpoints import add_events
from mainspring.stores.postgres.events import horizon
from mainspring.stores.proposals import proposal_from
from mainspring.stores.rows import id_floor, zombie_event
from mainspring.stores.schema import check_applied, newer_than_known

WORKERS_KEPT = timedelta(days=1)
ENDPOINTS_PER_LOOK = 50


class PostgresUpkeep:
    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database
        self._checked_up_to = ""

    async def close_zombies(self, lease_over_before_ms: int, limit: int) -> int:
        async with self._db.transaction() as session:
            now = await self._db.now_in(session)
            before = now - timedelta(milliseconds=lease_over_before_ms)
            zombies = [map(str, row) for row in await session.rows("close_zombies", now, before, limit)]
            await add_events(session, [zombie_event(now, *zombie) for zombie in zombies])
        return len(zombies)

    async def expire_proposals(self, limit: int) -> int:
        async with self._db.statement() as session:
            if not await session.value("any_expired_proposal", await self._db.now_in(session)):
                return 0
        async with self._db.transaction() as session:
            now = await self._db.now_in(session)
            expired = [proposal_from(row) for row in await session.rows("expire_proposals", now, limit)]
            left = {
                each.endpoint_id: await session.value("count_pending_proposals", each.tenant_id, now, each.endpoint_id)
                for each in expired
            }
            await add_events(session, [told(each, now, int(str(left[each.endpoint_id]))) for each in expired])
        return len(expired)

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        """One small batch of whatever there is to remove, each statement its own transaction."""
        now = await self._db.now()
        async with self._db.statement() as session:
            await session.run("forget_workers", now - WORKERS_KEPT)
            await session.run("forget_usage", month_of(now - USAGE_KEPT))
            await session.run("forget_host_rates", now - WORKERS_KEPT)
            for (tenant_id,) in await session.rows("tenant_ids"):
                for query, before in (("sweep_runs", keep.runs_before), ("sweep_bodies", keep.bodies_before)):
                    if removed := await session.run(query, tenant_id, id_floor("run", before), batch):
                        return Swept(removed, done=False)
            for query in ("sweep_events", "sweep_proposals"):
                if removed := await session.run(query, keep.events_before, batch):
                    return Swept(removed, done=False)
            return await self._sweep_surplus(session, keep.runs_per_endpoint_max, batch)

    async def backlog(self, late_ms: int) -> Backlog:
        now = await self._db.now()
        async with self._db.statement() as session:
            looks = await session.rows("backlog", now - timedelta(milliseconds=late_ms))
            running = int(str(await session.value("running")))
        late = {str(tenant_id): int(str(due)) for tenant_id, due, _ in looks}
        oldest = min((at for _, _, at in looks), default=None)  # type: ignore[type-var]  # timestamptz
        return Backlog(now, sum(late.values()), oldest, running, late)  # type: ignore[arg-type]  # timestamptz

    async def queue(self, late_ms: int) -> Queue:
        async with self._db.statement() as session:
            now = await self._db.now_in(session)
            waiting = await session.rows("waiting", now - timedelta(milliseconds=late_ms))
            flights = await session.rows("flights", now - timedelta(milliseconds=SLOW_AFTER_MS), now)
            _, *rates = await session.rows("host_rates_and_read_clock", now)
            limits = await session.value("installation", LIMITS)
            workers = await session.rows("alive_and_read_clock", now, ALIVE_WITHIN_MS, True)
        return Queue(
            now,
            tuple(Waiting(*row) for row in waiting),  # type: ignore[arg-type]  # columns
            tuple(Flight(*row) for row in flights),  # type: ignore[arg-type]  # columns
            {str(row[0]): int(str(row[2])) for row in workers if row[1] == "scheduler"},
            dict(rates),  # type: ignore[arg-type]  # columns
            caps_from(limits),
        )

    async def event_lag(self) -> EventLag:
        async with self._db.statement() as session:
            upto = await horizon(session)
            writers = [OpenTransaction(*row) for row in await session.rows("event_writers_and_read_clock")]  # type: ignore[arg-type]  # columns
            oldest_at = await session.value("oldest_held_event", upto)
            now = await self._db.now_in(session)
        return EventLag(now, oldest_at, tuple(writers) if oldest_at else ())  # type: ignore[arg-type]  # timestamptz

    async def dead_rows(self) -> DeadRows:
        async with self._db.statement() as session:
            ((dead, live),) = await session.rows("dead_rows")
            found = await session.rows("oldest_transaction_and_read_clock")
        oldest = [OpenTransaction(*row) for row in found]  # type: ignore[arg-type]  # columns
        return DeadRows(int(str(dead)), int(str(live)), oldest[0] if oldest else None)

    async def installation(self, key: str, value_if_new: str = "") -> str:
        async with self._db.statement() as session:
            if value_if_new:
                await session.run("set_installation", key, value_if_new)
            return str(await session.value("installation", key) or "")

    async def put_installation(self, key: str, value: str) -> None:
        async with self._db.statement() as session:
            await session.run("put_installation", key, value)
        failpoint("after_put_installation")

    async def facts(self) -> StoreFacts:
        async with self._db.statement() as session:
            version = str(await session.value("server_version"))
            applied = await session.rows("applied_migrations")
            above = bool(await session.value("is_above_policies"))
            owns = bool(await session.value("owns_tables"))
        schema = max(int(str(row[0])) for row in applied)
        return StoreFacts("postgresql", version, schema, self._db.migrated, above, owns)

    async def probe(self) -> None:
        try:
            async with self._db.transaction() as session:
                check_applied([row[0] for row in await session.rows("applied_migrations")], PACKAGE)
                await session.run("probe_schedule")
                await session.run("probe_run")
                await session.run("probe_event")
                await session.run("put_installation", "probed_at", str(await self._db.now_in(session)))
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError) as fault:
            raise StoreUnavailable(f"{fault}; run `mainspring migrate` with the newest version") from fault

    async def newer_schema(self) -> str | None:
        async with self._db.statement() as session:
            return newer_than_known([row[0] for row in await session.rows("applied_migrations")], PACKAGE)

    async def check_identity(self) -> None:
        """A server's database has no file that could be replaced."""

    async def _sweep_surplus(self, session: PostgresSession, most: int, batch: int) -> Swept:
        for (endpoint_id,) in await session.rows("crowded_endpoints", self._checked_up_to, ENDPOINTS_PER_LOOK):
            if removed := await session.run("sweep_surplus", endpoint_id, most, batch):
                return Swept(removed, done=False)
            self._checked_up_to = str(endpoint_id)
        if await session.rows("crowded_endpoints", self._checked_up_to, 1):
            return Swept(0, done=False)
        self._checked_up_to = ""
        return Swept(0, done=True)
