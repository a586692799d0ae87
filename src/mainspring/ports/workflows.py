"""The seams of workflows: what the ticker, the dispatcher and the operations need from a database and the world."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from mainspring.domain.event import Event
from mainspring.workflow.audit import Anchor, Breach, TickHead
from mainspring.workflow.model import Arrival, ExecutionState, LogEntry, Status, Workflow, Zeros
from mainspring.workflow.tick import ReadyExecution, TickResult, TickRun


class Lead(Struct, frozen=True):
    """The right to write one partition, until somebody else has it: an epoch, and where the partition stands."""

    partition: int
    epoch: int
    tick: int
    sequence: int
    head: str
    zero: datetime  # the instant of tick 0
    resolution_ms: int
    worker: str
    zeros: Zeros = ()  # of a partition whose clock was repaired


class TickLoad(Struct, frozen=True):
    """What a tick has to do. `tick` None: nothing now; `next_tick` is when there will be, if that is known."""

    wall: datetime
    tick: int | None = None
    ready: tuple[ReadyExecution, ...] = ()
    next_tick: int | None = None


Tell = Callable[[TickResult], Sequence[Event]]  # what others want to know of a tick


def nothing_to_tell(ticked: TickResult) -> Sequence[Event]:
    return ()


class TickStore(Protocol):
    """What the ticker needs."""

    async def lead(self, partition: int, worker: str, ttl_ms: int) -> Lead | None:
        """Become the writer of a partition whose lease is over, under a new epoch; None: somebody else holds it."""

    async def is_led(self, partition: int) -> bool:
        """Whether somebody holds the lease of a partition."""

    async def load_tick(self, lead: Lead, limit: int) -> TickLoad:
        """The next tick with work that the store's clock has reached, its executions in order, at most `limit`."""

    async def commit_tick(
        self, lead: Lead, turns: TickRun, wall: datetime, ttl_ms: int, tell: Tell = nothing_to_tell
    ) -> Lead | None:
        """Take the turns of a tick and write all they did, and what there is to tell of it, in one transaction, where
        (epoch, tick) is still the lead's; extends the lease.

        The answer leads on. None: another writer has the partition, and nothing was written.
        """

    async def renew(self, lead: Lead, ttl_ms: int) -> bool:
        """Hold the lease longer; False: another writer has the partition."""

    async def resign(self, lead: Lead) -> None:
        """Let others have the partition at once."""

    async def sweep(self, lead: Lead, before: datetime, limit: int) -> tuple[str, ...]:
        """Ids of at most `limit` executions that ended before `before`; the ticker removes them in a tick."""

    async def remove(self, lead: Lead, ids: Sequence[str], head: TickHead, wall: datetime, ttl_ms: int) -> Lead | None:
        """Remove executions with their logs; the tick head that tells of it is written in the same transaction."""

    async def add_checkpoint(self, checkpoint: "Checkpoint") -> None: ...

    async def standing(self, ids: Sequence[str]) -> dict[str, int]:
        """How many entries those of the executions have that are there."""

    async def forget_ticks(
        self, lead: Lead, sequence: int, head: TickHead | None, wall: datetime, ttl_ms: int
    ) -> Lead | None:
        """Remove the ticks up to a sequence, and the checkpoints before it, where the epoch is still the lead's.

        `head` is a tick that is written in the same transaction. None: another writer leads, and nothing was written.
        """


class Checkpoint(Struct, frozen=True):
    """Where a partition stood, signed: a tail that is cut off or made anew does not fit it."""

    partition: int
    sequence: int
    tick: int
    head: str
    signed_at: datetime
    public_key: str
    signature: str


class Published(Struct, frozen=True):
    """One version of a workflow, as it was written and as it is understood."""

    workflow: Workflow
    document: str
    actor: str
    created_at: datetime
    archived_at: datetime | None = None  # of the workflow: nothing starts it any more
    document_hash: str = ""
    model_hash: str = ""  # of what is stored as `workflow`


