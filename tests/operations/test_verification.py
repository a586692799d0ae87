"""What verification proves: of long logs, after old ticks were removed, and after somebody was at the database."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.operations.rival import Interrupted, Meanwhile
from tests.stores.databases import query
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock

from mainspring.operations.context import Desk
from mainspring.operations.execution_export import export_execution
from mainspring.operations.executions import PAGE, find_execution, send_event
from mainspring.operations.verification import verify_execution
from mainspring.operations.workflows import publish_workflow, start_execution
from mainspring.outbound.checkpoints import CheckpointSigner, is_signed
from mainspring.outbound.vault import KeyRing
from mainspring.stores.workflow_rows import text_of
from mainspring.workers.ticker import Ticker
from mainspring.workflow.audit import Breach, seal
from mainspring.workflow.bundle import check_bundle
from mainspring.workflow.model import EntryDraft

KEEP = timedelta(days=30)
WAITS = "name: waits\nsteps:\n  - {id: a, wait_for: {event: go, timeout: 200d}}\n  - {id: b, end: went}\n"
COUNTS = """
name: counts
steps:
  - {id: a, set: {n: "has(vars.n) ? vars.n + 1 : 1"}, visits: 600}
  - {id: b, branch: {cases: [{when: vars.n < 600, goto: a}], default: c}, visits: 600}
  - {id: c, wait: 90d}
