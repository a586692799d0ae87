"""Previews: what is shown to come is what then happens, or nothing where nothing will."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from msgspec.structs import replace
from tests.stores.world import START, FixedClock, add, an_endpoint, claim, finished, get

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.instant import FOREVER
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import IntervalHint, OneShotHint
from mainspring.operations.preview import preview
from mainspring.ports.stores import Stores

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
TIGHT = IntervalHint(20_000, START + 2 * MINUTE)
ONCE = OneShotHint(START + 90 * SECOND, START + 30 * MINUTE)
NEXT_MINUTE = START + MINUTE
ENDPOINTS = {
    "an interval": an_endpoint(),
    "a cron": an_endpoint(cron="*/7 * * * *"),
    "a cron in another zone": an_endpoint(cron="30 2 * * *", timezone="Asia/Kathmandu"),
    "jitter": an_endpoint(jitter_ms=20_000),
    "a maximum below the cron": an_endpoint(cron="0 0 1 1 *", max_interval_ms=90_000),
    "a tight hint that outlives them": an_endpoint(interval_hint=TIGHT),
    "a one-shot": an_endpoint(interval_ms=600_000, one_shot_hint=ONCE),
    "a one-shot in a cron": an_endpoint(cron="0 * * * *", one_shot_hint=ONCE),
    "a pause that ends": an_endpoint(paused_until=START + 5 * MINUTE, next_run_at=START + 5 * MINUTE, source="paused"),
}


async def slots_of(stores: Stores, clock: FixedClock, endpoint: Endpoint, count: int) -> list[datetime]:
    """When it really runs, each run on its slot, successful and instant."""
    slots: list[datetime] = []
    while len(slots) < count:
        batch = await claim(stores)
        for each in batch.claims:
            slots.append(each.slot_at)
            await stores.schedule.finish([finished(each, took_ms=0)])
        if not batch.claims:
            assert batch.next_due_at is not None
            clock.at = max(clock.at, batch.next_due_at)
            await stores.schedule.expire_hints(10)
    return slots


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=ENDPOINTS)
async def test_preview_is_what_happens_with(stores: Stores, clock: FixedClock, endpoint: Endpoint) -> None:
    await add(stores, endpoint)

    shown = [decision.next_run_at for decision in preview(await get(stores, endpoint), START, 6, CRON)]

    assert shown == await slots_of(stores, clock, endpoint, 6)


EXPIRING = {
    "relaxes": an_endpoint(interval_hint=IntervalHint(3_600_000, START + 10 * MINUTE)),
    "tightens": an_endpoint(interval_hint=IntervalHint(20_000, START + 50 * SECOND)),
    "is held back by the minimum": an_endpoint(min_interval_ms=45_000, interval_hint=TIGHT),
}


@pytest.mark.parametrize("endpoint", EXPIRING.values(), ids=EXPIRING)
async def test_preview_knows_that_the_baseline_is_back_when_a_hint_expires_that(
    stores: Stores, clock: FixedClock, endpoint: Endpoint
) -> None:
    await add(stores, endpoint)

    shown = [decision.next_run_at for decision in preview(endpoint, START, 6, CRON)]

    assert shown == await slots_of(stores, clock, endpoint, 6)


@pytest.mark.parametrize(
    "fields",
    [{"archived_at": START}, {"parked_at": START}, {"job_active": False}, {"paused_until": FOREVER}],
    ids=["archived", "parked", "in a job that is not active", "paused until resumed"],
)
def test_nothing_is_shown_of_an_endpoint_that_will_not_run_as_it_is(fields: dict[str, object]) -> None:
    stopped = replace(an_endpoint(), **fields)
    planned = FOREVER if "paused_until" in fields else None

    assert preview(replace(stopped, next_run_at=planned), START, 5, CRON) == []


def test_overdue_endpoint_is_shown_as_running_now() -> None:
    late = an_endpoint(next_run_at=START - MINUTE)

    assert preview(late, START, 1, CRON)[0].next_run_at == START


def test_plan_that_is_missing_is_made() -> None:
    unplanned = an_endpoint(next_run_at=None)

    assert [decision.next_run_at for decision in preview(unplanned, START, 2, CRON)] == [
        START + MINUTE,
        START + 2 * MINUTE,
    ]


def test_failures_that_go_on_are_shown_up_to_32_times_the_interval() -> None:
    decisions = preview(an_endpoint(anchor_at=START), START, 7, CRON, failures=0)

    times = [START, *[decision.next_run_at for decision in decisions]]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    assert gaps == [60, 120, 240, 480, 960, 1920, 1920]


def test_first_decision_carries_the_trail_it_was_made_with() -> None:
    trail = '[{"rule":"baseline-interval","at":"2025-01-01T00:01:00Z","verdict":"won","why":"every 1m"}]'
    (decision,) = preview(an_endpoint(next_run_at=NEXT_MINUTE, trail=trail), START, 1, CRON)

    assert [(step.rule, step.at, step.verdict, step.why) for step in decision.trail] == [
        ("baseline-interval", NEXT_MINUTE, "won", "every 1m")
    ]
