"""Workers that start in milliseconds, so that a test can kill a thousand of them.

A nursery is a process that has imported Mainspring and waits. For every worker it forks, and the child becomes
`mainspring scheduler`, by the same `main()` that users run: a process of its own, with a pid that takes any signal.
Importing costs a second, forking nothing. All workers of a nursery have its environment and write into one log; a
worker may be given more of an environment when it starts, so that one nursery serves many databases.

    with Nursery(env, tmp_path / "log") as nursery:
        worker = nursery.start()
        worker.wait_for("scheduler started")
        worker.kill()

With ACKNOWLEDGED in its environment, workers append to that file the id of every result that their store said it has:
after the commit, so that a test can ask the database for each of them.

When the tests are gone, however they went, the nursery reads the end of its input, kills its children and ends.
"""

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from mainspring import failpoints
from tests.harness.process_reaper import undertaker
from tests.harness.processes import DEADLINE_S, clean_environment

ROOT = Path(__file__).parents[2]
ACKNOWLEDGED = "FAULTS_ACKNOWLEDGED"
COMMAND = "FAULTS_COMMAND"  # what a child becomes instead of `mainspring scheduler`: planner
POLL_S = 0.005  # a log grows and a process stops without telling anybody


class Worker:
    """One scheduler process. Its exit code comes from the nursery, which is its parent."""

    def __init__(self, nursery: "Nursery", pid: int) -> None:
        self.pid = pid
        self._nursery = nursery

    @property
    def is_running(self) -> bool:
        return self.pid not in self._nursery.exit_codes

    @property
    def is_stopped(self) -> bool:
        """Whether SIGSTOP holds it."""
        return _state(self.pid) == "T"

    @property
    def lines(self) -> list[dict[str, object]]:
        """What it has logged under its own name."""
        return [line for line in self._nursery.log() if f"-{self.pid}-" in str(line.get("worker", ""))]

    def wait_for(self, event: str, deadline_s: float = DEADLINE_S) -> None:
        """Wait until it has logged `event` under its own name."""
        deadline = time.monotonic() + deadline_s
        while not any(line.get("event") == event for line in self.lines):
            assert self.is_running, f"worker {self.pid} ended before {event!r}:\n{self._nursery.log_text()[-3000:]}"
            assert time.monotonic() < deadline, f"worker {self.pid} did not say {event!r} within {deadline_s} s"
            time.sleep(POLL_S)

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL; returns when it is gone, also if it has ended meanwhile: at a failpoint, say."""
        with suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        self.wait()

    def terminate(self) -> None:
        """SIGTERM; `wait` says how it then ended."""
        self.send(signal.SIGTERM)

    def freeze(self) -> None:
        """SIGSTOP; returns when the process has stopped."""
        self.send(signal.SIGSTOP)
        deadline = time.monotonic() + DEADLINE_S
        while not self.is_stopped:
            assert self.is_running, f"worker {self.pid} ended before it could be stopped"
            assert time.monotonic() < deadline, f"worker {self.pid} did not stop within {DEADLINE_S} s"
            time.sleep(POLL_S)

    def thaw(self) -> None:
        self.send(signal.SIGCONT)

    def wait(self, deadline_s: float = DEADLINE_S) -> int:
        """Its exit code once it has ended; negative for a signal."""
        return self._nursery.wait(self.pid, deadline_s)


class Nursery:
    def __init__(self, env: Mapping[str, str], log_file: Path) -> None:
        self.exit_codes: dict[int, int] = {}
        self.started: list[Worker] = []
        self._log_file = log_file
        self._log_file.touch()
        self._read_up_to = 0
        self._log: list[dict[str, object]] = []
        self._changed = threading.Condition()
        self._births: list[int] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.worker_forker", str(log_file)],
            cwd=ROOT,
            env=clean_environment() | dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the tests; they end what they started
        )
        undertaker.watch(self._process.pid)
        self._reader = threading.Thread(target=self._read, name="nursery", daemon=True)
        self._reader.start()

    @property
    def running(self) -> list[Worker]:
        return [worker for worker in self.started if worker.is_running]

    def start(self, env: Mapping[str, str] | None = None) -> Worker:
        assert self._process.stdin is not None
        known = len(self._births)
        self._process.stdin.write(json.dumps(dict(env or {})) + "\n")
        self._process.stdin.flush()
        with self._changed:
            is_born = self._changed.wait_for(
                lambda: len(self._births) > known, 2 * DEADLINE_S
            )  # it imports it all first
            assert is_born, "the nursery does not answer"
            pid = self._births[known]
        undertaker.watch(pid)
        worker = Worker(self, pid)
        self.started.append(worker)
        return worker

    def wait(self, pid: int, deadline_s: float) -> int:
        with self._changed:
            assert self._changed.wait_for(lambda: pid in self.exit_codes, deadline_s), (
                f"worker {pid} did not end within {deadline_s} s:\n{self.log_text()[-3000:]}"
            )
            return self.exit_codes[pid]

    def log(self) -> list[dict[str, object]]:
        """Every structured line so far; what is no JSON (tracebacks, failpoints) is under "text"."""
        with self._log_file.open("rb") as file:
            file.seek(self._read_up_to)
            fresh = file.read()
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._read_up_to += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            self._log.append(_read_line(line))
        return self._log

    def log_text(self) -> str:
        return self._log_file.read_text(errors="replace")

    def count(self, event: str) -> int:
        return sum(line.get("event") == event for line in self.log())

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        self._process.stdout.close()
        undertaker.forget(self._process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            verb, *numbers = line.split()
            with self._changed:
                if verb == "started":
                    self._births.append(int(numbers[0]))
                else:
                    pid, code = map(int, numbers)
                    undertaker.forget(pid)
                    self.exit_codes[pid] = code
                self._changed.notify_all()


def _state(pid: int) -> str:
    """The letter of /proc: R, S, T (stopped), Z; nothing for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def _serve(log_file: str) -> None:
    """Fork for every line that comes in, tell of every child that ends."""
    from mainspring.cli.main import main

    _preload()
    if ACKNOWLEDGED in os.environ:
        _write_down_what_is_acknowledged(os.environ[ACKNOWLEDGED])
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    children: set[int] = set()
    heard = b""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if wake in ready:
            os.read(wake, 4096)
            _reap(children)
        if 0 in ready:
            fresh = os.read(0, 4096)
            if not fresh:
                break
            *lines, heard = (heard + fresh).split(b"\n")
            for line in lines:
                pid = os.fork()
                if pid == 0:
                    _become_a_worker(main, log_file, (wake, waker), json.loads(line))
                children.add(pid)
                print("started", pid, flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    while children:
        _reap(children)


def _preload() -> None:
    """What a worker imports late, imported once: it is most of a second of a processor for each of them."""
    names = [f"mainspring.{name}" for name in ("observe", "wiring.workers", "wiring.workflows", "wiring.planner")]
    for package in ("workers", "outbound", "stores/sqlite", "stores/postgres"):
        folder = ROOT / "src/mainspring" / package
        names += [f"mainspring.{package.replace('/', '.')}.{file.stem}" for file in folder.glob("[a-z]*.py")]
    for name in names:
        importlib.import_module(name)


def _write_down_what_is_acknowledged(file: str) -> None:
    from mainspring.domain.schedule.finish import Finished
    from mainspring.ports.schedule import FinishReport
    from mainspring.stores.postgres.schedule import PostgresSchedule

    journal = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    finish = PostgresSchedule.finish

    async def finish_and_tell(self: PostgresSchedule, batch: Sequence[Finished]) -> FinishReport:
        report = await finish(self, batch)
        os.write(journal, "".join(f"{run_id}\n" for run_id in report.recorded).encode())
        return report

    PostgresSchedule.finish = finish_and_tell  # type: ignore[method-assign]  # every worker forked from here tells


def _reap(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        print("ended", pid, os.waitstatus_to_exitcode(status), flush=True)


def _read_line(line: str) -> dict[str, object]:
    """What a worker said; one that was killed may have left a line to the next worker to end."""
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError):
        return {"event": "", "text": line}


def _become_a_worker(main: object, log_file: str, fds: tuple[int, int], env: Mapping[str, str]) -> NoReturn:
    code = 1
    try:
        os.environ.update(env)
        failpoints._POINTS = failpoints._armed(os.environ.get(failpoints.VARIABLE, ""))
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for fd in fds:
            os.close(fd)
        log = os.open(log_file, os.O_WRONLY | os.O_APPEND)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.argv = ["mainspring", os.environ.get(COMMAND, "scheduler")]
        assert callable(main)
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
