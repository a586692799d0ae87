"""Ports of workflows: what the ticker, the dispatcher and the operations need."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.domain.event import Event
from mainspring.workflow.audit import Anchor, Breach, TickHead
from mainspring.workflow.model import Arrival, ExecutionState, LogEntry, Status, Workflow, Zeros
from mainspring.workflow.tick import ReadyExecution, TickResult, TickRun


class Lead(Struct, frozen=True):
    """The right to write one partition until another process takes over: an epoch, and the partition's position."""

    partition: int
    epoch: int
    tick: int
    sequence: int
    head: str
    zero: datetime  # the time of tick 0
    resolution_ms: int
    worker: str
    zeros: Zeros = ()  # of a partition whose clock was repaired


class TickLoad(Struct, frozen=True):
    """The work of a tick. `tick` None: nothing now; `next_tick` is the next one with work, if known."""

    wall: datetime
    tick: int | None = None
    ready: tuple[ReadyExecution, ...] = ()
    next_tick: int | None = None


Tell = Callable[[TickResult], Sequence[Event]]  # events of a tick for other readers


def nothing_to_tell(ticked: TickResult) -> Sequence[Event]:
    return ()


class TickStore(Protocol):
    """What the ticker needs."""

    async def lead(self, partition: int, worker: str, ttl_ms: int) -> Lead | None:
        """Becomes the writer of a partition whose lease is over, under a new epoch; None if another process holds
        it.
        """

    async def is_led(self, partition: int) -> bool:
        """Whether a process holds the lease of a partition."""

    async def load_tick(self, lead: Lead, limit: int) -> TickLoad:
        """The next tick with work that the store's clock has reached, its executions in order, at most `limit`."""

    async def commit_tick(
        self, lead: Lead, turns: TickRun, wall: datetime, ttl_ms: int, tell: Tell = nothing_to_tell
    ) -> Lead | None:
        """Takes the turns of a tick and writes their results and events in one transaction, if (epoch, tick) is still
        the lead's; extends the lease. Removes the executions that the tick records as removed.

        Returns the next lead, or None, having written nothing, if another writer has the partition.
        """

    async def renew(self, lead: Lead, ttl_ms: int) -> bool:
        """Extends the lease; False if another writer has the partition."""

    async def resign(self, lead: Lead) -> None:
        """Releases the partition for others immediately."""

    async def sweep(self, lead: Lead, before: datetime, limit: int) -> tuple[str, ...]:
        """Ids of at most `limit` executions that ended before `before`; the ticker removes them in a tick."""

    async def remove(self, lead: Lead, ids: Sequence[str], head: TickHead, wall: datetime, ttl_ms: int) -> Lead | None:
        """Removes executions with their logs; the tick head that records it is written in the same transaction."""

    async def add_checkpoint(self, checkpoint: "Checkpoint") -> None: ...

    async def standing(self, ids: Sequence[str]) -> dict[str, int]:
        """The number of log entries of each execution that exists."""

    async def forget_ticks(
        self, lead: Lead, sequence: int, head: TickHead | None, wall: datetime, ttl_ms: int
    ) -> Lead | None:
        """Removes the ticks up to a sequence, and the checkpoints before it, if the epoch is still the lead's.

        `head` is a tick that is written in the same transaction. None, having written nothing, if another writer leads.
        """


class Checkpoint(Struct, frozen=True):
    """The signed position of a partition: a removed or rewritten tail does not match it."""

    partition: int
    sequence: int
    tick: int
    head: str
    signed_at: datetime
    public_key: str
    signature: str


class Published(Struct, frozen=True):
    """One version of a workflow, as written and as parsed."""

    workflow: Workflow
    document: str
    actor: str
    created_at: datetime
    archived_at: datetime | None = None  # of the workflow: it cannot be started any more
    document_hash: str = ""
    model_hash: str = ""  # of what is stored as `workflow`


class Execution(Struct, frozen=True):
    """An execution as stored in its row."""

    state: ExecutionState
    tenant_id: str
    partition: int
    correlation: str
    idempotency_key: str | None
    actor: str
    created_at: datetime
    moved_at: datetime

    @property
    def id(self) -> str:
        return self.state.id

    @property
    def status(self) -> Status:
        return self.state.status


