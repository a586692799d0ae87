"""The presence of a process: it beats, it frees what dead processes held, and it leaves."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from mainspring.domain.errors import StoreUnavailable
from mainspring.observe import Metrics
from mainspring.ports.presence import Freed, WorkerRow
from mainspring.workers import presence
from mainspring.workers.presence import present
from tests.harness.waiting import until


class ScriptedPresence:
    """Says what it is told to say, once, and writes down what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.faults: list[Exception] = []
        self.suspects: list[tuple[str, ...]] = []

    async def appear(self, worker: str) -> None:
        self.asked.append("appear")

    async def beat(self, worker: str, kinds: Mapping[str, int]) -> tuple[str, ...]:
        self.asked.append("beat")
        if self.faults:
            raise self.faults.pop(0)
        return self.suspects.pop(0) if self.suspects else ()

    async def free_lost(self, suspects: Sequence[str]) -> Freed:
        self.asked.append(f"free {','.join(suspects)}")
        return Freed(tuple(suspects), runs=3)

    async def leave(self, worker: str) -> None:
        self.asked.append("leave")
        if self.faults:
            raise self.faults.pop(0)

    async def alive(self) -> list[WorkerRow]:
        return []


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "BEAT_S", 0.001)


async def test_process_appears_beats_and_leaves() -> None:
    store = ScriptedPresence()

    async with present(store, "worker-1", {"scheduler": 10}):
        await until(lambda: store.asked.count("beat") >= 2, "it beats")

    assert (store.asked[0], store.asked[-1]) == ("appear", "leave")


async def test_what_silent_processes_held_is_freed_and_counted() -> None:
    store, metrics = ScriptedPresence(), Metrics()
    store.suspects = [("worker-2", "worker-3")]

    async with present(store, "worker-1", {"scheduler": 10}, metrics):
        await until(lambda: metrics.workers_lost == 2, "the others are freed")

    assert store.asked.count("free worker-2,worker-3") == 1


@pytest.mark.parametrize("fault", [StoreUnavailable("away"), ValueError("a row the database refuses")])
async def test_beat_that_fails_is_followed_by_another(fault: Exception) -> None:
    store = ScriptedPresence()
    store.faults = [fault]

    async with present(store, "worker-1", {"scheduler": 10}):
        await until(lambda: store.asked.count("beat") >= 2, "it goes on")


async def test_process_ends_although_the_database_is_away() -> None:
    store = ScriptedPresence()

    async with asyncio.timeout(5), present(store, "worker-1", {"scheduler": 10}):
        await until(lambda: "beat" in store.asked, "it beats")
        store.faults = [StoreUnavailable("away")] * 10_000

    assert store.asked[-1] == "leave"
