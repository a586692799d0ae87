"""Workflows and executions through a server: what commands print there is what they print beside the database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.wiring.clock import SystemClock
from mainspring.wiring.stores import open_stores
from tests.cli.local_and_remote import Pair, same
from tests.stores.flow_world import a_ticker, tick
from tests.stores.world import FixedClock

Move = Callable[[], Awaitable[int]]
ON_SQLITE = pytest.mark.parametrize("pair", ["sqlite"], indirect=True)  # what is the same on both
WAITS = "name: waits\nsteps:\n  - {id: a, wait_for: {event: go, timeout: 5d}}\n  - {id: b, end: went}\n"
CALLS = "name: calls\nsteps:\n  - {id: a, call: {url: 'https://example.com/'}}\n"


@pytest.fixture
async def move(pair: Pair) -> AsyncIterator[Move]:
    """A ticker takes what has arrived; its clock runs ahead, so that nothing is waited for."""
    clock = FixedClock(SystemClock().now() + timedelta(minutes=1))
    async with open_stores(pair.url, clock=clock) as stores:
        ticker = a_ticker(stores)
        yield lambda: tick(ticker, clock)


@ON_SQLITE
async def test_workflows_and_executions_are_shown_the_same(pair: Pair, move: Move, tmp_path: Path) -> None:
    file, wrong = tmp_path / "waits.yaml", tmp_path / "wrong.yaml"
    file.write_text(WAITS)
    wrong.write_text(WAITS.replace("event: go", "evnt: go"))
    await pair.json("workflow", "publish", str(file))
    file.write_text(WAITS.replace("5d", "6d"))
    published = await pair.json("workflow", "publish", str(file))
    done = await pair.json("workflow", "start", "waits", "--correlation", "order-7", "--key", "k")
    waiting = await pair.json("workflow", "start", "waits", "--version", "1")
    await move()
    await pair.json("execution", "send", "order-7", "go", "--data", '{"rating": 1}', "--id", "e1")
    await move()

    assert (published["version"], published["new"], done["new"]) == (2, True, True)
    assert (await pair.json("execution", "show", done["id"]))["status"] == "completed"
    shown: list[tuple[str, ...]] = [
        ("workflow", "check", str(file)),
        ("workflow", "publish", str(file)),
        ("workflow", "list"),
        ("workflow", "show", "waits"),
        ("workflow", "show", "waits", "--version", "1"),
        ("workflow", "versions", "waits"),
        ("workflow", "diff", "waits"),
        ("workflow", "start", "waits", "--correlation", "order-7", "--key", "k"),
        ("workflow", "simulate", str(file), "--event", '1d:go:{"a": 1}'),
        ("execution", "list"),
        ("execution", "list", "--workflow", "waits", "--status", "completed", "-n", "1"),
        ("execution", "list", "--attention"),
        ("execution", "show", done["id"]),
        ("execution", "log", done["id"]),
        ("execution", "verify", done["id"]),
        ("execution", "replay", done["id"]),
        ("execution", "replay", done["id"], "--version", "1"),
        ("execution", "order", "pause", "--workflow", "waits", "--dry-run"),
    ]
    for command in shown:
        await same(pair, *command)
    for command in (
        ("workflow", "check", str(wrong)),
        ("workflow", "show", "wait"),
        ("workflow", "simulate", str(file), "--answer", "x:success"),
        ("execution", "show", "exe_nope"),
        ("execution", "order", "paus", "--workflow", "waits"),
        ("execution", "pause", done["id"]),
        ("execution", "replay", done["id"], "--turns"),
        ("execution", "export", waiting["id"]),
    ):
        near, far = await pair.both(*command)
        assert far == near, command


@ON_SQLITE
async def test_executions_are_ordered_about_and_proven_through_a_server(pair: Pair, move: Move, tmp_path: Path) -> None:
    file, proof = tmp_path / "waits.yaml", tmp_path / "proof.json"
    file.write_text(WAITS)
    await pair.json("workflow", "publish", str(file))
    first, second = [(await pair.json("workflow", "start", "waits"))["id"] for _ in range(2)]
    await move()

    order = ("execution", "pause", second, "--reason", "x")
    told = await asyncio.to_thread(pair.far, *order, MAINSPRING_API_KEY="run")
    assert told.stdout == f"ordered pause of {second}, which is waiting at 'a'\n", told.output
    paused = await pair.json("execution", "pause", first, "--reason", "holiday")
    await move()
    assert (paused["execution"]["id"], paused["ordered"], paused["reason"]) == (first, "pause", "holiday")
    in_need = await pair.json("execution", "list", "--attention", "--status", "paused")
    assert {each["id"] for each in in_need} == {first, second}
    assert await pair.json("execution", "list", "--attention", "--status", "failed") == []
    many = await pair.json("execution", "order", "cancel", "--workflow", "waits", "--reason", "enough", "--yes")
    await move()
    assert (many["ordered"], many["more"]) == (2, False)
    said = await asyncio.to_thread(pair.far.ok, "execution", "export", first, str(proof))
    assert f"wrote {first} with" in said
    assert (await pair.json("execution", "verify", str(proof)))["identical"]
    assert (await pair.json("execution", "erase", second, "--reason", "asked for"))["entries"] > 0
    assert (await pair.json("execution", "verify", second))["erased"] > 0


@ON_SQLITE
async def test_effects_are_answered_in_a_simulation_at_the_server(pair: Pair, tmp_path: Path) -> None:
    file = tmp_path / "calls.yaml"
    file.write_text(CALLS)

    await same(pair, "workflow", "simulate", str(file), "--answer", 'a:success:{"x": 1}')
    await same(pair, "workflow", "simulate", str(file), "--answer", "a:failure:503")
