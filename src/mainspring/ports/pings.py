"""Port of pings, and of the URLs that pings are sent to."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.domain.event import Event
from mainspring.domain.schedule.ping import Ping


class PingUrl(Struct, frozen=True):
    """The token of an endpoint: its digest, by which pings are found, and its encrypted text."""

    endpoint_id: str
    tenant_id: str
    digest: str
    sealed: str
    created_at: datetime


class PingStore(Protocol):
    async def receive(self, pings: Sequence[tuple[str, Ping]]) -> list[bool]:
        """Applies pings by the digests of their tokens, in order and in one transaction; False for unknown tokens.

        Endpoints are locked, so a ping and the judgement of its deadline happen one after the other. A judgement that
        a ping overtakes is superseded.
        """

    async def ping_url(self, tenant_id: str, endpoint_id: str) -> tuple[str, datetime] | None:
        """The encrypted token and when it was created; None if the endpoint has none."""

    async def put_ping_url(self, url: PingUrl, event: Event) -> None:
        """Replaces the token of an endpoint. The previous one ends with the same transaction."""

    async def revoke_ping_url(self, tenant_id: str, endpoint_id: str, event: Event) -> bool:
        """Ends the token of an endpoint; False if it has none."""
