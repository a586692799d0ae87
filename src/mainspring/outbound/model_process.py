"""Run the library of a language model in a child process. Tools are executed in this process.

Such a library blocks an interpreter for tens of milliseconds at every request, and for an unknown time at a hostile
reply. In the process of a scheduler that would make runs late. The child can be slow, hang or crash without harm: it
has no connection to the database and holds no lock. All it can do is ask for tools, and be refused.

    child                            parent
    ready                        <-
                                 ->  ask       instructions, prompt, tools, budget
    call a tool                  <-
                                 ->  answer
    told: how the session went   <-

Messages are single lines of JSON; any number of sessions run at once. The process starts with the first session, exits
after it has been idle for a while, and is killed if it exceeds a session's time. A process that crashed is restarted
after a pause that grows with every crash.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Literal, TypeVar

import msgspec
import structlog
from msgspec import Struct

from mainspring.domain.model.tools import ToolSpec
from mainspring.ports.planner import Budget, Conversation

OPEN_S = 90.0  # until it is ready, including the pause before: two seconds, and far more on an overloaded machine
PAUSE_S_MAX = 8.0
CLOSED_S = 2.0  # from the end of its output to its exit
LINE_BYTES_MAX = 8_000_000  # prompts and answers of tools are far below

ToolCaller = Callable[[str, dict[str, object]], Coroutine[Any, Any, str]]
T = TypeVar("T")

log = structlog.get_logger()


class Handshake(Struct, frozen=True, tag=True):
    """The first message to the child. It is sent by its input because arguments and environment are visible to
    other users.
    """

    model: str
    url: str
    key: str
    log_format: Literal["auto", "json", "console"]
    log_level: str


class ChildReady(Struct, frozen=True, tag=True):
    pass


class Ask(Struct, frozen=True, tag=True):
    session: int
    instructions: str
    prompt: str
    tools: tuple[ToolSpec, ...]
    final: ToolSpec
    budget: Budget


class ToolRequest(Struct, frozen=True, tag=True):
    session: int
    call: int
    tool: str
    arguments: dict[str, object]


class ToolAnswer(Struct, frozen=True, tag=True):
    call: int
    text: str
    fault: str = ""


class Cancel(Struct, frozen=True, tag=True):
    session: int


class Told(Struct, frozen=True, tag=True):
    session: int
    conversation: Conversation


def written(message: Struct) -> bytes:
    """One line. Not by msgspec, which refuses half a surrogate and large numbers: models send both."""
    return json.dumps(msgspec.to_builtins(message)).encode() + b"\n"


def read(line: bytes, kinds: type[T]) -> T:
    """Parses a message; raises ValueError if it is invalid."""
    return msgspec.convert(json.loads(line), kinds)


class ConversationLimits(Struct, frozen=True):
    """When to kill the child. It keeps to a session's time limit, so a session that exceeds it hangs.

    An idle child takes a hundred megabytes; restarting it takes a second of CPU time.
    """

    patience_s: float = 5.0
    idle_s: float = 120.0


class ModelProcess:
    """A LanguageModel. `command` starts the child, `hello` is its first message."""

    def __init__(
        self, name: str, command: Sequence[str], hello: Handshake, leave: ConversationLimits | None = None
    ) -> None:
        self.name = name
        self._command = command
        self._hello = hello
        self._leave = leave or ConversationLimits()
        self._guest: ModelChildProcess | None = None
        self._opening = asyncio.Lock()
        self._lost = 0  # crashes since the last successful session

    async def converse(
        self,
        instructions: str,
        prompt: str,
        tools: Sequence[ToolSpec],
        final: ToolSpec,
        call: ToolCaller,
        budget: Budget,
    ) -> Conversation:
        try:
            async with asyncio.timeout(OPEN_S), self._opening:
                guest = self._guest = await self._present()
        except TimeoutError:
            return Conversation(fault=f"the model process was not ready within {OPEN_S:g} s")
        except EOFError as end:
            return Conversation(fault=str(end))
        spoken = await guest.hold(Ask(guest.number(), instructions, prompt, tuple(tools), final, budget), call)
        if not guest.is_lost:
            self._lost = 0
        return spoken

    async def aclose(self) -> None:
        if self._guest is not None:
            await self._guest.end()

    async def _present(self) -> "ModelChildProcess":
        """The running child, or a new one."""
        if self._guest is not None and self._guest.is_welcome:
            return self._guest
        if self._guest is not None:
            self._lost += self._guest.is_lost
            self._guest = None
        if self._lost:
            await asyncio.sleep(min(2.0 ** (self._lost - 1), PAUSE_S_MAX))
        try:
            return await _spawn(self._command, self._hello, self._leave)
        except EOFError:
            self._lost += 1
            raise


async def _spawn(command: Sequence[str], hello: Handshake, leave: ConversationLimits) -> "ModelChildProcess":
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the parent; the child exits with it
        limit=LINE_BYTES_MAX,
    )
    guest = ModelChildProcess(process, leave)
    try:
        guest.write(hello)
        await guest.ready()
    except BaseException:
        await guest.end()
        raise
    log.info("model process started", pid=process.pid)
    return guest


class ModelConversation:
    """One session: its future result, its tool executor, and running tool calls."""

    def __init__(self, call: ToolCaller) -> None:
        self.done: asyncio.Future[Conversation] = asyncio.get_running_loop().create_future()
        self.call = call
        self.calls: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Nothing is executed for a session once it is over."""
        for call in self.calls:
            call.cancel()
        await asyncio.gather(*self.calls, return_exceptions=True)


