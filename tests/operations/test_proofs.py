"""What a log commits to: whoever edits a document, a row or an export is found."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.stores.databases import query
from tests.stores.flow_world import a_ticker, log_of, tick
from tests.stores.world import FixedClock

from mainspring.domain.instant import rfc3339
from mainspring.operations.context import Desk
from mainspring.operations.execution_export import export_execution
from mainspring.operations.executions import find_execution, order_execution, read_log, replay_execution, send_event
from mainspring.operations.partitions import repair_clock, verify_partitions
from mainspring.operations.verification import verify_execution
from mainspring.operations.workflows import publish_workflow, start_execution
from mainspring.outbound.checkpoints import is_signed
from mainspring.wiring.clock import TimeOrderedIds
from mainspring.workflow.audit import revive
from mainspring.workflow.bundle import Bundle, check_bundle
from mainspring.workflow.model import Status, Zeros

LISTED = (Path(__file__).parents[2] / "docs/workflows.md").read_text()
WAITS = "name: waits\nsteps:\n  - {id: a, wait_for: {event: go, timeout: 200d}}\n  - {id: b, end: went}\n"


async def waiting(desk: Desk, clock: FixedClock) -> str:
    await publish_workflow(desk, WAITS)
    execution = await start_execution(desk, "waits", {}, correlation="order-7")
    await tick(a_ticker(desk.stores), clock)
    return execution.id


async def ended(desk: Desk, clock: FixedClock) -> str:
    execution_id = await waiting(desk, clock)
    await send_event(desk, execution_id, "go", {})
    await tick(a_ticker(desk.stores, "t2", lock_ttl_ms=0), clock, 60)
    return execution_id


@pytest.mark.parametrize("column", ["document", "model"])
async def test_document_edited_in_the_database_is_not_run(
    desk: Desk, store_url: str, clock: FixedClock, column: str
) -> None:
    execution_id = await waiting(desk, clock)
    await query(store_url, f"UPDATE workflow_version SET {column} = replace({column}, 'went', 'paid')")
    await send_event(desk, execution_id, "go", {})

    await tick(a_ticker(desk.stores, "t2", lock_ttl_ms=0), clock, 60)

    found = await find_execution(desk, execution_id)
    assert found.status is Status.FAILED
    assert "was changed after this execution started" in found.state.error
    verified = await verify_execution(desk, execution_id)
    assert (verified.valid, verified.verdict.breach and verified.verdict.breach.field) == (False, column)
    assert not (await replay_execution(desk, execution_id)).identical


async def test_execution_goes_on_with_its_events_when_the_document_is_restored(
    desk: Desk, store_url: str, clock: FixedClock
) -> None:
    execution_id = await waiting(desk, clock)
    await query(store_url, "UPDATE workflow_version SET document = replace(document, 'went', 'paid')")
    await send_event(desk, execution_id, "go", {})
    ticker = a_ticker(desk.stores, "t2", lock_ttl_ms=0)
    await tick(ticker, clock, 60)
    await order_execution(desk, execution_id, "retry")
    await tick(ticker, clock, 2)
    assert (await log_of(desk.stores, execution_id))[-1].endswith("command.refused")
    await query(store_url, "UPDATE workflow_version SET document = replace(document, 'paid', 'went')")

    await order_execution(desk, execution_id, "retry")
    await tick(ticker, clock, 2)

    assert (await find_execution(desk, execution_id)).state.outcome == "went"
    assert (await verify_execution(desk, execution_id)).valid
    assert (await replay_execution(desk, execution_id)).identical


@pytest.mark.parametrize(
    "forged",
    [
        {"workflow": "other"},
        {"version": 2},
        {"actor": "eve"},
        {"correlation": "order-8"},
        {"partition": 3},
        {"resolution_ms": 500},
        {"status": "cancelled"},
        {"outcome": "paid"},
        {"error": "none"},
        {"document": WAITS.replace("went", "paid")},
        {"document": WAITS + "\n# a note\n"},
    ],
    ids=str,
)
async def test_edited_export_is_found(desk: Desk, clock: FixedClock, forged: dict[str, object]) -> None:
    bundle = await export_execution(desk, await ended(desk, clock))
    assert check_bundle(bundle, is_signed).valid

    changed: Bundle = replace(bundle, **forged)

    assert not check_bundle(changed, is_signed).valid


async def test_edited_clock_of_an_export_is_found(desk: Desk, clock: FixedClock) -> None:
    bundle = await export_execution(desk, await ended(desk, clock))

    found = check_bundle(replace(bundle, zero=bundle.zero.replace(year=2001)), is_signed)

    assert (found.valid, found.verdict.breach and found.verdict.breach.field) == (False, "zero")


async def test_invented_clock_repair_is_found(desk: Desk, clock: FixedClock) -> None:
    bundle = await export_execution(desk, await ended(desk, clock))
    last, hour = bundle.log[-1].tick, timedelta(hours=1)

    before_it_began = replace(bundle, zeros=((0, bundle.zero - 2 * hour), (1, bundle.zero - hour)))
    in_its_last_tick = replace(bundle, zeros=((0, bundle.zero), (last, bundle.zero - hour)))
    after_it = replace(bundle, zeros=((0, bundle.zero), (last + 1, bundle.zero - hour)))

    for forged in (before_it_began, in_its_last_tick, after_it):
        assert not check_bundle(forged, is_signed).valid


async def test_clock_repair_invented_in_a_log_of_format_2_is_on_the_list(
    desk: Desk, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.operations.workflows.NEWEST_FORMAT", 2)
    bundle = await export_execution(desk, await ended(desk, clock))
    earlier = bundle.zero - timedelta(hours=1)

    found = check_bundle(
        replace(bundle, zero=earlier, zeros=((0, bundle.zero), (bundle.log[-1].tick, earlier))), is_signed
    )

    assert found.valid
    assert "a clock repair (`zeros` of an export" in LISTED


@pytest.mark.parametrize(
    "change",
    [
        "actor = 'eve'",
        "correlation = 'order-8'",
        "status = 'failed'",
        "outcome = 'paid'",
        "ready_tick = NULL",
        """state = replace(state, '"phase":"event"', '"phase":"time"')""",
        "state = replace(state, '\"wake_tick\":17280000', '\"wake_tick\":7')",
        "state = replace(state, '\"format\":3,', '')",
    ],
)
async def test_edited_row_of_an_execution_is_found(desk: Desk, store_url: str, clock: FixedClock, change: str) -> None:
    execution_id = await waiting(desk, clock)
    assert (await verify_execution(desk, execution_id)).valid
    before = await query(store_url, "SELECT * FROM execution")

    await query(store_url, f"UPDATE execution SET {change}")

    assert await query(store_url, "SELECT * FROM execution") != before
    assert not (await verify_execution(desk, execution_id)).valid


YEAR = timedelta(days=365)


async def repaired(desk: Desk, clock: FixedClock) -> str:
    """An execution that began, had a turn while the clock was a year ahead, and ended after two repairs."""
    execution_id = await waiting(desk, clock)
    for number in range(2):
        clock.at += YEAR
        await send_event(desk, execution_id, "noise", {})
        await tick(a_ticker(desk.stores, f"t{number}", lock_ttl_ms=0), clock, 60)
        clock.at -= YEAR
        assert len(await repair_clock(desk.stores, TimeOrderedIds(), "ada")) == 1
    await send_event(desk, execution_id, "go", {})
    await tick(a_ticker(desk.stores, "t9", lock_ttl_ms=0), clock, 60)
    return execution_id


async def test_log_names_repairs_of_the_clock_in_the_first_turn_after_them(desk: Desk, clock: FixedClock) -> None:
    execution_id = await repaired(desk, clock)

    zeros = await desk.stores.clock.zeros(0)
    named = [each for each in await read_log(desk, await find_execution(desk, execution_id)) if each.action == "clock"]
    told = [pair for each in named for pair in revive(each.output or b"")["repairs"]]  # type: ignore[index]  # a map, as written
    assert told == [[from_tick, rfc3339(zero)] for from_tick, zero in zeros[1:]]
    assert len(told) == 2
    assert (await verify_execution(desk, execution_id)).valid
    assert (await replay_execution(desk, execution_id)).identical


@pytest.mark.parametrize(
    "forge",
    [
        lambda zeros: zeros[:-1],
        lambda zeros: zeros[1:],
        lambda zeros: (),
        lambda zeros: (*zeros[:-1], (zeros[-1][0], zeros[-1][1] + timedelta(seconds=1))),
        lambda zeros: (*zeros[:-1], (zeros[-1][0] + 1, zeros[-1][1])),
        lambda zeros: (*zeros, (zeros[-1][0] + 10**9, zeros[-1][1] - YEAR)),
        lambda zeros: ((0, zeros[0][1] - YEAR), (1, zeros[0][1]), *zeros[1:]),
    ],
    ids=["last removed", "first removed", "all removed", "another instant", "another tick", "added", "put before"],
)
async def test_edited_clock_repair_of_an_export_is_found(
    desk: Desk, clock: FixedClock, forge: Callable[[Zeros], Zeros]
) -> None:
    bundle = await export_execution(desk, await repaired(desk, clock))
    assert check_bundle(bundle, is_signed).valid

    found = check_bundle(replace(bundle, zeros=forge(bundle.zeros)), is_signed)

    assert not found.valid


async def test_edited_clock_of_an_export_after_a_repair_is_found(desk: Desk, clock: FixedClock) -> None:
    bundle = await export_execution(desk, await repaired(desk, clock))

    found = check_bundle(replace(bundle, zero=bundle.zero + YEAR), is_signed)

    assert (found.valid, found.verdict.breach and found.verdict.breach.field) == (False, "zero")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE partition_zero SET zero_us = zero_us - 1000000 WHERE from_tick > 0",
        "DELETE FROM partition_zero",
        "DELETE FROM partition_zero WHERE from_tick = (SELECT max(from_tick) FROM partition_zero)",
        "UPDATE partition_zero SET from_tick = from_tick + 1 WHERE from_tick > 0",
    ],
)
async def test_edited_row_of_a_clock_repair_is_found(
    desk: Desk, store_url: str, clock: FixedClock, change: str
) -> None:
    execution_id = await repaired(desk, clock)

    await query(store_url, change)

    assert not (await verify_execution(desk, execution_id)).valid
    assert not all(each.valid for each in await verify_partitions(desk))


async def test_execution_that_was_started_before_a_repair_and_moved_after_it_is_valid(
    desk: Desk, clock: FixedClock
) -> None:
    first = await waiting(desk, clock)
    clock.at += YEAR
    await send_event(desk, first, "noise", {})
    await tick(a_ticker(desk.stores, "t1", lock_ttl_ms=0), clock, 60)
    clock.at -= YEAR
    late = await start_execution(desk, "waits", {})
    await repair_clock(desk.stores, TimeOrderedIds(), "ada")
    await tick(a_ticker(desk.stores, "t2", lock_ttl_ms=0), clock, 60)

    for each in (first, late.id):
        assert (await verify_execution(desk, each)).valid
        assert check_bundle(await export_execution(desk, each), is_signed).valid


async def test_log_of_format_2_names_no_repair_and_stays_valid(
    desk: Desk, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.operations.workflows.NEWEST_FORMAT", 2)
    execution_id = await repaired(desk, clock)

    assert not [line for line in await log_of(desk.stores, execution_id) if "clock" in line]
    assert (await verify_execution(desk, execution_id)).valid
    assert check_bundle(await export_execution(desk, execution_id), is_signed).valid
