"""The same workflows, events and answers give the same traces: on both databases, in one partition or four, through
tickers that are lost before and after they commit, and through a day without any ticker.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random

import pytest
from msgspec import Struct
from msgspec.structs import replace
from tests.stores.databases import empty
from tests.stores.flow_world import get, publish, send, start
from tests.stores.world import FixedClock
from tests.workflow.stage import generated, run_generated

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import StoreUnavailable
from mainspring.observe import Metrics
from mainspring.ports.stores import Stores
from mainspring.ports.workflows import EffectAnswer, Intent, Lead, Tell, TickStore, WorkflowStores, nothing_to_tell
from mainspring.wiring.stores import open_stores
from mainspring.workers.dispatcher import answer
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workflow.replay import SimulatedAnswer, SimulatedEvent
from mainspring.workflow.tick import TickRun

SHORT, LONG = 8, 1_000
AT_ONCE = 100  # executions of one database: more would only make each load longer
DAY = timedelta(days=1)
_numbers = count(1)


class Variant(Struct, frozen=True):
    store: str
    partitions: int = 1
    faulty: bool = False
    downtime: bool = False
    cap: int = 500
    format_: int = 1


class LosingTicks:
    """A store whose commits are lost now and then: before they are made, or before anybody hears of them."""

    def __init__(self, ticks: TickStore, random: Random) -> None:
        self._ticks, self._random = ticks, random
        self.lost = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._ticks, name)

    async def commit_tick(
        self, lead: Lead, turns: TickRun, wall: datetime, ttl_ms: int, tell: Tell = nothing_to_tell
    ) -> Lead | None:
        luck = self._random.random()
        after = None if luck < 0.1 else await self._ticks.commit_tick(lead, turns, wall, ttl_ms, tell)
        if luck < 0.2:
            self.lost += 1
            raise StoreUnavailable("lost")
        return after


class Stage:
    """Executions of generated workflows in one database, what happens to them, and who answers their effects."""

    def __init__(self, stores: Stores, clock: FixedClock, variant: Variant, seeds: Sequence[int]) -> None:
        self._stores, self._clock, self._variant, self._seeds = stores, clock, variant, seeds
        self._zero = clock.now()
        self._answers: dict[str, dict[str, list[SimulatedAnswer]]] = {}
        self._asked: dict[tuple[str, str], int] = defaultdict(int)
        self._coming: list[tuple[int, str, int, SimulatedEvent]] = []
        self.losing = LosingTicks(stores.flows.ticks, Random(len(seeds)))
        self._ticker = self._new_ticker()

    async def play(self) -> dict[str, str]:
        """The head of every execution's log, when nothing is left to happen."""
        await self._begin()
        if self._variant.downtime:
            await self._go_on(until=self._zero + timedelta(seconds=100))
            while self._coming:
                await self._happen()
            self._clock.at = self._zero + DAY
        await self._go_on()
        return {f"x{seed}": (await get(self._stores, f"x{seed}")).state.head for seed in self._seeds}

    async def _begin(self) -> None:
        for partition in range(self._variant.partitions):
            await self._stores.flows.workflows.clock(partition, 1_000)
        for seed in self._seeds:
            workflow, given, happenings, answers = generated(seed)
            name = f"x{seed}"
            await start(
                self._stores, await publish(self._stores, workflow), name, given, partitions=self._variant.partitions,
                format_=self._variant.format_,
            )  # fmt: skip
            self._answers[name] = answers
            self._coming += [(each.after_ms, name, number, each) for number, each in enumerate(happenings)]
        self._coming.sort(key=lambda each: each[:3])

    async def _go_on(self, until: datetime | None = None) -> None:
        while True:
            await self._tick()
            at = [self._zero + timedelta(milliseconds=each[0]) for each in self._coming[:1]] + await self._ticks_ahead()
            if not at or (until is not None and min(at) > until):
                return
            self._clock.at = max(self._clock.at, min(at))
            while self._coming and self._zero + timedelta(milliseconds=self._coming[0][0]) <= self._clock.at:
                await self._happen()

    async def _happen(self) -> None:
        at_ms, name, number, happening = self._coming.pop(0)
        self._clock.at = max(self._clock.at, self._zero + timedelta(milliseconds=at_ms))
        await send(self._stores, name, happening.type, f"{name}-{number}", **happening.data)

    async def _tick(self) -> None:
        effects = self._stores.flows.effects
        while True:
            try:
                while await self._ticker.run_once():
                    pass
            except StoreUnavailable:
                self._ticker = self._new_ticker()
                continue
            intents = await effects.claim_effects("d1", 1_000, 30_000)
            if not intents:
                return
            await effects.answer_effects([self._answer(intent) for intent in intents])

    def _answer(self, intent: Intent) -> EffectAnswer:
        place = (intent.execution_id, intent.step)
        given = self._answers[intent.execution_id].get(intent.step, [])
        number, self._asked[place] = self._asked[place], self._asked[place] + 1
        said = given[number] if number < len(given) else SimulatedAnswer()
        data = {"result": said.result} if said.type == "success" else {"code": said.code, "error": said.error}
        return EffectAnswer(intent, answer(intent, said.type, data))

    async def _ticks_ahead(self) -> list[datetime]:
        found = []
        for lead in self._ticker.leads.values():
            load = await self._stores.flows.ticks.load_tick(lead, 1)
            if load.next_tick is not None:
                found.append(lead.zero + timedelta(milliseconds=load.next_tick * lead.resolution_ms))
        return found

    def _new_ticker(self) -> Ticker:
        flows: WorkflowStores = self._stores.flows
        if self._variant.faulty:
            flows = replace(flows, ticks=self.losing)
        partitions = tuple(range(self._variant.partitions))
        options = TickerOptions("t1", partitions, self._variant.cap, lock_ttl_ms=0)
        return Ticker(flows, options, Metrics())


