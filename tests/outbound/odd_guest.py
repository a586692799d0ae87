"""`python -m tests.outbound.odd_guest HOW`: a guest of the model_process with an odd model, and the real host.

HOW is what it does in a session: `talks` (asks for the tool `echo` with odd arguments), `dies`, `spins` (thinks without
end, and lets nobody else have a turn), `waits` (for ever; tells when it is cancelled), `raves`, `nests` (raves in JSON
without end), `leaves` (ends while its tool is at work); or `stillborn`.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from mainspring.domain.model.tools import ToolSpec
from mainspring.outbound.model_child import ModelChild
from mainspring.outbound.model_process import Handshake, ToolCaller, read
from mainspring.ports.planner import Budget, Conversation

ODD = {"half": "\ud800", "large": 10**30, "nul": "\x00", "none": None, "list": [1.5, {"a": True}]}


class OddModel:
    name = "odd"

    def __init__(self, how: str) -> None:
        self._how = how

    async def converse(
        self,
        instructions: str,
        prompt: str,
        tools: Sequence[ToolSpec],
        final: ToolSpec,
        call: ToolCaller,
        budget: Budget,
    ) -> Conversation:
        match self._how:
            case "dies":
                await call("echo", {})
                os.kill(os.getpid(), signal.SIGKILL)
            case "spins":
                await call("echo", {})
                while True:
                    pass
            case "waits":
                try:
                    await call("echo", {})
                finally:
                    print("cancelled", file=sys.stderr, flush=True)
            case "raves":
                os.write(1, b"what is this\n")
                await asyncio.sleep(60)
            case "nests":
                os.write(1, b"[" * 100_000 + b"\n")
                await asyncio.sleep(60)
            case "leaves":
                call_of_mine = asyncio.ensure_future(call("echo", {}))
                await asyncio.sleep(0.1)
                call_of_mine.cancel()
                return Conversation(1, 1, {}, prompt)
        said = [await call("echo", {**ODD, "prompt": prompt}), await call("echo", {"x": "x" * 9_000_000})]
        return Conversation(3, 4, {"said": said}, prompt)


async def main() -> None:
    lines = asyncio.StreamReader(limit=10_000_000)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    read(await lines.readline(), Handshake)
    if sys.argv[1] != "stillborn":
        await ModelChild(OddModel(sys.argv[1]), lambda line: os.write(1, line)).serve(lines)


if __name__ == "__main__":
    asyncio.run(main())
