"""Functions whose work grows with what strangers sent: limited in time and memory, ended with their caller."""

import asyncio
import os
import time
from collections.abc import AsyncIterator

import pytest

from mainspring.domain.errors import InvalidInput, NotFound, TooManyRequests
from mainspring.outbound.sandbox import BUDGET_S, REFILL, WAITING_MAX, ProcessSandbox


def double(number: int) -> int:
    return number * 2


def refuse(name: str) -> None:
    raise NotFound("workflow", name, ("billing",))


def fail() -> None:
    raise ZeroDivisionError


def spin() -> None:
    while True:
        pass


def wait(seconds: float) -> str:
    time.sleep(seconds)
    return "done"


def hoard() -> int:
    return len(bytearray(2 << 30))


def die() -> None:
    os.abort()


def pid() -> int:
    return os.getpid()


class Watch:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def sandbox() -> AsyncIterator[ProcessSandbox]:
    made = ProcessSandbox(seconds_max=5)
    yield made
    await made.aclose()


async def test_function_is_called_in_another_process_and_answers(sandbox: ProcessSandbox) -> None:
    assert await sandbox.call("a", double, 21) == 42
    assert await sandbox.call("a", pid) != os.getpid()


async def test_refusal_comes_back_with_its_fields(sandbox: ProcessSandbox) -> None:
    with pytest.raises(NotFound, match="no workflow 'bilings', did you mean 'billing'") as refused:
        await sandbox.call("a", refuse, "bilings")

    assert (refused.value.kind, refused.value.name) == ("workflow", "bilings")


async def test_mistake_of_ours_is_raised_and_the_process_goes_on(sandbox: ProcessSandbox) -> None:
    before = await sandbox.call("a", pid)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        await sandbox.call("a", fail)

    assert await sandbox.call("a", pid) == before


async def test_function_that_takes_too_long_is_ended() -> None:
    sandbox = ProcessSandbox(seconds_max=0.5)
    number = await sandbox.call("a", pid)
    with pytest.raises(InvalidInput, match=r"longer than 0\.5 s"):
        await sandbox.call("a", spin)

    assert not is_alive(number)
    await sandbox.aclose()


async def test_busy_machine_makes_no_document_too_slow() -> None:
    """A process that gets no core for a while, here because it waits, has not worked."""
    sandbox = ProcessSandbox(seconds_max=0.5)

    assert await sandbox.call("a", wait, 1.0) == "done"
    assert await sandbox.call("a", double, 2) == 4
    await sandbox.aclose()


@pytest.mark.parametrize("function", [hoard, die], ids=["too much memory", "a crash"])
async def test_function_that_takes_too_much_or_crashes_is_refused_alone(
    sandbox: ProcessSandbox, function: object
) -> None:
    with pytest.raises(InvalidInput, match="make it smaller"):
        await sandbox.call("a", function)  # type: ignore[arg-type]  # one of two

    assert await sandbox.call("a", double, 1) == 2


async def test_event_loop_goes_on_while_a_function_works() -> None:
    sandbox = ProcessSandbox(seconds_max=1)
    task = asyncio.create_task(sandbox.call("a", spin))
    turns = 0
    while not task.done():
        await asyncio.sleep(0.01)
        turns += 1

    assert turns > 20
    with pytest.raises(InvalidInput):
        await task
    await sandbox.aclose()


async def test_cancelled_call_ends_its_process(sandbox: ProcessSandbox) -> None:
    number = await sandbox.call("a", pid)
    task = asyncio.create_task(sandbox.call("a", spin))
    await asyncio.sleep(0)  # it has the process now
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not is_alive(number)


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


async def test_tenant_runs_one_call_at_a_time_and_few_wait(sandbox: ProcessSandbox) -> None:
    calls = [asyncio.create_task(sandbox.call("a", spin)) for _ in range(WAITING_MAX + 1)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests) as refused:
        await sandbox.call("a", double, 1)

    assert refused.value.retry_after_s == 1
    assert await sandbox.call("b", double, 1) == 2  # another tenant does not wait
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def test_tenant_that_used_its_seconds_waits_until_they_come_back() -> None:
    watch = Watch()
    sandbox = ProcessSandbox(seconds_max=5, monotonic_s=watch)

    async def work() -> int:
        task = asyncio.create_task(sandbox.call("a", double, 1))
        await asyncio.sleep(0)
        watch.now += BUDGET_S
        return await task

    await sandbox.call("", double, 1)  # a process is there: its start would not count
    assert await work() == 2
    assert await sandbox.call("", double, 1) == 2  # the installation itself
    with pytest.raises(TooManyRequests) as refused:
        await sandbox.call("a", double, 1)
    watch.now += refused.value.retry_after_s

    assert await sandbox.call("a", double, 1) == 2
    assert refused.value.retry_after_s <= 1 / REFILL + 1
    await sandbox.aclose()
