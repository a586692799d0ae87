"""`serve` with a language model: its sessions are in a process of their own, which may die or stand still by itself."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.domain.model.session import ModelSession
from mainspring.domain.run import RunStatus
from tests.faults.conftest import Figures
from tests.faults.ledger import Ledger, read_ledger
from tests.faults.stage import Stage, calling, fill
from tests.harness.pace import Pace
from tests.harness.processes import Process, Processes
from tests.harness.waiting import until, until_true
from tests.peers.journal import Journal
from tests.peers.model_server import ModelServer, Reply, serving_models

STEADY, EVERY_MS, TIMEOUT_MS = 5, 200, 30_000


@dataclass
class House:
    """`mainspring serve` with a model that never answers, so that a session is always under way."""

    stage: Stage
    journal: Journal
    serve: Process

    def guests(self) -> list[int]:
        """The processes of its model, in their order."""
        said = [json.loads(line) for line in self.serve.lines if line.startswith("{")]
        return [line["pid"] for line in said if line["event"] == "model process started"]

    async def guest(self, number: int) -> int:
        await until(lambda: len(self.guests()) > number, f"process {number} of the model", 120)
        return self.guests()[number]

    async def sessions(self) -> list[ModelSession]:
        async with self.stage.stores() as stores:
            return await stores.sessions.sessions("default")

    async def more_slots(self, count: int) -> None:
        """Each steady endpoint is called so many times more."""
        before = len(self.journal.entries())
        await until(lambda: len(self.journal.entries()) >= before + count * STEADY, "slots go on", 120)

    async def ledger(self) -> Ledger:
        async with self.stage.stores() as stores:
            return await read_ledger(stores, self.journal.entries())


@pytest.fixture
def silent_model() -> Iterator[ModelServer]:
    with serving_models(Reply(silent=True)) as server:
        yield server


@asynccontextmanager
async def house(stage: Stage, journal: Journal, processes: Processes, model: ModelServer) -> AsyncIterator[House]:
    env = stage.env(
        port=0,
        model="openai:small",
        model_url=model.model_url("openai"),
        model_key="none",
        model_sessions_per_hour=1_000,
        shutdown_grace="2s",
        lease_margin="30s",
    )
    serve = processes.start("serve", env=env)
    await asyncio.to_thread(serve.wait_for, "scheduler started", 120)
    async with stage.stores() as stores:
        due_at = await stores.schedule.now() + timedelta(seconds=1)
        steady = [calling(journal.url(f"/{n}"), due_at, EVERY_MS, TIMEOUT_MS) for n in range(STEADY)]
        failing = journal.url("/failing?status=500")  # so that a model is due at every further failure
        watched = calling(
            failing, due_at, 1_000, TIMEOUT_MS, name="watched", description="look at it", max_interval_ms=1_000
        )
        await fill(stores, [*steady, watched])
    yield House(stage, journal, serve)


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def assert_nothing_was_missed(ledger: Ledger) -> None:
    steady = {each.id for each in ledger.endpoints.values() if each.name != "watched"}
    runs = [run for run in ledger.runs if run.endpoint_id in steady]
    assert {(run.status, run.attempt, run.source) for run in runs} == {(RunStatus.SUCCESS, 1, "baseline-interval")}
    assert ledger.lost() == []


async def test_killed_model_process_fails_its_session_and_is_back_while_slots_go_on(
    stage: Stage, journal: Journal, processes: Processes, silent_model: ModelServer, figures: Figures
) -> None:
    async with house(stage, journal, processes, silent_model) as lived_in:
        first = await lived_in.guest(0)
        await until(lambda: silent_model.requests, "a session is under way", 120)
        figures(model_process_kb=resident_kb(first), serve_kb=resident_kb(lived_in.serve.pid))
        os.kill(first, signal.SIGKILL)
        await until_true(lived_in.sessions, "its session is kept", 120)
        second = await lived_in.guest(1)
        await lived_in.more_slots(5)
        code = await asyncio.to_thread(lived_in.serve.terminate)
        (lost, *_) = await lived_in.sessions()

    assert (code, is_there(second)) == (0, False)
    assert lost.detail.note == "the model process exited (signal 9) during the session"
    assert_nothing_was_missed(await lived_in.ledger())


async def test_model_process_that_stands_still_holds_up_neither_slots_nor_the_end(
    stage: Stage, journal: Journal, processes: Processes, silent_model: ModelServer, figures: Figures, pace: Pace
) -> None:
    async with house(stage, journal, processes, silent_model) as lived_in:
        guest = await lived_in.guest(0)
        await until(lambda: silent_model.requests, "a session is under way", 120)
        os.kill(guest, signal.SIGSTOP)
        await lived_in.more_slots(10)
        told_at = time.monotonic()
        code = await asyncio.to_thread(lived_in.serve.terminate)
        ended_s = time.monotonic() - told_at

    figures(ended_after_s=round(ended_s, 2))
    assert (code, is_there(guest)) == (0, False)
    assert ended_s <= 2 + pace.fair(2)
    assert_nothing_was_missed(await lived_in.ledger())


@pytest.mark.parametrize("stands_still", [False, True], ids=["at work", "standing still"])
async def test_model_process_does_not_outlive_its_parent(
    sqlite_stage: Stage, journal: Journal, processes: Processes, silent_model: ModelServer, stands_still: bool
) -> None:
    async with house(sqlite_stage, journal, processes, silent_model) as lived_in:
        guest = await lived_in.guest(0)
        if stands_still:
            os.kill(guest, signal.SIGSTOP)
        lived_in.serve.kill()

        await until(lambda: not is_there(guest), "it is gone too")


def resident_kb(pid: int) -> int:
    (line,) = [each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("VmRSS")]
    return int(line.split()[1])