"""


@pytest.fixture
def signing(desk: Desk) -> Desk:
    return replace(desk, signer=CheckpointSigner(KeyRing(bytes(32))))


def a_signing_ticker(desk: Desk) -> Ticker:
    """One that signs every tick, and keeps them for thirty days."""
    ticker = a_ticker(desk.stores, keep=KEEP, checkpoint_s=0)
    ticker._signer = desk.signer
    return ticker


async def sequences(desk: Desk) -> list[int]:
    return [head.sequence for head in await desk.stores.flows.logs.ticks(0, 0, 100)]


async def two_months(desk: Desk, clock: FixedClock) -> tuple[Ticker, str, str]:
    """An execution that waits all the time, and one that ends on the first day: four ticks, the last one new."""
    await publish_workflow(desk, WAITS)
    waiting = (await start_execution(desk, "waits", {})).id
    ending = (await start_execution(desk, "waits", {})).id
    ticker = a_signing_ticker(desk)
    await tick(ticker, clock)
    await send_event(desk, waiting, "noise", {})
    await tick(ticker, clock, 2)
    await send_event(desk, ending, "go", {})
    await tick(ticker, clock, 2)
    await tick(ticker, clock, timedelta(days=60).total_seconds())
    await start_execution(desk, "waits", {})
    await tick(ticker, clock, 2)
    return ticker, waiting, ending


async def test_log_of_many_pages_is_walked_to_its_end(signing: Desk, clock: FixedClock) -> None:
    await publish_workflow(signing, COUNTS)
    execution = await start_execution(signing, "counts", {})
    await tick(a_signing_ticker(signing), clock, 30)
    state = (await find_execution(signing, execution.id)).state

    found = await verify_execution(signing, execution.id)

    assert (found.valid, found.verdict.entries, found.verdict.entries > PAGE) == (True, state.number, True)


async def test_entries_that_no_tick_knows_of_are_found_though_row_and_log_agree(
    signing: Desk, clock: FixedClock, store_url: str
) -> None:
    await publish_workflow(signing, WAITS)
    execution = await start_execution(signing, "waits", {})
    await tick(a_signing_ticker(signing), clock)
    state = (await find_execution(signing, execution.id)).state
    (forged,) = seal(state.id, state.salt, 2, state.head, [EntryDraft(9, "b", "end", None, None, state.context)])

    await query(
        store_url,
        "INSERT INTO execution_entry SELECT execution_id, 3, 9, 'b', 'end', input_hash, input_hash, context, hash, "
        f"{hexed(store_url, forged.hash)}, 'null', 'null' FROM execution_entry WHERE number = 2",
    )
    changed = text_of(replace(state, number=3, head=forged.hash))
    await query(store_url, f"UPDATE execution SET number = 3, head = '{forged.hash}', state = '{changed}'")

    found = await verify_execution(signing, execution.id)
    assert found.verdict.breach == Breach(execution.id, 3, "number", "2 entries", "more")


def hexed(url: str, hash_: str) -> str:
    return f"X'{hash_}'" if url.startswith("sqlite") else f"decode('{hash_}', 'hex')"


async def test_ticks_signed_long_ago_go_and_the_rest_is_still_proven(signing: Desk, clock: FixedClock) -> None:
    ticker, waiting, ending = await two_months(signing, clock)
    assert await sequences(signing) == [1, 2, 3, 4]

    await ticker.sweep_once(clock.now())
    clock.tick(seconds=1)
    await ticker.forget_once(clock.now())

    logs = signing.stores.flows.logs
    assert await signing.stores.flows.workflows.execution("default", ending) is None
    assert await sequences(signing) == [4, 5, 6]
    (repeated,) = await logs.ticks(0, 5, 1)
    state = (await find_execution(signing, waiting)).state
    assert repeated.heads == ((waiting, state.number, state.head),)
    assert [each.sequence for each in await logs.checkpoints(0, 0, 10)] == [3, 4]
    found = await verify_execution(signing, waiting)
    assert (found.valid, found.ticks, found.checkpoints) == (True, 3, 2)


async def test_partition_whose_every_tick_is_gone_goes_on_where_it_stood(signing: Desk, clock: FixedClock) -> None:
    await publish_workflow(signing, "name: ends\nsteps: [{id: a, end: done}]\n")
    await start_execution(signing, "ends", {})
    ticker = a_signing_ticker(signing)
    await tick(ticker, clock)
    clock.tick(days=31)
    await ticker.sweep_once(clock.now())
    clock.tick(days=31)
    await ticker.run_once()  # signs what the sweep wrote
    clock.tick(days=31)
    await ticker.forget_once(clock.now())
    assert await sequences(signing) == []

    execution = await start_execution(signing, "ends", {})
    await tick(ticker, clock, 2)

    found = await verify_execution(signing, execution.id)
    assert (found.valid, found.ticks) == (True, 1)
    assert check_bundle(await export_execution(signing, execution.id), is_signed).valid


async def test_log_that_is_changed_after_its_ticks_are_gone_is_found(
    signing: Desk, clock: FixedClock, store_url: str
) -> None:
    ticker, waiting, _ = await two_months(signing, clock)
    clock.tick(seconds=1)
    await ticker.forget_once(clock.now())
    state = (await find_execution(signing, waiting)).state
    drafts = [EntryDraft(0, "a", "forged", None, None, state.context) for _ in range(state.number)]
    forged = seal(waiting, state.salt, 0, "", drafts)

    for entry in forged:
        columns = ("previous", "hash", "input_hash", "output_hash")
        hashes = ", ".join(f"{name} = {hexed(store_url, getattr(entry, name))}" for name in columns)
        await query(
            store_url,
            f"UPDATE execution_entry SET tick = 0, step = 'a', action = 'forged', input = 'null', output = 'null', "
            f"context = {hexed(store_url, entry.context)}, {hashes} "
            f"WHERE execution_id = '{waiting}' AND number = {entry.number}",
        )
    changed = text_of(replace(state, head=forged[-1].hash))
    await query(
        store_url, f"UPDATE execution SET head = '{forged[-1].hash}', state = '{changed}' WHERE id = '{waiting}'"
    )

    found = await verify_execution(signing, waiting)
    assert found.verdict.breach is not None
    assert (found.verdict.breach.number, found.verdict.breach.field) == (1, "hash")


async def test_chain_whose_beginning_somebody_else_cut_off_is_found(
    signing: Desk, clock: FixedClock, store_url: str
) -> None:
    """Up to a checkpoint the chain alone looks as after retention; but then no tick holds the log any more."""
    _, waiting, _ = await two_months(signing, clock)

    await query(store_url, "DELETE FROM workflow_tick WHERE sequence <= 3")
    at_a_checkpoint = await verify_execution(signing, waiting)
    await query(store_url, "DELETE FROM workflow_checkpoint WHERE sequence <= 3")
    elsewhere = await verify_execution(signing, waiting)

    assert at_a_checkpoint.verdict.breach is not None
    assert elsewhere.chain is not None
    assert elsewhere.chain.field == "sequence"


async def test_chain_that_is_broken_is_kept_for_whoever_wants_to_know(
    signing: Desk, clock: FixedClock, store_url: str
) -> None:
    ticker, _, _ = await two_months(signing, clock)
    await query(store_url, "UPDATE workflow_tick SET heads = '[]' WHERE sequence = 2")

    clock.tick(seconds=1)
    await ticker.forget_once(clock.now())

    assert await sequences(signing) == [1, 2, 3, 4]


async def test_whoever_leads_no_longer_removes_no_tick(signing: Desk, clock: FixedClock) -> None:
    ticker, _, _ = await two_months(signing, clock)
    clock.tick(seconds=40)
    assert await signing.stores.flows.ticks.lead(0, "another", 30_000) is not None

    await ticker.forget_once(clock.now())

    assert await sequences(signing) == [1, 2, 3, 4]
    assert ticker.leads == {}


def raced(desk: Desk, method: str, meanwhile: Meanwhile) -> Desk:
    """A desk at which somebody writes just before a part of the chain or the log is read."""
    logs: Any = Interrupted(desk.stores.flows.logs, method, meanwhile)
    return replace(desk, stores=replace(desk.stores, flows=replace(desk.stores.flows, logs=logs)))


async def test_old_ticks_that_are_removed_on_the_way_raise_no_alarm(signing: Desk, clock: FixedClock) -> None:
    ticker, waiting, _ = await two_months(signing, clock)
    clock.tick(seconds=1)

    found = await verify_execution(raced(signing, "ticks", lambda: ticker.forget_once(clock.now())), waiting)

    assert (await sequences(signing))[0] == 4
    assert found.valid


async def test_checkpoint_that_is_signed_on_the_way_is_held_against_its_own_tick(
    signing: Desk, clock: FixedClock
) -> None:
    await publish_workflow(signing, WAITS)
    execution = await start_execution(signing, "waits", {})
    ticker = a_ticker(signing.stores, checkpoint_s=0)
    await tick(ticker, clock)
    ticker._signer = signing.signer

    async def meanwhile() -> None:
        await send_event(signing, execution.id, "noise", {})
        await tick(ticker, clock, 2)

    found = await verify_execution(raced(signing, "checkpoints", meanwhile), execution.id)

    assert (found.valid, found.ticks, found.checkpoints) == (True, 2, 1)


async def test_ticks_that_somebody_cut_off_are_missed_and_the_log_is_checked_without_them(
    desk: Desk, clock: FixedClock, store_url: str
) -> None:
    await publish_workflow(desk, WAITS)
    execution = await start_execution(desk, "waits", {})
    await tick(a_ticker(desk.stores), clock)

    await query(store_url, "DELETE FROM workflow_tick")
    cut = await verify_execution(desk, execution.id)
    await query(store_url, "UPDATE execution_entry SET output = '{}' WHERE number = 2")
    changed_too = await verify_execution(desk, execution.id)

    assert cut.chain == Breach("partition 0", 1, "number", "1 entries", "0 entries")
    assert (cut.verdict.valid, cut.verdict.entries) == (True, 2)
    assert changed_too.verdict.breach is not None
    assert (changed_too.verdict.breach.number, changed_too.verdict.breach.field) == (2, "output")


async def test_entries_that_somebody_cut_off_are_missed_by_the_tick_that_holds_them(
    signing: Desk, clock: FixedClock, store_url: str
) -> None:
    await publish_workflow(signing, WAITS)
    execution = await start_execution(signing, "waits", {})
    await tick(a_signing_ticker(signing), clock)

    await query(store_url, "DELETE FROM execution_entry WHERE number = 2")

    found = await verify_execution(signing, execution.id)
    assert found.chain is None
    assert found.verdict.breach == Breach(execution.id, 2, "number", "2 entries", "1 entries")
