"""The seam of re-keying: every row that holds something sealed, as it lies."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class SealedKind(StrEnum):
    ENDPOINT = "endpoint"  # its secret headers and its query string
    SIGNING_KEY = "signing key"
    SUBSCRIPTION = "subscription"  # the secrets and the address of a webhook, the targets of an alert's channels
    SECOND_FACTOR = "second factor"
    ANSWER = "kept answer"  # to a request with an Idempotency-Key, and what the request was


class SealedRow(Struct, frozen=True):
    """A row, what it holds sealed and to which context each is sealed."""

    kind: SealedKind
    place: tuple[str, ...]  # its key, in the order in which rows are read
    tenant_id: str  # "": of the installation
    text: str  # what holds them, as it was read
    values: Mapping[str, str]  # sealed text -> context
    is_busy: bool = False  # somebody will compare it with what it is now; it must stay for a moment


class SealedStore(Protocol):
    """All of it goes across all tenants."""

    async def sealed(self, kind: SealedKind, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        """Rows of this kind in the order of their places, from just after one; () is the beginning."""

    async def readable_queries(self, after: tuple[str, ...], limit: int) -> list[SealedRow]:
        """Rows of endpoints whose URL may have a readable query string, in the order of their places."""

    async def reseal(self, rows: Sequence[tuple[SealedRow, Mapping[str, str]]]) -> int:
        """Put other sealed texts in the place of those that rows of one kind hold; how many texts were put.

        A row that is no longer as it was read stays as it is. Nobody is told, and no version grows: what is sealed is
        the same. Whoever knows an endpoint from before reads it again.
        """
