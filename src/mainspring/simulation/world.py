"""Run a scenario: the production workers on a simulated clock, with scripted targets, against a real database.

Scheduler, planner, governor and store are those of production, started by their `run`. Only three things differ: the
clock, the targets, and randomness, which comes from the seed. The rule that must not break: the same scenario and seed
give the same trace, byte for byte, on SQLite and on PostgreSQL.
"""

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from mainspring.domain.advice.authority import advise_pause
from mainspring.domain.endpoint import Endpoint, EndpointConfig, Tenant, with_inputs
from mainspring.domain.errors import MainspringError, StoreUnavailable
from mainspring.domain.instant import to_us
from mainspring.domain.rules.judge import Decisions, JudgedPage
from mainspring.domain.run import Body, HttpAction, Outcome, Request, RunStatus
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.finish import Finished
from mainspring.observe import Metrics
from mainspring.operations import endpoints as operations
from mainspring.operations.context import Desk
from mainspring.operations.rules import RuleOwner, add_rules, find_owner
from mainspring.ports.schedule import FinishReport
from mainspring.ports.stores import Stores
from mainspring.simulation.loop import PlayedTime
from mainspring.simulation.quiet import quiet
from mainspring.simulation.scenario import Scenario, ScenarioTarget, milliseconds
from mainspring.simulation.targets import answer_at
from mainspring.simulation.trace import Trace, read_trace, until_shown
from mainspring.simulation.vault import NoVault
from mainspring.wiring.stores import open_stores
from mainspring.workers.planner import Planner
from mainspring.workers.scheduler import Scheduler, SchedulerOptions

T = TypeVar("T")

IN_MEMORY = "sqlite:///:memory:"
TENANT, JOB = "default", "simulation"
CHANGING = frozenset({"change_endpoints", "add_endpoint", "put_tenant", "commit_page", "release", "expire_hints"})


def play(scenario: Scenario, seed: int = 1, url: str = IN_MEMORY, played: PlayedTime | None = None) -> Trace:
    """Runs the whole scenario and returns its trace. `url` may name an empty PostgreSQL database instead.

    `played` reports the progress to another thread.
    """
    time = played or PlayedTime()
    with quiet(), asyncio.Runner(loop_factory=time.new_loop) as runner:
        return runner.run(_play(scenario, seed, url))


async def _play(scenario: Scenario, seed: int, url: str) -> Trace:
    world = World(scenario, seed)
    async with world.open(url) as stores:
        desk = Desk(stores, TENANT, "simulation", world.ids, NoVault(), CRON)
        await stores.endpoints.put_tenant(Tenant(TENANT, TENANT))
        await world.set_up(desk)
        tasks = [asyncio.create_task(each) for each in world.background_tasks(desk)]
        await asyncio.sleep(scenario.minutes * 60)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if world.fault is not None:
            raise world.fault
        return await read_trace(scenario, seed, stores, world.endpoints, world.clock.now())


class SimulatedClock:
    """The database clock: the loop's time plus all jumps."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        elapsed_us = round(asyncio.get_running_loop().time() * 1_000_000)
        return self._start + timedelta(microseconds=elapsed_us) + self.ahead

    def minute(self) -> float:
        return asyncio.get_running_loop().time() / 60


class SeededIds:
    """Ids that sort by time, like the real ones, and are the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._count = count(1)

    def new(self, prefix: str, now: datetime) -> str:
        return f"{prefix}_{to_us(now) // 1000:012x}{next(self._count) & 0xFFFF:04x}{self._random.getrandbits(64):016x}"


