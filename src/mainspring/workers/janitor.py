"""The janitor: closes unfinished runs, removes data past its retention, and watches for late endpoints.

Each round is small, so that a claim never waits long for it:
    1 zombies    `running` rows whose lease ended long ago become timeouts
    2 proposals  pending proposals past their expiry become expired
    3 watchdog   reports due endpoints not started within `late_after`, and what they wait for: log, metric, event;
                 events that readers cannot see for that long: log, metric (an event would be held back too);
                 and overdue executions of workflows (`flow_watch`)
    4 calendars  finds holidays and events of the coming years, and gives endpoints their days
    5 room       partitions for future runs and events
    6 history    past its retention: partitions are dropped, other rows are removed a batch at a time; runs and events
                 only when they are archived, if there is an archive (`archive.py`)
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from itertools import count

import structlog
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.calendar import SeenCalendars
from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import Event, EventType
from mainspring.domain.history import span_width
from mainspring.domain.instant import rfc3339
from mainspring.domain.schedule.queue import Cause, Queue, QueueWait, waits
from mainspring.observe import Metrics
from mainspring.ports.records import RunStore
from mainspring.ports.upkeep import Backlog, Retention, RunRoom, UpkeepStore
from mainspring.workers.archive import HistoryArchiver
from mainspring.workers.tasks import end_tasks
from mainspring.workers.workflow_watch import WorkflowWatch

ROUND_S = 10.0
SWEEP_EVERY_ROUNDS = 30
SWEEP_BATCH = 1_000
SWEEP_PAUSE_S = 0.05  # between batches, so that the janitor never blocks others
ZOMBIES_PER_ROUND = 1_000
EXPIRED_PER_ROUND = 1_000
EVERY_RUN = (1 << 31) - 1  # a limit per endpoint would remove runs of today, which are not archived yet

log = structlog.get_logger()


class JanitorOptions(Struct, frozen=True):
    zombie_after: timedelta = timedelta(minutes=5)
    late_after: timedelta = timedelta(seconds=5)
    keep_runs: timedelta = timedelta(days=30)
    keep_bodies: timedelta = timedelta(days=7)
    keep_events: timedelta = timedelta(days=30)
    runs_per_endpoint_max: int = 10_000
    keep_done: timedelta = timedelta(days=30)


class Janitor:
    def __init__(
        self,
        upkeep: UpkeepStore,
        runs: RunStore,
        options: JanitorOptions,
        metrics: Metrics,
        is_steady: Callable[[], bool] = lambda: True,
        flow_watch: WorkflowWatch | None = None,
        archiver: HistoryArchiver | None = None,
        extend_calendars: Callable[[SeenCalendars], Awaitable[SeenCalendars]] | None = None,
    ) -> None:
        """`is_steady`: whether the clock was not set recently; a clock far ahead would make all history look old.

        `extend_calendars` receives its previous result, and does nothing while that is up to date.
        """
        self._extend_calendars = extend_calendars
        self._calendars = SeenCalendars()  # as they were extended last
        self._partitions_kept: set[str] = set()
        self._is_steady = is_steady
        self._flow_watch = flow_watch
        self._archiver = archiver
        self._upkeep = upkeep
        self._runs = runs
        self._options = options
        self._metrics = metrics
        self._stopping = asyncio.Event()
        self._late: set[str] = set()  # tenants
        self._events_held = False
        self._waits: set[tuple[str, str, str]] = set()  # reported (tenant, cause, name)

    async def run(self) -> None:
        """Runs a round every ten seconds until `stop`. A stop does not wait for a round: each batch is one
        transaction.
        """
        rounds = asyncio.create_task(self._keep_house(), name="upkeep")
        await self._stopping.wait()
        await end_tasks(rounds)

    def stop(self) -> None:
        self._stopping.set()

    async def _keep_house(self) -> None:
        """Runs one round; an exception does not prevent the next one."""
        for number in count():
            try:
                await self.run_once(sweep=number % SWEEP_EVERY_ROUNDS == 0)
            except StoreUnavailable:
                pass  # the scheduler reports that the database is unavailable
            except Exception:  # outermost loop of a worker: one failed round must not end upkeep
                log.exception("worker failed", worker="janitor")
            await asyncio.sleep(ROUND_S)

    async def run_once(self, *, sweep: bool = True) -> None:
        zombie_ms = int(self._options.zombie_after.total_seconds() * 1000)
        if closed := await self._upkeep.close_zombies(zombie_ms, ZOMBIES_PER_ROUND):
            self._metrics.zombies += closed
            log.warning("zombies closed", count=closed)
        if expired := await self._upkeep.expire_proposals(EXPIRED_PER_ROUND):
            log.info("proposals expired", count=expired)
        await self._watch()
        await self._watch_events()
        self._metrics.dead_rows = (await self._upkeep.dead_rows()).dead
        if self._flow_watch is not None:
            await self._flow_watch.run_once()
        if sweep and self._extend_calendars is not None and self._is_steady():
            self._calendars = await self._extend_calendars(self._calendars)
        now = (await self._upkeep.backlog(0)).now
        keep = self._retention(now)
        self._watch_room(await self._upkeep.make_room(keep))
        if sweep and self._is_steady():
            keep = await self._archive(keep, now)
            await self._remove_partitions(keep)
            await self._sweep(keep)

    async def _watch(self) -> None:
        """Compares what was due with what ran; reports the start and the end of lateness."""
        late_ms = int(self._options.late_after.total_seconds() * 1000)
        backlog = await self._upkeep.backlog(late_ms)
        self._metrics.due = backlog.due
        if backlog.due and not self._late:
            log.warning("endpoints late", count=backlog.due, oldest_due_at=_text(backlog), running=backlog.running)
        elif self._late and not backlog.due:
            log.info("endpoints on time again")
        newly_late = {tenant: due for tenant, due in backlog.by_tenant.items() if tenant not in self._late}
        events = [
            Event(EventType.SCHEDULE_LATE, backlog.now, tenant, data={"count": due, "oldest_due_at": _text(backlog)})
            for tenant, due in newly_late.items()
        ]
        queue = await self._upkeep.queue(late_ms) if backlog.due else Queue(backlog.now)
        if events := [*events, *self._explain(queue)]:
            await self._runs.add_events(events)
        self._late = set(backlog.by_tenant)

    async def _watch_events(self) -> None:
        """Reports a transaction that holds back events, once, and its end."""
        lag = await self._upkeep.event_lag()
        self._metrics.event_lag = lag.seconds
        is_held = lag.seconds > self._options.late_after.total_seconds()
        if is_held and not self._events_held:
            writer = lag.writers[0] if lag.writers else None
            log.warning(
                "events held back",
                lag_s=round(lag.seconds, 1),
                writer_pid=writer.pid if writer else None,
                writer=writer.name if writer else "",
            )
        elif self._events_held and not is_held:
            log.info("events released")
        self._events_held = is_held

    def _explain(self, queue: Queue) -> list[Event]:
        """Counts and logs what late endpoints wait for; returns events for reasons that are new in this round."""
        self._metrics.waiting = Counter({cause.value: 0 for cause in Cause})
        reported: set[tuple[str, str, str]] = set()
        events: list[Event] = []
        for wait in waits(queue):
            self._metrics.waiting[wait.cause] += wait.waiting
            keys = {(tenant_id, wait.cause.value, wait.name) for tenant_id in wait.by_tenant}
            if not keys & self._waits:
                log.warning(
                    "endpoints waiting", cause=wait.cause, name=wait.name, count=wait.waiting, setting=wait.setting
                )
            events += [
                Event(EventType.SCHEDULE_WAITING, queue.now, tenant_id, data=_told(wait, wait.by_tenant[tenant_id]))
                for tenant_id, _, _ in sorted(keys - self._waits)
            ]
            reported |= keys
        self._waits = reported
        return events

    def _retention(self, now: datetime) -> Retention:
        options = self._options
        return Retention(
            now - options.keep_runs,
            now - options.keep_bodies,
            now - options.keep_events,
            options.runs_per_endpoint_max,
            span_width(options.keep_events),
            now - options.keep_done,
        )

    def _watch_room(self, room: RunRoom) -> None:
        self._metrics.run_room = room.seconds
        if room.is_needed and room.until_at is None:
            log.error("partition missing")

    async def _archive(self, keep: Retention, now: datetime) -> Retention:
        """Archives what has ended. Raises if a file cannot be written: then nothing is removed."""
        if self._archiver is None:
            return keep
        archived = await self._archiver.run_once(now)
        return replace(
            keep,
            runs_before=min(keep.runs_before, archived),
            events_before=min(keep.events_before, archived),
            runs_per_endpoint_max=EVERY_RUN,
        )

    async def _remove_partitions(self, keep: Retention) -> None:
        """Drop what is past its retention. What a transaction reads is left to the next sweep."""
        kept: set[str] = set()
        dropped = 0
        for partition in await self._upkeep.expired_partitions(keep):
            if self._stopping.is_set():
                return
            if await self._upkeep.remove_partition(partition):
                dropped += 1
                log.info("partition dropped", partition=partition.name)
            else:
                kept.add(partition.name)
        for name in sorted(kept & self._partitions_kept):
            log.warning("partition kept", partition=name)
        self._partitions_kept = kept
        self._metrics.partitions_kept = len(kept)
        if dropped:
            await self._upkeep.analyze_history()

    async def _sweep(self, keep: Retention) -> None:
        removed = 0
        while not self._stopping.is_set():
            swept = await self._upkeep.sweep(keep, SWEEP_BATCH)
            removed += swept.removed
            if swept.done:
                break
            await asyncio.sleep(SWEEP_PAUSE_S)
        if removed:
            self._metrics.swept += removed
            log.info("history swept", rows=removed)


def _told(wait: QueueWait, of_tenant: int) -> dict[str, object]:
    return {
        "cause": wait.cause,
        "name": wait.name,
        "limit": wait.limit,
        "in_flight": wait.in_flight,
        "since": rfc3339(wait.since),
        "count": of_tenant,
        "waiting": wait.waiting,
        "setting": wait.setting,
    }


def _text(backlog: Backlog) -> str | None:
    return rfc3339(backlog.oldest_due_at) if backlog.oldest_due_at else None
