"""Run a configuration in a test: an installation in memory, the production workers, and a clock that moves by hand.

The scheduler runs as in production, on an event loop whose time passes only in `advance`. The other workers do their
unit of work whenever something happened, or when their next work is due. The rule that must not break: the same
document, script and calls give the same runs.
"""

import asyncio
from asyncio import Event, Future, Runner, Task
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, Self, TypeVar

from mainspring.documents.apply import Report, apply_files
from mainspring.documents.plan import Options
from mainspring.documents.references import local
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import StoredEvent
from mainspring.domain.kinds.command_policy import parse_commands
from mainspring.domain.notify.subscription import DestinationKind
from mainspring.domain.run import Body, Run
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.ping import Ping, PingMeaning
from mainspring.event_feed import Feed
from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.documents import live_endpoints
from mainspring.operations.endpoints import find_endpoint
from mainspring.operations.executions import find_execution, send_event
from mainspring.operations.pings import PingIntake, show_ping_url
from mainspring.operations.preview import load_preview
from mainspring.operations.workflows import start_execution
from mainspring.ports.records import RunFilter
from mainspring.ports.stores import Stores
from mainspring.simulation.loop import SimulatedLoop
from mainspring.simulation.quiet import quiet
from mainspring.simulation.vault import NoVault
from mainspring.simulation.world import IN_MEMORY, SeededIds, SimulatedClock
from mainspring.testing.scripts import PlayedTargets, Script, ScriptedMailbox, ScriptedModel, SentMessage, TargetCall
from mainspring.views.endpoint import EndpointView, load_endpoint
from mainspring.views.execution import ExecutionView, load_execution
from mainspring.views.run import RunDetailView
from mainspring.views.why import load_decision
from mainspring.wiring.stores import open_stores
from mainspring.wiring.workflows import OperationTriggerActions
from mainspring.workers.alerts import AlertWriter
from mainspring.workers.analyst import Analyst, AnalystOptions
from mainspring.workers.delivery import DeliverySender
from mainspring.workers.dispatcher import Dispatcher, DispatcherOptions
from mainspring.workers.effects.handlers import handlers_of
from mainspring.workers.notifier import Notifier, NotifierOptions
from mainspring.workers.planner import Planner
from mainspring.workers.presence import beat_once
from mainspring.workers.scheduler import Scheduler, SchedulerOptions
from mainspring.workers.ticker import Ticker, TickerOptions
from mainspring.workers.triggers import TriggerWorker

T = TypeVar("T")

STARTS_AT = datetime(2030, 1, 7, 9, tzinfo=UTC)  # a Monday morning
TENANT, WORKER = "default", "play"
LOOK_S = 60.0  # how often workers check although nothing happened: the end of a cooldown is not an event
TICK_S = 1.0
MARGIN = timedelta(milliseconds=1)  # work that is due at the very end of a span is done
SETTLE_TURNS = 200  # turns of the event loop, each a step of every worker that has work
PAGE = 1_000