class World:
    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        self.clock = SimulatedClock(scenario.start)
        self.ids = SeededIds(seed)
        self.endpoints: dict[str, Endpoint] = {}
        self._stores: Stores | None = None
        self._changed: list[asyncio.Event] = []
        self._finished: list[asyncio.Event] = []
        self._unjudged = 0
        self.fault: StoreUnavailable | None = None  # of a real database; a trace affected by it is not the scenario's

    @asynccontextmanager
    async def open(self, url: str) -> AsyncIterator[Stores]:
        if url.startswith("sqlite"):
            async with open_stores(url, clock=self.clock, ids=self.ids, inline=True) as stores:
                self._stores = stores
                yield self.lend(ProcessLife())
        else:
            fixed = _HandedClock(self.clock)
            async with RealTimeThread() as elsewhere:
                opened = open_stores(url, clock=fixed, ids=self.ids)
                stores = elsewhere.run(opened.__aenter__())
                try:
                    self._stores = _wrapped(stores, lambda port: _Remote(port, elsewhere.run, fixed, self))
                    yield self.lend(ProcessLife())
                finally:
                    elsewhere.run(opened.__aexit__(None, None, None))

    def lend(self, life: "ProcessLife") -> Stores:
        """The stores of one process: they fail once it is dead, and notify other processes of changes."""
        assert self._stores is not None
        changed, finished = asyncio.Event(), asyncio.Event()
        self._changed.append(changed)
        self._finished.append(finished)
        return _wrapped(self._stores, lambda port: _ProcessPort(port, self, life, changed, finished))

    async def set_up(self, desk: Desk) -> None:
        """Creates the job, its endpoints and rules, as a user would."""
        for entry, target in self.scenario.endpoints.items():
            for name in self.scenario.names_of(entry):
                endpoint = await operations.add_endpoint(desk, _config(name, target))
                if target.asleep:
                    await operations.pause_endpoint(
                        desk, name, lambda now: None, "asleep until woken", advice_may_resume=True
                    )
                self.endpoints[endpoint.id] = endpoint
        if self.has_rules:
            await self._add_rules(desk, await find_owner(desk, None, JOB))

    async def _add_rules(self, desk: Desk, job: RuleOwner) -> None:
        """Reads the job once: a thousand endpoints have a thousand siblings each."""
        members = {member.name: member for member in job.members}
        for entry, target in self.scenario.endpoints.items():
            for name in self.scenario.names_of(entry) if target.rules else ():
                await add_rules(desk, replace(job, endpoint=members[name]), target.rules)
        if self.scenario.rules:
            await add_rules(desk, job, self.scenario.rules)

    def background_tasks(self, desk: Desk) -> list[Coroutine[object, object, None]]:
        """Everything that runs at the same time."""
        restarts = self.scenario.restarts
        going: list[Coroutine[object, object, None]] = []
        for kind in ("scheduler", "planner"):
            lasting = restarts if restarts is not None and restarts.worker == kind else None
            going.append(self._live(kind, lasting is not None))
        going.extend(self._jump(jump.at, milliseconds(jump.by, "jumps.by")) for jump in self.scenario.jumps)
        if self.scenario.hostile is not None:
            going.append(self._act_at_random(desk, milliseconds(self.scenario.hostile.every, "hostile.every")))
        return going

    def wake_waiting(self, name: str, result: object) -> None:
        """Wakes the workers that wait for the result of a store method."""
        if name in CHANGING:
            for event in self._changed:
                event.set()
        if name == "finish":
            self._unjudged += len(cast(FinishReport, result).recorded)
            for event in self._finished:
                event.set()

    async def until_visible(self, run_ids: Sequence[str]) -> None:
        """Waits until the events of these runs are readable, which PostgreSQL may delay. Takes no simulated time."""
        if not run_ids or self._stores is None or not isinstance(self._stores.runs, _Remote):
            return
        latest = self._stores.runs.latest_events
        try:
            await until_shown(latest, lambda event: event.run_id in run_ids)
        except StoreUnavailable as fault:
            self.fault = self.fault or fault

    def has_unjudged(self) -> bool:
        return self._unjudged > 0 and self.has_rules

    def judged(self, page: JudgedPage) -> None:
        self._unjudged -= len(page.runs)

    @property
    def has_rules(self) -> bool:
        return bool(self.scenario.rules) or any(target.rules for target in self.scenario.endpoints.values())

    async def _live(self, kind: str, dies: bool) -> None:
        """A worker's process, restarted each time the scenario kills it."""
        for number in count(1):
            life = ProcessLife()
            stores = self.lend(life)
            worker = self._worker(kind, stores, number)
            task = asyncio.create_task(worker.run(), name=f"{kind}-{number}")
            try:
                if not dies:
                    await task
                    return
                await self._until_killed()
            finally:
                life.is_over = True
                task.cancel()
                with suppress(asyncio.CancelledError, MainspringError):
                    await task
            assert self.scenario.restarts is not None
            await asyncio.sleep(milliseconds(self.scenario.restarts.lasting, "restarts.lasting") / 1000)

    async def _until_killed(self) -> None:
        restarts = self.scenario.restarts
        assert restarts is not None
        every_s = milliseconds(restarts.every, "restarts.every") / 1000
        await asyncio.sleep(max(every_s, restarts.begin * 60 - asyncio.get_running_loop().time()))
        if restarts.to is not None and self.clock.minute() > restarts.to:
            await asyncio.Event().wait()

    def _worker(self, kind: str, stores: Stores, number: int) -> Scheduler | Planner:
        if kind == "planner":
            return Planner(stores.planner, Metrics(), f"planner-{number}")
        options = SchedulerOptions(
            worker=f"scheduler-{number}",
            places=self.scenario.places,
            per_tenant=self.scenario.places,
            per_host=self.scenario.per_host,
            lease_margin_ms=5_000,
            grace_s=0.0,
            # A worker that checks every five seconds soon notices a missed wake-up; a clock jump wakes no worker.
            tick_s=5.0 if self.scenario.jumps else 60.0,
        )
        loop = asyncio.get_running_loop()
        caller = ScriptedTargets(self)
        return Scheduler(stores.schedule, caller, options, Metrics(), lambda: round(loop.time() * 1e9))

    async def _jump(self, minute: float, by_ms: int) -> None:
        await asyncio.sleep(minute * 60)
        self.clock.ahead += timedelta(milliseconds=by_ms)

    async def _act_at_random(self, desk: Desk, every_ms: int) -> None:
        """Writes random hints, pauses and clears through the public operations; refusals are ignored."""
        chance = Random(f"{self.seed}-hostile")
        names = [endpoint.name for endpoint in self.endpoints.values()]
        while True:
            await asyncio.sleep(every_ms / 1000)
            with suppress(MainspringError):
                await _random_act(desk, chance, chance.choice(names))


