"""Thousands of calls that are due in the same minute, made by real schedulers: none missed, early or twice."""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from mainspring.domain.endpoint import EndpointConfig
from mainspring.domain.run import HttpAction, RunStatus
from mainspring.operations.calls import CALLS_AT_ONCE, CallDraft, add_calls
from mainspring.ports.calls import CallFilter
from mainspring.ports.stores import Stores
from tests.faults.conftest import Figures
from tests.faults.ledger import PERCENTILES, all_runs, percentile
from tests.faults.random_kills import Tail, start_workers
from tests.faults.stage import Stage
from tests.faults.worker_forker import Nursery
from tests.harness.waiting import until, until_true
from tests.peers.journal import Entry, Journal

WORKERS = 2
LONG, LONG_MS, PLACING_S = 10_000, 60_000, 60
SHORT, SHORT_MS, SHORT_PLACING_S = 300, 1_000, 3
KILLS = 20
TIMEOUT_MS = 30_000


@pytest.mark.parametrize("kills", [0, KILLS], ids=["quiet", "killed"])
async def test_calls_due_in_one_minute_are_each_made_once_and_none_early(
    stage: Stage, journal: Journal, long_run: bool, seed: int, figures: Figures, kills: int
) -> None:
    if kills and not long_run:
        pytest.skip("takes minutes: pytest --long")
    async with stage.stores() as stores:
        with stage.nursery() as nursery:
            await start_workers(nursery, WORKERS)
            count = await place_calls(stage, journal, seed, is_long=long_run)
            await kill_some(nursery, journal, count, kills, seed)
            await until_done(stores, count)
        runs = await all_runs(stores)

    entries = journal.entries()
    late = lateness_s(entries)
    shares = {name: round(1_000 * percentile(late, share)) for name, share in PERCENTILES.items()}
    figures(calls=count, kills=kills, deliveries=len(entries), lateness_ms=shares)
    succeeded = Counter(run.endpoint_id for run in runs if run.status is RunStatus.SUCCESS)
    assert (len(succeeded), set(succeeded.values())) == (count, {1})
    assert {entry.path for entry in entries} == {f"/{number}" for number in range(count)}
    assert late[0] >= 0
    assert len({(entry.path, entry.attempt) for entry in entries}) == len(entries)
    assert kills or len(entries) == count


async def place_calls(stage: Stage, journal: Journal, seed: int, *, is_long: bool) -> int:
    """Stores calls that are due at random moments of one span, each key twice, and returns their number."""
    draw = random.Random(seed)
    count, span_ms, placing_s = (LONG, LONG_MS, PLACING_S) if is_long else (SHORT, SHORT_MS, SHORT_PLACING_S)
    async with stage.desk() as desk:
        begins_at = await desk.stores.schedule.now() + timedelta(seconds=placing_s)
        drafts = [
            CallDraft(
                EndpointConfig(
                    "",
                    HttpAction(journal.url(f"/{number}"), timeout_ms=TIMEOUT_MS),
                    once_at=begins_at + timedelta(milliseconds=draw.randrange(span_ms)),
                ),
                f"order-{number}",
            )
            for number in range(count)
        ]
        for first in range(0, count, CALLS_AT_ONCE // 2):
            batch = drafts[first : first + CALLS_AT_ONCE // 2]
            placed = await add_calls(desk, [*batch, *batch])
            assert [each.is_new for each in placed] == [True] * len(batch) + [False] * len(batch)
        assert await desk.stores.schedule.now() < begins_at, "storing the calls took too long"
    return count


async def kill_some(nursery: Nursery, journal: Journal, count: int, kills: int, seed: int) -> None:
    """Kills and replaces workers while they call, spread over all calls."""
    draw = random.Random(seed)
    tail = Tail(journal)
    alive = list(nursery.running)
    for number in range(1, kills + 1):
        wanted = number * count // (kills + 1)
        await until(lambda wanted=wanted: tail.grown() >= wanted, "calls are made between kills", 120)  # type: ignore[misc]  # bound now
        alive.pop(draw.randrange(len(alive))).kill()
        alive += await start_workers(nursery, 1)


async def until_done(stores: Stores, count: int) -> None:
    async def are_done() -> bool:
        return not await stores.calls.calls("default", CallFilter("waiting", limit=1))

    await until_true(are_done, f"{count} calls are done", 300)


def lateness_s(entries: Sequence[Entry]) -> list[float]:
    """How long after its time each first attempt arrived, sorted."""
    return sorted(each.at - datetime.fromisoformat(each.slot).timestamp() for each in entries if each.attempt == 1)
