"""What the janitor and the watchdog need, on SQLite."""

from datetime import timedelta

import apsw

from mainspring.domain.advice.proposal import told
from mainspring.domain.schedule.fairness import SLOW_AFTER_MS
from mainspring.domain.schedule.queue import Flight, Queue, Waiting
from mainspring.failpoints import failpoint
from mainspring.ports.presence import ALIVE_WITHIN_MS
from mainspring.ports.upkeep import LIMITS, Backlog, DeadRows, EventLag, Retention, StoreFacts, Swept
from mainspring.stores.claim_batch import USAGE_KEPT, month_of
from mainspring.stores.host_rates import caps_from
from mainspring.stores.rows import id_floor, zombie_event
from mainspring.stores.schema import check_applied, newer_than_known
from mainspring.stores.sqlite.connection import PACKAGE, SqliteConnection, instant
from mainspring.stores.sqlite.database import SqliteDatabase
from mainspring.stores.sqlite.endpoints import add_events
from mainspring.stores.sqlite.proposals import proposal_row

WORKERS_KEPT = timedelta(days=1)
ENDPOINTS_PER_LOOK = 50


class SqliteUpkeep:
    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database
        self._checked_up_to = ""

    async def close_zombies(self, lease_over_before_ms: int, limit: int) -> int:
        def work(db: SqliteConnection) -> int:
            now = self._db.clock.now()
            before = now - timedelta(milliseconds=lease_over_before_ms)
            closed = 0
            for (tenant_id,) in db.rows("tenants"):
                zombies = [(str(row[0]), str(row[1])) for row in db.rows("zombies", tenant_id, before, limit)]
                for _, run_id in zombies:
                    closed += db.run("close_zombie", now, tenant_id, run_id)
                add_events(db, [zombie_event(now, str(tenant_id), *zombie) for zombie in zombies])
            return closed

        return await self._db.write_much(work)

    async def expire_proposals(self, limit: int) -> int:
        def work(db: SqliteConnection) -> int:
            now = self._db.clock.now()
            expired = [proposal_row(row) for row in db.rows("expire_proposals", now, limit)]
            left = {
                each.endpoint_id: int(str(db.value("count_pending_proposals", each.tenant_id, now, each.endpoint_id)))
                for each in expired
            }
            add_events(db, [told(each, now, left[each.endpoint_id]) for each in expired])
            return len(expired)

        is_due = await self._db.read(lambda db: db.value("any_expired_proposal", self._db.clock.now()))
        return await self._db.write_much(work) if is_due else 0

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        return await self._db.write_much(lambda db: self._sweep(db, keep, batch))

    async def backlog(self, late_ms: int) -> Backlog:
        def work(db: SqliteConnection) -> Backlog:
            now = self._db.clock.now()
            before = now - timedelta(milliseconds=late_ms)
            looks = {str(tenant_id): db.rows("backlog", tenant_id, before)[0] for (tenant_id,) in db.rows("tenants")}
            late = {tenant_id: int(str(due)) for tenant_id, (due, _) in looks.items() if due}
            oldest = min((at for _, at in looks.values() if at is not None), default=None)  # type: ignore[type-var]  # INTEGER
            return Backlog(now, sum(late.values()), instant(oldest), int(str(db.value("running"))), late)

        return await self._db.read(work)

    async def event_lag(self) -> EventLag:
        return EventLag(self._db.clock.now(), None)

    async def dead_rows(self) -> DeadRows:
        return DeadRows(0, 0)

    async def queue(self, late_ms: int) -> Queue:
        def work(db: SqliteConnection) -> Queue:
            now = self._db.clock.now()
            before, since = now - timedelta(milliseconds=late_ms), now - timedelta(milliseconds=SLOW_AFTER_MS)
            workers = db.rows("alive", now - timedelta(milliseconds=ALIVE_WITHIN_MS))
            waiting = [row for (tenant_id,) in db.rows("tenants") for row in db.rows("waiting", tenant_id, before)]
            return Queue(
                now,
                tuple(Waiting(*row[:4], instant(row[4])) for row in waiting),  # type: ignore[arg-type, call-arg]  # columns
                tuple(
                    Flight(*row[:3], bool(row[3]), bool(row[4]), row[5])  # type: ignore[arg-type, call-arg]  # columns
                    for row in db.rows("flights", since, now)
                ),
                {str(row[0]): int(str(row[2])) for row in workers if row[1] == "scheduler"},
                {str(host): instant(at) for host, at in db.rows("host_rates", now)},  # type: ignore[misc]  # INTEGER
                caps_from(db.value("installation", LIMITS)),
            )

        return await self._db.read(work)

    async def installation(self, key: str, value_if_new: str = "") -> str:
        def work(db: SqliteConnection) -> str:
            if value_if_new:
                db.run("set_installation", key, value_if_new)
            return str(db.value("installation", key) or "")

        return await (self._db.write(work) if value_if_new else self._db.read(work))

    async def put_installation(self, key: str, value: str) -> None:
        await self._db.write(lambda db: db.run("put_installation", key, value))
        failpoint("after_put_installation")

    async def facts(self) -> StoreFacts:
        applied = await self._db.read(lambda db: db.rows("applied_migrations"))
        schema = max(int(str(number)) for (number,) in applied)
        return StoreFacts("sqlite", apsw.sqlite_lib_version(), schema, self._db.migrated)

    async def probe(self) -> None:
        def work(db: SqliteConnection) -> None:
            check_applied([row[0] for row in db.rows("applied_migrations")], PACKAGE)
            db.run("put_installation", "probed_at", str(self._db.clock.now()))

        await self._db.write(work)

    async def newer_schema(self) -> str | None:
        applied = await self._db.read(lambda db: db.rows("applied_migrations"))
        return newer_than_known([row[0] for row in applied], PACKAGE)

    async def check_identity(self) -> None:
        self._db.check_file()

    def _sweep(self, db: SqliteConnection, keep: Retention, batch: int) -> Swept:
        """One small batch of whatever there is to remove, so that a claim never waits long for its turn."""
        now = self._db.clock.now()
        db.run("forget_workers", now - WORKERS_KEPT)
        db.run("forget_usage", month_of(now - USAGE_KEPT))
        db.run("forget_host_rates", now - WORKERS_KEPT)
        for (tenant_id,) in db.rows("tenants"):
            for query, before in (("sweep_runs", keep.runs_before), ("sweep_bodies", keep.bodies_before)):
                if removed := db.run(query, tenant_id, id_floor("run", before), batch):
                    return Swept(removed, done=False)
        for query in ("sweep_events", "sweep_proposals"):
            if removed := db.run(query, keep.events_before, batch):
                return Swept(removed, done=False)
        for (endpoint_id,) in db.rows("crowded_endpoints", self._checked_up_to, ENDPOINTS_PER_LOOK):
            if removed := db.run("sweep_surplus", endpoint_id, keep.runs_per_endpoint_max, batch):
                return Swept(removed, done=False)
            self._checked_up_to = str(endpoint_id)
        return self._next_page(db)

    def _next_page(self, db: SqliteConnection) -> Swept:
        if db.rows("crowded_endpoints", self._checked_up_to, 1):
            return Swept(0, done=False)
        self._checked_up_to = ""
        return Swept(0, done=True)
