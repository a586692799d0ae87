"""The seam of upkeep: what is kept for how long, what waits, and what the database is."""

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.domain.schedule.queue import Queue

LIMITS = "limits"  # the installation's value that holds the caps in force, as JSON


class Retention(Struct, frozen=True):
    runs_before: datetime
    bodies_before: datetime
    events_before: datetime
    runs_per_endpoint_max: int


class Swept(Struct, frozen=True):
    removed: int
    done: bool


class Backlog(Struct, frozen=True):
    """What is due and has not started: how many endpoints, and since when the oldest one waits."""

    now: datetime
    due: int
    oldest_due_at: datetime | None
    running: int
    by_tenant: dict[str, int] = {}  # of those that have any


class OpenTransaction(Struct, frozen=True):
    """A transaction in the database that has not ended and that something waits for."""

    pid: int | None  # None: a prepared transaction
    name: str  # of the program and where it runs, or of the prepared transaction
    state: str  # what its connection does; empty where our database user may not see it
    open_s: float  # for how long the transaction has been open


class EventLag(Struct, frozen=True):
    """How far readers of events are behind what is committed, and which writers hold them back, oldest first."""

    now: datetime
    oldest_at: datetime | None  # of the oldest event that is committed and not readable yet
    writers: tuple[OpenTransaction, ...] = ()

    @property
    def seconds(self) -> float:
        return 0.0 if self.oldest_at is None else max((self.now - self.oldest_at).total_seconds(), 0.0)


class DeadRows(Struct, frozen=True):
    """Versions of endpoints' state that are of no use and still stored, beside those that are in use.

    Looks for due endpoints pass them. `oldest` is the transaction since whose beginning none can be removed.
    """

    dead: int
    live: int
    oldest: OpenTransaction | None = None


class StoreFacts(Struct, frozen=True):
    """What the database is: its kind and version, its schema, and which migrations this process has applied to it.

    `above_policies`: its user is one for whom row-level security does not hold. `owns_tables`: or who could switch it
    off.
    """

    kind: str  # sqlite | postgresql
    version: str
    schema: int
    migrated: tuple[str, ...] = ()
    above_policies: bool = False
    owns_tables: bool = False


class UpkeepStore(Protocol):
    """What the janitor and the watchdog need."""

    async def close_zombies(self, lease_over_before_ms: int, limit: int) -> int:
        """Close `running` rows whose lease was over that long ago as `timeout`, and tell of each; never a live one."""

    async def expire_proposals(self, limit: int) -> int:
        """End pending proposals whose time is over, and tell of each once; how many."""

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        """Remove at most `batch` rows of what is older or more than wanted; call again until it says done."""

    async def backlog(self, late_ms: int) -> Backlog:
        """Endpoints that are due for longer than `late_ms` and not leased."""

    async def event_lag(self) -> EventLag:
        """Never anything on SQLite: it has one writer, so what is committed can be read."""

    async def dead_rows(self) -> DeadRows:
        """None on SQLite: it updates rows in place."""

    async def queue(self, late_ms: int) -> Queue:
        """What is due for longer than `late_ms` and not started, of every tenant, and what may be in its way.

        The caps are those that a scheduler stored as LIMITS when it started.
        """

    async def installation(self, key: str, value_if_new: str = "") -> str:
        """The installation's value under `key`; where there is none, `value_if_new`, which it has from then on."""

    async def put_installation(self, key: str, value: str) -> None: ...

    async def facts(self) -> StoreFacts: ...

    async def probe(self) -> None:
        """Write something short to where claims and results are written.

        Raises StoreUnavailable, with the reason, if that is not possible or the schema is too old.
        """

    async def newer_schema(self) -> str | None:
        """What to do about a schema that is newer than this program; None if it is not."""

    async def check_identity(self) -> None:
        """Raises Misconfigured if the database is not the one that was opened: its file was deleted or replaced."""
