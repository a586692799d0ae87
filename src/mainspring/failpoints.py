"""Let tests make a process fail at chosen places: kill it, stop it, or switch a guard off.

`MAINSPRING_FAILPOINTS=after_claim=kill:0.05,no_fence` arms them; unarmed, a failpoint is one dictionary lookup. Never
set it in production. Crash tests use it to choose where the crash happens, and concurrency tests to show that they fail
without their guard.
"""

import os
import random
import signal
import sys
from collections.abc import Mapping

VARIABLE = "MAINSPRING_FAILPOINTS"


def _armed(text: str) -> dict[str, tuple[str, float]]:
    points: dict[str, tuple[str, float]] = {}
    for part in filter(None, text.split(",")):
        name, _, action = part.partition("=")
        what, _, chance = action.partition(":")
        points[name] = (what or "on", float(chance or 1))
    return points


_POINTS: Mapping[str, tuple[str, float]] = _armed(os.environ.get(VARIABLE, ""))


def is_on(name: str) -> bool:
    """Whether the guard with this name is switched off."""
    return name in _POINTS


def failpoint(name: str) -> None:
    """Kills, stops or raises here if armed. Prints the name first, so that tests can count failures."""
    if not _POINTS or name not in _POINTS:
        return
    what, chance = _POINTS[name]
    if random.random() >= chance:
        return
    print(f"failpoint {name} {what}", file=sys.stderr, flush=True)
    match what:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case _:
            raise RuntimeError(f"failpoint {name}")
