"""`python -m mainspring.outbound.sandbox_child`: the child process of a sandbox. Calls functions and returns results.

It has no settings, no secrets and no database connection. It sets its own memory limit, and for each call a limit of
CPU time, which ends it with SIGPROF. It exits with its parent: at the end of its input, and on Linux also by a signal.
"""

import ctypes
import os
import pickle
import resource
import signal
import struct
import sys
import traceback
from typing import Final

from mainspring.domain.errors import InvalidInput, MainspringError

HEADER: Final = struct.Struct(">Q")
MEMORY_MAX: Final = 1 << 30
NICE: Final = 5  # if CPU is short, a scheduler comes first
PR_SET_PDEATHSIG: Final = 1

Answer = tuple[object, ...]  # ("done", result), ("refused", class, args, fields), ("failed", traceback)


def main() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries belongs in the log
    is_new = True
    while header := source.read(HEADER.size):
        (length,) = HEADER.unpack(header)
        answer = _written(_answer(source.read(length)))
        target.write(HEADER.pack(len(answer)) + answer)
        target.flush()
        if is_new:  # imports are done while a caller waits; untrusted work starts here
            os.nice(NICE)
            is_new = False


def prepare(function: object) -> None:
    """Does nothing. Calling it makes a new process import itself and the module of that function."""


def _answer(wanted: bytes) -> Answer:
    try:
        seconds, function, args, kwargs = pickle.loads(wanted)  # of this process's parent
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            return "done", function(*args, **kwargs)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except MainspringError as fault:
        return "refused", type(fault), fault.args, fault.__dict__
    except (MemoryError, RecursionError):
        refused = InvalidInput("this needs more memory than allowed; make it smaller or simpler", field="document")
        return "refused", InvalidInput, refused.args, refused.__dict__
    except Exception:  # our own mistake: the caller logs it, and this process continues
        return "failed", traceback.format_exc()


def _written(answer: Answer) -> bytes:
    return pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL)


if __name__ == "__main__":
    main()
