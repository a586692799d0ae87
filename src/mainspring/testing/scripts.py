"""Scripted replacements for tests: targets, a mailbox and a language model. Each records what it received."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.kinds.command import CommandAction
from mainspring.domain.kinds.heartbeat import HeartbeatAction
from mainspring.domain.kinds.http import url_of
from mainspring.domain.kinds.registry import kind_of
from mainspring.domain.model.tools import ToolSpec
from mainspring.domain.run import Action, Body, HttpAction, Outcome, Request, RunStatus
from mainspring.outbound.kinds.call import CallFault, CallProgress, run_call
from mainspring.outbound.kinds.heartbeat import HeartbeatCaller
from mainspring.outbound.response import retry_after_s
from mainspring.ports.outbound import Clock
from mainspring.ports.planner import Budget, Conversation

JSON, TEXT = "application/json", "text/plain; charset=utf-8"


class Answer(Struct, frozen=True):
    """The response of a target. The endpoint judges it: accepted codes, exit codes, the condition and the deadline.

    `status_code` is an HTTP status or an exit code; None: 200 or 0. `body` is JSON, text or bytes; for kinds other than
    http and command, the facts. `error_code` is a failure without a response: connect, dns, tls, closed, ...
    """

    status_code: int | None = None
    body: object = None
    headers: Mapping[str, str] = {}
    takes: str = "0s"
    error_code: str = ""


class TargetCall(Struct, frozen=True):
    """A call that a target received. `endpoint` is "" for a webhook, an alert by HTTP and a call of a workflow."""

    at: datetime
    endpoint: str
    kind: str
    url: str
    attempt: int
    action: Action


class SentMessage(Struct, frozen=True):
    """An email or a message to another service, from an alert or a workflow."""

    at: datetime
    to: str
    title: str
    text: str


Script = Answer | Callable[[TargetCall], Answer]


class PlayedTargets:
    """Answers every call. Answers are used in order, and the last one is repeated; without any, a call succeeds."""

    def __init__(self, clock: Clock, names: Mapping[str, str]) -> None:
        self._clock = clock
        self._names = names
        self._scripts: dict[str, list[Script]] = {}
        self._heartbeats = HeartbeatCaller(clock.now)
        self.calls: list[TargetCall] = []

    def script(self, target: str, answers: Sequence[Script]) -> None:
        """`target` is the name of an endpoint, or the beginning of a URL."""
        self._scripts[target] = list(answers)

    async def call(self, request: Request) -> Outcome:
        if isinstance(request.action, HeartbeatAction):
            return await self._heartbeats.call(request)
        action = request.action
        name = self._names.get(request.endpoint_id, "")
        call = TargetCall(self._clock.now(), name, kind_of(action).name, url_of(action), request.attempt, action)
        self.calls.append(call)
        given = self._answer_to(call)

        async def answer(progress: CallProgress) -> None:
            await asyncio.sleep(parse_duration_ms(given.takes, field="takes", min_ms=0) / 1_000)
            _fill_in(progress, action, given)

        outcome = await run_call(action, answer)
        headers = tuple((key.lower(), value) for key, value in given.headers.items())
        if isinstance(action, HttpAction) and outcome.status_code in (429, 503):
            return replace(outcome, retry_after_s=retry_after_s(headers, self._clock.now()))
        return outcome

    async def aclose(self) -> None:
        """No connection is open."""

    def _answer_to(self, call: TargetCall) -> Answer:
        found = [each for each in self._scripts if each == call.endpoint or (call.url and call.url.startswith(each))]
        if not found:
            return Answer()
        answers = self._scripts[call.endpoint if call.endpoint in found else max(found, key=len)]
        script = answers.pop(0) if len(answers) > 1 else answers[0]
        return script if isinstance(script, Answer) else script(call)


class ScriptedMailbox:
    """Receives every message of alerts and workflows."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.messages: list[SentMessage] = []

    def check(self, to: str) -> None:
        """Every address is accepted."""

    async def send(
        self, to: str, title: str, text: str, message_id: str, *, sender: str = "", timeout_s: float = 0
    ) -> Outcome:
        self.messages.append(SentMessage(self._clock.now(), to, title, text))
        return Outcome(RunStatus.SUCCESS, 0)


class ToolStep(Struct, frozen=True):
    """One call of a tool by the model."""

    tool: str
    arguments: dict[str, object] = field(default_factory=dict)


ModelScript = Callable[[str], Sequence[ToolStep]]  # the prompt of a session to its tool calls


class ScriptedModel:
    """A language model that calls the tools of a script in each session, and then ends it with `reasoning`."""

    name = "scripted"

    def __init__(self, script: ModelScript, reasoning: str = "as scripted") -> None:
        self._script = script
        self._reasoning = reasoning
        self.prompts: list[str] = []

    async def converse(
        self,
        instructions: str,
        prompt: str,
        tools: Sequence[ToolSpec],
        final: ToolSpec,
        call: Callable[[str, dict[str, object]], Coroutine[Any, Any, str]],
        budget: Budget,
    ) -> Conversation:
        self.prompts.append(prompt)
        for step in self._script(prompt):
            await call(step.tool, step.arguments)
        return Conversation(final={"reasoning": self._reasoning, "confidence": "high"})


def _fill_in(progress: CallProgress, action: Action, given: Answer) -> None:
    """The facts that the caller of a kind would return."""
    progress.headers = tuple((key.lower(), value) for key, value in given.headers.items())
    if given.error_code:
        raise CallFault(given.error_code, f"scripted: {given.error_code}")
    if isinstance(action, HttpAction):
        progress.body = _body(given.body)
        progress.status_code = code = 200 if given.status_code is None else given.status_code
        if code not in action.accept_codes if action.accept_codes else not 200 <= code < 300:
            raise CallFault("http_status", f"HTTP {code}; expected {action.accept_codes or '2xx'}")
    elif isinstance(action, CommandAction):
        progress.body = _body(given.body)
        progress.status_code = code = given.status_code or 0
        if code not in (action.exit_codes or (0,)):
            raise CallFault("exit_code", f"exit code {code}")
    elif isinstance(given.body, dict):
        progress.facts.update(given.body)


def _body(value: object) -> Body | None:
    if value is None:
        return None
    if isinstance(value, bytes | str):
        data = value.encode() if isinstance(value, str) else value
        return Body(data, TEXT, False, len(data))
    data = msgspec.json.encode(value)
    return Body(data, JSON, False, len(data))
