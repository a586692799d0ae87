"""The analyst: runs sessions with a language model about endpoints that are due for analysis, and records them.

    1 claim     endpoints that are due, each leased to one analyst
    2 quota     if exceeded or unreadable, no call is made, and the session records that
    3 read      health, job, siblings; write one prompt, without secrets
    4 converse  with eight tools, within a budget of calls, tokens and time
    5 record    one session, its cost, and when the next one is due

A session can only write bounded hints and pauses for endpoints of one job of one tenant. In mode `ask` it stores them
as proposals for a person, and in shadow mode the session only shows what would have changed. An endpoint has a maximum
number of sessions per hour, and all sessions together are throttled so that the scheduler keeps its share of the
machine.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import structlog
from msgspec import Struct

from mainspring.domain.access.sealing import endpoint_secrets
from mainspring.domain.connection import connection_secrets
from mainspring.domain.endpoint import Endpoint, Job, JobStatus, Tenant
from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.domain.event import Event, EventType
from mainspring.domain.model.prompt import (
    INSTRUCTIONS,
    PROPOSALS_SHOWN,
    Briefing,
    Redactor,
    why_now,
    write_prompt,
)
from mainspring.domain.model.session import (
    BUDGET_SPENT,
    MISSING_FINAL_TOOL,
    MISSING_REASONING,
    MODEL_FAILED,
    OUTPUT_TRUNCATED,
    SKIPPED_FOR,
    STOPPED,
    TOOL_CALLS_MAX,
    ModelSession,
    SessionDetail,
    cost_micros,
    next_analysis_at,
)
from mainspring.domain.model.tools import FINAL, TOOLS
from mainspring.domain.rules.apply import LIVE, OFF, action_in_words
from mainspring.domain.rules.judge import FactsWanted, mode_of
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.text import clean_text
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.outbound import Ids, Vault
from mainspring.ports.planner import Budget, Conversation, LanguageModel, ProposalFilter, RuleRevision
from mainspring.ports.stores import Stores
from mainspring.workers.circuit_breaker import CircuitBreaker
from mainspring.workers.session_tools import SIBLINGS_MAX, SessionTools, kept_call
from mainspring.workers.tasks import end_tasks
from mainspring.workers.throttle import Throttle

TICK_S = 5.0
AT_ONCE = 4
LEASE_MARGIN_MS = 110_000  # starting and stopping a model takes time
LOOKBACK_MS = 300_000
REASONING_MAX = 4_000
FINAL_TOOL = next(spec for spec in TOOLS if spec.name == FINAL)
OTHER_TOOLS = tuple(spec for spec in TOOLS if spec.name != FINAL)

log = structlog.get_logger()


class AnalystOptions(Struct, frozen=True):
    """Prices are dollars per million tokens; 0: unknown, and sessions are recorded without cost."""

    worker: str
    tokens: int = 50_000
    seconds: float = 60.0
    sessions_per_hour: int = 12  # per endpoint, regardless of the model's requests and of the number of failures
    switch_s: float = 1.0  # how often a session checks whether the planner was switched off
    price_in: float = 0.0
    price_out: float = 0.0


class Analyst:
    def __init__(
        self,
        stores: Stores,
        model: LanguageModel,
        vault: Vault,
        ids: Ids,
        cron: CronReader,
        options: AnalystOptions,
        monotonic_s: Callable[[], float] = time.monotonic,
        pace: Throttle | None = None,
    ) -> None:
        self._stores = stores
        self._model = model
        self._vault = vault
        self._ids = ids
        self._cron = cron
        self._options = options
        self._monotonic_s = monotonic_s
        self._pace = pace or Throttle(monotonic_s)
        self._breaker = CircuitBreaker()
        self._stop = asyncio.Event()

    async def run_once(self) -> int:
        """Runs a few of the due sessions at once and returns their number. None while the model's server is paused."""
        if self._breaker.rests_for_s(self._monotonic_s()):
            return 0
        due = await self._claim(AT_ONCE)
        await asyncio.gather(*(self._analyse(endpoint_id) for endpoint_id in due))
        return len(due)

    async def look(self, endpoint: Endpoint) -> ModelSession | None:
        """Runs one session about this endpoint now, due or not; None if another analyst is working on it."""
        (claimed,) = await self._claim(1, endpoint.id) or (None,)
        return None if claimed is None else await self._analyse(claimed, asked=True)

    async def run(self) -> None:
        log.info("analyst started", worker=self._options.worker, model=self._model.name)
        rounds = asyncio.create_task(self._keep_looking(), name="analyst-rounds")
        stopped = asyncio.create_task(self._stop.wait(), name="analyst-stop")
        try:
            await asyncio.wait((rounds, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_tasks(rounds, stopped)
            log.info("analyst stopped", worker=self._options.worker)

    def stop(self) -> None:
        self._stop.set()

    async def _keep_looking(self) -> None:
        while True:
            try:
                while await self.run_once():
                    pass
            except StoreUnavailable:
                pass  # the scheduler reports it
            except Exception:  # outermost loop of a worker: one failed round must not end planning
                log.exception("worker failed", worker=self._options.worker)
            await asyncio.sleep(TICK_S)

    async def _claim(self, limit: int, endpoint_id: str | None = None) -> list[str]:
        lease_ms = int(self._options.seconds * 1000) + LEASE_MARGIN_MS
        per_hour = self._options.sessions_per_hour
        async with self._pace:
            return await self._stores.sessions.claim_analyses(
                self._options.worker, lease_ms, LOOKBACK_MS, limit, per_hour, endpoint_id
            )

    async def _analyse(self, endpoint_id: str, asked: bool = False) -> ModelSession | None:
        endpoint = await self._stores.sessions.owner_of(endpoint_id)
        if endpoint is None:
            return None
        mode = mode_of(await self._stores.planner.modes(), endpoint.tenant_id, endpoint.id)
        why_not = "the planner is off here" if mode == OFF else await self._over_quota(endpoint.tenant_id)
        if why_not:
            return await self._skip(endpoint, why_not, LIVE if mode == OFF else mode)
        try:
            async with self._pace:
                scene = await self._scene(endpoint, mode, asked)
        except Misconfigured as fault:  # a secret cannot be decrypted here, so it could not be redacted from a response
            return await self._skip(endpoint, f"nothing was sent to the model: {fault}", mode)
        began_s = self._monotonic_s()
        budget = Budget(TOOL_CALLS_MAX, self._options.tokens, self._options.seconds)
        spoken = await self._converse(scene, budget)
        self._breaker.heard(spoken, self._monotonic_s())
        took_ms = max(0, round((self._monotonic_s() - began_s) * 1000))
        return await self._record(scene, spoken, took_ms)

    async def _converse(self, scene: SessionTools, budget: Budget) -> Conversation:
        """The conversation to its end, or until the planner is switched off for the endpoint."""
        talk = asyncio.create_task(
            self._model.converse(INSTRUCTIONS, scene.prompt, OTHER_TOOLS, FINAL_TOOL, scene.call, budget)
        )
        switch = asyncio.create_task(self._switched_off(scene.endpoint))
        try:
            await asyncio.wait((talk, switch), return_when=asyncio.FIRST_COMPLETED)
            if talk.done():
                return talk.result()
            return Conversation(is_stopped=True, fault="the planner was switched off here")
        except Exception as fault:  # an adapter that raises is our mistake; the session is recorded anyway
            log.exception("session failed", endpoint_id=scene.endpoint.id)
            return Conversation(fault=f"{type(fault).__name__}: {fault}")
        finally:
            await end_tasks(talk, switch)

    async def _switched_off(self, endpoint: Endpoint) -> None:
        while True:
            await asyncio.sleep(self._options.switch_s)
            try:
                modes = await self._stores.planner.modes()
            except StoreUnavailable:
                continue  # its proposals fail as well
            if mode_of(modes, endpoint.tenant_id, endpoint.id) == OFF:
                return

    async def _over_quota(self, tenant_id: str) -> str:
        """Why no call may be made; an unreadable quota counts as used up."""
        tenant = await self._stores.endpoints.tenant(tenant_id)
        if tenant is None:
            return "the tenant does not exist any more"
        used = await self._stores.sessions.token_usage(tenant_id)
        most = tenant.tokens_per_month
        if most is not None and used.tokens >= most:
            return f"the tenant used {used.tokens:,} of its {most:,} tokens of {used.month}"
        return ""

    async def _scene(self, endpoint: Endpoint, mode: str, asked: bool = False) -> SessionTools:
        stores, tenant_id = self._stores, endpoint.tenant_id
        wanted = EndpointFilter(job_id=endpoint.job_id, limit=SIBLINGS_MAX)
        members = await stores.endpoints.endpoints(tenant_id, wanted)
        jobs = {job.id: job for job in await stores.endpoints.jobs(tenant_id)}
        tenant = await stores.endpoints.tenant(tenant_id)
        now = await stores.schedule.now()
        facts = await stores.planner.facts([FactsWanted(endpoint.id, 1, health=True)])
        rules = await stores.planner.rules(tenant_id, endpoint.job_id)
        last = next(iter(await stores.sessions.sessions(tenant_id, endpoint.id, limit=1)), None)
        connections = await stores.connections.connections(tenant_id)
        opened = self._vault.open
        redactor = Redactor(endpoint_secrets(members, opened) + connection_secrets(connections, opened))
        job = jobs.get(endpoint.job_id) or Job(endpoint.job_id, tenant_id, "", "", JobStatus.ACTIVE, now, now)
        siblings = [member for member in members if member.id != endpoint.id]
        latest = next(iter(facts.results[endpoint.id]), None)
        briefing = Briefing(
            job, siblings, facts.health[endpoint.id], latest, rules_in_words(rules, endpoint), last,
            why_now(endpoint, last, asked=asked), await self._budget_in_words(tenant),
            await stores.proposals.proposals(tenant_id, ProposalFilter(endpoint.id, "pending", limit=PROPOSALS_SHOWN)),
        )  # fmt: skip
        prompt = write_prompt(endpoint, briefing, now, redactor)
        floor_ms = (tenant.interval_ms_min or 0) if tenant is not None else 0
        return SessionTools(
            stores, endpoint, members, redactor, prompt, mode, floor_ms, self._author(), self._cron, self._pace,
            self._ids.new("ses", now),
        )  # fmt: skip

    async def _budget_in_words(self, tenant: Tenant | None) -> str:
        options = self._options
        words = f"{TOOL_CALLS_MAX} tool calls, {options.tokens:,} tokens and {options.seconds:g} s for this session"
        if tenant is None or tenant.tokens_per_month is None:
            return words
        used = await self._stores.sessions.token_usage(tenant.id)
        return f"{words}; {max(0, tenant.tokens_per_month - used.tokens):,} tokens of the tenant for {used.month}"

    def _author(self) -> str:
        return f"model:{self._model.name}"[:100]

    async def _skip(self, endpoint: Endpoint, why: str, mode: str) -> ModelSession:
        now = await self._stores.schedule.now()
        session = ModelSession(
            self._ids.new("ses", now), endpoint.tenant_id, endpoint.id, now, "skipped", mode, self._model.name,
            0, 0, 0, 0, now + SKIPPED_FOR, endpoint.failure_count, SessionDetail(note=why),
        )  # fmt: skip
        return await self._keep(session)

    async def _keep(self, session: ModelSession) -> ModelSession:
        async with self._pace:
            await self._stores.sessions.record_session(session, self._options.worker, _told(session))
        return session

    async def _record(self, scene: SessionTools, spoken: Conversation, took_ms: int) -> ModelSession:
        endpoint, options = scene.endpoint, self._options
        now = await self._stores.schedule.now()
        final = spoken.final or {}
        said = spoken.text if spoken.final is None else final.get("reasoning")
        reasoning = clean_text(str(said or ""), REASONING_MAX)
        has_failed = _status(spoken) == "failed"
        warnings = [
            warning
            for warning, is_so in (
                (MISSING_FINAL_TOOL, spoken.final is None),
                (MISSING_REASONING, not reasoning),
                (OUTPUT_TRUNCATED, spoken.is_truncated),
                (BUDGET_SPENT, spoken.is_spent),
                (STOPPED, spoken.is_stopped),
                (MODEL_FAILED, has_failed),
            )
            if is_so
        ]
        detail = SessionDetail(
            (*scene.calls, *(kept_call(each.tool, each.arguments, each.result) for each in spoken.others)),
            reasoning,
            clean_text(_in_words(final.get("actions_taken")), REASONING_MAX),
            clean_text(str(final.get("confidence") or ""), 20),
            tuple(warnings),
            clean_text(spoken.fault, REASONING_MAX),
        )
        session = ModelSession(
            scene.session_id, endpoint.tenant_id, endpoint.id, now - timedelta(milliseconds=took_ms),
            _status(spoken), scene.mode, self._model.name, spoken.tokens_in, spoken.tokens_out,
            cost_micros(spoken.tokens_in, spoken.tokens_out, options.price_in, options.price_out), took_ms,
            next_analysis_at(endpoint, now, final.get("next_analysis_in_ms")), endpoint.failure_count, detail,
        )  # fmt: skip
        return await self._keep(session)


def rules_in_words(rules: Sequence[RuleRevision], endpoint: Endpoint) -> list[str]:
    """The rules that read this endpoint or act on it: conditions and actions."""
    words = []
    for known in rules:
        rule = known.stored.rule
        if known.stored.endpoint_id in (None, endpoint.id) or rule.target == endpoint.name:
            whose = f"of {known.owner!r}" if known.owner else "of the job"
            target = f" on {rule.target!r}" if rule.target else ""
            words.append(f"{rule.name} {whose}: when {rule.when}: {action_in_words(rule)}{target}")
    return words


def _status(spoken: Conversation) -> str:
    """Only sessions that submitted an analysis count as done."""
    if spoken.is_stopped:
        return "stopped"
    if spoken.final is not None and not spoken.is_unfinished:
        return "done"
    return "failed" if spoken.fault and not spoken.is_spent and not spoken.is_unfinished else "incomplete"


def _told(session: ModelSession) -> Event:
    data: dict[str, object] = {
        "session": session.id,
        "status": session.status,
        "mode": session.mode,
        "tools": [call.tool for call in session.detail.tool_calls],
        "tokens": session.tokens_in + session.tokens_out,
    }
    if session.detail.note:
        data["note"] = clean_text(session.detail.note, 300)
    by = f"model:{session.model}"[:100]
    return Event(EventType.PLANNER_ANALYSED, session.started_at, session.tenant_id, session.endpoint_id, "", by, data)


def _in_words(said: object) -> str:
    """The items of a list, or of a text if the model sent one instead."""
    return "; ".join(str(each) for each in said) if isinstance(said, list) else str(said or "")
