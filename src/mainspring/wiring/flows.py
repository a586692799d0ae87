"""The workers of workflows."""

from mainspring.observe import Metrics
from mainspring.operations.endpoints import Desk
from mainspring.outbound.checkpoints import is_signed
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.mail import Mailer
from mainspring.settings import Settings
from mainspring.workers.dispatcher import Dispatcher, DispatcherOptions
from mainspring.workers.errand import errands_of
from mainspring.workers.ticker import Ticker, options_of

__all__ = ["is_signed", "open_flows"]


def open_flows(
    settings: Settings, desk: Desk, caller: HttpCaller, metrics: Metrics, worker: str
) -> tuple[Ticker, Dispatcher]:
    """The ticker and the dispatcher of one process."""
    stores = desk.stores
    mailer = Mailer(settings.smtp_url, settings.mail_from, prefix="")
    errands = errands_of(stores, caller, mailer, desk.ids, worker, settings.allow_ports)
    sending = DispatcherOptions(
        worker,
        lease_ms=int(settings.lease_margin.total_seconds() * 1000),
        grace_s=settings.shutdown_grace.total_seconds(),
    )
    ticker = Ticker(stores.flows, options_of(settings, worker), metrics, desk.signer)
    return ticker, Dispatcher(stores.flows.effects, errands, sending, metrics)
