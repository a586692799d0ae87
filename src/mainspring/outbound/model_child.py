"""The child side of the model process: runs the requested sessions and asks the parent to execute every tool.

It exits when its input ends, so it never outlives its parent by more than one operation of its model.
"""

import asyncio
from collections.abc import Callable
from itertools import count

from mainspring.outbound.model_process import (
    LINE_BYTES_MAX,
    Ask,
    Cancel,
    ChildReady,
    Told,
    ToolAnswer,
    ToolRequest,
    read,
    written,
)
from mainspring.ports.planner import Conversation, LanguageModel

TOO_MUCH = "refused: the message is too large, or not text that can be encoded"


class ModelChild:
    """`write` sends one line to the parent process."""

    def __init__(self, model: LanguageModel, write: Callable[[bytes], object]) -> None:
        self._model = model
        self._write = write
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[ToolAnswer]] = {}
        self._sessions: dict[int, asyncio.Task[None]] = {}

    async def serve(self, lines: asyncio.StreamReader) -> None:
        self._write(written(ChildReady()))
        while line := await lines.readline():
            message = read(line, Ask | ToolAnswer | Cancel)  # type: ignore[arg-type]  # a union is a type to msgspec
            if isinstance(message, Ask):
                task = asyncio.create_task(self._hold(message), name="session")
                self._sessions[message.session] = task
            elif isinstance(message, ToolAnswer):
                if (waiting := self._answers.get(message.call)) is not None and not waiting.done():
                    waiting.set_result(message)
            elif message.session in self._sessions:
                self._sessions[message.session].cancel()

    async def _hold(self, asked: Ask) -> None:
        async def call(tool: str, arguments: dict[str, object]) -> str:
            return await self._call(asked.session, tool, arguments)

        try:
            spoken = await self._model.converse(
                asked.instructions, asked.prompt, asked.tools, asked.final, call, asked.budget
            )
        finally:
            del self._sessions[asked.session]
        if not self._send(Told(asked.session, spoken)):
            spent = Conversation(
                spoken.tokens_in, spoken.tokens_out, fault=f"the last message of the model was {TOO_MUCH}"
            )
            self._send(Told(asked.session, spent))

    async def _call(self, session: int, tool: str, arguments: dict[str, object]) -> str:
        number = next(self._numbers)
        if not self._send(ToolRequest(session, number, tool, arguments)):
            return TOO_MUCH
        answered = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            answer: ToolAnswer = await answered
        finally:
            del self._answers[number]
        if answer.fault:
            raise RuntimeError(answer.fault)
        return answer.text

    def _send(self, message: ToolRequest | Told) -> bool:
        """Whether the message fits in one line."""
        try:
            line = written(message)
        except (ValueError, RecursionError):
            return False
        if len(line) >= LINE_BYTES_MAX:
            return False
        self._write(line)
        return True
