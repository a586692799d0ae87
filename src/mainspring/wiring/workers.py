"""Assemble the workers of one process."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mainspring.operations.context import Desk
from mainspring.ports.planner import LanguageModel
from mainspring.ports.stores import Stores
from mainspring.ports.upkeep import LIMITS
from mainspring.settings import Settings
from mainspring.wiring.clock import SystemClock
from mainspring.wiring.desk import open_desk
from mainspring.wiring.files import file_limit, places_within
from mainspring.wiring.outbound import open_archive, open_caller, open_messengers

if TYPE_CHECKING:
    from mainspring.domain.notify.subscription import DestinationKind
    from mainspring.event_feed import Feed
    from mainspring.observe import Metrics
    from mainspring.outbound.caller import KindCaller
    from mainspring.ports.notifications import Messenger
    from mainspring.workers.archive import HistoryArchiver
    from mainspring.workers.notifier import Notifier
    from mainspring.workers.supervisor import Worker


class Running(Struct, frozen=True):
    """The workers of one process and what its interfaces need from them."""

    workers: tuple["Worker", ...]
    desk: Desk
    caller: "KindCaller"
    metrics: "Metrics"
    models: list[LanguageModel]  # one, or none
    places: int

    @property
    def stores(self) -> Stores:
        return self.desk.stores

    async def supervise(
        self,
        *others: "Worker",
        notices: "NotificationWorkers | None" = None,
        last_act: Callable[[], None] = lambda: None,
    ) -> None:
        """Works, with a notifier if there is one, until a signal arrives or a worker ends; drains before it returns.

        After a second signal only `last_act` runs.
        """
        from mainspring.workers.presence import present
        from mainspring.workers.supervisor import supervise

        kinds = {"scheduler": self.places}
        if notices is not None:
            kinds |= {"notifier": notices.places}
            others = (*others, notices.feed, notices.notifier)
        async with present(self.stores.presence, self.desk.worker, kinds, self.metrics):
            await supervise([*others, *self.workers], last_act)


@asynccontextmanager
async def open_scheduler(settings: Settings) -> AsyncIterator["Running"]:
    """The scheduler, the planner and the janitor of one process, ready to be supervised."""
    from mainspring.observe import Metrics
    from mainspring.operations.calendars import extend_calendars
    from mainspring.outbound.sandbox import ProcessSandbox
    from mainspring.wiring.planner import open_analyst, open_models
    from mainspring.wiring.workflows import open_workflow_workers
    from mainspring.workers.clock_watch import ClockWatch, ClockWatchOptions
    from mainspring.workers.database_watch import DatabaseWatch
    from mainspring.workers.janitor import Janitor, JanitorOptions
    from mainspring.workers.planner import Planner
    from mainspring.workers.scheduler import Scheduler, SchedulerOptions
    from mainspring.workers.workflow_watch import WorkflowWatch

    async with open_desk(settings, actor="system") as desk, open_models(settings) as models:
        stores, metrics = desk.stores, Metrics()
        caller = open_caller(settings, desk.vault, desk.stores)
        options = SchedulerOptions(
            worker=desk.worker,
            places=_places(settings),
            per_tenant=settings.concurrency_per_tenant,
            per_host=settings.concurrency_per_host,
            hosts=settings.host_limits,
            lease_margin_ms=int(settings.lease_margin.total_seconds() * 1000),
            grace_s=settings.shutdown_grace.total_seconds(),
        )
        upkeep = JanitorOptions(
            settings.zombie_after,
            settings.late_after,
            settings.keep_runs,
            settings.keep_bodies,
            settings.keep_events,
            settings.keep_runs_per_endpoint,
            settings.keep_done,
        )
        await stores.upkeep.put_installation(LIMITS, msgspec.json.encode(options.caps).decode())
        scheduler = Scheduler(stores.schedule, caller, options, metrics)
        flows = await open_workflow_workers(settings, desk, caller, metrics, desk.worker)
        try:
            planner = Planner(stores.planner, metrics, options.worker)
            watch = ClockWatch(
                stores.clock,
                SystemClock(),
                desk.ids,
                ClockWatchOptions(options.worker, options.lease_margin_ms),
                metrics,
            )
            sandbox = ProcessSandbox()
            flow_watch = WorkflowWatch(stores.flows, metrics)
            janitor = Janitor(
                stores.upkeep,
                stores.runs,
                upkeep,
                metrics,
                lambda: watch.is_steady,
                flow_watch,
                _archiver(settings, stores),
                partial(extend_calendars, replace(desk, sandbox=sandbox.unmetered())),
            )
            analysts = [open_analyst(settings, desk, model) for model in models]
            database = DatabaseWatch(stores.upkeep, scheduler.hold)
            workers: tuple[Worker, ...] = (scheduler, planner, *analysts, janitor, watch, database, sandbox, *flows)
            yield Running(workers, desk, caller, metrics, models, options.places)
        finally:
            await caller.aclose()


def _archiver(settings: Settings, stores: Stores) -> "HistoryArchiver | None":
    from mainspring.workers.archive import HistoryArchiver

    archive = open_archive(settings)
    return None if archive is None else HistoryArchiver(stores, archive)


def _places(settings: Settings) -> int:
    """The configured number, unless the process may not open enough files: a run without a socket would fail."""
    import structlog

    files = file_limit()
    places = min(settings.concurrency, places_within(files))
    if places < settings.concurrency:
        structlog.get_logger().warning("concurrency reduced", places=places, wanted=settings.concurrency, files=files)
    return places


class NotificationWorkers(Struct, frozen=True):
    """Notifications of one process: the feed, the notifier, and how messages are sent."""

    feed: "Feed"
    notifier: "Notifier"
    messengers: "dict[DestinationKind, Messenger]"
    places: int


@asynccontextmanager
async def open_notification_workers(
    settings: Settings, desk: Desk, metrics: "Metrics"
) -> AsyncIterator[NotificationWorkers]:
    """The notifier with its own caller: a hanging receiver takes no place from an endpoint's run."""
    from mainspring.event_feed import Feed
    from mainspring.operations.query_strings import seal_query_strings
    from mainspring.operations.webhooks import seal_addresses
    from mainspring.workers.alerts import AlertWriter
    from mainspring.workers.delivery import DeliverySender
    from mainspring.workers.notifier import Notifier, NotifierOptions

    await seal_addresses(desk)
    await seal_query_strings(desk)
    caller, messengers, stores = open_caller(settings, desk.vault, desk.stores), open_messengers(settings), desk.stores
    feed = Feed(stores.runs)
    late_ms = int(settings.late_after.total_seconds() * 1000)
    courier = DeliverySender(stores.endpoints, caller, messengers, desk.vault, desk.ids)
    alerter = AlertWriter(stores, desk.ids, late_ms, settings.public_url)
    options = NotifierOptions(desk.worker, keep=settings.keep_events)
    try:
        notifier = Notifier(stores, feed, courier, alerter, options, metrics)
        yield NotificationWorkers(feed, notifier, messengers, options.places)
    finally:
        await caller.aclose()


async def run_notifier(settings: Settings, on_ready: Callable[[], None]) -> None:
    """Runs a notifier alone, as a separate process, until a signal arrives."""
    from mainspring.observe import Metrics
    from mainspring.workers.database_watch import DatabaseWatch
    from mainspring.workers.presence import present
    from mainspring.workers.supervisor import supervise

    async with (
        open_desk(settings, actor="notifier") as desk,
        open_notification_workers(settings, desk, Metrics()) as notices,
    ):
        on_ready()
        async with present(desk.stores.presence, desk.worker, {"notifier": notices.places}):
            await supervise([notices.feed, notices.notifier, DatabaseWatch(desk.stores.upkeep)])
