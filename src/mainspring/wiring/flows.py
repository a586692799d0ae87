"""The workers of workflows."""

from collections.abc import Mapping

from msgspec.structs import replace

from mainspring.domain.errors import NotFound
from mainspring.observe import Metrics
from mainspring.operations.endpoints import Desk
from mainspring.operations.executions import send_event
from mainspring.operations.workflows import Wish, start_executions
from mainspring.outbound.checkpoints import is_signed
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.mail import Mailer
from mainspring.settings import Settings
from mainspring.workers.dispatcher import Dispatcher, DispatcherOptions
from mainspring.workers.errand import errands_of
from mainspring.workers.starter import Starter
from mainspring.workers.ticker import Ticker, options_of

__all__ = ["FlowClerk", "is_signed", "open_flows"]


class FlowClerk:
    """What triggers ask for, at the desk of their tenant: the operations that everybody uses."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def start(
        self, tenant_id: str, actor: str, workflow: str, given: Mapping[str, object], correlation: str, key: str
    ) -> bool:
        desk = replace(self._desk, tenant_id=tenant_id, actor=actor)
        (started,) = await start_executions(desk, workflow, [Wish(given, correlation, key)])
        return started.is_new

    async def send(
        self, tenant_id: str, actor: str, to: str, type_: str, data: Mapping[str, object], event_id: str
    ) -> bool:
        desk = replace(self._desk, tenant_id=tenant_id, actor=actor)
        try:
            _, new = await send_event(desk, to, type_, data, event_id=event_id)
        except NotFound:  # nobody runs under that key: nobody is told
            return False
        return new > 0


def open_flows(
    settings: Settings, desk: Desk, caller: HttpCaller, metrics: Metrics, worker: str
) -> tuple[Ticker, Dispatcher, Starter]:
    """The ticker, the dispatcher and the starter of one process."""
    stores = desk.stores
    mailer = Mailer(settings.smtp_url, settings.mail_from, prefix="")
    errands = errands_of(stores, caller, mailer, desk.ids, worker, settings.allow_ports)
    sending = DispatcherOptions(
        worker,
        lease_ms=int(settings.lease_margin.total_seconds() * 1000),
        grace_s=settings.shutdown_grace.total_seconds(),
    )
    ticker = Ticker(stores.flows, options_of(settings, worker), metrics, desk.signer)
    starter = Starter(stores, FlowClerk(desk), worker)
    return ticker, Dispatcher(stores.flows.effects, errands, sending, metrics), starter
