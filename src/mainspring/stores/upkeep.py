"""The store of the janitor and the watchdog; `sqlite/upkeep.py` and `postgres/upkeep.py` add what differs in kind."""

from datetime import datetime, timedelta
from typing import Any

from mainspring.domain.errors import Misconfigured
from mainspring.domain.event import Event, EventType
from mainspring.domain.instant import to_us
from mainspring.domain.schedule.fairness import SLOW_AFTER_MS
from mainspring.domain.schedule.queue import Flight, Queue, Waiting
from mainspring.failpoints import failpoint
from mainspring.ports.presence import ALIVE_WITHIN_MS
from mainspring.ports.upkeep import DRAIN_UNTIL, LIMITS, MOVE, MOVED_TO, Backlog, Retention, Swept
from mainspring.stores.claim_batch import USAGE_KEPT, month_of
from mainspring.stores.events import add_events
from mainspring.stores.host_rates import caps_from
from mainspring.stores.proposals import expire_proposals
from mainspring.stores.rows import id_floor, zombie_event
from mainspring.stores.schema import moved_text
from mainspring.stores.session import Database, Session

WORKERS_KEPT = timedelta(days=1)
ENDPOINTS_PER_LOOK = 50


class SqlUpkeepStore:
    has_partitions = False  # with them, old runs are removed by `remove_partition`

    def __init__(self, database: Database) -> None:
        self._db = database
        self._checked_up_to = ""

    async def close_zombies(self, lease_over_before_ms: int, limit: int) -> int:
        async def work(session: Session) -> int:
            now = await session.now()
            before = now - timedelta(milliseconds=lease_over_before_ms)
            zombies = [map(str, row) for row in await session.rows("close_zombies", now, before, limit)]
            await add_events(session, [zombie_event(now, *zombie) for zombie in zombies])
            return len(zombies)

        return await self._db.run_long(work)

    async def expire_proposals(self, limit: int) -> int:
        async with self._db.reading() as session:
            if not await session.value("any_expired_proposal", await session.now()):
                return 0

        async def work(session: Session) -> int:
            events = await expire_proposals(session, limit)
            await add_events(session, events)
            return len(events)

        return await self._db.run_long(work)

    async def backlog(self, late_ms: int) -> Backlog:
        async def work(session: Session) -> Backlog:
            now = await session.now()
            found = await session.rows("backlog", now - timedelta(milliseconds=late_ms))
            running = int(str(await session.value("running")))
            rows: list[list[Any]] = [session.instants(row, (2,)) for row in found]
            late = {tenant_id: due for tenant_id, due, _ in rows}
            oldest = min((at for _, _, at in rows), default=None)
            return Backlog(now, sum(late.values()), oldest, running, late)

        return await self._db.run_read(work)

    async def queue(self, late_ms: int) -> Queue:
        async def work(session: Session) -> Queue:
            now = await session.now()
            waiting = await session.rows("waiting", now - timedelta(milliseconds=late_ms))
            flights: Any = await session.rows("flights", now - timedelta(milliseconds=SLOW_AFTER_MS), now)
            places: Any = await session.rows("scheduler_places", now - timedelta(milliseconds=ALIVE_WITHIN_MS))
            rates: Any = [session.instants(row, (1,)) for row in await session.rows("host_rates", now)]
            limits = await session.value("installation", LIMITS)
            return Queue(
                now,
                tuple(Waiting(*session.instants(row, (4,))) for row in waiting),  # type: ignore[arg-type]  # columns
                tuple(Flight(*row[:3], bool(row[3]), bool(row[4]), row[5]) for row in flights),  # type: ignore[call-arg]  # columns
                dict(places),
                dict(rates),
                caps_from(limits),
            )

        return await self._db.run_read(work)

    async def installation(self, key: str, value_if_new: str = "") -> str:
        async with self._db.statement() if value_if_new else self._db.reading() as session:
            if value_if_new:
                await session.run("set_installation", key, value_if_new)
            return str(await session.value("installation", key) or "")

    async def put_installation(self, key: str, value: str) -> None:
        async with self._db.statement() as session:
            await session.run("put_installation", key, value)
        failpoint("after_put_installation")

    async def check_identity(self) -> float:
        async with self._db.looking() as session:
            found = {
                str(key): str(value) for key, value in await session.rows("move_marks", MOVED_TO, MOVE, DRAIN_UNTIL)
            }
            now = await session.now() if DRAIN_UNTIL in found else None
        if MOVED_TO in found:
            raise Misconfigured(moved_text(found[MOVED_TO]), setting="MAINSPRING_DATABASE_URL")
        if MOVE in found:
            raise Misconfigured(
                "a move of an installation to this database has not finished; run `mainspring move` again with the "
                "settings of the source, or name another database",
                setting="MAINSPRING_DATABASE_URL",
            )
        return 0.0 if now is None else max(0.0, int(found[DRAIN_UNTIL]) / 1_000_000 - to_us(now) / 1_000_000)

    async def _sweep(self, session: Session, keep: Retention, batch: int) -> Swept:
        """Remove one small batch of anything past its retention, so that a claim never waits long."""
        now = await session.now()
        await session.run("forget_workers", now - WORKERS_KEPT)
        await session.run("forget_usage", month_of(now - USAGE_KEPT))
        await session.run("forget_host_rates", now - WORKERS_KEPT)
        await session.run("sweep_maintenance", keep.runs_before)
        for (tenant_id,) in await session.rows("tenant_ids"):
            runs = () if self.has_partitions else (("sweep_runs", keep.runs_before),)
            for query, before in (*runs, ("sweep_bodies", keep.bodies_before)):
                if removed := await session.run(query, tenant_id, id_floor("run", before), batch):
                    return Swept(removed, done=False)
        # A partition of events is removed as a whole: only events that are mixed with newer ones are swept.
        events_before = keep.events_before - keep.events_span if self.has_partitions else keep.events_before
        for query, before in (("sweep_events", events_before), ("sweep_proposals", keep.events_before)):
            if removed := await session.run(query, before, batch):
                return Swept(removed, done=False)
        if removed := await _remove_done(session, keep.done_before, now, batch):
            return Swept(removed, done=False)
        for (endpoint_id,) in await session.rows("crowded_endpoints", self._checked_up_to, ENDPOINTS_PER_LOOK):
            if removed := await session.run("sweep_surplus", endpoint_id, keep.runs_per_endpoint_max, batch):
                return Swept(removed, done=False)
            self._checked_up_to = str(endpoint_id)
        if await session.rows("crowded_endpoints", self._checked_up_to, 1):
            return Swept(0, done=False)
        self._checked_up_to = ""
        return Swept(0, done=True)


async def _remove_done(session: Session, before: datetime, now: datetime, batch: int) -> int:
    """Remove a batch of endpoints whose single run ended long ago, with their runs."""
    found = [map(str, row) for row in await session.rows("done_endpoints", before, batch)]
    events = []
    for tenant_id, endpoint_id, name in found:
        if await session.run("delete_endpoint", tenant_id, endpoint_id):
            await session.run("delete_runs", endpoint_id)
            data: dict[str, object] = {"name": name}
            events.append(Event(EventType.ENDPOINT_DELETED, now, tenant_id, endpoint_id, "", "system", data))
    await add_events(session, events)
    return len(events)
