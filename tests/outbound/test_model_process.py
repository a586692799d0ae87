"""Sessions in a process of their own: held, lost, overstayed; and what becomes of the process."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mainspring.domain.model.tools import FINAL, TOOLS
from mainspring.outbound.model_process import ConversationLimits, Handshake, ModelProcess
from mainspring.ports.planner import Budget, Conversation
from mainspring.wiring.planner import MODEL_CHILD
from tests.harness.processes import Processes
from tests.harness.waiting import until
from tests.outbound.odd_guest import ODD
from tests.peers.model_server import says, serving_models

FINAL_TOOL = next(spec for spec in TOOLS if spec.name == FINAL)
HELLO = Handshake("openai:small", "", "sk-key", "json", "info")
BUDGET = Budget(5, 10_000, 60)


class Tools:
    """What was asked for; a session waits at `echo` while `hold` is not set."""

    def __init__(self) -> None:
        self.called: list[tuple[str, dict[str, object]]] = []
        self.ended = 0
        self.hold = asyncio.Event()
        self.hold.set()

    async def call(self, tool: str, arguments: dict[str, object]) -> str:
        self.called.append((tool, arguments))
        await self.hold.wait()
        self.ended += 1
        return f"echo of {arguments.get('prompt')}"


@pytest.fixture
def tools() -> Tools:
    return Tools()


@asynccontextmanager
async def model_process(how: str, leave: ConversationLimits | None = None) -> AsyncIterator[ModelProcess]:
    opened = ModelProcess("odd", (sys.executable, "-m", "tests.outbound.odd_guest", how), HELLO, leave)
    try:
        yield opened
    finally:
        await opened.aclose()


async def converse(room: ModelProcess, tools: Tools, prompt: str = "hello", budget: Budget = BUDGET) -> Conversation:
    return await room.converse("be brief", prompt, TOOLS[:1], FINAL_TOOL, tools.call, budget)


def pid_of(room: ModelProcess) -> int:
    assert room._guest is not None
    return room._guest._process.pid


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_real_session_is_held_over_there_and_its_tools_here(tools: Tools) -> None:
    done = (FINAL, {"reasoning": "fine", "next_analysis_in_ms": 600_000})
    with serving_models(says("openai", ("get_latest_response", {})), says("openai", done)) as server:
        hello = Handshake("openai:small", server.model_url("openai"), "sk-key", "json", "info")
        room = ModelProcess("openai:small", MODEL_CHILD, hello)
        try:
            spoken = await converse(room, tools)
        finally:
            await room.aclose()

    assert (spoken.final, spoken.fault) == (done[1], "")
    assert (spoken.tokens_in, spoken.tokens_out) == (200, 40)
    assert tools.called == [("get_latest_response", {})]


async def test_odd_arguments_arrive_as_they_are_and_huge_ones_are_refused(tools: Tools) -> None:
    async with model_process("talks") as room:
        spoken = await converse(room, tools)

    refused = "refused: the message is too large, or not text that can be encoded"
    assert spoken == Conversation(3, 4, {"said": ["echo of hello", refused]}, "hello")
    assert tools.called == [("echo", {**ODD, "prompt": "hello"})]


async def test_sessions_at_once_share_one_process_and_are_not_mixed_up(tools: Tools) -> None:
    tools.hold.clear()
    async with model_process("talks") as room:
        talks = [asyncio.create_task(converse(room, tools, f"prompt {n}")) for n in range(5)]
        await until(lambda: len(tools.called) == 5, "all of them ask for a tool")
        tools.hold.set()
        spoken = await asyncio.gather(*talks)

    assert [each.text for each in spoken] == [f"prompt {n}" for n in range(5)]
    assert [(each.final or {})["said"][0] for each in spoken] == [f"echo of prompt {n}" for n in range(5)]  # type: ignore[index]  # a list


async def test_process_that_dies_fails_its_session_and_the_next_one_has_another(tools: Tools) -> None:
    async with model_process("dies") as room:
        first = await converse(room, tools)
        pid = pid_of(room)
        second = await converse(room, tools)

        assert first == second == Conversation(fault="the model process exited (signal 9) during the session")
        assert pid_of(room) != pid
        assert room._lost == 1


async def test_process_that_is_killed_between_sessions_is_started_again(tools: Tools) -> None:
    async with model_process("talks") as room:
        await converse(room, tools)
        pid = pid_of(room)
        os.kill(pid, signal.SIGKILL)
        await until(lambda: room._guest is not None and room._guest.is_gone, "it is gone")

        assert (await converse(room, tools)).fault == ""
        assert pid_of(room) != pid
        assert room._lost == 0, "a session went well: the next pause is a short one"


async def test_process_that_never_starts_is_told(tools: Tools) -> None:
    async with model_process("stillborn") as room:
        spoken = await converse(room, tools)

    assert spoken.fault == "the model process exited at its start (exit 0); see the log"
    assert room._lost == 1


@pytest.mark.parametrize("how", ["raves", "nests"])
async def test_process_that_raves_is_ended_and_the_next_session_has_another(how: str, tools: Tools) -> None:
    async with model_process(how) as room:
        first = await converse(room, tools)
        pid = pid_of(room)
        second = await converse(room, tools)

        assert "during the session" in first.fault
        assert "during the session" in second.fault
        assert pid_of(room) != pid


async def test_tool_that_is_at_work_when_its_session_ends_does_nothing_more(tools: Tools) -> None:
    tools.hold.clear()
    async with model_process("leaves") as room:
        spoken = await converse(room, tools)
        tools.hold.set()
        await converse(room, tools)

    assert spoken.text == "hello"
    assert tools.ended == 1, "the second one's; the first one's was given up with its session"


async def test_process_that_spins_without_end_is_ended_after_the_sessions_time(tools: Tools) -> None:
    """Nobody here waits for it meanwhile."""
    async with model_process("spins", ConversationLimits(patience_s=0.5)) as room:
        talk = asyncio.create_task(converse(room, tools, budget=Budget(5, 10_000, 4)))
        await until(lambda: tools.called, "it asked for a tool, and spins")
        pid = pid_of(room)
        spoken = await talk

        assert (spoken.is_spent, spoken.fault) == (True, "no result within 4 s and no message; terminated")
        await until(lambda: not is_there(pid), "it is gone")


async def test_session_that_is_cancelled_here_is_cancelled_there(
    tools: Tools, capfd: pytest.CaptureFixture[str]
) -> None:
    tools.hold.clear()
    heard = ""

    def has_said(text: str) -> bool:
        nonlocal heard
        heard += capfd.readouterr().err
        return text in heard

    async with model_process("waits") as room:
        talk = asyncio.create_task(converse(room, tools))
        await until(lambda: tools.called, "it asked for a tool")
        talk.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talk
        await until(lambda: has_said("cancelled"), "it is told there")


async def test_process_that_stands_still_goes_at_once_when_the_parlour_closes(tools: Tools) -> None:
    async with model_process("talks") as room:
        await converse(room, tools)
        pid = pid_of(room)
        os.kill(pid, signal.SIGSTOP)

    assert not is_there(pid)


async def test_idle_process_goes_and_the_next_session_has_another(tools: Tools) -> None:
    async with model_process("talks", ConversationLimits(idle_s=0.0)) as room:
        await converse(room, tools)
        pid = pid_of(room)
        await until(lambda: not is_there(pid), "it is gone")

        assert (await converse(room, tools)).fault == ""
        assert room._lost == 0


PARENT = """
import asyncio, sys
from mainspring.outbound.model_process import ConversationLimits, Handshake, _spawn
async def main():
    hello = Handshake("openai:small", "http://127.0.0.1:9/v1", "k", "json", "info")
    guest = await _spawn(sys.argv[1:], hello, ConversationLimits())
    print(guest._process.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
ODD_GUEST = (sys.executable, "-m", "tests.outbound.odd_guest", "talks")


@pytest.mark.parametrize(
    ("command", "stands_still", "outlives"),
    [
        pytest.param(ODD_GUEST, False, False, id="by the end of its input"),
        pytest.param(MODEL_CHILD, True, False, id="by a signal where it stands still"),
        pytest.param(ODD_GUEST, True, True, id="the control: one that asked for no signal stays"),
    ],
)
async def test_process_goes_when_its_parent_is_killed(
    processes: Processes, command: Sequence[str], stands_still: bool, outlives: bool
) -> None:
    parent = processes.start_command([sys.executable, "-c", PARENT, *command])
    guest = int(await asyncio.to_thread(parent.wait_for, str.isdigit, 120))
    if stands_still:
        os.kill(guest, signal.SIGSTOP)
    parent.send(signal.SIGKILL)  # its output does not end before the guest does, so that is not waited for
    await until(lambda: not parent.is_running, "the parent is dead")

    if outlives:
        assert is_there(guest)
        os.kill(guest, signal.SIGKILL)
    await until(lambda: not is_there(guest), "it is gone")


async def test_library_is_not_imported_where_the_model_is_asked() -> None:
    code = """
import asyncio, sys
from mainspring.settings import Settings
from mainspring.wiring.planner import open_models
import mainspring.wiring.workers, mainspring.workers.analyst
async def main():
    async with open_models(Settings(model="openai:small", model_key="k")) as (model,):
        print(model.name, {"pydantic_ai", "openai"} & set(sys.modules))
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()

    assert said.decode().split("\n")[0] == "openai:small set()"
