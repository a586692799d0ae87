"""Executions and commands for them, as all interfaces show them."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue

from mainspring.operations.context import Desk
from mainspring.operations.executions import clock_of
from mainspring.operations.workflows import Started
from mainspring.ports.workflows import Execution
from mainspring.views.view import At, View
from mainspring.workflow.engine import ALLOWED
from mainspring.workflow.model import ExecutionPhase, ExecutionState, LogicalClock
from mainspring.workflow.step_secrets import shown as without_sealed

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
    error: str = Field(description="Why the execution failed and waits for a person.")
    allows: list[str] = Field(description="Commands that the status allows.")
    waits_for: Literal["", "time", "event", "effect", "retry"]
    wake_tick: int | None = Field(description="When the execution continues if no event arrives.")
    wake_at: At | None
    correlation: str
    idempotency_key: str | None
    partition: int
    entries: int = Field(description="Number of log entries.")
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
    steps: Annotated[Values, BeforeValidator(without_sealed)] = Field(description="`result` or `error` of each step.")
    events: Values = Field(description="The latest of each type, with its count.")
    visits: dict[str, int]
    visit: int
    attempt: int


class ExecutionDetailView(ExecutionView, ExecutionValues):
    """With all its values."""


class ExecutionStarted(ExecutionDetailView):
    new: bool = Field(description="False: an execution with this key already exists.")


class StartDryRun(View):
    dry_run: Literal[True] = True
    new: bool
    execution: ExecutionView | None = Field(description="The existing execution, if any.")
    version: int
    input: Values = Field(description="Input, with defaults.")


class StartOutcome(View):
    execution: str = Field(description="Id of the new or existing execution.")
    new: bool
    refused: bool = Field(description="Another execution has this correlation key, and the workflow allows only one.")

    @classmethod
    def of(cls, started: Started) -> Self:
        return cls(execution=started.execution.id, new=started.is_new, refused=started.is_refused)


class StartedMany(View):
    started: int
    existing: int
    refused: int
    items: list[StartOutcome] = Field(description="In the order of the requests.")


class StartManyDryRun(View):
    dry_run: Literal[True] = True
    count: int
    version: int


class CommandSent(View):
    execution: ExecutionView = Field(
        description="The execution before the command, which takes effect in the next tick."
    )
    ordered: str
    reason: str


class CommandDryRun(View):
    dry_run: Literal[True] = True
    execution: ExecutionView
    ordered: str
    reason: str


class EventSent(View):
    to: str
    executions: list[str] = Field(description="Execution or correlation key that the event is for.")
    new: int = Field(description="Number of executions that received this id for the first time.")
    trouble: str = Field(default="", description="Why the event was not sent; only for several events.")


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
    more: bool = Field(description="Whether the limit left out older executions; repeat the request for them.")


class BulkCommandDryRun(View):
    dry_run: Literal[True] = True
    verb: str
    count: int = Field(description="Number of executions that allow the command.")
    sample: list[ExecutionView] = Field(description="The newest of these executions.")


class Erased(View):
    id: str
    entries: int = Field(description="Number of entries whose values were erased. Their hashes remain.")


class EraseDryRun(View):
    dry_run: Literal[True] = True
    execution: ExecutionView


class ExecutionExport(View):
    """An execution with its proofs. `mainspring execution verify FILE` checks it without a database."""

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
    zero: At = Field(description="Time of tick 0.")
    resolution_ms: int
    partition: int
    log: list[dict[str, JsonValue]] = Field(description="Entries with their values as hashed texts.")
    ticks: list[dict[str, JsonValue]] = Field(description="The part of the partition's chain that contains them.")
    checkpoint: dict[str, JsonValue] | None = Field(description="Signed checkpoint at the end of these ticks.")
    note: str = Field(description="Why ticks or the checkpoint are missing.")
    zeros: list[tuple[int, At]] = Field(
        description="Tick and time from which the partition counts, if its clock was repaired."
    )


async def load_execution(desk: Desk, execution: Execution) -> ExecutionView:
    return ExecutionView.of(execution, await clock_of(desk, execution))


async def load_execution_detail(desk: Desk, execution: Execution) -> ExecutionDetailView:
    return ExecutionDetailView.of(execution, await clock_of(desk, execution))
