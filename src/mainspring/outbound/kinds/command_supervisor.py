"""Run one program and end everything it started: the supervisor of an endpoint of kind `command`. A program itself.

It is started with an empty environment and imports only the standard library; it reads one line of JSON and writes one,
followed by the kept output. Its input stays open as long as the worker lives. When the input ends, the worker has died
or given up, and the supervisor ends the program.

The rule that must not break: when the supervisor exits, nothing that the program started is running. On Linux the
supervisor adopts every orphan below it (PR_SET_CHILD_SUBREAPER), so a grandchild in another session is found
through /proc; and a killed supervisor takes the program with it (PR_SET_PDEATHSIG). Elsewhere the process group is
ended.
"""

import ctypes
import json
import os
import selectors
import signal
import sys
import time
from typing import Any

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
STDERR_KEPT = 4_000
OUTPUT_MAX = 64_000_000  # a program that prints more is ended: it would keep a processor busy until its deadline
DRAIN_S = 0.5  # for output that is still in the pipes when the program has ended
KILL_S = 10.0
CHUNK = 65_536


def main() -> None:
    spec = json.loads(sys.stdin.buffer.readline())
    told, out, err = Supervisor(spec).run()
    head = json.dumps({**told, "stdout": len(out), "stderr": len(err)}).encode() + b"\n"
    os.write(1, head)
    for data in (out, err):
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]


class Supervisor:
    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._kept = {"out": bytearray(), "err": bytearray()}
        self._seen = {"out": 0, "err": 0}
        self._pid = 0
        self._status: int | None = None

    def run(self) -> tuple[dict[str, Any], bytes, bytes]:
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
        wakes, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the worker ends this process by closing its input
        pipes = {name: os.pipe() for name in ("out", "err", "fault")}
        self._pid = os.fork()
        if not self._pid:
            _become(self._spec, {name: pair[1] for name, pair in pipes.items()})
        os.write(1, b"%d\n" % self._pid)  # before the result: the worker ends the group if this process is killed
        for _, write in pipes.values():
            os.close(write)
        with os.fdopen(pipes["fault"][0], "rb") as faults:
            fault = faults.read(2_000).decode("utf-8", "replace")
        ended = "start" if fault else self._watch(pipes, wakes)
        self._end_all()
        self._drain(pipes)
        told = {"ended": ended, "fault": fault, "status": self._status, "seen": self._seen["out"]}
        return told, bytes(self._kept["out"]), bytes(self._kept["err"])

    def _watch(self, pipes: dict[str, tuple[int, int]], wakes: int) -> str:
        """Why it stopped watching: `exit`, `deadline`, `worker` or `output`."""
        deadline_at = time.monotonic() + self._spec["timeout_s"]
        with selectors.DefaultSelector() as selector:
            for name in ("out", "err"):
                os.set_blocking(pipes[name][0], False)
                selector.register(pipes[name][0], selectors.EVENT_READ, name)
            selector.register(0, selectors.EVENT_READ, "worker")
            selector.register(wakes, selectors.EVENT_READ, "child")
            while True:
                left_s = deadline_at - time.monotonic()
                if left_s <= 0:
                    return "deadline"
                for key, _ in selector.select(left_s):
                    if key.data == "worker":
                        if not os.read(0, 1):
                            return "worker"
                    elif key.data == "child":
                        os.read(wakes, 512)
                        self._reap()
                        if self._status is not None:
                            return "exit"
                    elif not self._read(key.fd, key.data):
                        selector.unregister(key.fd)
                if sum(self._seen.values()) > OUTPUT_MAX:
                    return "output"

    def _read(self, fd: int, name: str) -> bool:
        """False at the end of the output. Keeps the beginning of standard output, and the end of standard error."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return True
        self._seen[name] += len(data)
        kept = self._kept[name]
        if name == "out":
            kept += data[: max(0, self._spec["cap"] - len(kept))]
        else:
            kept += data
            del kept[:-STDERR_KEPT]
        return bool(data)

    def _drain(self, pipes: dict[str, tuple[int, int]]) -> None:
        until = time.monotonic() + DRAIN_S
        for name in ("out", "err"):
            os.set_blocking(pipes[name][0], False)
            while time.monotonic() < until and self._seen[name] < OUTPUT_MAX:
                before = self._seen[name]
                if not self._read(pipes[name][0], name) or self._seen[name] == before:
                    break

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self._pid:
                self._status = os.waitstatus_to_exitcode(status)

    def _end_all(self) -> None:
        """Asks everything that is left to end, then kills it, until nothing is left."""
        asked_at = time.monotonic()
        _signal_all(self._pid, signal.SIGTERM)
        while self._is_anything_left() and time.monotonic() < asked_at + self._spec["grace_s"]:
            time.sleep(0.01)
        while self._is_anything_left() and time.monotonic() < asked_at + self._spec["grace_s"] + KILL_S:
            _signal_all(self._pid, signal.SIGKILL)
            time.sleep(0.005)

    def _is_anything_left(self) -> bool:
        self._reap()
        return self._status is None or bool(_descendants())


def _become(spec: dict[str, Any], pipes: dict[str, int]) -> None:
    """In the child: become the program. An error is written to its pipe, which a successful start closes."""
    try:
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(each, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for fd, number in ((nothing, 0), (pipes["out"], 1), (pipes["err"], 2)):
            os.dup2(fd, number)
        if spec["user"]:
            _change_user(spec["user"])
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a change of the user clears it
        os.chdir(spec["folder"])
        if spec["folder"] != os.path.realpath(os.curdir):
            raise OSError(f"folder {spec['folder']} is a link to {os.path.realpath(os.curdir)}")
        os.execve(spec["arguments"][0], spec["arguments"], spec["environment"])
    except BaseException as fault:  # the child must not continue as a second supervisor
        os.write(pipes["fault"], str(fault).encode()[:1_000] or b"unknown")
        os._exit(127)


def _change_user(name: str) -> None:
    import pwd

    user = pwd.getpwnam(name)
    os.initgroups(name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


def _signal_all(pid: int, number: int) -> None:
    for each in _descendants():
        try:
            os.kill(each, number)
        except OSError:
            continue
    try:
        os.killpg(pid, number)
    except OSError:
        return


def _descendants() -> set[int]:
    """Every living process below this one, on Linux; orphans are below it too."""
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return set()
    parents: dict[int, int] = {}
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != b"Z":
            parents[int(name)] = int(parent)
    found = {os.getpid()}
    while new := {pid for pid, parent in parents.items() if parent in found and pid not in found}:
        found |= new
    return found - {os.getpid()}


def _prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
