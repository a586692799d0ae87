"""Wait for a condition, never for a time: a test goes on as soon as it may, and says what it waited for in vain."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

POLL_S = 0.005
DEADLINE_S = 60.0  # only a test that fails waits for it, and a machine may be ten times as busy as this one

T = TypeVar("T")


async def until(condition: Callable[[], T], what: str, deadline_s: float = DEADLINE_S) -> T:
    """The first true answer of `condition`; the loop goes on serving meanwhile."""
    deadline = time.monotonic() + deadline_s
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not within {deadline_s} s: {what}"
        await asyncio.sleep(POLL_S)
    return answer


def wait_until(condition: Callable[[], T], what: str, deadline_s: float = DEADLINE_S) -> T:
    """The same where nothing is served meanwhile; `condition` may ask a process or a server."""
    deadline = time.monotonic() + deadline_s
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not within {deadline_s} s: {what}"
        time.sleep(4 * POLL_S)
    return answer


async def until_true(condition: Callable[[], Awaitable[T]], what: str, deadline_s: float = DEADLINE_S) -> T:
    """The same for a condition that has to ask somebody, less often."""
    deadline = time.monotonic() + deadline_s
    while not (answer := await condition()):
        assert time.monotonic() < deadline, f"not within {deadline_s} s: {what}"
        await asyncio.sleep(4 * POLL_S)
    return answer


async def holds_for(condition: Callable[[], bool], what: str, seconds: float) -> None:
    """Fail as soon as the condition does not hold, within a stretch of time; for "nothing may happen meanwhile"."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), f"no longer true: {what}"
        await asyncio.sleep(POLL_S)
