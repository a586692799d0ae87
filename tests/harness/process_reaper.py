"""End what a test process started, even when the test process itself was killed.

Fixtures end their processes by pid at teardown; `kill -9`, a crash or a closed terminal skips teardown.
The undertaker is one small process holding the reading end of a pipe: when the test process is gone, however it
went, the pipe closes, and the undertaker kills the pids and removes the folders still on its list.
Not PR_SET_PDEATHSIG: that fires when the *thread* that forked ends, and tests start processes from worker threads.
"""

import subprocess
import sys
import threading
from pathlib import Path

# Runs under `python -I -S`: a handful of lines, standard library only, alive as long as the tests.
LAST_RITES = """
import os, shutil, signal, sys, time
pids, folders = {}, set()
for line in sys.stdin:
    verb, value = line.rstrip("\\n").split(" ", 1)
    match verb:
        case "watch":
            pid, name = value.split(" ")
            pids[int(pid)] = getattr(signal, name)
        case "forget":
            pids.pop(int(value), None)
        case "folder":
            folders.add(value)
        case "kept":
            folders.discard(value)
def is_gone(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    return False
dying = [pid for pid, number in pids.items() if not is_gone(pid, number)]
for _ in range(500):  # a server still writing would fill its folder again
    dying = [pid for pid in dying if not is_gone(pid, 0)]
    if not dying:
        break
    time.sleep(0.01)
for folder in folders:
    shutil.rmtree(folder, ignore_errors=True)
"""


CLOSE_S = 30.0


class Undertaker:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def watch(self, pid: int, signal_name: str = "SIGKILL") -> None:
        """Put a child on the list. PostgreSQL gets SIGQUIT: it takes its own children along."""
        self._say(f"watch {pid} {signal_name}")

    def forget(self, pid: int) -> None:
        """Take a child off the list; to be called as soon as it is reaped, since its pid may be used again."""
        self._say(f"forget {pid}")

    def watch_folder(self, folder: Path) -> None:
        self._say(f"folder {folder}")

    def forget_folder(self, folder: Path) -> None:
        self._say(f"kept {folder}")

    def close(self) -> None:
        """Let the process go; whatever is still on its list is ended now."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(CLOSE_S)
            except subprocess.TimeoutExpired:  # a process that a test forked still holds the other end of its input
                process.kill()
                process.wait()

    def _say(self, line: str) -> None:
        with self._lock:
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", LAST_RITES],
                    stdin=subprocess.PIPE,
                    text=True,
                    start_new_session=True,  # Ctrl-C is for the tests, which then clean up; this one outlives them
                )
            assert self._process.stdin is not None
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()


undertaker = Undertaker()  # one for the whole test process
