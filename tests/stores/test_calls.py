"""Calls on both databases: many at once, each by its key, each made once."""

import asyncio
from collections import Counter
from datetime import datetime, timedelta
from random import Random

from msgspec.structs import replace
from tests.stores.world import (
    LEASE_MARGIN_MS,
    START,
    FixedClock,
    add,
    an_endpoint,
    claim,
    finished,
)

from mainspring.domain.endpoint import Endpoint, JobStatus
from mainspring.domain.event import Event, EventType
from mainspring.domain.schedule.anchor import plan_first
from mainspring.domain.schedule.claim import Claim
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.calls import CallFilter
from mainspring.ports.stores import Stores

MINUTE_S = 60
SHORT, LONG = 300, 10_000
LOST_SHARE = 0.03


def a_call(key: str, at: datetime) -> Endpoint:
    blank = an_endpoint("", interval_ms=None, once_at=at, call_key=key)
    return plan_first(replace(blank, name=blank.id), START, CRON)


def joined(new: list[Endpoint], status: JobStatus, stored: int) -> list[Endpoint]:
    assert status is JobStatus.ACTIVE
    return new


async def place(stores: Stores, *calls: Endpoint) -> dict[str, Endpoint]:
    event = Event(EventType.CALLS_CREATED, START, "default")
    return await stores.calls.add_calls(calls, event, joined)


async def test_key_that_is_taken_adds_nothing_and_names_its_call(stores: Stores) -> None:
    await add(stores, an_endpoint("other"))
    first, second, third = a_call("a", START), a_call("a", START), a_call("b", START)
    before = await place(stores, first)
    there = await place(stores, second, third)

    assert before == {}
    assert {key: each.id for key, each in there.items()} == {"a": first.id}
    assert {each.id for each in await stores.calls.calls("default", CallFilter())} == {first.id, third.id}
    assert (await stores.calls.call("default", "b")) == (await stores.calls.call("default", third.id))


async def test_calls_due_in_one_minute_are_each_made_once_and_never_early(
    stores: Stores, other_stores: Stores, clock: FixedClock, long_run: bool
) -> None:
    """Two workers race for the calls, and some runs are lost with their worker."""
    seed, count = 17, LONG if long_run else SHORT
    random = Random(seed)
    await add(stores, an_endpoint("other", next_run_at=START + timedelta(days=1)))
    times = {f"key-{number}": START + timedelta(milliseconds=random.randrange(60_000)) for number in range(count)}
    made = [a_call(key, at) for key, at in times.items()]
    for first in range(0, count, 1_000):
        await place(stores, *made[first : first + 1_000])
    starts: Counter[str] = Counter()
    succeeded: Counter[str] = Counter()
    lost = 0
    for second in [*range(MINUTE_S + 1), MINUTE_S + (30_000 + LEASE_MARGIN_MS) // 1_000 + 1]:
        clock.at = START + timedelta(seconds=second)
        while claims := await race(stores, other_stores):
            ended = []
            for each in claims:
                assert each.slot_at == each.endpoint.once_at, f"another slot, with the seed {seed}"
                assert each.slot_at <= clock.at, f"early, with the seed {seed}"
                starts[each.slot_id] += 1
                if second <= MINUTE_S and random.random() < LOST_SHARE:
                    lost += 1
                else:
                    ended.append(finished(each))
            report = await stores.schedule.finish(ended)
            succeeded.update(each.claim.slot_id for each in ended if each.claim.run_id in report.recorded)

    done = [each for each in made if (await stores.calls.call("default", each.id) or each).is_done]
    print(f"seed {seed}: {count} calls, {lost} lost with their worker and made again")
    assert lost > 0, "the test lost no run, so it proves little"
    assert (len(done), len(starts), sum(starts.values())) == (count, count, count + lost)
    assert (len(succeeded), set(succeeded.values())) == (count, {1})


async def race(stores: Stores, other_stores: Stores) -> list[Claim]:
    """What two workers claim at the same time."""
    batches = await asyncio.gather(claim(stores, 200, "one"), claim(other_stores, 200, "two"))
    return [each for batch in batches for each in batch.claims]
