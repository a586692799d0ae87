"""The analyst: lets a language model look at endpoints that are due for it, and records what it said and did.

    1 claim     endpoints that are due, each leased to one analyst
    2 quota     over it, or where it cannot be read: no call is made, and the session says so
    3 read      health, job, siblings; write one prompt, without secrets
    4 converse  with eight tools, within a budget of calls, tokens and time
    5 record    one session, what it cost, and when the next one is due

All a session can do is to write bounded hints and pauses for endpoints of one job of one tenant. In shadow mode it does
not even that: the session shows what would have changed. However fast a model answers and however much it wants, an
endpoint has so many sessions an hour, and all sessions together keep a pace that leaves the machine to the scheduler.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.advice import note_refusal
from mainspring.domain.changes import Change
from mainspring.domain.endpoint import Endpoint, Job, JobStatus
from mainspring.domain.errors import AdviceRefused, MainspringError, Misconfigured, NotFound, StoreUnavailable
from mainspring.domain.event import Event, EventType
from mainspring.domain.firing import LIVE, OFF, SHADOW
from mainspring.domain.governor import CronReader
from mainspring.domain.instant import rfc3339
from mainspring.domain.prompt import (
    INSTRUCTIONS,
    PREVIEW_CHARS_MAX,
    Redactor,
    hints_in_words,
    schedule_in_words,
    state_in_words,
    write_prompt,
)
from mainspring.domain.rulebook import Facts, Result, Want, mode_of
from mainspring.domain.sealing import header_secrets
from mainspring.domain.session import (
    BUDGET_SPENT,
    MISSING_FINAL_TOOL,
    MISSING_REASONING,
    MODEL_FAILED,
    OUTPUT_TRUNCATED,
    SKIPPED_FOR,
    TOOL_CALLS_MAX,
    Session,
    SessionDetail,
    ToolCall,
    cost_micros,
    next_analysis_at,
)
from mainspring.domain.text import clean_text
from mainspring.domain.toolbox import FINAL, READING, TOOLS, apply_proposal, proposal_in_words, read_proposal
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.outside import Ids, Vault
from mainspring.ports.planner import Budget, Conversation, LanguageModel
from mainspring.ports.stores import Stores
from mainspring.workers.ending import end_tasks
from mainspring.workers.pace import Pace

TICK_S = 5.0
AT_ONCE = 4
LEASE_MARGIN_MS = 110_000  # a model may have to be started first, and takes a moment to end
LOOKBACK_MS = 300_000
SIBLINGS_MAX = 200
HISTORY_MAX = 1_000
REASONING_MAX, RESULT_MAX = 4_000, 8_000
UNFINISHED = "the session ended before this call did; look at the endpoint for what came of it"
FINAL_TOOL = next(spec for spec in TOOLS if spec.name == FINAL)
OTHER_TOOLS = tuple(spec for spec in TOOLS if spec.name != FINAL)

log = structlog.get_logger()


class AnalystOptions(Struct, frozen=True):
    """Prices are dollars per million tokens; 0: not known, and sessions cost nothing on paper."""

    worker: str
    tokens: int = 50_000
    seconds: float = 60.0
    sessions_per_hour: int = 12  # of one endpoint, whatever the model asks for and however often the endpoint fails
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
        pace: Pace | None = None,
    ) -> None:
        self._stores = stores
        self._model = model
        self._vault = vault
        self._ids = ids
        self._cron = cron
        self._options = options
        self._monotonic_s = monotonic_s
        self._pace = pace or Pace(monotonic_s)
        self._stop = asyncio.Event()

    async def run_once(self) -> int:
        """Look at what is due, a few at once; how many sessions were held."""
        due = await self._claim(AT_ONCE)
        await asyncio.gather(*(self._analyse(endpoint_id) for endpoint_id in due))
        return len(due)

    async def look(self, endpoint: Endpoint) -> Session | None:
        """One session about this endpoint now, due or not; None where another analyst is at it."""
        (claimed,) = await self._claim(1, endpoint.id) or (None,)
        return None if claimed is None else await self._analyse(claimed)

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
                pass  # the scheduler says so
            except Exception:  # the outermost loop of a worker: one bad round must not end planning for ever
                log.exception("worker failed", worker=self._options.worker)
            await asyncio.sleep(TICK_S)

    async def _claim(self, limit: int, endpoint_id: str | None = None) -> list[str]:
        lease_ms = int(self._options.seconds * 1000) + LEASE_MARGIN_MS
        per_hour = self._options.sessions_per_hour
        async with self._pace:
            return await self._stores.sessions.claim_analyses(
                self._options.worker, lease_ms, LOOKBACK_MS, limit, per_hour, endpoint_id
            )

    async def _analyse(self, endpoint_id: str) -> Session | None:
        endpoint = await self._stores.sessions.owner_of(endpoint_id)
        if endpoint is None:
            return None
        mode = mode_of(await self._stores.planner.modes(), endpoint.tenant_id, endpoint.id)
        why_not = "the planner is off here" if mode == OFF else await self._over_quota(endpoint.tenant_id)
        if why_not:
            return await self._skip(endpoint, why_not, SHADOW if mode == SHADOW else LIVE)
        try:
            async with self._pace:
                scene = await self._scene(endpoint, mode)
        except Misconfigured as fault:  # a secret does not open here: what a target says of it could not be kept back
            return await self._skip(
                endpoint, f"the model is shown nothing: {fault}", SHADOW if mode == SHADOW else LIVE
            )
        began_s = self._monotonic_s()
        budget = Budget(TOOL_CALLS_MAX, self._options.tokens, self._options.seconds)
        try:
            spoken = await self._model.converse(INSTRUCTIONS, scene.prompt, OTHER_TOOLS, FINAL_TOOL, scene.call, budget)
        except Exception as fault:  # an adapter that raises is our mistake; the session is told all the same
            log.exception("session failed", endpoint_id=endpoint.id)
            spoken = Conversation(fault=f"{type(fault).__name__}: {fault}")
        took_ms = max(0, round((self._monotonic_s() - began_s) * 1000))
        return await self._record(scene, spoken, took_ms)

    async def _over_quota(self, tenant_id: str) -> str:
        """Why no call may be made; a quota that cannot be read counts as spent."""
        tenant = await self._stores.endpoints.tenant(tenant_id)
        if tenant is None:
            return "its tenant is not there any more"
        used = await self._stores.sessions.token_usage(tenant_id)
        most = tenant.tokens_per_month
        if most is not None and used.tokens >= most:
            return f"the tenant used {used.tokens:,} of its {most:,} tokens of {used.month}"
        return ""

    async def _scene(self, endpoint: Endpoint, mode: str) -> "Scene":
        stores, tenant_id = self._stores, endpoint.tenant_id
        wanted = EndpointFilter(job_id=endpoint.job_id, limit=SIBLINGS_MAX)
        members = await stores.endpoints.endpoints(tenant_id, wanted)
        jobs = {job.id: job for job in await stores.endpoints.jobs(tenant_id)}
        tenant = await stores.endpoints.tenant(tenant_id)
        now = await stores.schedule.now()
        facts = await stores.planner.facts([Want(endpoint.id, 1, health=True)])
        last = next(iter(await stores.sessions.sessions(tenant_id, endpoint.id, limit=1)), None)
        redactor = Redactor(header_secrets(members, self._vault.open))
        job = jobs.get(endpoint.job_id) or Job(endpoint.job_id, tenant_id, "", "", JobStatus.ACTIVE, now, now)
        siblings = [member for member in members if member.id != endpoint.id]
        prompt = write_prompt(endpoint, job, siblings, facts.health[endpoint.id], last, now, redactor)
        floor_ms = (tenant.interval_ms_min or 0) if tenant is not None else 0
        return Scene(
            stores, endpoint, members, redactor, prompt, mode, floor_ms, self._author(), self._cron, self._pace
        )

    def _author(self) -> str:
        return f"model:{self._model.name}"[:100]

    async def _skip(self, endpoint: Endpoint, why: str, mode: str) -> Session:
        now = await self._stores.schedule.now()
        session = Session(
            self._ids.new("ses", now), endpoint.tenant_id, endpoint.id, now, "skipped", mode, self._model.name,
            0, 0, 0, 0, now + SKIPPED_FOR, endpoint.failure_count, SessionDetail(note=why),
        )  # fmt: skip
        return await self._keep(session)

    async def _keep(self, session: Session) -> Session:
        async with self._pace:
            await self._stores.sessions.record_session(session, self._options.worker, _told(session))
        return session

    async def _record(self, scene: "Scene", spoken: Conversation, took_ms: int) -> Session:
        endpoint, options = scene.endpoint, self._options
        now = await self._stores.schedule.now()
        final = spoken.final or {}
        reasoning = clean_text(str(final.get("reasoning") or spoken.text), REASONING_MAX)
        warnings = [
            warning
            for warning, is_so in (
                (MISSING_FINAL_TOOL, spoken.final is None),
                (MISSING_REASONING, not reasoning),
                (OUTPUT_TRUNCATED, spoken.is_truncated),
                (BUDGET_SPENT, spoken.is_spent),
                (MODEL_FAILED, bool(spoken.fault) and not spoken.is_spent),
            )
            if is_so
        ]
        detail = SessionDetail(
            tuple(scene.calls),
            reasoning,
            clean_text(_in_words(final.get("actions_taken")), REASONING_MAX),
            clean_text(str(final.get("confidence") or ""), 20),
            tuple(warnings),
            clean_text(spoken.fault, REASONING_MAX),
        )
        failed = bool(spoken.fault) and not spoken.is_spent and spoken.final is None and not scene.calls
        session = Session(
            self._ids.new("ses", now), endpoint.tenant_id, endpoint.id, now - timedelta(milliseconds=took_ms),
            "failed" if failed else "done", scene.mode, self._model.name, spoken.tokens_in, spoken.tokens_out,
            cost_micros(spoken.tokens_in, spoken.tokens_out, options.price_in, options.price_out), took_ms,
            next_analysis_at(endpoint, now, final.get("next_analysis_in_ms")), endpoint.failure_count, detail,
        )  # fmt: skip
        return await self._keep(session)


class Scene:
    """One session's view of one job, and its tools. Nothing outside the job can be named here."""

    def __init__(
        self,
        stores: Stores,
        endpoint: Endpoint,
        members: list[Endpoint],
        redactor: Redactor,
        prompt: str,
        mode: str,
        floor_ms: int,
        author: str,
        cron: CronReader,
        pace: Pace,
    ) -> None:
        self.endpoint = endpoint
        self.prompt = prompt
        self.mode = mode
        self.calls: list[ToolCall] = []
        self._stores = stores
        self._members = {member.name: member for member in members}
        self._redactor = redactor
        self._floor_ms = floor_ms
        self._author = author
        self._cron = cron
        self._pace = pace

    async def call(self, tool: str, arguments: dict[str, object]) -> str:
        """Execute a tool, on record before it does anything; what is refused is answered in words, never raised."""
        if len(self.calls) >= TOOL_CALLS_MAX:
            return f"refused: {TOOL_CALLS_MAX} tool calls are all there are; submit your analysis"
        place = len(self.calls)
        self.calls.append(ToolCall(tool, _kept(arguments), UNFINISHED))
        try:
            async with self._pace:
                result = await (self._read(tool, arguments) if tool in READING else self._propose(tool, arguments))
        except MainspringError as fault:
            result = f"refused: {fault}"
        self.calls[place] = replace(self.calls[place], result=clean_text(result, RESULT_MAX))
        return result

    async def _propose(self, tool: str, arguments: dict[str, object]) -> str:
        now = await self._stores.schedule.now()
        proposal = read_proposal(tool, arguments, now)
        target = self.endpoint if proposal.target is None else self._members.get(proposal.target)
        if target is None:
            raise NotFound("endpoint of this job", str(proposal.target), tuple(self._members))
        mode = await self._mode_towards(target)
        if mode == OFF:
            return f"refused: the planner is off for {target.name!r}; its owner decides what changes it"
        if mode == SHADOW:
            change = apply_proposal(proposal, target, now, self._author, self._floor_ms, self._cron)
            return f"recorded in shadow mode, not applied; {_after(change.endpoint)}"
        refusal = ""

        def act(each: Endpoint, at: datetime) -> Change:
            nonlocal refusal
            try:
                change = apply_proposal(proposal, each, at, self._author, self._floor_ms, self._cron)
            except AdviceRefused as refused:
                refusal = str(refused)
                return note_refusal(each, self._author, proposal_in_words(proposal), refusal, at)
            return change if each.can_run else Change(each)

        changed = await self._stores.endpoints.change_endpoints(self.endpoint.tenant_id, [target.id], act)
        if refusal:
            return f"refused: {refusal}"
        return f"done; {_after(changed[0].endpoint)}" if changed else "refused: the endpoint is not there any more"

    async def _mode_towards(self, target: Endpoint) -> str:
        """The strictest of the session's mode and both endpoints' modes now: a switch holds for sessions in progress."""
        modes, tenant_id = await self._stores.planner.modes(), self.endpoint.tenant_id
        said = {self.mode, *(mode_of(modes, tenant_id, each.id) for each in (self.endpoint, target))}
        return OFF if OFF in said else SHADOW if SHADOW in said else LIVE

    async def _read(self, tool: str, given: dict[str, object]) -> str:
        if tool == "get_sibling_latest_responses":
            return await self._siblings(given.get("include_responses") is True)
        if tool == "get_latest_response":
            facts = await self._stores.planner.facts([Want(self.endpoint.id, 1)])
            results = facts.results[self.endpoint.id]
            return _text(self._shape(results[0], with_body=True) if results else {"runs": "none yet"})
        limit, offset = _within(given.get("limit"), 5, 1, 10), _within(given.get("offset"), 0, 0, HISTORY_MAX)
        facts = await self._stores.planner.facts([Want(self.endpoint.id, offset + limit + 1)])
        return _text(self._history(facts, limit, offset, given.get("include_bodies") is True))

    def _history(self, facts: Facts, limit: int, offset: int, with_bodies: bool) -> dict[str, object]:
        results = facts.results[self.endpoint.id]
        page = results[offset : offset + limit]
        runs = []
        for place, result in enumerate(page):
            shape = self._shape(result, with_body=with_bodies)
            newer = page[place - 1] if place else None
            if newer is not None and newer.body == result.body:
                shape["body"] = "the same as the newer one"
            runs.append(shape)
        has_more = len(results) > offset + limit
        return {"runs": runs, "has_more": has_more, "next_offset": offset + limit if has_more else None}

    async def _siblings(self, with_bodies: bool) -> str:
        others = [member for member in self._members.values() if member.id != self.endpoint.id]
        now = await self._stores.schedule.now()
        facts = await self._stores.planner.facts([Want(member.id, 1) for member in others])
        shapes: list[dict[str, object]] = []
        for member in others:
            results = facts.results.get(member.id, ())
            shapes.append(
                {
                    "name": member.name,
                    "schedule": schedule_in_words(member),
                    "state": state_in_words(member, now),
                    "hints": hints_in_words(member, now, self._redactor),
                    "latest": self._shape(results[0], with_body=with_bodies) if results else "no runs yet",
                }
            )
        return _text({"siblings": shapes})

    def _shape(self, result: Result, *, with_body: bool) -> dict[str, object]:
        return {
            "at": rfc3339(result.finished_at),
            "status": result.status,
            "status_code": result.status_code,
            "duration_ms": result.duration_ms,
            "body": self._redactor.body(result) if with_body else self._redactor.body(result, PREVIEW_CHARS_MAX),
        }


def _after(endpoint: Endpoint) -> str:
    at = endpoint.next_run_at
    return f"next run {rfc3339(at) if at is not None else 'never'}, {endpoint.source}"


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _kept(arguments: dict[str, object]) -> dict[str, object]:
    """Arguments as they are kept: a model may send anything, of any size."""
    return {clean_text(str(name), 50): clean_text(str(value), 500) for name, value in list(arguments.items())[:20]}


def _within(value: object, default: int, least: int, most: int) -> int:
    return min(max(value, least), most) if isinstance(value, int) and not isinstance(value, bool) else default


def _told(session: Session) -> Event:
    data: dict[str, object] = {
        "session": session.id,
        "status": session.status,
        "mode": session.mode,
        "tools": [call.tool for call in session.detail.tool_calls],
        "tokens": session.tokens_in + session.tokens_out,
    }
    by = f"model:{session.model}"[:100]
    return Event(EventType.PLANNER_ANALYSED, session.started_at, session.tenant_id, session.endpoint_id, "", by, data)


def _in_words(said: object) -> str:
    """What a model put into a list, as it is asked to, or into a text."""
    return "; ".join(str(each) for each in said) if isinstance(said, list) else str(said or "")
