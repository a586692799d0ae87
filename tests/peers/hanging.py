"""A target with many hosts that takes every call and never answers, in a process of its own.

    with Hanging(tmp_path / "taken") as hanging:
        ... calls to hanging.url(17, "/x") ...
        hanging.taken

Its hosts are the addresses 127.1.0.1 and on, at one port. For each request it appends one byte to a file.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]


class Hanging:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def taken(self) -> int:
        """How many calls it has taken."""
        return self._file.stat().st_size if self._file.exists() else 0

    def url(self, host: int, path: str) -> str:
        return f"http://127.1.{host // 250}.{host % 250 + 1}:{self._port}{path}"

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.peers.hanging", str(self._file)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdout is not None
        self._port = int(self._process.stdout.readline())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


async def _hang(file: int) -> None:
    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            os.write(file, b".")
        writer.close()

    server = await asyncio.start_server(take, "0.0.0.0", 0, backlog=4_096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_hang(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)))
