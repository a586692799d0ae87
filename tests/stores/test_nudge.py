"""Nudges: a hint brings the next run forward, atomically and within the limits; it never puts one off."""

import asyncio
from datetime import timedelta

import pytest
from tests.stores.world import START, FixedClock, add, an_endpoint, change, claim, get, hinted, hinted_once, run_slot

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.schedule import changes
from mainspring.domain.schedule.changes import Act, Change
from mainspring.domain.schedule.cron import CRON
from mainspring.ports.stores import Stores

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
HINTS = {"an interval hint": hinted(5_000), "a one-shot": hinted_once(5 * SECOND)}


def hourly(**fields: object) -> Endpoint:
    """It ran at START and runs again in an hour."""
    return an_endpoint("hourly", interval_ms=3_600_000, anchor_at=START, next_run_at=START + HOUR, **fields)


async def planned(stores: Stores, endpoint: Endpoint) -> tuple[timedelta, str]:
    """How long after START it runs next, and by what."""
    stored = await get(stores, endpoint)
    assert stored.next_run_at is not None
    return stored.next_run_at - START, stored.source


@pytest.mark.parametrize("hint", HINTS.values(), ids=HINTS)
async def test_a_paused_endpoint_is_not_nudged(stores: Stores, clock: FixedClock, hint: Act) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    until = START + 6 * HOUR
    await change(stores, endpoint, lambda old, now: changes.pause(old, until, "", now, "tester", CRON))

    await change(stores, endpoint, hint)
    clock.tick(seconds=10)

    assert await planned(stores, endpoint) == (6 * HOUR, "paused")
    assert (await claim(stores)).claims == ()


async def test_tightening_hint_moves_the_next_run_to_now_plus_its_interval(stores: Stores, clock: FixedClock) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    clock.tick(minutes=20)

    await change(stores, endpoint, hinted(60_000))

    assert await planned(stores, endpoint) == (21 * MINUTE, "ai-interval")


async def test_one_shot_moves_the_next_run_to_its_instant(stores: Stores, clock: FixedClock) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    clock.tick(minutes=20)

    await change(stores, endpoint, hinted_once(5 * MINUTE))

    assert await planned(stores, endpoint) == (25 * MINUTE, "ai-oneshot")


async def test_relaxing_hint_counts_from_the_next_decision_on(stores: Stores, clock: FixedClock) -> None:
    endpoint = hourly()
    await add(stores, endpoint)
    clock.tick(minutes=20)
    await change(stores, endpoint, hinted(7_200_000, ttl=24 * HOUR))
    before = await planned(stores, endpoint)
    clock.at = START + HOUR

    await run_slot(stores, clock)

    assert before == (HOUR, "baseline-interval")
    assert await planned(stores, endpoint) == (3 * HOUR, "ai-interval")


@pytest.mark.parametrize(
    ("limits", "hint", "expected"),
    [
        pytest.param(
            {"min_interval_ms": 600_000}, hinted(5_000), (10 * MINUTE, "clamped-min"), id="an interval hint, minimum"
        ),
        pytest.param(
            {"min_interval_ms": 600_000}, hinted_once(SECOND), (10 * MINUTE, "clamped-min"), id="a one-shot, minimum"
        ),
        pytest.param(
            {"max_interval_ms": 600_000}, hinted_once(50 * MINUTE), (10 * MINUTE, "clamped-max"),
            id="a one-shot, maximum",
        ),
        pytest.param(
            {"min_interval_ms": 7_200_000}, hinted_once(SECOND), (HOUR, "baseline-interval"),
            id="clamped it would be later than the next run",
        ),
    ],
)  # fmt: skip
async def test_nudge_is_clamped_into_the_limits(
    stores: Stores, limits: dict[str, object], hint: Act, expected: tuple[timedelta, str]
) -> None:
    endpoint = hourly(**limits)
    await add(stores, endpoint)

    await change(stores, endpoint, hint)

    assert await planned(stores, endpoint) == expected


async def test_two_who_nudge_at_once_leave_the_earlier_instant_and_both_hints(
    stores: Stores, other_stores: Stores
) -> None:
    endpoints = [an_endpoint(next_run_at=START + HOUR) for _ in range(10)]
    await add(stores, *endpoints)
    acts = [(stores, hinted(30_000)), (other_stores, hinted_once(10 * SECOND))]

    await asyncio.gather(*[change(through, each, act) for each in endpoints for through, act in acts])

    for each in endpoints:
        stored = await get(stores, each)
        assert await planned(stores, each) == (10 * SECOND, "ai-oneshot")
        assert stored.interval_hint is not None
        assert stored.one_shot_hint is not None


async def test_with_a_read_before_the_write_the_earlier_instant_is_lost(stores: Stores, other_stores: Stores) -> None:
    """The negative control."""
    endpoint = an_endpoint(next_run_at=START + HOUR)
    await add(stores, endpoint)
    seen = await get(stores, endpoint)
    once, often = (act(seen, START).endpoint for act in (hinted_once(10 * SECOND), hinted(30_000)))

    await change(other_stores, endpoint, lambda old, now: Change(once))
    await change(stores, endpoint, lambda old, now: Change(often))

    assert await planned(stores, endpoint) == (30 * SECOND, "ai-interval")
    assert (await get(stores, endpoint)).one_shot_hint is None
