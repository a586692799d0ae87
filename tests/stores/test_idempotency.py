"""Answers kept under the keys of requests: one request works, others wait or get its answer."""

from datetime import timedelta

from tests.stores.databases import query
from tests.stores.world import FixedClock

from mainspring.ports.stores import Stores

WORK_MS = 60_000
KEEP_MS = 86_400_000


async def claim(
    stores: Stores, key: str = "k", request: str = "r1", actor: str = "key:a"
) -> tuple[str, str | None] | None:
    return await stores.answers.claim("default", actor, key, request, WORK_MS, KEEP_MS)


async def test_first_request_gets_the_key_and_others_see_that_it_is_at_work(stores: Stores) -> None:
    assert await claim(stores) is None
    assert await claim(stores, request="r2") == ("r1", None)


async def test_kept_answer_is_given_to_whoever_asks_again(stores: Stores) -> None:
    await claim(stores)
    await stores.answers.keep("default", "key:a", "k", "r1", "done")

    assert await claim(stores, request="r2") == ("r1", "done")


async def test_keys_of_others_are_other_keys(stores: Stores) -> None:
    await claim(stores)

    assert await claim(stores, actor="key:b") is None
    assert await stores.answers.claim("other", "key:a", "k", "r1", WORK_MS, KEEP_MS) is None


async def test_released_key_is_free_again(stores: Stores) -> None:
    await claim(stores)
    await stores.answers.release("default", "key:a", "k", "r1")

    assert await claim(stores, request="r2") is None


async def test_answer_outlives_a_late_release(stores: Stores) -> None:
    await claim(stores)
    await stores.answers.keep("default", "key:a", "k", "r1", "done")
    await stores.answers.release("default", "key:a", "k", "r1")

    assert await claim(stores) == ("r1", "done")


async def test_request_that_was_lost_gives_way_after_its_time(stores: Stores, clock: FixedClock) -> None:
    await claim(stores)
    clock.tick(milliseconds=WORK_MS)

    assert await claim(stores, request="r2") is None
    await stores.answers.keep("default", "key:a", "k", "r1", "too late")
    assert await claim(stores, request="r3") == ("r2", None)


async def test_answers_are_forgotten_after_their_time(stores: Stores, clock: FixedClock, store_url: str) -> None:
    await claim(stores)
    await stores.answers.keep("default", "key:a", "k", "r1", "done")
    clock.at += timedelta(milliseconds=KEEP_MS)

    assert await claim(stores, key="another") is None
    assert await query(store_url, "SELECT key FROM answer") == [("another",)]
    assert await claim(stores, request="r2") is None