class ExecutionFilter(Struct, frozen=True):
    """A filter; None matches any. `in_need` are executions that wait for a person: failed or paused.

    `running_under` a correlation key selects those that have not ended, without a limit on their number; only
    `workflow` and `limit` apply besides it.
    """

    workflow: str | None = None
    status: Status | None = None
    correlation: str | None = None
    before_id: str | None = None
    limit: int = 50
    version: int | None = None
    step: str | None = None
    key: str | None = None
    in_need: bool = False
    running_under: str | None = None
    oldest_first: bool = False  # then the page comes after `before_id`


class Start(Struct, frozen=True):
    """An execution to add. `alone`: only if no other of its workflow runs under its correlation key."""

    execution: Execution
    event: Event
    alone: bool = False


class Sending(Struct, frozen=True):
    """An arrival for one execution."""

    execution_id: str
    partition: int
    arrival: Arrival


class WorkflowStore(Protocol):
    """Workflows and executions, for operations. Every query is within one tenant."""

    async def publish(self, tenant_id: str, workflow: Workflow, document: str, actor: str, event: Event) -> Published:
        """Publishes the next version of a workflow; two concurrent calls get two versions. Restores an archived
        workflow.
        """

    async def version(self, tenant_id: str, name: str, version: int | None) -> Published | None:
        """One version, the newest by default."""

    async def versions(self, tenant_id: str, name: str | None) -> list[Published]:
        """All versions of a workflow, newest first; without a name the newest of each, by name."""

    async def start(self, starts: Sequence[Start]) -> list[Execution]:
        """Adds executions of one tenant, at least one, in one transaction and in order.

        For one that cannot be added, the result has the existing execution: under its idempotency key, or, if it must
        be alone, the one that runs under its correlation key.
        """

    async def execution(self, tenant_id: str, execution_id: str) -> Execution | None: ...

    async def executions(self, tenant_id: str, wanted: ExecutionFilter) -> list[Execution]:
        """Newest first."""

    async def count(self, tenant_id: str, wanted: ExecutionFilter) -> int:
        """The number of matches, regardless of pages and limits."""

    async def send(self, sendings: Sequence[Sending], events: Sequence[Event]) -> int:
        """Puts arrivals in the inbox, without ids that the execution has seen. Returns how many were new."""

    async def now(self) -> datetime: ...

    async def clock(self, partition: int, resolution_ms: int) -> tuple[datetime, int]:
        """The time of tick 0 and the length of a tick; the first caller fixes both."""


class ArchiveStore(Protocol):
    """Archived workflows: kept, but never started."""

    async def archive(self, tenant_id: str, name: str, event: Event) -> bool:
        """False, having written nothing, if it was already archived."""

    async def restore(self, tenant_id: str, name: str, event: Event) -> bool:
        """False, having written nothing, if it was not archived."""


class LogStore(Protocol):
    """Reads for verification and replay."""

    async def entries(self, tenant_id: str, execution_id: str, after: int, limit: int) -> list[LogEntry]:
        """A page of a log, in order; empty if the execution belongs to another tenant."""

    async def row_breach(self, tenant_id: str, execution_id: str) -> Breach | None:
        """The first column of an execution's row, or its position in the queue, that contradicts its stored state."""

    async def anchors(self, partition: int, execution_id: str) -> list[Anchor]:
        """What the ticks of the partition record about a log, ascending."""

    async def ticks(self, partition: int, after: int, limit: int) -> list[TickHead]: ...

    async def partition_end(self, partition: int) -> Anchor | None:
        """How many ticks a partition's row counts, and its head."""

    async def checkpoints(self, partition: int, after: int, limit: int) -> list[Checkpoint]:
        """A page of checkpoints by their sequence, ascending."""

    async def chain_start(self, partition: int) -> Checkpoint | None:
        """The checkpoint after which the existing ticks begin; None: they begin with the first, or there are none."""

    async def log_ids(self, partition: int) -> list[str]:
        """Every existing execution of the partition."""

    async def erase(self, tenant_id: str, execution_id: str, event: Event) -> int:
        """Erases the values of a finished execution's log; its commitments stay. Returns its number of entries."""


