"""What a log commits to: whoever edits a document, a row or an export is found."""

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.stores.databases import query
from tests.stores.flow_world import a_ticker, log_of, tick
from tests.stores.world import FixedClock

from mainspring.operations.endpoints import Desk
from mainspring.operations.execution_export import export_execution
from mainspring.operations.executions import find_execution, order_execution, replay_execution, send_event
from mainspring.operations.verification import verify_execution
from mainspring.operations.workflows import publish_workflow, start_execution
from mainspring.outbound.checkpoints import is_signed
from mainspring.workflow.bundle import Bundle, check_bundle
from mainspring.workflow.model import Status

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


async def test_invented_clock_repair_is_found_where_the_log_depends_on_it_and_else_on_the_list(
    desk: Desk, clock: FixedClock
) -> None:
    bundle = await export_execution(desk, await ended(desk, clock))
    last, hour = bundle.log[-1].tick, timedelta(hours=1)

    before_it_began = replace(bundle, zeros=((0, bundle.zero - 2 * hour), (1, bundle.zero - hour)))
    in_its_last_tick = replace(bundle, zeros=((0, bundle.zero), (last, bundle.zero - hour)))

    assert not check_bundle(before_it_began, is_signed).valid
    assert check_bundle(in_its_last_tick, is_signed).valid
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
