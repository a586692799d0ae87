"""The ticker: the only writer of its partitions. It moves executions tick by tick, and never sends anything itself.

    1 lead     become a partition's writer when its lease is over and the lock, if any, is free; raises the epoch
    2 load     the next tick with work that the database clock has reached, its executions in order
    3 advance  each with the pure engine; seal the entries. The store asks for it as it writes
    4 commit   states, log, effects and the clock in one transaction, if (epoch, tick) is still ours

After downtime the ticks that have work follow one another without pause, in order. The rule that must not break: a
ticker that loses the comparison has written nothing and steps down. The lease only decides who tries; the comparison
decides who wrote.
"""

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import cast

import structlog
from msgspec import Struct

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import Event, EventType
from mainspring.failpoints import failpoint
from mainspring.observe import Metrics
from mainspring.ports.workflows import (
    Checkpoint,
    Lead,
    PartitionLock,
    PartitionView,
    Published,
    Signer,
    TickLoad,
    WorkflowStores,
)
from mainspring.settings import Settings
from mainspring.workers.tasks import end_tasks
from mainspring.workers.tick_retention import forget_ticks
from mainspring.workflow.audit import Anchor, TickHead, revive, seal_tick
from mainspring.workflow.model import ExecutionPhase, LogicalClock, Workflow
from mainspring.workflow.tick import ExecutionMove, TickResult, TickRun, gone_heads

TICKS_PER_ROUND = 50  # then the other partitions have their turn
RETRY_S = 1.0
RESIGN_S = 0.5
SWEEP_S = 60.0
SWEEP_LIMIT = 500  # of one tick, or as many as a tick moves: then no rate of starts can outrun it
ADOPT_S = 10.0  # how soon executions of a partition beyond the configured ones get a writer
WORKFLOWS_KEPT = 1_000
HOLD = timedelta(minutes=1)  # a tick cannot be undone, so a forward jump of the clock is confirmed first
JUMP_MIN = timedelta(minutes=1)
DOWNTIME_MAX = timedelta(days=1)  # at startup, a longer gap since the newest stored time is confirmed too

log = structlog.get_logger()


class TickerOptions(Struct, frozen=True):
    """`partitions` are those this process may write; others may be on standby for the same ones. `adopts`: also any
    other partition with waiting work, for example after MAINSPRING_WORKFLOW_PARTITIONS was lowered.
    """

    worker: str
    partitions: tuple[int, ...] = (0,)
    executions_per_tick: int = 500
    interval_s: float = 1.0
    resolution_ms: int = 1_000
    lock_ttl_ms: int = 30_000
    checkpoint_s: float = 60.0
    keep: timedelta = timedelta(days=365)
    hold: timedelta = timedelta(0)  # a clock that jumps forward is followed only after this long; zero: immediately
    seen_at: datetime | None = None  # the newest time stored before this process started
    adopts: bool = False


def options_of(settings: Settings, worker: str, seen_at: datetime | None = None) -> TickerOptions:
    return TickerOptions(
        worker,
        settings.workflow_partitions_owned or tuple(range(settings.workflow_partitions)),
        settings.executions_per_tick,
        settings.tick_interval.total_seconds(),
        lock_ttl_ms=int(settings.ticker_lease.total_seconds() * 1000),
        keep=settings.keep_executions,
        hold=HOLD,
        seen_at=seen_at,
        adopts=not settings.workflow_partitions_owned,
    )


