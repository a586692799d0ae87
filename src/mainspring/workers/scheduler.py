"""The scheduler: claims due endpoints, calls them, records the results. It never decides when something runs.

    1 claim    as many due slots as there are free places, never ahead of time
    2 call     all of them at once, no database connection held
    3 record   results that end together in one transaction; only then is the place free again
    4 sleep    until the next slot, or until something changed, or for one tick

Slow calls take three quarters of the places at most (`slow_calls.py`), so that quick calls always find one. A place is
held until its result is recorded: while the database is unavailable, results wait in memory, bounded by the places, and
nothing new starts. SIGTERM drains: no more claims, a grace for running calls, the rest is released.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from math import inf

import structlog
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.instant import to_us
from mainspring.domain.run import Outcome, RunStatus, RunTrigger
from mainspring.domain.schedule import fairness
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import Caps
from mainspring.domain.schedule.finish import Finished
from mainspring.domain.schedule.host_limit import HostLimits
from mainspring.failpoints import failpoint
from mainspring.observe import Metrics
from mainspring.ports.outbound import Caller
from mainspring.ports.schedule import ClaimBatch, FinishReport, ScheduleStore
from mainspring.workers.slow_calls import SlowCalls
from mainspring.workers.tasks import end_tasks

EARLY_S = 0.0002  # timers may fire slightly early; the claim would find nothing and sleep again
# Small enough that some slots are claimed while others are called and others recorded; large enough that many share the
# cost of a transaction.
CLAIM_BATCH_MAX = 250
FINISH_BATCH_MAX = 250
FINISH_EARLY = 32  # results that are worth a transaction, whenever the last one was
FINISH_PACES = 4  # a result is less urgent than a call
STARTS_AT_ONCE = 16  # a start takes tens of microseconds; a database response waits for no more than these
RETRY_S_MIN, RETRY_S_MAX = 0.5, 2.0  # the pool itself limits how often it connects
HELD_PAUSE_S = 0.02  # an edit or a planner's page holds a row for milliseconds; a hanging process for longer
LAST_ROUND_S = 1.0  # at the end, a database that may be unavailable is not waited for much longer
LAST_WRITES_S = 1.0  # beyond the grace; a result that is not written by then is called again
OVERDUE_KEPT_S = 3.0  # a process that was stopped finds broken connections first, and then records its late results
HINTS_PER_ROUND = 500
SWEEP_HINTS_S = 0.5

log = structlog.get_logger()


class SchedulerOptions(Struct, frozen=True):
    """`places` is the maximum number of runs in flight of this process; the other limits hold across all processes.

    `tick_s` is when it checks again although nothing was due and no change was notified.
    """

    worker: str
    places: int = fairness.PLACES
    per_tenant: int = fairness.PER_TENANT
    per_host: int = fairness.PER_HOST
    hosts: HostLimits = ()
    lease_margin_ms: int = 30_000
    grace_s: float = 10.0
    tick_s: float = 5.0  # a lost notification costs no more than this

    @property
    def caps(self) -> Caps:
        return Caps(self.per_tenant, self.per_host, self.hosts)


class _StoreClock(Struct, frozen=True):
    """The store's clock: the time of the last claim, advanced by our monotonic clock."""

    told: datetime
    told_ns: int

    def at(self, monotonic_ns: int) -> datetime:
        return self.told + timedelta(microseconds=(monotonic_ns - self.told_ns) // 1000)


class Scheduler:
    def __init__(
        self,
        store: ScheduleStore,
        caller: Caller,
        options: SchedulerOptions,
        metrics: Metrics,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """`monotonic_ns` times calls; a simulation has its own."""
        self._store = store
        self._monotonic_ns = monotonic_ns
        self._caller = caller
        self._options = options
        self._caps = options.caps
        self._slow = SlowCalls(options.places)
        self._metrics = metrics
        self._starting: set[asyncio.Task[None]] = set()
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._claims: dict[str, Claim] = {}
        self._results: deque[Finished] = deque()
        self._lease_over_ns: dict[str, int] = {}  # by our monotonic clock, for waiting results
        self._pause_s = RETRY_S_MIN
        self._hints_swept_s = -inf
        self._wake = asyncio.Event()  # a place became free that is needed, a run is due sooner, or it is time to stop
        self._needs_room = False  # a due endpoint waits for a place
        self._planned_at: datetime | None = None  # the earliest run that was planned since the last claim began
        self._asleep_until: datetime | None = None  # by the store's clock, while it sleeps
        self._nap: asyncio.Timeout | None = None  # while it sleeps; ended early by `_wake_up`
        self._claimed_s = self._finished_s = -inf  # not 0: the monotonic clock may count from the start of the machine
        self._unrecorded_since_s = 0.0  # since when results cannot be written; 0: they can
        self._record_now = asyncio.Event()  # results do not wait for others
        self._result_ready = asyncio.Event()
        self._held_until_s = 0.0
        self._stopping = False
        self._stop_asked = asyncio.Event()
        self._grace_ends_s = 0.0
        self._away = False
        self._breaks = 0
        metrics.places = options.places

    @property
    def is_connected(self) -> bool:
        return not self._away

    @property
    def in_flight(self) -> int:
        return len(self._claims)

    async def run_once(self) -> int:
        """One complete round: claims what is due, calls it, records it. Returns how many slots were claimed."""
        batch, clock = await self._claim()
        await self._start(batch.claims, clock)
        if self._calls:
            await asyncio.wait(self._calls.values())
        while self._results:
            await self._record()
        return len(batch.claims)

    async def run(self) -> None:
        """Works until `stop`; drains before it returns."""
        log.info("scheduler started", worker=self._options.worker, places=self._options.places)
        rounds = asyncio.create_task(self._keep_claiming(), name="rounds")
        recorder = asyncio.create_task(self._keep_recording(), name="recorder")
        try:
            await self._until_stopped(rounds)
        finally:
            self.stop()
            await self._drain()
            await end_tasks(rounds, recorder)
            log.info("scheduler stopped", worker=self._options.worker)

    def stop(self) -> None:
        """Stops claiming."""
        if not self._stopping:
            log.info("draining", worker=self._options.worker, in_flight=self.in_flight)
            self._grace_ends_s = self._monotonic_ns() / 1e9 + self._options.grace_s
        self._stopping = True
        self._stop_asked.set()
        self._record_now.set()
        self._wake_up()

    def hold(self, seconds: float) -> None:
        """Starts no runs for this long; results of runs in flight are recorded."""
        self._held_until_s = self._monotonic_ns() / 1e9 + seconds

    async def _keep_claiming(self) -> None:
        while not self._stopping:
            if (held_s := self._held_until_s - self._monotonic_ns() / 1e9) > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(held_s):
                        await self._stop_asked.wait()
                continue
            await self._round()

    async def _until_stopped(self, rounds: asyncio.Task[None]) -> None:
        """Lets a claim in progress finish within the grace, unless it waits for an unavailable database."""
        asked = asyncio.ensure_future(self._stop_asked.wait())
        await asyncio.wait((rounds, asked), return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        await asyncio.wait((rounds,), timeout=min(LAST_ROUND_S, self._options.grace_s))
        if rounds.done():
            rounds.result()  # raises an exception that escaped a round

    async def _round(self) -> None:
        self._wake.clear()
        free = self._options.places - self.in_flight
        if free <= 0:
            self._need_room()
            await self._wake.wait()
            return
        self._planned_at = None
        self._claimed_s = self._monotonic_ns() / 1e9
        try:
            await self._release_strays()
            batch, clock = await self._claim()
        except StoreUnavailable as fault:
            await self._while_away(fault)
            return
        except Exception:  # outermost loop of a worker: one failed round must not end scheduling
            log.exception("worker failed", worker=self._options.worker)
            await asyncio.sleep(RETRY_S_MIN)
            return
        self._back()
        starting = asyncio.create_task(self._start(batch.claims, clock), name="start")
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        if not batch.more and not self._stopping:
            await self._sleep(batch)

    async def _claim(self) -> tuple[ClaimBatch, _StoreClock]:
        options = self._options
        free = min(options.places - self.in_flight, CLAIM_BATCH_MAX)
        slow = self._slow.room(self._monotonic_ns())
        batch = await self._store.claim_due(options.worker, free, options.lease_margin_ms, self._caps, slow)
        clock = _StoreClock(batch.handed_at, self._monotonic_ns())
        failpoint("after_claim")
        if batch.is_waiting:
            self._need_room()
        else:
            self._needs_room = False
        for claim in batch.claims:
            self._claims[claim.run_id] = claim
            self._slow.start(claim, clock.told_ns)
            self._metrics.claimed[claim.trigger] += 1
            self._metrics.abandoned += claim.endpoint.lost_count > 0
        # A due time in the past that cannot be claimed is an expired hint; a full scheduler clears those now and then.
        is_over = batch.next_due_at is not None and batch.next_due_at <= batch.now
        if is_over or (batch.more and self._monotonic_ns() / 1e9 - self._hints_swept_s > SWEEP_HINTS_S):
            await self._expire_hints()
            batch = replace(batch, more=True)
        return batch, clock

    async def _release_strays(self) -> None:
        """After a break, releases leases that the database attributes to this worker and that it does not know."""
        if (breaks := self._store.breaks) == self._breaks:
            return
        strays = await self._store.release_strays(self._options.worker, self._claims.keys())
        self._breaks = breaks
        if strays:
            log.warning("stray slots released", worker=self._options.worker, count=strays)

    async def _expire_hints(self) -> None:
        """Calls the claimed slots even if something goes wrong here."""
        self._hints_swept_s = self._monotonic_ns() / 1e9
        try:
            await self._store.expire_hints(HINTS_PER_ROUND)
        except StoreUnavailable:
            pass  # the next round reports it
        except Exception:
            log.exception("worker failed", worker=self._options.worker)

    async def _sleep(self, batch: ClaimBatch) -> None:
        """Sleeps until the next slot, a free place, or a change; at most one tick."""
        seconds = self._options.tick_s
        for due_at in (batch.next_due_at, self._planned_at):
            if due_at is not None:
                seconds = min(seconds, (due_at - batch.handed_at).total_seconds())
        seconds = max(seconds, self._claimed_s + self._store.pace_s - self._monotonic_ns() / 1e9)
        if seconds <= 0:
            return
        self._asleep_until = batch.handed_at + timedelta(seconds=seconds)
        try:
            with suppress(TimeoutError):  # woken
                async with asyncio.timeout(None) as self._nap:
                    if not self._wake.is_set():
                        await self._store.wait_for_change(seconds + EARLY_S)
        except StoreUnavailable as fault:
            self._nap = None
            await self._while_away(fault)
        finally:
            self._asleep_until = self._nap = None

    def _wake_up(self) -> None:
        self._wake.set()
        if self._nap is not None:
            self._nap.reschedule(0)
            self._nap = None

    async def _start(self, claims: Sequence[Claim], clock: _StoreClock) -> None:
        """Starts the calls a few at a time, so that other tasks, above all the next claim, run in between."""
        for first in range(0, len(claims), STARTS_AT_ONCE):
            for claim in claims[first : first + STARTS_AT_ONCE]:
                self._calls[claim.run_id] = asyncio.create_task(self._call(claim, clock))
            await asyncio.sleep(0)

    async def _call(self, claim: Claim, clock: _StoreClock) -> None:
        endpoint = claim.endpoint
        request = claim.request
        start_ns = self._monotonic_ns()
        try:
            outcome = await self._caller.call(request)
        except asyncio.CancelledError:
            self._calls.pop(claim.run_id, None)
            raise
        except Exception as fault:  # a bug in calling one endpoint must not affect others
            log.exception("call raised", endpoint_id=endpoint.id, run_id=claim.run_id)
            error = f"the call raised {type(fault).__name__}: {fault}"
            took_ms = (self._monotonic_ns() - start_ns) // 1_000_000
            outcome = Outcome(RunStatus.FAILURE, took_ms, None, "internal", error)
        failpoint("after_call")
        end_ns = self._monotonic_ns()
        started_at, finished_at = request.started_at or clock.at(start_ns), clock.at(end_ns)
        if claim.trigger is RunTrigger.SCHEDULE and request.started_at is None:
            self._metrics.lateness.count((to_us(started_at) - to_us(claim.slot_at)) / 1_000_000)
        self._metrics.duration.count((end_ns - start_ns) / 1_000_000_000)
        self._calls.pop(claim.run_id, None)
        self._slow.answered(claim.run_id)
        if endpoint.lease_until is not None:
            self._lease_over_ns[claim.run_id] = clock.told_ns + (to_us(endpoint.lease_until) - to_us(clock.told)) * 1000
        self._results.append(Finished(claim, outcome, started_at, finished_at))
        self._result_ready.set()
        if len(self._results) >= FINISH_EARLY:
            self._record_now.set()

    async def _keep_recording(self) -> None:
        while True:
            await self._result_ready.wait()
            self._result_ready.clear()
            await self._gather_results()
            while self._results:
                self._finished_s = self._monotonic_ns() / 1e9
                try:
                    await self._record()
                except StoreUnavailable as fault:
                    await self._while_away(fault)

    async def _gather_results(self) -> None:
        """Waits a moment for results to be recorded together, unless a due endpoint waits for a place."""
        pause_s = self._finished_s + FINISH_PACES * self._store.pace_s - self._monotonic_ns() / 1e9
        if pause_s > 0 and len(self._results) < FINISH_EARLY and not (self._needs_room or self._stopping):
            self._record_now.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._record_now.wait()

    def _need_room(self) -> None:
        self._needs_room = True
        self._record_now.set()

    async def _record(self) -> None:
        """Writes the waiting results in one transaction; they leave the queue only once they are written."""
        batch = [self._results[index] for index in range(min(len(self._results), FINISH_BATCH_MAX))]
        self._metrics.finish_queue = len(self._results)
        failpoint("before_finish")
        try:
            report = await self._store.finish(batch)
        except StoreUnavailable:
            now_s = self._monotonic_ns() / 1e9
            self._unrecorded_since_s = self._unrecorded_since_s or now_s
            if now_s - self._unrecorded_since_s >= OVERDUE_KEPT_S:
                self._drop_overdue()
            raise
        except Exception as fault:  # the database refused a row: find it, and lose only that one
            waiting = await self._record_one_by_one(batch, fault)
        else:
            failpoint("after_finish")
            waiting = self._count(batch, report)
        self._unrecorded_since_s = 0.0
        self._forget(batch, waiting)
        if len(waiting) == len(batch):
            await asyncio.sleep(HELD_PAUSE_S)

    async def _record_one_by_one(self, batch: Sequence[Finished], fault: Exception) -> set[str]:
        """Writes results and returns those that must wait."""
        if len(batch) > 1:
            middle = len(batch) // 2
            waiting: set[str] = set()
            for half in (batch[:middle], batch[middle:]):
                try:
                    waiting |= self._count(half, await self._store.finish(half))
                except StoreUnavailable:
                    raise
                except Exception as inner:  # narrowed down further
                    waiting |= await self._record_one_by_one(half, inner)
            return waiting
        (one,) = batch
        log.error("result unstorable", endpoint_id=one.claim.endpoint.id, run_id=one.claim.run_id, fault=str(fault))
        error = f"the result could not be stored: {type(fault).__name__}"
        bare = Outcome(RunStatus.FAILURE, one.outcome.duration_ms, one.outcome.status_code, "unstorable", error)
        try:
            return self._count(batch, await self._store.finish([replace(one, outcome=bare)]))
        except StoreUnavailable:
            raise
        except Exception:  # the error cannot be stored either: the lease ends and the slot is taken over
            self._metrics.dropped += 1
            log.exception("result dropped", endpoint_id=one.claim.endpoint.id, run_id=one.claim.run_id)
            return set()

    def _forget(self, batch: Sequence[Finished], waiting: set[str]) -> None:
        """Removes recorded results from the queue; re-queues those that must wait."""
        for finished in batch:
            self._results.popleft()
            if finished.claim.run_id in waiting:
                self._results.append(finished)
                continue
            self._free(finished.claim.run_id)
        self._metrics.in_flight = self.in_flight
        self._metrics.finish_queue = len(self._results)
        if self._needs_room or self._stopping:
            self._wake_up()

    def _count(self, batch: Sequence[Finished], report: FinishReport) -> set[str]:
        """Counts what was recorded; returns those that must wait."""
        self._back()
        self._plan(report.next_due_at)
        late, waiting = set(report.superseded), set(report.waiting)
        for finished in batch:
            run_id = finished.claim.run_id
            if run_id in late:
                self._metrics.superseded += 1
                log.warning("result superseded", endpoint_id=finished.claim.endpoint.id, run_id=run_id)
            elif run_id not in waiting:
                self._metrics.finished[finished.outcome.status] += 1
        return waiting

    def _plan(self, due_at: datetime | None) -> None:
        """Takes note of when an endpoint that has finished is due; wakes up if that is sooner than planned."""
        if due_at is None or (self._planned_at is not None and self._planned_at <= due_at):
            return
        self._planned_at = due_at
        if self._asleep_until is not None and due_at < self._asleep_until:
            self._wake_up()

    def _drop_overdue(self) -> None:
        """Drops results whose lease is over: another worker may have their slot, and their places are needed."""
        now_ns = self._monotonic_ns()
        overdue = [each for each in self._results if self._lease_over_ns.get(each.claim.run_id, 0) <= now_ns]
        for finished in overdue:
            self._metrics.dropped += 1
            log.error("result dropped", endpoint_id=finished.claim.endpoint.id, run_id=finished.claim.run_id)
            self._results.remove(finished)
            self._free(finished.claim.run_id)

    def _free(self, run_id: str) -> None:
        """Frees its place for another run."""
        self._claims.pop(run_id, None)
        self._lease_over_ns.pop(run_id, None)
        self._slow.end(run_id)

    async def _while_away(self, fault: StoreUnavailable) -> None:
        """Reports the outage once, then waits a random part of a growing pause: processes do not return all at once."""
        if not self._away:
            self._away = True
            self._metrics.database_up = 0
            log.error("database unavailable", worker=self._options.worker, fault=str(fault))
            self._pause_s = RETRY_S_MIN
        await asyncio.sleep(random.uniform(RETRY_S_MIN, self._pause_s))
        self._pause_s = min(self._pause_s * 2, RETRY_S_MAX)

    def _back(self) -> None:
        if self._away:
            log.info("database available")
        self._away = False
        self._metrics.database_up = 1

    async def _drain(self) -> None:
        """Lets running calls finish within the grace, releases the rest, and records all results."""
        await self._wait_until(lambda: not self._claims, self._grace_ends_s - self._monotonic_ns() / 1e9)
        await end_tasks(*self._starting)
        for task in list(self._calls.values()):
            task.cancel()
        await asyncio.gather(*self._calls.values(), return_exceptions=True)
        ended = {finished.claim.run_id for finished in self._results}
        back = [claim for claim in self._claims.values() if claim.run_id not in ended]
        release = asyncio.create_task(self._release(back), name="release")
        await self._wait_until(lambda: release.done() and not self._results, LAST_WRITES_S)
        await end_tasks(release)

    async def _release(self, claims: Sequence[Claim]) -> None:
        with suppress(StoreUnavailable):
            if claims:
                await self._store.release(claims)
                log.info("slots released", count=len(claims))
        self._wake_up()

    async def _wait_until(self, is_so: Callable[[], bool], timeout_s: float) -> None:
        """Waits for recorded results, no longer than the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not is_so():
                    self._wake.clear()
                    await self._wake.wait()
