"""The clock watch: detects when the database clock is set, reports it, and replans what a step back has delayed.

    1 read      the database clock and the monotonic clock, once a second
    2 compare   with the previous reading, and with the newest stored time
    3 report    a step, or a difference to this machine's clock: log, metric, event, `doctor`
    4 replan    after a step back, every run that is later than its schedule allows, page by page

Step 4 waits until the clock has been steady for one round, so that a clock that jumps twice is followed once. Runs that
were in flight at the step end under the earlier clock, so the pages are read again a few times after a step. The rule
that must not break: it never moves a run earlier than its schedule allows, and never repeats a cron slot that has run.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta

import structlog
from msgspec import Struct

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.schedule.clock_steps import AHEAD_MIN, SKEW_MAX, ClockReport, Reading, step_between
from mainspring.observe import Metrics
from mainspring.ports.clock import ClockStore
from mainspring.ports.outbound import Clock, Ids
from mainspring.workers.tasks import end_tasks

ROUND_S = 1.0
PAGE = 500
PAGE_PAUSE_S = 0.01  # between pages: replanning a million endpoints must not delay claims
AGAIN_AFTER_S = (3, 10, 30, 60, 300, 900, 3_600)  # after a step: runs in flight end within their deadlines
SKEW_REPORTED_EVERY_S = 600
STEADY_AFTER_S = 600

log = structlog.get_logger()


class ClockWatchOptions(Struct, frozen=True):
    worker: str
    lease_margin_ms: int = 30_000


class ClockWatch:
    def __init__(
        self,
        store: ClockStore,
        here: Clock,
        ids: Ids,
        options: ClockWatchOptions,
        metrics: Metrics,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """`here` is this machine's clock, compared with the database clock."""
        self._store = store
        self._here = here
        self._ids = ids
        self._options = options
        self._metrics = metrics
        self._monotonic_ns = monotonic_ns
        self._last: Reading | None = None
        self._steps: list[timedelta] = []  # steps not followed yet
        self._again: list[tuple[int, timedelta]] = []  # when, by the monotonic clock, and by how much
        self._stepped_ns: int | None = None
        self._skew_reported_ns: int | None = None
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        rounds = asyncio.create_task(self._keep_watching(), name="clock-watch")
        await self._stopping.wait()
        await end_tasks(rounds)

    def stop(self) -> None:
        self._stopping.set()

    @property
    def is_steady(self) -> bool:
        """Whether the clock has been read and was not set within the last ten minutes."""
        if self._last is None:
            return False
        return self._stepped_ns is None or self._last.after_ns - self._stepped_ns > STEADY_AFTER_S * 1_000_000_000

    async def run_once(self) -> int:
        """One round; returns how many endpoints were replanned."""
        before_ns = self._monotonic_ns()
        at = await self._store.now()
        reading = Reading(at, before_ns, self._monotonic_ns())
        step = step_between(self._last, reading) if self._last is not None else timedelta(0)
        self._last = reading
        if not step and not self._steps:
            step = await self._unseen(reading)
        await self._compare(reading)
        if step:
            self._metrics.clock_steps["ahead" if step > timedelta(0) else "back"] += 1
            log.warning("clock stepped", seconds=round(step.total_seconds(), 3), worker=self._options.worker)
            self._steps.append(step)
            self._stepped_ns = reading.after_ns
            return 0
        changed = 0
        while self._steps:
            changed += await self._follow(self._steps[0], reading)
            self._steps.pop(0)
        return changed + await self._look_again(reading.after_ns)

    async def _keep_watching(self) -> None:
        while True:
            try:
                await self.run_once()
            except StoreUnavailable:
                pass  # the scheduler reports that the database is unavailable
            except Exception:  # outermost loop of a worker: one failed round must not end the watch
                log.exception("worker failed", worker="clock watch")
            await asyncio.sleep(ROUND_S)

    async def _unseen(self, reading: Reading) -> timedelta:
        """Detects a step back while no process ran, or between two readings: stored times are newer than now."""
        newest = await self._store.newest_stored_at()
        return reading.at - newest if newest is not None and newest - reading.at > AHEAD_MIN else timedelta(0)

    async def _compare(self, reading: Reading) -> None:
        """Compares this machine's clock with the database clock: ids, logs and certificates depend on it, due runs
        do not.
        """
        skew = self._here.now() - reading.at
        self._metrics.clock_skew_seconds = skew.total_seconds()
        if abs(skew) <= SKEW_MAX:
            self._skew_reported_ns = None
            return
        last_ns = self._skew_reported_ns
        if last_ns is not None and reading.after_ns - last_ns < SKEW_REPORTED_EVERY_S * 1_000_000_000:
            return
        self._skew_reported_ns = reading.after_ns
        log.warning("clock differs", seconds=round(skew.total_seconds(), 3), worker=self._options.worker)
        report = self._report("skew", skew, reading)
        if await self._store.add_report(report) and last_ns is None:
            await self._store.tell(report.id, 0)

    async def _follow(self, step: timedelta, reading: Reading) -> int:
        """Reports a step; after a step back, replans. Every process replans, so that none has to survive it."""
        report = self._report("step", step, reading)
        is_first = await self._store.add_report(report)
        changed = 0
        if step < timedelta(0):
            if is_first:
                await self._store.bring_claims_back(-step)
            changed = await self._bring_back(-step)
            self._again += [(reading.after_ns + delay * 1_000_000_000, -step) for delay in AGAIN_AFTER_S]
        if is_first:
            await self._store.tell(report.id, changed)
        return changed

    async def _look_again(self, now_ns: int) -> int:
        due = [each for each in self._again if each[0] <= now_ns]
        changed = 0
        for each in due:
            changed += await self._bring_back(each[1])
            self._again.remove(each)
        return changed

    async def _bring_back(self, back: timedelta) -> int:
        after_id, changed = "", 0
        while True:
            page = await self._store.bring_back(after_id, PAGE, back, self._options.lease_margin_ms)
            changed += page.changed
            if not page.last_id:
                break
            after_id = page.last_id
            await asyncio.sleep(PAGE_PAUSE_S)
        if changed:
            log.info("runs replanned", count=changed, seconds=round(back.total_seconds(), 3))
        return changed

    def _report(self, kind: str, span: timedelta, reading: Reading) -> ClockReport:
        ms = span // timedelta(milliseconds=1)
        return ClockReport(self._ids.new("clk", reading.at), reading.at, kind, ms, self._options.worker)
