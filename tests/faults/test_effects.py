"""A hint, an edit, a pause, a resume, a clear, "run now": from another process, each takes effect within a second.

Right after a run, when idle, and during a run (then within a second of its end), with one scheduler and with two.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.schedule.changes import Change
from mainspring.operations import endpoints as operations
from mainspring.operations.context import Desk
from tests.faults.conftest import Figures
from tests.faults.random_kills import start_workers
from tests.faults.stage import Stage, calling, fill
from tests.harness.pace import Pace
from tests.harness.waiting import holds_for, until, until_true
from tests.peers.journal import Entry, Journal

EFFECT_S = 1.0
CALL_MS = 1_200  # how long a run takes that something happens during
SECOND_MS, HOUR_MS = 1_000, 3_600_000
Doing = Callable[[Desk, str], Awaitable[Change]]


async def nothing(desk: Desk, name: str) -> None:
    """Most acts need no preparation."""


async def relax(desk: Desk, name: str) -> Change:
    return await operations.put_interval_hint(desk, name, HOUR_MS)


async def pause(desk: Desk, name: str) -> Change:
    return await operations.pause_endpoint(desk, name, lambda now: None)


async def tighten(desk: Desk, name: str) -> Change:
    return await operations.put_interval_hint(desk, name, SECOND_MS)


async def once_soon(desk: Desk, name: str) -> Change:
    return await operations.put_one_shot_hint(desk, name, lambda now: now + timedelta(milliseconds=300))


async def shorten(desk: Desk, name: str) -> Change:
    return await operations.edit_endpoint(desk, name, lambda old: replace(old, interval_ms=SECOND_MS))


@dataclass(frozen=True)
class Act:
    """`due_s`: how soon the next slot is after it. `first` is done before the first run, `then` right after it."""

    do: Doing
    due_s: float
    interval_ms: int = HOUR_MS
    first: Callable[[Desk, str], Awaitable[object]] = nothing
    then: Callable[[Desk, str], Awaitable[object]] = nothing
    query: str = ""
    failures: int = 0


ACTS = {
    "interval hint": Act(tighten, 1.0),
    "one-shot hint": Act(once_soon, 0.3),
    "edit": Act(shorten, 1.0),
    "resume": Act(operations.resume_endpoint, 1.0, SECOND_MS, then=pause),
    "clear hints": Act(operations.clear_hints, 1.0, SECOND_MS, first=relax),
    "run now": Act(operations.run_endpoint, 0.0),
    "reset failures": Act(operations.reset_failures, 2.0, SECOND_MS, query="&status=500", failures=4),
}
MOMENTS = ("right after a run", "idle", "during a run")


class Trial:
    """One endpoint to which one thing is done at one moment, and when that shows."""

    def __init__(self, desk: Desk, journal: Journal, act: str, moment: str) -> None:
        self._desk, self._journal, self._act, self._moment = desk, journal, ACTS[act], moment
        self._path = f"/{act}/{moment}".replace(" ", "-")
        self.name = f"{act} {moment}"

    def endpoint(self, due_at: datetime) -> Endpoint:
        delay_ms = CALL_MS if self._moment == "during a run" else 0
        url = self._journal.url(f"{self._path}?delay_ms={delay_ms}{self._act.query}")
        fields: dict[str, object] = {"name": self.name, "failure_count": self._act.failures}
        return calling(url, due_at, self._act.interval_ms, timeout_ms=10_000, **fields)

    async def prepare(self) -> None:
        await self._act.first(self._desk, self.name)

    async def play(self) -> tuple[float, float]:
        """How long after the moment it counts from the next slot was, and how long after that the call arrived."""
        first, *_ = await until(self._arrivals, f"{self.name}: the first run")
        counts_from = first.at + CALL_MS / 1_000
        if self._moment != "during a run":
            await until_true(self._is_recorded, f"{self.name}: it is recorded")
        await self._act.then(self._desk, self.name)
        if self._moment != "during a run":  # on a busy machine another run may have come before it was paused
            await until_true(lambda: is_idle(self._desk, self.name), f"{self.name}: it rests")
        seen = len(self._arrivals())
        if self._moment == "idle":
            await holds_for(lambda: len(self._arrivals()) == seen, f"{self.name}: nothing happens by itself", 1.5)
        await self._act.do(self._desk, self.name)
        if self._moment != "during a run":
            counts_from = time.time()
        second = (await until(lambda: self._arrivals()[seen:], f"{self.name}: it takes effect"))[0]
        slot = datetime.fromisoformat(second.slot).timestamp()
        assert second.at >= slot, f"{self.name}: early"
        return slot - counts_from, second.at - max(slot, counts_from)

    def _arrivals(self) -> list[Entry]:
        return [entry for entry in self._journal.entries() if entry.path.startswith(self._path + "?")]

    async def _is_recorded(self) -> bool:
        found = await operations.find_endpoint(self._desk, self.name)
        return found.last_run_at is not None


@pytest.mark.parametrize(("kind", "schedulers"), [("sqlite", 1), ("postgres", 2)])
async def test_every_act_takes_effect_within_a_second(
    kind: str, schedulers: int, request: pytest.FixtureRequest, journal: Journal, figures: Figures, pace: Pace
) -> None:
    stage: Stage = request.getfixturevalue(f"{kind}_stage")
    async with stage.desk() as desk:
        with stage.nursery(lease_margin="30s") as nursery:
            await start_workers(nursery, schedulers)
            trials = [Trial(desk, journal, act, moment) for act in ACTS for moment in MOMENTS]
            due_at = await desk.stores.schedule.now() + timedelta(seconds=2)
            await fill(desk.stores, [trial.endpoint(due_at) for trial in trials])
            for trial in trials:
                await trial.prepare()
            shown = await asyncio.gather(*(trial.play() for trial in trials))

    late = {trial.name: round(after_slot, 3) for trial, (_, after_slot) in zip(trials, shown, strict=True)}
    slots = {trial.name: round(until_slot, 3) for trial, (until_slot, _) in zip(trials, shown, strict=True)}
    slowest = max(late, key=lambda name: late[name])
    figures(schedulers=schedulers, acts=len(trials), slowest_s=late[slowest], slowest=slowest)
    assert {name: seconds for name, seconds in late.items() if seconds > pace.fair(EFFECT_S)} == {}
    allowed = {f"{act} {moment}": ACTS[act].due_s for act in ACTS for moment in MOMENTS}
    assert {name: seconds for name, seconds in slots.items() if seconds > allowed[name] + pace.fair(0.1)} == {}


async def test_a_scheduler_with_nothing_else_to_do_is_woken(
    stage: Stage, journal: Journal, figures: Figures, pace: Pace
) -> None:
    """Nothing but the act itself can wake it: no other slot is due for an hour."""
    waits: list[float] = []
    async with stage.desk() as desk:
        with stage.nursery() as nursery:
            await start_workers(nursery, 1)
            due_at = await desk.stores.schedule.now() + timedelta(hours=1)
            await fill(desk.stores, [calling(journal.url("/"), due_at, HOUR_MS, name="alone")])
            for number in range(1, 11):
                await operations.run_endpoint(desk, "alone")
                asked_at = time.time()
                await until(lambda number=number: len(journal.entries()) == number, "it runs")  # type: ignore[misc]  # bound now
                waits.append(journal.entries()[-1].at - asked_at)
                await until_true(lambda: is_idle(desk, "alone"), "it is recorded")

    figures(runs=len(waits), slowest_s=round(max(waits), 3))
    assert max(waits) <= pace.fair(EFFECT_S)


async def is_idle(desk: Desk, name: str) -> bool:
    return not (await operations.find_endpoint(desk, name)).is_running


@pytest.mark.parametrize(("kind", "schedulers"), [("sqlite", 1), ("postgres", 2)])
async def test_a_pause_takes_effect_within_a_second(
    kind: str, schedulers: int, request: pytest.FixtureRequest, journal: Journal, figures: Figures, pace: Pace
) -> None:
    """On endpoints that run twice a second: one between runs, one during a run."""
    stage: Stage = request.getfixturevalue(f"{kind}_stage")
    async with stage.desk() as desk:
        with stage.nursery(lease_margin="30s") as nursery:
            await start_workers(nursery, schedulers)
            due_at = await desk.stores.schedule.now() + timedelta(seconds=1)
            urls = {"between": journal.url("/between"), "during": journal.url(f"/during?delay_ms={CALL_MS}")}
            await fill(
                desk.stores,
                [calling(url, due_at, 500, timeout_ms=10_000, name=name) for name, url in urls.items()],
            )
            await until(lambda: len({entry.path for entry in journal.entries()}) == 2, "both run")
            for name in urls:
                await pause(desk, name)
            paused_at = time.time()
            # Long enough for another run of either, had they not been paused.
            await holds_for(lambda: len(nursery.running) == schedulers, "the schedulers live on", 2.5)

    after = [entry.at - paused_at for entry in journal.entries() if entry.at > paused_at]
    figures(schedulers=schedulers, started_after_the_pause=len(after))
    assert len(after) <= 2
    assert max(after, default=0) <= pace.fair(EFFECT_S)
