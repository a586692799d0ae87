"""Callbacks: reports of targets about the runs that they accepted.

A token that is used too often is refused before the database is read. A text that is not a token costs no lookup.
"""

import time
from collections.abc import Callable

from mainspring.domain.access.account import digest
from mainspring.domain.access.callback_token import CALLBACK_PLACE, TOKEN_CHARS_MAX, CallbackTarget, read_target
from mainspring.domain.errors import Misconfigured, TooManyRequests
from mainspring.domain.schedule.callback import CallbackReport, Receipt
from mainspring.operations.pings import TokenRates
from mainspring.ports.outbound import Vault
from mainspring.ports.stores import Stores

WAITING_MAX = 200  # each is a separate transaction


class CallbackIntake:
    """Processes callbacks of all tenants."""

    def __init__(
        self, stores: Stores, vault: Callable[[], Vault], monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._stores = stores
        self._vault = vault
        self._rates = TokenRates(monotonic_s)
        self._waiting = 0

    async def take(self, token: str, report: CallbackReport) -> Receipt | None:
        """None if no run has this token. Returns once the report is stored. Raises TooManyRequests."""
        target = self._target(token)
        if target is None:
            return None
        self._rates.spend(digest(token))
        if self._waiting >= WAITING_MAX:
            raise TooManyRequests("too many callbacks are waiting to be stored; send it again in 1 s", retry_after_s=1)
        self._waiting += 1
        try:
            return await self._stores.callbacks.receive(target.tenant_id, target.endpoint_id, target.run_id, report)
        finally:
            self._waiting -= 1

    def knows(self, token: str) -> bool:
        """Whether this is a token of this installation; its run may have ended."""
        return self._target(token) is not None

    def _target(self, token: str) -> CallbackTarget | None:
        if len(token) > TOKEN_CHARS_MAX or not token.isascii():
            return None
        try:
            return read_target(self._vault().open(token, CALLBACK_PLACE))
        except Misconfigured:  # not a token of this installation
            return None