class Execution(Struct, frozen=True):
    """An execution as its row tells it."""

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
    """What is None is any. `in_need` are those that wait for a person: failed or paused.

    `running_under` a correlation key are those that have not ended, however many did; beside it only `workflow` and
    `limit` count.
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
    oldest_first: bool = False  # then `before_id` is the one that the page comes after


class Start(Struct, frozen=True):
    """An execution to add. `alone`: only if no other of its workflow runs under its correlation key."""

    execution: Execution
    event: Event
    alone: bool = False


class Sending(Struct, frozen=True):
    """Something on its way to one execution."""

    execution_id: str
    partition: int
    arrival: Arrival


class WorkflowStore(Protocol):
    """Workflows and executions, for operations. Everything is asked for within one tenant."""

    async def publish(self, tenant_id: str, workflow: Workflow, document: str, actor: str, event: Event) -> Published:
        """The next version of a workflow; two who publish at once get two versions. One that was archived is back."""

    async def version(self, tenant_id: str, name: str, version: int | None) -> Published | None:
        """One version, the newest where none is named."""

    async def versions(self, tenant_id: str, name: str | None) -> list[Published]:
        """All versions of a workflow, newest first; without a name the newest of each, by name."""

    async def start(self, starts: Sequence[Start]) -> list[Execution]:
        """Add executions of one tenant, at least one, in one transaction and in order.

        In place of one that cannot be added stands the one that is there already: under its idempotency key, or, where
        it wants to be alone, the one that runs under its correlation key.
        """

    async def execution(self, tenant_id: str, execution_id: str) -> Execution | None: ...

    async def executions(self, tenant_id: str, wanted: ExecutionFilter) -> list[Execution]:
        """Newest first."""

    async def count(self, tenant_id: str, wanted: ExecutionFilter) -> int:
        """How many there are; pages and limits do not count."""

    async def send(self, sendings: Sequence[Sending], events: Sequence[Event]) -> int:
        """Put arrivals in the inbox; one whose id the execution has seen is left out. How many were new."""

    async def now(self) -> datetime: ...

    async def clock(self, partition: int, resolution_ms: int) -> tuple[datetime, int]:
        """The instant of tick 0 and the length of a tick; the first who asks fixes both."""


class ArchiveStore(Protocol):
    """Workflows that are kept and no longer started."""

    async def archive(self, tenant_id: str, name: str, event: Event) -> bool:
        """False: it was archived before, and nothing was written."""

    async def restore(self, tenant_id: str, name: str, event: Event) -> bool:
        """False: it was not archived, and nothing was written."""


class LogStore(Protocol):
    """What verification and replay read."""

    async def entries(self, tenant_id: str, execution_id: str, after: int, limit: int) -> list[LogEntry]:
        """A page of a log, in order; none where the execution is another tenant's."""

    async def row_breach(self, tenant_id: str, execution_id: str) -> Breach | None:
        """The first column of an execution's row, or its place in the queue, that its stored state contradicts."""

    async def anchors(self, partition: int, execution_id: str) -> list[Anchor]:
        """What the ticks of the partition say of a log, ascending."""

    async def ticks(self, partition: int, after: int, limit: int) -> list[TickHead]: ...

    async def partition_end(self, partition: int) -> Anchor | None:
        """How many ticks a partition's own row counts, and its head."""

    async def checkpoints(self, partition: int, after: int, limit: int) -> list[Checkpoint]:
        """A page of checkpoints by their sequence, ascending."""

    async def chain_start(self, partition: int) -> Checkpoint | None:
        """The checkpoint after which the ticks begin that are there; None: they begin with the first, or nowhere."""

    async def log_ids(self, partition: int) -> list[str]:
        """Every execution of the partition that is there."""

    async def erase(self, tenant_id: str, execution_id: str, event: Event) -> int:
        """Remove the values of a finished execution's log; its commitments stay. How many entries it has."""


class PartitionView(Struct, frozen=True):
    """Where a partition stands, who writes it, and what waits in it."""

    partition: int
    tick: int
    ticks: int  # how many there were
    worker: str  # who wrote it last
    lease_until: datetime
    zero: datetime  # the instant of tick 0
    resolution_ms: int
    ready_at: datetime | None  # when the first execution wants to move
    arrived_at: datetime | None  # when the oldest arrival came that was not taken yet
    overdue: int  # executions that should have moved before the instant that was asked about

    @property
    def waits_since(self) -> datetime | None:
        """The earliest instant from which something waits in it, or will."""
        return min((at for at in (self.ready_at, self.arrived_at) if at is not None), default=None)


class PartitionStore(Protocol):
    """Whole partitions, with the executions of every tenant: for operators of the installation."""

    async def views(self, overdue_before: datetime) -> list[PartitionView]:
        """Every partition that was ever used, by its number."""

    async def members(self, partition: int, after: str, limit: int) -> list[Execution]:
        """A page of the executions of a partition, by id."""

    async def overdue_by_tenant(self, before: datetime) -> dict[str, int]:
        """How many executions of each tenant should have moved before an instant."""

    async def overdue_reported(self) -> str:
        """What was reported last about overdue executions, as `report_overdue` wrote it; at first `[]`."""

    async def report_overdue(self, before: str, reported: str, events: Sequence[Event]) -> bool:
        """Write what is reported now, with its events, in one transaction.

        False, with nothing written: another process reported something since `before` was read.
        """

    async def oldest_effect_at(self) -> datetime | None:
        """Since when the oldest effect waits that no dispatcher has sent; None: none waits."""


class Intent(Struct, frozen=True):
    """An effect that somebody has leased, to be sent now. `claim` fences: a late answer of a lost sender counts not."""

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
        """Lease effects that are ready, or whose sender was lost; oldest first. Each is leased for its timeout more."""

    async def answer_effects(self, answers: Sequence[EffectAnswer]) -> int:
        """Close effects and put their results into the inbox, in one transaction; only where the claim still holds."""

    async def has_effects(self) -> bool:
        """Whether any effect is ready or on its way."""


class PartitionLock(Protocol):
    """Who tries to lead a partition. It only saves attempts: the database decides who leads, with or without it."""

    async def take(self, partition: int, worker: str, ttl_ms: int) -> bool:
        """Take the lock, or hold it longer; True also where the lock cannot be asked."""

    async def leave(self, partition: int, worker: str) -> None:
        """Let others have it at once."""

    async def aclose(self) -> None: ...


class Signer(Protocol):
    def sign(self, partition: int, end: Anchor, tick: int, at: datetime) -> tuple[str, str]:
        """The public key and the signature over where a partition stands."""

    def is_genuine(self, checkpoint: Checkpoint) -> bool:
        """Whether the signature is right and the key is this installation's."""


class TriggerStore(Protocol):
    """What the starter needs. Any number of starters may use it at once, and be killed between any two calls."""

    async def position(self, first: str) -> str:
        """The cursor of the last event that was looked at; `first` where none ever was."""

    async def advance(self, before: str, after: str) -> bool:
        """Move the position on; False: another starter did, and this one begins again where that is."""

    async def stamp(self) -> str:
        """A text that is another one whenever something was published, archived or restored."""

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
