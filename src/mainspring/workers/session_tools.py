"""The tools of one model session: what a model may read of a job, and the hints and pauses that it may propose.

Nothing outside the job can be addressed. Every call is recorded before it has an effect, and a refusal is a message
that the model can read.
"""

import math
from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace

from mainspring.domain.advice.approval import propose_for_model
from mainspring.domain.advice.authority import check_reach, note_refusal
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import AdviceRefused, MainspringError, NotFound
from mainspring.domain.instant import rfc3339
from mainspring.domain.model.prompt import (
    PREVIEW_CHARS_MAX,
    Redactor,
    hints_in_words,
    schedule_in_words,
    state_in_words,
)
from mainspring.domain.model.session import TOOL_CALLS_MAX, ToolCall
from mainspring.domain.model.tools import READING, Proposal, apply_proposal, proposal_in_words, read_proposal
from mainspring.domain.rules.apply import ASK, LIVE, OFF, SHADOW, strictest
from mainspring.domain.rules.judge import FactsWanted, RuleFacts, RuleResult, mode_of
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.text import clean_text
from mainspring.ports.endpoints import EndpointFilter
from mainspring.ports.stores import Stores
from mainspring.workers.throttle import Throttle

HISTORY_MAX = 1_000
SIBLINGS_MAX = 200
RESULT_MAX = 8_000
REPLY_CHARS_MAX = 40_000  # per answer to the model: a fifth of the default budget of a session
KEPT_MAX = 20
UNFINISHED = "the session ended before this call did; check the endpoint for the result"


