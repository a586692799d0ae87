"""Port of upkeep: retention, waiting work, and facts about the database."""

from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from mainspring.domain.instant import EPOCH
from mainspring.domain.schedule.queue import Queue

LIMITS = "limits"  # the installation's value with the limits in force, as JSON
MOVED_TO = "moved_to"  # where the installation is that has left this database
MOVE = "move"  # the progress of a move to this database
DRAIN_UNTIL = "drain_until"  # until when schedulers start no runs, in microseconds since 1970: a move is about to end


class Retention(Struct, frozen=True):
    """From when on history is kept. What is removed in partitions may stay longer, by the span of a partition."""

    runs_before: datetime
    bodies_before: datetime
    events_before: datetime
    runs_per_endpoint_max: int
    events_span: timedelta = timedelta(days=1)  # after which a new partition of events begins
    done_before: datetime = EPOCH  # endpoints whose single run was before are removed


class HistoryPartition(Struct, frozen=True):
    """A table with the runs or events of a span of time, which is removed as a whole.

    `is_leaving`: its removal began earlier, and its rows cannot be read any more. An empty one has no times.
    """

    table: str  # run | event
    name: str
    from_at: datetime | None
    until_at: datetime | None
    is_leaving: bool = False


class RunRoom(Struct, frozen=True):
    """The time up to which partitions for runs exist without a gap; None: not needed, or the present one is missing."""

    now: datetime
    until_at: datetime | None
    is_needed: bool = True

    @property
    def seconds(self) -> float:
        return (self.until_at - self.now).total_seconds() if self.until_at else 0.0


class Swept(Struct, frozen=True):
    removed: int
    done: bool


class Backlog(Struct, frozen=True):
    """Late endpoints: how many, and since when the oldest one waits."""

    now: datetime
    due: int
    oldest_due_at: datetime | None
    running: int
    by_tenant: dict[str, int] = {}  # of those that have any


class OpenTransaction(Struct, frozen=True):
    """An open transaction in the database that something waits for."""

    pid: int | None  # None: a prepared transaction
    name: str  # name of the program and its host, or of the prepared transaction
    state: str  # current activity of its connection; empty if our database user may not see it
    open_s: float  # for how long the transaction has been open


class EventLag(Struct, frozen=True):
    """How far readers of events are behind what is committed, and which writers hold them back, oldest first."""

    now: datetime
    oldest_at: datetime | None  # age of the oldest event that is committed and not readable yet
    writers: tuple[OpenTransaction, ...] = ()

    @property
    def seconds(self) -> float:
        return 0.0 if self.oldest_at is None else max((self.now - self.oldest_at).total_seconds(), 0.0)


class DeadRows(Struct, frozen=True):
    """Dead row versions of endpoint state that are still stored, beside the live ones.

    Queries for due endpoints scan them. `oldest` is the transaction that prevents their removal.
    """

    dead: int
    live: int
    oldest: OpenTransaction | None = None


class StoreFacts(Struct, frozen=True):
    """Facts about the database: kind, version, schema, and the migrations that this process has applied.

    `above_policies`: row-level security does not apply to its user. `owns_tables`: the user could switch it off.
    """

    kind: str  # sqlite | postgresql
    version: str
    schema: int
    migrated: tuple[str, ...] = ()
    above_policies: bool = False
    owns_tables: bool = False


class Replication(Struct, frozen=True):
    """The servers of the database: each host with its role (primary, standby, unreachable), and who follows.

    `synchronous`: a commit waits until a standby has stored it. `standbys` are those connected to the primary now.
    """

    roles: tuple[tuple[str, str], ...] = ()
    synchronous: bool = False
    standbys: int = 0

    @property
    def primaries(self) -> list[str]:
        return [host for host, role in self.roles if role == "primary"]


class UpkeepStore(Protocol):
    """What the janitor and the watchdog need."""

    async def replication(self) -> Replication:
        """The servers that the database URL names; connects to each of them. A file has none."""

    async def close_zombies(self, lease_over_before_ms: int, limit: int) -> int:
        """Closes `running` rows whose lease ended that long ago as `timeout`, with an event each; never a live one."""

    async def expire_proposals(self, limit: int) -> int:
        """Expires pending proposals past their time, with one event each; returns how many."""

    async def sweep(self, keep: Retention, batch: int) -> Swept:
        """Removes at most `batch` rows past their retention; call again until it reports done."""

    async def make_room(self, keep: Retention) -> RunRoom:
        """Creates partitions for future runs, and begins a new partition of events when it is time to."""

    async def run_room(self) -> RunRoom:
        """The time up to which partitions for runs exist; creates none."""

    async def expired_partitions(self, keep: Retention) -> tuple[HistoryPartition, ...]:
        """Partitions past their retention, oldest first; none with a run in flight. SQLite has no partitions."""

    async def remove_partition(self, partition: HistoryPartition) -> bool:
        """Removes a partition with all its rows; False if a transaction uses it; call again to continue.

        No claim waits for it, regardless of how long a reader of the partition takes.
        """

    async def analyze_history(self) -> None:
        """Counts the rows of partitioned tables for the query planner. Autovacuum does not."""

    async def backlog(self, late_ms: int) -> Backlog:
        """Endpoints overdue by more than `late_ms` and not leased."""

    async def event_lag(self) -> EventLag:
        """Always empty on SQLite: it has one writer, so committed events are readable."""

    async def dead_rows(self) -> DeadRows:
        """None on SQLite: it updates rows in place."""

    async def queue(self, late_ms: int) -> Queue:
        """Endpoints of every tenant overdue by more than `late_ms`, and what may block them.

        The limits are those that a scheduler stored as LIMITS when it started.
        """

    async def installation(self, key: str, value_if_new: str = "") -> str:
        """The installation's value under `key`; sets `value_if_new` if it is missing."""

    async def put_installation(self, key: str, value: str) -> None: ...

    async def facts(self) -> StoreFacts: ...

    async def probe(self) -> None:
        """Writes a short value to where claims and results are written.

        Raises StoreUnavailable, with the reason, if that is not possible or the schema is too old.
        """

    async def newer_schema(self) -> str | None:
        """What to do about a schema that is newer than this program; None if it is not."""

    async def check_identity(self) -> float:
        """For how many seconds no run should start: more than 0 shortly before the installation moves elsewhere.

        Raises Misconfigured if this is no longer the database of the installation: it has moved, or the file was
        deleted or replaced.
        """