class PartitionView(Struct, frozen=True):
    """Position, writer and waiting work of a partition."""

    partition: int
    tick: int
    ticks: int  # number of ticks
    worker: str  # its last writer
    lease_until: datetime
    zero: datetime  # the time of tick 0
    resolution_ms: int
    ready_at: datetime | None  # when the first execution is due
    arrived_at: datetime | None  # when the oldest unprocessed arrival came
    overdue: int  # executions due before the given time

    @property
    def waits_since(self) -> datetime | None:
        """The earliest time at which something in it waits or will wait."""
        return min((at for at in (self.ready_at, self.arrived_at) if at is not None), default=None)


class PartitionStore(Protocol):
    """Whole partitions, with the executions of every tenant: for operators of the installation."""

    async def views(self, overdue_before: datetime) -> list[PartitionView]:
        """Every partition that was ever used, by number."""

    async def members(self, partition: int, after: str, limit: int) -> list[Execution]:
        """A page of the executions of a partition, by id."""

    async def overdue_by_tenant(self, before: datetime) -> dict[str, int]:
        """How many executions of each tenant were due before a time."""

    async def overdue_reported(self) -> str:
        """The last report about overdue executions, as written by `report_overdue`; `[]` at first."""

    async def report_overdue(self, before: str, reported: str, events: Sequence[Event]) -> bool:
        """Writes the current report with its events, in one transaction.

        False, having written nothing, if another process reported something since `before` was read.
        """

    async def oldest_effect_at(self) -> datetime | None:
        """Since when the oldest unsent effect waits; None if none waits."""


class Intent(Struct, frozen=True):
    """A leased effect, to be sent now. `claim` fences: a late answer from a lost sender is ignored."""

    key: str
    execution_id: str
    tenant_id: str
    partition: int
    step: str
    visit: int
    attempt: int
    kind: str
    request: dict[str, object]
    idempotency: str
    timeout_ms: int
    claim: int
    was_sent: bool  # an earlier sender was lost on the way


class EffectAnswer(Struct, frozen=True):
    intent: Intent
    arrival: Arrival


class EffectStore(Protocol):
    """What the dispatcher needs."""

    async def claim_effects(self, worker: str, limit: int, lease_ms: int) -> list[Intent]:
        """Leases effects that are ready, or whose sender was lost; oldest first. The lease exceeds the timeout of
        each.
        """

    async def answer_effects(self, answers: Sequence[EffectAnswer]) -> int:
        """Closes effects and puts their results into the inbox, in one transaction, if the claim still holds."""

    async def has_effects(self) -> bool:
        """Whether any effect is ready or in flight."""


class PartitionLock(Protocol):
    """Decides which process tries to lead a partition. It only saves attempts: the database decides who leads."""

    async def take(self, partition: int, worker: str, ttl_ms: int) -> bool:
        """Takes or extends the lock; also True if the lock server is unavailable."""

    async def leave(self, partition: int, worker: str) -> None:
        """Releases it immediately."""

    async def aclose(self) -> None: ...


class Signer(Protocol):
    def sign(self, partition: int, end: Anchor, tick: int, at: datetime) -> tuple[str, str]:
        """The public key and the signature of a partition's position."""

    def is_genuine(self, checkpoint: Checkpoint) -> bool:
        """Whether the signature is valid and the key is this installation's."""


class TriggerStore(Protocol):
    """What the trigger worker needs. Several may use it at once, and be killed between any two calls."""

    async def position(self, first: str) -> str:
        """The cursor of the last processed event; `first` if there was none."""

    async def advance(self, before: str, after: str) -> bool:
        """Moves the position; False if another worker did, and this one starts again from there."""

    async def stamp(self) -> str:
        """A text that changes whenever a workflow is published, archived or restored."""

    async def triggered(self) -> list[tuple[str, Published]]:
        """The newest version of every workflow of every tenant that has triggers and may start, with its tenant."""


class WorkflowStores(Struct, frozen=True):
    """The ports of workflows in one opened database."""

    workflows: WorkflowStore
    ticks: TickStore
    logs: LogStore
    effects: EffectStore
    triggers: TriggerStore
    archive: ArchiveStore
    partitions: PartitionStore
