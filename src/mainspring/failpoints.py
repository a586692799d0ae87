"""Places where tests may make a process fail: kill it, stop it, or switch a guard off.

`MAINSPRING_FAILPOINTS=after_claim=kill:0.05,no_fence` arms them; without it a failpoint is one look into a dictionary.
Never set it in production: it exists so that every crash test can choose where the crash happens, and every
concurrency test can show that it fails without its guard.
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
    """Whether a guard is switched off by this name."""
    return name in _POINTS


def failpoint(name: str) -> None:
    """Die, stop or raise here, if armed; says so first, so that a test can count that it happened."""
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
