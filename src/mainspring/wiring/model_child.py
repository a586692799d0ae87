"""`python -m mainspring.wiring.model_child`: the child process that runs the model's library.

Its parent talks to it through standard input. It exits with its parent: at the end of its input, and on Linux also by a
signal, in case it hangs.
"""

import asyncio
import ctypes
import os
import signal
import sys
from typing import BinaryIO

from mainspring.observe import set_up_logging
from mainspring.outbound.language_model import open_model
from mainspring.outbound.model_child import ModelChild
from mainspring.outbound.model_process import LINE_BYTES_MAX, Handshake, read
from mainspring.wiring.clock import SystemClock

NICE = 5  # if CPU is short, a scheduler comes first
PR_SET_PDEATHSIG = 1


async def serve(output: BinaryIO) -> None:
    lines = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    hello = read(await lines.readline(), Handshake)
    set_up_logging(hello.log_format, hello.log_level)

    def write(line: bytes) -> None:
        output.write(line)
        output.flush()

    model = open_model(hello.model, hello.url, hello.key, SystemClock().now)
    os.nice(NICE)  # not earlier: its imports are a second of work, and sessions wait for it
    await ModelChild(model, write).serve(lines)


def main() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries belongs in the log
    asyncio.run(serve(output))


if __name__ == "__main__":
    main()
