"""The dispatcher: sends the effects of executions and puts the results into their inboxes. It decides nothing.

    1 claim   effects that are ready, or whose sender was lost; under a lease longer than their timeout
    2 send    all at once, no transaction open; the key goes along, the same for every attempt
    3 record  close the effect and put its result into the inbox, in one transaction, if the claim still holds

After a crash between 2 and 3, an at-least-once effect is sent again with the same key; an at-most-once effect is closed
as unknown, and its execution waits for a person. No loss is silent.
"""

import asyncio
import random
from collections.abc import Mapping

import structlog
from msgspec import Struct

from mainspring.domain.errors import StoreUnavailable
from mainspring.failpoints import failpoint
from mainspring.observe import Metrics
from mainspring.ports.workflows import EffectAnswer, EffectStore, Intent
from mainspring.workers.effects.handlers import EffectHandler
from mainspring.workers.tasks import end_tasks
from mainspring.workflow.model import Arrival, ArrivalKind, Idempotency

LOOK_S = 0.5  # maximum delay before an effect is noticed
RETRY_S_MIN, RETRY_S_MAX = 0.5, 2.0  # the pool itself limits how often it connects
LOST = "the sender was lost after it had started; the effect may have been delivered: check, then retry or skip"

log = structlog.get_logger()


class DispatcherOptions(Struct, frozen=True):
    worker: str
    places: int = 50
    lease_ms: int = 30_000  # beyond the timeout of the effect itself
    grace_s: float = 10.0


class Dispatcher:
    def __init__(
        self, store: EffectStore, errands: Mapping[str, EffectHandler], options: DispatcherOptions, metrics: Metrics
    ) -> None:
        self._store = store
        self._errands = errands
        self._options = options
        self._metrics = metrics
        self._sending: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Sends until `stop`, then lets effects in flight finish within the grace."""
        log.info("dispatcher started", worker=self._options.worker)
        rounds = asyncio.create_task(self._keep_sending(), name="effects")
        await self._stopping.wait()
        await end_tasks(rounds)
        if self._sending:
            await asyncio.wait(self._sending, timeout=self._options.grace_s)
            await end_tasks(*self._sending)
        log.info("dispatcher stopped", worker=self._options.worker)

    def stop(self) -> None:
        self._stopping.set()

    async def run_once(self) -> int:
        """One complete round: claim, send, record. Returns how many effects were claimed."""
        claimed = await self._claim()
        if self._sending:
            await asyncio.wait(self._sending)
        return claimed

    async def _keep_sending(self) -> None:
        while True:
            try:
                if await self._claim():
                    continue
            except StoreUnavailable:
                pass  # the ticker reports that the database is unavailable
            except Exception:  # outermost loop of a worker: one failed round must not end dispatch
                log.exception("worker failed", worker=self._options.worker)
            await asyncio.sleep(LOOK_S)

    async def _claim(self) -> int:
        free = self._options.places - len(self._sending)
        if free <= 0:
            await asyncio.wait(self._sending, return_when=asyncio.FIRST_COMPLETED)
            return 1
        intents = await self._store.claim_effects(self._options.worker, free, self._options.lease_ms)
        if intents:
            failpoint("after_effect_claim")
        for intent in intents:
            task = asyncio.create_task(self._carry_out(intent))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        return len(intents)

    async def _carry_out(self, intent: Intent) -> None:
        if intent.was_sent and intent.idempotency == Idempotency.AT_MOST_ONCE:
            arrival = answer(intent, "unknown", {"code": "lost_sender", "error": LOST})
        else:
            arrival = await self._send(intent)
        failpoint("after_effect_send")
        await self._record(EffectAnswer(intent, arrival))
        failpoint("after_effect_record")

    async def _send(self, intent: Intent) -> Arrival:
        errand = self._errands.get(_errand_of(intent))
        if errand is None:
            known = ", ".join(sorted(self._errands))
            error = (
                f"channel {_errand_of(intent)!r} does not exist; this process has {known}: register it or name another"
            )
            return answer(intent, "failure", {"code": "no_channel", "error": error})
        try:
            outcome, data = await errand.run(intent)
        except Exception as fault:  # a bug in sending one effect must not affect others
            log.exception("effect raised", key=intent.key, execution_id=intent.execution_id)
            outcome, data = "failure", {"code": "internal", "error": f"{type(fault).__name__}: {fault}"[:500]}
        return answer(intent, outcome, data)

    async def _record(self, done: EffectAnswer) -> None:
        """Retries until it is written: a known result must not become unknown because the database was unavailable."""
        pause_s = RETRY_S_MIN
        while True:
            try:
                await self._store.answer_effects([done])
            except StoreUnavailable:
                await asyncio.sleep(random.uniform(RETRY_S_MIN, pause_s))
                pause_s = min(pause_s * 2, RETRY_S_MAX)
                continue
            self._metrics.effects[done.arrival.type] += 1
            return


def answer(intent: Intent, outcome: str, data: Mapping[str, object]) -> Arrival:
    """The result of an effect as an arrival for its execution. The claim distinguishes the results of two senders."""
    given = {"key": intent.key, "attempt": intent.attempt, **data}
    return Arrival(ArrivalKind.RESULT, f"{intent.key}:{intent.claim}", outcome, given, "dispatcher")


def _errand_of(intent: Intent) -> str:
    return str(intent.request.get("channel", "smtp")) if intent.kind == "email" else intent.kind
