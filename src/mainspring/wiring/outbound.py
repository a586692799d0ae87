"""Assemble everything that leaves this process: calls, email, and identity providers."""

import socket
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from mainspring.domain.errors import StoreUnavailable
from mainspring.ports.outbound import Vault
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from mainspring.wiring.clock import SystemClock, worker_name

if TYPE_CHECKING:
    from mainspring.domain.notify.subscription import DestinationKind
    from mainspring.domain.run import Request
    from mainspring.outbound.caller import KindCaller
    from mainspring.outbound.oidc import OidcIssuer
    from mainspring.ports.archive import Archive
    from mainspring.ports.notifications import Messenger

KEPT_CONNECTIONS = 100


def open_archive(settings: Settings) -> "Archive | None":
    """The archive of MAINSPRING_ARCHIVE, if that is set."""
    from mainspring.outbound.parquet import ParquetArchive

    return None if settings.archive is None else ParquetArchive(settings.archive)


def open_caller(settings: Settings, vault: Vault, stores: Stores | None = None) -> "KindCaller":
    """The caller of every kind. With `stores`, connections are found there, and refused commands are audited."""
    from mainspring.outbound.caller import KindCaller, callers_of
    from mainspring.outbound.guard import AddressGuard
    from mainspring.outbound.http import HttpCaller
    from mainspring.outbound.kinds.dial import Dialer
    from mainspring.outbound.templates import TemplateRenderer

    on_refused = None if stores is None else partial(_record_refusal, stores)
    guard = AddressGuard(settings.allow_cidrs, own=_own_listeners(settings))
    http = HttpCaller(
        guard,
        vault,
        clock=SystemClock().now,
        allow_ports=settings.allow_ports,
        connections_max=settings.concurrency + KEPT_CONNECTIONS,  # without a socket a run starts late
        connections=None if stores is None else stores.connections,
        proxies=settings.proxy_urls,
        site=settings.callback_site,
    )
    others = callers_of(Dialer(guard, clock=SystemClock().now), vault, settings.commands, on_refused)
    return KindCaller(http, others, TemplateRenderer(vault, None if stores is None else stores.runs))


async def _record_refusal(stores: Stores, request: "Request", reason: str) -> None:
    """Without a database the refusal is not recorded either; the call is blocked anyway."""
    from mainspring.domain.event import Event, EventType

    with suppress(StoreUnavailable):
        now = await stores.schedule.now()
        data: dict[str, object] = {"reason": reason}
        actor = f"worker:{worker_name()}"
        event = Event(EventType.COMMAND_REFUSED, now, request.tenant_id, request.endpoint_id, "", actor, data)
        await stores.runs.add_events([event])


def _own_listeners(settings: Settings) -> frozenset[tuple[str, int]]:
    """The addresses that we and our database listen on: no endpoint may call them, regardless of allowed networks."""
    from mainspring.stores.postgres.url import ConnectionUrl

    ours = [(settings.host, settings.port)]
    if settings.url.startswith("postgres"):
        ours += ConnectionUrl.parse(settings.url).networked
    return frozenset((address, port) for host, port in ours if port for address in _addresses(host))


def _addresses(host: str) -> set[str]:
    """The addresses of a name or an unspecified address on this machine; none if they cannot be determined."""
    names = [host] if host not in ("0.0.0.0", "::", "") else ["127.0.0.1", "::1", socket.gethostname()]
    found: set[str] = set()
    for name in names:
        with suppress(OSError):
            found |= {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(name, None)}
    return found


def check_certificates(ca: str, certificate: str, key: str) -> None:
    """Raises InvalidInput unless libcurl can use these PEM texts."""
    if ca or certificate or key:
        from mainspring.outbound import certificates

        certificates.check_certificates(ca, certificate, key)


def never_called(host: str) -> str | None:
    """Why this host is never called, regardless of the settings; None: it may be, or its name must be resolved."""
    from mainspring.outbound.guard import ANYWHERE, judge_name

    return judge_name(host, ANYWHERE)


def why_no_ping() -> str | None:
    """Why endpoints of kind `ping` cannot run in this process; None if they can."""
    from mainspring.outbound.kinds.ping import why_not

    return why_not()


def judge_host(settings: Settings, host: str) -> str | None:
    """Why calls to this host will be blocked, as far as known without resolving its name; None: no reason known."""
    from mainspring.outbound.guard import judge_name

    return judge_name(host, settings.allow_cidrs)


def open_messengers(settings: Settings) -> "dict[DestinationKind, Messenger]":
    from mainspring.domain.notify.subscription import DestinationKind
    from mainspring.outbound.apprise import AppriseSender
    from mainspring.outbound.mail import Mailer

    return {
        DestinationKind.MAIL: Mailer(settings.smtp_url, settings.mail_from, clock=SystemClock().now),
        DestinationKind.APPRISE: AppriseSender(settings.allow_apprise),
    }


def open_issuer(settings: Settings) -> "OidcIssuer | None":
    from mainspring.outbound.oidc import OidcIssuer

    given = (settings.oidc_issuer, settings.oidc_client_id, settings.oidc_client_secret)
    return OidcIssuer(*given) if settings.oidc_issuer else None