class ProcessLife:
    """Whether a process is alive."""

    def __init__(self) -> None:
        self.is_over = False


class ScriptedTargets:
    """The targets of endpoints: respond by the curve, take simulated time, fail as scripted or at random."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._targets = {
            name: target
            for entry, target in world.scenario.endpoints.items()
            for name in world.scenario.names_of(entry)
        }

    async def call(self, request: Request) -> Outcome:
        world, scenario = self._world, self._world.scenario
        name = world.endpoints[request.endpoint_id].name
        target = self._targets[name]
        minute = world.clock.minute()
        # By the slot, not by the order of calls: two databases may return slots of the same time in another order.
        chance = Random(hashlib.sha256(f"{world.seed} {name} {to_us(request.slot_at)}".encode()).digest())
        answer = answer_at(scenario, target, minute, chance)
        timeout_ms = milliseconds(target.timeout, "timeout")
        if answer.status == 0 or answer.takes_ms > timeout_ms:
            await asyncio.sleep(timeout_ms / 1000)
            return Outcome(RunStatus.TIMEOUT, timeout_ms, None, "deadline", f"no response within {target.timeout}")
        took_ms = round(answer.takes_ms)
        await asyncio.sleep(took_ms / 1000)
        if answer.status >= 300:
            error = f"the target answered {answer.status}"
            return Outcome(RunStatus.FAILURE, took_ms, answer.status, "status", error, body=_body(answer.said))
        return Outcome(RunStatus.SUCCESS, took_ms, answer.status, body=_body(answer.said))

    async def aclose(self) -> None:
        """Does nothing: no connection is open."""


class RealTimeThread:
    """A thread with an event loop on real time, for a database that must be waited for.

    The caller blocks meanwhile, so a database takes no simulated time at all.
    """

    async def __aenter__(self) -> "RealTimeThread":
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="elsewhere", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *fault: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()


class _HandedClock:
    """The simulated time for another thread: it does not advance while the caller waits for that thread."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self.at = clock._start

    def now(self) -> datetime:
        return self.at

    def hand_over(self) -> None:
        self.at = self._clock.now()


class _Remote:
    """A port of a database in the other thread.

    If the database is slow or unavailable, the simulation ends with that error, never with a trace affected by a busy
    machine.
    """

    def __init__(self, port: object, run: Callable[[Awaitable[Any]], Any], clock: _HandedClock, world: World) -> None:
        self._port = port
        self._run = run
        self._clock = clock
        self._world = world

    def __getattr__(self, name: str) -> Callable[..., Awaitable[object]]:
        method = getattr(self._port, name)

        async def call(*args: object, **kwargs: object) -> object:
            self._clock.hand_over()
            try:
                return self._run(method(*args, **kwargs))
            except StoreUnavailable as fault:
                self._world.fault = self._world.fault or fault
                raise

        return call


