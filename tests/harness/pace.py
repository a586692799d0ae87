"""How much longer work takes here than on a machine of its own: promises about time are kept in the time we are given.

A small process works for forty milliseconds of a processor, once a second, and notes how long after its time it was
done. Where others leave it no core, that is many times as long, and so is everything that a test waits for.

    with Pace() as pace:
        ...
    assert took_s <= pace.fair(1.0)
"""

import os
import subprocess
import sys
from types import TracebackType
from typing import Self

from tests.harness.process_reaper import undertaker

# Two busy hardware threads share a core, and a virtual machine counts as ours what its host takes: beside other tests
# the same work is up to four times as much processor time. Bounds are exact where a test runs alone (`pytest -n 0`).
SHARED = 4 if "PYTEST_XDIST_WORKER" in os.environ else 1
WORK = """
import select, sys, time
slowest, due = 1.0, time.monotonic() + 0.96
while not select.select([sys.stdin], [], [], max(0, due - time.monotonic()))[0]:
    used = time.thread_time()
    while time.thread_time() - used < 0.04:
        pass
    slowest = max(slowest, (time.monotonic() - due) / 0.04)
    print(slowest, flush=True)
    due = time.monotonic() + 0.96
"""


class Pace:
    def __init__(self) -> None:
        self._slowest = 1.0
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        undertaker.watch(self._process.pid)

    def fair(self, seconds: float) -> float:
        """What so many seconds on a machine of its own were here, at the worst moment; to be asked at the end."""
        self.close()
        return seconds * self._slowest

    def close(self) -> None:
        if self._process.returncode is None:
            said, _ = self._process.communicate()
            undertaker.forget(self._process.pid)
            self._slowest = max([1.0, *map(float, said.split())])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
