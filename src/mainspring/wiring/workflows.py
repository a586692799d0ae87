"""Assemble the workers of workflows."""

from collections.abc import Mapping
from importlib.metadata import entry_points
from inspect import iscoroutinefunction

import structlog
from msgspec.structs import replace

from mainspring.domain.errors import NotFound
from mainspring.observe import Metrics
from mainspring.operations.context import Desk
from mainspring.operations.executions import send_event
from mainspring.operations.workflows import StartRequest, start_executions
from mainspring.outbound.caller import KindCaller
from mainspring.outbound.checkpoints import is_signed
from mainspring.outbound.mail import Mailer
from mainspring.outbound.partition_lock import RedisLock
from mainspring.plugins import GROUP
from mainspring.settings import Settings
from mainspring.wiring.clock import SystemClock
from mainspring.workers.dispatcher import Dispatcher, DispatcherOptions
from mainspring.workers.effects.channel import ChannelHandler
from mainspring.workers.effects.handlers import EffectHandler, handlers_of
from mainspring.workers.ticker import Ticker, options_of
from mainspring.workers.triggers import TriggerWorker

__all__ = ["OperationTriggerActions", "is_signed", "open_channels", "open_workflow_workers"]

log = structlog.get_logger()


class OperationTriggerActions:
    """Performs the actions of triggers at the desk of their tenant, through the public operations."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def start(
        self, tenant_id: str, actor: str, workflow: str, given: Mapping[str, object], correlation: str, key: str
    ) -> bool:
        desk = replace(self._desk, tenant_id=tenant_id, actor=actor)
        (started,) = await start_executions(desk, workflow, [StartRequest(given, correlation, key)])
        return started.is_new

    async def send(
        self, tenant_id: str, actor: str, to: str, type_: str, data: Mapping[str, object], event_id: str
    ) -> bool:
        desk = replace(self._desk, tenant_id=tenant_id, actor=actor)
        try:
            _, new = await send_event(desk, to, type_, data, event_id=event_id)
        except NotFound:  # no execution runs under that key: nothing is sent
            return False
        return new > 0


def open_channels(taken: tuple[str, ...]) -> dict[str, EffectHandler]:
    """The channels of installed packages. A broken one is logged and does not prevent the start."""
    found: dict[str, EffectHandler] = {}
    for entry in entry_points(group=GROUP):
        try:
            if entry.name in taken or entry.name in found:
                raise ValueError(f"the name {entry.name!r} is taken; its package must choose another")
            channel = entry.load()()
            if not iscoroutinefunction(getattr(channel, "send", None)):
                raise TypeError(f"{entry.value} is not a channel: it has no `async def send(self, email)`")
        except Exception as fault:  # third-party code
            log.error("channel failed", channel=entry.name, fault=f"{type(fault).__name__}: {fault}")
            continue
        found[entry.name] = ChannelHandler(channel)
        log.info("channel opened", channel=entry.name)
    return found


async def open_workflow_workers(
    settings: Settings, desk: Desk, caller: KindCaller, metrics: Metrics, worker: str
) -> tuple[Ticker, Dispatcher, TriggerWorker]:
    """The ticker, the dispatcher and the trigger worker of one process."""
    stores = desk.stores
    mailer = Mailer(settings.smtp_url, settings.mail_from, prefix="", clock=SystemClock().now)
    errands = handlers_of(stores, caller, mailer, desk.ids, desk.vault, worker, settings.allow_ports)
    errands |= open_channels(tuple(errands))
    sending = DispatcherOptions(
        worker,
        lease_ms=int(settings.lease_margin.total_seconds() * 1000),
        grace_s=settings.shutdown_grace.total_seconds(),
    )
    lock = await _open_lock(settings, desk)
    options = options_of(settings, worker, await stores.clock.newest_stored_at())
    ticker = Ticker(stores.flows, options, metrics, desk.signer, lock)
    starter = TriggerWorker(stores, OperationTriggerActions(desk), worker)
    return ticker, Dispatcher(stores.flows.effects, errands, sending, metrics), starter


async def _open_lock(settings: Settings, desk: Desk) -> RedisLock | None:
    if settings.workflow_lock == "database":
        return None
    new = desk.ids.new("inst", await desk.stores.flows.workflows.now())
    return RedisLock(settings.workflow_lock, await desk.stores.upkeep.installation("installation_id", new))