class ModelChildProcess:
    """One child process, from start to exit."""

    def __init__(self, process: asyncio.subprocess.Process, leave: ConversationLimits) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.is_gone = False
        self.is_lost = False  # exited without being killed by us
        self._process = process
        self._input, self._output = process.stdin, process.stdout
        self._leave = leave
        self._idle: asyncio.TimerHandle | None = None
        self._numbers = count(1)
        self._talks: dict[int, ModelConversation] = {}
        self._is_dismissed = False
        self._listening: asyncio.Task[None] | None = None

    @property
    def is_welcome(self) -> bool:
        return not self.is_gone and not self._is_dismissed

    def number(self) -> int:
        return next(self._numbers)

    def write(self, message: Struct) -> None:
        if not self._input.is_closing():
            self._input.write(written(message))

    async def ready(self) -> None:
        """Raises EOFError if the child exits before it is ready."""
        if not await self._output.readline():
            raise EOFError(f"the model process exited at its start ({await self._exit()}); see the log")
        self._listening = asyncio.create_task(self._listen(), name="model_process")

    async def hold(self, asked: Ask, call: ToolCaller) -> Conversation:
        talk = self._talks[asked.session] = ModelConversation(call)
        if self._idle is not None:
            self._idle.cancel()
        try:
            self.write(asked)
            async with asyncio.timeout(asked.budget.seconds + self._leave.patience_s):
                return await talk.done
        except TimeoutError:
            self._dismiss()
            return Conversation(
                is_spent=True, fault=f"no result within {asked.budget.seconds:g} s and no message; terminated"
            )
        finally:
            del self._talks[asked.session]
            if not talk.done.done() or talk.done.cancelled():
                self.write(Cancel(asked.session))
            if not self._talks and not self.is_gone:
                self._idle = asyncio.get_running_loop().call_later(self._leave.idle_s, self._dismiss)
            await talk.close()

    async def end(self) -> None:
        """Kills the child at once: it holds nothing that could be lost."""
        self._dismiss()
        if self._listening is None:
            await self._exit()
        else:
            await self._listening

    def _dismiss(self) -> None:
        self._is_dismissed = True
        with suppress(ProcessLookupError):
            self._process.kill()

    async def _listen(self) -> None:
        try:
            while line := await self._output.readline():
                self._hear(read(line, ToolRequest | Told))  # type: ignore[arg-type]  # a union is a type to msgspec
        except (ValueError, RecursionError):  # not one of our messages, or nested without end
            log.exception("model process sent invalid output", pid=self._process.pid)
        how = await self._exit()
        if self.is_lost:
            log.warning("model process ended", pid=self._process.pid, how=how)
        for talk in self._talks.values():
            if not talk.done.done():
                talk.done.set_result(Conversation(fault=f"the model process exited ({how}) during the session"))

    def _hear(self, message: ToolRequest | Told) -> None:
        talk = self._talks.get(message.session)
        if talk is None or talk.done.done():
            return  # its session has ended meanwhile
        if isinstance(message, Told):
            talk.done.set_result(message.conversation)
            return
        task = asyncio.create_task(self._execute(message, talk.call), name="model_process-call")
        talk.calls.add(task)
        task.add_done_callback(talk.calls.discard)

    async def _execute(self, wanted: ToolRequest, call: ToolCaller) -> None:
        try:
            answer = ToolAnswer(wanted.call, await call(wanted.tool, wanted.arguments))
        except Exception as fault:  # a tool that raises is our mistake; the session gets the error
            answer = ToolAnswer(wanted.call, "", f"{type(fault).__name__}: {fault}")
        self.write(answer)

    async def _exit(self) -> str:
        """The exit status; kills a child that only closed its output."""
        self.is_gone = True
        self.is_lost = not self._is_dismissed
        if self._idle is not None:
            self._idle.cancel()
        try:
            async with asyncio.timeout(CLOSED_S):  # a signal to a process that has just died would hide how it died
                code = await self._process.wait()
        except TimeoutError:
            self._dismiss()
            code = await self._process.wait()
        self._input.close()
        return f"signal {-code}" if code < 0 else f"exit {code}"
