"""The port of the archive: files of history that outlive the retention of the database."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
from typing import Literal, Protocol

from mainspring.domain.event import StoredEvent
from mainspring.domain.run import Run

ArchiveKind = Literal["runs", "events"]


class ArchiveFile(Protocol):
    """One file while it is written."""

    def add_runs(self, runs: Sequence[Run]) -> None: ...

    def add_events(self, events: Sequence[StoredEvent]) -> None: ...


class Archive(Protocol):
    """One file for each kind, tenant and day (UTC)."""

    def has(self, kind: ArchiveKind, tenant_id: str, day: date) -> bool:
        """Whether the day was written completely."""

    def writing(self, kind: ArchiveKind, tenant_id: str, day: date) -> AbstractContextManager[ArchiveFile]:
        """The file exists, complete and synced to disk, at the end of the block; none exists after an exception."""

    def runs(self, tenant_id: str, since: datetime | None, until: datetime | None) -> Iterator[Run]:
        """Archived runs that started in this time, newest first."""
