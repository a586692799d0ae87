"""Assemble everything that leaves this process: calls, email, and identity providers."""

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from mainspring.ports.outbound import Vault
from mainspring.settings import Settings
from mainspring.wiring.clock import SystemClock

if TYPE_CHECKING:
    from mainspring.domain.notify.subscription import DestinationKind
    from mainspring.outbound.http import HttpCaller
    from mainspring.outbound.oidc import OidcIssuer
    from mainspring.ports.notifications import Messenger

KEPT_CONNECTIONS = 100


def open_caller(settings: Settings, vault: Vault) -> "HttpCaller":
    from mainspring.outbound.guard import AddressGuard
    from mainspring.outbound.http import HttpCaller

    return HttpCaller(
        AddressGuard(settings.allow_cidrs, own=_own_listeners(settings)),
        vault,
        clock=SystemClock().now,
        allow_ports=settings.allow_ports,
        connections_max=settings.concurrency + KEPT_CONNECTIONS,  # a place that waits for a socket would run late
    )


def _own_listeners(settings: Settings) -> frozenset[tuple[str, int]]:
    """The addresses that we and our database listen on: no endpoint may call them, whatever networks are allowed."""
    from mainspring.stores.postgres.hosts import hosts_of

    ours = [(settings.host, settings.port)]
    if settings.url.startswith("postgres"):
        ours += hosts_of(settings.url)
    return frozenset((address, port) for host, port in ours if port for address in _addresses(host))


def _addresses(host: str) -> set[str]:
    """The addresses of a name or an unspecified address on this machine; none if they cannot be determined."""
    names = [host] if host not in ("0.0.0.0", "::", "") else ["127.0.0.1", "::1", socket.gethostname()]
    found: set[str] = set()
    for name in names:
        with suppress(OSError):
            found |= {str(info[4][0]).partition("%")[0] for info in socket.getaddrinfo(name, None)}
    return found


def never_called(host: str) -> str | None:
    """Why this host is never called, whatever an operator allows; None: it may be, or its name must be resolved."""
    from mainspring.outbound.guard import ANYWHERE, judge_name

    return judge_name(host, ANYWHERE)


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
