"""`mainspring partition`: the same beside the database and through a server."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.outbound.checkpoints import CheckpointSigner
from mainspring.outbound.vault import KeyRing
from mainspring.wiring.clock import SystemClock
from mainspring.wiring.stores import open_stores
from tests.cli.local_and_remote import Pair, same
from tests.stores.databases import query
from tests.stores.flow_world import a_ticker, a_workflow, publish, start, tick
from tests.stores.world import FixedClock


async def one_execution(url: str, *, signed: bool) -> None:
    clock = FixedClock(SystemClock().now() - timedelta(minutes=2))
    async with open_stores(url, clock=clock) as stores:
        ticker = a_ticker(stores, checkpoint_s=0, lock_ttl_ms=0)
        ticker._signer = CheckpointSigner(KeyRing(bytes(32))) if signed else None
        await start(stores, await publish(stores, a_workflow({"wait": "1d"})), "x1", format_=2)
        await tick(ticker, clock)


@pytest.mark.parametrize("pair", ["sqlite"], indirect=True)
async def test_partitions_are_listed_and_verified_the_same(pair: Pair, tmp_path: Path) -> None:
    await one_execution(pair.url, signed=False)
    pair.far.env["MAINSPRING_API_KEY"] = "operator"

    for command in (("partition", "list"), ("partition", "verify"), ("partition", "verify", "0")):
        await same(pair, *command)
    (found,) = await pair.json("partition", "verify")
    assert (found["valid"], found["executions"], found["unsigned"]) == (True, 1, 1)
    assert (await pair.json("partition", "list"))[0]["writer"] == ""


@pytest.mark.parametrize("pair", ["sqlite"], indirect=True)
async def test_deleted_execution_ends_with_one(pair: Pair) -> None:
    await one_execution(pair.url, signed=False)
    await query(pair.url, "DELETE FROM execution WHERE id = 'x1'")

    result = await asyncio.to_thread(pair.near, "partition", "verify")

    assert result.exit_code == 1
    assert "x1, entry 1, execution" in result.output


@pytest.mark.parametrize("pair", ["sqlite"], indirect=True)
async def test_checkpoints_are_written_alone(pair: Pair, tmp_path: Path) -> None:
    await one_execution(pair.url, signed=True)
    file = tmp_path / "kept.json"

    result = await asyncio.to_thread(pair.near, "partition", "checkpoints", str(file))

    assert result.exit_code == 0
    (kept,) = json.loads(file.read_text())["checkpoints"]
    assert (kept["partition"], kept["sequence"]) == (0, 1)


@pytest.mark.parametrize("pair", ["sqlite"], indirect=True)
async def test_doctor_names_a_partition_that_no_ticker_writes(pair: Pair) -> None:
    clock = FixedClock(SystemClock().now() - timedelta(minutes=5))
    async with open_stores(pair.url, clock=clock) as stores:
        await start(stores, await publish(stores, a_workflow({"wait": "1d"})), "x1", format_=2)

    result = await asyncio.to_thread(pair.near, "doctor")

    assert "no ticker writes partition 0" in result.output.replace("\n", " ")
    assert "1 are overdue" in result.output.replace("\n", " ")


async def test_doctor_reports_an_effect_that_is_not_sent(pair: Pair) -> None:
    clock = FixedClock(SystemClock().now() - timedelta(minutes=5))
    async with open_stores(pair.url, clock=clock) as stores:
        workflow = await publish(stores, a_workflow({"call": {"url": "https://example.com/"}}))
        await start(stores, workflow, "x1", format_=2)
        await tick(a_ticker(stores), clock)

    result = await asyncio.to_thread(pair.near, "doctor")

    assert "the oldest effect has been waiting to be sent for" in result.output.replace("\n", " ")
