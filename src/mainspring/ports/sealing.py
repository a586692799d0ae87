"""Port of key rotation: every row that contains encrypted values, as stored."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class SealedKind(StrEnum):
    ENDPOINT = "endpoint"  # its secret headers and its query string
    SIGNING_KEY = "signing key"
    SUBSCRIPTION = "subscription"  # the secrets and the URL of a webhook, the targets of an alert's destinations
    CONNECTION = "connection"  # its secret and its client key
    CONNECTION_TOKEN = "connection token"
    SECOND_FACTOR = "second factor"
    PING_URL = "ping URL"
    ANSWER = "kept answer"  # to a request with an Idempotency-Key, and the request


class SealedRow(Struct, frozen=True):
    """A row with its encrypted texts and the context of each."""

    kind: SealedKind
    place: tuple[str, ...]  # its key, in the order in which rows are read
    tenant_id: str  # "": of the installation
    text: str  # the stored value, as read
    values: Mapping[str, str]  # encrypted text -> context
    is_busy: bool = False  # compared with its current value later: a request in progress must not change


class SealedStore(Protocol):
    """All methods work across all tenants."""

    async def sealed(self, kind: SealedKind, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        """Rows of this kind in the order of their positions, after one; () is the beginning."""

    async def readable_queries(self, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        """Rows of endpoints whose URL may have a readable query string, in the order of their positions."""

    async def reseal(self, rows: Sequence[tuple[SealedRow, Mapping[str, str]]]) -> int:
        """Replaces the encrypted texts of rows of one kind; returns how many texts were replaced.

        A row that changed since it was read stays unchanged. No event is written and no version increases, because the
        content is the same. A process that cached an endpoint must read it again.
        """