class Play:
    """An installation for one test. Use it as a context manager, or by the fixture `mainspring`.

    `environment` resolves `${env:NAME}` in documents, `commands` is MAINSPRING_COMMANDS, `model` answers sessions.
    """

    def __init__(
        self,
        document: str = "",
        *,
        starts_at: datetime = STARTS_AT,
        environment: Mapping[str, str] | None = None,
        commands: str = "",
        model: ScriptedModel | None = None,
        seed: int = 1,
    ) -> None:
        self._environment = dict(environment or {})
        self._commands = parse_commands(commands)
        self._model = model
        self._clock = SimulatedClock(starts_at)
        self._until = starts_at
        self._ids = SeededIds(seed)
        self._names: dict[str, str] = {}
        self._targets = PlayedTargets(self._clock, self._names)
        self._mailbox = ScriptedMailbox(self._clock)
        self._quiet = quiet()
        self._quiet.__enter__()
        self._runner = Runner(loop_factory=_InlineLoop)
        self._opened = AsyncExitStack()
        self._tasks: list[Task[None]] = []
        self._wakes: list[Event] = []
        self._run(self._open())
        if document:
            try:
                self.apply(document)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            self._runner.run(self._close())
            self._runner.close()
        finally:
            self._quiet.__exit__()

    @property
    def now(self) -> datetime:
        return self._until

    @property
    def messages(self) -> list[SentMessage]:
        """Emails and other messages of alerts and workflows so far, in order."""
        return list(self._mailbox.messages)

    def apply(self, document: str, *, prune: bool = False) -> Report:
        """Applies a document as `mainspring apply` does. Raises InvalidDocument with every fault."""
        options = Options(local(self._environment), self._messengers, prune=prune)
        return self._act(apply_files(self._desk, [("test", document.encode())], options))

    def answer(self, target: str, *answers: Script) -> None:
        """Scripts a target, by the name of its endpoint or the beginning of its URL.

        Answers are used in order, and the last one is repeated. A function gets the call and returns an answer.
        """
        assert answers, "give at least one answer"
        self._targets.script(target, answers)

    def advance(self, duration: str | timedelta) -> None:
        """Lets time pass: `90s`, `1h30m`, or a timedelta. Everything that becomes due meanwhile is done.

        Workers start with the first call, so that a document is applied and targets are scripted in any order.
        """
        ms = duration // timedelta(milliseconds=1) if isinstance(duration, timedelta) else None
        span_ms = parse_duration_ms(duration, field="duration", min_ms=0) if ms is None else ms

        async def pass_time() -> None:
            if not self._tasks:
                self._start_workers()
            await self._settle()
            self._until += timedelta(milliseconds=span_ms)
            await asyncio.sleep((self._until + MARGIN - self._clock.now()).total_seconds())
            await self._settle()

        self._run(pass_time())

    def advance_to(self, at: datetime) -> None:
        self.advance(max(at - self.now, timedelta(0)))

    def ping(
        self, name: str, said: str = "success", *, exit_code: int | None = None, run: str = "", log: str = ""
    ) -> None:
        """Pings a heartbeat at its URL: `success`, `start` or `fail`, or with an exit code."""
        body = Body(log.encode(), "text/plain", False, len(log.encode())) if log else None

        async def send() -> None:
            address = await show_ping_url(self._desk, name)
            assert address.token is not None, f"{name!r} is not a heartbeat"
            await PingIntake(self._desk.stores).take(address.token, Ping(PingMeaning(said), exit_code, run, body))

        self._act(send())

    def calls(self, target: str = "") -> list[TargetCall]:
        """Calls so far, in order: all, those of an endpoint, or those to URLs with this beginning."""
        return [each for each in self._targets.calls if each.endpoint == target or each.url.startswith(target)]

    def runs(self, name: str) -> list[RunDetailView]:
        """The runs of an endpoint, oldest first."""

        async def read() -> list[RunDetailView]:
            stores = self._desk.stores
            endpoint = await find_endpoint(self._desk, name)
            found: list[Run] = []
            before = None
            while page := await stores.runs.runs(TENANT, RunFilter(endpoint.id, before_id=before, limit=PAGE)):
                found, before = found + page, page[-1].id
            return [RunDetailView.of(run, name, await stores.runs.body(TENANT, run.id)) for run in reversed(found)]

        return self._run(read())

    def statuses(self, name: str) -> list[str]:
        """The status of every run, oldest first: `success`, `failure`, `missed`, ..."""
        return [run.status for run in self.runs(name)]

    def endpoint(self, name: str) -> EndpointView:
        """The endpoint as all interfaces show it: status, hints, failures, next run."""

        async def read() -> EndpointView:
            return await load_endpoint(self._desk, await find_endpoint(self._desk, name))

        return self._run(read())

    def why(self, name: str) -> list[str]:
        """The output of `mainspring why`."""

        async def read() -> list[str]:
            await beat_once(self._desk.stores.presence, WORKER, {"scheduler": 1})
            return list((await load_decision(self._desk, await find_endpoint(self._desk, name))).sentences)

        return self._run(read())

    def next_runs(self, name: str, count: int = 5) -> list[datetime]:
        """The runs that `mainspring next` shows."""

        async def read() -> list[datetime]:
            endpoint = await find_endpoint(self._desk, name)
            decisions = await load_preview(self._desk, endpoint, self._clock.now(), count)
            return [each.next_run_at for each in decisions]

        return self._run(read())

    def events(self, type_: str = "") -> list[StoredEvent]:
        """Everything that happened, in order; with a type such as `hint.created`, only that."""

        async def read() -> list[StoredEvent]:
            found: list[StoredEvent] = []
            while page := await self._desk.stores.runs.events_after(found[-1].cursor if found else "", TENANT, PAGE):
                found.extend(page)
            return [each for each in found if type_ in ("", each.event.type)]

        return self._run(read())

    def start(self, workflow: str, given: Mapping[str, object] | None = None, *, correlation: str = "") -> str:
        """Starts an execution and returns its id."""
        return self._act(start_execution(self._desk, workflow, given or {}, correlation=correlation)).state.id

    def send_event(self, to: str, type_: str, data: Mapping[str, object] | None = None) -> None:
        """Sends an event to an execution, by its id or correlation key."""
        self._act(send_event(self._desk, to, type_, data or {}))

    def execution(self, execution_id: str) -> ExecutionView:
        """An execution: status, step, outcome."""

        async def read() -> ExecutionView:
            return await load_execution(self._desk, await find_execution(self._desk, execution_id))

        return self._run(read())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def _act(self, work: Coroutine[Any, Any, T]) -> T:
        """An action of a user: workers process it before time passes."""

        async def act() -> T:
            result = await work
            for endpoint in await live_endpoints(self._desk):
                self._names[endpoint.id] = endpoint.name
            if self._tasks:
                await self._settle()
            return result

        return self._run(act())

    async def _open(self) -> None:
        stores = await self._opened.enter_async_context(
            open_stores(IN_MEMORY, clock=self._clock, ids=self._ids, inline=True)
        )
        await stores.endpoints.put_tenant(Tenant(TENANT, TENANT))
        self._desk = Desk(stores, TENANT, "test", self._ids, NoVault(), CRON, commands=self._commands, worker=WORKER)
        self._messengers = {DestinationKind.MAIL: self._mailbox, DestinationKind.APPRISE: self._mailbox}

    def _start_workers(self) -> None:
        stores = self._desk.stores
        self._tasks = [asyncio.create_task(self._schedule(stores))]
        for work, pause_s in self._workers(stores):
            wake = Event()
            self._wakes.append(wake)
            self._tasks.append(asyncio.create_task(self._keep(work, pause_s, wake)))

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._opened.aclose()

    async def _schedule(self, stores: Stores) -> None:
        loop = asyncio.get_running_loop()
        wake = Event()
        self._wakes.append(wake)
        store: Any = _SchedulePort(stores.schedule, wake, self._stir)
        options = SchedulerOptions(WORKER, grace_s=0.0, tick_s=LOOK_S)
        await Scheduler(store, self._targets, options, Metrics(), lambda: round(loop.time() * 1e9)).run()

    def _workers(self, stores: Stores) -> list[tuple[Callable[[], Awaitable[object]], Callable[[], Awaitable[float]]]]:
        """The units of work besides the scheduler's, each with the longest time between two."""
        metrics, loop = Metrics(), asyncio.get_running_loop()
        planner = Planner(stores.planner, metrics, WORKER)
        triggers = TriggerWorker(stores, OperationTriggerActions(self._desk), WORKER)
        ticker = Ticker(stores.flows, TickerOptions(WORKER, lock_ttl_ms=10**9), metrics)
        handlers = handlers_of(stores, self._targets, self._mailbox, self._ids, NoVault(), WORKER, frozenset())
        dispatcher = Dispatcher(stores.flows.effects, handlers, DispatcherOptions(WORKER), metrics)
        sender = DeliverySender(stores.endpoints, self._targets, self._messengers, NoVault(), self._ids)
        alerts = AlertWriter(stores, self._ids, int(LOOK_S * 1_000), "")
        notifier = Notifier(stores, Feed(stores.runs), sender, alerts, NotifierOptions(WORKER), metrics)

        async def notify() -> bool:
            return await notifier.run_once(self._clock.now()) > 0

        async def rest() -> float:
            return LOOK_S

        async def until_tick() -> float:
            views = await stores.flows.partitions.views(self._clock.now())
            ready = [each.ready_at for each in views if each.ready_at is not None]
            left = min(ready, default=self._clock.now() + timedelta(seconds=LOOK_S)) - self._clock.now()
            return min(max(left.total_seconds(), TICK_S), LOOK_S)

        async def until_delivery() -> float:
            due_at = await stores.outbox.next_attempt_at()
            left = LOOK_S if due_at is None else (due_at - self._clock.now()).total_seconds()
            return min(max(left, TICK_S), LOOK_S)

        workers: list[tuple[Callable[[], Awaitable[object]], Callable[[], Awaitable[float]]]] = [
            (planner.run_once, rest),
            (triggers.run_once, rest),
            (ticker.run_once, until_tick),
            (dispatcher.run_once, rest),
            (notify, until_delivery),
        ]
        if self._model is not None:
            options = AnalystOptions(WORKER)
            analyst = Analyst(stores, self._model, NoVault(), self._ids, CRON, options, loop.time)
            workers.append((analyst.run_once, rest))
        return workers

    async def _keep(
        self, work: Callable[[], Awaitable[object]], pause_s: Callable[[], Awaitable[float]], wake: Event
    ) -> None:
        while True:
            wake.clear()
            if await work():
                self._stir()
                continue
            await _wait(wake, await pause_s())

    def _stir(self) -> None:
        """Something happened: every worker checks whether that concerns it."""
        for wake in self._wakes:
            wake.set()

    async def _settle(self) -> None:
        """Lets every worker do what is due now. Time does not pass."""
        self._stir()
        for _ in range(SETTLE_TURNS):
            await asyncio.sleep(0)
        for task in self._tasks:
            if task.done():
                task.result()  # raises: a worker never ends on its own


class _InlineLoop(SimulatedLoop):
    """Runs on the loop what others run in threads: a thread takes real time, in which simulated time would leap."""

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "Future[T]":  # type: ignore[override]  # the executor is not used
        done: Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as fault:  # as a thread would
            done.set_exception(fault)
        return done


class _SchedulePort:
    """The scheduler's port: changes and results wake the workers, without the file being checked ten times a second."""

    pace_s = 0.0
    breaks = 0

    def __init__(self, port: object, wake: Event, stir: Callable[[], None]) -> None:
        self._port = port
        self._wake = wake
        self._stir = stir

    async def wait_for_change(self, timeout_s: float) -> bool:
        return await _wait(self._wake, timeout_s)

    async def finish(self, batch: Sequence[object]) -> object:
        report = await self._port.finish(batch)  # type: ignore[attr-defined]  # the scheduler's port
        self._stir()
        return report

    def __getattr__(self, name: str) -> object:
        return getattr(self._port, name)


async def _wait(wake: Event, timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            await wake.wait()
    except TimeoutError:
        return False
    wake.clear()
    return True
