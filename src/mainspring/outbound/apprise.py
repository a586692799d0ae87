"""Send a message through a service that apprise supports: chats, pagers, push.

apprise is an extra and is imported at first use. It opens its own connections and bypasses the address guard. An
operator must therefore allow it, and anyone who may write alerts can then reach what this machine reaches.
"""

import asyncio
import logging
import time
import warnings
from types import ModuleType

from mainspring.domain.errors import InvalidInput
from mainspring.domain.run import Outcome, RunStatus
from mainspring.domain.text import clean_text, spelled_out

TIMEOUT_S = 30
NOT_ALLOWED = "apprise is not allowed here; an operator allows it with MAINSPRING_ALLOW_APPRISE=true"
NOT_INSTALLED = "apprise is not installed; install it with `pip install 'mainspring[notify]'`"


class AppriseSender:
    def __init__(self, allowed: bool) -> None:
        self._allowed = allowed

    def check(self, to: str) -> None:
        check_service(to, allowed=self._allowed)

    async def send(self, to: str, title: str, text: str, message_id: str) -> Outcome:
        if not self._allowed:
            return _failed(NOT_ALLOWED)
        try:
            apprise = _load()
        except ImportError:
            return _failed(NOT_INSTALLED)
        started = time.monotonic()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                why = await asyncio.to_thread(_notify, apprise, to, title, text)
        except TimeoutError:
            why = f"the service did not respond within {TIMEOUT_S} s"
        duration_ms = int((time.monotonic() - started) * 1_000)
        return _failed(why, duration_ms) if why else Outcome(RunStatus.SUCCESS, duration_ms)


def check_service(url: str, *, allowed: bool, field: str = "to") -> None:
    """Raises InvalidInput if an apprise URL names no service or may not be used. The message contains no token."""
    scheme = url.partition("://")[0]
    if not allowed:
        raise InvalidInput(f"{field} '{spelled_out(scheme)[:40]}://…' goes through apprise; {NOT_ALLOWED}", field=field)
    try:
        apprise = _load()
    except ImportError:
        raise InvalidInput(
            f"{field} '{spelled_out(scheme)[:40]}://…' goes through apprise; {NOT_INSTALLED}", field=field
        ) from None
    if apprise.Apprise.instantiate(url, suppress_exceptions=True) is None:
        raise InvalidInput(
            f"{field} '{spelled_out(scheme)[:40]}://…' is not a URL that apprise supports; its "
            "documentation lists the format of every service",
            field=field,
        )


def _load() -> ModuleType:
    with warnings.catch_warnings():  # internal errors of apprise that users cannot fix
        warnings.simplefilter("ignore")
        import apprise

        apprise.Apprise.instantiate("json://localhost")  # loads its services
    logging.getLogger("apprise").propagate = False  # it would log URLs, which contain tokens
    return apprise


def _notify(apprise: ModuleType, to: str, title: str, text: str) -> str:
    """Returns "" if the service accepted the message."""
    sender = apprise.Apprise()
    if not sender.add(to):
        return "apprise does not support this URL"
    return "" if sender.notify(title=title, body=text) else "the service did not accept the message"


def _failed(why: str, duration_ms: int = 0) -> Outcome:
    return Outcome(RunStatus.FAILURE, duration_ms, error_code="apprise", error=clean_text(why, 500))
