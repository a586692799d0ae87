"""A whole partition is proven: deleted executions, cut-off ticks and deleted checkpoints are found."""

import pytest
from msgspec.structs import replace
from tests.operations.test_verification import a_signing_ticker, signing, two_months
from tests.stores.databases import query
from tests.stores.flow_world import tick
from tests.stores.world import FixedClock

from mainspring.domain.errors import InvalidInput, NotFound
from mainspring.operations.context import Desk
from mainspring.operations.partitions import KeptCheckpoints, export_checkpoints, read_kept, verify_partitions
from mainspring.operations.workflows import start_execution
from mainspring.outbound.checkpoints import CheckpointSigner
from mainspring.outbound.vault import KeyRing
from mainspring.stores.workflow_rows import text_of
from mainspring.workflow.audit import Breach, seal_tick

__all__ = ["signing"]


async def breach_of(desk: Desk, kept: KeptCheckpoints | None = None) -> Breach | None:
    (found,) = await verify_partitions(desk, 0, kept.checkpoints if kept else ())
    return found.breach


async def test_partition_that_nobody_touched_is_valid(signing: Desk, clock: FixedClock) -> None:
    await two_months(signing, clock)

    (found,) = await verify_partitions(signing, None, (await export_checkpoints(signing)).checkpoints)

    assert (found.valid, found.ticks, found.executions, found.checkpoints) == (True, 4, 3, 4)
    assert (found.kept, found.unsigned) == (1, 0)


async def test_deleted_execution_is_found(signing: Desk, store_url: str, clock: FixedClock) -> None:
    _, waiting, _ = await two_months(signing, clock)
    for table, column in (("execution", "id"), ("execution_entry", "execution_id")):
        await query(store_url, f"DELETE FROM {table} WHERE {column} = '{waiting}'")

    assert await breach_of(signing) == Breach(waiting, 1, "execution", "3 entries", "deleted")


async def test_execution_that_no_tick_names_is_found(signing: Desk, store_url: str, clock: FixedClock) -> None:
    _, waiting, _ = await two_months(signing, clock)
    for table, column in (
        ("execution", "id"),
        ("execution_entry", "execution_id"),
        ("execution_ready", "execution_id"),
    ):
        await query(store_url, f"UPDATE {table} SET {column} = 'exe_forged' WHERE {column} = '{waiting}'")

    found = await breach_of(signing)

    assert found is not None
    assert found.execution_id in ("exe_forged", waiting)


async def test_execution_that_was_added_with_its_log_is_found(signing: Desk, store_url: str, clock: FixedClock) -> None:
    ticker, _, _ = await two_months(signing, clock)
    added = await start_execution(signing, "waits", {})
    await tick(ticker, clock, 5)
    (fourth,) = await query(store_url, "SELECT hash FROM workflow_tick WHERE sequence = 4")
    for table in ("workflow_tick", "workflow_checkpoint"):
        await query(store_url, f"DELETE FROM {table} WHERE sequence > 4")
    await query(store_url, f"UPDATE workflow_partition SET sequence = 4, head = '{fourth[0]}'")

    found = await breach_of(signing)

    assert found == Breach(added.id, 1, "execution", "an execution that a tick names", "one that no tick names")


async def test_kept_checkpoint_finds_a_rewritten_chain_where_no_key_is_known(
    signing: Desk, store_url: str, clock: FixedClock
) -> None:
    await two_months(signing, clock)
    kept = await export_checkpoints(signing)
    (last,) = kept.checkpoints
    (genuine,) = await signing.stores.flows.logs.ticks(0, 3, 1)
    made = seal_tick(0, 4, genuine.tick, [("exe_forged", 1, "f" * 64)], genuine.previous)
    await query(
        store_url, f"UPDATE workflow_tick SET heads = '{text_of(made.heads)}', hash = '{made.hash}' WHERE sequence = 4"
    )
    await query(store_url, f"UPDATE workflow_checkpoint SET head = '{made.hash}' WHERE sequence = 4")
    await query(store_url, f"UPDATE workflow_partition SET head = '{made.hash}'")

    found = await breach_of(replace(signing, signer=None), kept)

    assert found == Breach("partition 0", 4, "kept checkpoint", last.head, made.hash)


async def test_execution_that_was_moved_to_another_partition_is_found(
    signing: Desk, store_url: str, clock: FixedClock
) -> None:
    _, waiting, _ = await two_months(signing, clock)
    await query(store_url, f"UPDATE execution SET partition = 1 WHERE id = '{waiting}'")

    assert await breach_of(signing) == Breach(waiting, 1, "partition", "0", "another one")


async def test_stored_checkpoint_finds_a_rewritten_chain(signing: Desk, store_url: str, clock: FixedClock) -> None:
    await two_months(signing, clock)
    (genuine,) = await signing.stores.flows.logs.ticks(0, 3, 1)
    made = seal_tick(0, 4, genuine.tick, [("exe_forged", 1, "f" * 64)], genuine.previous)
    await query(
        store_url, f"UPDATE workflow_tick SET heads = '{text_of(made.heads)}', hash = '{made.hash}' WHERE sequence = 4"
    )
    await query(store_url, f"UPDATE workflow_partition SET head = '{made.hash}'")

    assert await breach_of(signing) == Breach("partition 0", 4, "checkpoint", genuine.hash, made.hash)


