"""Executions and what is ordered of them, as every door shows them."""

from typing import Literal, Self

from pydantic import Field, JsonValue

from mainspring.operations.endpoints import Desk
from mainspring.operations.executions import clock_of
from mainspring.operations.workflows import Started
from mainspring.ports.workflows import Execution
from mainspring.views.view import At, View
from mainspring.workflow.engine import ALLOWED
from mainspring.workflow.model import ExecutionPhase, ExecutionState, LogicalClock

STATUS = Literal["pending", "active", "waiting", "paused", "completed", "failed", "cancelled"]
Values = dict[str, JsonValue]
WAITS_FOR = {
    ExecutionPhase.TIME: "time",
    ExecutionPhase.EVENT: "event",
    ExecutionPhase.EFFECT: "effect",
    ExecutionPhase.RETRY: "retry",
}


class ExecutionView(View):
    id: str
    workflow: str
    version: int
    status: STATUS
    step: str
    outcome: str
    error: str = Field(description="Why it failed and waits for a person.")
    allows: list[str] = Field(description="The orders that its status allows.")
    waits_for: Literal["", "time", "event", "effect", "retry"]
    wake_tick: int | None = Field(description="When it moves although nothing arrives.")
    wake_at: At | None
    correlation: str
    idempotency_key: str | None
    partition: int
    entries: int = Field(description="How long its log is.")
    head: str = Field(description="The hash of the last entry.")
    actor: str
    created_at: At
    moved_at: At

    @classmethod
    def of(cls, execution: Execution, clock: LogicalClock, /, **others: object) -> Self:
        state = execution.state
        wake = waiting(state, clock)
        own = {name: getattr(execution, name) for name in ("correlation", "idempotency_key", "partition", "actor")}
        at = {"created_at": execution.created_at, "moved_at": execution.moved_at}
        allows = list(ALLOWED[state.status])
        return cls.from_value(state, allows=allows, entries=state.number, **wake, **own, **at, **others)


def waiting(state: ExecutionState, clock: LogicalClock) -> dict[str, object]:
    wake = state.ready_tick
    return {
        "waits_for": "" if state.paused else WAITS_FOR.get(state.phase, ""),
        "wake_tick": wake,
        "wake_at": None if wake is None else clock.as_of(wake).instant(),
    }


class ExecutionValues(View):
    input: Values
    vars: Values
    steps: Values = Field(description="`result` or `error` of each step.")
    events: Values = Field(description="The latest of each type, with its count.")
    visits: dict[str, int]
    visit: int
    attempt: int


class ExecutionDetailView(ExecutionView, ExecutionValues):
    """With all that it knows."""


class ExecutionStarted(ExecutionDetailView):
    new: bool = Field(description="False: it was there already under this key.")


class StartDryRun(View):
    dry_run: Literal[True] = True
    new: bool
    execution: ExecutionView | None = Field(description="The one that is there already, if one is.")
    version: int
    input: Values = Field(description="With its defaults.")


class StartOutcome(View):
    execution: str = Field(description="Its id; of the one that is there already, if it is not new.")
    new: bool
    refused: bool = Field(description="Another runs under its correlation key, and the workflow allows one.")

    @classmethod
    def of(cls, started: Started) -> Self:
        return cls(execution=started.execution.id, new=started.is_new, refused=started.is_refused)


class StartedMany(View):
    started: int
    existing: int
    refused: int
    items: list[StartOutcome] = Field(description="In the order of the wishes.")


class StartManyDryRun(View):
    dry_run: Literal[True] = True
    count: int
    version: int


class CommandSent(View):
    execution: ExecutionView = Field(description="As it was when the order was given; it is taken in the next tick.")
    ordered: str
    reason: str


class CommandDryRun(View):
    dry_run: Literal[True] = True
    execution: ExecutionView
    ordered: str
    reason: str


class EventSent(View):
    to: str
    executions: list[str] = Field(description="Whom it is for.")
    new: int = Field(description="How many had not seen its id before.")
    trouble: str = Field(default="", description="Why it was not sent; only where many are sent.")


class EventDryRun(View):
    dry_run: Literal[True] = True
    to: str
    executions: list[str]


class EventsSent(View):
    new: int
    items: list[EventSent] = Field(description="In the order of the events.")


class EventsDryRun(View):
    dry_run: Literal[True] = True
    items: list[EventSent]


class BulkCommandSent(View):
    verb: str
    ordered: int
    more: bool = Field(description="Whether the limit left some out; ask again, they are the older ones.")


class BulkCommandDryRun(View):
    dry_run: Literal[True] = True
    verb: str
    count: int = Field(description="How many allow it now.")
    sample: list[ExecutionView] = Field(description="The newest of them.")


class Erased(View):
    id: str
    entries: int = Field(description="How many lost their values; their hashes stay.")


class EraseDryRun(View):
    dry_run: Literal[True] = True
    execution: ExecutionView


class ExecutionExport(View):
    """An execution with all that proves it; `mainspring execution verify FILE` checks it without a database."""

    format: Literal["mainspring.execution.v1"]
    execution: str
    salt: str
    status: STATUS
    outcome: str
    error: str
    correlation: str
    created_at: At
    actor: str
    workflow: str
    version: int
    document: str
    zero: At = Field(description="The instant of tick 0.")
    resolution_ms: int
    partition: int
    log: list[dict[str, JsonValue]] = Field(description="Entries, their values as the texts that were hashed.")
    ticks: list[dict[str, JsonValue]] = Field(description="The part of its partition's chain that holds them.")
    checkpoint: dict[str, JsonValue] | None = Field(description="Signed, at the end of these ticks.")
    note: str = Field(description="Why there are no ticks, or no checkpoint.")
    zeros: list[tuple[int, At]] = Field(
        description="From which tick on the partition counts from which instant, if its clock was repaired."
    )


async def load_execution(desk: Desk, execution: Execution) -> ExecutionView:
    return ExecutionView.of(execution, await clock_of(desk, execution))


async def load_execution_detail(desk: Desk, execution: Execution) -> ExecutionDetailView:
    return ExecutionDetailView.of(execution, await clock_of(desk, execution))