class SessionTools:
    """One session's view of one job, and its tools. Nothing outside the job can be addressed."""

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
        pace: Throttle,
        session_id: str,
    ) -> None:
        self.endpoint = endpoint
        self.session_id = session_id
        self.prompt = prompt
        self.mode = mode
        self.calls: list[ToolCall] = []
        self._stores = stores
        self._known = {member.id for member in members}
        self._redactor = redactor
        self._floor_ms = floor_ms
        self._author = author
        self._cron = cron
        self._pace = pace

    async def call(self, tool: str, arguments: dict[str, object]) -> str:
        """Executes a tool, recorded before it has an effect; a refusal is returned as text, never raised."""
        if len(self.calls) >= TOOL_CALLS_MAX:
            return f"refused: the limit of {TOOL_CALLS_MAX} tool calls is reached; submit your analysis"
        place = len(self.calls)
        self.calls.append(kept_call(tool, arguments, UNFINISHED))
        try:
            async with self._pace:
                result = await (self._read(tool, arguments) if tool in READING else self._propose(tool, arguments))
        except MainspringError as fault:
            result = f"refused: {fault}"
        self.calls[place] = replace(self.calls[place], result=clean_text(result, RESULT_MAX))
        return result if len(result) <= REPLY_CHARS_MAX else f"{result[:REPLY_CHARS_MAX]} ... cut; ask for less"

    async def _propose(self, tool: str, arguments: dict[str, object]) -> str:
        now = await self._stores.schedule.now()
        proposal = read_proposal(tool, arguments, now)
        members = {member.name: member for member in await self._members_now()}
        target = next(
            (each for each in members.values() if proposal.target is None and each.id == self.endpoint.id),
            members.get(proposal.target or ""),
        )
        if target is None:
            raise NotFound("endpoint of this job", proposal.target or self.endpoint.name, tuple(members))
        said = ""

        def act(each: Endpoint, modes: Mapping[str, str], at: datetime) -> Change:
            nonlocal said
            change, said = self._answer(proposal, each, self._mode_towards(each, modes), at)
            return change

        changed = await self._stores.planner.commit_advice(self.endpoint.tenant_id, target.id, act)
        return "refused: the endpoint does not exist any more" if changed is None else said

    def _answer(self, proposal: Proposal, target: Endpoint, mode: str, now: datetime) -> tuple[Change, str]:
        """The change that the mode allows, and the reply to the model."""
        if mode == OFF:
            said = f"refused: the planner is off for {target.name!r}; its owner decides what changes it"
            return Change(target), said
        try:
            check_reach(self.endpoint, target.id)
            if mode == ASK:
                whose = (self._author, self.session_id, self._floor_ms)
                change = propose_for_model(proposal, target, now, *whose, self._cron, self.endpoint.id)
            else:
                change = apply_proposal(proposal, target, now, self._author, self._floor_ms, self._cron)
        except AdviceRefused as refused:
            noted = note_refusal(target, self._author, proposal_in_words(proposal), str(refused), now)
            return noted if mode == LIVE else Change(target), f"refused: {refused}"
        if mode == SHADOW:
            return Change(target), f"recorded in shadow mode, not applied; {_after(change.endpoint)}"
        if mode == ASK:
            done = "proposed; a person decides, nothing was applied" if change.proposals else "no change needed"
        else:
            done, change = "done", change if target.can_run else Change(target)
        return change, f"{done}; {_after(change.endpoint)}"

    def _mode_towards(self, target: Endpoint, modes: Mapping[str, str]) -> str:
        """The strictest of the session's mode and both endpoints' current modes: a switch also applies to running
        sessions.
        """
        both = (mode_of(modes, self.endpoint.tenant_id, each.id) for each in (self.endpoint, target))
        return strictest([self.mode, *both])

    async def _read(self, tool: str, given: dict[str, object]) -> str:
        if tool == "get_sibling_latest_responses":
            return await self._siblings(given.get("include_responses") is True)
        if tool == "get_latest_response":
            facts = await self._stores.planner.facts([FactsWanted(self.endpoint.id, 1)])
            results = facts.results[self.endpoint.id]
            return _text(self._shape(results[0], with_body=True) if results else {"runs": "none yet"})
        limit, offset = _within(given.get("limit"), 5, 1, 10), _within(given.get("offset"), 0, 0, HISTORY_MAX)
        facts = await self._stores.planner.facts([FactsWanted(self.endpoint.id, offset + limit + 1)])
        return _text(self._history(facts, limit, offset, given.get("include_bodies") is True))

    def _history(self, facts: RuleFacts, limit: int, offset: int, with_bodies: bool) -> dict[str, object]:
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

    async def _members_now(self) -> list[Endpoint]:
        """The current endpoints of the job. Only those the session started with: secrets of others are unknown."""
        wanted = EndpointFilter(job_id=self.endpoint.job_id, limit=len(self._known) + SIBLINGS_MAX)
        found = await self._stores.endpoints.endpoints(self.endpoint.tenant_id, wanted)
        return [member for member in found if member.id in self._known]

    async def _siblings(self, with_bodies: bool) -> str:
        others = [member for member in await self._members_now() if member.id != self.endpoint.id]
        now = await self._stores.schedule.now()
        facts = await self._stores.planner.facts([FactsWanted(member.id, 1) for member in others])
        shapes: list[dict[str, object]] = []
        for member in others:
            results = facts.results.get(member.id, ())
            shapes.append(
                {
                    "name": member.name,
                    "schedule": schedule_in_words(member),
                    "state": state_in_words(member, now, self._redactor),
                    "description": self._redactor.owner(member.description, PREVIEW_CHARS_MAX),
                    "hints": hints_in_words(member, now, self._redactor),
                    "latest": self._shape(results[0], with_body=with_bodies) if results else "no runs yet",
                }
            )
        return _text({"siblings": shapes})

    def _shape(self, result: RuleResult, *, with_body: bool) -> dict[str, object]:
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


def kept_call(tool: str, arguments: dict[str, object], result: str) -> ToolCall:
    """A call as recorded: its arguments as JSON, bounded because a model may send anything of any size."""
    kept = {clean_text(str(name), 50): _kept(value, 3) for name, value in list(arguments.items())[:KEPT_MAX]}
    return ToolCall(clean_text(tool, 100), kept, clean_text(result, RESULT_MAX))


def _kept(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if math.isfinite(value) and abs(value) < 2**63 else str(value)[:500]
    if depth and isinstance(value, dict):
        return {clean_text(str(name), 50): _kept(each, depth - 1) for name, each in list(value.items())[:KEPT_MAX]}
    if depth and isinstance(value, list):
        return [_kept(each, depth - 1) for each in value[:KEPT_MAX]]
    return clean_text(str(value), 500)


def _within(value: object, default: int, least: int, most: int) -> int:
    return min(max(value, least), most) if isinstance(value, int) and not isinstance(value, bool) else default