async def test_stored_checkpoint_with_a_forged_signature_is_found(
    signing: Desk, store_url: str, clock: FixedClock
) -> None:
    await two_months(signing, clock)
    (other,) = await signing.stores.flows.logs.checkpoints(0, 1, 1)
    await query(store_url, f"UPDATE workflow_checkpoint SET signature = '{other.signature}' WHERE sequence = 3")

    found = await breach_of(signing)

    assert found == Breach("partition 0", 3, "signature of the checkpoint", "genuine", other.signature)


async def test_start_of_a_chain_is_proven_after_retention(signing: Desk, store_url: str, clock: FixedClock) -> None:
    """Its checkpoint stands for all ticks before it: a forged one, or another one than was kept, is found."""
    ticker, _, _ = await two_months(signing, clock)
    kept = await export_checkpoints(signing)
    await ticker.sweep_once(clock.now())
    clock.tick(seconds=1)
    await ticker.forget_once(clock.now())
    start = await signing.stores.flows.logs.chain_start(0)
    assert start is not None
    assert await breach_of(signing, kept) is None

    elsewhere = replace(start, head="f" * 64)
    unsigned = await breach_of(replace(signing, signer=None), replace(kept, checkpoints=(elsewhere,)))
    await query(store_url, f"UPDATE workflow_checkpoint SET signature = 'x' WHERE sequence = {start.sequence}")
    forged = await breach_of(signing)

    assert unsigned == Breach("partition 0", start.sequence, "kept checkpoint", "f" * 64, start.head)
    assert forged == Breach("partition 0", start.sequence, "signature of the checkpoint", "genuine", "x")


async def test_removal_by_retention_is_no_breach(signing: Desk, clock: FixedClock) -> None:
    ticker, _, _ = await two_months(signing, clock)
    await ticker.sweep_once(clock.now())
    await tick(ticker, clock, 5)
    await ticker.forget_once(clock.now())

    assert await breach_of(signing) is None


async def test_deleted_checkpoint_is_found_by_one_kept_elsewhere(
    signing: Desk, store_url: str, clock: FixedClock
) -> None:
    await two_months(signing, clock)
    kept = await export_checkpoints(signing)
    await query(store_url, "DELETE FROM workflow_checkpoint")

    assert await breach_of(signing) is None
    found = await breach_of(signing, kept)
    assert (found and found.field, found and found.found) == ("checkpoint", "deleted")


async def test_ticks_cut_off_with_their_checkpoints_are_found_by_one_kept_elsewhere(
    signing: Desk, store_url: str, clock: FixedClock
) -> None:
    await two_months(signing, clock)
    kept = await export_checkpoints(signing)
    (third,) = await query(store_url, "SELECT hash FROM workflow_tick WHERE sequence = 3")
    for table in ("workflow_tick", "workflow_checkpoint"):
        await query(store_url, f"DELETE FROM {table} WHERE sequence = 4")
    await query(store_url, f"UPDATE workflow_partition SET sequence = 3, head = '{third[0]}'")

    found = await breach_of(signing, kept)

    assert found == Breach("partition 0", 4, "checkpoint", kept.checkpoints[0].head, "cut off")


async def test_partition_that_was_deleted_is_found_by_a_kept_checkpoint(
    signing: Desk, store_url: str, clock: FixedClock
) -> None:
    await two_months(signing, clock)
    kept = await export_checkpoints(signing)
    for table in ("workflow_tick", "workflow_checkpoint", "execution", "execution_entry", "workflow_partition"):
        await query(store_url, f"DELETE FROM {table}")

    (found,) = await verify_partitions(signing, None, kept.checkpoints)

    assert found.breach is not None
    assert found.breach.found == "cut off"


async def test_kept_checkpoint_of_another_key_is_refused(signing: Desk, clock: FixedClock) -> None:
    await two_months(signing, clock)
    (mine,) = (await export_checkpoints(signing)).checkpoints
    other = CheckpointSigner(KeyRing(b"x" * 32))
    other_desk = replace(signing, signer=other)

    (found,) = await verify_partitions(other_desk, 0, [mine])

    assert found.breach is not None
    assert found.breach.field == "signature of the kept checkpoint"


async def test_verification_goes_on_while_a_ticker_writes(signing: Desk, clock: FixedClock) -> None:
    ticker, *_ = await two_months(signing, clock)
    kept = await export_checkpoints(signing)
    await start_execution(signing, "waits", {})
    await tick(ticker, clock, 2)
    await tick(a_signing_ticker(signing), clock, 2)

    assert await breach_of(signing, kept) is None


async def test_partition_that_never_was_is_not_found(signing: Desk, clock: FixedClock) -> None:
    await two_months(signing, clock)

    with pytest.raises(NotFound):
        await verify_partitions(signing, 7)


@pytest.mark.parametrize("text", [b"", b"{}", b'{"format": "other", "checkpoints": []}'])
def test_file_that_holds_no_checkpoints_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_kept(text)
