"""A worker in no hurry does one thing at a time, and rests after each."""

import asyncio

import pytest

from mainspring.simulation.loop import SimulatedLoop
from mainspring.workers.throttle import Throttle


def played(*takes_s: float) -> list[tuple[float, float]]:
    """Writes that take so long, all wanted at once, on a simulated clock: from when to when each wrote."""

    async def play() -> list[tuple[float, float]]:
        loop = asyncio.get_running_loop()
        pace = Throttle(loop.time)

        async def write(take_s: float) -> tuple[float, float]:
            async with pace:
                began_s = loop.time()
                await asyncio.sleep(take_s)
                return began_s, loop.time()

        return await asyncio.gather(*map(write, takes_s))

    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(play())


def test_first_write_does_not_wait_and_every_other_rests_nine_times_as_long_as_the_one_before() -> None:
    spans = [value for span in played(1, 2, 0.5) for value in span]

    assert spans == pytest.approx([0, 1, 10, 12, 30, 30.5])


def test_rest_is_never_shorter_than_the_gap() -> None:
    spans = [value for span in played(0, 0.001, 0) for value in span]

    assert spans == pytest.approx([0, 0, 0.1, 0.101, 0.201, 0.201])


def test_turn_that_is_given_up_is_the_next_ones() -> None:
    async def play() -> float:
        loop = asyncio.get_running_loop()
        pace = Throttle(loop.time)

        async def write() -> None:
            async with pace:
                await asyncio.sleep(1)

        await write()
        for _ in range(2):  # one while it rests, one while it writes
            impatient = asyncio.create_task(write())
            await asyncio.sleep(5)
            impatient.cancel()
        async with asyncio.timeout(100):
            await write()
        return loop.time()

    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        assert runner.run(play()) == pytest.approx(21)
