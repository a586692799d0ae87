"""Real processes under test: start, wait for a line, kill, freeze, thaw, end. Nothing is left behind.

    worker = processes.start("scheduler", env={"MAINSPRING_DATABASE_URL": postgres_url})
    worker.wait_for('"event": "ready"')     # blocks until a line contains it; fails with the output so far
    worker.freeze()                         # SIGSTOP, returns when it really stands still
    worker.thaw()
    worker.kill()                           # SIGKILL, reaped
    assert worker.terminate() == 0          # SIGTERM, returns the exit code

All waiting is blocking, with a deadline. In an async test that must go on serving meanwhile:
`await asyncio.to_thread(worker.wait_for, "ready")`.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from tests.harness.process_reaper import undertaker

COMMAND = (sys.executable, "-m", "mainspring.cli.main")
# A command on a terminal of its own. Killing the wrapper hangs up the terminal, which ends the command: also where the
# tests run with SIGHUP ignored, as under nohup.
_SPAWN = "import pty, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); pty.spawn(sys.argv[1:])"
IN_A_TERMINAL = (sys.executable, "-c", _SPAWN)
DEADLINE_S = 120.0  # generous: a cold start on two cores that thirty others use; a test that passes never waits for it


class Process:
    """One running program; its output (both streams, in order) is read as it comes: it never blocks on a full pipe."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str]) -> None:
        self.command = tuple(command)
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._process = subprocess.Popen(
            self.command,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C is for the tests; they end what they started
        )
        undertaker.watch(self.pid)
        self._reader = threading.Thread(target=self._read, name=f"output of {self.pid}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def lines(self) -> list[str]:
        """What it has said so far."""
        with self._changed:
            return list(self._lines)

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, wanted: str | Callable[[str], bool], deadline_s: float = DEADLINE_S, *, since: int = 0) -> str:
        """Return the first line, from line number `since` on, that contains the text (or satisfies the function)."""
        matches = wanted if callable(wanted) else lambda line: wanted in line
        deadline = time.monotonic() + deadline_s
        seen = since
        with self._changed:
            while True:
                for line in self._lines[seen:]:
                    if matches(line):
                        return line
                seen = max(seen, len(self._lines))
                if self._ended:
                    raise AssertionError(self._failure(f"it ended before saying {wanted!r}"))
                if not self._changed.wait(deadline - time.monotonic()):
                    raise AssertionError(self._failure(f"it did not say {wanted!r} within {deadline_s} s"))

    def wait(self, deadline_s: float = DEADLINE_S) -> int:
        """Wait for it to end by itself; the exit code, negative for a signal."""
        try:
            code = self._process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(self._failure(f"it did not end within {deadline_s} s")) from None
        undertaker.forget(self.pid)
        self._reader.join(deadline_s)
        return code

    def kill(self) -> None:
        """SIGKILL, as the kernel or `kill -9` would; returns when it is gone."""
        self._process.kill()
        self.wait()

    def terminate(self, deadline_s: float = DEADLINE_S) -> int:
        """SIGTERM, and the exit code it then ends with."""
        self._process.terminate()
        return self.wait(deadline_s)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def freeze(self) -> None:
        """SIGSTOP; returns when it stands still (or has ended: then thaw and kill do no harm)."""
        self.send(signal.SIGSTOP)
        # WNOWAIT: only look. Reaping it here would hide its exit code from `wait`.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        self.send(signal.SIGCONT)

    def close(self) -> None:
        """End it whatever its state. A frozen process dies of SIGKILL too."""
        if self.is_running:
            self._process.kill()
        self.wait()
        # To close a stream that a thread still reads would wait for that thread, perhaps for ever.
        assert not self._reader.is_alive(), self._failure("a process that it started outlives it and holds its output")
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _failure(self, what: str) -> str:
        said = "\n".join(self._lines[-50:]) or "(nothing)"
        return f"{' '.join(self.command)} (pid {self.pid}): {what}; its last lines:\n{said}"


class Processes:
    """All processes of one test; the `processes` fixture closes them."""

    def __init__(self) -> None:
        self._started: list[Process] = []

    def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> Process:
        """Start `mainspring ARGUMENTS`; `env` is added to an environment without any MAINSPRING_ setting of yours."""
        return self.start_command([*COMMAND, *arguments], env=env)

    def start_command(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> Process:
        """Start any program: a journal target, a peer."""
        process = Process(command, env=clean_environment() | dict(env or {}))
        self._started.append(process)
        return process

    def close(self) -> None:
        for process in self._started:
            process.close()
        self._started.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def clean_environment() -> dict[str, str]:
    """The environment of the tests without the developer's own settings, and with output that is not held back."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAINSPRING_", "PG"))}
    return inherited | {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
