"""A private, real RabbitMQ for tests, from the package of the system: its own ports, folder and Erlang daemon."""

import os
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.harness.addresses import HOST, free_port
from tests.harness.process_reaper import undertaker

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # the one in the PATH changes its user
POLL_S = 0.1
DEADLINE_S = 120.0


class RabbitMq:
    """Takes `guest` with the password `guest`."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._daemon_port = str(free_port())
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._daemon: subprocess.Popen[bytes] | None = None

    @staticmethod
    def is_installed() -> bool:
        return PROGRAM.exists() and shutil.which("erl") is not None

    def start(self) -> None:
        """Returns when it speaks AMQP; on the same port every time."""
        self._folder.mkdir(exist_ok=True)
        plugins = self._folder / "plugins"
        plugins.write_text("[].")
        own = {
            "HOME": str(self._folder),
            "ERL_EPMD_PORT": self._daemon_port,
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_NODENAME": f"mainspring{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": HOST,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "data"),
            "RABBITMQ_LOG_BASE": str(self._folder / "logs"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_PID_FILE": str(self._folder / "pid"),
        }
        # Erlang would start this daemon itself, and leave it behind.
        self._daemon = subprocess.Popen(["epmd", "-address", HOST, "-port", self._daemon_port])
        undertaker.watch(self._daemon.pid)
        self._process = subprocess.Popen(
            [str(PROGRAM)], env=os.environ | own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        undertaker.watch(self._process.pid)
        deadline = time.monotonic() + DEADLINE_S
        while not self._answers():
            assert self._process.poll() is None, "RabbitMQ ended; see its logs"
            assert time.monotonic() < deadline, f"RabbitMQ did not start within {DEADLINE_S} s"
            time.sleep(POLL_S)

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):  # Erlang may be in a group of its own
                os.kill(int((self._folder / "pid").read_text()), 9)
            os.killpg(self._process.pid, 9)
            self._process.wait()
            while self._answers():
                time.sleep(POLL_S)
            undertaker.forget(self._process.pid)
            self._process = None
            assert self._daemon is not None
            self._daemon.kill()
            self._daemon.wait()
            undertaker.forget(self._daemon.pid)

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
                line.sendall(b"AMQP\x00\x00\x09\x01")
                return line.recv(1) == b"\x01"
        except OSError:
            return False
