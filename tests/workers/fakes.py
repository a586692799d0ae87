"""A caller that answers as told, and a store that fails when told: what a worker meets, without a network."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from mainspring.domain.errors import StoreUnavailable
from mainspring.domain.run import Outcome, Request, RunStatus
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.fairness import Caps, SlowRoom
from mainspring.domain.schedule.finish import Finished
from mainspring.ports.schedule import ClaimBatch, FinishReport, ScheduleStore

OK = Outcome(RunStatus.SUCCESS, 1, 200)
ALL = "all endpoints"


class ScriptedCaller:
    """Answers a request with `answers[endpoint_id]`, else with 200; `hold` keeps answers back until `let_go`.

    Both are about one endpoint, or about all of them.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: dict[str, Outcome | Exception] = {}
        self.on_call: Callable[[Request], None] = lambda request: None
        self._held: set[str] = set()
        self._changed = asyncio.Condition()

    async def call(self, request: Request) -> Outcome:
        self.requests.append(request)
        self.on_call(request)
        async with self._changed:
            await self._changed.wait_for(lambda: not self._held & {ALL, request.endpoint_id})
        answer = self.answers.get(request.endpoint_id, OK)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def hold(self, endpoint_id: str = ALL) -> None:
        self._held.add(endpoint_id)

    async def let_go(self, endpoint_id: str = ALL) -> None:
        self._held.discard(endpoint_id)
        async with self._changed:
            self._changed.notify_all()

    async def aclose(self) -> None:
        """Nothing is open."""


class FaultyStore:
    """A schedule store in front of another one: away when told, and refusing the results it is told to refuse."""

    def __init__(self, store: ScheduleStore) -> None:
        self._store = store
        self.is_away = False
        self.refuses: Callable[[Finished], bool] = lambda finished: False
        self.claim_fault: Exception | None = None
        self.expire_fault: Exception | None = None
        self.loses_answer_to = ""  # "claim" or "finish": does what it is asked, and then its connection is gone
        self.finishes_after_release = False  # a result is written only once other runs were given back
        self._released = asyncio.Event()
        self.breaks = 0
        self.pace_s = 0.0
        self.claims = 0  # how often somebody reached for work
        self.finishes = 0
        self.sleeps_s: list[float] = []

    async def claim_due(
        self, worker: str, limit: int, lease_margin_ms: int, caps: Caps, slow: SlowRoom | None = None
    ) -> ClaimBatch:
        self.claims += 1
        self._check()
        if self.claim_fault is not None:
            raise self.claim_fault
        batch = await self._store.claim_due(worker, limit, lease_margin_ms, caps, slow)
        if batch.claims:
            self._lose_answer_to("claim")
        return batch

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        self.finishes += 1
        self._check()
        if any(self.refuses(finished) for finished in batch):
            raise ValueError("a row the database refuses")
        if self.finishes_after_release:
            await self._released.wait()
        report = await self._store.finish(batch)
        self._lose_answer_to("finish")
        return report

    async def release(self, claims: Sequence[Claim]) -> None:
        self._check()
        await self._store.release(claims)
        self._released.set()

    async def release_strays(self, worker: str, running: Collection[str]) -> int:
        self._check()
        return await self._store.release_strays(worker, running)

    async def expire_hints(self, limit: int) -> int:
        self._check()
        if self.expire_fault is not None:
            raise self.expire_fault
        return await self._store.expire_hints(limit)

    async def wait_for_change(self, timeout_s: float) -> bool:
        self.sleeps_s.append(timeout_s)
        return await self._store.wait_for_change(timeout_s)

    async def now(self) -> datetime:
        return await self._store.now()

    def _lose_answer_to(self, what: str) -> None:
        if self.loses_answer_to == what:
            self.loses_answer_to = ""
            self.breaks += 1
            raise StoreUnavailable("the database does not answer: its connection was lost; it is tried again")

    def _check(self) -> None:
        if self.is_away:
            raise StoreUnavailable("the database does not answer: told so; it is tried again")