def has_effects(seed: int) -> bool:
    """Whether its trace hangs on when effects are answered: after downtime that is later."""
    return any(entry.action == "effect" for entry in run_generated(seed).entries)


@asynccontextmanager
async def opened(variant: Variant, folder: Path, postgres_url: str, clock: FixedClock) -> AsyncIterator[Stores]:
    url = postgres_url
    if variant.store == "sqlite":
        url = f"sqlite://{folder}/{next(_numbers)}.db"
    else:
        await empty(url)
    async with open_stores(url, clock=clock) as stores:
        await stores.endpoints.put_tenant(Tenant("default", "default"))
        yield stores


async def traces(variant: Variant, seeds: Iterable[int], folder: Path, postgres_url: str) -> tuple[dict[str, str], int]:
    heads: dict[str, str] = {}
    lost, left = 0, list(seeds)
    while left:
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        clock = FixedClock()
        async with opened(variant, folder, postgres_url, clock) as stores:
            stage = Stage(stores, clock, variant, some)
            heads |= await stage.play()
            lost += stage.losing.lost
    return heads, lost


async def test_traces_are_the_same_on_both_stores_in_any_partitions_and_through_faults(
    tmp_path: Path, shared_postgres_url: str, long_run: bool
) -> None:
    seeds = range(LONG if long_run else SHORT)
    expected, _ = await traces(Variant("sqlite"), seeds, tmp_path, shared_postgres_url)
    faults = 0
    for variant in (
        Variant("sqlite", 4, faulty=True),
        Variant("postgres", 1, faulty=True),
        Variant("postgres", 4),
    ):
        found, lost = await traces(variant, seeds, tmp_path, shared_postgres_url)
        faults += lost
        assert found == expected, variant
    print(f"{len(expected)} workflows, {faults} commits lost")
    assert len(set(expected.values())) == len(expected)
    assert faults > 0


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_day_of_downtime_changes_no_trace(
    store: str, tmp_path: Path, shared_postgres_url: str, long_run: bool
) -> None:
    """Those without effects: an effect that leaves a day later is answered a day later."""
    wanted = LONG if long_run else SHORT
    seeds = [seed for seed in range(wanted * 10) if not has_effects(seed)][:wanted]
    expected, _ = await traces(Variant(store), seeds, tmp_path, shared_postgres_url)
    found, _ = await traces(Variant(store, 4, downtime=True), seeds, tmp_path, shared_postgres_url)

    print(f"{len(expected)} workflows through a day without a ticker")
    assert found == expected


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_cap_changes_no_trace(store: str, tmp_path: Path, shared_postgres_url: str, long_run: bool) -> None:
    """One turn a tick for all of them, so that most turns are late; those without effects, as above."""
    wanted = LONG if long_run else SHORT
    seeds = [seed for seed in range(wanted * 10) if not has_effects(seed)][:wanted]
    idle, _ = await traces(Variant(store, format_=2), seeds, tmp_path, shared_postgres_url)
    busy, _ = await traces(Variant(store, format_=2, cap=1), seeds, tmp_path, shared_postgres_url)

    print(f"{len(idle)} workflows, one turn a tick")
    assert busy == idle


async def test_cap_changes_traces_of_the_first_format(tmp_path: Path, shared_postgres_url: str) -> None:
    """The negative control: a turn that had the tick in which it was taken was another one under load."""
    seeds = [seed for seed in range(SHORT * 10) if not has_effects(seed)][:SHORT]
    idle, _ = await traces(Variant("sqlite"), seeds, tmp_path, shared_postgres_url)
    busy, _ = await traces(Variant("sqlite", cap=1), seeds, tmp_path, shared_postgres_url)

    assert busy != idle
