"""Load does not change a trace: the same document, input and events, idle and beside more busy executions than the cap.

Both run at once, each in a partition of its own: the idle one alone, the other beside executions that want a turn in
every tick. At the default cap of 500, 1,600 of them delay every turn by some ticks.
"""

from typing import Any

import pytest
from tests.stores.flow_world import a_ticker, a_workflow, get, log_of, publish, send, start, tick
from tests.stores.world import FixedClock

from mainspring.ports.stores import Stores
from mainspring.workers.ticker import TickerOptions
from mainspring.workflow.model import NEWEST_FORMAT, Workflow
from mainspring.workflow.tick import partition_of

DEFAULT_CAP = TickerOptions("any").executions_per_tick
JOINS: tuple[dict[str, Any], ...] = (
    {"wait": "2s"},
    {"wait_for": {"event": "join", "timeout": "4s", "on_timeout": "late"}},
    {"wait_for": {"event": "second", "timeout": "1m", "on_timeout": "late"}},
    {"end": "joined"},
    {"id": "late", "end": "late"},
)


def names(partition: int, count: int, prefix: str) -> list[str]:
    """Ids that fall into a partition of two."""
    found, number = list[str](), 0
    while len(found) < count:
        name = f"{prefix}{number:06}"
        found += [name] if partition_of(name, 2) == partition else []
        number += 1
    return found


async def play(
    stores: Stores, clock: FixedClock, busy: int, cap: int, format_: int
) -> tuple[list[str], list[str], list[int]]:
    """What the idle and the loaded one did, and how many turns each tick had meanwhile."""
    flow = await publish(stores, a_workflow(*JOINS, name="joins"))
    loop = await publish(stores, a_workflow({"wait": "1s"}, {"wait": "1s", "next": "s0", "visits": 9_000}, name="busy"))
    for partition in (0, 1):
        await stores.flows.workflows.clock(partition, 1_000)  # both count from the same instant
    for name in names(1, busy, "a"):
        await begin(stores, loop, name, format_)
    ticker = a_ticker(stores, partitions=(0, 1), executions_per_tick=cap)
    for _ in range(3):
        await tick(ticker, clock)
    turns: list[int] = []
    (idle,), (loaded,) = names(0, 1, "x"), names(1, 1, "x")
    for name in (idle, loaded):
        await begin(stores, flow, name, format_)
    for second in range(40):
        if second in (3, 5):
            for name in (idle, loaded):
                await send(stores, name, "join" if second == 5 else "second", f"e{second}", n=second)
        turns.append(await tick(ticker, clock))
    assert (await get(stores, idle)).state.outcome == "joined"
    return await log_of(stores, idle), await log_of(stores, loaded), turns


async def begin(stores: Stores, workflow: Workflow, name: str, format_: int) -> None:
    await start(stores, workflow, name, partitions=2, format_=format_)


async def test_load_beyond_the_cap_changes_no_trace(stores: Stores, clock: FixedClock, long_run: bool) -> None:
    busy, cap = (1_600, DEFAULT_CAP) if long_run else (32, 10)

    idle, loaded, turns = await play(stores, clock, busy, cap, NEWEST_FORMAT)

    print(f"{busy} busy executions, {min(turns)} to {max(turns)} turns a tick")
    assert DEFAULT_CAP == 500
    assert cap <= min(turns) <= max(turns) <= cap + 1, "the cap is of a partition, and the idle one has another"
    assert loaded == idle


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
async def test_load_changed_traces_of_the_first_format(stores: Stores, clock: FixedClock) -> None:
    """The negative control: the case is one in which load matters."""
    idle, loaded, _ = await play(stores, clock, 32, 10, format_=1)

    assert loaded != idle
