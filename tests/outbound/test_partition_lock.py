"""The lock in a real Valkey: one holder, for a time; and no harm when the server hangs, dies or forgets."""

import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from mainspring.domain.errors import Misconfigured
from mainspring.outbound.partition_lock import RedisLock
from tests.harness.proxy import FaultProxy
from tests.harness.valkey import Valkey

TTL_MS = 30_000


@pytest.fixture(scope="module")
def server() -> Iterator[Valkey]:
    with Valkey() as server:
        yield server


@pytest.fixture
def valkey(server: Valkey) -> Valkey:
    server.say("FLUSHALL")
    return server


@pytest.fixture
async def lock(valkey: Valkey) -> AsyncIterator[RedisLock]:
    opened = RedisLock(valkey.url, "inst_1")
    yield opened
    await opened.aclose()


async def test_one_holds_the_lock_and_may_hold_it_longer(lock: RedisLock) -> None:
    assert await lock.take(0, "one", TTL_MS)
    assert not await lock.take(0, "two", TTL_MS)
    assert await lock.take(0, "one", TTL_MS)
    assert await lock.take(1, "two", TTL_MS)


async def test_lock_ends_with_its_time(lock: RedisLock, valkey: Valkey) -> None:
    await lock.take(0, "one", TTL_MS)

    left_ms = int(valkey.say("PTTL", "mainspring:inst_1:partition:0").strip()[1:])
    assert TTL_MS - 10_000 < left_ms <= TTL_MS


async def test_whoever_leaves_lets_others_in_and_nobody_leaves_for_another(lock: RedisLock) -> None:
    await lock.take(0, "one", TTL_MS)

    await lock.leave(0, "two")
    assert not await lock.take(0, "two", TTL_MS)
    await lock.leave(0, "one")
    assert await lock.take(0, "two", TTL_MS)


async def test_installations_that_share_a_server_do_not_meet(lock: RedisLock, valkey: Valkey) -> None:
    other = RedisLock(valkey.url, "inst_2")
    await lock.take(0, "one", TTL_MS)

    assert await other.take(0, "two", TTL_MS)
    await other.aclose()


async def test_server_that_forgot_everything_gives_the_lock_to_the_next(lock: RedisLock, valkey: Valkey) -> None:
    await lock.take(0, "one", TTL_MS)
    valkey.say("FLUSHALL")

    assert await lock.take(0, "two", TTL_MS)
    assert not await lock.take(0, "one", TTL_MS)


async def test_where_no_server_answers_the_database_decides() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        lock = RedisLock(f"redis://127.0.0.1:{mute.getsockname()[1]}/0", "inst_1")
        answers = [await lock.take(0, worker, TTL_MS) for worker in ("one", "two", "three")]
        await lock.aclose()

    assert answers == [True, True, True]


@pytest.mark.parametrize("fault", ["half_open", "black_hole"])
async def test_where_packets_are_lost_every_call_ends_and_the_database_decides(valkey: Valkey, fault: str) -> None:
    """The connection stands and nothing comes back any more; or no new one can be made."""
    async with FaultProxy("127.0.0.1", valkey.port) as proxy:
        lock = RedisLock(f"redis://127.0.0.1:{proxy.port}/0", "inst_1", rest_s=0)
        assert await lock.take(0, "one", TTL_MS)
        await getattr(proxy, fault)()

        assert await lock.take(0, "two", TTL_MS)
        await lock.leave(0, "one")
        await lock.aclose()


async def test_answer_that_comes_too_late_is_not_taken_for_the_next_one(lock: RedisLock, valkey: Valkey) -> None:
    await lock.take(0, "another", TTL_MS)
    async with FaultProxy("127.0.0.1", valkey.port) as proxy:
        slow = RedisLock(f"redis://127.0.0.1:{proxy.port}/0", "inst_1", rest_s=0)
        proxy.delay(0.6)
        assert await slow.take(1, "one", TTL_MS)
        await proxy.resume()

        assert not await slow.take(0, "one", TTL_MS)
        await slow.aclose()


@pytest.mark.parametrize("url", ["localhost:6379", "http://s3cret@x/", "redis://h:port/0"])
def test_what_is_no_redis_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(Misconfigured, match="MAINSPRING_WORKFLOW_LOCK is not a Redis URL") as refusal:
        RedisLock(url, "inst_1")

    assert "s3cret" not in str(refusal.value)