class Ticker:
    def __init__(
        self,
        stores: WorkflowStores,
        options: TickerOptions,
        metrics: Metrics,
        signer: Signer | None = None,
        lock: PartitionLock | None = None,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._monotonic_ns = monotonic_ns
        seen_at = options.seen_at
        self._expected = (seen_at + DOWNTIME_MAX, monotonic_ns()) if seen_at is not None else None  # the clock, at most
        self._held_ns: int | None = None  # since when, by the monotonic clock
        self._stores = stores
        self._options = options
        self._metrics = metrics
        self._signer = signer
        self._lock = lock
        self._locked_s: dict[int, float] = {}
        self._leads: dict[int, Lead] = {}
        self._renewed_s: dict[int, float] = {}
        self._signed: dict[int, tuple[float, int]] = {}  # time and sequence of the last signed checkpoint
        self._adopted: tuple[int, ...] = ()
        self._adopted_s = -math.inf
        self._swept_s = time.monotonic()
        self._sweeping: set[int] = set()  # partitions with more to remove
        self._forgot_s = self._swept_s - SWEEP_S / 2  # both may want to write a tick, and a tick is written once
        self._published: dict[tuple[str, str, int], Published] = {}
        self._stopping = asyncio.Event()
        self._away = False

    @property
    def leads(self) -> dict[int, Lead]:
        """The partitions it currently writes."""
        return dict(self._leads)

    async def run(self) -> None:
        """Ticks until `stop`; then lets others lead."""
        log.info("ticker started", worker=self._options.worker, partitions=len(self._options.partitions))
        rounds = asyncio.create_task(self._keep_ticking(), name="ticks")
        await self._stopping.wait()
        await end_tasks(rounds)
        resigning = asyncio.create_task(self._resign(), name="resign")
        await asyncio.wait((resigning,), timeout=RESIGN_S)
        await end_tasks(resigning)
        if self._lock is not None:
            await self._lock.aclose()
        log.info("ticker stopped", worker=self._options.worker)

    async def _resign(self) -> None:
        with suppress(StoreUnavailable):  # then the leases expire
            for lead in list(self._leads.values()):
                await self._stores.ticks.resign(lead)
                await self._leave_lock(lead.partition)

    def stop(self) -> None:
        self._stopping.set()

    async def run_once(self) -> int:
        """One round over all partitions: every due tick. Returns the number of turns."""
        turns = 0
        if self._options.adopts and time.monotonic() - self._adopted_s >= ADOPT_S:
            await self._adopt()
        for partition in (*self._options.partitions, *self._adopted):
            lead = self._leads.get(partition) or await self._try_to_lead(partition)
            if lead is not None:
                turns += await self._catch_up(lead)
        return turns

    async def sweep_once(self, now: datetime) -> int:
        """Removes executions that ended long ago, and records that in the chain of ticks.

        A partition that has work in every tick removes them with its work: a tick is written once.
        """
        removed = 0
        for lead in list(self._leads.values()):
            ids = await self._to_remove(lead, now)
            tick = LogicalClock(0, lead.zero, lead.resolution_ms).reading(now)
            is_free = tick > lead.tick and (await self._stores.ticks.load_tick(lead, 1)).tick is None
            if ids and not is_free:
                self._sweeping.add(lead.partition)
            elif ids:
                gone = gone_heads(ids)
                head = seal_tick(lead.partition, lead.sequence + 1, tick, gone, lead.head, lead.epoch)
                self._lead_on(lead, await self._stores.ticks.remove(lead, ids, head, now, self._options.lock_ttl_ms))
                removed += len(ids)
        return removed

    async def _to_remove(self, lead: Lead, now: datetime) -> tuple[str, ...]:
        limit = max(SWEEP_LIMIT, self._options.executions_per_tick)
        ids = await self._stores.ticks.sweep(lead, now - self._options.keep, limit)
        (self._sweeping.add if len(ids) == limit else self._sweeping.discard)(lead.partition)
        return ids

    async def forget_once(self, now: datetime) -> None:
        """Removes ticks that were signed long ago."""
        for lead in list(self._leads.values()):
            before = now - self._options.keep
            self._lead_on(lead, await forget_ticks(self._stores, lead, self._signer, before, self._options.lock_ttl_ms))

    async def _adopt(self) -> None:
        """Finds partitions beyond the configured ones that need a writer: executions wait, or the end is not signed."""
        self._adopted_s = time.monotonic()
        views = await self._stores.partitions.views(await self._stores.workflows.now())
        others = [each for each in views if each.partition not in self._options.partitions]
        needy = [each.partition for each in others if each.waits_since or await self._is_unsigned(each)]
        found = tuple(sorted(needy))
        if new := set(found) - set(self._adopted):
            log.info("partitions adopted", partitions=sorted(new))
        self._adopted = found

    async def _is_unsigned(self, view: PartitionView) -> bool:
        if self._signer is None or view.ticks == 0:
            return False
        return not await self._stores.logs.checkpoints(view.partition, view.ticks - 1, 1)

    async def _keep_ticking(self) -> None:
        while True:
            began_s = time.monotonic()
            try:
                turns = await self.run_once()
                self._back()
                is_steady = self._held_ns is None  # a clock far ahead would make everything look old
                if is_steady and (began_s - self._swept_s > SWEEP_S or self._sweeping):
                    self._swept_s = began_s
                    await self.sweep_once(await self._stores.workflows.now())
                if is_steady and began_s - self._forgot_s > SWEEP_S:
                    self._forgot_s = began_s
                    await self.forget_once(await self._stores.workflows.now())
                if turns:
                    continue
            except StoreUnavailable as fault:
                if not self._away:
                    log.error("database unavailable", worker=self._options.worker, fault=str(fault))
                self._away = True
                await asyncio.sleep(RETRY_S)
            except Exception:  # outermost loop of a worker: one failed round must not end ticking
                log.exception("worker failed", worker=self._options.worker)
                await asyncio.sleep(RETRY_S)
            await asyncio.sleep(max(0.0, self._options.interval_s - (time.monotonic() - began_s)))

    async def _try_to_lead(self, partition: int) -> Lead | None:
        # The lock of a dead writer outlives it: whether the partition is free, its lease says. To ask costs a fraction
        # of an attempt in vain, which a ticker on standby would make every second.
        is_alone = self._lock is not None and await self._take_lock(partition)
        if not is_alone and await self._stores.ticks.is_led(partition):
            return None
        options = self._options
        await self._stores.workflows.clock(partition, options.resolution_ms)
        lead = await self._stores.ticks.lead(partition, options.worker, options.lock_ttl_ms)
        if lead is None:
            await self._leave_lock(partition)  # another leader may take it
            return None
        log.info("partition led", partition=partition, epoch=lead.epoch, tick=lead.tick)
        self._leads[partition] = lead
        self._renewed_s[partition] = time.monotonic()
        return lead

    async def _take_lock(self, partition: int) -> bool:
        """Whether it may try to lead; for the current leader the answer changes nothing."""
        if self._lock is None:
            return True
        self._locked_s[partition] = time.monotonic()
        return await self._lock.take(partition, self._options.worker, self._options.lock_ttl_ms)

    async def _leave_lock(self, partition: int) -> None:
        if self._lock is not None:
            await self._lock.leave(partition, self._options.worker)

    async def _catch_up(self, lead: Lead) -> int:
        turns = 0
        current: Lead | None = lead
        for _ in range(TICKS_PER_ROUND):
            load = await self._stores.ticks.load_tick(lead, self._options.executions_per_tick)
            is_held = self._is_held(load.wall)
            if load.tick is None or is_held:
                break
            current = await self._tick(lead, load)
            if current is None:
                return turns
            lead = current
            turns += len(load.ready)
            if LogicalClock(0, lead.zero, lead.resolution_ms).reading(load.wall) <= load.tick:
                break  # the clock has shown no later one
        await self._renew(lead)
        await self._sign(lead)
        return turns

    def _is_held(self, wall: datetime) -> bool:
        """Whether the clock has just jumped forward: a clock that is a year ahead for a moment must not end a wait."""
        if not self._options.hold:
            return False
        now_ns = self._monotonic_ns()
        if self._expected is not None:
            at, ns = self._expected
            jump = wall - at - timedelta(microseconds=(now_ns - ns) // 1000)
            if jump > JUMP_MIN:
                if self._held_ns is None:
                    self._held_ns = now_ns
                    log.warning("ticks held", worker=self._options.worker, seconds=round(jump.total_seconds(), 3))
                if timedelta(microseconds=(now_ns - self._held_ns) // 1000) < self._options.hold:
                    return True
            if self._held_ns is not None:
                log.info("ticks resumed", worker=self._options.worker, followed=jump > JUMP_MIN)
                self._held_ns = None
        self._expected = (wall, now_ns)
        return False

    async def _tick(self, lead: Lead, load: TickLoad) -> Lead | None:
        assert load.tick is not None, "the caller has checked"
        for name in {(each.tenant_id, each.workflow, each.version) for each in load.ready}:
            await self._know(*name)
        began_s = time.monotonic()
        gone = await self._to_remove(lead, load.wall) if lead.partition in self._sweeping else ()
        clock = LogicalClock(load.tick, lead.zero, lead.resolution_ms, lead.zeros)
        turns = TickRun(
            load.ready, self._workflow, clock, lead.partition, lead.sequence + 1, lead.head, lead.epoch, self._hashes,
            gone,
        )  # fmt: skip
        failpoint("before_tick_commit")
        after = await self._stores.ticks.commit_tick(
            lead, turns, load.wall, self._options.lock_ttl_ms, partial(_events, load.wall)
        )
        failpoint("after_tick_commit")
        if after is not None:
            self._metrics.turns += len(load.ready)
            self._metrics.events_ignored += turns.ignored
            self._metrics.tick_seconds.count(time.monotonic() - began_s)
        for version in turns.altered:  # it may have been restored when the execution is retried
            self._published.pop(version, None)
        self._lead_on(lead, after)
        return after

    def _lead_on(self, lead: Lead, after: Lead | None) -> None:
        """Continues with the lead that a commit returned, or steps down."""
        if after is None:
            log.warning("partition lost", partition=lead.partition, epoch=lead.epoch, tick=lead.tick)
            self._metrics.step_downs += 1
            self._leads.pop(lead.partition, None)
            return
        self._leads[lead.partition] = after
        self._renewed_s[lead.partition] = time.monotonic()

    async def _renew(self, lead: Lead) -> None:
        """Renews lease and lock at a third of their time; a tick has already extended the lease."""
        third_s = self._options.lock_ttl_ms / 3000
        if time.monotonic() - self._locked_s.get(lead.partition, math.inf) >= third_s:
            await self._take_lock(lead.partition)
        if time.monotonic() - self._renewed_s[lead.partition] < third_s:
            return
        held = await self._stores.ticks.renew(lead, self._options.lock_ttl_ms)
        self._lead_on(lead, lead if held else None)

    async def _sign(self, lead: Lead) -> None:
        """Signs a checkpoint now and then, so that removed later ticks can be detected."""
        if self._signer is None or lead.sequence == 0:
            return
        at_s, sequence = self._signed.get(lead.partition, (0.0, 0))
        if sequence == lead.sequence or time.monotonic() - at_s < self._options.checkpoint_s:
            return
        now = await self._stores.workflows.now()
        end = Anchor(lead.sequence, lead.head)
        public_key, signature = self._signer.sign(lead.partition, end, lead.tick, now)
        checkpoint = Checkpoint(lead.partition, lead.sequence, lead.tick, lead.head, now, public_key, signature)
        await self._stores.ticks.add_checkpoint(checkpoint)
        self._signed[lead.partition] = (time.monotonic(), lead.sequence)

    async def _know(self, tenant_id: str, name: str, version: int) -> None:
        key = (tenant_id, name, version)
        if key in self._published:
            return
        published = await self._stores.workflows.version(tenant_id, name, version)
        if published is not None:
            if len(self._published) >= WORKFLOWS_KEPT:
                del self._published[next(iter(self._published))]
            self._published[key] = published

    def _workflow(self, tenant_id: str, name: str, version: int) -> Workflow:
        return self._published[tenant_id, name, version].workflow

    def _hashes(self, tenant_id: str, name: str, version: int) -> tuple[str, str]:
        published = self._published[tenant_id, name, version]
        return published.document_hash, published.model_hash

    def _back(self) -> None:
        if self._away:
            log.info("database available")
        self._away = False


def _events(wall: datetime, ticked: TickResult) -> list[Event]:
    """The events of a tick: which executions ended, stopped for a person, or refused an event."""
    return [event for moved in ticked.moved for event in _told(moved, ticked.head, wall)]


def _told(moved: ExecutionMove, head: TickHead, wall: datetime) -> list[Event]:
    state = moved.state
    actions = {entry.action for entry in moved.entries}
    data: dict[str, object] = {
        "execution": state.id, "workflow": state.workflow, "version": state.version, "tick": head.tick,
        "step": state.step,
    }  # fmt: skip
    refused = _refused(moved, data, wall) if "event.ignored" in actions else []
    return refused + _stopped(moved, actions, data, wall)


def _refused(moved: ExecutionMove, data: dict[str, object], wall: datetime) -> list[Event]:
    """One event per reason: a full queue may refuse a thousand in one tick."""
    reasons: dict[str, Event] = {}
    for entry in moved.entries:
        if entry.action == "event.ignored":
            given = cast("dict[str, object]", revive(entry.input or b"{}"))
            reason = str(cast("dict[str, object]", revive(entry.output or b"{}")).get("reason"))
            said = data | {"event": given.get("type"), "id": given.get("id"), "reason": reason}
            reasons.setdefault(reason, Event(EventType.EXECUTION_EVENT_IGNORED, wall, moved.tenant_id, data=said))
    return list(reasons.values())


def _stopped(moved: ExecutionMove, actions: set[str], data: dict[str, object], wall: datetime) -> list[Event]:
    state = moved.state
    if state.phase is ExecutionPhase.FAILED and actions & {"failed", "halted"}:
        data["error"] = state.error
        return [Event(EventType.EXECUTION_FAILED, wall, moved.tenant_id, data=data)]
    if state.is_over and "end" in actions:
        data |= {"status": state.status.value, "outcome": state.outcome}
        return [Event(EventType.EXECUTION_ENDED, wall, moved.tenant_id, data=data)]
    return []  # the same state as before this tick
