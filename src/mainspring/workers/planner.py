"""The planner: judges finished runs by rules and applies the results. It never calls an endpoint or the scheduler.

    1 read      finished runs that were not judged yet, with the rules and siblings of their jobs
    2 judge     run by run, rule by rule, bounded in time and size; a pure function
    3 commit    the cursor, the hints and pauses, what rules remember: one transaction, or none of it

Several planners may work on one database: the first to commit has judged the page, the others continue after it. While
the planner is down or hangs, endpoints run by their baseline, and missed runs are judged when it is back.
"""

import asyncio
import time

import structlog

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.event import Event, EventType
from mainspring.domain.rules.judge import (
    Deciding,
    Decisions,
    HealthWanted,
    JudgedPage,
    PastRead,
    deciding,
    want,
)
from mainspring.domain.rules.run_window import RunWindow
from mainspring.failpoints import failpoint
from mainspring.observe import Metrics
from mainspring.ports.planner import PlannerStore
from mainspring.workers.tasks import end_tasks

JUDGED_S = 0.005  # longest blocking time; a scheduler in the same process waits no longer, plus one judgement
PAGE_MAX = 20  # transactions, of up to some hundred finished runs each
TICK_S = 5.0
RETRY_S = 1.0

log = structlog.get_logger()


class Planner:
    def __init__(self, store: PlannerStore, metrics: Metrics, worker: str) -> None:
        self._store = store
        self._metrics = metrics
        self._worker = worker
        self._stop = asyncio.Event()

    async def run_once(self) -> bool:
        """Judges one page; returns whether there may be another one."""
        page = await self._store.next_page(PAGE_MAX)
        if page is None:
            return False
        decisions = await self._judge(page)
        failpoint("before_plan")
        if not await self._store.commit_page(page, decisions):
            return True  # another planner was first; the next page may be ours
        failpoint("after_plan")
        self._metrics.judged += len(page.runs)
        self._metrics.fired += len(decisions.firings)
        return True

    async def run(self) -> None:
        """Works until `stop`; a page is judged as a whole or not at all, so there is nothing to drain."""
        log.info("planner started", worker=self._worker)
        rounds = asyncio.create_task(self._keep_judging(), name="planner-rounds")
        stopped = asyncio.create_task(self._stop.wait(), name="planner-stop")
        try:
            await asyncio.wait((rounds, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_tasks(rounds, stopped)
            log.info("planner stopped", worker=self._worker)

    def stop(self) -> None:
        self._stop.set()

    async def _keep_judging(self) -> None:
        while True:
            try:
                while await self.run_once():
                    pass
                await self._store.wait_for_runs(TICK_S)
            except StoreUnavailable:
                await asyncio.sleep(RETRY_S)  # the scheduler reports it
            except Exception:  # outermost loop of a worker: one failed round must not end planning
                log.exception("worker failed", worker=self._worker)
                await asyncio.sleep(RETRY_S)

    async def _judge(self, page: JudgedPage) -> Decisions:
        facts = await self._store.facts(want(page))
        try:
            return await self._in_turns(deciding(page, facts))
        except StoreUnavailable:
            raise  # not a mistake in the page: it is judged when the database answers again
        except Exception as fault:  # our own mistake with one page: the next pages must not wait behind it
            log.exception("page skipped", worker=self._worker)
            tenants = sorted({run.tenant_id for run in page.runs})
            data: dict[str, object] = {"fault": f"{type(fault).__name__}: {fault}"[:500]}
            events = (Event(EventType.RULE_FAULTY, page.now, tenant, data=data) for tenant in tenants)
            return Decisions((), {}, tuple(events))

    async def _in_turns(self, steps: Deciding) -> Decisions:
        found: PastRead | None = None
        until_s = time.monotonic() + JUDGED_S
        while True:
            try:
                asked = steps.send(found)
            except StopIteration as end:
                decisions: Decisions = end.value
                return decisions
            found = None if asked is None else await self._read(asked)
            if time.monotonic() > until_s or asked is not None:  # a window of runs is judged separately
                await asyncio.sleep(0)
                until_s = time.monotonic() + JUDGED_S

    async def _read(self, asked: RunWindow | HealthWanted) -> PastRead:
        if isinstance(asked, RunWindow):
            return PastRead(await self._store.window(asked))
        return PastRead(health=await self._store.health(asked))
