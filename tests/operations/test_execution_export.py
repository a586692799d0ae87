"""Which ticks are handed out with an execution: those that prove it, and no others."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.databases import query
from tests.stores.flow_world import tick
from tests.stores.world import FixedClock

from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.execution_export import LONG, TICKS_MAX, UNSIGNED, export_execution
from mainspring.operations.executions import PAGE, send_event
from mainspring.operations.workflows import publish_workflow, start_execution
from mainspring.outbound.checkpoints import CheckpointSigner, is_signed
from mainspring.outbound.vault import KeyRing
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.bundle import check_bundle

WAITS = "name: waits\nsteps:\n  - {id: a, wait_for: {event: go, timeout: 200d}}\n  - {id: b, end: went}\n"


async def two_in_turn(desk: Desk, clock: FixedClock) -> tuple[Desk, Ticker, str, str]:
    """Two executions, the second of which moved after the first; every tick is signed."""
    desk = replace(desk, signer=CheckpointSigner(KeyRing(bytes(32))))
    ticker = Ticker(
        desk.stores.flows, TickerOptions("ticker-1", checkpoint_s=0, keep=timedelta(days=30)), Metrics(), desk.signer
    )
    await publish_workflow(desk, WAITS)
    ids = []
    for _ in range(2):
        ids.append((await start_execution(desk, "waits", {})).id)
        await tick(ticker, clock)
    return desk, ticker, ids[0], ids[1]


async def test_chain_of_an_execution_is_its_own_part_of_the_chain(desk: Desk, clock: FixedClock) -> None:
    desk, _, first, second = await two_in_turn(desk, clock)

    bundles = [await export_execution(desk, each) for each in (first, second)]

    assert [[head.sequence for head in each.ticks] for each in bundles] == [[1], [2]]
    assert [check_bundle(each, is_signed).valid for each in bundles] == [True, True]


async def test_execution_that_has_not_moved_is_in_no_tick(desk: Desk) -> None:
    await publish_workflow(desk, WAITS)
    execution = await start_execution(desk, "waits", {})

    bundle = await export_execution(desk, execution.id)

    assert (bundle.log, bundle.ticks, bundle.note) == ((), (), "it has not moved yet")


async def fill(url: str, after: int, count: int) -> None:
    """So many ticks more that moved others; they are not sealed, for nobody looks at them."""
    await query(
        url,
        f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {count}) "
        "INSERT INTO workflow_tick SELECT partition, sequence + n, tick + n, '[]', hash, hash, epoch, wall_us, worker "
        f"FROM workflow_tick, series WHERE sequence = {after}",
    )


async def move(url: str, sequence: int, count: int) -> None:
    for table in ("workflow_tick", "workflow_checkpoint"):
        await query(url, f"UPDATE {table} SET sequence = sequence + {count} WHERE sequence = {sequence}")


async def test_execution_is_proven_however_many_ticks_came_after_it(
    desk: Desk, clock: FixedClock, store_url: str
) -> None:
    desk, _, first, _ = await two_in_turn(desk, clock)
    await fill(store_url, 2, TICKS_MAX + 1)

    bundle = await export_execution(desk, first)

    assert ([head.sequence for head in bundle.ticks], bundle.note) == ([1], "")
    assert check_bundle(bundle, is_signed).valid


async def test_chain_of_several_pages_is_handed_out_whole(desk: Desk, clock: FixedClock, store_url: str) -> None:
    desk, ticker, first, _ = await two_in_turn(desk, clock)
    await send_event(desk, first, "go", {})
    await tick(ticker, clock)
    await move(store_url, 3, PAGE)
    await fill(store_url, 2, PAGE)

    bundle = await export_execution(desk, first)

    assert [head.sequence for head in bundle.ticks] == list(range(1, PAGE + 4))
    assert bundle.checkpoint is not None
    assert bundle.checkpoint.sequence == PAGE + 3


async def test_chain_that_is_too_long_between_first_and_last_turn_is_left_out(
    desk: Desk, clock: FixedClock, store_url: str
) -> None:
    desk, ticker, first, _ = await two_in_turn(desk, clock)
    await send_event(desk, first, "go", {})
    await tick(ticker, clock)
    await move(store_url, 3, TICKS_MAX)

    bundle = await export_execution(desk, first)

    assert (bundle.ticks, bundle.checkpoint, bundle.note) == ((), None, LONG)


async def test_execution_whose_ticks_are_kept_no_longer_is_proven_by_the_tick_that_repeats_them(
    desk: Desk, clock: FixedClock
) -> None:
    desk, ticker, first, _ = await two_in_turn(desk, clock)
    clock.tick(days=60)
    await ticker.forget_once(clock.now())

    unsigned = await export_execution(desk, first)
    await tick(ticker, clock)
    bundle = await export_execution(desk, first)

    assert ([head.sequence for head in unsigned.ticks], unsigned.note) == ([3], UNSIGNED)
    assert ([head.sequence for head in bundle.ticks], bundle.note) == ([3], "")
    assert check_bundle(bundle, is_signed).valid


@pytest.mark.parametrize(
    ("removed", "gone"),
    [(2, ""), (1, "; those up to tick 0, signed at 2025-01-01T00:00:01Z, were removed")],
    ids=["all of them", "those up to a checkpoint"],
)
async def test_execution_whose_ticks_somebody_removed_is_vouched_for_by_nobody_and_the_note_says_so(
    desk: Desk, clock: FixedClock, store_url: str, removed: int, gone: str
) -> None:
    desk, _, first, _ = await two_in_turn(desk, clock)
    await query(store_url, f"DELETE FROM workflow_tick WHERE sequence <= {removed}")
    await query(store_url, f"DELETE FROM workflow_checkpoint WHERE sequence > {removed} OR {removed} = 2")

    bundle = await export_execution(desk, first)

    assert (bundle.ticks, bundle.checkpoint) == ((), None)
    assert bundle.note.startswith(f"no existing tick holds its last turn{gone}: document and log are consistent")
    assert f"`mainspring execution verify {first}` shows what is missing" in bundle.note
    assert check_bundle(bundle, is_signed).signed_by == ""
