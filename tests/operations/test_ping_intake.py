"""The intake of pings: what arrives together is written together, and a fault is answered to those it concerns."""

import asyncio

import pytest

from mainspring.domain.access.account import ping_token
from mainspring.domain.errors import StoreUnavailable, TooManyRequests
from mainspring.domain.run import Body
from mainspring.domain.schedule.ping import Ping, PingMeaning
from mainspring.operations.pings import BATCH_MAX, BURST, PER_MINUTE, PingIntake

SUCCESS = Ping(PingMeaning.SUCCESS)
TOKENS = [ping_token(number.to_bytes(32, "big")) for number in range(BATCH_MAX + 50)]


class Recorder:
    """Stores that keep the sizes of batches; `fault` is raised once."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.pings = self
        self.sizes: list[int] = []
        self.fault = fault

    async def receive(self, batch: list[tuple[str, Ping]]) -> list[bool]:
        await asyncio.sleep(0)
        self.sizes.append(len(batch))
        if (fault := self.fault) is not None:
            self.fault = None
            raise fault
        return [True] * len(batch)


def intake(stores: Recorder, clock: list[float] | None = None, waiting_max: int = 2_000) -> PingIntake:
    times = clock if clock is not None else [0.0]
    return PingIntake(stores, lambda: times[0], waiting_max)  # type: ignore[arg-type]  # the part of the stores that it uses


async def test_pings_that_wait_share_transactions() -> None:
    stores = Recorder()
    taken = intake(stores)
    async with asyncio.timeout(5):
        results = await asyncio.gather(*[taken.take(token, SUCCESS) for token in TOKENS])

    assert results == [True] * len(TOKENS)
    assert sum(stores.sizes) == len(TOKENS)
    assert max(stores.sizes) <= BATCH_MAX
    assert len(stores.sizes) <= 3


async def test_fault_of_the_database_is_answered_and_the_next_ping_is_stored() -> None:
    taken = intake(Recorder(StoreUnavailable("away")))
    async with asyncio.timeout(5):
        with pytest.raises(StoreUnavailable):
            await taken.take(TOKENS[0], SUCCESS)

        assert await taken.take(TOKENS[0], SUCCESS)


async def test_token_regains_its_pings_with_time() -> None:
    clock = [0.0]
    taken = intake(Recorder(), clock)
    async with asyncio.timeout(5):
        for _ in range(BURST):
            await taken.take(TOKENS[0], SUCCESS)
        with pytest.raises(TooManyRequests):
            await taken.take(TOKENS[0], SUCCESS)
        assert await taken.take(TOKENS[1], SUCCESS)
        clock[0] += 60 / PER_MINUTE

        assert await taken.take(TOKENS[0], SUCCESS)


async def test_intake_that_is_full_asks_to_come_again() -> None:
    taken = intake(Recorder(), waiting_max=1)
    async with asyncio.timeout(5):
        first = asyncio.create_task(taken.take(TOKENS[0], SUCCESS))
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests):
            await taken.take(TOKENS[1], SUCCESS)

        assert await first


@pytest.mark.parametrize("token", ["", "short", "x" * 44, "ü" * 43, "-" * 43])
async def test_what_cannot_be_a_token_is_not_looked_up(token: str) -> None:
    stores = Recorder()

    assert not await intake(stores).take(token, SUCCESS)
    assert stores.sizes == []


async def test_large_bodies_share_no_transaction() -> None:
    """A condition is evaluated for each of them, and a batch is written in one turn of the event loop."""
    stores = Recorder()
    taken = intake(stores)
    large = Ping(PingMeaning.SUCCESS, body=Body(b"x" * 60_000, "text/plain", False, 60_000))
    small = Ping(PingMeaning.SUCCESS, body=Body(b"x" * 1_000, "text/plain", False, 1_000))
    async with asyncio.timeout(5):
        await asyncio.gather(*[taken.take(token, large) for token in TOKENS[:20]])
        await asyncio.gather(*[taken.take(token, small) for token in TOKENS[20:120]])

    assert stores.sizes == [1] * 20 + [100]