class _ProcessPort:
    """A port as one process has it."""

    pace_s = 0.0  # simulated time passes for calls only
    breaks = 0  # a connection never breaks, so there are no strays to look for before each claim

    def __init__(
        self, port: object, world: World, life: ProcessLife, changed: asyncio.Event, finished: asyncio.Event
    ) -> None:
        self._port = port
        self._world = world
        self._life = life
        self._changed = changed
        self._finished = finished

    async def wait_for_change(self, timeout_s: float) -> bool:
        return await _wait(self._changed, timeout_s)

    async def wait_for_runs(self, timeout_s: float) -> None:
        """Waits for wake-ups only: nothing else can be recorded in between."""
        await self._finished.wait()
        self._finished.clear()

    async def finish(self, batch: Sequence[Finished]) -> FinishReport:
        """Makes recorded runs readable, and so judged, before any process continues."""
        self._check()
        report: FinishReport = await self._port.finish(batch)  # type: ignore[attr-defined]  # the scheduler's port
        await self._world.until_visible(report.recorded)
        self._world.wake_waiting("finish", report)
        return report

    async def next_page(self, limit: int) -> JudgedPage | None:
        self._check()
        if not self._world.has_unjudged():
            return None
        page: JudgedPage | None = await self._port.next_page(limit)  # type: ignore[attr-defined]  # the planner's port
        return page

    async def commit_page(self, page: JudgedPage, decisions: Decisions) -> bool:
        self._check()
        is_ours: bool = await self._port.commit_page(page, decisions)  # type: ignore[attr-defined]  # the same
        if is_ours:
            self._world.judged(page)
            self._world.wake_waiting("commit_page", is_ours)
        return is_ours

    def __getattr__(self, name: str) -> Callable[..., Awaitable[object]]:
        method = getattr(self._port, name)

        async def call(*args: object, **kwargs: object) -> object:
            self._check()
            result = await method(*args, **kwargs)
            self._world.wake_waiting(name, result)
            return result

        return call

    def _check(self) -> None:
        if self._life.is_over:
            raise StoreUnavailable("this process is dead")


async def _wait(event: asyncio.Event, timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True


def _wrapped(stores: Stores, wrap: Callable[[object], object]) -> Stores:
    return Stores(*(cast(Any, wrap(getattr(stores, name))) for name in Stores.__struct_fields__))


def _config(name: str, target: ScenarioTarget) -> EndpointConfig:
    def ms(text: str | None, field: str) -> int | None:
        return None if text is None else milliseconds(text, field)

    return with_inputs(
        EndpointConfig(name, HttpAction(f"http://{name}.target.test/"), job=JOB),
        {
            "description": target.description,
            "cron": target.cron,
            "every": ms(target.every, "every"),
            "timezone": target.tz,
            "timeout": milliseconds(target.timeout, "timeout"),
            "min_interval": ms(target.min, "min"),
            "max_interval": ms(target.max, "max"),
            "backoff": target.backoff,
            "misfire": target.misfire,
            "spread": target.spread,
        },
    )


def _body(said: dict[str, object]) -> Body:
    data = msgspec.json.encode(said)
    return Body(data, "application/json", False, len(data))


async def _random_act(desk: Desk, chance: Random, name: str) -> None:
    match chance.randrange(5):
        case 0:
            interval_ms = round(1_000 * 10 ** chance.uniform(-1, 5))
            ttl = timedelta(minutes=chance.uniform(-1, 3_000))
            await operations.put_interval_hint(desk, name, interval_ms, ttl, "hostile")
        case 1:
            after, ttl = timedelta(seconds=chance.uniform(-60, 7_200)), timedelta(minutes=chance.uniform(1, 90))
            await operations.put_one_shot_hint(desk, name, lambda now: now + after, ttl, "hostile")
        case 2:
            until = timedelta(seconds=chance.uniform(-10, 120))
            ids = [(await operations.find_endpoint(desk, name)).id]
            await desk.stores.endpoints.change_endpoints(
                desk.tenant_id, ids, lambda each, now: advise_pause(each, now + until, "hostile", now, "model", CRON)
            )
        case 3:
            await operations.resume_endpoint(desk, name)
        case _:
            await operations.clear_hints(desk, name)
