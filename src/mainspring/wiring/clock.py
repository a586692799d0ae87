"""The real clock, real ids, and the names of workers."""

import os
import socket
from datetime import UTC, datetime
from itertools import count
from random import Random
from secrets import token_hex

from mainspring.domain.instant import to_us


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class TimeOrderedIds:
    """Millisecond of the store's clock, a counter, 64 random bits: sorts by time, and within a process by order.

    An id is not a secret, so the bits need not come from the system each time, which would release the interpreter
    lock.
    """

    def __init__(self) -> None:
        self._random = Random()
        self._count = count(self._random.getrandbits(12))

    def new(self, prefix: str, now: datetime) -> str:
        return f"{prefix}_{to_us(now) // 1000:012x}{next(self._count) & 0xFFFF:04x}{self._random.getrandbits(64):016x}"


def worker_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{token_hex(3)}"


def is_elsewhere(worker: str) -> bool:
    """Whether a worker runs on another machine than this one."""
    return worker.rsplit("-", 2)[0] != socket.gethostname()
